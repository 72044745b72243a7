"""A composition on data as linear programs in the metric's parameters, for the compiled loops."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import psutil
from numpy.typing import NDArray

from mlmio.errors import DataError
from mlmio.kernels.node import Node, Solution
from mlmio.kernels.programs import Work, solve_node
from mlmio.kernels.rows import (
    GIVEN_UP,
    KEPT,
    OPEN,
    Classes,
    Columns,
    Instance,
    Rules,
    Table,
)
from mlmio.kernels.simplex import INFEASIBLE, OPTIMAL, begin, objective
from mlmio.outline import GivingUp

if TYPE_CHECKING:
    from mlmio.outline import Outline

Array = NDArray[np.float64]

# Columns without bounds of their own are held within this, parameters in units in which their
# largest feature is one. No claim leans on it.
BOX = 1e4
TINY = 1e-8


@dataclass(frozen=True)
class Parametric:
    """A problem in the space of θ, of the region's other columns, and of λ.

    Parameters
    ----------
    outline : Outline
        Where it comes from.
    instance : Instance
        The same as arrays, parameters in units of their own.
    unit : (P,) array
        θ = unit · column.
    """

    outline: Outline
    instance: Instance
    unit: Array

    def theta(self, x: Array) -> Array:
        """Return the parameters of a point of the program."""
        return x[: len(self.unit)] * self.unit

    def distances(self, theta: Array, work: Work) -> None:
        """Write the distances under some parameters into ``work.d``."""
        work.d[:] = (theta / self.unit) @ self.instance.table.features

    def nothing_found(self) -> Solution:
        """Return a solution worse than any."""
        m, N = len(self.instance.columns.c), self.outline.data.N
        return Solution(np.array([-np.inf]), np.zeros(m), np.zeros(N, dtype=np.int64))

    @property
    def slack(self) -> float:
        """By how much an optimum may exceed what the programs, with their tie-breaker, say."""
        return TINY * self.instance.table.dmax

    def given_up(self, solution: Solution) -> NDArray[np.bool_]:
        """Return z of a solution."""
        return np.asarray(solution.state == GIVEN_UP)


def parametric(outline: Outline) -> Parametric:
    """Lay an outline whose neighbours serve out as arrays.

    Raises
    ------
    DataError
        If the features of all pairs do not fit memory.
    """
    context, region, data = outline.context, outline.region, outline.data
    P, N = region.P, data.N
    _check_memory(N, P)
    features = np.empty((N, P, N))
    for i in range(N):
        pairs = np.column_stack([np.full(N, i), np.arange(N)])
        for part, phi in context.features(pairs):
            features[i, :, part] = phi.T
    largest = np.abs(features).max(axis=(0, 2))
    unit = 1.0 / np.where(largest > 0, largest, 1.0)
    features *= unit[None, :, None]
    loss = context.loss or GivingUp(0.0, True, False, True, 0)
    # After the region's columns comes λ.
    least_margin, most_margin = _margin(context.margin, context.dmax)
    scale = np.ones(len(region.columns) + 1)
    scale[:P] = unit
    A = np.hstack([region.A.toarray(), np.zeros((len(region.b), 1))]) * scale
    lower = np.append(region.lower, least_margin) / scale
    upper = np.append(region.upper, most_margin) / scale
    rows = np.arange(N)
    apart = np.asarray(data.apart_rows(rows), dtype=bool)
    least = np.where(apart, context.dmin, 0.0)
    for i, k in context.exempt:
        least[i, k] = least[k, i] = 0.0
    fixed = np.full(N, KEPT if context.loss is None else OPEN)
    fixed[context.conflicting] = GIVEN_UP
    table = Table(features, least, float(context.dmax), np.ascontiguousarray(A.T), region.b.copy())
    classes = Classes(
        np.asarray(data.together_rows(rows), dtype=bool),
        apart,
        data.y.astype(np.int64),
        data.class_sizes.astype(np.int64),
    )
    cost = np.append(region.cost, 1.0) * scale
    columns = Columns(
        cost,
        cost - _tie_breaker(features, len(scale)),
        np.where(np.isinf(lower), -BOX, lower),
        np.where(np.isinf(upper), BOX, upper),
        np.array([np.isinf(lower), np.isinf(upper)]),
        np.append(region.integer, False),
    )
    rules = Rules(
        context.neighbors.k,
        loss.price,
        context.loss is not None,
        loss.own,
        loss.others,
        loss.serving,
        loss.keep,
        bare=context.loss is not None,
    )
    instance = Instance(table, classes, columns, rules, fixed.astype(np.int64))
    return Parametric(outline, instance, unit)


def _tie_breaker(features: Array, m: int) -> Array:
    """Return TINY times a random average of all distances, as costs of the columns.

    Where only λ has a cost every step until θ is feasible is degenerate, and the simplex method
    goes around in circles. An average of distances is from 0 to d_max, so that an optimum changes
    by at most TINY · d_max.
    """
    N, P, _ = features.shape
    weights = np.random.default_rng(0).uniform(0.5, 1.5, size=(N, N))
    average = np.einsum("ipk,ik->p", features, weights) / weights.sum()
    return TINY * np.append(average, np.zeros(m - P))


def _margin(margin: object, dmax: float) -> tuple[float, float]:
    """Bounds of λ: nothing is lost by −d_max, which any metric reaches."""
    return max(margin.lower, -dmax), min(margin.upper, dmax)  # type: ignore[attr-defined]


def _check_memory(N: int, P: int) -> None:
    needed, free = 8 * N * N * P, psutil.virtual_memory().available
    if 2 * needed > free:
        raise DataError(
            f"the features of all pairs of {N:,} points take {needed / 2**30:,.1f} GiB where "
            f"{free / 2**30:,.1f} are free: draw fewer points, or use strategy='alternating'"
        )


def root_of(problem: Parametric, work: Work, counts: NDArray[np.int64]) -> tuple[int, Node]:
    """Solve the program without any point served.

    Returns
    -------
    (int, Node)
        What the simplex method ended with, and the root of the search.
    """
    from mlmio.kernels.programs import named, worth_keeping

    instance = problem.instance
    columns = instance.columns
    m, N = len(columns.c), len(instance.fixed)
    work.program.lower[:], work.program.upper[:] = columns.lower, columns.upper
    begin(work.program, work.vertex, work.scratch)
    served_by = np.full((N, instance.rules.k), -1, dtype=np.int64)
    status, n = solve_node(instance, instance.fixed, served_by, work, 0, -np.inf, counts)
    basis = np.empty(m, dtype=np.int64)
    named(work.codes, work.vertex, basis)
    price = instance.rules.price * np.sum(instance.fixed == GIVEN_UP)
    bound = objective(work.program, work.vertex) - price if status == OPTIMAL else np.inf
    allowed = instance.classes.together.copy()
    if not instance.rules.serving:
        allowed[:, instance.fixed == GIVEN_UP] = False
    return status, Node(
        -np.inf if status == INFEASIBLE else bound,
        instance.fixed.copy(),
        served_by,
        allowed,
        np.full(N, np.inf),
        columns.lower,
        columns.upper,
        worth_keeping(work, n, np.inf),
        basis,
    )
