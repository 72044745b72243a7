"""What a result claims besides its objective, held to the data and to its certificate."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mlmio.series import tensor_name
from mlmio.solvers.base import STATUSES
from mlmio.verification import Certificate, tolerance_of

if TYPE_CHECKING:
    from mlmio.data import Dataset
    from mlmio.metric import Metric
    from mlmio.result import Result

WITH_SOLUTION = ("optimal", "feasible")


def false_claims(
    result: Result, data: Dataset, certificate: Certificate, neighbors: dict[Any, Any]
) -> Iterator[str]:
    """Yield every claim of a result with a metric that does not hold.

    Parameters
    ----------
    result : Result
        With a metric.
    data : Dataset
        The points that the model is about.
    certificate : Certificate
        Of its objective and bound.
    neighbors : dict
        The points that serve each point, recomputed.
    """
    if result.objective is None:
        yield f"no objective is claimed, the data give {certificate.objective:.9g}"
    if result.status in STATUSES and result.status not in WITH_SOLUTION:
        yield f"status {result.status} is claimed, but there is a solution"
    if result.status not in (*STATUSES, "unverified"):
        yield f"status {result.status!r} is none of {', '.join(STATUSES)}"
    if result.neighbors and result.neighbors != neighbors:
        yield "other neighbours are claimed than the nearest"
    yield from _gap(result)
    yield from _strange_metric(result, data)
    asked, solved = (
        sorted(part.name for part in each.completed.blocks)
        for each in (result.composition, result.resolved)
    )
    if asked != solved:
        yield f"'{result.composition}' is claimed, but '{result.resolved}' was solved"


def _gap(result: Result) -> Iterator[str]:
    """An optimum has a bound within the gap that was asked for."""
    bound, objective = result.bound, result.objective
    if result.status != "optimal" or bound is None or objective is None:
        return
    options = result.options
    gap = max(options.get("rel_gap", 0.0) * abs(objective), options.get("abs_gap", 0.0))
    if not bound <= objective + gap + tolerance_of(objective):
        yield f"an optimum is claimed, with bound {bound:.9g} over the objective {objective:.9g}"


def _strange_metric(result: Result, data: Dataset) -> Iterator[str]:
    """The metric is one of the composition, for these features and this scaling."""
    metric: Metric | None = result.metric
    if metric is None:
        return
    terms = {token for part in result.resolved.slot("terms") for token in part.provides}
    for order in metric.orders:
        if tensor_name(order) not in terms and metric.entries(order).any():
            yield f"the metric has a term of order {order}, which the composition has not"
    if metric.scaling.to_dict() != data.scaling.to_dict():
        yield "the metric's scaling is not that of the data"
    if metric.feature_names != data.feature_names:
        yield "the metric's features are not those of the data"


def without_metric(result: Result) -> str:
    """Say what is wrong with a result that has no metric; empty where nothing is."""
    if result.objective is not None or result.status in WITH_SOLUTION:
        return "unverified: a solution is claimed, but there is no metric to hold it to"
    return ""
