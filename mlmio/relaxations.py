"""How strong relaxations are: bounds, what they take, and the share of the root gap they close."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlmio.comparison import Comparison, Progress, Run, Specification, compare, composed
from mlmio.composition import Composition
from mlmio.data import Dataset
from mlmio.finding import findings
from mlmio.relaxation_table import render
from mlmio.slots import SLOTS
from mlmio.solvers.base import Options
from mlmio.tables import plain
from mlmio.verdicts import judge
from mlmio.verification import tolerance_of
from mlmio.writing import write_text

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType

#: What is compared where nothing is asked for: encodings, and bounds that go with each.
ENCODINGS = ("bigm", "mccormick", "gdp(method='hull')")
CUTS = ("disjunction_bounds", "basic_steps(nodes=10)", "basic_steps")
FORMULATIONS = (
    *(f"linear + quadratic + nearest + {encoding}" for encoding in ENCODINGS),
    *(f"linear + quadratic + nearest + bigm + {cut}" for cut in CUTS),
)

DIRECT, EXACT = "direct", "auto"
SAME_OPTIMUM = {slot.name for slot in SLOTS.values() if slot.peers == "equivalent"}


@dataclass(frozen=True)
class Relaxation:
    """What was measured of one formulation.

    Parameters
    ----------
    run : Run
        Its LP relaxation, then the whole model.
    optimum : float or None
        z*, the best verified objective of the formulations with the same optimum.
    proven : bool
        Whether z* is known to be the optimum; where it is not, the true shares are larger.
    lp_closed, root_closed : float or None
        Percentage of the root gap z0 − z* that the LP bound closes, and the better of it and the
        bound after the solver's cuts at the root: 100 (z0 − z) / (z0 − z*), with z0 the weakest LP
        bound of the formulations with the same optimum. None where there is no such bound, or no
        gap.
    """

    run: Run
    optimum: float | None
    proven: bool
    lp_closed: float | None
    root_closed: float | None

    @property
    def core(self) -> Composition:
        """The formulation without what leaves its optimum alone."""
        return core(self.run.composition)


@dataclass(frozen=True, eq=False)
class Strength:
    """What was measured of several relaxations.

    Parameters
    ----------
    comparison : Comparison
        The runs, with the verdicts of the lattice.
    references : tuple of Run
        For each optimum, the solution that was found beforehand.
    """

    comparison: Comparison
    references: tuple[Run, ...]

    @cached_property
    def relaxations(self) -> tuple[Relaxation, ...]:
        """One for every formulation, in the order of running."""
        groups: dict[Composition, list[Run]] = {}
        for run in self.comparison.rows:
            groups.setdefault(core(run.composition), []).append(run)
        known = {reference.composition: reference for reference in self.references}
        measured = {
            id(run): relaxation
            for same, runs in groups.items()
            for run, relaxation in zip(runs, _measured(runs, known[same]), strict=True)
        }
        return tuple(measured[id(run)] for run in self.comparison.rows)

    def to_frame(self) -> pd.DataFrame:
        """One row a run, with what :class:`Relaxation` has."""
        import pandas as pd

        frame = self.comparison.to_frame().drop(columns="root_gap_closed")
        own = [field.name for field in fields(Relaxation) if field.name != "run"]
        more = {name: [getattr(each, name) for each in self.relaxations] for name in own}
        return frame.join(pd.DataFrame(more).convert_dtypes())

    def to_csv(self, path: str | Path) -> None:
        """Write one line a run.

        Raises
        ------
        MlmioError
            If the file cannot be written.
        """
        write_text(path, self.to_frame().to_csv(index=False))

    def __str__(self) -> str:
        return plain(self)

    __repr__ = __str__

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        yield from render(self, options.max_width)


def strength(
    compositions: Specification | Iterable[Specification],
    data: Dataset,
    solver: str = "highs",
    *,
    time_limit: float | None = 60.0,
    threads: int = 1,
    seed: int = 0,
    progress: Progress | None = None,
) -> Strength:
    """Measure how strong the relaxations of formulations are.

    For each optimum, which encodings and cuts leave alone, a solution is found beforehand by
    strategy ``auto``, and proven optimal if there is time. Every formulation is then solved by
    ``direct``, with that solution to start from: its time is that of the proof.

    Parameters
    ----------
    compositions : Composition, Block, str, or several of them
        What to measure.
    data : Dataset
        The points.
    solver : str
        Registered name, see ``mlmio solvers``.
    time_limit : float, optional
        Wall-clock seconds for each solve, that of the reference included.
    threads, seed
        See :class:`~mlmio.solvers.base.Options`.
    progress : callable (position, total, Run) -> None, optional
        As in :func:`mlmio.compare`.

    Returns
    -------
    Strength
        Of the runs until then, if Ctrl-C is pressed.

    Raises
    ------
    CompositionError, DataError, SolverError
        If the call itself is wrong.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.load_dataset("iris", per_class=4)
    >>> found = strength(["linear + nearest + bigm", "linear + nearest + mccormick"], data)
    >>> [each.proven for each in found.relaxations]
    [True, True]
    """
    options: dict[str, Any] = {"time_limit": time_limit, "threads": threads, "seed": seed}
    groups: dict[Composition, list[Composition]] = {}
    for composition in composed(compositions):
        groups.setdefault(core(composition), []).append(composition)
    known = compare(groups, data, solver, EXACT, **options, progress=progress)
    rows: list[Run] = []
    stopped = known.interrupted
    for reference in known.rows:
        own = groups[reference.composition]
        if stopped:
            rows += [Run(composition, solver) for composition in own]
            continue
        start = reference.result if reference.verified else None
        found = compare(own, data, solver, DIRECT, **options, start=start, progress=progress)
        rows += found.rows
        stopped = found.interrupted
    rel_gap = Options().rel_gap
    verdicts = judge(findings([*rows, *known.rows], rel_gap))
    return Strength(Comparison(data.name, tuple(rows), verdicts, rel_gap), known.rows)


def core(composition: Composition) -> Composition:
    """Return a formulation without the blocks that leave its optimum alone.

    Examples
    --------
    >>> import mlmio
    >>> print(core(mlmio.compose("quadratic + nearest + mccormick")))
    quadratic + nearest
    """
    return Composition(part for part in composition.blocks if part.slot not in SAME_OPTIMUM)


def _measured(runs: Sequence[Run], reference: Run) -> list[Relaxation]:
    """Measure the runs of one optimum against one another."""
    solved = [run for run in (*runs, reference) if run.verified]
    best = max(_numbers(solved, "objective"), default=None)
    weakest = max(_numbers(runs, "lp_bound"), default=None)
    proven = any(run.status == "optimal" for run in solved)

    def closed(bound: float | None) -> float | None:
        if best is None or weakest is None or bound is None:
            return None
        gap = weakest - best
        return None if gap <= tolerance_of(best) else 100 * (weakest - bound) / gap

    def measured(run: Run) -> Relaxation:
        lp, root = _finite(run, "lp_bound"), _finite(run, "root_bound")
        if lp is not None and root is not None:
            # What a solver tells of its root may be weaker than the LP, which came before.
            root = min(lp, root)
        return Relaxation(run, best, proven, closed(lp), closed(root))

    return [measured(run) for run in runs]


def _finite(run: Run, name: str) -> float | None:
    """Return a number of a run's result, if it is there and finite."""
    number = None if run.result is None else getattr(run.result, name)
    return number if number is not None and math.isfinite(number) else None


def _numbers(runs: Iterable[Run], name: str) -> list[float]:
    """Return a number of every result that has it."""
    return [number for run in runs if (number := _finite(run, name)) is not None]
