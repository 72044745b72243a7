"""Branch and bound over who serves each point: the tree, best bound first, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlmio.anytime import AnytimeSearch, Progress, Witness
from mlmio.frontier import Frontier, Open
from mlmio.kernels.alternate import ROUNDS, alternate
from mlmio.kernels.branch import expand, fractional
from mlmio.kernels.choosing import CANDIDATES
from mlmio.kernels.node import COLUMN, SERVER, Closing, Node, Solution, decide_on, new_closing
from mlmio.kernels.programs import Work, new_counts, new_work

if TYPE_CHECKING:
    from mlmio.kernels.node import Branches

# Alternations from the solutions of nodes may take this share of the effort, in steps of the
# simplex method; to look at all rows before a program is solved again costs as much as some.
SHARE_OF_ALTERNATIONS = 0.15
STEPS_A_PROGRAM = 30
# Nodes handed out at once for every thread, in an order that does not depend on timing.
BATCH = 4


class _Choice(NamedTuple):
    """A node that is not yet made: what its parent knew, and the choice that makes it."""

    parent: Node
    packed: NDArray[np.uint8]
    branches: Branches
    child: int


@dataclass(frozen=True)
class _Found:
    """What the expansion of a node found."""

    node: Node
    branches: Branches
    best: Solution
    closing: Closing
    counts: NDArray[np.int64]
    alternating_effort: int


class Search(AnytimeSearch):
    """A search over who serves each point, and who is given up where that relieves no others."""

    def begin(self) -> None:
        """Lay out what the search needs."""
        self._alternating_effort = 0
        self._work = [
            new_work(self.problem.instance)._replace(halt=self.halt) for _ in range(self.threads)
        ]
        self._frontier: Frontier[_Choice] = Frontier()
        self._settled = -np.inf
        self._root: Node | None = self.root

    @property
    def bound(self) -> float:
        """Dual bound: no solution is better."""
        waiting = self._frontier.bound
        if self._root is not None:
            waiting = max(waiting, self._root.bound)
        slack = self.problem.slack
        return float(max(waiting + slack, self._settled + slack, self.solution.value[0]))

    @property
    def closed(self) -> float:
        """Bound of what is closed: no solution outside of the leaves is better."""
        return max(self.wanted, self._settled) + self.problem.slack

    @property
    def open(self) -> int:
        """How many nodes are left."""
        return len(self._frontier) + (self._root is not None)

    def leaves(self) -> Iterator[Node]:
        """Yield the nodes that are left: no solution outside of them is wanted."""
        if self._root is not None:
            yield self._root
        for entry in self._frontier:
            yield self._child(entry)

    def run(self, stop: Callable[[], bool], tell: Callable[[Progress], None]) -> None:
        """Search until all is closed, or `stop` says so; `tell` hears of every batch."""
        self.halt[0] = False
        with ThreadPoolExecutor(self.threads) as pool:
            while self.open and not stop():
                self._expand_batch(pool, stop)
                tell(self.progress)

    def _expand_batch(self, pool: ThreadPoolExecutor, stop: Callable[[], bool]) -> None:
        """Expand some nodes at the same time, and put away what became of them in order."""
        root, entries = self._root, self._take()
        nodes = [self._child(entry) for entry in entries] if root is None else [root]
        probing = root is not None and self.problem.instance.rules.may_give_up
        solution, gap = self.solution, self.gap
        share = self._alternating_effort / max(1, _effort(self.counts))
        alternating = share <= SHARE_OF_ALTERNATIONS

        def work_off(n: int) -> list[_Found]:
            return [
                self._expand(node, self._work[n], solution, gap, probing, alternating and not n)
                for node in nodes[n :: self.threads]
            ]

        parts = self.attend(pool, [partial(work_off, n) for n in range(self.threads)], stop)
        found = [parts[n % self.threads][n // self.threads] for n in range(len(nodes))]
        for one in found:
            self._take_over(one)
        if self.halt[0]:
            # What was halted says nothing of its node.
            self._root = root
            self._frontier.put_back(entries)
            return
        for one in found:
            self._put_away(one)

    def _take(self) -> list[Open[_Choice]]:
        """Take the next nodes but the root: those of the best bounds."""
        if self._root is not None:
            self._root = None
            return []
        return self._frontier.take(1 if self.threads == 1 else BATCH * self.threads, self.wanted)

    def _child(self, entry: Open[_Choice]) -> Node:
        """Make the node of a choice."""
        instance, (parent, packed, branches, child) = self.problem.instance, entry.node
        N = len(instance.fixed)
        choice = branches.choices[child]
        node = parent._replace(
            bound=entry.bound,
            state=parent.state.copy(),
            served_by=parent.served_by.copy(),
            allowed=np.unpackbits(packed, count=N * N).reshape(N, N).astype(bool),
            most=parent.most.copy(),
            basis=branches.bases[child],
        )
        if branches.kind == COLUMN:
            return _rounded(node, branches.subject, int(choice))
        if branches.kind == SERVER and instance.rules.k > 1:
            # What was chosen by the children before is not chosen here: no set comes twice.
            before = branches.choices[:child]
            node.allowed[branches.subject, before[before >= 0]] = False
        decide_on(node, branches.subject, choice)
        return node

    def _expand(
        self,
        node: Node,
        work: Work,
        solution: Solution,
        gap: float,
        probing: bool,
        alternating: bool,
    ) -> _Found:
        """Expand a node on a thread of its own, and alternate from its solution if told to."""
        instance = self.problem.instance
        integer = instance.columns.integer
        best = Solution(solution.value.copy(), solution.x.copy(), solution.state.copy())
        closing = new_closing(len(node.state), instance.rules.k, len(integer))
        counts = new_counts()
        expanded, branches = expand(
            instance, node, work, best, gap, CANDIDATES, probing, closing, counts
        )
        x = work.vertex.x
        before = _effort(counts)
        if alternating and len(branches.choices) > 0 and fractional(integer, x) < 0:
            root = _with_whole_numbers(self.root, integer, x)
            alternate(instance, root, work, best, ROUNDS, counts)
        return _Found(expanded, branches, best, closing, counts, _effort(counts) - before)

    def _take_over(self, found: _Found) -> None:
        """Take over what the expansion of a node found, and what it took."""
        self.counts += found.counts
        self._alternating_effort += found.alternating_effort
        if found.best.value[0] > self.solution.value[0]:
            self.solution = found.best

    def _put_away(self, found: _Found) -> None:
        """Close a node or leave its children open."""
        self.nodes += 1
        node, branches = found.node, found.branches
        if found.closing.status[0] >= 0:
            self.keep(Witness(node.lower, node.upper, found.closing))
        if len(branches.choices) == 0:
            # Closed, unless its program says nothing without the bounds that are not the model's.
            self._settled = max(self._settled, node.bound)
            return
        wanted = self.wanted
        packed = np.packbits(node.allowed)
        parent = node._replace(allowed=np.empty((0, 0), dtype=bool))
        for child, bound in enumerate(branches.bounds):
            if bound > wanted:
                self._frontier.add(float(bound), _Choice(parent, packed, branches, child))


def _with_whole_numbers(root: Node, integer: NDArray[np.bool_], x: NDArray[np.float64]) -> Node:
    """The root with its integer columns held at the whole numbers that they have."""
    if not integer.any():
        return root
    whole = np.round(x)
    return root._replace(
        lower=np.where(integer, whole, root.lower), upper=np.where(integer, whole, root.upper)
    )


def _rounded(node: Node, column: int, choice: int) -> Node:
    """The node with an integer column rounded: 2v is ≤ v, 2v + 1 is ≥ v."""
    value, up = divmod(choice, 2)
    lower, upper = node.lower.copy(), node.upper.copy()
    (lower if up else upper)[column] = value
    return node._replace(lower=lower, upper=upper)


def _effort(counts: NDArray[np.int64]) -> int:
    """Effort of linear programs, in steps of the simplex method."""
    return int(counts[1] + STEPS_A_PROGRAM * counts[0])
