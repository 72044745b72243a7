"""The contract of a solver adapter: it translates, and nothing else."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from mlmio.errors import SolverError
from mlmio.registry import solvers

#: What an adapter may say of a model; ``unverified`` is added by verification.
STATUSES = ("optimal", "feasible", "no_incumbent", "infeasible", "unbounded", "error")


@dataclass(frozen=True)
class Options:
    """Options that mean the same for every solver.

    Parameters
    ----------
    time_limit : float or None
        Wall-clock seconds for the whole solve; none by default.
    threads : int
        Threads of the solver. One by default: comparisons are of formulations.
    seed : int
        Seed of the solver's random choices.
    rel_gap : float
        Relative gap at which a solution counts as optimal.

    Raises
    ------
    SolverError
        If a value makes no sense.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    rel_gap: float = 1e-6

    def __post_init__(self) -> None:
        if self.time_limit is not None and not 0 < self.time_limit < math.inf:
            raise SolverError(f"time_limit is {self.time_limit!r}: give seconds above 0, or None")
        if self.threads < 1:
            raise SolverError(f"threads is {self.threads!r}: give a whole number of at least 1")
        if not 0 <= self.seed < 2**31:
            raise SolverError(f"seed is {self.seed!r}: give a whole number from 0 to 2147483647")
        if not 0 <= self.rel_gap < 1:
            raise SolverError(f"rel_gap is {self.rel_gap!r}: give a number from 0 to below 1")

    def to_dict(self) -> dict[str, Any]:
        """Options by name."""
        return asdict(self)


@dataclass(frozen=True)
class Answer:
    """What a solver says of a model, in one vocabulary.

    Where there is an incumbent its values are in the model's variables.

    Parameters
    ----------
    status : str
        One of :data:`STATUSES`.
    objective : float or None
        Objective of the incumbent, in the sense of the model.
    bound : float or None
        Dual bound, in the sense of the model; None where the solver has none.
    nodes : int or None
        Nodes of branch and bound, where the solver counts them.
    nonzeros : int or None
        Nonzeros of the constraint matrix, where the solver has one.
    message : str
        Why, where the status alone does not say it.
    """

    status: str
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    nonzeros: int | None = None
    message: str = ""


class Solver:
    """Base of the adapters.

    Attributes
    ----------
    name : str
        Name by which the solver is asked for.
    classes : frozenset of str
        Classes of problem that it solves: ``"LP"``, ``"MILP"``, ``"SOCP"``, ``"MINLP"``.
    features : frozenset of str
        What else it can do: ``"threads"``, ``"seed"``, ``"nodes"``.
    install : str
        How to install it.
    """

    name: ClassVar[str]
    classes: ClassVar[frozenset[str]]
    features: ClassVar[frozenset[str]] = frozenset()
    install: ClassVar[str] = ""

    def version(self) -> str | None:
        """Version of the solver, or None where it is not installed."""
        raise NotImplementedError(f"{type(self).__name__} states no version")

    def solve(self, model: Any, options: Options) -> Answer:
        """Solve a Pyomo model, and load the incumbent into it where there is one."""
        raise NotImplementedError(f"{type(self).__name__} solves nothing")


def register_solver(cls: type[Any]) -> type[Any]:
    """Class decorator that makes a solver adapter known by its ``name``."""
    return solvers.register(cls)


def get_solver(name: str, problem_class: str) -> Solver:
    """Return an installed solver that takes a class of problem.

    Raises
    ------
    SolverError
        If it is unknown, not installed, or does not solve that class; the message names those
        that do.
    """
    solver: Solver = solvers.get(name)()
    if problem_class not in solver.classes:
        able = [other for other in solvers.names() if problem_class in solvers.get(other).classes]
        those = f"use {' or '.join(able)}" if able else "no registered solver does"
        raise SolverError(
            f"{name} does not solve {problem_class}, only {' and '.join(sorted(solver.classes))}: "
            f"{those}, or replace the block that makes it {problem_class}"
        )
    if solver.version() is None:
        raise SolverError(f"solver {name!r} is not installed: {solver.install}")
    return solver
