"""Halting compiled loops, which nothing interrupts, from the thread that waits for them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Seconds between two looks at whether to stop.
PATIENCE = 0.05


def halt_at(
    stop: Callable[[], bool], futures: Sequence[Future[Any]], halt: NDArray[np.bool_]
) -> None:
    """Wait for what other threads work at, and set `halt` once `stop` says so.

    Their compiled loops read that now and then.
    """
    while wait(futures, PATIENCE).not_done:
        if stop():
            halt[0] = True
