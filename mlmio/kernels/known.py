"""What becomes known while cores are looked for: choices that are forbidden, and metrics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.compiling import compiled, leaf
from mlmio.kernels.leaning import lean_on
from mlmio.kernels.rows import KEPT, Array, Integers, nearest_fence, region_cost
from mlmio.kernels.settle import serve

# Metrics that are remembered, the last ones.
METRICS = 16


class Known(NamedTuple):
    """Choices that a margin forbids whatever else is decided, as far as is known, and metrics.

    Parameters
    ----------
    level : (N, N) array
        What the objective, but for prices, does not exceed if j serves i; infinite where nothing
        is known.
    because : (N, N, m + 1) array of int
        The points beside i that this leans on, −1 after the last.
    x, d : (M, m) and (M, N, N) arrays
        Metrics that were found, and distances under them.
    found : (1,) array of int
        How many were found: what is beyond the last M is forgotten.
    """

    level: Array
    because: Integers
    x: Array
    d: Array
    found: Integers


def new_known(N: int, m: int) -> Known:
    """Return that nothing is known of `N` points in programs of `m` columns."""
    return Known(
        np.full((N, N), np.inf),
        np.empty((N, N, m + 1), dtype=np.int32),
        np.empty((METRICS, m)),
        np.empty((METRICS, N, N)),
        np.zeros(1, dtype=np.int64),
    )


@leaf
def is_known(known, state, cutoff, i, j, leaning):
    """Whether it is known that j cannot serve i; if so, what that leans on is added."""
    if known.level[i, j] > cutoff:
        return False
    for k in known.because[i, j]:
        if k >= 0 and state[k] != KEPT:
            return False
    for k in known.because[i, j]:
        if k >= 0:
            leaning[k] = True
    return True


@compiled
def get_to_know(instance, work, status, cutoff, known, i, j):
    """Note down that j cannot serve i, and what that leans on."""
    leaning, found = np.zeros(len(known.level), np.bool_), 0
    lean_on(instance, work, work.child, status, leaning)
    leaning[i] = False
    because = known.because[i, j]
    known.level[i, j] = cutoff
    because[:] = -1
    for k in range(len(leaning)):
        if leaning[k]:
            because[found] = k
            found += 1


@compiled
def remember(work, known):
    """Remember the metric at hand, in the place of the oldest."""
    place = known.found[0] % len(known.x)
    known.found[0] += 1
    known.x[place], known.d[place] = work.vertex.x, work.d


@compiled
def recall(instance, work, state, cutoff, known):
    """Look for a metric that exceeds a cut-off, the last first, and take it at hand."""
    M, servers = len(known.x), np.empty(instance.rules.k, np.int64)
    for before in range(min(known.found[0], M)):
        place = (known.found[0] - 1 - before) % M
        x, d = known.x[place], known.d[place]
        least = cutoff - region_cost(instance.columns.cost, x)
        if least < instance.table.dmax and _allow(instance, state, d, least, servers):
            work.vertex.x[:], work.d[:] = x, d
            return True
    return False


@leaf
def _allow(instance, state, d, least, servers):
    """Whether all points allow a margin that exceeds `least`, under distances d."""
    classes, rules = instance.classes, instance.rules
    for i in range(len(state)):
        reach = 0.0
        if state[i] == KEPT:
            reach = serve(classes.together[i], rules.serving, state, d[i], servers)
        elif rules.own:
            continue
        fence_at = nearest_fence(classes.apart[i], rules.others, state, d[i])[1]
        # Nobody to serve i, nor any fence: infinity less infinity exceeds nothing.
        if not fence_at - reach > least:
            return False
    return True
