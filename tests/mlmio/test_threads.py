"""The libraries have as many threads as they are given, and what they had before afterwards."""

from __future__ import annotations

import numba
import numpy as np
from threadpoolctl import threadpool_info

from mlmio.threads import threads_at_most


def blas_threads() -> set[int]:
    np.eye(2) @ np.eye(2)
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_threads_are_limited_meanwhile() -> None:
    before = numba.get_num_threads(), blas_threads()
    with threads_at_most(1, blas=1):
        assert numba.get_num_threads() == 1
        assert blas_threads() == {1}
    assert (numba.get_num_threads(), blas_threads()) == before


def test_more_threads_than_there_are_is_no_error() -> None:
    with threads_at_most(10_000, blas=10_000):
        assert numba.get_num_threads() == numba.config.NUMBA_NUM_THREADS
