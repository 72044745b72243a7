"""Incumbent and bound over time: collecting them while something is solved."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from time import perf_counter

from mlmio.solvers.base import Moment

# Solvers write 1e20, 1e50 or 1e100 where they have no bound.
NO_BOUND = 1e20

# A moment in which only the bound is better is kept when this much time has passed since the last,
# in seconds or as a share of all: a solve of an hour then has some hundreds of moments.
LEAST_SECONDS = 0.01
LEAST_SHARE = 0.01


class Recorder:
    """Collects the moments of a solve; what is no better than before changes nothing.

    Parameters
    ----------
    maximize : bool
        Sense of the objective.

    """

    def __init__(self, maximize: bool = True) -> None:
        self._moments: list[Moment] = []
        # When the bound became better without a moment for it, as long as there is none.
        self._pending: float | None = None
        self._began = perf_counter()
        self._last = -math.inf
        self._sign = 1.0 if maximize else -1.0
        self._incumbent, self._bound = -math.inf, math.inf

    @property
    def moments(self) -> list[Moment]:
        """What was noted: rising in time, better with each."""
        if self._pending is None:
            return list(self._moments)
        return [*self._moments, self._moment(self._pending)]

    @property
    def seconds(self) -> float:
        """Seconds since the recorder was made."""
        return perf_counter() - self._began

    def note(
        self,
        incumbent: float | None = None,
        bound: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Note an objective that was found, or a bound, which need not be the best.

        Parameters
        ----------
        incumbent, bound : float or None
            Where the solver has any: what is not finite, or beyond 1e20, is none.
        seconds : float, optional
            When it was; now by default.
        """
        better, tighter = self._scored(incumbent, -math.inf), self._scored(bound, math.inf)
        improved = better > self._incumbent
        if not improved and tighter >= self._bound:
            return
        now = max(self.seconds if seconds is None else seconds, self._last)
        if self._pending is not None and self._due(now):
            # That bound held until now.
            self._keep(self._pending)
        self._incumbent = max(better, self._incumbent)
        self._bound = min(tighter, self._bound)
        if improved or self._due(now):
            self._keep(now)
        else:
            self._pending = now

    def follow(self, moments: Iterable[Moment], after: float = 0.0) -> None:
        """Note the moments of a solve that began so many seconds after this one."""
        for moment in moments:
            self.note(moment.incumbent, moment.bound, max(moment.seconds + after, 0.0))

    def _scored(self, value: float | None, none: float) -> float:
        """A value as of a maximisation."""
        number = finite(value)
        return none if number is None else self._sign * number

    def _due(self, now: float) -> bool:
        return now - self._last >= max(LEAST_SECONDS, LEAST_SHARE * now)

    def _keep(self, now: float) -> None:
        if now == self._last:
            self._moments.pop()
        self._last, self._pending = now, None
        self._moments.append(self._moment(now))

    def _moment(self, now: float) -> Moment:
        return Moment(now, finite(self._sign * self._incumbent), finite(self._sign * self._bound))


def finite(value: float | None) -> float | None:
    """The value, or None for a solver's sign that there is none."""
    return None if value is None or not abs(value) < NO_BOUND else float(value)


def concluded(moments: Iterable[Moment], end: Moment, maximize: bool = True) -> tuple[Moment, ...]:
    """Return the moments up to an end, none of which says more than the end does.

    Solvers report a rounded objective on the way, and may take back a bound; what the end does not
    claim, no moment before it does.

    Parameters
    ----------
    moments : iterable of Moment
        As a :class:`Recorder` collects them.
    end : Moment
        When the solve ended, and with what.
    maximize : bool
        Sense of the objective.
    """
    least, most = (min, max) if maximize else (max, min)
    held = [Moment(0.0, None, None)]
    for moment in moments:
        incumbent = _within(least, moment.incumbent, end.incumbent)
        bound = _within(most, moment.bound, end.bound)
        if (incumbent, bound) != (held[-1].incumbent, held[-1].bound):
            held.append(Moment(moment.seconds, incumbent, bound))
    if (end.incumbent, end.bound) != (held[-1].incumbent, held[-1].bound) or len(held) == 1:
        earlier = [moment for moment in held[1:] if moment.seconds < end.seconds]
        return (*earlier, end)
    return tuple(held[1:])


def _within(limit: Callable[..., float], value: float | None, end: float | None) -> float | None:
    return None if value is None or end is None else limit(value, end)
