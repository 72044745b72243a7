"""The rows of pairs of points, written into a model that is not whole where they are violated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.evaluation import Evaluation
from mlmio.oracle import Oracle

if TYPE_CHECKING:
    from mlmio.assembly import Assembly
    from mlmio.metric import Metric

Array = NDArray[np.float64]
Pair = tuple[int, int]

# A row is written where it is violated by more than this: less than a certificate allows.
VIOLATED = 1e-8
# Separation rows of one point that are written at once, and those that the model begins with.
MOST_FENCES = 2


class PairRows:
    """The separation and the bounds that a model lacks, and those of them that it was given.

    Parameters
    ----------
    assembly : Assembly
        A model that is not whole; the rows become a block ``rows_on_demand`` of it.
    """

    def __init__(self, assembly: Assembly) -> None:
        import pyomo.environ as pyo

        self.context, self.data = assembly.context, assembly.data
        self._rows = pyo.Block(concrete=True)
        assembly.model.add_component("rows_on_demand", self._rows)
        self._rows.separate, self._rows.within = pyo.ConstraintList(), pyo.ConstraintList()
        self._fenced: set[Pair] = set()
        self._bounded: set[Pair] = set()
        self._oracle = Oracle(self.data, self.context.orders, self.context.exempt)

    def __len__(self) -> int:
        return len(self._fenced) + len(self._bounded)

    def __str__(self) -> str:
        N = self.data.N
        return (
            f"{len(self._fenced)} of {self.data.non_pair_count} separation rows, "
            f"{len(self._bounded)} of {N * (N - 1) // 2} bounds"
        )

    def begin(self, metric: Metric) -> None:
        """Write the separation from the nearest points and the bounds of the farthest pairs."""
        theta = self._theta(metric)
        near = self._oracle.nearest(theta, q=MOST_FENCES).fenced_by
        self._write_fences([(i, k) for i, ks in enumerate(near.tolist()) for k in ks if k >= 0])
        # What is beyond zero most is, for every point, the farthest.
        self._write_bounds(self._oracle.violated(theta, 0.0, 0.0)[0][0])

    def separate(self, metric: Metric) -> bool:
        """Write the worst rows that the values of the variables violate.

        Parameters
        ----------
        metric : Metric
            That of the values.

        Returns
        -------
        bool
            Whether any row was written that was not there yet.
        """
        before = len(self)
        self._write_fences(list(self._violated_fences(metric)))
        context = self.context
        for pairs, amounts in self._oracle.violated(
            self._theta(metric), context.dmin, context.dmax
        ):
            self._write_bounds(pairs[amounts > VIOLATED])
        return len(self) > before

    def _theta(self, metric: Metric) -> Array:
        return np.concatenate([metric.entries(order) for order in self.context.orders])

    def _violated_fences(self, metric: Metric) -> Iterator[Pair]:
        """Separation rows that are violated and not yet written, the worst few of every point."""
        from pyomo.core import value

        need = np.array([value(self.context.fences.need(i)) for i in range(self.data.N)])
        everyone = Evaluation(self.data, metric, np.zeros(self.data.N, dtype=bool))
        for rows, distances in everyone.blocks():
            apart = self.data.apart_rows(rows)
            short = np.where(apart, need[rows, None] - distances, -np.inf)
            for row, i in enumerate(rows.tolist()):
                yield from self._worst_fences(i, short[row])

    def _worst_fences(self, i: int, short: Array) -> Iterator[Pair]:
        """The nearest points whose rows are violated, where `short` is so without any relief."""
        from pyomo.core import value

        found = 0
        candidates = np.flatnonzero(short > VIOLATED)
        for k in candidates[np.argsort(-short[candidates], kind="stable")].tolist():
            if (i, k) in self._fenced or value(self.context.fences.excess(i, k)) <= VIOLATED:
                continue
            yield i, k
            found += 1
            if found == MOST_FENCES:
                return

    def _write_fences(self, pairs: list[Pair]) -> None:
        """Write separation rows, each with the bounds of its distance, which bound λ too."""
        for i, k in pairs:
            self._fenced.add((i, k))
            self._rows.separate.add(self.context.fences.excess(i, k) <= 0)
            self._write_bound(min(i, k), max(i, k))

    def _write_bounds(self, pairs: NDArray[np.intp]) -> None:
        for i, j in pairs.tolist():
            self._write_bound(i, j)

    def _write_bound(self, i: int, j: int) -> None:
        if (i, j) not in self._bounded:
            self._bounded.add((i, j))
            lower, upper = self.context.bounds(i, j)
            self._rows.within.add((lower, self.context.distance(i, j), upper))
