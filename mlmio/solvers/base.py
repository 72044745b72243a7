"""The contract of a solver adapter: it translates, and nothing else."""

from __future__ import annotations

import math
import numbers
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.errors import SolverError
from mlmio.registry import solvers

if TYPE_CHECKING:
    from mlmio.solvers.starts import Start

#: What an adapter may say of a model; ``unverified`` is added by verification.
STATUSES = ("optimal", "feasible", "no_incumbent", "infeasible", "unbounded", "error")

#: What a solver may be able to do besides solving, and what it means.
FEATURES = {
    "threads": "takes a number of threads",
    "seed": "takes a seed",
    "abs_gap": "takes an absolute gap",
    "node_limit": "takes a limit of nodes",
    "warm_start": "takes a point to start from",
    "interrupt": "returns its incumbent on Ctrl-C",
    "node_count": "counts its nodes",
    "root_bound": "tells the bound at the root after its cuts",
    "trajectory": "tells its incumbent and bound over time",
    "sos1": "takes sets of variables of which at most one is not zero (SOS1)",
    "lazy_rows": "can take rows during branch and bound, in its own interface",
}

# Options that a solver must have a feature for, if they are not at their default.
NEED_FEATURE = ("threads", "seed", "abs_gap", "node_limit")

# HiGHS ends the process when it cannot start as many threads as it is told to.
MOST_THREADS = 256

# A solver that is given no time at all may not even say so.
LEAST_TIME = 0.01


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
        Seed of the solver's random choices; 0 is what the solver does unasked.
    rel_gap : float
        Relative gap, to the objective, at which a solution counts as optimal.
    abs_gap : float
        Absolute gap at which it does.
    node_limit : int or None
        Nodes of branch and bound; none by default.
    log : str, Path or bool
        File that the solver's log is written to, or True to see it live.
    options : mapping
        Further options under the solver's own names.
    start : Start or None
        Point to start from. A strategy sets the model's variables to it, as ``start.complete``
        does; where this is not None, an adapter hands on the values that they have.
    verify : {"standard", "full"}
        Whether a strategy with a bound of its own also solves a sample of what it closed again,
        with another solver.

    Raises
    ------
    SolverError
        If a value makes no sense.
    """

    time_limit: float | None = None
    threads: int = 1
    seed: int = 0
    rel_gap: float = 1e-6
    abs_gap: float = 1e-9
    node_limit: int | None = None
    log: str | Path | bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    start: Start | None = None
    verify: str = "standard"

    def __post_init__(self) -> None:
        limit = self.time_limit is None or (_number(self.time_limit) and self.time_limit > 0)
        self._hold("time_limit", limit, "seconds above 0, or None")
        self._hold("threads", _whole(self.threads, 1, MOST_THREADS), f"from 1 to {MOST_THREADS}")
        self._hold("seed", _whole(self.seed, 0, 2**31 - 1), "a whole number from 0 to 2147483647")
        gap = _number(self.rel_gap) and 0 <= self.rel_gap < 1
        self._hold("rel_gap", gap, "a number from 0 to below 1")
        gap = _number(self.abs_gap) and self.abs_gap >= 0
        self._hold("abs_gap", gap, "a finite number of at least 0")
        nodes = self.node_limit is None or _whole(self.node_limit, 1)
        self._hold("node_limit", nodes, "a whole number of at least 1, or None")
        self._hold("verify", self.verify in ("standard", "full"), "'standard' or 'full'")
        self._hold("log", self._writable(), "a file in a folder that exists, True or False")

    def _hold(self, name: str, good: bool, wanted: str) -> None:
        if not good:
            raise SolverError(f"{name} is {getattr(self, name)!r}: give {wanted}")

    def _writable(self) -> bool:
        if isinstance(self.log, bool):
            return True
        if not isinstance(self.log, str | Path):
            return False
        path = Path(self.log)
        return path.parent.is_dir() and not path.is_dir()

    @property
    def log_file(self) -> str | None:
        """File that the log is written to, or None."""
        return None if isinstance(self.log, bool) else os.fspath(self.log)

    def after(self, seconds: float) -> Options:
        """The same with the time limit that is left after some seconds."""
        if self.time_limit is None:
            return self
        return replace(self, time_limit=max(self.time_limit - seconds, LEAST_TIME))

    def to_dict(self) -> dict[str, Any]:
        """Options by name, as plain values."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        log = self.log if isinstance(self.log, bool) else os.fspath(self.log)
        return {
            **record,
            "log": log,
            "options": dict(self.options),
            "start": self.start is not None,
        }


def _number(value: Any) -> bool:
    """Whether `value` is a finite number."""
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _whole(value: Any, least: int, most: float = math.inf) -> bool:
    """Whether `value` is a whole number from `least` to `most`."""
    good = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    return good and least <= value <= most


@dataclass(frozen=True)
class Moment:
    """What was known at a moment of a solve; it holds until the next, the last until the end.

    Parameters
    ----------
    seconds : float
        Since the solve began.
    incumbent : float or None
        Objective of the best solution until then.
    bound : float or None
        Best dual bound until then.
    """

    seconds: float
    incumbent: float | None
    bound: float | None


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
    root_bound : float or None
        Dual bound at the root after cuts, where the solver tells.
    reason : str
        What ended the solve early, in one word for programs to read: ``"time_limit"``,
        ``"node_limit"``, ``"limit"`` (another), ``"interrupted"``, ``"licence"``,
        ``"executable"``, ``"solver"`` (it failed), ``"unproven"`` (what it claims is not passed
        on), or nothing.
    start : str or None
        ``"accepted"``, ``"rejected"`` or ``"not supported"``; None where no start was given.
    trajectory : tuple of Moment
        Incumbent and bound over time, in the sense of the model; nothing where the solver does not
        tell. The last moment has the objective and the bound of the answer.
    """

    status: str
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    nonzeros: int | None = None
    message: str = ""
    root_bound: float | None = None
    reason: str = ""
    start: str | None = None
    trajectory: tuple[Moment, ...] = ()


def relative_gap(bound: float | None, objective: float | None) -> float | None:
    """Return |bound − objective| / |objective|; None where either is missing."""
    if bound is None or objective is None:
        return None
    if bound == objective:
        return 0.0
    return abs(bound - objective) / abs(objective) if objective else math.inf


class Solver:
    """Base of the adapters.

    Attributes
    ----------
    name : str
        Name by which the solver is asked for.
    classes : frozenset of str
        Classes of problem that it solves, of :data:`mlmio.blocks.PROBLEM_CLASSES`.
    features : frozenset of str
        What else it can do, of :data:`FEATURES`.
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

    def location(self) -> str | None:
        """File that is used, or None where it is not installed or not a file."""
        return None

    def solve(self, model: Any, options: Options) -> Answer:
        """Solve a Pyomo model, and load the incumbent into it where there is one."""
        raise NotImplementedError(f"{type(self).__name__} solves nothing")


def register_solver(cls: type[Any]) -> type[Any]:
    """Class decorator that makes a solver adapter known by its ``name``."""
    return solvers.register(cls)


def get_solver(
    name: str,
    problem_class: str,
    options: Options | None = None,
    needs: frozenset[str] = frozenset(),
) -> Solver:
    """Return an installed solver that takes a class of problem and what is asked of it.

    Parameters
    ----------
    name : str
        Registered name.
    problem_class : str
        Class of the problem to solve.
    options : Options, optional
        What will be asked of it.
    needs : frozenset of str
        Features, of :data:`FEATURES`, without which it cannot take the problem.

    Raises
    ------
    SolverError
        If it is unknown, not installed, does not solve that class, lacks a feature that is
        needed, or cannot honour an option;
        the message names those that do.
    """
    solver: Solver = solvers.get(name)()
    if problem_class not in solver.classes:
        raise SolverError(
            f"{name} does not solve {problem_class}, only {' and '.join(sorted(solver.classes))}: "
            f"{_others('classes', problem_class)}, or replace the block that makes it "
            f"{problem_class}"
        )
    for feature in sorted(needs - solver.features):
        raise SolverError(
            f"{name} does not have what the problem needs, that it {FEATURES[feature]}: "
            f"{_others('features', feature)}, or replace the block that needs it"
        )
    if options is not None:
        _refuse_options(solver, options)
    if solver.version() is None:
        raise SolverError(f"solver {name!r} is not installed: {solver.install}")
    return solver


def _refuse_options(solver: Solver, options: Options) -> None:
    """Raise where an option that is not at its default needs a feature that is missing."""
    default = Options()
    for name in NEED_FEATURE:
        value = getattr(options, name)
        if value != getattr(default, name) and name not in solver.features:
            raise SolverError(
                f"{solver.name} cannot honour {name}={value!r}: {_others('features', name)}, or "
                f"leave {name} out"
            )


def _others(attribute: str, wanted: str) -> str:
    """Say which registered solvers have something among their classes or features."""
    able = [name for name in solvers.names() if wanted in getattr(solvers.get(name), attribute)]
    return f"use {' or '.join(able)}" if able else "no registered solver does"
