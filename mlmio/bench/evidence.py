"""The records of a run as one table of cases, and what could not be read."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from mlmio.bench.folder import About, RunFolder
from mlmio.bench.records import Record, paths_in
from mlmio.bench.statistics import Array
from mlmio.errors import MlmioError
from mlmio.verification import tolerance_of

if TYPE_CHECKING:
    import pandas as pd

#: What an instance, a contestant and a setting are; cases are compared where two of them are alike.
INSTANCE = ("dataset", "sampling", "N", "seed")
CONTESTANT = ("composition", "solver", "strategy", "threads")
SETTING = ("time_limit", "rel_gap", "memory_mib")

#: Statuses that are proofs without a solution, in which there is nothing to verify.
PROOFS = ("infeasible", "unbounded")

NUMBERS = ("objective", "bound", "lp_bound", "root_bound", "nodes", "build_s", "lp_s", "solve_s")
SIZES = ("rows", "columns", "binaries", "nonzeros")
COLUMNS = (
    *("key", "instance", "contestant", "setting", *INSTANCE, "D", "classes", *CONTESTANT),
    *("repetition", *SETTING, "outcome", "status", "verified", "solved", "contradicted"),
    *("seconds", "counted_s"),
    *(*NUMBERS, "gap", *SIZES, "outliers", "wall_s", "peak_mib", "contended", "message"),
    *("resolved", "strategy_run", "started", "revision"),
)


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a run left behind.

    Parameters
    ----------
    cases : pandas.DataFrame
        One row a case, in the order of the keys.
    trajectories : dict of str to (n, 3) array
        For the key of a case seconds, incumbent and bound, NaN where there is none.
    damaged : tuple of str
        What is wrong with each file that is no whole record, by name.
    machines : tuple of mapping
        The machines, each once.
    missing : int
        Cases of the suite that have no file, as after an interruption.
    title, description : str
        What the suite is for; nothing where the run does not say so.
    """

    cases: pd.DataFrame
    trajectories: dict[str, Array]
    damaged: tuple[str, ...]
    machines: tuple[Mapping[str, Any], ...]
    missing: int = 0
    title: str = ""
    description: str = ""

    def without(self, contradicted: Collection[str]) -> Self:
        """Return the same with some cases unsolved, whatever they claim."""
        cases = self.cases.copy()
        wrong = cases["key"].isin(contradicted)
        cases["contradicted"] = wrong
        cases["solved"] = cases["solved"].astype(bool) & ~wrong
        cases["gap"] = cases["gap"].where(~wrong, math.inf)
        cases["counted_s"] = cases["counted_s"].where(
            ~wrong, cases[["counted_s", "time_limit"]].max(axis=1)
        )
        return replace(self, cases=cases)


def read_run(out: Path) -> Evidence:
    """Read every record of a run that can be read.

    Parameters
    ----------
    out : Path
        The folder that ``mlmio bench run`` wrote.

    Raises
    ------
    MlmioError
        If the folder is no folder of a run.
    """
    import pandas as pd

    rows: list[dict[str, Any]] = []
    trajectories: dict[str, Array] = {}
    damaged: list[str] = []
    machines: dict[str, Mapping[str, Any]] = {}
    for path in paths_in(out):
        try:
            record = Record.read(path)
            row, trajectory = row_of(record), _trajectory(record)
        except MlmioError as error:
            damaged.append(str(error))
            continue
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            what = "it lacks" if isinstance(error, KeyError) else "it has a value that is none:"
            damaged.append(f"{path} is no record of a case: {what} {error}")
            continue
        rows.append(row)
        trajectories[record.key] = trajectory
        if record.machine:
            machines[str(_lasting(record.machine))] = _lasting(record.machine)
    there, about = len(rows) + len(damaged), About()
    try:
        about = RunFolder(out).about()
    except MlmioError as error:
        damaged.append(str(error))
    return Evidence(
        pd.DataFrame(rows, columns=list(COLUMNS)),
        trajectories,
        tuple(damaged),
        tuple(machines.values()),
        max(0, about.cases - there),
        about.title,
        about.description,
    )


def row_of(record: Record) -> dict[str, Any]:
    """Return a record as one row: what was asked, how it ended, and what counts.

    Raises
    ------
    KeyError, TypeError, ValueError, AttributeError
        If it lacks something, or holds something else.
    """
    case, result = record.case, record.result or {}
    asked = {name: case[name] for name in (*INSTANCE, "D", "classes", *CONTESTANT, "repetition")}
    # A strategy without a solver has none by name.
    asked["solver"] = asked["solver"] or ""
    limits = {name: _number(case.get(name)) for name in SETTING}
    if record.outcome == "done":
        status, verified = str(result["status"]), bool(result["verified"])
    else:
        status, verified = record.outcome, False
    numbers = {name: _number(result.get(name)) for name in (*NUMBERS, *SIZES, "outliers")}
    seconds = sum(_number(result[name]) for name in ("build_s", "lp_s", "solve_s") if result)
    solved = (status == "optimal" and verified) or status in PROOFS
    took = seconds if result else float(record.wall_s)
    limit = limits["time_limit"]
    return {
        **asked,
        **limits,
        **numbers,
        "key": record.key,
        "instance": instance_of(case),
        "contestant": contestant_of(case),
        "setting": _setting_of(limits),
        "outcome": record.outcome,
        "status": status,
        "verified": verified,
        "solved": solved,
        "contradicted": False,
        "seconds": seconds if result else math.nan,
        "counted_s": took if solved or math.isnan(limit) else max(limit, took),
        "gap": 0.0 if status in PROOFS else _gap(numbers["objective"], numbers["bound"], verified),
        "wall_s": float(record.wall_s),
        "peak_mib": _number(record.peak_mib),
        "contended": bool(record.contended),
        "message": " ".join(str(record.message or result.get("message") or "").split()),
        "resolved": str(result.get("resolved") or case["composition"]),
        "strategy_run": str(result.get("strategy") or case["strategy"]),
        "started": record.started,
        "revision": record.revision,
    }


def instance_of(case: Mapping[str, Any]) -> str:
    """Return the name of the instance: the points and the seed."""
    size = "" if case["N"] is None else f" N={case['N']}"
    return f"{case['dataset']}{size} ({case['sampling']}) seed {case['seed']}"


def contestant_of(case: Mapping[str, Any]) -> str:
    """Return the name of what solves: formulation, solver, strategy and threads."""
    threads = case["threads"]
    several = f"{threads} threads" if threads != 1 else ""
    parts = (case["composition"], case["solver"], case["strategy"], several)
    return " · ".join(str(part) for part in parts if part)


def gap_of(objective: float, bound: float) -> float:
    """Return |bound − objective| / |objective|, infinite where either is missing.

    What is within the tolerance of verification counts as none.
    """
    if math.isnan(objective) or math.isnan(bound):
        return math.inf
    distance = abs(bound - objective)
    if distance <= tolerance_of(objective):
        return 0.0
    return distance / abs(objective) if objective else math.inf


def _gap(objective: float, bound: float, verified: bool) -> float:
    return gap_of(objective, bound) if verified else math.inf


def _setting_of(limits: Mapping[str, float]) -> str:
    """The limits in words."""
    limit, gap, memory = (limits[name] for name in SETTING)
    parts = [
        "no time limit" if math.isnan(limit) else f"time limit {limit:g} s",
        "" if math.isnan(gap) else f"relative gap {gap:g}",
        "" if math.isnan(memory) else f"memory limit {memory:g} MiB",
    ]
    return ", ".join(part for part in parts if part)


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _trajectory(record: Record) -> Array:
    moments = np.array(record.trajectory, dtype=float)
    return moments.reshape(-1, 3)


def _lasting(machine: Mapping[str, Any]) -> dict[str, Any]:
    """What stays the same from day to day."""
    return {name: value for name, value in machine.items() if name != "date"}
