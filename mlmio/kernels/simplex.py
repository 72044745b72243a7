"""A dense dual simplex method for linear programs of few columns and very many rows.

max c·x subject to A x ≤ b and l ≤ x ≤ u, with m columns. A basis is m of the rows and bounds that
hold with equality; the method keeps the inverse of their matrix and multipliers π ≥ 0 for them,
so that its objective is an upper bound at every step and may be cut off. One step prices the rows
at hand, takes in the most violated, and costs O(m² + mR) for R rows. Of many rows those that were
violated most before are priced first (partial pricing), and all only where none of them is
violated. Which rows are at hand is the caller's business.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from mlmio.kernels.compiling import leaf
from mlmio.kernels.pricing import NOTHING, Few, is_artificial, no_few, price, renew

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

#: What a run ends with: the optimum, an objective at or below the cut-off, no feasible point, the
#: limit of steps, an optimum that leans on a bound that is not the model's own, or infeasibility
#: that does.
OPTIMAL, CUT_OFF, INFEASIBLE, STEP_LIMIT, LEANING, UNDECIDED = range(6)

LEAST_PIVOT = 1e-8
DOUBTFUL_PIVOT = 1e-6
LEAST_DIAGONAL = 1e-13
STEPS_BETWEEN_REFACTORINGS = 64
# After this many steps without progress for each column, rows are taken at random among the
# violated, which leaves a cycle soon, and after so many Bland's rule ends it for certain, slowly.
STALLED, STUCK = 3, 200


class Program(NamedTuple):
    """A linear program whose rows are the first of a larger store.

    Parameters
    ----------
    c, lower, upper : (m,) arrays
        Objective, maximised, and bounds of the columns, all finite.
    artificial : (2, m) array of bool
        Columns whose lower and whose upper bounds are not the model's own: a claim may not lean
        on them.
    A : (m, capacity) array
        Coefficients; row r is ``A[:, r]``.
    b, scale : (capacity,) arrays
        Right-hand sides, and what the violation of a row is multiplied by in pricing.
    """

    c: Array
    lower: Array
    upper: Array
    artificial: NDArray[np.bool_]
    A: Array
    b: Array
    scale: Array


class Vertex(NamedTuple):
    """A basis and what follows from it.

    Parameters
    ----------
    basis : (m,) array of int
        r ≥ 0 for row r, −1−p for the upper and −1−m−p for the lower bound of column p.
    inverse : (m, m) array
        Transposed inverse of the matrix of the basis: row r belongs to ``basis[r]``.
    x, multipliers : (m,) arrays
        The point, and π.
    """

    basis: Integers
    inverse: Array
    x: Array
    multipliers: Array


class Scratch(NamedTuple):
    """Memory for a run, and after ``INFEASIBLE`` the certificate.

    Parameters
    ----------
    violation : (capacity,) array
    direction : (m,) array
        Coordinates of the entering row in the rows of the basis. None is positive where the
        program is infeasible: the row, plus −direction times the basis, reads 0 ≤ something
        negative (Farkas).
    row : (m,) array
        The entering row.
    entering : (1,) array of int
        Its code, as in a basis.
    matrix, inverse, right : (m, m), (m, m) and (m,) arrays
        The system of a basis while it is factored anew.
    few : Few
        The rows that are priced first.
    """

    violation: Array
    direction: Array
    row: Array
    entering: Integers
    matrix: Array
    inverse: Array
    right: Array
    few: Few


def new_vertex(m: int) -> Vertex:
    """Return memory for a vertex of `m` columns; see :func:`begin`."""
    return Vertex(-1 - np.arange(m), np.empty((m, m)), np.empty(m), np.empty(m))


def new_scratch(m: int, capacity: int) -> Scratch:
    """Return memory for runs with `m` columns and at most `capacity` rows."""
    return Scratch(
        np.empty(capacity),
        np.empty(m),
        np.empty(m),
        np.zeros(1, dtype=np.int64),
        np.empty((m, m)),
        np.empty((m, m)),
        np.empty(m),
        no_few(m),
    )


@leaf
def begin(program, vertex, scratch):
    """Put every column at the bound that its cost favours, which is dual feasible."""
    c, basis = program.c, vertex.basis
    for p in range(len(c)):
        basis[p] = -1 - p if c[p] >= 0 else -1 - len(c) - p
    refactor(program, vertex, scratch)


@leaf
def refactor(program, vertex, scratch):
    """Compute the inverse, the point and the multipliers of a basis anew.

    Returns
    -------
    bool
        Whether the basis has an inverse; if not, the vertex is as it was.
    """
    basis, c = vertex.basis, program.c
    m = len(c)
    matrix, inverse, right = scratch.matrix, scratch.inverse, scratch.right
    for r in range(m):
        right[r] = _load(program, basis[r], matrix[r])
        for p in range(m):
            inverse[r, p] = 1.0 if p == r else 0.0
    if not _invert(matrix, inverse):
        return False
    transposed, multipliers, x = vertex.inverse, vertex.multipliers, vertex.x
    for p in range(m):
        x[p] = 0.0
        for r in range(m):
            x[p] += inverse[p, r] * right[r]
    for r in range(m):
        value = 0.0
        for p in range(m):
            transposed[r, p] = inverse[p, r]
            value += inverse[p, r] * c[p]
        multipliers[r] = max(value, 0.0)
    return True


@leaf
def _invert(matrix, inverse):
    """Turn a unit matrix into the inverse (Gauss–Jordan, partial pivoting); False if singular."""
    m = len(matrix)
    for q in range(m):
        pivot = q
        for r in range(q + 1, m):
            if abs(matrix[r, q]) > abs(matrix[pivot, q]):
                pivot = r
        if abs(matrix[pivot, q]) < LEAST_DIAGONAL:
            return False
        for p in range(m):
            matrix[q, p], matrix[pivot, p] = matrix[pivot, p], matrix[q, p]
            inverse[q, p], inverse[pivot, p] = inverse[pivot, p], inverse[q, p]
        factor = 1.0 / matrix[q, q]
        for p in range(m):
            matrix[q, p] *= factor
            inverse[q, p] *= factor
        for r in range(m):
            factor = matrix[r, q]
            if r != q and factor != 0.0:
                for p in range(m):
                    matrix[r, p] -= factor * matrix[q, p]
                    inverse[r, p] -= factor * inverse[q, p]
    return True


@leaf
def objective(program, vertex):
    """Return c·x, which is at least the optimum."""
    c, x = program.c, vertex.x
    value = 0.0
    for p in range(len(c)):
        value += c[p] * x[p]
    return value


@leaf
def simplex(program, n, vertex, scratch, cutoff, most_steps):
    """Run from a vertex that is dual feasible, over the first `n` rows.

    Returns
    -------
    (int, int)
        One of the codes above, and the number of steps.
    """
    m = len(program.c)
    steps, stalled = np.int64(0), np.int64(0)
    renew(program, n, scratch.few)
    while True:
        if objective(program, vertex) <= cutoff and not _leans(program, vertex, vertex.multipliers):
            return CUT_OFF, steps
        if steps >= most_steps:
            return STEP_LIMIT, steps
        careful = stalled > STUCK * m
        shuffle = steps if stalled > STALLED * m else 0
        code = price(program, n, vertex.x, scratch.violation, scratch.few, careful, shuffle)
        if code == NOTHING:
            leaning = _leans(program, vertex, vertex.multipliers)
            return LEANING if leaning else OPTIMAL, steps
        right = _load(program, code, scratch.row)
        leaving = _leaving(vertex, scratch, careful)
        if leaving < 0:
            scratch.entering[0] = code
            leaning = _leans(program, vertex, scratch.direction) or is_artificial(program, code)
            return UNDECIDED if leaning else INFEASIBLE, steps
        pivot = scratch.direction[leaving]
        length = _replace(vertex, scratch, leaving, code, right)
        stalled = stalled + 1 if length <= 1e-13 else 0
        steps += 1
        due = pivot < DOUBTFUL_PIVOT or steps % STEPS_BETWEEN_REFACTORINGS == 0
        if due and not refactor(program, vertex, scratch):
            return STEP_LIMIT, steps


@leaf
def _load(program, code, row):
    """Write the row of a code into `row`; returns its right-hand side."""
    m = len(row)
    if code >= 0:
        A = program.A
        for p in range(m):
            row[p] = A[p, code]
        return program.b[code]
    for p in range(m):
        row[p] = 0.0
    if code >= -m:
        row[-1 - code] = 1.0
        return program.upper[-1 - code]
    row[-1 - m - code] = -1.0
    return -program.lower[-1 - m - code]


@leaf
def _leaving(vertex, scratch, careful):
    """Return the position in the basis that leaves for ``scratch.row``, −1 where none can."""
    inverse, multipliers, basis = vertex.inverse, vertex.multipliers, vertex.basis
    row, direction = scratch.row, scratch.direction
    m = len(row)
    largest = 1.0
    for r in range(m):
        value = 0.0
        for p in range(m):
            value += inverse[r, p] * row[p]
        direction[r] = value
        largest = max(largest, abs(value))
    leaving, shortest = -1, np.inf
    for r in range(m):
        value = direction[r]
        # What is left of larger numbers that cancel is no pivot.
        if value <= LEAST_PIVOT * largest:
            continue
        length = multipliers[r] / value
        tie = length <= shortest + 1e-13
        if length < shortest - 1e-13:
            better = True
        elif careful:
            better = tie and _order(basis[r], m) < _order(basis[leaving], m)
        else:
            # Among ties the largest pivot, for the numbers' sake.
            better = tie and value > direction[leaving]
        if better:
            leaving, shortest = r, min(length, shortest)
    return leaving


@leaf
def _order(code, m):
    """Place of a code in the fixed order of Bland's rule: that in which it is priced."""
    if code >= 0:
        return 2 * m + code
    if code >= -m:
        return 2 * (-1 - code) + 1
    return 2 * (-1 - m - code)


@leaf
def _replace(vertex, scratch, leaving, code, right):
    """Put the row ``scratch.row`` in the place of `leaving`; returns the length of the step."""
    inverse, multipliers, x = vertex.inverse, vertex.multipliers, vertex.x
    row, direction = scratch.row, scratch.direction
    m = len(row)
    pivot = direction[leaving]
    length = multipliers[leaving] / pivot
    shortfall = right
    for p in range(m):
        shortfall -= row[p] * x[p]
        inverse[leaving, p] /= pivot
    for p in range(m):
        x[p] += inverse[leaving, p] * shortfall
    for r in range(m):
        multipliers[r] = max(multipliers[r] - length * direction[r], 0.0)
    # A condition within would keep the compiler from vectors.
    for first, last in ((0, leaving), (leaving + 1, m)):
        for r in range(first, last):
            value = direction[r]
            for p in range(m):
                inverse[r, p] -= value * inverse[leaving, p]
    multipliers[leaving] = length
    vertex.basis[leaving] = code
    return length


@leaf
def _leans(program, vertex, weights):
    """Whether weights of the basis rest on bounds that are not the model's own."""
    basis = vertex.basis
    for r in range(len(basis)):
        if abs(weights[r]) > 1e-9 and is_artificial(program, basis[r]):
            return True
    return False
