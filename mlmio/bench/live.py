"""How a run gets on: a live table on a terminal, and a line for each case elsewhere."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

from mlmio.bench.cases import Case
from mlmio.bench.records import OUTCOMES, Record
from mlmio.tables import Column, console, table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.live import Live

REFRESH_PER_SECOND = 4
# Running cases that are shown.
MOST_SHOWN = 16
STARTING = "starting; after an installation the inner loops are compiled, which takes a minute"


class LiveTable:
    """Counts by outcome, the cases that run, and the time left; to be used as a context.

    Parameters
    ----------
    total : int
        Cases of the run.
    before : iterable of str
        Outcomes of the cases that were done before.
    """

    def __init__(self, total: int, before: Iterable[str]) -> None:
        self.console = console(sys.stderr)
        self._total = total
        self._counts = Counter(before)
        self._before = self._counts.total()
        self._running: dict[str, tuple[Case, str, float]] = {}
        self._began = perf_counter()
        # When the first case began: what comes before it says nothing of the rest.
        self._first: float | None = None
        self._live: Live | None = None
        self._without_workers = False

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            from rich.live import Live

            self._live = Live(
                get_renderable=self.drawn,
                console=self.console,
                refresh_per_second=REFRESH_PER_SECOND,
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def started(self, case: Case, place: str) -> None:
        """Show that a case has begun."""
        self._without_workers = False
        self._first = self._first or perf_counter()
        self._running = {**self._running, case.key: (case, place, perf_counter())}

    def ended(self, case: Case, record: Record | None) -> None:
        """Show what came of a case."""
        self._running = {key: one for key, one in self._running.items() if key != case.key}
        if record is None:
            self._line(f"{case.name}: its worker is gone, it will be run again")
            return
        self._counts[record.outcome] += 1
        if self._live is None or record.outcome != "done":
            self._line(f"{self.done}/{self._total} {case.name} · {_told(record)}{self._left}")

    def waiting(self) -> None:
        """Show that there is no worker."""
        if not self._without_workers:
            self._line("waiting for workers to join the scheduler")
        self._without_workers = True

    @property
    def done(self) -> int:
        """Number of cases that are done."""
        return self._counts.total()

    @property
    def _left(self) -> str:
        """The time left, as the cases of this run took until now."""
        made = self.done - self._before
        if not made or self._first is None or self.done == self._total:
            return ""
        seconds = (perf_counter() - self._first) / made * (self._total - self.done)
        return f" · {duration(seconds)} left"

    def _line(self, text: str) -> None:
        from rich.text import Text

        self.console.print(Text(text), soft_wrap=True)

    def drawn(self) -> RenderableType:
        """Draw the live table."""
        from rich.console import Group
        from rich.text import Text

        counts = [f"{self._counts[name]} {name}" for name in OUTCOMES if self._counts[name]]
        passed = duration(perf_counter() - self._began)
        head = " · ".join([f"{self.done}/{self._total} cases", *counts, f"{passed} passed"])
        running = list(self._running.values())[:MOST_SHOWN]
        parts: list[RenderableType] = [Text(f"{head}{self._left}", style="bold")]
        if running:
            parts.append(self._drawn_running(running))
        elif self.done == self._before:
            parts.append(Text(STARTING))
        return Group(*parts)

    def _drawn_running(self, running: list[tuple[Case, str, float]]) -> RenderableType:
        now = perf_counter()
        names = tuple(case.name for case, _, _ in running)
        seconds = tuple(f"{now - began:.0f}" for _, _, began in running)
        limits = tuple(f"{case.asked['time_limit']:g}" for case, _, _ in running)
        columns = [
            Column("running", names, left=True, least=20),
            Column("s", seconds),
            Column("limit", limits),
            Column("where", tuple(place for _, place, _ in running), left=True, least=12),
        ]
        return table(columns, self.console.width)


def _told(record: Record) -> str:
    """What came of a case, in a few words."""
    if record.outcome != "done" or record.result is None:
        return f"{record.outcome}: {record.message}" if record.message else record.outcome
    objective = record.result["objective"]
    value = "" if objective is None else f" {objective:.6g}"
    return f"{record.result['status']}{value} · {record.wall_s:.1f} s"


def duration(seconds: float) -> str:
    """Say how long something takes, to two units.

    Examples
    --------
    >>> duration(7.2), duration(200), duration(8000)
    ('7 s', '3 min 20 s', '2 h 13 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
