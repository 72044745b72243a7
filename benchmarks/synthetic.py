"""Data sets of any size for the benchmarks, seeded."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import make_blobs

from mlmio import Dataset


def gaussian_classes(N: int, D: int, classes: int = 3, seed: int = 0) -> Dataset:
    """Overlapping Gaussian classes, N points in D features."""
    rng = np.random.default_rng(seed)
    y = np.arange(N) % classes
    centres = rng.normal(size=(classes, D))
    return Dataset(centres[y] + 0.7 * rng.normal(size=(N, D)), y, name=f"gaussian {N}x{D}")


def blobs(N: int, D: int, C: int, spread: float, seed: int = 0) -> Dataset:
    """Gaussian classes around centres in the unit cube, by scikit-learn.

    Their width is `spread` √D: distances of centres grow with √D, so that any two classes overlap
    as much with many features as with few.
    """
    X, y = make_blobs(
        N,
        n_features=D,
        centers=C,
        cluster_std=spread * D**0.5,
        center_box=(0.0, 1.0),
        random_state=seed,
    )
    return Dataset(X, y, name=f"blobs {N}x{D}, {C} classes")
