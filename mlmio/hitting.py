"""Search over the points that are given up where that relieves the rows of others as well."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from mlmio.anytime import AnytimeSearch, Progress, Witness
from mlmio.cores import Cores, bits_of, points_of
from mlmio.kernels.alternate import alternate
from mlmio.kernels.cores import find_core, new_known
from mlmio.kernels.node import new_closing
from mlmio.kernels.programs import new_work
from mlmio.kernels.rows import GIVEN_UP, KEPT, LEFT_OUT
from mlmio.search import ROUNDS, Search

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlmio.kernels.node import Node, Solution
    from mlmio.parametric import Parametric

# Steps of the simplex method that the proof of a core may take.
EFFORT = 100_000


@dataclass(order=True)
class _Open:
    """A set of points that are given up, as bits, with others that are kept below it."""

    priority: tuple[float, int]
    given_up: int
    kept: int

    @property
    def bound(self) -> float:
        """Bound of the objective with these points given up, and any others that may be."""
        return -self.priority[0]


class HittingSearch(AnytimeSearch):
    r"""An implicit hitting set search over the points that are given up.

    A metric reaches a margin only if a point of every core of that margin is given up (see
    :mod:`mlmio.kernels.cores`). With T given up, and h further points,

    .. math:: \lambda - \rho (|T| + h)

    exceeds the incumbent only for margins of which h + 1 cores that share no point would be hit by
    h points: where there are such cores for all h, T is closed but for itself, and that is a search
    over who serves the points that are left. Else it is branched on which point of a core is given
    up, and the points before it are kept.
    """

    def __init__(
        self,
        problem: Parametric,
        root: Node,
        solution: Solution,
        threads: int = 1,
        rel_gap: float = 0.0,
        abs_gap: float = 0.0,
        seed: int = 0,
    ) -> None:
        super().__init__(problem, root, solution, threads, rel_gap, abs_gap, seed)
        instance = problem.instance
        self._work = new_work(instance)._replace(halt=self.halt)
        self._known = new_known(len(instance.fixed), len(root.lower))
        self._cores = Cores()
        self._serial = count()
        self._forced = bits_of(instance.fixed == GIVEN_UP)
        # What the objective, but for prices, never exceeds.
        self._most = root.bound + instance.rules.price * self._forced.bit_count()
        self._heap: list[_Open] = []
        self._settled = -np.inf
        self._push(root.bound, self._forced, 0)

    @property
    def bound(self) -> float:
        """Dual bound: no solution is better."""
        waiting = self._heap[0].bound if self._heap else -np.inf
        slack = self.problem.slack
        return max(waiting + slack, self._settled + slack, float(self.solution.value[0]))

    @property
    def open(self) -> int:
        """How many sets of points are left."""
        return len(self._heap)

    def run(self, stop: Callable[[], bool], tell: Callable[[Progress], None]) -> None:
        """Search until all is closed, or `stop` says so; `tell` hears of every set of points."""
        self.halt[0] = False
        with ThreadPoolExecutor(1) as self._pool:
            while self._heap and not stop():
                entry = heapq.heappop(self._heap)
                if entry.bound <= self.wanted:
                    self._heap.clear()
                    break
                self._expand(entry, stop, tell)
                tell(self.progress)

    def _expand(
        self, entry: _Open, stop: Callable[[], bool], tell: Callable[[Progress], None]
    ) -> None:
        """Bound a set of points, solve it, and branch."""
        self.nodes += 1
        deeper = min(entry.bound, self._bound_deeper(entry, stop))
        here = min(entry.bound, self._solve(entry, deeper, stop, tell))
        if stop():
            self._push(max(deeper, here), entry.given_up, entry.kept)
        elif deeper > self.wanted:
            self._branch(entry, deeper, stop)

    def _level(self, points: int) -> float:
        """What must be exceeded, but for prices, where so many points are given up."""
        return self.wanted + self.problem.instance.rules.price * points

    def _removable(self, entry: _Open) -> int:
        """How many further points may be given up, by the floor of every class."""
        left = self._left(entry.given_up) - self.problem.instance.rules.keep
        return int(np.maximum(left, 0).sum())

    def _left(self, given_up: int) -> NDArray[np.int64]:
        """How many points of every class are kept."""
        classes = self.problem.instance.classes
        gone = classes.y[points_of(given_up, len(classes.y))]
        left: NDArray[np.int64] = classes.sizes - np.bincount(gone, minlength=len(classes.sizes))
        return left

    def _bound_deeper(self, entry: _Open, stop: Callable[[], bool]) -> float:
        """Bound the objective with further points given up; −inf where none is wanted.

        At the root, where the bound is that of the whole search, it is gone on with more points
        where for some there are no cores enough.
        """
        at_root, size = entry.given_up == self._forced, entry.given_up.bit_count()
        most, h, step, complete = self._removable(entry), 1, 1, True
        while h <= most and self._level(size + h) < self._most:
            if self._hit_by(entry, h, stop):
                h += 1
                continue
            complete = False
            if stop() or not at_root:
                break
            h, step = h + step, 2 * step
        if complete:
            return -np.inf
        price = self.problem.instance.rules.price
        bound = self._cores.bound(entry.given_up, entry.kept, price, self._most, first=1)
        return bound - price * size

    def _hit_by(self, entry: _Open, h: int, stop: Callable[[], bool]) -> bool:
        """Look for h + 1 cores, so that h further points hit not all of them."""
        level = self._level(entry.given_up.bit_count() + h)
        while True:
            apart = self._cores.apart(entry.given_up, entry.kept, level, h + 1)
            if len(apart) > h or 0 in apart:
                return True
            if not self._find_core(entry.given_up | sum(apart), level, stop):
                return False

    def _find_core(self, left_out: int, level: float, stop: Callable[[], bool]) -> bool:
        """Look for a core of a level without some points; returns whether there is one."""
        instance, root, work = self.problem.instance, self.root, self._work
        N = len(instance.fixed)
        state = np.where(points_of(left_out, N), LEFT_OUT, KEPT)
        core = np.empty(N, dtype=bool)
        closing = new_closing(N, instance.rules.k, len(root.lower))
        arguments = (
            instance,
            root,
            work,
            state,
            level,
            EFFORT,
            self._known,
            core,
            closing,
            self.counts,
        )
        (found,) = self.attend(self._pool, [lambda: find_core(*arguments)], stop)
        if self.halt[0]:
            return False
        if found:
            self._cores.add(core, level)
            if closing.status[0] >= 0:
                self.keep(Witness(root.lower, root.upper, closing))
            return True
        if not instance.columns.integer.any():
            # What stands against a core is a metric that may be worth something.
            alternate(instance, root, work, self.solution, ROUNDS, self.counts)
        return False

    def _solve(
        self,
        entry: _Open,
        deeper: float,
        stop: Callable[[], bool],
        tell: Callable[[Progress], None],
    ) -> float:
        """Bound the objective with these points given up and all others kept, or solve for it."""
        given_up, size = entry.given_up, entry.given_up.bit_count()
        level, price = self._level(size), self.problem.instance.rules.price
        if level >= self._most or self._cores.apart(given_up, entry.kept, level, 1):
            return -np.inf
        if given_up != self._forced and self._find_core(given_up, level, stop):
            return -np.inf
        problem, root = self._keeping(given_up)
        search = Search(
            problem,
            root._replace(bound=self._most - price * size),
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

    def _keeping(self, given_up: int) -> tuple[Parametric, Node]:
        """Return the problem with some points given up and all others kept, and its root."""
        instance = self.problem.instance
        gone = points_of(given_up, len(instance.fixed))
        state = np.where(gone, GIVEN_UP, KEPT)
        allowed = self.root.allowed.copy()
        if not instance.rules.serving:
            allowed[:, gone] = False
        rules = instance.rules._replace(may_give_up=False)
        problem = replace(self.problem, instance=instance._replace(rules=rules, fixed=state))
        return problem, self.root._replace(state=state, allowed=allowed)

    def _branch(self, entry: _Open, bound: float, stop: Callable[[], bool]) -> None:
        """Branch on which point of a core is given up."""
        given_up, kept, size = entry.given_up, entry.kept, entry.given_up.bit_count() + 1
        instance, level = self.problem.instance, self._level(size)
        hit = self._cores.smallest(given_up, kept, level)
        if hit is None and self._find_core(given_up, level, stop):
            hit = self._cores.smallest(given_up, kept, level)
        if hit is None:
            # Any point but those that are decided.
            hit = bits_of(np.ones(len(instance.fixed), dtype=bool)) & ~given_up & ~kept
        left = self._left(given_up)
        for point in np.flatnonzero(points_of(hit, len(instance.fixed))).tolist():
            child = given_up | 1 << point
            if left[instance.classes.y[point]] > instance.rules.keep:
                price = instance.rules.price
                reached = self._cores.bound(child, kept, price, self._most, first=0)
                self._push(min(bound, reached - price * size), child, kept)
            kept |= 1 << point

    def _push(self, bound: float, given_up: int, kept: int) -> None:
        """Put a set of points on the heap, if it is wanted."""
        if bound > self.wanted:
            heapq.heappush(self._heap, _Open((-bound, -next(self._serial)), given_up, kept))


def search_for(problem: Parametric) -> type[AnytimeSearch]:
    """Return the search that takes a problem."""
    return HittingSearch if problem.instance.rules.others else Search
