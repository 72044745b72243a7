"""One live line of a long solve: incumbent, bound, gap, nodes, rows, time."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from mlmio.tables import number

if TYPE_CHECKING:
    from mlmio.anytime import Progress

SECONDS_BETWEEN_LINES = 0.5


class Watch:
    """Writes where a solve stands, to stderr or to a file, or nowhere.

    On a terminal one line is written over and over; elsewhere each is a line of its own.

    Parameters
    ----------
    log : str, Path or bool
        File, True for stderr, or False for nowhere.
    """

    def __init__(self, log: str | Path | bool) -> None:
        self._open = ExitStack()
        self._stream: TextIO | None = None
        if log is True:
            self._stream = sys.stderr
        elif log is not False:
            file = Path(log).open("w", encoding="utf-8")  # noqa: SIM115, closed by the stack
            self._stream = self._open.enter_context(file)
        self._live = self._stream is not None and self._stream.isatty()
        self._began = self._last = perf_counter()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live and self._stream is not None:
            self._stream.write("\n")
        self._open.close()

    def say(self, text: str) -> None:
        """Write a line at once."""
        if self._stream is not None:
            end = "\r" if self._live else "\n"
            seconds = perf_counter() - self._began
            self._stream.write(f"{f'{text} · {seconds:.1f} s':<100}{end}")
            self._stream.flush()

    def progress(self, progress: Progress) -> None:
        """Write where a search stands, now and then."""
        now = perf_counter()
        if self._stream is None or now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        gap = progress.bound - progress.incumbent
        relative = gap / abs(progress.incumbent) if progress.incumbent else float("inf")
        self.say(
            f"incumbent {number(progress.incumbent)} · bound {number(progress.bound)} · "
            f"gap {relative:.2%} · nodes {progress.nodes} ({progress.open} open) · "
            f"programs {progress.programs}"
        )
