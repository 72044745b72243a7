"""The tables of the strength study, made from the results that are committed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
from pages import table, write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

NONE = "–"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", make_tables)
    return {"parallel_read_safe": True}


def make_tables(app: Sphinx) -> None:
    """Write a table for each loss, and a line on the machine."""
    folder = Path(app.srcdir) / "_generated"
    results = Path(app.srcdir).parent / "benchmarks" / "results"
    frame = pd.read_csv(results / "relaxations.csv", keep_default_na=False, na_values=[""])
    facts = json.loads((results / "relaxations.json").read_text(encoding="utf-8"))
    losses = frame["loss"].fillna("")
    write(folder / "relaxations_without.inc", _table(frame[losses == ""]))
    write(folder / "relaxations_outliers.inc", _table(frame[losses != ""]))
    write(folder / "relaxations_machine.inc", _machine(facts))


def _table(frame: pd.DataFrame) -> str:
    """Shares of the root gap and seconds, a row for each instance, a column for each kind."""
    names = list(frame["own"].unique())
    rows = []
    for (name, N), part in frame.groupby(["set", "N"], sort=False):
        gap = part["lp_bound"].max() - part["optimum"].max()
        proven = "" if part["proven"].all() else "≥ "
        cells = [_cell(part[part["own"] == each], proven) for each in names]
        rows.append((f"{name}, {N}", f"{part['optimum'].max():.4f}", f"{gap:.4f}", *cells))
    return table(("set, points", "z*", "z0 − z*", *names), rows)


def _cell(runs: pd.DataFrame, proven: str) -> str:
    """Share that the LP closes, and seconds of build and LP."""
    if runs.empty or pd.isna(runs["lp_closed"].iloc[0]):
        return NONE
    run = runs.iloc[0]
    return f"{proven}{run['lp_closed']:z.0f} % ({run['build_s'] + run['lp_s']:.1f} s)"


def _machine(facts: dict[str, Any]) -> str:
    machine, options = facts["machine"], facts["options"]
    solver = options["solver"]
    return (
        f"Measured on {machine['date']}: {machine['processor']}, {machine['cores']} cores, "
        f"{solver} {machine['solvers'][solver]}, one thread, {options['time_limit']:g} s for each "
        f"solve.\n"
    )
