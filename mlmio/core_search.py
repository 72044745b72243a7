"""Search for the cores that bound what giving up further points can gain, on one thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlmio.anytime import Proof, Witness
from mlmio.cores import Cores, bits_of, points_of
from mlmio.kernels.alternate import ROUNDS, alternate
from mlmio.kernels.cores import REFUTED, find_core
from mlmio.kernels.known import new_known
from mlmio.kernels.node import Solution, new_closing
from mlmio.kernels.programs import new_counts, new_work
from mlmio.kernels.rows import GIVEN_UP, KEPT, LEFT_OUT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlmio.kernels.node import Node
    from mlmio.parametric import Parametric
    from mlmio.shares import Shares

# Steps of the simplex method that the proof of a core may take, before points are left out of it.
EFFORT = 20_000


class CoreSearch:
    """A search for cores beside those that are known when it begins.

    Sets of points are given as bits.

    Parameters
    ----------
    problem : Parametric
        What is solved.
    root : Node
        Its root.
    halt : (1,) array of bool
        Ends the search where it is set, from another thread.

    Attributes
    ----------
    forced : int
        Points that are given up in every solution.
    most : float
        What the objective, but for prices, never exceeds.
    cores, solution, counts, witnesses
        What is known or was found since the search began.
    """

    def __init__(self, problem: Parametric, root: Node, halt: NDArray[np.bool_]) -> None:
        instance = problem.instance
        self.problem, self.root, self.halt = problem, root, halt
        self.forced = bits_of(instance.fixed == GIVEN_UP)
        self.most = float(root.bound) + instance.rules.price * self.forced.bit_count()
        self._work = new_work(instance)._replace(halt=halt)
        self._known = new_known(len(instance.fixed), len(root.lower))

    def begin(self, cores: Cores, solution: Solution, gap: float) -> None:
        """Begin with what is known, and with by how much a solution must be better to be wanted."""
        self.cores, self._gap = cores.copy(), gap
        value, x, state = solution
        self.solution = Solution(value.copy(), x.copy(), state.copy())
        self.counts = new_counts()
        self.witnesses: list[Proof] = []

    @property
    def wanted(self) -> float:
        """What the objective must exceed for a solution to be looked for."""
        return float(self.solution.value[0]) + self._gap

    def level(self, points: int) -> float:
        """Return what must be exceeded, but for prices, where so many points are given up."""
        return self.wanted + self.problem.instance.rules.price * points

    def left(self, given_up: int) -> NDArray[np.int64]:
        """Return how many points of every class are kept."""
        classes = self.problem.instance.classes
        gone = classes.y[points_of(given_up, len(classes.y))]
        kept: NDArray[np.int64] = classes.sizes - np.bincount(gone, minlength=len(classes.sizes))
        return kept

    def hits_deeper(self, given_up: int, kept: int, part: int, parts: int) -> bool:
        """Look for cores enough to close what gives further points up; whether there are.

        Of the numbers of further points one of so many parts is looked at. With none given up but
        those that must be, where cores bound the whole search, it is gone on with more points where
        for some there are not cores enough.
        """
        size, keep = given_up.bit_count(), self.problem.instance.rules.keep
        removable = int(np.maximum(self.left(given_up) - keep, 0).sum())
        h, step, complete = 1 + part, parts, True
        while h <= removable and self.level(size + h) < self.most:
            if self._hit_by(given_up, kept, h):
                h += parts
                continue
            complete = False
            if self.halt[0] or given_up != self.forced:
                break
            h, step = h + step, 2 * step
        return complete

    def closes(self, given_up: int, kept: int) -> bool:
        """Whether no metric is wanted with these points given up, and no others."""
        level = self.level(given_up.bit_count())
        if level >= self.most or self.cores.apart(given_up, kept, level, 1):
            return True
        # Where all points are kept the search over who serves is as fast, and finds the best.
        return given_up != self.forced and self.find(given_up, level) == REFUTED

    def find(self, left_out: int, level: float, effort: int = EFFORT) -> int:
        """Look for a core of a level without some points; returns what :func:`find_core` does.

        `effort` is what its proof may take, in steps of the simplex method.
        """
        instance, root, work = self.problem.instance, self.root, self._work
        N = len(instance.fixed)
        state = np.where(points_of(left_out, N), LEFT_OUT, KEPT)
        core, closing = np.empty(N, dtype=bool), new_closing(N, instance.rules.k, len(root.lower))
        known, counts = self._known, self.counts
        outcome: int = find_core(
            instance, root, work, state, level, effort, known, core, closing, counts
        )
        if outcome == REFUTED:
            self.cores.add(core, level)
            if closing.status[0] >= 0:
                self.witnesses.append(Witness(root.lower, root.upper, closing))
        elif not instance.columns.integer.any():
            # What stands against a core is a metric that may be worth something.
            alternate(instance, root, work, self.solution, ROUNDS, counts)
        return outcome

    def bound(self, shares: Shares, level: float) -> float:
        """Bound the interval that `shares` began with, with the cores of a level as well."""
        cores = self.cores.of_level(level, len(self.problem.instance.fixed))
        return shares.bound(cores, self.wanted, self.counts, self.witnesses)

    def _hit_by(self, given_up: int, kept: int, h: int) -> bool:
        """Look for h + 1 cores that share no point, so that h further points hit not all."""
        level = self.level(given_up.bit_count() + h)
        while True:
            apart = self.cores.apart(given_up, kept, level, h + 1)
            if len(apart) > h or 0 in apart:
                return True
            if self.find(given_up | sum(apart), level) != REFUTED:
                return False
