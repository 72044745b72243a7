"""Search over the points that are given up, by cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mlmio.anytime import AnytimeSearch, Found, Progress
from mlmio.core_search import CoreSearch
from mlmio.cores import Cores, bits_of, points_of
from mlmio.frontier import Frontier, Open
from mlmio.kernels.cores import MET, REFUTED
from mlmio.kernels.rows import GIVEN_UP, KEPT
from mlmio.search import Search
from mlmio.shares import Shares

if TYPE_CHECKING:
    from mlmio.kernels.node import Node
    from mlmio.parametric import Parametric

# Of more points, or with more columns, the root is bounded over intervals of the margin first: the
# incumbent is far out of the reach of cores.
MANY, MANY_COLUMNS = 150, 30
# An interval is narrow where its length is this share of its ends, or of what counts as nothing, a
# share of d_max; narrower ones than the least are not halved. In narrow ones a core is looked for
# among the points that are given up by no more than a share; where there is nothing to branch on
# either, with an effort, in steps of the simplex method, that grows by a factor up to the last.
NARROW, NARROWEST, NOTHING, SHARE = 0.1, 1e-6, 0.01, 0.3
FIRST_EFFORT, LAST_EFFORT, MORE_EFFORT = 50_000, 10_000_000, 4
# Effort of an interval of which nothing more can be said.
EXHAUSTED = 0
# A point is given up in part where that differs from all or nothing by more.
INTEGRAL = 1e-6


class _Interval(NamedTuple):
    """An interval of the objective, but for prices, and the effort that a core of it is worth.

    Points that are given up, and others that are kept, are bits.
    """

    low: float
    high: float
    given_up: int
    kept: int
    effort: int


class _Set(NamedTuple):
    """A set of points that are given up, as bits, with others that are kept below it."""

    given_up: int
    kept: int


class HittingSearch(AnytimeSearch):
    r"""An implicit hitting set search over the points that are given up.

    A metric reaches a margin only if a point of every core of that margin is given up (see
    :mod:`mlmio.kernels.cores`). With T given up, and h further points,

    .. math:: \lambda - \rho (|T| + h)

    exceeds the incumbent only for margins of which h + 1 cores that share no point would be hit by
    h points: where there are such cores for all h, T is closed but for itself, and that is a search
    over who serves the points that are left. Else it is branched on which point of a core is given
    up, and the points before it are kept.

    Of many points, or with many columns, the root is bounded by programs in which points are given
    up in part, over intervals of the margin: the best is halved; where it is narrow a core is
    looked for that cuts its solution off, or it is branched on a point that is given up in part.
    See :class:`mlmio.shares.Shares`.
    """

    def begin(self) -> None:
        """Lay out what the search needs."""
        self._finders = [
            CoreSearch(self.problem, self.root, self.halt) for _ in range(self.threads)
        ]
        self._cores = Cores()
        self._frontier: Frontier[_Set] = Frontier()
        self._intervals: Frontier[_Interval] = Frontier()
        # What was taken from the frontier and is not done with.
        self._pending: list[Open[_Set]] = []
        self._settled = -np.inf
        self._push(float(self.root.bound), self._finders[0].forced, 0)

    @property
    def bound(self) -> float:
        """Dual bound: no solution is better."""
        waiting = max([self._frontier.bound, *(entry.bound for entry in self._pending)])
        slack = self.problem.slack
        return max(waiting + slack, self._settled + slack, float(self.solution.value[0]))

    @property
    def open(self) -> int:
        """How many intervals, or sets of points, are left."""
        return len(self._intervals) or len(self._frontier) + len(self._pending)

    def run(self, stop: Callable[[], bool], tell: Callable[[Progress], None]) -> None:
        """Search until all is closed, or `stop` says so; `tell` hears of every step."""
        self.halt[0] = False
        with ThreadPoolExecutor(self.threads) as pool:
            if self._frontier and begins_with_intervals(self.problem):
                self._bound_intervals(pool, stop, tell)
            while self._frontier and not stop():
                self._expand_batch(pool, stop, tell)
                tell(self.progress)

    def _bound_intervals(
        self, pool: ThreadPoolExecutor, stop: Callable[[], bool], tell: Callable[[Progress], None]
    ) -> None:
        """Bound the root over intervals of the margin, until the best is exhausted."""
        columns, most = self.problem.instance.columns, self._finders[0].most
        # Without costs the objective, but for prices, is λ. Else what lies below is bounded by low.
        least = -np.inf if columns.cost[:-1].any() else float(self.root.lower[-1])
        low = max(least, self.wanted, -self.problem.instance.table.dmax)
        below = -np.inf if low == least else low
        if np.isfinite(most):
            self._intervals.add(
                self._frontier.bound, _Interval(low, most, self._finders[0].forced, 0, FIRST_EFFORT)
            )
        shares = [Shares(self.problem, self.root, self.halt) for _ in self._finders]
        while self._intervals.bound > self.wanted and not stop():
            entries = self._intervals.take(self.threads, self.wanted)
            if entries[0].node.effort == EXHAUSTED:
                self._intervals = Frontier()
                return
            tasks = [
                partial(_bound_interval, entry.node, program)
                for entry, program in zip(entries, shares, strict=False)
            ]
            found = self._found_by(pool, tasks, stop)
            self.nodes += len(entries)
            for entry, (bound, parts) in zip(entries, found, strict=True):
                for part in parts:
                    reached = min(entry.bound, bound + self.problem.slack, part.high)
                    if reached > self.wanted:
                        self._intervals.add(reached, part)
            for finder in self._finders:
                finder.most = max((entry.node.high for entry in self._intervals), default=low)
            self._frontier = Frontier()
            self._push(max(self._intervals.bound, below), self._finders[0].forced, 0)
            tell(self.progress)

    def _expand_batch(
        self, pool: ThreadPoolExecutor, stop: Callable[[], bool], tell: Callable[[Progress], None]
    ) -> None:
        """Bound some sets of points at the same time; then solve them, and branch, in order."""
        self._pending = self._frontier.take(self.threads, self.wanted)
        entries = list(self._pending)
        for entry, (deeper, closed) in zip(entries, self._look(entries, pool, stop), strict=True):
            self._pending.remove(entry)
            deeper = min(entry.bound, deeper)
            here = -np.inf if closed else entry.bound
            if not closed and entry.bound > self.wanted and not stop():
                here = min(entry.bound, self._solve(entry, deeper, stop, tell))
            if stop():
                self._push(max(deeper, here), *entry.node)
                continue
            self.nodes += 1
            if deeper > self.wanted:
                self._branch(entry, deeper, pool, stop)

    def _look(
        self, entries: list[Open[_Set]], pool: ThreadPoolExecutor, stop: Callable[[], bool]
    ) -> Iterator[tuple[float, bool]]:
        """Bound sets of points with further ones given up, and say whether a core closes the rest.

        The threads that are too many for the sets share the numbers of further points.
        """
        parts = max(1, self.threads // max(1, len(entries)))
        pieces = product(entries, range(parts))
        tasks = [partial(_look_at, entry, part, parts) for entry, part in pieces]
        found = self._found_by(pool, tasks, stop)
        price, most = self.problem.instance.rules.price, self._finders[0].most
        for n, entry in enumerate(entries):
            complete, closed = zip(*found[n * parts : (n + 1) * parts], strict=True)
            deeper = -np.inf
            if not all(complete):
                given_up, kept = entry.node
                deeper = self._cores.bound(given_up, kept, price, most, first=1)
                deeper -= price * given_up.bit_count()
            yield deeper, any(closed)

    def _found_by(
        self,
        pool: ThreadPoolExecutor,
        tasks: Sequence[Callable[[CoreSearch], Found]],
        stop: Callable[[], bool],
    ) -> list[Found]:
        """Have each finder work a task off at the same time, and take over what they found."""
        finders = self._finders[: len(tasks)]
        for finder in finders:
            finder.begin(self._cores, self.solution, self.gap)
        begun = [partial(task, finder) for task, finder in zip(tasks, finders, strict=True)]
        answers = self.attend(pool, begun, stop)
        for finder in finders:
            self._cores.merge(finder.cores)
            self.counts += finder.counts
            for witness in finder.witnesses:
                self.keep(witness)
            if finder.solution.value[0] > self.solution.value[0]:
                self.solution = finder.solution
        return answers

    def _solve(
        self,
        entry: Open[_Set],
        deeper: float,
        stop: Callable[[], bool],
        tell: Callable[[Progress], None],
    ) -> float:
        """Solve for who serves with these points given up and all others kept; returns a bound."""
        problem, root = self._keeping(entry)
        search = Search(
            problem,
            root,
            self.solution,
            threads=self.threads,
            rel_gap=self.rel_gap,
            abs_gap=self.abs_gap,
            seed=self.seed,
        )
        before, slack = (self.nodes, self.counts.copy()), self.problem.slack

        def told(progress: Progress) -> None:
            self.solution = search.solution
            self.nodes, self.counts = before[0] + search.nodes, before[1] + search.counts
            bound = max(self.bound, deeper + slack, progress.bound)
            tell(replace(self.progress, bound=bound, open=self.open + progress.open))

        search.run(stop, told)
        for witness in search.witnesses:
            self.keep(witness)
        if search.open:
            return search.bound - slack
        if search.bound > self.wanted + slack:
            self._settled = max(self._settled, search.bound - slack)
        return -np.inf

    def _keeping(self, entry: Open[_Set]) -> tuple[Parametric, Node]:
        """Return the problem with some points given up and all others kept, and its root."""
        instance = self.problem.instance
        given_up = entry.node.given_up
        gone = points_of(given_up, len(instance.fixed))
        state = np.where(gone, GIVEN_UP, KEPT)
        allowed = self.root.allowed.copy()
        if not instance.rules.serving:
            allowed[:, gone] = False
        rules = instance.rules._replace(may_give_up=False, bare=False)
        problem = replace(self.problem, instance=instance._replace(rules=rules, fixed=state))
        most = self._finders[0].most - rules.price * given_up.bit_count()
        bound = min(entry.bound, most)
        return problem, self.root._replace(bound=bound, state=state, allowed=allowed)

    def _branch(
        self, entry: Open[_Set], bound: float, pool: ThreadPoolExecutor, stop: Callable[[], bool]
    ) -> None:
        """Branch on which point of a core is given up."""
        given_up, kept = entry.node
        size = given_up.bit_count() + 1
        instance, finder = self.problem.instance, self._finders[0]
        level = self.wanted + instance.rules.price * size
        hit = self._cores.smallest(given_up, kept, level)
        if hit is None:
            self._found_by(pool, [lambda finder: finder.find(given_up, level)], stop)
            hit = self._cores.smallest(given_up, kept, level)
        if hit is None:
            # Any point but those that are decided.
            hit = bits_of(np.ones(len(instance.fixed), dtype=bool)) & ~given_up & ~kept
        left = finder.left(given_up)
        for point in np.flatnonzero(points_of(hit, len(instance.fixed))).tolist():
            child = given_up | 1 << point
            if left[instance.classes.y[point]] > instance.rules.keep:
                price = instance.rules.price
                reached = self._cores.bound(child, kept, price, finder.most, first=0)
                self._push(min(bound, reached - price * size), child, kept)
            kept |= 1 << point

    def _push(self, bound: float, given_up: int, kept: int) -> None:
        """Leave a set of points open, if it is wanted."""
        if bound > self.wanted:
            self._frontier.add(bound, _Set(given_up, kept))


def _look_at(entry: Open[_Set], part: int, parts: int, finder: CoreSearch) -> tuple[bool, bool]:
    """Whether a part of what gives further points up is closed, and whether a core closes the rest.

    The last part has least to do, and looks for that core.
    """
    complete = finder.hits_deeper(*entry.node, part, parts)
    return complete, part == parts - 1 and finder.closes(*entry.node)


def _bound_interval(
    interval: _Interval, shares: Shares, finder: CoreSearch
) -> tuple[float, list[_Interval]]:
    """Bound an interval, where it is narrow with one more core, and say what is left of it."""
    shares.begin(interval.low, interval.high, interval.given_up, interval.kept)
    bound, low = finder.bound(shares, interval.low), interval.low
    if not np.isfinite(bound) or _width(interval, finder) > NARROW:
        return bound, _halves(interval, finder)
    given_up = shares.given_up
    outcome = finder.find(bits_of(given_up > SHARE), low, interval.effort)
    if outcome == REFUTED and (lower := finder.bound(shares, low)) < bound:
        return lower, [interval]
    in_part = np.minimum(given_up, 1.0 - given_up)
    if in_part.max() > INTEGRAL:
        point = 1 << int(in_part.argmax())
        kept = interval._replace(kept=interval.kept | point)
        return bound, [kept, interval._replace(given_up=interval.given_up | point)]
    if outcome == MET:
        return bound, _halves(interval, finder)
    effort = MORE_EFFORT * interval.effort
    return bound, [interval._replace(effort=effort if effort <= LAST_EFFORT else EXHAUSTED)]


def _width(interval: _Interval, finder: CoreSearch) -> float:
    """Return the length of an interval as a share of its ends."""
    nothing = NOTHING * finder.problem.instance.table.dmax
    return (interval.high - interval.low) / max(abs(interval.low), abs(interval.high), nothing)


def _halves(interval: _Interval, finder: CoreSearch) -> list[_Interval]:
    """Halve an interval, unless it is too narrow for that."""
    if _width(interval, finder) <= NARROWEST:
        return [interval._replace(effort=EXHAUSTED)]
    middle = (interval.low + interval.high) / 2
    return [interval._replace(high=middle), interval._replace(low=middle)]


def begins_with_intervals(problem: Parametric) -> bool:
    """Whether a search over points that are given up begins with intervals of the margin."""
    instance = problem.instance
    return len(instance.fixed) > MANY or len(instance.columns.c) > MANY_COLUMNS


def search_for(problem: Parametric) -> type[AnytimeSearch]:
    """Return the search that takes a problem."""
    return HittingSearch if problem.instance.rules.may_give_up else Search
