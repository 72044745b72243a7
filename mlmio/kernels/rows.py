"""The rows of a node of the search: named by numbers, made on demand, priced against the data.

A row is named by ``(kind·N + i)·N + k``, row r of the region, of which there may be more than
pairs, by ``FIRST_OF_REGION + r``, so that a node is a short list of numbers: its row is made anew
from the features of the pairs and from who serves i there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlmio.kernels.compiling import leaf

Array = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]

#: Kinds of rows: d_ik ≤ d_max, d_ik ≥ its least, a row of the region, λ ≤ d_ik, and from
#: SEPARATION on d_ij + λ ≤ d_ik for the first, second, … point j that serves i.
FAR, NEAR, REGION, BARE, SEPARATION = (np.int64(kind) for kind in range(5))

#: What is decided of a point: nothing, that it is kept, that it is given up, or that it is left
#: out of what is asked, kept or not: it needs no server and is in nobody's way, but may serve.
OPEN, KEPT, GIVEN_UP, LEFT_OUT = range(4)

# Violation of a row, in units of the distance, above which it is taken in.
VIOLATED = 1e-8
FIRST_OF_REGION = 2**40


class Table(NamedTuple):
    """The data of the rows.

    Parameters
    ----------
    features : (N, P, N) array
        φ_ik, each parameter in units of its own.
    least : (N, N) array
        Least distance of each pair.
    dmax : float
        Greatest distance.
    A, b : (m, R) and (R,) arrays
        Rows of the region, by columns.
    """

    features: Array
    least: Array
    dmax: float
    A: Array
    b: Array


class Classes(NamedTuple):
    """Who is of which class.

    Parameters
    ----------
    together, apart : (N, N) arrays of bool
        Which pairs are of one class, and which of classes that differ.
    y, sizes : (N,) and (C,) arrays of int
        Classes and their sizes.
    """

    together: Mask
    apart: Mask
    y: Integers
    sizes: Integers


class Columns(NamedTuple):
    """The columns: parameters, others of the region, and λ, the last.

    Parameters
    ----------
    cost, c, lower, upper : (m,) arrays
        Objective but for prices, that of the programs, which has a tiny cost that breaks ties, and
        bounds.
    artificial : (2, m) array of bool
        Columns whose lower and whose upper bounds are not the model's own.
    integer : (m,) array of bool
        Columns that must be whole numbers.
    """

    cost: Array
    c: Array
    lower: Array
    upper: Array
    artificial: Mask
    integer: Mask


class Rules(NamedTuple):
    """Who must be served by how many, and who may be given up.

    Parameters
    ----------
    k : int
        How many serve each kept point.
    price : float
        Of a point that is given up.
    may_give_up, own, others, serving : bool
        Whether points may be given up; then whether that relieves their own rows, those of
        others, and whether they may still serve.
    keep : int
        Least number of kept points in every class.
    bare : bool
        Whether λ ≤ d_ik is a row of the programs already where i is kept and nobody serves it yet.
    """

    k: int
    price: float
    may_give_up: bool
    own: bool
    others: bool
    serving: bool
    keep: int
    bare: bool


class Instance(NamedTuple):
    """A problem with linear programs in (θ, other columns, λ).

    Compiled functions take its parts: a tuple is taken apart wherever it is named.

    Parameters
    ----------
    table, classes, columns, rules
        Its parts.
    fixed : (N,) array of int
        What is decided of the points from the start.
    """

    table: Table
    classes: Classes
    columns: Columns
    rules: Rules
    fixed: Integers


@leaf
def count(state, value):
    """How many points are in a state."""
    found = 0
    for each in state:
        if each == value:
            found += 1
    return found


@leaf
def distances_of(features, x, i, d):
    """Write the distances of point i to all points into `d`."""
    N, P, _ = features.shape
    for k in range(N):
        d[k] = 0.0
    for p in range(P):
        value = x[p]
        if value != 0.0:
            for k in range(N):
                d[k] += value * features[i, p, k]


@leaf
def region_cost(cost, x):
    """Objective of a point but for λ."""
    value = 0.0
    for p in range(len(x) - 1):
        value += cost[p] * x[p]
    return value


@leaf
def take_in(table, served_by, program, codes, n, kind, i, k):
    """Add a row to those at hand; returns how many there are then."""
    features, A, b = table.features, program.A, program.b
    if n >= len(b):
        # A row that is left out makes a bound weaker, never wrong.
        return n
    m, (N, P, _) = len(A), features.shape
    clear_row(program, n)
    if kind == REGION:
        rows = table.A
        b[n] = table.b[i * N + k]
        for p in range(m):
            A[p, n] = rows[p, i * N + k]
    else:
        sign = 1.0 if kind == FAR else -1.0
        for p in range(P):
            A[p, n] = sign * features[i, p, k]
    if kind == FAR:
        b[n] = table.dmax
    elif kind == NEAR:
        b[n] = -table.least[i, k]
    elif kind >= BARE:
        A[m - 1, n] = 1.0
    if kind >= SEPARATION:
        j = served_by[i, kind - SEPARATION]
        for p in range(P):
            A[p, n] += features[i, p, j]
    scale_row(program, n)
    codes[n] = FIRST_OF_REGION + i * N + k if kind == REGION else (kind * N + i) * N + k
    return n + 1


@leaf
def clear_row(program, n):
    """Make row n that of zeros."""
    A = program.A
    for p in range(len(A)):
        A[p, n] = 0.0
    program.b[n] = 0.0


@leaf
def scale_row(program, n):
    """Write what the violation of row n is multiplied by."""
    A, square = program.A, 0.0
    for p in range(len(A)):
        square += A[p, n] * A[p, n]
    # Never so small that a row counts as kept here and as violated by VIOLATED.
    program.scale[n] = max(1.0 / np.sqrt(square + 1e-12), 0.25)


@leaf
def take_in_violated(table, apart, rules, state, served_by, program, codes, all_d, n, x):
    """Add, for every point, the most violated row of each kind; the distances are left in d."""
    N = len(state)
    margin, dmax = x[len(x) - 1], table.dmax
    for i in range(N):
        d, least = all_d[i], table.least[i]
        distances_of(table.features, x, i, d)
        far, far_by, near, near_by = -1, VIOLATED, -1, VIOLATED
        for k in range(i + 1, N):
            if d[k] - dmax > far_by:
                far, far_by = k, d[k] - dmax
            if least[k] - d[k] > near_by:
                near, near_by = k, least[k] - d[k]
        if far >= 0:
            n = take_in(table, served_by, program, codes, n, FAR, i, far)
        if near >= 0:
            n = take_in(table, served_by, program, codes, n, NEAR, i, near)
        fence, fence_at = nearest_fence(apart[i], rules.others, state, d)
        if fence < 0:
            continue
        # With printed outliers λ ≤ d_ik holds whatever becomes of i; of a kept i that somebody
        # serves the separation says more.
        bare = rules.bare and served_by[i, 0] < 0 if state[i] == KEPT else not rules.own
        if bare and margin - fence_at > VIOLATED:
            n = take_in(table, served_by, program, codes, n, BARE, i, fence)
        for t in range(rules.k if state[i] == KEPT else 0):
            j = served_by[i, t]
            if j >= 0 and d[j] + margin - fence_at > VIOLATED:
                n = take_in(table, served_by, program, codes, n, SEPARATION + t, i, fence)
    return n


@leaf
def nearest_fence(apart, others, state, d):
    """Return the nearest non-class point that counts, and its distance; −1 if none does."""
    fence, fence_at = -1, np.inf
    for k in range(len(d)):
        if d[k] < fence_at and apart[k] and (not others or state[k] == KEPT):
            fence, fence_at = k, d[k]
    return fence, fence_at


@leaf
def take_in_broken_region(table, served_by, program, codes, n, x):
    """Add the rows of the region that a point breaks."""
    A, b = table.A, table.b
    m, N = len(x), len(table.least)
    for r in range(len(b)):
        excess = -b[r]
        for p in range(m):
            excess += A[p, r] * x[p]
        if excess > VIOLATED:
            n = take_in(table, served_by, program, codes, n, REGION, r // N, r % N)
    return n
