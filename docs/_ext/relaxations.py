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
    """Shares of the root gap in per cent, a row for each kind, a column for each instance."""
    instances = [part for _, part in frame.groupby(["set", "N"], sort=False)]
    heads = [f"{part['set'].iloc[0].replace('_', ' ')} {part['N'].iloc[0]}" for part in instances]
    optima = [f"{part['optimum'].max():.3f}" for part in instances]
    gaps = [f"{part['lp_bound'].max() - part['optimum'].max():.3f}" for part in instances]
    rows = [("z*", *optima, ""), ("z0 − z*", *gaps, "")]
    for name, runs in frame.groupby("own", sort=False):
        cells = [_share(part[part["own"] == name]) for part in instances]
        seconds = (runs["build_s"] + runs["lp_s"]).max()
        rows.append((f"``{name}``", *cells, f"{seconds:.1f}"))
    return table(("", *heads, "most s"), rows)


def _share(runs: pd.DataFrame) -> str:
    """Share of the gap that the LP closes; at least that where the optimum is not proven."""
    if runs.empty or pd.isna(runs["lp_closed"].iloc[0]):
        return NONE
    run = runs.iloc[0]
    share = f"{run['lp_closed']:z.0f}"
    return share if run["proven"] or share == "0" else f"≥ {share}"


def _machine(facts: dict[str, Any]) -> str:
    machine, options = facts["machine"], facts["options"]
    solver = options["solver"]
    return (
        f"Measured on {machine['date']}: {machine['processor']}, {machine['cores']} cores, "
        f"{solver} {machine['solvers'][solver]}, one thread, {options['time_limit']:g} s for each "
        f"solve.\n"
    )
