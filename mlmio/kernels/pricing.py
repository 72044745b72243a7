"""Pricing: which row or bound of a linear program a point violates most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlmio.kernels.compiling import leaf

#: Violation of a scaled row, or of a bound, that is tolerated.
TOLERANCE = 1e-9
#: In the place of a code, where nothing is violated.
NOTHING = np.iinfo(np.int64).max


# Of more rows so many are priced first: those that were violated most before.
FEW = 128


class Few(NamedTuple):
    """The few rows that are priced first (partial pricing), side by side.

    Parameters
    ----------
    rows : (FEW,) array of int
        Which they are.
    held : (1,) array of int
        How many there are.
    A, b, scale : (m, FEW), (FEW,) and (FEW,) arrays
        Copies of them.
    """

    rows: NDArray[np.int64]
    held: NDArray[np.int64]
    A: NDArray[np.float64]
    b: NDArray[np.float64]
    scale: NDArray[np.float64]


def no_few(m: int) -> Few:
    """Return memory for a few rows of `m` columns; there are none yet."""
    return Few(
        np.empty(FEW, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty((m, FEW)),
        np.empty(FEW),
        np.empty(FEW),
    )


@leaf
def renew(program, n, few):
    """Copy the few rows again, which may be others by now; those from `n` on are gone."""
    held = 0
    for place in range(few.held[0]):
        if few.rows[place] < n:
            _copy(program, few, few.rows[place], held)
            held += 1
    few.held[0] = held


@leaf
def _copy(program, few, row, place):
    """Copy a row to a place among the few."""
    A, b, scale = program.A, program.b, program.scale
    few.rows[place] = row
    for p in range(len(A)):
        few.A[p, place] = A[p, row]
    few.b[place], few.scale[place] = b[row], scale[row]


@leaf
def price(program, n, x, violation, few, careful, shuffle):
    """Return the code of the most violated row or bound; of the first, if `careful`; of any.

    Where there are more than a few rows at hand, it may be the most violated of the few that were
    before.

    Bounds that are not the model's own come last: rows that contradict each other should be found
    to do so before the bounds are in the way of it.
    """
    lower, upper = program.lower, program.upper
    m = len(x)
    worst, code = TOLERANCE, NOTHING
    last, resort = TOLERANCE, NOTHING
    for p in range(m):
        for excess, bound in (
            (lower[p] - x[p], -1 - m - p),
            (x[p] - upper[p], -1 - p),
        ):
            if excess <= TOLERANCE:
                continue
            if careful:
                # Bland's rule: any fixed order serves.
                return bound
            if is_artificial(program, bound):
                if excess > last:
                    last, resort = excess, bound
            elif excess > worst:
                worst, code = excess, bound
    if careful or shuffle > 0:
        _violations(program.A, program.b, n, x, violation)
        other = _any_violated(violation, program.scale, n, worst, careful, shuffle)
    else:
        other = _most_violated_of(program, n, x, violation, few, worst)
    if other >= 0:
        return other
    return code if code != NOTHING else resort


@leaf
def _most_violated_of(program, n, x, violation, few, worst):
    """Return the row that is violated most, by more than `worst`, of the few if one is; or −1."""
    if n > FEW:
        held = few.held[0]
        _violations(few.A, few.b, held, x, violation)
        place = _most_violated(violation, few.scale, held, worst)
        if place >= 0:
            return few.rows[place]
    _violations(program.A, program.b, n, x, violation)
    row = _most_violated(violation, program.scale, n, worst)
    if n > FEW and row >= 0:
        if few.held[0] == FEW:
            few.held[0] = 0
        _copy(program, few, row, few.held[0])
        few.held[0] += 1
    return row


@leaf
def _violations(A, b, n, x, violation):
    """Write by how much the first `n` rows are violated."""
    m = len(x)
    for r in range(n):
        violation[r] = -b[r]
    whole = m - m % 4
    for p in range(0, whole, 4):
        x0, x1, x2, x3 = x[p], x[p + 1], x[p + 2], x[p + 3]
        for r in range(n):
            violation[r] += x0 * A[p, r] + x1 * A[p + 1, r] + x2 * A[p + 2, r] + x3 * A[p + 3, r]
    for p in range(whole, m):
        value = x[p]
        for r in range(n):
            violation[r] += value * A[p, r]


@leaf
def _most_violated(violation, scale, n, worst):
    """Return the row that is violated most, and by more than `worst`; −1 if none is."""
    row, whole = -1, n - n % 4
    for first in range(0, whole, 4):
        # Four at a time: hardly ever is one of them the worst so far.
        a, b = violation[first] * scale[first], violation[first + 1] * scale[first + 1]
        c, d = violation[first + 2] * scale[first + 2], violation[first + 3] * scale[first + 3]
        if max(max(a, b), max(c, d)) > worst:
            for r in range(first, first + 4):
                if violation[r] * scale[r] > worst:
                    worst, row = violation[r] * scale[r], r
    for r in range(whole, n):
        if violation[r] * scale[r] > worst:
            worst, row = violation[r] * scale[r], r
    return row


@leaf
def _any_violated(violation, scale, n, worst, careful, shuffle):
    """Return the first row that is violated, if `careful`, or else any; −1 if none is."""
    row = -1
    for r in range(n):
        excess = violation[r] * scale[r]
        if excess > TOLERANCE:
            if careful:
                return r
            # Any number that is hard to foresee, and the same in every run.
            excess = TOLERANCE + ((r * 7919 + shuffle * 104729) % 10007 + 1) * 1e-3
        if excess > worst:
            worst, row = excess, r
    return row


@leaf
def is_artificial(program, code):
    """Whether a code is that of a bound that is not the model's own."""
    artificial, m = program.artificial, len(program.c)
    if code >= 0:
        return False
    upper = code >= -m
    return artificial[1 if upper else 0, -1 - code if upper else -1 - m - code]
