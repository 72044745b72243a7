"""Adapters of solvers: one file each, options in, answers out."""
