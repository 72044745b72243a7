"""Distances of one point to others, and what is nearest and farthest among them.

Points are kept as columns, sorted by class, so that the inner loops run over other points that are
all of one class. Their distances are never kept longer than they are looked at: memory grows with
N, not with N².
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

from mlmio.kernels.compiling import compiled

Array = NDArray[np.float64]

ROWS_A_TASK = 64
# With fewer points a look at all pairs takes some milliseconds, as long as another thread may.
POINTS_A_THREAD = 1000
# Distances at once: they and the coordinates that they come from stay in the cache.
TILE = 1024

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
        Class of each point, in rising order.
    first : (C + 1,) array of int
        The first point of each class, and N.
    apart : (C, C) array of bool
        Which classes differ.
    twin : (N,) array of int
        Points with the same number ≥ 0 coincide and need not be apart.
    """

    y: NDArray[np.int64]
    first: NDArray[np.int64]
    apart: NDArray[np.bool_]
    twin: NDArray[np.int64]


@compiled
def distance_tile(form, i, first, d):
    """Write into `d` the distances of point i to as many points, from `first` on."""
    last = first + len(d)
    for t in range(len(d)):
        d[t] = 0.0
    for p in range(len(form.X)):
        weight, x, others = form.a[p], form.X[p, i], form.X[p, first:last]
        if weight != 0.0:
            for t in range(len(d)):
                d[t] += weight * abs(x - others[t])
    for r in range(len(form.sign)):
        sign, value, others = form.sign[r], form.Y[r, i], form.Y[r, first:last]
        for t in range(len(d)):
            difference = value - others[t]
            d[t] += sign * difference * difference
    for m in range(len(form.weight)):
        for t in range(len(d)):
            product = form.weight[m]
            for p in form.sets[m]:
                if p >= 0:
                    product *= abs(form.X[p, i] - form.X[p, first + t])
            d[t] += product


@compiled
def _beyond(d, least, most):
    """Whether a distance is below the least or above the most: without branches, to be fast."""
    count = 0
    for t in range(len(d)):
        count += (d[t] < least) | (d[t] > most)
    return count > 0


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
    """Use no more threads than `N` points are worth: each is started, and waited for."""
    before = numba.get_num_threads()
    numba.set_num_threads(min(before, max(1, -(-N // POINTS_A_THREAD))))
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
        memory = np.empty(TILE)
        points = range(task * ROWS_A_TASK, min(N, (task + 1) * ROWS_A_TASK))
        for i in points:
            served_by[i] = -1
            fenced_by[i] = -1
            served_at[i] = np.inf
            fenced_at[i] = np.inf
        for other in range(len(classes.apart)):
            for first in range(classes.first[other], classes.first[other + 1], TILE):
                d = memory[: min(TILE, classes.first[other + 1] - first)]
                for i in points:
                    if classes.y[i] == other:
                        distance_tile(form, i, first, d)
                        _keep_nearest(i, first, d, serving, served_by[i], served_at[i])
                    elif classes.apart[classes.y[i], other]:
                        distance_tile(form, i, first, d)
                        _keep_nearest(i, first, d, fencing, fenced_by[i], fenced_at[i])


@compiled
def _keep_nearest(i, first, d, counting, index, value):
    """Insert those of a tile that count and are nearer than the last; i itself does not."""
    last = len(value) - 1
    if not _beyond(d, value[last], np.inf):
        return
    for t in range(len(d)):
        if d[t] < value[last] and counting[first + t] and first + t != i:
            _insert(index, value, first + t, d[t])


@parallel
def violations(form, classes, dmin, dmax, index, value):
    """For every point, the later points that break the bounds of the distance most.

    Later ones only, so that every pair is looked at once. Pairs that need not be apart do not
    count.

    Parameters
    ----------
    form, classes
        Metric and classes.
    dmin, dmax : float
        Least distance of points that are apart, and greatest of any.
    index : (3, N) array of int, filled
        The points: farthest beyond d_max, nearest below zero of those not apart, nearest below
        d_min of those apart; −1 where there is none.
    value : (3, N) array, filled
        Their distances, the bounds where there is none.
    """
    N = form.X.shape[1]
    tasks = (N + ROWS_A_TASK - 1) // ROWS_A_TASK
    for task in numba.prange(tasks):
        memory = np.empty(TILE)
        # The first points have most work: the last ones are done between them.
        place = tasks - 1 - task // 2 if task % 2 else task // 2
        points = range(place * ROWS_A_TASK, min(N, (place + 1) * ROWS_A_TASK))
        for i in points:
            index[:, i] = -1
            value[0, i], value[1, i], value[2, i] = dmax, 0.0, dmin
        for other in range(len(classes.apart)):
            for start in range(classes.first[other], classes.first[other + 1], TILE):
                stop = min(start + TILE, classes.first[other + 1])
                for i in points:
                    first = max(start, i + 1)
                    if first < stop:
                        d = memory[: stop - first]
                        distance_tile(form, i, first, d)
                        _keep_worst(classes, i, first, d, index[:, i], value[:, i])


@compiled
def _keep_worst(classes, i, first, d, index, value):
    """Keep what breaks the bounds more than what is kept; all of a tile are of one class."""
    apart = classes.apart[classes.y[i], classes.y[first]]
    kind = 2 if apart else 1
    if not _beyond(d, value[kind], value[0]):
        return
    for t in range(len(d)):
        if d[t] > value[0]:
            value[0], index[0] = d[t], first + t
        twins = apart and classes.twin[i] >= 0 and classes.twin[i] == classes.twin[first + t]
        if d[t] < value[kind] and not twins:
            value[kind], index[kind] = d[t], first + t
