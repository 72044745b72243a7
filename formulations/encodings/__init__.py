"""Encodings of the disjunction over co-class points."""
