"""``mlmio strength``: how strong the relaxations of formulations are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlmio.commands.loading import composed, describe, load
from mlmio.commands.shell import (
    DONE,
    FAILED,
    DataDir,
    DataName,
    Label,
    PerClass,
    Scale,
    Seed,
    Side,
    notes,
    say,
)
from mlmio.errors import MlmioError

if TYPE_CHECKING:
    from mlmio.relaxations import Strength

TIME_LIMIT = 30.0
PICTURES = (".png", ".pdf", ".svg")


def strength(
    data: DataName,
    formulation: Annotated[
        list[str] | None,
        typer.Option(
            "--formulation",
            "-f",
            metavar="SPEC",
            help="A formulation; may be given several times. [default: encodings and cuts]",
        ),
    ] = None,
    solver: Annotated[str, typer.Option("--solver", "-s", metavar="NAME")] = "highs",
    per_class: PerClass = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="For each solve.")
    ] = TIME_LIMIT,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
    threads: Annotated[int, typer.Option(metavar="N", help="Threads of the solver.")] = 1,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="For the table, as CSV.")] = None,
    plot: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="For the picture, as PNG, PDF or SVG."),
    ] = None,
) -> None:
    """Measure how strong the relaxations of formulations are.

    The LP bound, the bound after the solver's cuts at the root, and the share of the root gap that
    they close; the size of the model; and the time to a proof that starts from the optimum.

    Example: mlmio strength iris --per-class 8 --plot strength.png
    """
    from mlmio.progress import ProgressLine
    from mlmio.relaxations import FORMULATIONS
    from mlmio.relaxations import strength as measure
    from mlmio.tables import console
    from mlmio.writing import check_writable

    # All that can be wrong with the call is found before anything is solved.
    compositions = [composed(spec) for spec in formulation or FORMULATIONS]
    for path in (csv, plot):
        if path is not None:
            check_writable(path)
    if plot is not None:
        _check_picture(plot)
    points = load(data, per_class, seed, scale, label, side, data_dir)

    out = console()
    out.print(describe(points, seed), soft_wrap=True)
    options: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed}
    with ProgressLine() as progress, notes(progress.console):
        found = measure(compositions, points, solver, **options, progress=progress)
    saved = _save(found, csv, plot)
    out.print()
    out.print(found)
    comparison = found.comparison
    good = saved and not comparison.interrupted and not comparison.breaches
    bounded = any(each.run.result is not None for each in found.relaxations)
    raise typer.Exit(DONE if good and bounded else FAILED)


def _save(found: Strength, csv: str | None, plot: str | None) -> bool:
    """Write the files that are asked for; says so where one cannot be written."""
    try:
        if csv is not None:
            found.to_csv(csv)
        if plot is not None:
            _draw(found, plot)
    except MlmioError as error:
        say(str(error), "red")
        return False
    return True


def _check_picture(path: str) -> None:
    """Refuse what cannot be drawn before anything is solved."""
    from mlmio.plotting import require_matplotlib

    require_matplotlib()
    if Path(path).suffix.lower() not in PICTURES:
        raise MlmioError(f"cannot draw {path!r}: give a name that ends in {' or '.join(PICTURES)}")


def _draw(found: Strength, path: str) -> None:
    import matplotlib.pyplot as plt

    from mlmio.pictures import plot_strength
    from mlmio.writing import write_whole

    # Beside no screen, a figure is drawn to a file alone.
    plt.switch_backend("agg")
    _, ax = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
    plot_strength(found, ax)
    write_whole(path, lambda draft: ax.figure.savefig(draft, dpi=150))
