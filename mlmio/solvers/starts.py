"""Points to start from: a metric, or what an earlier solve found."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import SolverError

if TYPE_CHECKING:
    from mlmio.assembly import Assembly
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation
    from mlmio.metric import Metric
    from mlmio.result import Result


@dataclass(frozen=True, eq=False)
class Start:
    """A point (θ, z) to start from.

    Parameters
    ----------
    metric : Metric
        θ.
    outliers : array
        Identifiers of the points that are given up.
    """

    metric: Metric
    outliers: NDArray[Any] = field(default_factory=lambda: np.empty(0))

    def complete(self, assembly: Assembly) -> Evaluation:
        """Set every variable of a model to its best value for this point.

        Returns
        -------
        Evaluation
            The point evaluated from the data alone.

        Raises
        ------
        SolverError
            If the metric is of another number of features.
        """
        data = assembly.data
        return assembly.complete(self.in_scaling_of(data), np.isin(data.ids, self.outliers))

    def in_scaling_of(self, data: Dataset) -> Metric:
        """Return the metric in the scaled coordinates of the data.

        Raises
        ------
        SolverError
            If it is of another number of features.
        """
        if self.metric.D != data.D:
            raise SolverError(
                f"start is a metric of {self.metric.D} features and the data have {data.D}: give "
                f"one learned from the same features"
            )
        return _in_scaling(self.metric, data.scaling)


def start_from(point: Metric | Result) -> Start:
    """Make a start of a metric or of an earlier result.

    Raises
    ------
    SolverError
        If it is neither, or a result without an incumbent.
    """
    from mlmio.metric import Metric
    from mlmio.result import Result

    if isinstance(point, Metric):
        return Start(point)
    if not isinstance(point, Result):
        raise SolverError(f"start is a {type(point).__name__}: give a Metric or a Result")
    if point.metric is None:
        raise SolverError(f"start is a result without a metric ({point.status}): leave it out")
    return Start(point.metric, point.outliers)


def _in_scaling(metric: Metric, scaling: Any) -> Metric:
    """The same distances for points that are scaled otherwise."""
    from mlmio.metric import Metric

    ratio = np.abs(scaling.factor / metric.scaling.factor)
    tensors = {
        order: metric.tensor(order) * reduce(np.multiply.outer, [ratio] * order)
        for order in metric.orders
    }
    return Metric(tensors, metric.D, scaling, metric.feature_names)
