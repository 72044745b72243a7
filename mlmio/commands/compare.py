"""``mlmio compare``: formulations and solvers on data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlmio.commands.loading import composed, describe, load
from mlmio.commands.shell import (
    DONE,
    FAILED,
    LIMITED,
    DataDir,
    DataName,
    Label,
    PerClass,
    Scale,
    Seed,
    Side,
    Threads,
    notes,
    say,
)
from mlmio.errors import MlmioError

if TYPE_CHECKING:
    from mlmio.comparison import Comparison

TIME_LIMIT = 15.0
FORMULATIONS = (
    "linear + nearest + bigm",
    "linear + nearest + mccormick",
    "linear + quadratic + nearest + bigm",
    "linear + quadratic + nearest + mccormick",
    "linear + quadratic + nearest + bigm + outliers(rho=0.1)",
)


def compare(
    data: DataName,
    formulation: Annotated[
        list[str] | None,
        typer.Option(
            "--formulation",
            "-f",
            metavar="SPEC",
            help="A formulation; may be given several times. [default: five]",
        ),
    ] = None,
    solver: Annotated[
        list[str] | None,
        typer.Option(
            "--solver",
            "-s",
            metavar="NAME",
            help="A solver; may be given several times. [default: highs]",
        ),
    ] = None,
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How all are solved: alternating, auto, direct, disjunctive or rows.",
        ),
    ] = "direct",
    per_class: PerClass = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help=f"Limit of each run, {LIMITED}.")
    ] = TIME_LIMIT,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
    threads: Threads = 1,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="For the table, as CSV.")] = None,
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="For the table, metrics and verdicts, as JSON."),
    ] = None,
) -> None:
    """Compare formulations and solvers on data.

    Every result is verified, and held to the others by what relates the formulations.

    Example: mlmio compare wine -f "linear + nearest" -f "quadratic + nearest" --csv wine.csv
    """
    from mlmio.comparison import compare as run_comparison
    from mlmio.progress import ProgressLine
    from mlmio.registry import solvers as known
    from mlmio.registry import strategies
    from mlmio.solvers.base import Options
    from mlmio.tables import console
    from mlmio.writing import check_writable

    # All that can be wrong with the call is found before anything is solved.
    compositions = [composed(spec) for spec in formulation or FORMULATIONS]
    solvers = solver or ["highs"]
    for name in solvers:
        known.get(name)
    strategies.get(strategy)
    options: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed}
    Options(**options)
    for path in (csv, json):
        if path is not None:
            check_writable(path)
    points = load(data, per_class, seed, scale, label, side, data_dir)

    out = console()
    out.print(describe(points, seed), soft_wrap=True)
    with ProgressLine() as progress, notes(progress.console):
        comparison = run_comparison(
            compositions, points, solvers, strategy, **options, progress=progress
        )
    # Files first: nothing that was found is lost if the table cannot be printed.
    saved = _save(comparison, csv, json)
    out.print()
    out.print(comparison)
    good = saved and not comparison.interrupted and not comparison.breaches
    found = any(run.verified for run in comparison.rows)
    raise typer.Exit(DONE if good and found else FAILED)


def _save(comparison: Comparison, csv: str | None, json: str | None) -> bool:
    """Write the files that are asked for; says so where one cannot be written."""
    saved = True
    for path, write in ((csv, comparison.to_csv), (json, comparison.to_json)):
        try:
            if path is not None:
                write(path)
        except MlmioError as error:
            say(str(error), "red")
            saved = False
    return saved
