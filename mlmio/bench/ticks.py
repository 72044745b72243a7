"""Ticks of logarithmic axes whose labels do not touch."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Labels for which an axis has room, and how far apart two must be as a share of the axis.
MOST, LEAST_APART = 7, 0.09


def ticks_between(low: float, high: float) -> list[float]:
    """Return round numbers on a logarithmic axis from `low` to `high`.

    One, two and five times powers of ten, powers of ten alone where these are too many, and equal
    steps where they are fewer than two.

    Parameters
    ----------
    low, high : float
        Above zero, the first below the second.

    Examples
    --------
    >>> ticks_between(1.0, 12.0), ticks_between(0.01, 500.0), ticks_between(2.2, 4.4)
    ([1.0, 2.0, 5.0, 10.0], [0.01, 0.1, 1.0, 10.0, 100.0], [2.5, 3.0, 3.5, 4.0])
    """
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    # As texts, so that a thousandth is what it is written as.
    fine = _within([float(f"{lead}e{power}") for power in decades for lead in (1, 2, 5)], low, high)
    if len(fine) < 2:
        return _equal_steps(low, high)
    if len(fine) <= MOST:
        return fine
    powers = _within([float(f"1e{power}") for power in decades], low, high)
    return powers[:: -(-len(powers) // MOST)]


def apart(values: Sequence[float]) -> list[float]:
    """Return those of some values that are to be labelled on a logarithmic axis.

    The first and the last are, and between them whatever is far enough from its neighbours.

    Parameters
    ----------
    values : sequence of float
        Above zero, rising, at least two.

    Examples
    --------
    >>> apart([10.0, 10.5, 20.0, 39.0, 40.0])
    [10.0, 20.0, 40.0]
    """
    first, last = values[0], values[-1]
    least = LEAST_APART * math.log(last / first)
    kept = [first]
    for value in values[1:-1]:
        if math.log(value / kept[-1]) >= least and math.log(last / value) >= least:
            kept.append(value)
    return [*kept, last]


def _within(values: Sequence[float], low: float, high: float) -> list[float]:
    return [value for value in values if low <= value <= high]


def _equal_steps(low: float, high: float) -> list[float]:
    from matplotlib.ticker import MaxNLocator

    found = MaxNLocator(nbins=5, steps=[1, 2, 5, 10]).tick_values(low, high)
    return _within([float(value) for value in found], low, high)
