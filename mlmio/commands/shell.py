"""What the commands share: the application, their options, errors and notes."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer

from mlmio.errors import FAILURES, MlmioError, MlmioWarning

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, WRONG = 0, 1, 2

PER_CLASS = 5

app = typer.Typer(
    name="mlmio",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Metric learning by mixed-integer optimization, composed from Pyomo blocks.",
    epilog="Start with: mlmio compare iris",
)

DataName = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="iris, wine, breast_cancer, digits, a synthetic set, a CSV, Parquet, LIBSVM or ARFF "
        "file, or the name of a file in --data-dir or of a set on OpenML.",
    ),
]
Spec = Annotated[
    str, typer.Argument(metavar="SPEC", help="Blocks joined by +, as 'quadratic + nearest'.")
]
PerClass = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help=f"Points drawn of every class; 0 takes all. [default: {PER_CLASS}]",
        show_default=False,
    ),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of the drawing, and of the solver.")]
Scale = Annotated[str, typer.Option(metavar="KIND", help="none, minmax, standard or robust.")]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Name or position of the labels; none if --side has links instead.",
        show_default=False,
    ),
]
Threads = Annotated[int, typer.Option(metavar="N", help="Threads that solve.")]
# What a time limit is of.
LIMITED = (
    "for the LP relaxation and the search together, from when the model is built; reading, "
    "building, and compiling at the first use come on top"
)
# Where there is nothing to learn, links are of no use.
KeptLabel = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Name or position of the labels; none if there are none.",
        show_default=False,
    ),
]
Side = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help="CSV file of pairs or triplets of row numbers, as must_link=pairs.csv; may be given "
        "several times.",
        show_default=False,
    ),
]
DataDir = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER", help="Folder of data files. [env: MLMIO_DATA]", show_default=False
    ),
]


def add_command(function: Callable[..., None], to: typer.Typer = app) -> None:
    """Make a function a command whose errors are one line and an exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        with errors(WRONG), notes():
            function(*args, **kwargs)

    to.command(no_args_is_help=bool(inspect.signature(function).parameters))(run)


@contextmanager
def errors(code: int) -> Iterator[None]:
    """Turn errors into one line each; `code` is the exit code of those that mlmio foresees."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except MlmioError as error:
        fail(str(error), code)
    except KeyboardInterrupt:
        fail("interrupted", FAILED)
    except OSError as error:
        fail(f"{error.filename or 'the output'}: {error.strerror or error}", FAILED)
    except FAILURES as error:
        from mlmio.comparison import describe_failure

        fail(describe_failure(error), FAILED)


def fail(message: str, code: int) -> NoReturn:
    """Write one line to stderr, and end with an exit code."""
    say(message, "red")
    raise typer.Exit(code)


def say(message: str, style: str = "", out: Console | None = None) -> None:
    """Write one line to stderr."""
    from rich.text import Text

    from mlmio.tables import console

    line = Text(f"mlmio: {' '.join(message.split())}", style=style)
    (out or console(sys.stderr)).print(line, soft_wrap=True)


@contextmanager
def notes(out: Console | None = None) -> Iterator[None]:
    """Show each warning of mlmio once, as a note; those of other packages are not the user's."""
    seen: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = str(message)
        if issubclass(category, MlmioWarning) and text not in seen:
            seen.add(text)
            say(f"note: {text}", "yellow", out)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", MlmioWarning)
        warnings.showwarning = show
        yield


def _show_version(wanted: bool) -> None:
    if wanted:
        from mlmio import __version__

        typer.echo(f"mlmio {__version__}")
        raise typer.Exit(DONE)


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass
