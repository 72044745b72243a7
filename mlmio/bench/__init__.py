"""Benchmark suites: overnight runs that survive crashes, and end in a paper's tables."""
