"""Data sets of any size for the benchmarks, seeded."""

from __future__ import annotations

import numpy as np

from mlmio import Dataset


def gaussian_classes(N: int, D: int, classes: int = 3, seed: int = 0) -> Dataset:
    """Overlapping Gaussian classes, N points in D features."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % classes
    centres = rng.normal(size=(classes, D))
    return Dataset(centres[y] + 0.7 * rng.normal(size=(N, D)), y, name=f"gaussian {N}x{D}")
