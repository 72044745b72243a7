"""How many threads the libraries may use that have pools of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits


@contextmanager
def threads_at_most(compiled: int, blas: int) -> Iterator[None]:
    """Let parallel compiled loops, and linear algebra, have at most so many threads meanwhile.

    For linear algebra that holds in the whole process, whoever asks for it.
    """
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(min(compiled, numba.config.NUMBA_NUM_THREADS))
    try:
        with threadpool_limits(blas, user_api="blas"):
            yield
    finally:
        numba.set_num_threads(before)
