"""Cuts: rows that change nothing in the optimum and tighten the LP bound."""
