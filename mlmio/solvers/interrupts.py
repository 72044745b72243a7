"""Ctrl-C during a solve: noted, so that the solver can stop with its incumbent."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def noting_interrupts() -> Iterator[Callable[[], bool]]:
    """Note Ctrl-C instead of raising KeyboardInterrupt.

    Signals reach the main thread only; elsewhere nothing changes.

    Yields
    ------
    callable () -> bool
        Whether there was one.
    """
    seen: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return

    def note(number: int, _: Any) -> None:
        seen.append(number)

    previous = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(seen)
    finally:
        signal.signal(signal.SIGINT, previous or signal.default_int_handler)
