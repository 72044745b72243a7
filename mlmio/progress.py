"""The progress of a command, on a terminal and elsewhere."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from mlmio.tables import console, number

if TYPE_CHECKING:
    from rich.live import Live
    from rich.spinner import Spinner

    from mlmio.comparison import Run


class ProgressLine:
    """A line on stderr for each run: live with its seconds on a terminal, then what came of it.

    To be used as a context, and given as ``progress`` to :func:`mlmio.compare`, or to :meth:`start`
    for what has no runs.
    """

    def __init__(self) -> None:
        self._open = ExitStack()
        stream: TextIO = sys.stderr
        if stream.isatty():
            # While a solver runs Pyomo takes the descriptors of stdout and stderr for itself.
            own = os.fdopen(os.dup(stream.fileno()), "w", encoding=stream.encoding)
            stream = self._open.enter_context(own)
        self.console = console(stream)
        self._live: Live | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop()
        self._open.close()

    def __call__(self, position: int, total: int, run: Run) -> None:
        """Show that a run has begun, or what came of it."""
        from rich.text import Text

        title = f"{position}/{total} {run.name}"
        if run.status == "running":
            self.start(title)
            return
        self._stop()
        outcome = Text(f"{title} · {_outcome(run)}", style="" if run.verified else "yellow")
        self.console.print(outcome, soft_wrap=True)

    def start(self, title: str) -> None:
        """Show on a terminal for how many seconds something is being done."""
        if not self.console.is_terminal:
            return
        from rich.live import Live
        from rich.spinner import Spinner
        from rich.text import Text

        began = perf_counter()
        spinner = Spinner("dots")

        def line() -> Spinner:
            seconds = f" · {perf_counter() - began:.1f} s"
            # One line only, for a longer one could not be wiped out again.
            shown = Text(title)
            shown.truncate(max(1, self.console.width - len(seconds) - 3), overflow="ellipsis")
            spinner.update(text=shown.append(seconds))
            return spinner

        self._live = Live(
            get_renderable=line,
            console=self.console,
            refresh_per_second=8,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def _stop(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


def _outcome(run: Run) -> str:
    """What came of a run, in a few words."""
    result = run.result
    if result is None:
        return run.status
    value = "" if result.objective is None else f" {number(result.objective)}"
    return f"{run.status}{value} · {result.build_s + result.lp_s + result.solve_s:.1f} s"
