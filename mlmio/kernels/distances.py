"""Distances of one point to all others, and what is nearest and farthest among them.

Points are kept as columns, so that the inner loops run over the other points. A row of distances
is never kept longer than it is looked at: memory grows with N, not with N².
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from mlmio.kernels.simplex import compiled

Array = NDArray[np.float64]

ROWS_A_TASK = 64

parallel = numba.njit(
    cache=True, nogil=True, parallel=True, fastmath={"reassoc", "contract", "nsz"}
)


class Form(NamedTuple):
    """A metric laid out for the inner loop.

    Parameters
    ----------
    X : (D, N) array
        Points.
    a : (D,) array
        Weights of |δ_p|.
    Y : (R, N) array
        Coordinates in which the quadratic term is Σ ± (difference)².
    sign : (R,) array
        The signs, of B's eigenvalues.
    sets : (M, n) array of int
        Multisets of the higher orders, filled up with −1.
    weight : (M,) array
        Their coefficients.
    """

    X: Array
    a: Array
    Y: Array
    sign: Array
    sets: NDArray[np.int64]
    weight: Array


class Classes(NamedTuple):
    """Who is of which class.

    Parameters
    ----------
    y : (N,) array of int
        Class of each point.
    apart : (C, C) array of bool
        Which classes differ.
    twin : (N,) array of int
        Points with the same number ≥ 0 coincide and need not be apart.
    """

    y: NDArray[np.int64]
    apart: NDArray[np.bool_]
    twin: NDArray[np.int64]


@compiled
def distance_row(form, i, d):
    """Write the distances of point i to all points into `d`."""
    D, N = form.X.shape
    for j in range(N):
        d[j] = 0.0
    for p in range(D):
        weight, x = form.a[p], form.X[p, i]
        if weight != 0.0:
            for j in range(N):
                d[j] += weight * abs(x - form.X[p, j])
    for r in range(len(form.sign)):
        sign, value = form.sign[r], form.Y[r, i]
        for j in range(N):
            difference = value - form.Y[r, j]
            d[j] += sign * difference * difference
    for m in range(len(form.weight)):
        for j in range(N):
            product = form.weight[m]
            for p in form.sets[m]:
                if p >= 0:
                    product *= abs(form.X[p, i] - form.X[p, j])
            d[j] += product


@compiled
def _insert(index, value, j, d):
    """Insert (j, d) into the sorted nearest; it is nearer than the last."""
    last = len(value) - 1
    while last > 0 and value[last - 1] > d:
        value[last] = value[last - 1]
        index[last] = index[last - 1]
        last -= 1
    value[last] = d
    index[last] = j


@contextmanager
def threads_for(N: int) -> Iterator[None]:
    """Use no more threads than `N` points make tasks: a thread that is idle is waited for too."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(before, max(1, -(-N // ROWS_A_TASK))))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@parallel
def nearest(form, classes, serving, fencing, served_by, served_at, fenced_by, fenced_at):
    """For every point, the nearest points of its class and of others.

    Parameters
    ----------
    form, classes
        Metric and classes.
    serving, fencing : (N,) arrays of bool
        Who counts among the points of the same class, and among those of others.
    served_by, fenced_by : (N, k) and (N, q) arrays of int, filled
        The points, nearest first, −1 where there are no more.
    served_at, fenced_at : (N, k) and (N, q) arrays, filled
        Their distances, infinite where there are no more.
    """
    N = form.X.shape[1]
    for task in numba.prange((N + ROWS_A_TASK - 1) // ROWS_A_TASK):
        d = np.empty(N)
        for i in range(task * ROWS_A_TASK, min(N, (task + 1) * ROWS_A_TASK)):
            distance_row(form, i, d)
            served_by[i] = -1
            fenced_by[i] = -1
            served_at[i] = np.inf
            fenced_at[i] = np.inf
            own, farthest_served, farthest_fence = classes.y[i], np.inf, np.inf
            for j in range(N):
                other = classes.y[j]
                if other == own:
                    if d[j] < farthest_served and j != i and serving[j]:
                        _insert(served_by[i], served_at[i], j, d[j])
                        farthest_served = served_at[i, -1]
                elif d[j] < farthest_fence and fencing[j] and classes.apart[own, other]:
                    _insert(fenced_by[i], fenced_at[i], j, d[j])
                    farthest_fence = fenced_at[i, -1]


@parallel
def extremes(form, classes, index, value):
    """For every point, its farthest point, and the nearest of its class and of other classes.

    Pairs that need not be apart do not count.

    Parameters
    ----------
    form, classes
        Metric and classes.
    index : (3, N) array of int, filled
        The points: farthest, nearest not apart, nearest apart; −1 where there is none.
    value : (3, N) array, filled
        Their distances, ∓ infinite where there is none.
    """
    N = form.X.shape[1]
    for task in numba.prange((N + ROWS_A_TASK - 1) // ROWS_A_TASK):
        d = np.empty(N)
        for i in range(task * ROWS_A_TASK, min(N, (task + 1) * ROWS_A_TASK)):
            distance_row(form, i, d)
            own = classes.y[i]
            far, near, across = -np.inf, np.inf, np.inf
            far_by, near_by, across_by = -1, -1, -1
            for j in range(N):
                if d[j] > far and j != i:
                    far, far_by = d[j], j
                if d[j] < across:
                    if classes.apart[own, classes.y[j]]:
                        if classes.twin[i] < 0 or classes.twin[i] != classes.twin[j]:
                            across, across_by = d[j], j
                    elif d[j] < near and j != i:
                        near, near_by = d[j], j
                elif d[j] < near and j != i and not classes.apart[own, classes.y[j]]:
                    near, near_by = d[j], j
            index[0, i], index[1, i], index[2, i] = far_by, near_by, across_by
            value[0, i], value[1, i], value[2, i] = far, near, across
