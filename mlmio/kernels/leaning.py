"""What the program that closes a branch leans on: the points of the rows of its basis."""

from __future__ import annotations

from mlmio.kernels.compiling import leaf
from mlmio.kernels.rows import BARE, FIRST_OF_REGION, SEPARATION
from mlmio.kernels.simplex import INFEASIBLE

# Weights of a basis below this are rounding.
LEAST_WEIGHT = 1e-11


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
