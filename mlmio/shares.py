"""Bounds of intervals of the margin, by programs in which points are given up in part."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from mlmio.anytime import WrittenWitness
from mlmio.cores import points_of
from mlmio.kernels.programs import new_work
from mlmio.kernels.rows import GIVEN_UP, OPEN
from mlmio.kernels.shares import begin_with, solve_shares
from mlmio.kernels.simplex import CUT_OFF, INFEASIBLE, OPTIMAL, objective

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlmio.anytime import Proof
    from mlmio.kernels.node import Node
    from mlmio.kernels.rows import Instance
    from mlmio.parametric import Parametric


class Shares:
    r"""The relaxation of a problem in which points are given up in part, over an interval.

    .. math::

        \max \lambda - \rho \sum_i z_i \quad\text{s.t.}\quad
        \lambda \le d_{ik} + (U - d_{\min}) z, \quad L \le \lambda \le U,
        \quad \sum_{i \in C} z_i \ge 1

    for points of different classes, with z the share of whoever relieves their row, and for the
    cores C of level L. Who serves is left out, since d_ij ≥ 0. The smaller the interval,
    the more a point costs that lacks something.

    Parameters
    ----------
    problem : Parametric
        Whose points may be given up.
    root : Node
        Its root, whose rows are at hand from the start.
    halt : (1,) array of bool
        Ends a program where it is set, from another thread.
    """

    def __init__(self, problem: Parametric, root: Node, halt: NDArray[np.bool_]) -> None:
        self._instance = _with_shares(problem.instance)
        columns = problem.instance.columns
        # The objective, but for prices, is λ unless the region has costs of its own.
        self._margin = not columns.cost[:-1].any()
        self._work = new_work(self._instance)._replace(halt=halt)
        self._codes, self._n = root.codes, 0
        self._served_by = np.full_like(root.served_by, -1)
        self._most = 0.0

    def begin(self, low: float, high: float, given_up: int, kept: int) -> None:
        """Begin with an interval of the objective, but for prices, and points that are decided."""
        b, program = self._instance.table.b, self._work.program
        b[-2:] = -low, high
        self._most = high if self._margin else float(self._instance.columns.upper[-1])
        program.upper[-1] = self._most
        N = len(self._served_by)
        program.lower[-1 - N : -1] = points_of(given_up, N)
        program.upper[-1 - N : -1] = ~points_of(kept, N)
        self._n = begin_with(self._instance, self._work, self._served_by, self._codes)

    def bound(
        self,
        cores: NDArray[np.bool_],
        cutoff: float,
        counts: NDArray[np.int64],
        witnesses: list[Proof],
    ) -> float:
        """Bound the objective; −inf where it does not exceed a cut-off, inf where that is open.

        Parameters
        ----------
        cores : (C, N) array of bool
            Points of which one at least is given up.
        cutoff : float
        counts : (3,) array of int
            Linear programs, steps and rows, added to.
        witnesses : list of Proof
            What proves the bound is added.
        """
        status, self._n = solve_shares(
            self._instance,
            self._work,
            self._served_by,
            self._n,
            self._most,
            cores,
            cutoff,
            counts,
        )
        if status not in (CUT_OFF, INFEASIBLE, OPTIMAL):
            return np.inf
        reached = float(objective(self._work.program, self._work.vertex))
        limit = reached if status == OPTIMAL else cutoff
        witnesses.append(self._witness(limit, status == INFEASIBLE))
        return reached if status == OPTIMAL else -np.inf

    def _witness(self, limit: float, infeasible: bool) -> WrittenWitness:
        """Write the rows of the basis out, and the one that contradicts them if there is one."""
        program, basis = self._work.program, self._work.vertex.basis
        if infeasible:
            basis = np.append(basis, self._work.scratch.entering)
        at_hand = basis[basis >= 0]
        rows, rhs = csr_array(program.A[:, at_hand].T), program.b[at_hand]
        lower, upper = program.lower.copy(), program.upper.copy()
        return WrittenWitness(program.c, lower, upper, rows, rhs, limit)

    @property
    def given_up(self) -> NDArray[np.float64]:
        """(N,) array: the share of each point, after a bound."""
        return self._work.vertex.x[-1 - len(self._served_by) : -1].copy()


def _with_shares(instance: Instance) -> Instance:
    """Return an instance with a column for the share of each point, and rows for an interval."""
    table, columns, rules, fixed = instance.table, instance.columns, instance.rules, instance.fixed
    N, C = len(fixed), len(instance.classes.sizes)
    price = np.full(N, rules.price)
    none = np.zeros(N, dtype=bool)
    widened = columns._replace(
        c=_before_margin(columns.c, -price),
        lower=_before_margin(columns.lower, np.where(fixed == GIVEN_UP, 1.0, 0.0)),
        upper=_before_margin(columns.upper, np.ones(N)),
        artificial=np.array([_before_margin(each, none) for each in columns.artificial]),
    )
    m, R = len(widened.c), len(table.b)
    A = np.zeros((m, R + C + 2))
    A[: m - 1 - N, :R], A[-1, :R] = table.A[:-1], table.A[-1]
    # The floors of the classes, and the ends of the interval.
    floors = np.zeros((C, m))
    floors[instance.classes.y, m - 1 - N + np.arange(N)] = 1.0
    A[:, R:-2] = floors.T
    but_for_prices = _before_margin(columns.cost, np.zeros(N))
    A[:, -2], A[:, -1] = -but_for_prices, but_for_prices
    spare = np.maximum(instance.classes.sizes - rules.keep, 0.0)
    b = np.concatenate([table.b, spare, [0.0, 0.0]])
    return instance._replace(
        table=table._replace(A=np.ascontiguousarray(A), b=b),
        columns=widened,
        fixed=np.full(N, OPEN, dtype=np.int64),
    )


def _before_margin(values: NDArray, shares: NDArray) -> NDArray:
    """Insert values for the shares before that of λ."""
    return np.concatenate([values[:-1], shares, values[-1:]])
