"""What several experiments tell: of a solve, the shape of a metric in the plane, its error."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from mlmio import Dataset, Metric, MlmioError, Result
from mlmio.neighbors import training_index

Array = NDArray[np.float64]


def metric_of(result: Result) -> Metric:
    """Return the metric that a solve found.

    Raises
    ------
    MlmioError
        If it found none.
    """
    if result.metric is None:
        raise MlmioError(
            f"no metric was found by {result.composition} on {result.data_name or 'the points'}, "
            f"{result.status} after {result.seconds:.0f} s: give it more time, by the limits in "
            f"the parameters of the experiment"
        )
    return result.metric


def row(result: Result) -> dict[str, Any]:
    """Return what is told of a solve in a table."""
    kept = ("status", "objective", "bound", "gap", "nodes", "verified", "seconds")
    told = result.to_dict() | {"seconds": result.seconds}
    return {key: told[key] for key in kept}


def over_seeds(table: pd.DataFrame, by: list[str], columns: list[str]) -> pd.DataFrame:
    """Return mean and standard deviation of columns over the seeds, a row for each group."""
    groups = table.groupby(by, sort=False)
    found = groups[columns].agg(["mean", "std"])
    found.columns = [f"{column} {what}" for column, what in found.columns]
    found.insert(0, "seeds", groups.size())
    return found.reset_index()


def euclidean(data: Dataset) -> Metric:
    """Return the Euclidean distance of the scaled features."""
    return Metric({2: np.eye(data.D)}, data.D, data.scaling, data.feature_names)


def matrix(metric: Metric) -> Array:
    """Return B for points in original units."""
    factor = metric.scaling.factor
    return metric.B / np.outer(factor, factor)


def heaviest(metric: Metric) -> float:
    """Return the direction of the largest eigenvector in the plane, in degrees from 0 to 180."""
    x, y = np.linalg.eigh(matrix(metric))[1][:, -1]
    return float(np.degrees(np.arctan2(y, x)) % 180.0)


def axis_ratio(metric: Metric) -> float:
    """Return how many times as long as its short axis the ellipse of a metric is."""
    least, most = np.linalg.eigvalsh(matrix(metric))
    return float(np.sqrt(most / least)) if least > 0 else np.inf


def between(one: float, other: float) -> float:
    """Return the angle between two lines whose directions are given, in degrees up to 90."""
    apart = abs(one - other) % 180.0
    return min(apart, 180.0 - apart)


def error(metric: Metric, data: Dataset, X: Array, labels: NDArray[np.int_]) -> float:
    """Return the share of points in original units whose nearest point has another label."""
    votes = training_index(metric, data)[0].votes(data.scaling.apply(X), 1)
    return float((data.classes[votes.argmax(axis=1)] != labels).mean())


def misled(metric: Metric, data: Dataset) -> int:
    """Return how many points have a nearest other point of another class."""
    index, own = training_index(metric, data)
    return int((index.votes(data.X, 1, own).argmax(axis=1) != data.y).sum())
