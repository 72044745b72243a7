"""Solver ``cbc``: COIN-OR CBC, as an executable."""

from __future__ import annotations

import importlib.util
import re
import signal
import struct
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from mlmio.solvers.adapter import (
    INFEASIBLE,
    SOLVED,
    UNBOUNDED,
    Array,
    Found,
    nearest_bound,
    unknown_option,
)
from mlmio.solvers.base import Options, register_solver
from mlmio.solvers.command import Ended
from mlmio.solvers.executable import ExecutableAdapter
from mlmio.solvers.program import Program

TOLERANCE = 1e-9

# Seconds after its time limit at which CBC is told to stop.
PATIENCE = 0.5

# First line of the solution file: how CBC ended.
ENDS = {
    "Optimal": SOLVED,
    "Infeasible": INFEASIBLE,
    "Integer infeasible": INFEASIBLE,
    "Unbounded": UNBOUNDED,
    "Stopped on time": "time_limit",
    "Stopped on nodes": "node_limit",
    "Stopped on ctrl-c": "interrupted",
    "Stopped on iterations": "limit",
}

HEADER = struct.Struct("<iid")
NUMBER = r"[-+.\de]+"
ROOT = rf"After 0 nodes, .*best possible ({NUMBER})"

# CBC passes over what it does not know, and says so.
COMPLAINT = r"No match for .*|<Possible options for .*|String of .* is illegal for .*"

UNPROVEN = (
    "CBC on several threads has claimed wrong optima: its solution is kept, its claim that there "
    "is none better is not (threads=1 proves it)"
)


@register_solver
class Cbc(ExecutableAdapter):
    """COIN-OR CBC, as an executable that reads an MPS file.

    Its solution is read from the binary file of ``-saveSolution``: the readable one is rounded to
    eight digits. On several threads its claims of optimality and infeasibility are not passed on.
    """

    name: ClassVar[str] = "cbc"
    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP"})
    features: ClassVar[frozenset[str]] = frozenset(
        {
            "threads",
            "seed",
            "abs_gap",
            "node_limit",
            "warm_start",
            "interrupt",
            "node_count",
            "root_bound",
            "trajectory",
        }
    )
    install: ClassVar[str] = "pip install pulp, which brings the executable, or install coinor-cbc"

    executable: ClassVar[str] = "cbc"
    version_argument: ClassVar[str] = "-stop"
    version_pattern: ClassVar[str] = r"Version:\s*(\S+)"
    stop_signal: ClassVar[signal.Signals] = signal.SIGINT
    incumbent_pattern: ClassVar[str] = rf"Integer solution of ({NUMBER}) found"
    bound_pattern: ClassVar[str] = rf"After \d+ nodes, .*best possible ({NUMBER})"

    def bundled(self) -> Path | None:
        """The executable that pulp brings for Linux on x86-64."""
        spec = importlib.util.find_spec("pulp")
        if spec is None or spec.origin is None:
            return None
        folder = Path(spec.origin).parent / "solverdir" / "cbc" / "linux"
        # The folder of the machine was named otherwise in older versions.
        return next(
            (folder / name / "cbc" for name in ("i64", "64") if (folder / name).is_dir()), None
        )

    def run(self, program: Program, options: Options, start: Array | None) -> Found:
        """Solve a program, its free columns as differences of two."""
        free = np.flatnonzero(np.isneginf(program.lower) & np.isposinf(program.upper))
        if start is not None:
            start = np.append(start, np.maximum(-start[free], 0.0))
            start[free] = np.maximum(start[free], 0.0)
        found = super().run(_without_free_columns(program, free), options, start)
        if found.x is None:
            return found
        N = len(program.columns)
        x = found.x[:N].copy()
        x[free] -= found.x[N:]
        return replace(found, x=x)

    def allowed(self, limit: float) -> float:
        """A little more: CBC looks at its clock now and then."""
        return limit + PATIENCE

    def arguments(
        self, program: Program, options: Options, start: Array | None, folder: Path
    ) -> list[str]:
        """The options in CBC's words, in the order in which it obeys them."""
        words = ["model.mps"]
        for name, value in {**_words(options), **options.options}.items():
            words += [f"-{name}", str(value)]
        if start is not None:
            _write_start(program, start, folder / "start.txt")
            words += ["-mipstart", "start.txt"]
        return [*words, "-solve", "-solution", "solution.txt", "-saveSolution", "solution.bin"]

    def read(self, program: Program, options: Options, folder: Path, ended: Ended) -> Found:
        """Read what CBC left behind, less what it cannot be trusted with."""
        found = self._read(program, options, folder, ended)
        if options.threads == 1 and not any(name.startswith("thread") for name in options.options):
            return found
        if found.ended in (SOLVED, INFEASIBLE):
            found = replace(found, ended="unproven", message=UNPROVEN)
        return replace(found, bound=None, root_bound=None)

    def _read(self, program: Program, options: Options, folder: Path, ended: Ended) -> Found:
        self._refuse_unknown(options, ended.log)
        said = _first_line(folder / "solution.txt")
        words = said.partition(" - ")[0].partition(" (")[0]
        if words not in ENDS:
            return self.nothing(ended)
        how = ended.stopped or ENDS[words]
        if how == "limit" and "Exiting on maximum nodes" in ended.log:
            how = "node_limit"
        valueless = ENDS[words] in (INFEASIBLE, UNBOUNDED) or "no integer solution" in said
        x = None if valueless else _read_values(folder / "solution.bin", program)
        if x is None and not valueless:
            return self.nothing(ended)
        bound, root = _bounds(program, ended.log)
        if how == SOLVED and x is not None:
            bound = program.objective(x)
            if "within gap" in said:
                bound = nearest_bound(program, bound, options)
        return Found(
            how,
            x=x,
            bound=bound,
            root_bound=root,
            nodes=_nodes(ended.log),
            start=None if options.start is None else _start_report(ended.log),
        )

    def _refuse_unknown(self, options: Options, log: str) -> None:
        complaint = re.search(COMPLAINT, log)
        for name, value in options.options.items() if complaint else ():
            assert complaint is not None
            if name.lower() in complaint.group().lower():
                raise unknown_option(self, name, value, complaint.group())


def _without_free_columns(program: Program, free: NDArray[np.intp]) -> Program:
    """Write every free column as the difference of two that are not negative.

    CBC 2.10.3 calls wrong solutions optimal where an integer program has free columns.
    """
    n = len(free)
    lower = np.append(program.lower, np.zeros(n))
    lower[free] = 0.0
    return replace(
        program,
        columns=[*program.columns, *(program.columns[column] for column in free)],
        lower=lower,
        upper=np.append(program.upper, np.full(n, np.inf)),
        integer=np.append(program.integer, program.integer[free]),
        cost=np.append(program.cost, -program.cost[free]),
        matrix=csr_array(hstack([program.matrix, -program.matrix[:, free]])),
    )


def _words(options: Options) -> dict[str, object]:
    """The options that every solver takes in CBC's words."""
    given: dict[str, object] = {
        "timeMode": "elapsed",
        "primalTolerance": TOLERANCE,
        "dualTolerance": TOLERANCE,
        "integerTolerance": TOLERANCE,
        "ratioGap": options.rel_gap,
        "allowableGap": options.abs_gap,
        # CBC passes over solutions that are better by less than this, 1e-5 if unasked.
        "increment": TOLERANCE,
    }
    if options.time_limit is not None:
        given["seconds"] = options.time_limit
    if options.node_limit is not None:
        given["maxNodes"] = options.node_limit
    if options.threads > 1:
        # One thread is said by saying nothing: "-threads 1" is its parallel code with one worker.
        given["threads"] = options.threads
    if options.seed:
        given["randomSeed"] = given["randomCbcSeed"] = options.seed
    return given


def _write_start(program: Program, start: Array, path: Path) -> None:
    """Write the integer columns of a point: CBC finds the others itself."""
    lines = ["Stopped on iterations - objective value 0"]
    for column in np.flatnonzero(program.integer).tolist():
        lines.append(f"{column} c{column} {round(start[column])} 0")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _first_line(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline().strip()


def _read_values(path: Path, program: Program) -> Array | None:
    """Values of the columns from what ``-saveSolution`` wrote, or None if it is not that.

    Two counts and the objective, then activities and duals of the rows, then values and reduced
    costs of the columns, as numbers of the machine.
    """
    content = path.read_bytes() if path.is_file() else b""
    if len(content) < HEADER.size:
        return None
    rows, columns, _ = HEADER.unpack_from(content)
    expected = HEADER.size + 16 * (rows + columns)
    if columns != len(program.columns) or len(content) != expected:
        return None
    return np.frombuffer(content, offset=HEADER.size)[2 * rows : 2 * rows + columns].copy()


def _bounds(program: Program, log: str) -> tuple[float | None, float | None]:
    """Dual bound where CBC stopped, and at the root after cuts, in the sense of the model."""
    found = []
    for pattern in (rf"Partial search .*best possible ({NUMBER})", ROOT):
        match = re.search(pattern, log)
        found.append(
            None if match is None else program.sign * float(match.group(1)) + program.offset
        )
    return found[0], found[1]


def _nodes(log: str) -> int | None:
    match = re.search(r"^Enumerated nodes:\s+(\d+)", log, re.MULTILINE)
    return int(match.group(1)) if match else None


def _start_report(log: str) -> str:
    return "accepted" if "MIPStart provided solution with cost" in log else "rejected"
