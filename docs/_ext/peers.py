"""The tables of the peers, made from the results that are committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pages import table, write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NONE = "–"

# Load, in processes at work, above which a machine is not idle.
IDLE = 0.5


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", make_tables)
    return {"parallel_read_safe": True}


def make_tables(app: Sphinx) -> None:
    """Write the table of models, that of learners, and a line on the machine."""
    folder = Path(app.srcdir) / "_generated"
    results = Path(app.srcdir).parent / "benchmarks" / "results"
    frame = pd.read_csv(results / "peers.csv")
    facts = json.loads((results / "peers.json").read_text(encoding="utf-8"))
    write(folder / "peers_models.inc", _models(frame[frame["part"] == "models"]))
    write(folder / "peers_learners.inc", _learners(frame[frame["part"] == "learners"]))
    write(folder / "peers_machine.inc", _machine(facts))


def _models(frame: pd.DataFrame) -> str:
    rows = [
        (
            row.N,
            row.solver,
            row.method,
            "not solved" if row.status == "built" else row.status,
            _number(row.objective, ".6f"),
            f"{row.build_s:.2f}",
            _number(row.seconds, ".1f"),
        )
        for row in frame.itertuples()
    ]
    heads = ("points", "solver", "written in", "status", "objective", "build s", "solve s")
    return table(heads, rows)


def _learners(frame: pd.DataFrame) -> str:
    names = frame["method"].unique()
    rows = []
    for (name, N, D), part in frame.groupby(["set", "N", "D"], sort=False):
        cells = [_cell(part[part["method"] == method]) for method in names]
        rows.append((f"{name}, {N} points, {D} features", *cells))
    return table(("trained on", *names), rows)


def _cell(runs: pd.DataFrame) -> str:
    """Error in per cent and seconds, the means of the seeds that were fitted."""
    fitted = runs[runs["status"] == "fitted"]
    if fitted.empty:
        return f"{NONE} ({runs['seconds'].mean():.1f} s)"
    return f"{100 * fitted['error'].mean():.1f} % ({fitted['seconds'].mean():.1f} s)"


def _machine(facts: dict[str, Any]) -> str:
    machine, options, peers = facts["machine"], facts["options"], facts["peers"]
    versions = ", ".join(f"{name} {number}" for name, number in peers.items())
    busy = (
        "Other work was running on the machine: times are longer than they need to be, and what "
        "stopped at the time limit may end before it where nothing else runs. "
        if facts["load_before"] > IDLE
        else ""
    )
    return (
        f"{busy}Measured on {machine['date']}: {machine['processor']}, {machine['cores']} cores, "
        f"Python {machine['python']}, {versions}. Load before the run: {facts['load_before']:g}. "
        f"Builds of each model: {options['repeat']}. Seeds: {options['seeds']}.\n"
    )


def _number(value: float, form: str) -> str:
    return NONE if pd.isna(value) else format(value, form)
