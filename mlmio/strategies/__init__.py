"""Strategies: ways to solve a composition on data."""
