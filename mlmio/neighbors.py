"""Nearest neighbours under any learned metric, in blocks that never hold all pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.data import require_dataset
from mlmio.errors import DataError
from mlmio.metric import Metric, require_metric

if TYPE_CHECKING:
    from mlmio.data import Dataset

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

# Distances held at once: bounds the memory of a search to a few times 32 MB.
BLOCK_BYTES = 32 * 2**20

# Where there are fewer points than neighbours asked for.
NOBODY = -1

# An eigenvalue of B so little below zero, of the largest, is a solver's tolerance.
PSD_TOLERANCE = 1e-6


def has_psd_matrix(metric: Metric) -> bool:
    """Whether B is positive semidefinite up to a solver's tolerance."""
    values = np.linalg.eigvalsh(metric.B)
    return bool(values[0] >= -PSD_TOLERANCE * np.abs(values).max())


def is_linear_map(metric: Metric) -> bool:
    """Whether the metric is a squared Euclidean distance after a linear map.

    So it is where B is positive semidefinite and every other term is zero.
    """
    others = (metric.entries(order).any() for order in metric.orders if order != 2)
    return not any(others) and has_psd_matrix(metric)


def linear_map(metric: Metric) -> Array:
    """Return L with LᵀL = B, for a metric that is a linear map.

    Parameters
    ----------
    metric : Metric
        With :func:`is_linear_map`.

    Returns
    -------
    (D, D) array
        Acts on points in the metric's scaled coordinates; its rows are in falling order of their
        eigenvalues, their largest entry positive.
    """
    values, vectors = np.linalg.eigh(metric.B)
    largest = vectors[np.abs(vectors).argmax(axis=0), np.arange(metric.D)]
    roots = np.sqrt(np.clip(values, 0.0, None)) * np.where(largest < 0, -1.0, 1.0)
    return (vectors * roots).T[::-1]


def differences(metric: Metric, delta: Array) -> Array:
    """Return the distances of pairs whose differences in scaled coordinates are given.

    Parameters
    ----------
    metric : Metric
    delta : (M, D) array

    Returns
    -------
    (M,) array
    """
    return metric.scaled_distance(delta, np.zeros((1, metric.D)))[:, 0]


class NeighborIndex:
    """Points among which the nearest are looked for.

    Where the metric is a linear map, scikit-learn's neighbours find them; elsewhere the distances
    to all points are computed for a block of queries at a time. Either way the distances that
    are returned are the metric's own, pair by pair.

    Parameters
    ----------
    metric : Metric
    points : (M, D) array
        In the metric's scaled coordinates.
    """

    def __init__(self, metric: Metric, points: Array) -> None:
        self.metric = metric
        self.points = points
        self._find = (_mapped if is_linear_map(metric) else _blockwise)(metric, points)

    def kneighbors(
        self, queries: Array, k: int, leave_out: Rows | None = None
    ) -> tuple[Array, Rows]:
        """Find the k nearest points of every query.

        Parameters
        ----------
        queries : (n, D) array
            In the metric's scaled coordinates.
        k : int
            How many; above 0.
        leave_out : (n,) array of int, optional
            For each query the row of one point that does not count, such as its own; −1 for none.

        Returns
        -------
        distances : (n, k) array
            In rising order, infinite where there are fewer than k points.
        rows : (n, k) array of int
            Row numbers of the points, −1 where there are fewer.
        """
        wanted = k if leave_out is None else k + 1
        rows = np.full((len(queries), wanted), NOBODY, dtype=np.intp)
        found = self._find(queries, min(wanted, len(self.points)))
        rows[:, : found.shape[1]] = found
        if leave_out is not None:
            rows = _without(rows, leave_out)
        distances = self._distances(queries, rows)
        order = np.argsort(distances, axis=1, kind="stable")
        return np.take_along_axis(distances, order, 1), np.take_along_axis(rows, order, 1)

    def _distances(self, queries: Array, rows: Rows) -> Array:
        distances = np.full(rows.shape, np.inf)
        for part in blocks(len(rows), rows.shape[1] * self.metric.D):
            query, column = np.nonzero(rows[part] != NOBODY)
            delta = queries[part][query] - self.points[rows[part][query, column]]
            distances[part][query, column] = differences(self.metric, delta)
        return distances


def blocks(n: int, width: int) -> Iterator[slice]:
    """Yield slices of n rows, so that `width` numbers a row take about 32 MB."""
    step = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _without(rows: Rows, leave_out: Rows) -> Rows:
    """Drop from each row the one that is left out, or the last where it is not there."""
    dropped = rows == leave_out[:, None]
    dropped[:, -1] |= ~dropped.any(axis=1)
    # Points that are nobody look like one that is left out: only one of them goes.
    dropped &= np.cumsum(dropped, axis=1) == 1
    return rows[~dropped].reshape(len(rows), -1)


def _mapped(metric: Metric, points: Array) -> Callable[[Array, int], Rows]:
    """Find neighbours by scikit-learn after the linear map."""
    from sklearn.neighbors import NearestNeighbors

    root = linear_map(metric).T
    tree = NearestNeighbors().fit(points @ root)

    def find(queries: Array, k: int) -> Rows:
        if not len(queries):
            return np.empty((0, k), dtype=np.intp)
        return tree.kneighbors(queries @ root, k, return_distance=False)

    return find


def _blockwise(metric: Metric, points: Array) -> Callable[[Array, int], Rows]:
    """Find neighbours among the distances to all points."""

    def find(queries: Array, k: int) -> Rows:
        rows = np.empty((len(queries), k), dtype=np.intp)
        for part in blocks(len(queries), len(points)):
            near = metric.scaled_distance(queries[part], points)
            rows[part] = np.argpartition(near, k - 1, axis=1)[:, :k]
        return rows

    return find


class LabelledIndex:
    """Labelled points under a metric: their nearest neighbours, class by class.

    Parameters
    ----------
    metric : Metric
    points : (M, D) array
        In the metric's scaled coordinates.
    codes : (M,) array of int
        Class of every point.
    n_classes : int
        Number of classes; some may have no point.
    """

    def __init__(self, metric: Metric, points: Array, codes: Rows, n_classes: int) -> None:
        self.metric = metric
        self.points = points
        self.codes = codes
        self.n_classes = n_classes

    def __getstate__(self) -> dict[str, Any]:
        # The indices are closures, and made again when they are needed.
        kept = ("metric", "points", "codes", "n_classes")
        return {name: self.__dict__[name] for name in kept}

    @cached_property
    def index(self) -> NeighborIndex:
        """All points."""
        return NeighborIndex(self.metric, self.points)

    @cached_property
    def _members(self) -> list[Rows]:
        return [np.flatnonzero(self.codes == c) for c in range(self.n_classes)]

    @cached_property
    def _by_class(self) -> list[NeighborIndex | None]:
        return [
            NeighborIndex(self.metric, self.points[rows]) if len(rows) else None
            for rows in self._members
        ]

    def votes(self, queries: Array, k: int, leave_out: Rows | None = None) -> Array:
        """Return the share of every class among the k nearest points.

        Parameters
        ----------
        queries, k, leave_out
            See :meth:`NeighborIndex.kneighbors`.

        Returns
        -------
        (n, C) array
            Each row sums to 1, or is 0 where there is no point.
        """
        _, rows = self.index.kneighbors(queries, k, leave_out)
        present = rows != NOBODY
        counts = np.zeros((len(queries), self.n_classes))
        np.add.at(counts, (np.nonzero(present)[0], self.codes[rows[present]]), 1.0)
        return counts / np.maximum(present.sum(axis=1, keepdims=True), 1)

    def class_distances(self, queries: Array, leave_out: Rows | None = None) -> Array:
        """Return the distance to the nearest point of every class.

        Parameters
        ----------
        queries, leave_out
            See :meth:`NeighborIndex.kneighbors`.

        Returns
        -------
        (n, C) array
            Infinite where a class has no point.
        """
        nearest = np.full((len(queries), self.n_classes), np.inf)
        for c, index in enumerate(self._by_class):
            if index is not None:
                left = None if leave_out is None else self._within(c, leave_out)
                nearest[:, c] = index.kneighbors(queries, 1, left)[0][:, 0]
        return nearest

    def _within(self, c: int, rows: Rows) -> Rows:
        """Row numbers within a class of points, −1 for those of other classes."""
        position = np.full(len(self.points) + 1, NOBODY, dtype=np.intp)
        position[self._members[c]] = np.arange(len(self._members[c]))
        # The last place stands for nobody.
        return position[rows]


def ratios(near: Array, far: Array) -> Array:
    """Divide distances, those below zero taken as zero.

    Parameters
    ----------
    near, far : array
        Distances; an indefinite B, or a solver's tolerance, can make them negative.

    Returns
    -------
    array
        1 where both are zero, since neither is nearer; infinite where there is nothing near, or
        only `far` is zero; 0 where there is nothing far.
    """
    near, far = np.maximum(near, 0.0), np.maximum(far, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = near / far
    quotient = np.where((near == 0) & (far == 0), 1.0, quotient)
    return np.where(np.isinf(near), np.inf, quotient)


def training_index(
    metric: Metric, data: Dataset, serves: NDArray[np.bool_] | None = None
) -> tuple[LabelledIndex, Rows]:
    """Index the points of a data set that count as neighbours.

    Parameters
    ----------
    metric : Metric
        In the scaling of the data.
    data : Dataset
    serves : (N,) array of bool, optional
        The points that count; all by default.

    Returns
    -------
    index : LabelledIndex
    own : (N,) array of int
        For every point of the data its own row in the index, −1 where it does not count.

    Raises
    ------
    DataError
        If `serves` has another shape, the metric another number of features, or something else
        is given in their place.
    """
    require_metric(metric)
    require_dataset(data)
    mask = np.ones(data.N, dtype=bool) if serves is None else np.asarray(serves, dtype=bool)
    if mask.shape != (data.N,):
        raise DataError(
            f"serves has shape {mask.shape}: give True or False for each of the {data.N} points"
        )
    if metric.D != data.D:
        raise DataError(
            f"the metric is of {metric.D} features and {data.name} has {data.D}: give the data "
            f"that it was learned from"
        )
    own = np.where(mask, np.cumsum(mask) - 1, NOBODY)
    return LabelledIndex(metric, data.X[mask], data.y[mask], data.n_classes), own
