"""What searches that can be stopped at any moment have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlmio.halting import halt_at
from mlmio.kernels.programs import new_counts

if TYPE_CHECKING:
    from mlmio.kernels.node import Closing, Node, Solution
    from mlmio.parametric import Parametric

Found = TypeVar("Found")

# The linear programs keep their rows to a tolerance, and break ties by a tiny cost; the optimum
# is known no better.
LEAST_GAP = 4e-8
# Closed children kept as witnesses of the bound.
WITNESSES = 50


@dataclass(frozen=True)
class Witness:
    """A child that was closed: the bounds of its columns, and what closed it."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    closing: Closing

    @property
    def limit(self) -> float:
        """What the objective of its program does not exceed."""
        return float(self.closing.limit[0])


@dataclass(frozen=True)
class WrittenWitness:
    """A program that bounds something, written out.

    Parameters
    ----------
    c, lower, upper : (m,) arrays
        Objective and bounds of the columns.
    rows, rhs : (R, m) sparse array and (R,) array
        The rows that prove it, each at most its right-hand side.
    limit : float
        What the objective does not exceed.
    """

    c: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]
    rows: csr_array
    rhs: NDArray[np.float64]
    limit: float


#: What proves a bound.
Proof = Witness | WrittenWitness


@dataclass
class Progress:
    """Where a search stands.

    Parameters
    ----------
    incumbent, bound : float
        Best objective, and the dual bound.
    nodes, open : int
        Nodes expanded and nodes left.
    programs, steps, rows : int
        Linear programs solved, steps of the simplex method, and rows taken in.
    seconds : float
        Since the search began.
    """

    incumbent: float
    bound: float
    nodes: int
    open: int
    programs: int
    steps: int
    rows: int
    seconds: float


class AnytimeSearch(ABC):
    """A search that can be stopped at any moment.

    Parameters
    ----------
    problem : Parametric
        What is solved.
    root : Node
        Its root.
    solution : Solution
        The best solution known, replaced by better ones.
    threads : int
        How many nodes are expanded at the same time.
    rel_gap, abs_gap : float
        By how much, relative or absolute, a solution must be better to be looked for.
    seed : int
        For the choice of witnesses.

    Attributes
    ----------
    nodes : int
        Nodes expanded.
    counts : (3,) array of int
        Linear programs solved, steps of the simplex method, and rows taken in.
    witnesses : list of Proof
        Of children that were closed and of intervals that were bounded, a random sample of all or
        of such samples.
    halt : (1,) array of bool
        Ends what the compiled loops are at; see :meth:`attend`.
    began : float
        When the search was made, by ``perf_counter``.
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
        self.problem, self.root, self.solution = problem, root, solution
        self.threads, self.rel_gap, self.abs_gap, self.seed = threads, rel_gap, abs_gap, seed
        self.counts = new_counts()
        self.nodes = 0
        self.witnesses: list[Proof] = []
        self.began = perf_counter()
        self._random = np.random.default_rng(seed)
        self._closings = 0
        # Read by the compiled loops.
        self.halt = np.zeros(1, dtype=np.bool_)
        self.begin()

    @abstractmethod
    def begin(self) -> None:
        """Lay out what the search needs."""

    @property
    def gap(self) -> float:
        """By how much a solution must be better than the incumbent to be looked for."""
        incumbent = float(self.solution.value[0])
        # Half of what is asked for, since rounding and the tie-breaker take their share. A gap that
        # shrank with better incumbents would not be that of what was closed before: below zero none
        # is relative.
        relative = self.rel_gap / 2 * max(incumbent, 0.0)
        return max(relative, self.abs_gap, LEAST_GAP)

    @property
    def wanted(self) -> float:
        """What the objective must exceed for a solution to be looked for."""
        return float(self.solution.value[0]) + self.gap

    @property
    @abstractmethod
    def bound(self) -> float:
        """Dual bound: no solution is better."""

    @property
    @abstractmethod
    def open(self) -> int:
        """How many nodes are left."""

    @abstractmethod
    def run(self, stop: Callable[[], bool], tell: Callable[[Progress], None]) -> None:
        """Search until all is closed, or `stop` says so; `tell` hears where it stands."""

    def attend(
        self,
        pool: ThreadPoolExecutor,
        tasks: Sequence[Callable[[], Found]],
        stop: Callable[[], bool],
    ) -> list[Found]:
        """Work tasks off on other threads, and halt their compiled loops once `stop` says so.

        This thread must be free to hear of it: nothing interrupts compiled loops.
        """
        futures = [pool.submit(task) for task in tasks]
        halt_at(stop, futures, self.halt)
        return [future.result() for future in futures]

    @property
    def progress(self) -> Progress:
        """Where the search stands."""
        return Progress(
            float(self.solution.value[0]),
            float(self.bound),
            self.nodes,
            self.open,
            int(self.counts[0]),
            int(self.counts[1]),
            int(self.counts[2]),
            perf_counter() - self.began,
        )

    def keep(self, witness: Proof) -> None:
        """Take a witness into the random sample that is kept (reservoir sampling)."""
        self._closings += 1
        if len(self.witnesses) < WITNESSES:
            self.witnesses.append(witness)
        elif (place := int(self._random.integers(self._closings))) < WITNESSES:
            self.witnesses[place] = witness
