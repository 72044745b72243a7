"""Regions that hold the distances."""
