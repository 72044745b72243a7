"""``mlmio bench report`` and ``mlmio bench diff``: what came of a run, and how two differ."""

from __future__ import annotations

from typing import Annotated

import typer

from mlmio.commands.shell import DONE, FAILED

Run = Annotated[
    str,
    typer.Argument(metavar="DIR", help="Folder that mlmio bench run wrote.", show_default=False),
]

# mlmio.bench.difference.NOISE, without loading it for a line of help.
NOISE = 0.3


def report(
    run: Run,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FOLDER",
            help="For the report. [default: DIR/report]",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Report a run: a page with its figures, and its tables as CSV and LaTeX.

    What is wrong comes first: damaged files, disagreements, unverified results, failures.

    Example: mlmio bench report nightly
    """
    from mlmio.bench.report import write_report
    from mlmio.tables import console

    console().print(f"{write_report(run, output)}", soft_wrap=True)


def diff(
    first: Annotated[
        str, typer.Argument(metavar="A", help="Folder of the earlier run.", show_default=False)
    ],
    second: Annotated[
        str, typer.Argument(metavar="B", help="Folder of the later run.", show_default=False)
    ],
    noise: Annotated[
        float,
        typer.Option(
            metavar="SHARE",
            help="Times that differ by no more than this share of the smaller one, or by half a "
            "second, are the same.",
        ),
    ] = NOISE,
) -> None:
    """Compare two runs case by case, and end with 1 where the second is worse.

    Worse is: lost, damaged, no longer solved, newly failed or unverified, slower than the noise
    allows, another optimum, a much worse incumbent.

    Example: mlmio bench diff last-week nightly
    """
    from mlmio.bench.difference import difference
    from mlmio.tables import console

    found = difference(first, second, noise)
    console().print(found)
    raise typer.Exit(FAILED if found.regressions else DONE)
