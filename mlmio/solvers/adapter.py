"""What the built-in adapters share: the vocabulary, and how unclear words are resolved."""

from __future__ import annotations

import importlib.util
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import SolverError
from mlmio.solvers.base import Answer, Moment, Options, Solver
from mlmio.solvers.program import TOLERANCE, Program, compile_program
from mlmio.solvers.trajectory import Recorder, concluded, finite

Array = NDArray[np.float64]

# Values further off than this are not an answer to the model that was asked.
NONSENSE = 1e-4

#: How a solve can end, in the adapters' own words, and what is said of a limit.
SOLVED, INFEASIBLE, UNBOUNDED, FAILED = "solved", "infeasible", "unbounded", "failed"
STOPS = {
    "time_limit": "stopped at the time limit",
    "node_limit": "stopped at the limit of nodes",
    "limit": "stopped at a limit of its own",
    "interrupted": "interrupted",
    "unproven": "",
}


@dataclass(frozen=True, eq=False)
class Found:
    """What one run of a solver gave.

    Parameters
    ----------
    ended : str
        ``"solved"``, ``"infeasible"``, ``"unbounded"`` (or infeasible: it need not be sure),
        ``"failed"``, or one of :data:`STOPS`.
    x : array or None
        Values of the columns, where there is an incumbent.
    bound, root_bound : float or None
        Dual bounds in the sense of the model, as the solver wrote them.
    nodes : int or None
        Nodes of branch and bound.
    message : str
        What else to say; why, where it failed.
    reason : str
        One word for why it failed.
    start : str or None
        What became of the point to start from.
    trajectory : sequence of Moment
        Incumbent and bound over time, as the solver told them; seconds of the run.
    """

    ended: str
    x: Array | None = None
    bound: float | None = None
    root_bound: float | None = None
    nodes: int | None = None
    message: str = ""
    reason: str = "solver"
    start: str | None = None
    trajectory: Sequence[Moment] = ()


class Adapter(Solver):
    """Base of the built-in adapters: a subclass gives :meth:`run`."""

    def solve(self, model: Any, options: Options) -> Answer:
        """Solve a Pyomo model, and load the incumbent into it where there is one."""
        began = perf_counter()
        program = compile_program(model)
        nonzeros = int(program.matrix.nnz)
        if program.contradiction:
            return Answer("infeasible", nonzeros=nonzeros, message=program.contradiction)
        if program.exclusive and "sos1" not in self.features:
            message = f"{self.name} does not take sets of which at most one variable is not zero"
            return Answer("error", nonzeros=nonzeros, message=message, reason="solver")
        if not program.columns:
            return Answer("optimal", program.offset, program.offset, 0, nonzeros)
        point, refused = self._start(program, options)
        _empty_log(options)
        record, handed_over = Recorder(program.maximize), perf_counter()
        found = self.run(program, options.after(handed_over - began), point)
        record.follow(found.trajectory, handed_over - began)
        if found.ended == UNBOUNDED:
            found = self._settle(program, options.after(perf_counter() - began), found)
        if found.x is not None:
            found = _refuse_nonsense(program, found)
        answer = replace(_answer(program, found), nonzeros=nonzeros)
        end = Moment(perf_counter() - began, answer.objective, answer.bound)
        moments = concluded(record.moments, end, program.maximize)
        answer = replace(answer, trajectory=moments)
        if found.x is not None:
            program.load(found.x)
        if options.start is None:
            return answer
        message = "; ".join(part for part in (answer.message, refused) if part)
        start = "rejected" if refused else answer.start or "not supported"
        return replace(answer, start=start, message=message)

    @abstractmethod
    def run(self, program: Program, options: Options, start: Array | None) -> Found:
        """Solve a program.

        Parameters
        ----------
        program : Program
            With at least one column.
        options : Options
            The time limit is what is left of it.
        start : array or None
            A feasible point to start from.
        """

    def _start(self, program: Program, options: Options) -> tuple[Array | None, str]:
        """The point to start from, or why it is none."""
        if options.start is None or "warm_start" not in self.features or not program.discrete:
            return None, ""
        x = program.values()
        if x is None:
            return None, "the start was refused: it does not give every variable a value"
        complaint = program.complaint(x, TOLERANCE)
        if complaint:
            return None, f"the start was refused: {complaint}"
        return np.clip(np.where(program.integer, np.round(x), x), program.lower, program.upper), ""

    def _settle(self, program: Program, options: Options, found: Found) -> Found:
        """Tell unbounded from infeasible, which solvers mix up: without an objective."""
        again = self.run(program.without_objective(), replace(options, start=None), None)
        if again.x is not None:
            return replace(found, ended=UNBOUNDED, x=None, bound=None)
        if again.ended == INFEASIBLE:
            return replace(found, ended=INFEASIBLE, x=None, bound=None)
        return replace(again, message=f"unbounded or infeasible; {again.message}".rstrip("; "))


def package_folder(module: str) -> str | None:
    """Folder of an installed package, or None; it is not imported."""
    spec = importlib.util.find_spec(module)
    return str(Path(spec.origin).parent) if spec and spec.origin else None


def _refuse_nonsense(program: Program, found: Found) -> Found:
    """Turn values that answer another question into an error."""
    assert found.x is not None
    complaint = program.complaint(found.x, NONSENSE)
    if not complaint:
        return found
    return Found(FAILED, message=f"the solver's values are no solution: {complaint}")


def _answer(program: Program, found: Found) -> Answer:
    """Put what was found into the vocabulary."""
    objective = None if found.x is None else program.objective(found.x)
    common = Answer(
        _status(found),
        nodes=found.nodes,
        root_bound=finite(found.root_bound),
        message=found.message,
        start=found.start,
    )
    if found.ended == FAILED:
        return replace(common, reason=found.reason)
    if found.ended in (INFEASIBLE, UNBOUNDED):
        return replace(common, root_bound=None)
    answer = replace(common, objective=objective, bound=finite(found.bound))
    if found.ended == SOLVED:
        return answer
    message = "; ".join(part for part in (STOPS[found.ended], found.message) if part)
    return replace(answer, reason=found.ended, message=message)


def _status(found: Found) -> str:
    if found.ended == FAILED:
        return "error"
    if found.ended in (INFEASIBLE, UNBOUNDED):
        return found.ended
    if found.x is None:
        return "no_incumbent"
    return "optimal" if found.ended == SOLVED else "feasible"


def _empty_log(options: Options) -> None:
    """Empty the log, so that it holds this solve alone, and see that it can be written."""
    if options.log_file is None:
        return
    try:
        Path(options.log_file).write_text("", encoding="utf-8")
    except OSError as error:
        raise SolverError(f"the log cannot be written: {error}") from error


def unknown_option(solver: Solver, name: str, value: object, why: str = "") -> SolverError:
    """Error for an option that a solver does not know, or not with that value."""
    return SolverError(
        f"{solver.name} does not take the option {name}={value!r}{f' ({why})' if why else ''}: "
        f"options={{…}} are the solver's own, see its manual"
    )


def nearest_bound(program: Program, objective: float, options: Options) -> float:
    """Return the bound that a search proves which stopped within the gap asked for."""
    gap = max(options.abs_gap, options.rel_gap * abs(objective))
    return objective - program.sign * gap if math.isfinite(gap) else objective
