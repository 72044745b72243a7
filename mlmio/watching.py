"""One live line of a long solve: incumbent, bound, gap, nodes, rows, time."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from math import isfinite
from pathlib import Path
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from mlmio.solvers.base import relative_gap
from mlmio.tables import number, relative

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
        self._latest: Progress | None = None

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
            line = f"{text} · {perf_counter() - self._began:.1f} s"
            self._stream.write(f"{line:<100}\r" if self._live else f"{line}\n")
            self._stream.flush()

    def progress(self, progress: Progress) -> None:
        """Note where a search stands."""
        self._latest = progress
        self.beat()

    def beat(self) -> None:
        """Write where the search stands, if some time has passed since that was written."""
        now = perf_counter()
        if self._stream is None or now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        self.say("alternating from several starts" if self._latest is None else told(self._latest))


def told(progress: Progress) -> str:
    """Say where a search stands."""
    incumbent, bound = (
        value if isfinite(value) else None for value in (progress.incumbent, progress.bound)
    )
    return (
        f"incumbent {number(incumbent)} · bound {number(bound)} · "
        f"gap {relative(relative_gap(bound, incumbent))} · "
        f"nodes {progress.nodes} ({progress.open} open) · rows {progress.rows}"
    )
