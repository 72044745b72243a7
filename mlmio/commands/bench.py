"""``mlmio bench``: suites of cases that are run overnight, and what came of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mlmio.commands.shell import DONE, FAILED, WRONG, DataDir, errors, fail, say
from mlmio.errors import MlmioError

if TYPE_CHECKING:
    from rich.console import Console

    from mlmio.bench.cases import Case
    from mlmio.bench.crew import Crew
    from mlmio.bench.runner import Summary

# Kinds of failure that are told at the end.
MOST_TOLD = 5

bench = typer.Typer(
    name="bench",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    help="Run suites of cases that survive crashes, and report on them.",
)


def run(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="A YAML file, or the name of a suite in benchmarks/suites, as smoke.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="DIR",
            help="Folder of the run. What is done there already is not run again.",
        ),
    ],
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Cases at once on this machine, as far as it has cores. [default: 1]",
            show_default=False,
        ),
    ] = None,
    scheduler: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="A dask scheduler, as tcp://node:8786, whose workers run the cases.",
            show_default=False,
        ),
    ] = None,
    contended: Annotated[
        bool,
        typer.Option(
            "--contended",
            help="Run more threads than there are cores; times taken so are marked.",
        ),
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Run every case of a suite, each in a process of its own.

    After an interruption of any kind the same command goes on where it stopped.

    Example: mlmio bench run smoke --out runs/smoke --workers 2
    """
    from mlmio.bench.cases import plan
    from mlmio.bench.cluster import check_address
    from mlmio.bench.faults import SuiteError
    from mlmio.bench.folder import RunFolder
    from mlmio.bench.live import LiveTable
    from mlmio.bench.machine import describe, revision
    from mlmio.bench.runner import run_cases
    from mlmio.bench.suite import find_suite, load_suite
    from mlmio.tables import console

    if scheduler is not None and workers is not None:
        raise MlmioError("--workers and --scheduler are two ways to run cases: give one of them")
    if scheduler is not None:
        check_address(scheduler)
    file = find_suite(suite)
    try:
        read = load_suite(file)
    except SuiteError as error:
        for problem in error.problems:
            say(problem, "red")
        raise typer.Exit(WRONG) from error
    data_dir = _data_dir(data_dir, here=scheduler is None)
    if not out:
        raise MlmioError("--out is empty: give a folder for the run")
    folder = RunFolder(Path(out).expanduser())
    with folder.locked():
        cases = plan(read, data_dir)
        facts = {
            "machine": describe(),
            "revision": revision(),
            "contended": contended,
            "cases": len(cases),
        }
        folder.begin(read, file.read_text(encoding="utf-8"), facts)
        finished = folder.finished(case.key for case in cases)
        _say_plan(console(), read.name, len(cases), len(finished))
        if scheduler is None:
            done = {record.key for record in finished}
            _say_missing([case for case in cases if case.key not in done])
        live = LiveTable(len(cases), [record.outcome for record in finished])
        with errors(FAILED):
            crew = _crew(workers or 1, scheduler, data_dir, contended, len(cases) - len(finished))
            try:
                with live:
                    summary = run_cases(cases, finished, folder.out, crew, live, contended)
            except KeyboardInterrupt:
                fail(
                    f"interrupted: {live.done} of {len(cases)} cases are done; the same command "
                    f"goes on with the rest",
                    FAILED,
                )
            folder.end()
    _tell(console(), summary, folder.out)
    raise typer.Exit(DONE if summary.outcomes["done"] else FAILED)


def _say_missing(cases: Sequence[Case]) -> None:
    """Say which data sets cannot be loaded, before hours are spent on the others."""
    from mlmio.tables import counted

    missing = Counter(case.asked["dataset"] for case in cases if case.facts["N"] is None)
    for name, count in missing.items():
        say(f"note: {name} cannot be loaded: {counted(count, 'case')} will be refused", "yellow")


def _say_plan(out: Console, name: str, total: int, before: int) -> None:
    """Say how many cases there are, and how many are left."""
    from mlmio.tables import counted

    rest = f", {before} of them done before" if before else ""
    out.print(f"{name}: {counted(total, 'case')}{rest}", soft_wrap=True)


def _data_dir(given: str | None, here: bool) -> str | None:
    """Folder of data files in full, since cases run in other processes and on other machines.

    It must be there if cases run `here`.
    """
    from mlmio.data.catalogue import DATA_DIR_VARIABLE

    folder = given or os.environ.get(DATA_DIR_VARIABLE)
    if not folder:
        return None
    path = Path(folder).expanduser().resolve()
    if here and not (path.is_dir() and os.access(path, os.R_OK | os.X_OK)):
        raise MlmioError(f"the folder of data files {str(path)!r} is none, or cannot be read")
    return str(path)


def _crew(
    workers: int, scheduler: str | None, data_dir: str | None, contended: bool, left: int
) -> Crew:
    from mlmio.bench.crew import LocalCrew
    from mlmio.bench.machine import usable_cores

    if scheduler is not None:
        from mlmio.bench.cluster import DaskCrew

        return DaskCrew(scheduler, data_dir)
    cores = len(usable_cores())
    if workers > cores and not contended:
        say(
            f"note: there are {cores} cores, so that no more than {cores} cases run at once: "
            f"--contended runs {workers}, and marks their times",
            "yellow",
        )
        workers = cores
    return LocalCrew(max(1, min(workers, left)), data_dir)


def _tell(out: Console, summary: Summary, folder: Path) -> None:
    """Say what the run came to."""
    from mlmio.bench.live import duration
    from mlmio.bench.records import OUTCOMES
    from mlmio.tables import counted

    counts = [f"{summary.outcomes[name]} {name}" for name in OUTCOMES if summary.outcomes[name]]
    ended = f"{counted(summary.total, 'case')} in {duration(summary.seconds)}: {', '.join(counts)}"
    out.print(ended, soft_wrap=True)
    for outcome, message, count in summary.failures[:MOST_TOLD]:
        out.print(f"{outcome}, {counted(count, 'case')}: {message}", soft_wrap=True)
    more = len(summary.failures) - MOST_TOLD
    if more > 0:
        out.print(f"… and {more} other failures, see the records", soft_wrap=True)
    out.print(f"{folder}: a file for each case; mlmio bench report {folder} makes the tables")
