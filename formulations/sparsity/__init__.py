"""Blocks that make the metric sparse."""
