"""Records of cases as a run leaves them, made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mlmio.bench.records import FOLDER, Record

CASE: dict[str, Any] = {
    "dataset": "iris",
    "sampling": "per_class=5, seed=0, scale=minmax",
    "N": 15,
    "D": 4,
    "classes": 3,
    "composition": "linear + nearest + bigm",
    "solver": "highs",
    "strategy": "direct",
    "time_limit": 10.0,
    "grace": 60.0,
    "memory_mib": 4096,
    "threads": 1,
    "seed": 0,
    "repetition": 0,
    "rel_gap": 1e-6,
}
RESULT: dict[str, Any] = {
    "status": "optimal",
    "message": "",
    "verified": True,
    "objective": 0.5,
    "bound": 0.5,
    "lp_bound": 1.0,
    "root_bound": None,
    "nodes": 10,
    "build_s": 0.0,
    "lp_s": 0.0,
    "solve_s": 1.0,
    "rows": 330,
    "columns": 100,
    "binaries": 60,
    "nonzeros": 900,
    "outliers": 0,
    "strategy": "direct",
}


def record(key: str, outcome: str = "done", message: str = "", **changes: Any) -> Record:
    """Return a record; each change is of the case, of the result, or of the record itself."""
    case, result = dict(CASE), dict(RESULT)
    own: dict[str, Any] = {"wall_s": 2.0, "peak_mib": 200.0, "started": "2026-01-02T03:04:05"}
    for name, value in changes.items():
        for part in (case, result):
            if name in part:
                part[name] = value
        if name not in case and name not in result:
            own[name] = value
    if "trajectory" not in own:
        own["trajectory"] = [(result["solve_s"], result["objective"], result["bound"])]
    if outcome != "done":
        own["trajectory"] = []
    kept = result if outcome == "done" else None
    return Record(key, case, outcome, message, result=kept, **own)


def write_run(out: Path, *records: Record) -> Path:
    """Write a run into a folder and return it."""
    (out / FOLDER).mkdir(parents=True, exist_ok=True)
    for kept in records:
        kept.write(out)
    return out
