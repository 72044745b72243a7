"""The largest d_min that the parameters' region allows: one LP, its rows on demand.

With many parameters the LP is dense, degenerate and slow, and metrics without products of different
coordinates separate well enough: first only those are looked at. Under a cone that linear rows do
not state, no others are.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import DataError
from mlmio.oracle import Oracle, class_sample, ends
from mlmio.outline import region_of
from mlmio.series import multisets
from mlmio.solvers.highs import run_linear, silent_highs

if TYPE_CHECKING:
    from mlmio.context import Context

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

TOLERANCE = 1e-9
ROWS_A_ROUND = 200
# Above this many points the rows of a sample of so many come first.
SAMPLE = 5000
# Random directions whose ends are among them.
DIRECTIONS = 100
#: Share of d_max that solvers resolve: a smaller d_min would hold nothing away from zero.
LEAST_SEPARATION = 1e-5
# With more parameters than this the LP of them all may take minutes.
MANY_PARAMETERS = 200

# Seconds for one round; only switches of a cardinality make it long.
TIME_LIMIT = 60.0


@dataclass(frozen=True)
class Separation:
    """Largest possible least distance between points of different classes.

    Parameters
    ----------
    value : float
        δ* = max over the region with d_min = 0 of min d_ik, or what was enough if it is more.
    pair : (int, int)
        Points of different classes that hold it down.
    exact : bool
        Whether the value is δ*, and not only a lower bound of it.
    """

    value: float
    pair: tuple[int, int]
    exact: bool = True


def largest_separation(context: Context, enough: float | None) -> Separation:
    """Solve max t s.t. t ≤ d_ik for crossing pairs, 0 ≤ d ≤ d_max, and the rows built so far.

    Parameters
    ----------
    context : Context
        With the terms published and every row that restricts them alone (cones) built, and with
        ``exempt``.
    enough : float or None
        Value at which the search may stop where there are integer variables so far, the switches
        of a cardinality. None relaxes them, which makes δ* an upper bound.

    Raises
    ------
    DataError
        If the LP cannot be solved, as with features of very different magnitude.
    """
    program = RegionProgram(context, enough)
    if not context.polyhedral:
        # What its rows allow may be beyond the cone, which metrics without products are not.
        program.hold_products_at_zero()
        return replace(_solved(program), exact=False)
    if program.P > MANY_PARAMETERS:
        program.hold_products_at_zero()
        found = None
        # The region may forbid metrics without products.
        with suppress(DataError):
            found = _solved(program)
        if found is not None and found.value >= 2 * LEAST_SEPARATION * context.dmax:
            return replace(found, exact=False)
        program = RegionProgram(context, enough)
    return _solved(program)


def _solved(program: RegionProgram) -> Separation:
    while True:
        theta, t = program.solve()
        if not program.add_violated(theta, t):
            return program.answer(theta, t)


class RegionProgram:
    """The LP max t in (θ, …, t), with the rows of the pairs added where violated.

    Parameters
    ----------
    context : Context
        As in :func:`largest_separation`.
    enough : float or None
        Likewise.
    """

    def __init__(self, context: Context, enough: float | None) -> None:
        import highspy

        self.context = context
        self.everyone = Oracle(context.data, context.orders, context.exempt)
        self.some: Oracle | None = None
        if context.data.N > SAMPLE:
            # A look at all pairs takes longer than many programs: few are left to look at.
            rows = [class_sample(context.data, SAMPLE, seed=0), ends(context.data, DIRECTIONS)]
            self.some = self.everyone.of(np.unique(np.concatenate(rows)))
        # A row is added once: the solver, which drops tiny coefficients, may leave it violated.
        self.added: set[tuple[float, int, int]] = set()
        self.infinity = highspy.kHighsInf
        self.region = region = context.region or region_of(context)
        self.P, self.t = region.P, len(region.columns)
        self.highs = silent_highs()
        for kind in ("primal", "dual", "mip"):
            self.highs.setOptionValue(f"{kind}_feasibility_tolerance", TOLERANCE)
        self.highs.setOptionValue("mip_rel_gap", 0.0)
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for n in range(self.t):
            self.highs.addVar(region.lower[n], region.upper[n])
            if enough is not None and region.integer[n]:
                self.highs.changeColIntegrality(n, highspy.HighsVarType.kInteger)
        # An LP is not stopped early: on a large face of optima the simplex method loses its way.
        searches = enough is not None and region.integer.any()
        self.highs.addVar(-self.infinity, enough if searches else context.dmax)
        self.highs.changeColCost(self.t, 1.0)
        for row in range(len(region.b)):
            part = slice(region.A.indptr[row], region.A.indptr[row + 1])
            right = float(region.b[row])
            self._add(region.A.indices[part], region.A.data[part], -self.infinity, right)

    def hold_products_at_zero(self) -> None:
        """Leave only parameters of features that are never negative, where the region allows it."""
        rows = np.arange(self.context.data.N)
        pairs = np.column_stack([np.tile(rows, 2), np.concatenate([np.zeros_like(rows), rows - 1])])
        negative = np.zeros(self.P, dtype=bool)
        for _, phi in self.context.features(pairs):
            negative |= (phi < 0.0).any(axis=0)
        if not self.context.polyhedral:
            negative |= self._off_the_diagonal()
        for n in np.flatnonzero(negative).tolist():
            if self.region.lower[n] <= 0.0 <= self.region.upper[n]:
                self.highs.changeColBounds(n, 0.0, 0.0)

    def _off_the_diagonal(self) -> NDArray[np.bool_]:
        """Which parameters are entries of B off its diagonal."""
        context = self.context
        columns = {id(column): n for n, column in enumerate(context.theta)}
        off = np.zeros(self.P, dtype=bool)
        for n, (p, q) in enumerate(multisets(context.data.D, 2).tolist()):
            off[columns[id(context.terms[2][n])]] = p != q
        return off

    def solve(self) -> tuple[Array, float]:
        """Solve the LP with the rows that it has."""
        import highspy

        # The limit is one of all runs together.
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + TIME_LIMIT)
        status = run_linear(self.highs)
        if status != highspy.HighsModelStatus.kOptimal:
            raise DataError(
                f"the largest possible d_min cannot be computed "
                f"({self.highs.modelStatusToString(status)}): scale the features, as "
                f"scale='minmax' does, or give bounded(dmin=…) a number"
            )
        solution = np.array(self.highs.getSolution().col_value)
        return solution[: self.P], float(solution[self.t])

    def add_violated(self, theta: Array, t: float) -> int:
        """Add the most violated rows; returns how many.

        All pairs are looked at where nothing is violated among some points, which those of the
        pairs found then join.
        """
        if self.some is None:
            return self._add_worst(self._worst(self.everyone, theta, t))
        added = self._add_worst(self._worst(self.some, theta, t))
        if not added:
            worst = self._worst(self.everyone, theta, t)
            added = self._add_worst(worst)
            self.some = self.some.joined_by(worst)
        return added

    def _worst(self, oracle: Oracle, theta: Array, t: float) -> list[Pairs]:
        """Pairs of the points of an oracle that are too far, and too near, the worst first."""
        return [
            oracle.rows[pairs[amounts > 10 * TOLERANCE]]
            for pairs, amounts in oracle.violated(theta, t, self.context.dmax)
        ]

    def _add_worst(self, worst: Sequence[Pairs]) -> int:
        """Add the rows of the first of the pairs that are too far, and too near."""
        before = len(self.added)
        for sign, pairs in zip((1.0, -1.0), worst, strict=True):
            self.require(pairs.tolist(), sign)
        return len(self.added) - before

    def require(self, pairs: Sequence[Sequence[int]], sign: float) -> None:
        """Add the bounds of the first pairs that lack them: upper for sign 1, else lower."""
        fresh = [pair for pair in pairs if (sign, *pair) not in self.added]
        self._add_rows(np.array(fresh[:ROWS_A_ROUND], dtype=np.intp).reshape(-1, 2), sign)

    def _add_rows(self, pairs: Pairs, sign: float) -> None:
        """Add d ≤ d_max for sign 1, and t ≤ d, or 0 ≤ d within a class, for sign −1."""
        columns = np.arange(self.P, dtype=np.int32)
        crossing = self.context.data.apart(*pairs.T)
        limit = self.context.dmax if sign > 0 else 0.0
        for part, phi in self.context.features(pairs):
            for pair, across, row in zip(pairs[part], crossing[part], sign * phi, strict=True):
                with_t = sign < 0 and across
                indices = np.append(columns, np.int32(self.t)) if with_t else columns
                values = np.append(row, 1.0) if with_t else row
                self._add(indices, values, -self.infinity, limit)
                self.added.add((sign, *pair.tolist()))

    def _add(self, indices: Any, values: Array, lower: float, upper: float) -> None:
        self.highs.addRow(lower, upper, len(indices), indices, values)

    def answer(self, theta: Array, t: float) -> Separation:
        """Read the optimum: δ* and the crossing pair that is nearest there."""
        # Those that are nearer than t + 1 are all pairs; the most violated comes first. Whose row
        # holds t down is among some.
        oracle = self.some or self.everyone
        _, (pairs, _) = oracle.violated(theta, t + 1.0, np.inf)
        pairs = oracle.rows[pairs]
        i, k = pairs[self.context.data.apart(*pairs.T)][0].tolist()
        return Separation(t, (i, k))
