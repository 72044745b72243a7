"""Pricing: which row or bound of a linear program a point violates most."""

from __future__ import annotations

import numpy as np

from mlmio.kernels.compiling import leaf

#: Violation of a scaled row, or of a bound, that is tolerated.
TOLERANCE = 1e-9
#: In the place of a code, where nothing is violated.
NOTHING = np.iinfo(np.int64).max


@leaf
def price(program, n, x, violation, careful, shuffle):
    """Return the code of the most violated row or bound; of the first, if `careful`; of any.

    Bounds that are not the model's own come last: rows that contradict each other should be found
    to do so before the bounds are in the way of it.
    """
    A, b, scale, lower, upper = program.A, program.b, program.scale, program.lower, program.upper
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
        other = _any_violated(violation, scale, n, worst, careful, shuffle)
    else:
        other = _most_violated(violation, scale, n, worst)
    if other >= 0:
        return other
    return code if code != NOTHING else resort


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
