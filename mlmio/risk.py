"""Error and coverage: leave-one-out, and what abstention buys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlmio.data.validation import whole_number
from mlmio.errors import DataError
from mlmio.metric import Metric
from mlmio.neighbors import LabelledIndex, Rows, ratios, training_index

if TYPE_CHECKING:
    from mlmio.data import Dataset

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Error against coverage, at every threshold of the abstention ratio.

    Made by :func:`risk_coverage`.

    Parameters
    ----------
    thresholds : (T,) array
        The different ratios, in rising order.
    coverage : (T,) array
        Share of the points that are classified at each threshold: those with a ratio that does
        not exceed it. The last is 1.
    error : (T,) array
        Share of these that are classified wrongly.
    """

    thresholds: Array
    coverage: Array
    error: Array

    @property
    def full_error(self) -> float:
        """Error at full coverage."""
        return float(self.error[-1])

    def at(self, threshold: float) -> tuple[float, float]:
        """Return coverage and error where points above a threshold are not classified.

        Returns
        -------
        coverage : float
        error : float
            NaN where nothing is classified.
        """
        last = int(np.searchsorted(self.thresholds, threshold, side="right")) - 1
        if last < 0:
            return 0.0, float("nan")
        return float(self.coverage[last]), float(self.error[last])


def risk_coverage(wrong: ArrayLike, values: ArrayLike) -> RiskCoverage:
    """Return the whole curve of error against coverage.

    Parameters
    ----------
    wrong : (n,) array of bool
        Whether each point is classified wrongly.
    values : (n,) array
        Its abstention ratio, see :func:`abstention_ratios`.

    Returns
    -------
    RiskCoverage

    Raises
    ------
    DataError
        If there is no point, the lengths differ, or a ratio is NaN.

    Examples
    --------
    >>> curve = risk_coverage([False, True, False, True], [0.1, 0.9, 0.4, 0.9])
    >>> curve.coverage.tolist(), curve.error.tolist()
    ([0.25, 0.5, 1.0], [0.0, 0.0, 0.5])
    >>> curve.at(0.5), curve.full_error
    ((0.5, 0.0), 0.5)
    """
    mistakes, given = np.asarray(wrong, dtype=bool), np.asarray(values, dtype=float)
    if mistakes.ndim != 1 or mistakes.shape != given.shape or not len(given):
        raise DataError(
            f"wrong has shape {mistakes.shape} and the ratios {given.shape}: give one of each "
            f"for every point, and a point at least"
        )
    if np.isnan(given).any():
        raise DataError("a ratio is NaN: give numbers, infinite where nothing is near")
    order = np.argsort(given, kind="stable")
    thresholds, last = np.unique(given[order][::-1], return_index=True)
    last = len(given) - 1 - last
    counted = last + 1.0
    errors = np.cumsum(mistakes[order])[last] / counted
    return RiskCoverage(thresholds, counted / len(given), errors)


def abstention_ratios(distances: Array, predicted: Rows) -> Array:
    """Divide the distance to the predicted class by that to the nearest other class.

    What Kumaran et al. 2018 call outlier removal in the testing phase, which they do not define.

    Parameters
    ----------
    distances : (n, C) array
        Distance of every point to the nearest point of every class.
    predicted : (n,) array of int
        Class that is predicted for it.

    Returns
    -------
    (n,) array
        At most 1 where the nearest neighbour decides; the surer the smaller.
    """
    others = distances.copy()
    rows = np.arange(len(distances))
    others[rows, predicted] = np.inf
    return ratios(distances[rows, predicted], others.min(axis=1))


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """What the K nearest of the other points say of each point.

    Parameters
    ----------
    predicted : (N,) array of int
        Class of every point as a position in ``data.classes``.
    wrong : (N,) array of bool
        Whether that is not its own.
    ratios : (N,) array
        Its abstention ratio.
    """

    predicted: Rows
    wrong: NDArray[Any]
    ratios: Array

    @property
    def error(self) -> float:
        """Share of the points that are classified wrongly."""
        return float(self.wrong.mean())

    @property
    def risk_coverage(self) -> RiskCoverage:
        """The whole curve of error against coverage."""
        return risk_coverage(self.wrong, self.ratios)


def leave_one_out(
    metric: Metric, data: Dataset, n_neighbors: int = 1, serves: NDArray[np.bool_] | None = None
) -> LeaveOneOut:
    """Classify every point by its nearest neighbours among the others.

    Parameters
    ----------
    metric : Metric
        In the scaling of the data. It was learned from the same points, so the error is that of
        the fit, not of new points.
    data : Dataset
    n_neighbors : int, default 1
        How many neighbours vote; ties go to the first class.
    serves : (N,) array of bool, optional
        The points that count as neighbours; all by default. Every point is classified.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    DataError
        If a shape does not fit the data, or `n_neighbors` is no whole number above 0.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.Dataset([[0.0], [0.1], [0.4], [1.0]], ["a", "a", "b", "b"])
    >>> found = leave_one_out(mlmio.Metric({2: [[1.0]]}, D=1, scaling=data.scaling), data)
    >>> found.error, found.wrong.tolist()
    (0.25, [False, False, True, False])
    """
    k = whole_number(n_neighbors, "n_neighbors")
    index, own = training_index(metric, data, serves)
    predicted, values = classify(index, data.X, k, own)
    return LeaveOneOut(predicted, predicted != data.y, values)


def classify(
    index: LabelledIndex, queries: Array, k: int, leave_out: Rows | None = None
) -> tuple[Rows, Array]:
    """Return the class that the k nearest points vote for, and the abstention ratio.

    Parameters
    ----------
    index, queries, k, leave_out
        See :meth:`LabelledIndex.votes <mlmio.neighbors.LabelledIndex.votes>`.

    Returns
    -------
    predicted : (n,) array of int
    ratios : (n,) array
    """
    predicted = index.votes(queries, k, leave_out).argmax(axis=1)
    return predicted, abstention_ratios(index.class_distances(queries, leave_out), predicted)
