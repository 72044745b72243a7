"""Block ``bounded``: distances within bounds, those between classes away from zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import Block, Size, check_choice, check_number, register_block
from mlmio.data.validation import shown
from mlmio.distances import DISTANCES, add_distances, complete_distances
from mlmio.errors import CompositionError, DataError
from mlmio.outline import region_of
from mlmio.separation import LEAST_SEPARATION, Separation, largest_separation

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation

AUTO_DMIN = 0.01
DUPLICATES = ("error", "drop", "outlier")


@register_block
@dataclass(frozen=True)
class Bounded(Block):
    r"""The feasible distances: none above one, none negative, none between classes near zero.

    .. math::

        d_{ij} = \phi_{ij} \cdot \theta, \qquad 0 \le d_{ij} \le d^{\max}, \qquad
        d_{ik} \ge d^{\min} \text{ for } i, k \text{ of different classes}

    Parameters
    ----------
    dmin : float or "auto"
        Least distance between classes. ``"auto"`` is min(0.01, δ*/2) for d_max = 1, where δ* is
        the largest that any metric of these terms and cones reaches, from one LP; with more than
        200 parameters, or a cone that is not polyhedral, that any without products of different
        coordinates reaches.
    dmax : float
        Greatest distance; it sets the scale of everything.
    distances : {"variables", "substituted"}
        Whether d_ij is a variable with a defining row, or its definition everywhere.
    duplicates : {"error", "drop", "outlier"}
        What to do with points of different classes that coincide, for which no dmin > 0 is
        possible: refuse them, leave them all out, or make them outliers (which needs a loss that
        has outliers).

    Notes
    -----
    Source: Kumaran et al. 2018, set:feasible_distance_metrics.

    Needs a term. Adds E variables and E rows, or E rows where the distances are substituted; LP.

    Relations: a larger ``dmin`` restricts, a larger ``dmax`` relaxes, ``distances`` changes
    nothing.
    """

    dmin: float | str = "auto"
    dmax: float = 1.0
    distances: str = "variables"
    duplicates: str = "error"

    name: ClassVar[str] = "bounded"
    slot: ClassVar[str] = "region"
    source: ClassVar[str] = "set:feasible_distance_metrics"
    parameter_order: ClassVar[Mapping[str, str]] = {
        "dmin": "restricts",
        "dmax": "relaxes",
        "distances": "neutral",
    }

    def __post_init__(self) -> None:
        check_number(self, "dmax", minimum=1e-3, maximum=1e6)
        if self.dmin != "auto":
            check_number(self, "dmin", minimum=0.0, maximum=self.dmax)
        check_choice(self, "distances", DISTANCES)
        check_choice(self, "duplicates", DUPLICATES)

    @property
    def provides(self) -> frozenset[str]:
        """A distance with bounds."""
        return frozenset({"distance", "bounds"})

    @property
    def requires(self) -> frozenset[str]:
        """Outliers, where duplicates become outliers."""
        return frozenset({"outliers"} if self.duplicates == "outlier" else ())

    def prepare(self, data: Dataset) -> Dataset:
        """Apply the duplicates policy.

        Raises
        ------
        DataError
            Naming the first points of different classes that coincide, where they are refused,
            or if nothing is left of the data.
        """
        conflicts = data.conflicts()
        if not len(conflicts) or self.duplicates == "outlier" or self.dmin == 0.0:
            return data
        if self.duplicates == "drop":
            return data.take(np.setdiff1d(np.arange(data.N), conflicts))
        i, k = conflicts[0]
        raise DataError(
            f"points {data.ids[i]} ({shown(data.labels[i])}) and {data.ids[k]} "
            f"({shown(data.labels[k])}) "
            f"coincide but differ in class ({len(conflicts)} such pair(s)): mend the data, or use "
            f"bounded(duplicates='drop') or bounded(duplicates='outlier')"
        )

    def build(self, context: Context, b: Any) -> None:
        """Add the distances and hold them within their bounds."""
        data = context.data
        context.dmax = self.dmax
        context.exempt = conflicts = self._given_up(data)
        context.conflicting = np.unique(conflicts)
        context.region = region_of(context)
        context.dmin = dmin = self._resolve(context)
        if context.whole:
            apart = data.apart_rows(np.arange(data.N))
            apart[tuple(conflicts.T)] = apart[tuple(conflicts.T[::-1])] = False
            held = apart.tolist()
            context.bounds = lambda i, j: (dmin if held[i][j] else 0.0, self.dmax)
        else:
            context.bounds = _bounds_on_demand(data, conflicts, dmin, self.dmax)
        add_distances(context, b, self.distances)

    def _given_up(self, data: Dataset) -> NDArray[np.intp]:
        """Pairs that coincide and whose points the loss must give up."""
        conflicts = data.conflicts()
        return conflicts if self.duplicates == "outlier" else conflicts[:0]

    def _resolve(self, context: Context) -> float:
        """d_min as a number that the data allow."""
        crossing = context.data.non_pair_count > 2 * len(context.exempt)
        if self.dmin == 0.0 or not crossing:
            context.resolved[self] = replace(self, dmin=0.0)
            return 0.0
        # A d_min that is given is held to an upper bound only: the solver finds out the rest.
        auto = isinstance(self.dmin, str)
        enough = 2 * AUTO_DMIN * self.dmax if auto else None
        best = largest_separation(context, enough)
        dmin = min(AUTO_DMIN * self.dmax, best.value / 2) if auto else float(self.dmin)
        beyond = best.exact and dmin > best.value * (1 + 1e-9)
        tiny = best.value < LEAST_SEPARATION * self.dmax
        if beyond or (tiny and (best.exact or auto)):
            raise DataError(self._too_near(context.data, best, dmin))
        context.resolved[self] = replace(self, dmin=dmin)
        return dmin

    def _too_near(self, data: Dataset, best: Separation, dmin: float) -> str:
        i, k = best.pair
        kind = "of these terms" if best.exact else "without products of features"
        found = (
            f"no metric {kind} holds points {data.ids[i]} and {data.ids[k]} of different "
            f"classes farther apart than δ* = {best.value:.6g}"
        )
        if not best.exact:
            return f"{found}: give dmin a number, which others may reach, or drop one of the two"
        if dmin > best.value and best.value >= LEAST_SEPARATION * self.dmax:
            return f"{found}, and dmin is {dmin:g}: give a dmin of at most δ*, or dmin='auto'"
        return f"{found}, too little to tell from zero: drop one of the two, or add terms"

    def check(self, evaluation: Evaluation) -> None:
        """Hold every distance to its bounds; publishes d_max and the coinciding points."""
        data = evaluation.data
        if isinstance(self.dmin, str):
            raise CompositionError(
                f"'{self}' has no value for dmin yet: evaluate with result.resolved, or give "
                f"bounded a number"
            )
        conflicts = self._given_up(data)
        evaluation.dmax = self.dmax
        evaluation.conflicting = np.unique(conflicts)
        for rows, d in evaluation.blocks():
            lower = np.where(data.apart_rows(rows), self.dmin, 0.0)
            for i, k in conflicts:
                lower[rows == i, k] = lower[rows == k, i] = 0.0
            self._report(evaluation, rows, lower - d, "are nearer than the least distance")
            self._report(evaluation, rows, d - self.dmax, "are farther than dmax")

    def _report(
        self, evaluation: Evaluation, rows: NDArray[np.intp], excess: Any, what: str
    ) -> None:
        """Report the worst pair of a block of rows."""
        worst = np.unravel_index(int(np.argmax(excess)), excess.shape)
        i, j = int(rows[worst[0]]), int(worst[1])
        names = f"{evaluation.name(i)} and {evaluation.name(j)}"
        evaluation.violate(self.name, f"points {names} {what}", excess[worst])

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the distances, where they are variables."""
        complete_distances(b, evaluation)

    def size(self, n: Any) -> Size:
        """E variables and E rows, or E rows."""
        return Size(variables=n.pairs if self.distances == "variables" else 0, rows=n.pairs)

    def extend(self, n: Any) -> None:
        """Whether distances are variables."""
        n.substituted = int(self.distances == "substituted")


def _bounds_on_demand(
    data: Dataset, conflicts: NDArray[np.intp], dmin: float, dmax: float
) -> Callable[[int, int], tuple[float, float]]:
    """The bounds of any pair, with nothing laid out that is as large as the pairs."""
    exempt = set(map(tuple, conflicts.tolist()))

    def bounds(i: int, j: int) -> tuple[float, float]:
        held = data.apart(i, j) and (min(i, j), max(i, j)) not in exempt
        return (dmin if held else 0.0, dmax)

    return bounds
