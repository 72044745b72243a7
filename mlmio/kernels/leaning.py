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
    rules, N, codes = instance.rules, len(leaning), work.codes
    infeasible = status == INFEASIBLE
    weights = work.scratch.direction if infeasible else vertex.multipliers
    for r in range(len(weights)):
        if vertex.basis[r] >= 0 and abs(weights[r]) > LEAST_WEIGHT:
            _lean_on_row(codes[vertex.basis[r]], N, rules, leaning)
    entering = work.scratch.entering[0]
    if infeasible and entering >= 0:
        _lean_on_row(codes[entering], N, rules, leaning)


@leaf
def _lean_on_row(code, N, rules, leaning):
    """Add the points that a row needs to be kept."""
    if code >= FIRST_OF_REGION:
        return
    kind, i, k = code // (N * N), (code // N) % N, code % N
    # λ ≤ d_ik holds with the semantics 'printed' whatever becomes of i.
    if kind >= SEPARATION or (kind == BARE and rules.own):
        leaning[i] = True
    if kind >= BARE and rules.others:
        leaning[k] = True
