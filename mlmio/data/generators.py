"""Synthetic sets after the figures of Kumaran et al. 2018, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from mlmio.data.validation import random_state, whole_number

Points = tuple[np.ndarray, np.ndarray]


def two_lines(n: int = 100, seed: int = 0) -> Points:
    """Generate two noisy parallel lines close to each other (Kumaran et al. 2018, fig:lines).

    The lines run at 30 degrees, have length 1 and are 0.03 apart; the noise across them is
    uniform and at most 0.01, so that the classes do not touch. Where points are sparse along the
    lines the Euclidean nearest neighbour is on the other line; a metric that weighs the direction
    across the lines classifies all points.

    Parameters
    ----------
    n : int, default 100
        Number of points, at least 4; the classes alternate.
    seed : int, default 0

    Returns
    -------
    X : ndarray of shape (n, 2)
    labels : ndarray of shape (n,)
        0 for the lower line and 1 for the upper.

    Examples
    --------
    >>> X, labels = two_lines(6)
    >>> X.shape, labels.tolist()
    ((6, 2), [0, 1, 0, 1, 0, 1])
    """
    n = whole_number(n, "n", least=4)
    rng = random_state(seed)
    labels = np.arange(n) % 2
    along = rng.uniform(0.0, 1.0, n)
    across = 0.03 * (labels - 0.5) + rng.uniform(-0.01, 0.01, n)
    cos, sin = np.cos(np.pi / 6), np.sin(np.pi / 6)
    return np.column_stack([cos * along - sin * across, sin * along + cos * across]), labels


def islands(n: int = 180, seed: int = 0) -> Points:
    """Generate three classes of three disjoint islands each.

    The islands are discs of radius 0.12 around the nine centres of a 3 x 3 grid in the unit
    square, and no two islands of a class share a row or a column, so that no class is connected
    (the "multiple disjoint islands" of Kumaran et al. 2018).

    Parameters
    ----------
    n : int, default 180
        Number of points, at least 18, so that every island has two.
    seed : int, default 0

    Returns
    -------
    X : ndarray of shape (n, 2)
    labels : ndarray of shape (n,)
        0, 1 or 2.

    Examples
    --------
    >>> X, labels = islands(18)
    >>> np.bincount(labels)
    array([6, 6, 6])
    """
    n = whole_number(n, "n", least=18)
    rng = random_state(seed)
    row, column = np.divmod(np.arange(n) % 9, 3)
    radius = 0.12 * np.sqrt(rng.uniform(0.0, 1.0, n))
    angle = rng.uniform(0.0, 2.0 * np.pi, n)
    centres = (np.column_stack([column, row]) + 0.5) / 3.0
    offsets = radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    return centres + offsets, (row + column) % 3


def six_d(n: int = 90, seed: int = 0) -> Points:
    """Generate three classes in six dimensions (Kumaran et al. 2018, fig:6-d-example).

    Only two oblique directions tell the classes apart: in them the classes are squares of side
    0.5 around the corners of a triangle of side 1. In the other four directions all points are
    spread alike, over [-1.5, 1.5]. The directions are the same for every seed: those of the
    first two rows of I - 2 v v' / v'v with v = (1, 2, 3, 4, 5, 6).

    Parameters
    ----------
    n : int, default 90
        Number of points, at least 6; the classes alternate.
    seed : int, default 0

    Returns
    -------
    X : ndarray of shape (n, 6)
    labels : ndarray of shape (n,)
        0, 1 or 2.

    Examples
    --------
    >>> X, labels = six_d(9)
    >>> X.shape
    (9, 6)
    """
    n = whole_number(n, "n", least=6)
    rng = random_state(seed)
    labels = np.arange(n) % 3
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    informative = corners[labels] + rng.uniform(-0.25, 0.25, (n, 2))
    latent = np.hstack([informative, rng.uniform(-1.5, 1.5, (n, 4))])
    v = np.arange(1.0, 7.0)
    return latent @ (np.eye(6) - 2.0 * np.outer(v, v) / (v @ v)), labels


def target_trap(n: int = 36, seed: int = 0) -> Points:
    """Generate points that mislead target neighbours (Kumaran et al. 2018, fig:target-neighbors).

    The classes alternate in thin horizontal layers, and the points of all layers stand in the
    same three columns, far apart. The Euclidean nearest co-class point is in the same column two
    layers away, with a point of the other class between them: no Mahalanobis metric brings those
    two together. The ideal metric is B = diag(0, 1), which ignores x and finds the points of the
    same layer.

    Parameters
    ----------
    n : int, default 36
        Number of points, at least 36, in n // 3 layers; when n is no multiple of 3, one or two
        layers have a fourth point between the columns, which is not misled.
    seed : int, default 0
        Seed of the small noise in both directions.

    Returns
    -------
    X : ndarray of shape (n, 2)
        Points in about the unit square.
    labels : ndarray of shape (n,)
        0 and 1, by layer.

    Examples
    --------
    >>> X, labels = target_trap()
    >>> labels[:9].tolist()
    [0, 0, 0, 1, 1, 1, 0, 0, 0]
    """
    n = whole_number(n, "n", least=36)
    rng = random_state(seed)
    layers = n // 3
    layer = np.arange(n) * layers // n
    column = np.arange(n) - np.searchsorted(layer, layer)
    x = np.array([0.0, 0.5, 1.0, 0.25])[column] + rng.uniform(-0.01, 0.01, n)
    y = (layer + rng.uniform(-0.05, 0.05, n)) / (layers - 1)
    return np.column_stack([x, y]), layer % 2


def triplet_trap(n: int = 36, seed: int = 0) -> Points:
    """Generate points that mislead chosen triplets (Kumaran et al. 2018, fig:triplet).

    Three upright bars: class 0 at x = 0 and x = 1, class 1 at x = 1/2. Points 0, 1 and 2, then
    3, 4 and 5, and so on, are a point i of the left bar, a point k of the middle one and a point
    j of the right one, k being the midpoint of i and j. The triplet "i is nearer to j than to k"
    is false in every Mahalanobis metric, for d_ik = d_ij / 4, though B = diag(1, 0) classifies
    all points.

    Parameters
    ----------
    n : int, default 36
        Number of points, at least 6, so that every bar has two.
    seed : int, default 0

    Returns
    -------
    X : ndarray of shape (n, 2)
    labels : ndarray of shape (n,)
        0 or 1.

    Examples
    --------
    >>> X, labels = triplet_trap(6)
    >>> labels.tolist()
    [0, 1, 0, 0, 1, 0]
    >>> np.allclose(X[1], (X[0] + X[2]) / 2)
    True
    """
    n = whole_number(n, "n", least=6)
    rng = random_state(seed)
    triplets = -(-n // 3)
    left = np.column_stack([rng.uniform(-0.05, 0.05, triplets), rng.uniform(0, 1, triplets)])
    right = np.column_stack([rng.uniform(0.95, 1.05, triplets), rng.uniform(0, 1, triplets)])
    points = np.stack([left, (left + right) / 2.0, right], axis=1).reshape(-1, 2)
    return points[:n], (np.arange(n) % 3 == 1).astype(np.intp)


def ten_classes(n: int = 10_000, seed: int = 0) -> Points:
    """Generate ten classes in the unit square (Kumaran et al. 2018, fig:dnn:boundary_vs_interior).

    The points are uniform. A point belongs to the nearest of ten centres after the square is bent
    by sines, so that the classes are regions with curved boundaries, the same for every seed.

    Parameters
    ----------
    n : int, default 10,000
        Number of points, at least 10; a small set can lack some classes.
    seed : int, default 0

    Returns
    -------
    X : ndarray of shape (n, 2)
    labels : ndarray of shape (n,)
        0 to 9.

    Examples
    --------
    >>> X, labels = ten_classes(1000)
    >>> np.unique(labels)
    array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    """
    n = whole_number(n, "n", least=10)
    X = random_state(seed).uniform(0.0, 1.0, (n, 2))
    # With 0.07 * 4 pi < 1 the bending folds nothing over.
    bent = X + 0.07 * np.sin(4.0 * np.pi * X[:, ::-1])
    centres = [
        ((k + 0.5) / count, height)
        for count, height in ((3, 1 / 6), (4, 1 / 2), (3, 5 / 6))
        for k in range(count)
    ]
    return X, ((bent[:, None] - np.array(centres)) ** 2).sum(axis=2).argmin(axis=1)


GENERATORS: dict[str, Callable[..., Points]] = {
    generator.__name__: generator
    for generator in (two_lines, islands, six_d, target_trap, triplet_trap, ten_classes)
}
