"""What the proof of a core leans on, and what becomes known of single choices by it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.rows import BARE, FIRST_OF_REGION, KEPT, SEPARATION, Array, Integers
from mlmio.kernels.simplex import INFEASIBLE, compiled, leaf

# Weights of a basis below this are rounding.
LEAST_WEIGHT = 1e-11


class Known(NamedTuple):
    """Choices that a margin forbids whatever else is decided, as far as is known.

    Parameters
    ----------
    level : (N, N) array
        What the objective, but for prices, does not exceed if j serves i; infinite where nothing
        is known.
    because : (N, N, m + 1) array of int
        The points beside i that this leans on, −1 after the last.
    """

    level: Array
    because: Integers


def new_known(N: int, m: int) -> Known:
    """Return that nothing is known of `N` points in programs of `m` columns."""
    return Known(np.full((N, N), np.inf), np.empty((N, N, m + 1), dtype=np.int32))


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


@leaf
def lean_on(instance, work, vertex, status, leaning):
    """Add the points whose rows close the program of a vertex."""
    others, N, codes = instance.rules.others, len(leaning), work.codes
    infeasible = status == INFEASIBLE
    weights = work.scratch.direction if infeasible else vertex.multipliers
    for r in range(len(weights)):
        if vertex.basis[r] >= 0 and abs(weights[r]) > LEAST_WEIGHT:
            _lean_on_row(codes[vertex.basis[r]], N, others, leaning)
    entering = work.scratch.entering[0]
    if infeasible and entering >= 0:
        _lean_on_row(codes[entering], N, others, leaning)


@leaf
def _lean_on_row(code, N, others, leaning):
    """Add the points that a row needs to be kept."""
    if code >= FIRST_OF_REGION:
        return
    kind, i, k = code // (N * N), (code // N) % N, code % N
    # λ ≤ d_ik, of the semantics 'printed', holds whatever becomes of i.
    if kind >= SEPARATION:
        leaning[i] = True
    if kind >= BARE and others:
        leaning[k] = True
