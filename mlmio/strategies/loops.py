"""The compiled loops of the strategies, loaded before anything is timed."""

from __future__ import annotations

import sys
from functools import cache
from threading import Thread
from time import perf_counter

import numpy as np

from mlmio.solvers.base import Options

# Loading takes a second or two; of what takes longer a line on stderr tells.
TELL_AFTER = 5.0


def load_loops() -> float:
    """Compile the inner loops, or load them from the cache; returns the seconds that it took.

    About a minute when mlmio is used for the first time, which is nobody's solve time.

    Raises
    ------
    KeyboardInterrupt
        At a Ctrl-C; what is being compiled goes on, for the next time.
    """
    start = perf_counter()
    # A Ctrl-C that reaches the compiler is lost there; and a process may end while it is at work.
    loading = Thread(target=_loaded, daemon=True)
    loading.start()
    loading.join(TELL_AFTER)
    if loading.is_alive():
        # Where a line is being written over and over, it is wiped out first.
        wipe = "\r\x1b[K" if sys.stderr.isatty() else ""
        told = "compiling the inner loops, once for an installation; it takes a minute or two"
        print(f"{wipe}mlmio: {told}", file=sys.stderr, flush=True)
        loading.join()
    return perf_counter() - start


@cache
def _loaded() -> None:
    """Run every compiled loop once, on six points."""
    from mlmio.composition import compose
    from mlmio.data import Dataset
    from mlmio.kernels.programs import new_counts, new_work
    from mlmio.outline import outline
    from mlmio.parametric import parametric, root_of
    from mlmio.shares import Shares
    from mlmio.strategies.disjunctive import search_outline

    data = Dataset([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]], [0, 0, 0, 1, 1, 1])
    tiny = outline(compose("linear + nearest(k=1) + outliers(keep=2) + bounded(dmin=0.1)"), data)
    search_outline(tiny, Options(time_limit=1e9), perf_counter())
    # These are for more points.
    problem, counts = parametric(tiny), new_counts()
    _, root = root_of(problem, new_work(problem.instance), counts)
    shares = Shares(problem, root, np.zeros(1, dtype=np.bool_))
    shares.begin(0.0, 1.0, 0, 0)
    shares.bound(np.zeros((0, data.N), dtype=np.bool_), -np.inf, counts, [])
