"""Cones that hold the matrix B."""
