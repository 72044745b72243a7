"""``mlmio fit``: a metric learned, judged and kept."""

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
    Scale,
    Seed,
    Side,
    Threads,
    errors,
    notes,
    say,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from mlmio.diagnostics import Diagnosis
    from mlmio.learning import Learned
    from mlmio.model import NeighborModel
    from mlmio.tables import Column

AUTO = "auto"
TIME_LIMIT = 60.0
# Outliers that are named.
MOST_NAMED = 20


def fit(
    data: DataName,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="For the metric with its points, as JSON."
        ),
    ] = None,
    report: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="For a page on what was learned, index.html."),
    ] = None,
    formulation: Annotated[
        str,
        typer.Option(
            "--formulation",
            "-f",
            metavar="SPEC",
            help="Blocks joined by +, or auto, which fits the data.",
        ),
    ] = AUTO,
    solver: Annotated[
        str, typer.Option("--solver", "-s", metavar="NAME", help="See mlmio solvers.")
    ] = "highs",
    strategy: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How it is solved: alternating, direct, disjunctive, rows; auto chooses.",
        ),
    ] = AUTO,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help=f"Limit {LIMITED}.")
    ] = TIME_LIMIT,
    neighbors: Annotated[
        int, typer.Option(metavar="K", help="How many neighbours vote on a class.")
    ] = 1,
    abstain: Annotated[
        float | None,
        typer.Option(
            metavar="RATIO",
            help="Points are unclear whose distance to their class, divided by that to the "
            "nearest other, exceeds it.",
            show_default=False,
        ),
    ] = None,
    per_class: Annotated[
        int, typer.Option(metavar="N", help="Points drawn of every class; 0 takes all.")
    ] = 0,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
    threads: Threads = 1,
) -> None:
    """Learn a metric, and say how good it is and which points are outliers.

    The metric is verified; it is kept with the points that classify by it, for mlmio predict.

    Example: mlmio fit wine --time-limit 30 -o metric.json
    """
    from mlmio.learning import learn
    from mlmio.model import NeighborModel, check_abstain, check_neighbors
    from mlmio.progress import ProgressLine
    from mlmio.registry import solvers, strategies
    from mlmio.solvers.base import Options
    from mlmio.tables import console
    from mlmio.writing import check_writable

    # All that can be wrong with the call is found before anything is solved.
    if formulation != AUTO:
        composed(formulation)
    solvers.get(solver)
    strategies.get(strategy)
    options: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed}
    Options(**options)
    check_abstain(abstain)
    if output is not None:
        check_writable(output)
    if report is not None:
        from mlmio.pages import check_folder

        check_folder(report)
    points = load(data, per_class, seed, scale, label, side, data_dir)
    check_neighbors(neighbors, points.N)

    out = console()
    out.print(describe(points, seed), soft_wrap=True)
    with errors(FAILED):
        with ProgressLine() as progress, notes(progress.console):
            progress.start("learning")
            learned = learn(points, formulation, solver=solver, strategy=strategy, **options)
        model = NeighborModel.from_learned(learned, neighbors, abstain)
        # The file first: nothing that was found is lost if the tables cannot be printed.
        saved = _save(model, learned, output)
        _print(out, learned, model)
        if saved:
            out.print(f"\n{output}: the metric, and the points that classify by it")
        if report is not None:
            from mlmio.reporting import write_report

            page = write_report(learned, report, neighbors)
            out.print(f"{page}: a page on what was learned", soft_wrap=True)
    raise typer.Exit(DONE if learned.result.verified else FAILED)


def _save(model: NeighborModel, learned: Learned, output: str | None) -> bool:
    """Write the file, unless nothing was learned."""
    if output is None:
        return False
    if learned.result.metric is None:
        say(f"{output} is not written, since no metric was learned", "red")
        return False
    model.to_json(output)
    return True


def _print(out: Console, learned: Learned, model: NeighborModel) -> None:
    from mlmio.risk import leave_one_out
    from mlmio.tables import table

    out.print()
    out.print(learned.result, soft_wrap=True)
    found = leave_one_out(learned.metric, learned.data, model.n_neighbors, learned.serves)
    curve = found.risk_coverage
    voters = f"{model.n_neighbors} neighbour{'s' * (model.n_neighbors > 1)}"
    out.print(f"\nleave-one-out error, {voters}: {curve.full_error:.2%} at full coverage")
    if model.abstain is not None:
        coverage, error = curve.at(model.abstain)
        rest = f"{error:.2%} of the {coverage:.2%}" if coverage else "there are no points"
        out.print(f"  {rest} with a ratio of at most {model.abstain:g}")
    out.print()
    out.print(table(list(_columns(learned.diagnosis)), out.width))
    out.print(_named_outliers(learned.diagnosis), soft_wrap=True)


def _columns(diagnosis: Diagnosis) -> Iterator[Column]:
    """Yield the columns of the table of classes."""
    from mlmio.diagnostics import PARTS
    from mlmio.tables import Column

    data, counts = diagnosis.data, diagnosis.counts
    yield Column("class", tuple(str(label) for label in data.classes), left=True, least=12)
    yield Column("points", tuple(str(size) for size in data.class_sizes))
    for part, numbers in zip(PARTS, counts.T, strict=True):
        yield Column(part, tuple(str(number) for number in numbers))
    yield Column("R*", tuple(f"{knee:.4g}" for knee in diagnosis.knees))


def _named_outliers(diagnosis: Diagnosis) -> str:
    """Name the outliers, those of largest R first."""
    rows, data = diagnosis.outliers, diagnosis.data
    if not len(rows):
        return "\noutliers: none"
    named = [
        f"{data.ids[i]} ({data.labels[i]}, R {diagnosis.ratios[i]:.4g})" for i in rows[:MOST_NAMED]
    ]
    more = f" and {len(rows) - MOST_NAMED} more" if len(rows) > MOST_NAMED else ""
    return f"\noutliers, by falling R: {', '.join(named)}{more}"
