"""Comparisons: several formulations, several solvers, one table, and the lattice's verdicts."""

from __future__ import annotations

import json
import math
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlmio.blocks import Block
from mlmio.comparison_table import render, render_html
from mlmio.composition import Composition, compose
from mlmio.data import Dataset, require_dataset
from mlmio.errors import FAILURES, CompositionError, MlmioError, SolverError
from mlmio.finding import Claim, findings
from mlmio.registry import solvers as known_solvers
from mlmio.registry import strategies as known_strategies
from mlmio.result import Result
from mlmio.solvers.base import Options
from mlmio.solving import solve
from mlmio.tables import plain
from mlmio.verdicts import (
    Verdict,
    common_blocks,
    equivalent,
    judge,
    related,
    root_gap_closed,
)
from mlmio.writing import write_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType

Specification = Composition | Block | str

COUNTS = ("rows", "columns", "binaries", "nonzeros", "nodes", "outliers")


@dataclass(frozen=True, eq=False)
class Run:
    """One formulation with one solver.

    Parameters
    ----------
    composition : Composition
        The formulation.
    solver : str
        Name of the solver.
    status : str
        Status of the result; ``refused`` where the formulation, the data and the solver do not
        go together, ``error`` where the run failed, ``running``, or ``not run``.
    result : Result or None
        What was found.
    error : str
        Why there is no result, or what is wrong with it.
    """

    composition: Composition
    solver: str
    status: str = "not run"
    result: Result | None = None
    error: str = ""

    @property
    def name(self) -> str:
        """Formulation and solver."""
        return f"{self.composition} · {self.solver}"

    @property
    def verified(self) -> bool:
        """Whether there is a solution that holds in the data."""
        return self.result is not None and self.result.verified

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; the solver may have an incumbent all the same."""
        return self.result is not None and self.result.reason == "interrupted"

    def to_dict(self) -> dict[str, Any]:
        """Everything but the metric as plain numbers and strings."""
        if self.result is not None:
            return self.result.to_dict()
        return {
            "formulation": str(self.composition),
            "solver": self.solver,
            "status": self.status,
            "message": self.error,
            "verified": False,
        }


Progress = Callable[[int, int, Run], None]


def compare(
    compositions: Specification | Iterable[Specification],
    data: Dataset,
    solvers: str | Iterable[str] = ("highs",),
    strategy: str = "direct",
    *,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    rel_gap: float = 1e-6,
    start: Result | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Solve every composition with every solver, and hold the results to one another.

    A run that fails leaves a row that says why, and the others go on; so does Ctrl-C keep what
    was found until then.

    Parameters
    ----------
    compositions : Composition, Block, str, or several of them
        What to compare.
    data : Dataset
        The points.
    solvers : str or iterable of str
        Registered names, see ``mlmio solvers``.
    strategy : str
        Registered name of the strategy.
    time_limit : float, optional
        Wall-clock seconds for the solver, for each run.
    threads, seed, rel_gap
        See :class:`~mlmio.solvers.base.Options`.
    start : Result, optional
        Point from which every run starts.
    progress : callable (position, total, Run) -> None, optional
        Called before each run, whose status is then ``running``, and after it.

    Returns
    -------
    Comparison

    Raises
    ------
    CompositionError, DataError, SolverError
        If the call itself is wrong: an unreadable composition, an unknown solver, a bad option.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.load_dataset("iris", per_class=3)
    >>> comparison = compare(["linear + nearest + bigm", "linear + nearest + mccormick"], data)
    >>> [verdict.kind for verdict in comparison.verdicts]
    ['agree', 'lp']
    """
    require_dataset(data)
    options: dict[str, Any] = {
        "time_limit": time_limit,
        "threads": threads,
        "seed": seed,
        "rel_gap": rel_gap,
    }
    Options(**options)
    known_strategies.get(strategy)
    plan = _plan(compositions, solvers)
    rows = list(plan)
    tell = progress or (lambda position, total, run: None)
    # What was found until Ctrl-C is worth keeping, and the rows left show what is missing.
    with suppress(KeyboardInterrupt):
        for position, waiting in enumerate(plan):
            tell(position + 1, len(plan), replace(waiting, status="running"))
            rows[position] = _run(waiting, data, strategy, options | {"start": start})
            tell(position + 1, len(plan), rows[position])
            if rows[position].interrupted:
                break
    return Comparison(data.name, tuple(rows), judge(findings(rows, rel_gap)), rel_gap)


def _plan(
    compositions: Specification | Iterable[Specification], solvers: str | Iterable[str]
) -> list[Run]:
    """Every composition with every solver, each once."""
    names = list(dict.fromkeys([solvers] if isinstance(solvers, str) else solvers))
    if not names:
        raise SolverError("there is nothing to compare with: give at least one solver")
    for name in names:
        known_solvers.get(name)
    return [Run(composition, name) for composition in composed(compositions) for name in names]


def composed(compositions: Specification | Iterable[Specification]) -> list[Composition]:
    """Read one or several compositions, each once.

    Raises
    ------
    CompositionError
        If one cannot be read, or there is none.
    """
    if isinstance(compositions, Composition | Block | str):
        compositions = [compositions]
    found = list(dict.fromkeys(compose(spec) for spec in compositions))
    if not found:
        raise CompositionError("there is nothing to compare: give at least one composition")
    return found


def _run(run: Run, data: Dataset, strategy: str, options: dict[str, Any]) -> Run:
    try:
        result = solve(run.composition, data, run.solver, strategy, **options)
    except MlmioError as error:
        return replace(run, status="refused", error=str(error))
    except FAILURES as error:
        return replace(run, status="error", error=describe_failure(error))
    return replace(run, status=result.status, result=result, error=result.message)


def describe_failure(error: BaseException) -> str:
    """Say in one line what was raised that nobody foresaw, and where."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    what = " ".join(str(error).split())
    return f"{type(error).__name__}: {what} ({Path(where.filename).name}, line {where.lineno})"


@dataclass(frozen=True, eq=False)
class Comparison:
    """Runs, and what the lattice says of them.

    Parameters
    ----------
    data_name : str
        Name of the data set.
    rows : tuple of Run
        One for every formulation and solver, in the order of running.
    verdicts : tuple of Verdict
        Breaches first.
    rel_gap : float
        Relative gap at which a solution counts as optimal.
    """

    data_name: str
    rows: tuple[Run, ...]
    verdicts: tuple[Verdict, ...]
    rel_gap: float = 1e-6

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it before its end."""
        return any(run.status == "not run" or run.interrupted for run in self.rows)

    @property
    def breaches(self) -> tuple[Verdict, ...]:
        """Verdicts that say that something is wrong."""
        return tuple(verdict for verdict in self.verdicts if verdict.kind == "breach")

    @property
    def best(self) -> Run | None:
        """The run with the largest verified objective, the fastest of equals.

        None where nothing is verified, or where the lattice does not relate the formulations:
        the objectives of different neighbours or losses are not of one kind.
        """
        verified = [f for f in findings(self.rows, self.rel_gap) if math.isfinite(f.lower)]
        if not verified or not related(verified):
            return None
        best = max(verified, key=lambda f: (round(f.lower, 9), -f.result.seconds))
        return next(run for run in self.rows if run.result is best.result)

    @cached_property
    def common(self) -> Composition:
        """Blocks that all formulations have."""
        return common_blocks([run.composition for run in self.rows])

    @cached_property
    def root_gaps_closed(self) -> list[float | None]:
        """Percentage of the root gap that each run's LP bound closes.

        Measured from the weakest LP bound of the equivalent formulations to their best verified
        objective; None where there is but one formulation, or something is missing.
        """
        closed: dict[Claim, float] = {}
        for group in equivalent(findings(self.rows, self.rel_gap)):
            closed |= root_gap_closed(group)
        return [None if run.result is None else closed.get(run.result) for run in self.rows]

    @property
    def notes(self) -> list[str]:
        """What the rows cannot say: why a run has no result, and remarks on solutions."""
        failed: dict[tuple[str, str], list[str]] = {}
        for run in self.rows:
            if run.error and run.status not in ("optimal", "feasible", "unverified"):
                failed.setdefault((run.status, run.error), []).append(run.name)
        reasons = [
            f"{status}: {names[0] if len(names) == 1 else f'{len(names)} runs'}: {error}"
            for (status, error), names in failed.items()
        ]
        left = sum(run.status == "not run" for run in self.rows)
        stopped = [f"interrupted: {left} of {len(self.rows)} runs were not made"] if left else []
        remarks = [
            f"note: {run.name}: {remark}"
            for run in self.rows
            if run.result is not None and run.result.certificate is not None
            for remark in run.result.certificate.remarks
        ]
        return [*stopped, *reasons, *remarks]

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary a run, of plain numbers and strings."""
        return [
            {**run.to_dict(), "root_gap_closed": closed}
            for run, closed in zip(self.rows, self.root_gaps_closed, strict=True)
        ]

    def to_frame(self) -> pd.DataFrame:
        """One row a run, every number in full precision."""
        import pandas as pd

        frame = pd.DataFrame(self.to_dicts())
        # Counts stay whole numbers where some are missing.
        counts = [name for name in COUNTS if name in frame]
        return frame.astype(dict.fromkeys(counts, "Int64"))

    def to_csv(self, path: str | Path) -> None:
        """Write one line a run.

        Raises
        ------
        MlmioError
            If the file cannot be written.
        """
        write_text(path, self.to_frame().to_csv(index=False))

    def to_json(self, path: str | Path | None = None) -> str:
        """Write everything: the runs with their metrics and outliers, and the verdicts.

        Parameters
        ----------
        path : str or Path, optional
            File to write as well.

        Returns
        -------
        str
            The JSON text.

        Raises
        ------
        MlmioError
            If the file cannot be written.
        """
        content = {
            "format": "mlmio.comparison",
            "version": 1,
            "data": self.data_name,
            "interrupted": self.interrupted,
            "runs": [
                {**_finite(record), **_solution(run.result)}
                for run, record in zip(self.rows, self.to_dicts(), strict=True)
            ],
            "verdicts": [{"kind": v.kind, "text": v.text} for v in self.verdicts],
        }
        # Identifiers of points may be of any type.
        text = json.dumps(content, indent=1, default=str, allow_nan=False, ensure_ascii=False)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def __str__(self) -> str:
        return plain(self)

    __repr__ = __str__

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield from render(self, options.max_width)

    def _repr_html_(self) -> str:
        return render_html(self)


def _finite(record: dict[str, Any]) -> dict[str, Any]:
    """JSON has no infinities."""
    return {
        key: None if isinstance(value, float) and not math.isfinite(value) else value
        for key, value in record.items()
    }


def _solution(result: Result | None) -> dict[str, Any]:
    if result is None or result.metric is None:
        return {"metric": None}
    return {
        "metric": json.loads(result.metric.to_json()),
        "outliers": result.outliers.tolist(),
    }
