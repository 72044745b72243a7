"""The linear program of an alternation: who serves is fixed, what points lack is paid for."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import SolverError
from mlmio.solvers.base import LEAST_TIME
from mlmio.solvers.highs import run_linear, silent_highs

if TYPE_CHECKING:
    from mlmio.oracle import Oracle
    from mlmio.outline import Outline

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

# Rows are kept to this, in units of the distance.
TOLERANCE = 3e-7
# A row is taken in while what it lacks is at least this share of the largest lack.
SHARE = 0.1
REGION_ROWS_A_ROUND = 100
FENCES_A_ROUND = 2
MOST_ROUNDS = 40
LEAST_DUAL = 1e-9
# Seconds of a run before it is begun again, and most seconds of a run whatever the limit is.
STALLED, LONGEST = 20.0, 300.0
# Parameters without bounds are held within this.
BOX = 1e4


@dataclass(frozen=True)
class Active:
    """Rows that hold an optimum.

    Parameters
    ----------
    bounds : list of (sign, i, j)
        Pairs at their greatest distance (1) and at their least (−1).
    fences : list of (i, k)
        Points and the non-class points that hold them.
    """

    bounds: list[tuple[int, int, int]] = field(default_factory=list)
    fences: list[tuple[int, int]] = field(default_factory=list)


class Softened:
    """max −Σ w_i ξ_i (+ λ) s.t. d_ij + λ ≤ d_ik + ξ_i for the servers j of i and every k.

    Rows, and the columns ξ_i with them, are taken in where they are violated.

    Parameters
    ----------
    outline : Outline
        The region.
    oracle : Oracle
        The n points whose rows count; all arrays are of them, by their numbers there.
    served_by : (n, k) array of int
        Who serves each point; a row with −1 demands nothing.
    price : (n,) array
        w, infinite where a point must not lack anything.
    margin : (float, float)
        Interval of λ; it is maximised where it is not a single number.
    fencing : (n,) array of bool
        Who counts as a point of another class.

    Attributes
    ----------
    cost : float
        What the region's columns contribute to the objective.
    """

    def __init__(
        self,
        outline: Outline,
        oracle: Oracle,
        served_by: Pairs,
        price: Array,
        margin: tuple[float, float],
        fencing: NDArray[np.bool_],
    ) -> None:
        import highspy

        self.outline, self.oracle = outline, oracle
        self.served_by, self.price, self.fencing = served_by, price, fencing
        self.demanding = np.flatnonzero((served_by >= 0).all(axis=1))
        self.infinity = highspy.kHighsInf
        region = outline.region
        self.P, self.margin_column = region.P, len(region.columns)
        self.cost = 0.0
        self.lack: dict[int, int] = {}
        # Which rows of the program they are.
        self.bounds: dict[tuple[int, int, int], int] = {}
        self.separations: dict[tuple[int, int, int], int] = {}
        self.highs = silent_highs()
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for p in range(self.margin_column):
            self.highs.addVar(max(region.lower[p], -BOX), min(region.upper[p], BOX))
            self.highs.changeColCost(p, region.cost[p])
        self.highs.addVar(*margin)
        self.highs.changeColCost(self.margin_column, float(margin[0] < margin[1]))
        A = region.A
        for r in range(len(region.b)):
            part = slice(A.indptr[r], A.indptr[r + 1])
            self._add(A.indices[part], A.data[part], -self.infinity, float(region.b[r]))

    def begin_with(self, active: Active) -> None:
        """Take in the bounds of distances, and the fences of points, that held another program."""
        for sign in (1, -1):
            pairs = [pair for side, *pair in active.bounds if side == sign]
            self._bound_distances(np.array(pairs, dtype=np.intp).reshape(-1, 2), sign)
        fences = np.array(active.fences, dtype=np.intp).reshape(-1, 2)
        fences = fences[np.isin(fences[:, 0], self.demanding)]
        # The farthest server is the one that matters.
        self._separate(fences[:, 0], self.served_by[fences[:, 0], -1], fences[:, 1])

    def active(self) -> Active:
        """Return the rows that hold the optimum."""
        held = np.abs(self.highs.getSolution().row_dual) > LEAST_DUAL
        return Active(
            [key for key, row in self.bounds.items() if held[row]],
            sorted({(i, k) for (i, _, k), row in self.separations.items() if held[row]}),
        )

    def solve(self, theta: Array, everyone: Oracle, seconds: float) -> Array | None:
        """Solve from the rows that are violated under θ; None where there is no solution in time.

        The distances of the points of `everyone` are held within their bounds.

        Raises
        ------
        SolverError
            If HiGHS fails.
        """
        import highspy

        lacking = np.zeros(len(self.price))
        margin = 0.0
        # All are looked at where nothing is violated among some.
        some = self.oracle
        deadline = perf_counter() + seconds
        for n in range(MOST_ROUNDS):
            taken, _ = self._take_in_region(theta, some)
            added = taken + self._take_in(theta, margin, lacking)
            if not added and some is not everyone:
                added, worst = self._take_in_region(theta, everyone)
                some = some.joined_by(worst)
            if n and not added:
                break
            if n and perf_counter() > deadline:
                return None
            self._run(deadline)
            status = self.highs.getModelStatus()
            if status in (
                highspy.HighsModelStatus.kTimeLimit,
                highspy.HighsModelStatus.kInfeasible,
                highspy.HighsModelStatus.kUnboundedOrInfeasible,
            ):
                return None
            if status != highspy.HighsModelStatus.kOptimal:
                raise SolverError(
                    f"HiGHS cannot solve a step of the alternation "
                    f"({self.highs.modelStatusToString(status)}): scale the features, as "
                    f"scale='minmax' does"
                )
            x = np.array(self.highs.getSolution().col_value)
            self.cost = float(self.outline.region.cost @ x[: self.margin_column])
            theta, margin = x[: self.P], float(x[self.margin_column])
            for i, column in self.lack.items():
                lacking[i] = x[column]
        return theta

    def _run(self, deadline: float) -> None:
        """Run HiGHS; where its simplex method stalls, begin again without the last basis."""
        import highspy

        left = max(deadline - perf_counter(), LEAST_TIME)
        self.highs.setOptionValue("time_limit", self.highs.getRunTime() + min(left, STALLED))
        status = run_linear(self.highs)
        if status == highspy.HighsModelStatus.kTimeLimit and left > STALLED:
            self.highs.clearSolver()
            left = max(deadline - perf_counter(), LEAST_TIME)
            self.highs.setOptionValue("time_limit", self.highs.getRunTime() + min(left, LONGEST))
            run_linear(self.highs)

    def _take_in_region(self, theta: Array, points: Oracle) -> tuple[int, list[Pairs]]:
        """Add the most violated bounds of distances; returns how many, and all violated pairs."""
        before = len(self.bounds)
        context = self.outline.context
        far, near = points.violated(theta, context.dmin, context.dmax)
        worst = [points.rows[pairs[amounts > TOLERANCE]] for pairs, amounts in (far, near)]
        for sign, pairs in zip((1, -1), worst, strict=True):
            first = pairs[:REGION_ROWS_A_ROUND].tolist()
            fresh = [pair for pair in first if (sign, *pair) not in self.bounds]
            self._bound_distances(np.array(fresh, dtype=np.intp).reshape(-1, 2), sign)
        return len(self.bounds) - before, worst

    def _take_in(self, theta: Array, margin: float, lacking: Array) -> int:
        """Add the most violated rows of the points; returns how many.

        Of a point's servers only the farthest counts in a round: a row for each of them makes
        programs three times as large, and as slow.
        """
        before = len(self.separations)
        fences = self.oracle.nearest(theta, q=FENCES_A_ROUND, fencing=self.fencing)
        owner = self.demanding
        servers, reach = self._farthest_servers(theta)
        fence = fences.fenced_by[owner]
        lack = (reach + margin - lacking[owner])[:, None] - fences.fenced_at[owner]
        violated = (lack > TOLERANCE) & (fence >= 0)
        violated &= lack >= SHARE * np.max(lack, where=violated, initial=0.0)
        n, q = np.nonzero(violated)
        self._separate(owner[n], servers[n], fence[n, q])
        return len(self.separations) - before

    def _farthest_servers(self, theta: Array) -> tuple[Pairs, Array]:
        """Return for each demanding point its farthest server, and how far that is."""
        candidates = self.served_by[self.demanding]
        owner = np.repeat(self.demanding, candidates.shape[1])
        reach = np.empty(len(owner))
        pairs = self.oracle.rows[np.column_stack([owner, candidates.ravel()])]
        for part, phi in self.outline.context.features(pairs):
            reach[part] = phi @ theta
        reaches = reach.reshape(candidates.shape)
        last = reaches.argmax(axis=1)[:, None]
        return (
            np.take_along_axis(candidates, last, axis=1)[:, 0],
            np.take_along_axis(reaches, last, axis=1)[:, 0],
        )

    def _bound_distances(self, pairs: Pairs, sign: int) -> None:
        """Add d ≤ d_max for sign 1, and the least distance for sign −1."""
        context = self.outline.context
        columns = np.arange(self.P, dtype=np.int32)
        apart = self.outline.data.apart(*pairs.T)
        for part, phi in context.features(pairs):
            for pair, across, row in zip(pairs[part].tolist(), apart[part], phi, strict=True):
                least = context.dmin if across else 0.0
                lower, upper = (
                    (-self.infinity, context.dmax) if sign > 0 else (least, self.infinity)
                )
                self.bounds[sign, *pair] = self.highs.getNumRow()
                self._add(columns, row, lower, upper)

    def _separate(self, points: Pairs, servers: Pairs, fences: Pairs) -> None:
        """Add d_ij + λ ≤ d_ik + ξ_i for many (i, j, k) at once."""
        fresh = [
            n
            for n, row in enumerate(
                zip(points.tolist(), servers.tolist(), fences.tolist(), strict=True)
            )
            if row not in self.separations
        ]
        if not fresh:
            return
        i, j, k = points[fresh], servers[fresh], fences[fresh]
        first = self.highs.getNumRow()
        triples = zip(i.tolist(), j.tolist(), k.tolist(), strict=True)
        self.separations.update({triple: first + n for n, triple in enumerate(triples)})
        self._add_lacks(np.unique(i))
        rows = self.oracle.rows
        values = np.empty((len(i), self.P + 2))
        for part, phi in self.outline.context.features(rows[np.column_stack([i, j])]):
            values[part, : self.P] = phi
        for part, phi in self.outline.context.features(rows[np.column_stack([i, k])]):
            values[part, : self.P] -= phi
        values[:, self.P], values[:, self.P + 1] = 1.0, -1.0
        columns = np.empty(values.shape, dtype=np.int32)
        columns[:, : self.P] = np.arange(self.P)
        columns[:, self.P] = self.margin_column
        columns[:, self.P + 1] = [self.lack[int(point)] for point in i]
        count, width = values.shape
        self.highs.addRows(
            count,
            np.full(count, -self.infinity),
            np.zeros(count),
            values.size,
            np.arange(0, values.size, width, dtype=np.int32),
            columns.ravel(),
            values.ravel(),
        )

    def _add_lacks(self, points: Pairs) -> None:
        """Add the columns ξ of points that have none yet."""
        for i in points.tolist():
            if i in self.lack:
                continue
            self.lack[i] = self.highs.getNumCol()
            free = np.isfinite(self.price[i])
            self.highs.addVar(0.0, self.infinity if free else 0.0)
            self.highs.changeColCost(self.lack[i], -float(self.price[i]) if free else 0.0)

    def _add(self, indices: NDArray[np.int32], values: Array, lower: float, upper: float) -> None:
        self.highs.addRow(lower, upper, len(indices), indices, np.ascontiguousarray(values))
