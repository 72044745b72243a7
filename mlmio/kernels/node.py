"""A node of the search: what is decided at it, its branches, and what is found in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.compiling import compiled, leaf
from mlmio.kernels.rows import GIVEN_UP, KEPT, Array, Integers, Mask

#: What a node is branched on: nothing, who serves a point, a column that must be a whole number.
NOTHING, SERVER, COLUMN = (np.int64(kind) for kind in range(3))

#: Choices that are not the number of a point: it is given up, it is kept.
TO_GIVE_UP, TO_KEEP = -2, -3


class Node(NamedTuple):
    """What is decided at a node, and where its linear program starts.

    Parameters
    ----------
    bound : float
        Upper bound of the objective.
    state : (N,) array of int
        Of every point.
    served_by : (N, k) array of int
        Who serves it, −1 where that is not decided.
    allowed : (N, N) array of bool
        Who may still be chosen to serve.
    most : (N,) array
        Upper bound of the objective, but for prices, if the point is kept.
    lower, upper : (m,) arrays
        Bounds of the columns.
    codes, basis : arrays of int
        Rows at hand, and the basis.
    """

    bound: float
    state: Integers
    served_by: Integers
    allowed: Mask
    most: Array
    lower: Array
    upper: Array
    codes: Integers
    basis: Integers


class Branches(NamedTuple):
    """The children of a node.

    Parameters
    ----------
    kind : int
        What is branched on.
    subject : int
        The point or column.
    choices, bounds, bases : (n,), (n,) and (n, m) arrays
        For each child its choice, bound and basis.
    """

    kind: int
    subject: int
    choices: Integers
    bounds: Array
    bases: Integers


class Solution(NamedTuple):
    """A solution: objective, columns, and who is given up.

    Parameters
    ----------
    value : (1,) array
    x : (m,) array
    state : (N,) array of int
    """

    value: Array
    x: Array
    state: Integers


class Closing(NamedTuple):
    """A child that was closed, as a witness for the bound.

    Parameters
    ----------
    status : (1,) array of int
        What its program ended with: ``CUT_OFF`` or ``INFEASIBLE``; −1 if there is no witness.
    served_by : (N, k) array of int
        Who serves whom in it.
    limit : (1,) array
        The objective that the program does not exceed.
    codes : (m + 1,) array of int
        The basis that proves it, and the entering row of an infeasible program.
    """

    status: Integers
    served_by: Integers
    limit: Array
    codes: Integers


def new_closing(N: int, k: int, m: int) -> Closing:
    """Return memory for a witness of `N` points, `k` servers and `m` columns; it is none yet."""
    return Closing(
        np.full(1, -1, dtype=np.int64),
        np.empty((N, k), dtype=np.int64),
        np.zeros(1),
        np.zeros(m + 1, dtype=np.int64),
    )


@compiled
def decide_on(node, subject, choice):
    """Write a choice about a point into a node."""
    if choice == TO_GIVE_UP:
        node.state[subject] = GIVEN_UP
        return
    node.state[subject] = KEPT
    if choice != TO_KEEP:
        node.served_by[subject, slot_of(node.served_by[subject])] = choice
        node.allowed[subject, choice] = False


@leaf
def slot_of(servers):
    """How many servers of a point are decided, which is the place of the next."""
    found = 0
    for j in servers:
        if j >= 0:
            found += 1
    return found


@compiled
def no_branches(m):
    """Return that there are no children."""
    return Branches(NOTHING, -1, np.empty(0, np.int64), np.empty(0), np.empty((0, m), np.int64))


@compiled
def in_order(values):
    """Positions of the finite values, the least first."""
    order = np.argsort(values)
    found = 0
    while found < len(order) and values[order[found]] < np.inf:
        found += 1
    return order[:found]
