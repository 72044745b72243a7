"""``mlmio bench diff``: two runs case by case, with a band of noise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlmio.bench.evidence import Evidence, read_run
from mlmio.bench.findings import FAILED, find
from mlmio.bench.statistics import shifted_geometric_mean
from mlmio.errors import MlmioError
from mlmio.tables import Column, counted, table
from mlmio.verification import tolerance_of

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, RenderableType

Name = tuple[str, str, str]

#: Within these a time is noise: as a share of the smaller time, and in seconds. A choice: caches,
#: clock rates and other work of the system move short solves by tenths of a second.
NOISE, LEAST_S = 0.3, 0.5
# Width to which names may be wrapped.
LEAST = 20

WHAT = ("instance", "contestant", "setting")
# A smaller rank is worse; within one an incumbent decides.
_RANKS = {"solved": 4, "solution": 3, "none": 2, "refused": 1, "wrong": 0}


@dataclass(frozen=True)
class Side:
    """A case in one of the runs, over its repetitions.

    Parameters
    ----------
    rank : {"solved", "solution", "none", "refused", "wrong"}
        Proven; with a verified incumbent; without one; not run; failed, unverified or contradicted.
    status : str
        The worst status of the repetitions.
    seconds : float
        Median over the solved repetitions.
    spread : float
        From the fastest of them to the slowest.
    objective : float
        Best verified objective; NaN where there is none.
    contended : bool
        Whether any repetition was.
    repetitions : int
        How many there are.
    """

    rank: str
    status: str
    seconds: float
    spread: float
    objective: float
    contended: bool
    repetitions: int


@dataclass(frozen=True)
class Change:
    """What is different in a case.

    Parameters
    ----------
    instance, contestant : str
        The case; the limits are part of the contestant where there are several.
    what : str
        In words.
    numbers : str
        Before and after.
    worse : bool
        Whether it counts as a regression.
    """

    instance: str
    contestant: str
    what: str
    numbers: str
    worse: bool


@dataclass(frozen=True)
class Difference:
    """Two runs, case by case.

    Parameters
    ----------
    changes : tuple of Change
        Regressions first.
    compared : int
        Cases in both.
    new : tuple of str
        Cases in the second alone.
    ratio : float
        Geometric mean of the times of the second over those of the first, where both solve
        without contention; NaN where there are none.
    solved_by_both : int
        How many these are.
    notes : tuple of str
        What makes the comparison less sure.
    noise : float
        Relative band within which times are the same.
    """

    changes: tuple[Change, ...]
    compared: int
    new: tuple[str, ...]
    ratio: float
    solved_by_both: int
    notes: tuple[str, ...]
    noise: float

    @property
    def regressions(self) -> int:
        """How many changes count as regressions."""
        return sum(change.worse for change in self.changes)

    @property
    def summary(self) -> str:
        """All in one line."""
        parts = [
            f"{counted(self.compared, 'case')} compared",
            counted(self.regressions, "regression"),
            counted(len(self.changes) - self.regressions, "other change"),
        ]
        if self.solved_by_both:
            over = f"geometric mean over {self.solved_by_both} solved by both, uncontended"
            parts.append(f"time × {self.ratio:.3g} ({over})")
        return "; ".join(parts)

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        from rich.text import Text

        if self.changes:
            yield table(_columns(self.changes), options.max_width)
            yield ""
        yield from (Text(f"only in the second: {case}") for case in self.new)
        yield from (Text(f"note: {note}") for note in self.notes)
        yield Text(
            f"times within a factor of {1.0 + self.noise:g}, within {LEAST_S:g} s, or within the "
            f"spread of repetitions count as the same"
        )
        yield Text(self.summary)


def difference(first: str | Path, second: str | Path, noise: float = NOISE) -> Difference:
    """Compare two runs case by case.

    Cases are matched by what was asked: points, formulation, solver, strategy, threads, seed and
    limits, whatever the versions. A time is different if it differs by more than the noise: the
    share `noise` of the smaller, 0.5 s, and the spread over repetitions in either. A case of the
    first run that the second does not have is a regression, and so is each damaged file of the
    second.

    Parameters
    ----------
    first, second : str or Path
        Folders that ``mlmio bench run`` wrote.
    noise : float
        Relative band; 0.3 is for a factor of 1.3 either way.

    Raises
    ------
    MlmioError
        If a folder holds no run, the band is no number from zero on, or no case is in both.
    """
    if not (math.isfinite(noise) and noise >= 0.0):
        raise MlmioError(f"the noise is {noise:g}: give a share from 0 on, as 0.3 for 30%")
    runs = [_read(Path(folder).expanduser()) for folder in (first, second)]
    before, after = (_sides(run.cases) for run in runs)
    both = [name for name in before if name in after]
    if not both:
        raise MlmioError(
            f"{first} and {second} have no case in common: there is nothing to compare"
        )
    changes = [
        Change(*_names(name, (before, after)), what, numbers, worse)
        for name in both
        for what, numbers, worse in _changes(before[name], after[name], noise)
    ]
    changes += [
        Change(*_names(name, (before, after)), "lost", f"{before[name].status} → no record", True)
        for name in before
        if name not in after
    ]
    changes += [Change(said, "", "damaged file", "", True) for said in runs[1].damaged]
    changes.sort(key=lambda change: not change.worse)
    ratios = [
        after[name].seconds / before[name].seconds
        for name in both
        if _timed(before[name]) and _timed(after[name])
    ]
    return Difference(
        tuple(changes),
        len(both),
        tuple(" · ".join(_names(name, (before, after))) for name in after if name not in before),
        shifted_geometric_mean(ratios, 0.0),
        len(ratios),
        tuple(_notes(runs)),
        noise,
    )


def _read(folder: Path) -> Evidence:
    """Read a run, in which what others contradict does not count as solved."""
    evidence = read_run(folder)
    return evidence.without(find(evidence).contradicted)


def _sides(cases: pd.DataFrame) -> dict[Name, Side]:
    """For every case that was asked what came of it."""
    asked = cases.groupby(list(WHAT), sort=True)
    return {name: _side(part) for name, part in asked}


def _side(cases: pd.DataFrame) -> Side:
    ranks = [_rank(case) for case in cases.itertuples()]
    worst = min(range(len(ranks)), key=lambda n: _RANKS[ranks[n]])
    solved = cases[cases["solved"].astype(bool)]["seconds"].astype(float)
    verified = cases[cases["verified"].astype(bool)]["objective"].astype(float)
    return Side(
        ranks[worst],
        str(cases["status"].iloc[worst]),
        float(solved.median()),
        float(solved.max() - solved.min()) if len(solved) else 0.0,
        float(verified.max()),
        bool(cases["contended"].any()),
        len(cases),
    )


def _rank(case: Any) -> str:
    if case.solved:
        return "solved"
    if case.contradicted or case.status == "unverified" or case.status in FAILED:
        return "wrong"
    if case.status == "refused":
        return "refused"
    return "solution" if case.verified else "none"


def _timed(side: Side) -> bool:
    return side.rank == "solved" and side.seconds > 0.0 and not side.contended


def _changes(before: Side, after: Side, noise: float) -> Iterator[tuple[str, str, bool]]:
    """What is different in words and in numbers, and whether it is worse."""
    statuses = f"{before.status} → {after.status}"
    if after.repetitions < before.repetitions:
        yield "lost repetitions", f"{before.repetitions} → {after.repetitions}", True
    if before.rank != after.rank:
        yield _of_rank(before, after), statuses, _RANKS[after.rank] < _RANKS[before.rank]
    elif before.rank == "solved" and before.status != after.status:
        yield "another proof", statuses, True
    elif before.rank == "solved":
        yield from _slower(before, after, noise)
    elif before.status != after.status:
        yield "ends differently", statuses, False
    yield from _objective(before, after, noise)


def _of_rank(before: Side, after: Side) -> str:
    if after.rank in ("refused", "wrong"):
        return f"newly {after.status}"
    if after.rank == "solved":
        return "newly solved"
    if before.rank == "solved":
        return "no longer solved"
    if before.rank in ("refused", "wrong"):
        return f"no longer {before.status}"
    return "newly with a solution" if after.rank == "solution" else "no longer with a solution"


def _slower(before: Side, after: Side, noise: float) -> Iterator[tuple[str, str, bool]]:
    a, b = before.seconds, after.seconds
    if abs(b - a) <= max(noise * min(a, b), LEAST_S, before.spread, after.spread):
        return
    # A contended time is no evidence.
    contended = before.contended or after.contended
    said = ("slower" if b > a else "faster") + (" (contended)" if contended else "")
    ratio = f" (× {b / a:.2f})" if a > 0.0 else ""
    yield said, f"{a:.2f} → {b:.2f} s{ratio}", b > a and not contended


def _objective(before: Side, after: Side, noise: float) -> Iterator[tuple[str, str, bool]]:
    """Two optima that differ are a contradiction; incumbents may differ within the noise."""
    a, b = before.objective, after.objective
    if math.isnan(a) or math.isnan(b):
        return
    numbers = f"{a:.6f} → {b:.6f}"
    if before.rank == after.rank == "solved":
        if abs(a - b) > 2.0 * tolerance_of(a):
            yield "another optimum", numbers, True
    elif abs(a - b) > max(noise * abs(a), tolerance_of(a)):
        yield ("worse" if b < a else "better") + " incumbent", numbers, b < a


def _names(name: Name, sides: Iterable[Mapping[Name, Side]]) -> tuple[str, str]:
    """Instance and contestant, with the limits where there are several."""
    instance, contestant, setting = name
    several = len({other[2] for side in sides for other in side}) > 1
    return instance, f"{contestant}{f' · {setting}' if several else ''}"


def _notes(runs: list[Evidence]) -> Iterator[str]:
    yield from (f"left out of the first: {said}" for said in runs[0].damaged)
    for name, run in zip(("first", "second"), runs, strict=True):
        if run.missing:
            yield f"the {name} run is not finished: {counted(run.missing, 'case')} to go"
    processors = [{str(machine.get("processor")) for machine in run.machines} for run in runs]
    if processors[0] != processors[1]:
        told = " and ".join(", ".join(sorted(names)) or "none" for names in processors)
        yield f"the times are of different machines: {told}"


def _columns(changes: tuple[Change, ...]) -> list[Column]:
    return [
        Column("", tuple("worse" if change.worse else "" for change in changes), left=True),
        Column("what", tuple(change.what for change in changes), left=True),
        Column("change", tuple(change.numbers for change in changes), left=True),
        Column("instance", tuple(change.instance for change in changes), left=True, least=LEAST),
        Column("contestant", tuple(c.contestant for c in changes), left=True, least=LEAST),
    ]
