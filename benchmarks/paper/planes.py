"""How a distance divides a plane between classes: error on fresh points, length of the boundary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import label
from scipy.spatial.distance import cdist

from mlmio import Dataset, Metric

Array = NDArray[np.float64]

#: Distances that are compared with a learned one, of scaled features.
KNOWN = ("manhattan", "euclidean", "chebyshev")
SCIPY = {"manhattan": "cityblock"}

# Places on each side of the grid on which a boundary is followed.
GRID = 300


@dataclass(frozen=True)
class Division:
    """What is measured of regions.

    Parameters
    ----------
    error : float
        Share of fresh points that lie in the region of another class.
    length : float
        Length of the boundaries between regions, in scaled features: the points are in the unit
        square.
    regions : int
        Number of connected regions.
    """

    error: float
    length: float
    regions: int


def divide(metric: Metric | str, data: Dataset, X: Array, labels: NDArray[Any]) -> Division:
    """Measure the regions of the nearest neighbour on fresh points, and on a grid.

    Parameters
    ----------
    metric : Metric or str
        A learned one, or one of ``KNOWN``.
    data : Dataset
        The points that vote, of two features.
    X, labels
        Fresh points in original units, and their labels.
    """
    found = data.classes[class_distances(metric, data, data.scaling.apply(X)).argmin(axis=1)]
    side = np.linspace(-0.04, 1.04, GRID)
    places = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
    near = class_distances(metric, data, places).reshape(GRID, GRID, -1)
    winners = near.argmin(axis=2)
    regions = sum(label(winners == c)[1] for c in range(data.n_classes))
    return Division(float((found != labels).mean()), _length(side, near), int(regions))


def class_distances(metric: Metric | str, data: Dataset, places: Array) -> Array:
    """Return the distance of places, in scaled features, to the nearest point of every class."""
    if isinstance(metric, Metric):
        distances = metric.scaled_distance(places, data.X)
    else:
        distances = cdist(places, data.X, SCIPY.get(metric, metric))
    columns = [distances[:, data.y == c].min(axis=1) for c in range(data.n_classes)]
    return np.stack(columns, axis=1)


def _length(side: Array, near: Array) -> float:
    """Length of the lines on which the two nearest classes are equally near.

    The lines are followed between the places of the grid, so that one that is oblique is not
    measured as a staircase.
    """
    from contourpy import contour_generator

    total = 0.0
    for c in range(near.shape[2]):
        ahead = np.delete(near, c, axis=2).min(axis=2) - near[..., c]
        for line in contour_generator(side, side, ahead).lines(0.0):
            total += float(np.hypot(*np.diff(line, axis=0).T).sum())
    # Each is the boundary of two classes.
    return total / 2.0
