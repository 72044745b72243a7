"""What benchmark reports count and average: pure functions of arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

CONFIDENCE = 0.95


def shifted_geometric_mean(values: ArrayLike, shift: float) -> float:
    """Return exp(mean(log(v + shift))) − shift; NaN where there are no values.

    The shift keeps the smallest values from deciding: between 0.01 s and 0.02 s there is nothing
    to choose. Achterberg, Constraint Integer Programming, 2007, appendix A.3.

    Parameters
    ----------
    values : array_like
        None below zero.
    shift : float
        Of the unit of the values.

    Examples
    --------
    >>> round(shifted_geometric_mean([1.0, 7.0], shift=1.0), 9)
    3.0
    """
    given = np.asarray(values, dtype=float)
    if not given.size:
        return math.nan
    return float(np.exp(np.mean(np.log(given + shift))) - shift)


def primal_gap(incumbents: ArrayLike, best: float) -> Array:
    """Return the gap of incumbents to the best known objective, between 0 and 1.

    0 where both are zero, 1 where their signs differ or there is no incumbent (NaN), else
    |best − v| / max(|best|, |v|). Berthold, Measuring the impact of primal heuristics, Operations
    Research Letters 41(6), 2013, equation (1).

    Examples
    --------
    >>> primal_gap([0.5, 1.0, -1.0, float("nan")], best=1.0).tolist()
    [0.5, 0.0, 1.0, 1.0]
    """
    values = np.asarray(incumbents, dtype=float)
    scale = np.maximum(np.abs(values), abs(best))
    with np.errstate(invalid="ignore", divide="ignore"):
        gaps = np.where(scale == 0.0, 0.0, np.abs(best - values) / scale)
        return np.where(np.isnan(values) | (values * best < 0.0), 1.0, gaps)


def primal_integral(times: ArrayLike, incumbents: ArrayLike, best: float, until: float) -> float:
    """Return the integral of the primal gap over time, in seconds.

    The gap is 1 before the first incumbent, and stays as it is between two of them. A solve that
    is short of the best known objective at its end is short of it until the limit. Berthold 2013,
    equation (4): ∫₀ᵀ p(t) dt.

    Parameters
    ----------
    times : array_like
        Seconds, rising.
    incumbents : array_like
        Objective from each of these times on; NaN where there is none yet.
    best : float
        The best known objective.
    until : float
        The limit T.

    Examples
    --------
    Nothing for 2 s, half of the best for 3 s, then the best:

    >>> primal_integral([2.0, 5.0], [0.5, 1.0], best=1.0, until=10.0)
    3.5
    """
    starts = np.minimum(np.concatenate([[0.0], np.asarray(times, dtype=float)]), until)
    gaps = np.concatenate([[1.0], primal_gap(incumbents, best)])
    return float(np.sum(gaps * np.diff(starts, append=until)))


def performance_ratios(seconds: ArrayLike) -> Array:
    """Return each time over the least time of its problem.

    Dolan and Moré, Benchmarking optimization software with performance profiles, Mathematical
    Programming 91, 2002: the profile of a solver is the share of problems with a ratio of at most
    τ. It says which solver is the fastest; with more than two it can order the others wrongly,
    since a ratio is to the fastest of all (Gould and Scott, A note on performance profiles for
    benchmarking software, ACM Transactions on Mathematical Software 43(2), 2016).

    Parameters
    ----------
    seconds : (problems, solvers) array_like
        Above zero; infinite where unsolved.

    Returns
    -------
    (problems, solvers) array
        Infinite where unsolved.

    Examples
    --------
    >>> performance_ratios([[1.0, 2.0], [4.0, np.inf], [np.inf, np.inf]]).tolist()
    [[1.0, 2.0], [1.0, inf], [inf, inf]]
    """
    times = np.asarray(seconds, dtype=float)
    least = times.min(axis=1, keepdims=True)
    # A problem that nobody solves has no ratio, but it counts.
    return np.where(np.isfinite(times), times / np.where(np.isfinite(least), least, 1.0), np.inf)


def share_within(values: ArrayLike) -> tuple[Array, Array]:
    """Return where the share of values that are at most x rises, and to what.

    Performance profiles, solved against time and gap curves are such shares, of ratios, times and
    gaps. Infinite values count and are never reached.

    Examples
    --------
    >>> at, share = share_within([2.0, 1.0, 2.0, np.inf])
    >>> at.tolist(), share.tolist()
    ([1.0, 2.0], [0.25, 0.75])
    """
    given = np.sort(np.asarray(values, dtype=float))
    at, counts = np.unique(given[np.isfinite(given)], return_counts=True)
    return at, np.cumsum(counts) / max(1, len(given))


@dataclass(frozen=True)
class PowerLaw:
    """A fit t ≈ factor · N^exponent.

    Parameters
    ----------
    exponent, factor : float
    low, high : float
        The exponent's 95 % confidence interval.
    r2 : float
        Share of the variance of log t that it explains; NaN where log t does not vary.
    points : int
        How many it is fitted to.
    """

    exponent: float
    factor: float
    low: float
    high: float
    r2: float
    points: int

    def at(self, sizes: ArrayLike) -> Array:
        """Return what it predicts."""
        return self.factor * np.asarray(sizes, dtype=float) ** self.exponent


def power_law(sizes: Sequence[float] | Array, seconds: Sequence[float] | Array) -> PowerLaw | None:
    """Fit log t = log factor + exponent · log N by least squares.

    The interval is that of Student's t for normal errors of log t; solves of one size that
    share their data are not independent, which makes it too narrow.

    Parameters
    ----------
    sizes, seconds : (n,) array_like
        Above zero and finite.

    Returns
    -------
    PowerLaw or None
        None where there are fewer than three different sizes.

    Examples
    --------
    >>> law = power_law([10, 20, 40], [1.0, 4.0, 16.0])
    >>> round(law.exponent, 9), round(law.factor, 9), round(law.r2, 9)
    (2.0, 0.01, 1.0)
    """
    from scipy.special import stdtrit

    if len(np.unique(sizes)) < 3:
        return None
    x, y = np.log(np.asarray(sizes, dtype=float)), np.log(np.asarray(seconds, dtype=float))
    spread = np.sum((x - x.mean()) ** 2)
    exponent = float(np.sum((x - x.mean()) * (y - y.mean())) / spread)
    constant = float(y.mean() - exponent * x.mean())
    left = float(np.sum((y - constant - exponent * x) ** 2))
    total = float(np.sum((y - y.mean()) ** 2))
    free = len(x) - 2
    margin = float(stdtrit(free, (1 + CONFIDENCE) / 2)) * math.sqrt(left / free / spread)
    return PowerLaw(
        exponent=exponent,
        factor=math.exp(constant),
        low=exponent - margin,
        high=exponent + margin,
        r2=1.0 - left / total if total > 0.0 else math.nan,
        points=len(x),
    )
