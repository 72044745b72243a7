"""The command line: ``mlmio compare iris`` and the rest."""

from __future__ import annotations

import functools
import inspect
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, TextIO

import typer

from mlmio.errors import FAILURES, MlmioError, MlmioWarning

if TYPE_CHECKING:
    from rich.console import Console

    from mlmio.comparison import Comparison
    from mlmio.composition import Composition
    from mlmio.data import Dataset
    from mlmio.registry import Registry

DONE, FAILED, WRONG = 0, 1, 2

PER_CLASS = 5
TIME_LIMIT = 15.0
FORMULATIONS = (
    "linear + nearest + bigm",
    "linear + nearest + mccormick",
    "linear + quadratic + nearest + bigm",
    "linear + quadratic + nearest + mccormick",
    "linear + quadratic + nearest + bigm + outliers(rho=0.1)",
)
Row = tuple[str, ...]
ENDINGS = (".lp", ".mps", ".nl")

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


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # What a terminal cannot show is no reason to fail.
            stream.reconfigure(errors="replace")
    app()


def _command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a function a command whose errors are one line and an exit code."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        with _errors(WRONG), _notes():
            function(*args, **kwargs)

    app.command(no_args_is_help=bool(inspect.signature(function).parameters))(run)
    return run


@contextmanager
def _errors(code: int) -> Iterator[None]:
    """Turn errors into one line each; `code` is the exit code of those that mlmio foresees."""
    try:
        yield
    except (typer.Exit, typer.Abort, BrokenPipeError):
        raise
    except MlmioError as error:
        _fail(str(error), code)
    except KeyboardInterrupt:
        _fail("interrupted", FAILED)
    except OSError as error:
        _fail(f"{error.filename or 'the output'}: {error.strerror or error}", FAILED)
    except FAILURES as error:
        from mlmio.comparison import describe_failure

        _fail(describe_failure(error), FAILED)


def _fail(message: str, code: int) -> NoReturn:
    _say(message, "red")
    raise typer.Exit(code)


def _say(message: str, style: str = "", out: Console | None = None) -> None:
    """Write one line to stderr."""
    from rich.text import Text

    from mlmio.tables import console

    line = Text(f"mlmio: {' '.join(message.split())}", style=style)
    (out or console(sys.stderr)).print(line, soft_wrap=True)


@contextmanager
def _notes(out: Console | None = None) -> Iterator[None]:
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
            _say(f"note: {text}", "yellow", out)

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


@_command
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
    per_class: PerClass = None,
    time_limit: Annotated[
        float, typer.Option(metavar="SECONDS", help="For each run.")
    ] = TIME_LIMIT,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
    threads: Annotated[int, typer.Option(metavar="N", help="Threads of the solver.")] = 1,
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
    from mlmio.solvers.base import Options
    from mlmio.tables import console
    from mlmio.writing import check_writable

    # All that can be wrong with the call is found before anything is solved.
    compositions = [_composed(spec) for spec in formulation or FORMULATIONS]
    solvers = solver or ["highs"]
    for name in solvers:
        known.get(name)
    options: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed}
    Options(**options)
    for path in (csv, json):
        if path is not None:
            check_writable(path)
    points = _load(data, per_class, seed, scale, label, side, data_dir)

    out = console()
    out.print(_describe(points, seed), soft_wrap=True)
    with ProgressLine() as progress, _notes(progress.console):
        comparison = run_comparison(compositions, points, solvers, **options, progress=progress)
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
            _say(str(error), "red")
            saved = False
    return saved


@_command
def explain(
    spec: Spec,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Gives the sizes as numbers.", show_default=False),
    ] = None,
    per_class: PerClass = None,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
) -> None:
    """Show what a formulation assembles.

    Example: mlmio explain "linear + quadratic + nearest + outliers(rho=0.1)" iris
    """
    composition = _composed(spec)
    points = None if data is None else _load(data, per_class, seed, scale, label, side, data_dir)
    composition.explain(points)


@_command
def blocks() -> None:
    """List the blocks of formulations."""
    from mlmio.registry import blocks as known
    from mlmio.slots import SLOT_ORDER

    heads = ("slot", "block", "parameters", "class", "package", "what it is")
    rows = _rows(known, heads, _block_row)
    rows.sort(key=lambda row: (SLOT_ORDER.get(row[0], len(SLOT_ORDER)), row[1]))
    _print_table(heads, rows, wrapped={"parameters": 16, "what it is": 18})


@_command
def solvers() -> None:
    """List the solvers, or how to install them."""
    from mlmio.registry import solvers as known

    heads = ("solver", "version", "solves", "features", "what is used, or how to install it")
    rows = _rows(known, heads, _solver_row)
    _print_table(heads, rows, wrapped={"solves": 12, "features": 12, heads[-1]: 20})


@_command
def export(
    spec: Spec,
    data: DataName,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File ending in .lp, .mps or .nl.")
    ],
    per_class: PerClass = None,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
) -> None:
    """Write the model of a formulation to a file.

    Example: mlmio export "quadratic + nearest" iris -o model.lp
    """
    from pyomo.opt.base.formats import guess_format

    from mlmio.tables import console
    from mlmio.writing import check_writable, write_whole

    composition = _composed(spec)
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise MlmioError(f"cannot write {output!r}: its ending must be {' or '.join(ENDINGS)}")
    check_writable(output)
    points = _load(data, per_class, seed, scale, label, side, data_dir)
    out = console()
    out.print(_describe(points, seed), soft_wrap=True)
    with _errors(FAILED):
        model = composition.build(points)
        # The names of an .nl file would go into files beside it.
        named = {"symbolic_solver_labels": True} if ending != ".nl" else {}
        kind = guess_format(ending)
        write_whole(output, lambda draft: model.write(str(draft), format=kind, io_options=named))
        out.print(f"{output}: {_count(model)}, to be maximised", soft_wrap=True)


def _composed(spec: str) -> Composition:
    """Compose, and refuse what is not complete."""
    from mlmio.composition import compose

    composition = compose(spec)
    _ = composition.ordered
    return composition


def _load(
    name: str,
    per_class: int | None,
    seed: int,
    scale: str,
    label: str | None,
    side: list[str] | None,
    data_dir: str | None,
) -> Dataset:
    """Load a data set and draw points from it; by default no more than its smallest class has."""
    from mlmio.data import load_dataset

    files = _side_files(side or [])
    whole = load_dataset(name, seed=seed, scale=scale, label=label, side=files, data_dir=data_dir)
    # At least two: one point a class has no neighbour, and the error should name its class.
    most = max(2, min(PER_CLASS, int(whole.class_sizes.min())))
    drawn = most if per_class is None else per_class
    return whole if drawn == 0 else whole.draw(drawn, seed)


def _side_files(given: list[str]) -> dict[str, str]:
    """Read NAME=FILE pairs."""
    from mlmio.registry import blocks as known

    sides = [name for name, cls in known.available().items() if cls.slot == "side"] if given else []
    files: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise MlmioError(f"--side is {text!r}: give NAME=FILE, as must_link=pairs.csv")
        if name not in sides:
            raise MlmioError(
                f"--side is {text!r}, and no block {name!r} takes side information: those that do "
                f"are {', '.join(sides)}"
            )
        if name in files:
            raise MlmioError(f"--side names {name!r} twice: put its tuples into one file")
        files[name] = path
    return files


def _describe(data: Dataset, seed: int) -> str:
    if data.source_size == data.N:
        return f"{data.name}: all {data.N} points"
    return (
        f"{data.name}: {data.N} of {data.source_size} points, {data.class_sizes[0]} per class, "
        f"seed {seed}; --per-class 0 takes all points"
    )


def _count(model: Any) -> str:
    from pyomo.core import Constraint, Var

    rows = sum(1 for _ in model.component_data_objects(Constraint, active=True))
    columns = sum(not v.fixed for v in model.component_data_objects(Var, active=True))
    return f"{rows} rows and {columns} columns"


def _rows(known: Registry[Any], heads: Row, describe: Callable[[str, Any], Row]) -> list[Row]:
    """A row for each registered class; one that cannot be imported says why in its last cell."""
    from mlmio.tables import NOTHING

    rows = []
    for name in known.names():
        try:
            rows.append(describe(name, known.get(name)))
            continue
        except MlmioError as error:
            reason = str(error)
        except FAILURES as error:
            reason = f"{type(error).__name__}: {error}"
        empty = [name if head == known.kind else NOTHING for head in heads[:-1]]
        rows.append((*empty, reason))
    return rows


def _block_row(name: str, cls: Any) -> Row:
    parameters = [
        field.name if field.default is MISSING else f"{field.name}={field.default!r}"
        for field in fields(cls)
    ]
    summary = (inspect.getdoc(cls) or "").split("\n")[0]
    package = cls.__module__.split(".")[0]
    return cls.slot, name, ", ".join(parameters), cls.problem_class, package, summary


def _solver_row(name: str, cls: Any) -> Row:
    solver = cls()
    version = solver.version()
    solves, features = ", ".join(sorted(cls.classes)), ", ".join(sorted(cls.features))
    where = solver.location() or "" if version else cls.install
    return name, version or "not installed", solves, features, where


def _print_table(heads: Row, rows: list[Row], wrapped: dict[str, int]) -> None:
    from mlmio.tables import Column, console, fit, table

    columns = [
        Column(head, cells, left=True, least=wrapped.get(head, 0))
        for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    out = console()
    columns = [column for column in columns if any(column.cells)]
    layout = fit(columns, out.width, once=("package",), droppable=())
    for column in layout.said_once:
        out.print(f"{column.name}: {column.cells[0]}")
    out.print(table(layout.columns, out.width))


if __name__ == "__main__":
    main()
