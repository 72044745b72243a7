"""Concave-convex alternation: choose servers under the metric, then the metric for the servers."""

from __future__ import annotations

import numpy as np

from mlmio.kernels.compiling import compiled
from mlmio.kernels.programs import load, solve_node
from mlmio.kernels.rows import (
    GIVEN_UP,
    SEPARATION,
    nearest_fence,
    region_cost,
    take_in,
)
from mlmio.kernels.settle import settle
from mlmio.kernels.simplex import LEANING, OPTIMAL

# Most rounds of an alternation.
ROUNDS = 30
# An alternation ends when a round gains less than this.
LEAST_GAIN = 1e-7


@compiled
def alternate(instance, root, work, best, rounds, counts):
    """Improve on the distances in ``work.d``, which need not be of a feasible metric.

    Parameters
    ----------
    instance : Instance
    root : Node
        The root, whose basis and rows every program starts from; its bounds must fix the columns
        that are whole numbers.
    work : Work
    best : Solution
        The best solution known, replaced by a better one.
    rounds : int
        Most rounds.
    counts : (3,) array of int
        Linear programs, steps and rows, added to.

    Returns
    -------
    float
        Objective of the last round, −inf where no round had a program with a solution.
    """
    table, classes, rules, fixed = instance.table, instance.classes, instance.rules, instance.fixed
    program, codes, d, separation = work.program, work.codes, work.d, work.separation
    N, x = len(fixed), work.vertex.x
    state, served_by = np.empty(N, np.int64), np.empty((N, rules.k), np.int64)
    last = -np.inf
    settle(classes, rules, table.dmax, fixed, d, state, served_by, separation)
    for _ in range(rounds):
        n = load(instance, root, work, served_by)
        for i in range(N):
            fence = nearest_fence(classes.apart[i], rules.others, state, d[i])[0]
            for t in range(rules.k):
                if fence >= 0 and state[i] != GIVEN_UP and served_by[i, t] >= 0:
                    n = take_in(table, served_by, program, codes, n, SEPARATION + t, i, fence)
        status, n = solve_node(instance, state, served_by, work, n, -np.inf, counts)
        if status != OPTIMAL and status != LEANING:
            return last
        rest = region_cost(instance.columns.cost, x)
        value = rest + settle(classes, rules, table.dmax, fixed, d, state, served_by, separation)
        if value > best.value[0]:
            best.value[0] = value
            best.x[:] = x
            best.state[:] = state
        if value <= last + LEAST_GAIN:
            return value
        last = value
    return last
