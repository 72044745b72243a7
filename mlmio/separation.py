"""The largest d_min that the parameters' region allows: one LP, its rows on demand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import DataError
from mlmio.solvers.highs import silent_highs

if TYPE_CHECKING:
    from mlmio.context import Context

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]

TOLERANCE = 1e-9
ROWS_A_ROUND = 200

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
    """

    value: float
    pair: tuple[int, int]


def largest_separation(
    context: Context, pairs: Pairs, crossing: NDArray[np.bool_], enough: float | None
) -> Separation:
    """Solve max t s.t. t ≤ d_ik for crossing pairs, 0 ≤ d ≤ d_max, and the rows built so far.

    Parameters
    ----------
    context : Context
        With the terms published and every row that restricts them alone (cones) built.
    pairs : (M, 2) array of int
        Pairs that the region holds.
    crossing : (M,) array of bool
        Which of them are of different classes.
    enough : float or None
        Value at which the search may stop where there are integer variables so far, the switches
        of a cardinality. None relaxes them, which makes δ* an upper bound.

    Raises
    ------
    DataError
        If the LP cannot be solved, as with features of very different magnitude.
    """
    program = _Program(context, pairs, crossing, enough)
    while True:
        theta, t = program.solve()
        if not program.add_violated(theta, t):
            return program.answer(t)


class _Program:
    """The LP in (θ, …, t), with the rows of the pairs added where violated."""

    def __init__(
        self,
        context: Context,
        pairs: Pairs,
        crossing: NDArray[np.bool_],
        enough: float | None,
    ) -> None:
        import highspy

        self.context, self.pairs, self.crossing = context, pairs, crossing
        self.distances = np.empty(len(pairs))
        # A row is added once: the solver, which drops tiny coefficients, may leave it violated.
        self.added = {sign: np.zeros(len(pairs), dtype=bool) for sign in (1.0, -1.0)}
        self.infinity = highspy.kHighsInf
        self.active = np.array([not theta.fixed for theta in context.theta])
        self.P = int(self.active.sum())
        columns, A, right = _rows_so_far(context)
        self.t = len(columns)
        self.highs = silent_highs()
        for name in ("primal_feasibility_tolerance", "mip_feasibility_tolerance"):
            self.highs.setOptionValue(name, TOLERANCE)
        self.highs.setOptionValue("mip_rel_gap", 0.0)
        self.highs.setOptionValue("time_limit", TIME_LIMIT)
        self.highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
        for n, column in enumerate(columns):
            self.highs.addVar(
                -self.infinity if column.lb is None else column.lb,
                self.infinity if column.ub is None else column.ub,
            )
            if enough is not None and column.is_integer():
                self.highs.changeColIntegrality(n, highspy.HighsVarType.kInteger)
        # An LP is not stopped early: on a large face of optima the simplex method loses its way.
        searches = enough is not None and any(column.is_integer() for column in columns)
        self.highs.addVar(-self.infinity, enough if searches else context.dmax)
        self.highs.changeColCost(self.t, 1.0)
        for row in range(len(right)):
            part = slice(A.indptr[row], A.indptr[row + 1])
            self._add(A.indices[part], A.data[part], -self.infinity, float(right[row]))

    def solve(self) -> tuple[Array, float]:
        """Solve the LP with the rows that it has."""
        import highspy

        self.highs.run()
        if self.highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            status = self.highs.modelStatusToString(self.highs.getModelStatus())
            raise DataError(
                f"the largest possible d_min cannot be computed ({status}): scale the features, "
                f"as scale='minmax' does, or give bounded(dmin=…) a number"
            )
        solution = np.array(self.highs.getSolution().col_value)
        theta = np.zeros(len(self.active))
        theta[self.active] = solution[: self.P]
        return theta, float(solution[self.t])

    def add_violated(self, theta: Array, t: float) -> int:
        """Add the most violated rows; returns how many."""
        self.distances = np.empty(len(self.pairs))
        for part, phi in self.context.features(self.pairs):
            self.distances[part] = phi @ theta
        d = self.distances
        too_far = self._largest(d - self.context.dmax, 1.0)
        too_near = self._largest(np.where(self.crossing, t, 0.0) - d, -1.0)
        columns = np.arange(self.P, dtype=np.int32)
        for rows, sign in ((too_far, 1.0), (too_near, -1.0)):
            limit = self.context.dmax if sign > 0 else 0.0
            for part, phi in self.context.features(self.pairs[rows]):
                for m, coefficients in zip(rows[part], sign * phi[:, self.active], strict=True):
                    # t ≤ d_ik holds for crossing pairs only.
                    with_t = sign < 0 and self.crossing[m]
                    indices = np.append(columns, np.int32(self.t)) if with_t else columns
                    values = np.append(coefficients, 1.0) if with_t else coefficients
                    self._add(indices, values, -self.infinity, limit)
        return len(too_far) + len(too_near)

    def _largest(self, violation: Array, sign: float) -> Pairs:
        """Positions of the largest violations beyond the tolerance, of rows not yet there."""
        positions = np.flatnonzero((violation > 10 * TOLERANCE) & ~self.added[sign])
        if len(positions) > ROWS_A_ROUND:
            order = np.argpartition(-violation[positions], ROWS_A_ROUND)[:ROWS_A_ROUND]
            positions = positions[order]
        self.added[sign][positions] = True
        return positions

    def _add(self, indices: Any, values: Array, lower: float, upper: float) -> None:
        self.highs.addRow(lower, upper, len(indices), indices, values)

    def answer(self, t: float) -> Separation:
        """Read the optimum: δ* and the crossing pair that is nearest there."""
        d = np.where(self.crossing, self.distances, np.inf)
        i, k = self.pairs[int(np.argmin(d))]
        return Separation(t, (int(i), int(k)))


def _rows_so_far(context: Context) -> tuple[list[Any], Any, Array]:
    """Rows A x ≤ b of what is built so far, the free parameters θ first among the columns."""
    from pyomo.core import Constraint
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
    from scipy.sparse import csr_array

    free = [theta for theta in context.theta if not theta.fixed]
    if next(context.model.component_data_objects(Constraint, active=True), None) is None:
        return free, csr_array((0, len(free))), np.empty(0)
    form = LinearStandardFormCompiler().write(context.model)
    known = {id(theta) for theta in free}
    columns = free + [column for column in form.columns if id(column) not in known]
    position = {id(column): index for index, column in enumerate(columns)}
    A = form.A.tocoo()
    where = np.array([position[id(column)] for column in form.columns], dtype=np.int32)
    shape = (A.shape[0], len(columns))
    return columns, csr_array((A.data, (A.row, where[A.col])), shape=shape), form.rhs
