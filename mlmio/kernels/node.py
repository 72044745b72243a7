"""A node of the search: what is decided at it, its branches, and what is found in it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.rows import GIVEN_UP, KEPT, Array, Integers, Mask
from mlmio.kernels.simplex import compiled

#: What a node is branched on: nothing, who serves a point, whether it is kept, a column that must
#: be a whole number.
NOTHING, SERVER, KEEPING, COLUMN = (np.int64(kind) for kind in range(4))

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
    cuts : (n, m + 1) array
        The cuts that are among them, with their right-hand sides.
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
    cuts: Array


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
    decision : (4,) array of int
        The point, its choice, which of its servers that is, and whether the program was
        infeasible; the point is −1 if there is no witness.
    limit : (1,) array
        The objective that the program does not exceed.
    codes : (m + 1,) array of int
        The basis that proves it, and the entering row of an infeasible program.
    price : (1,) array
        What the points that are given up cost in the program, where it knows prices.
    rows : (m + 1, m + 1) array
        Those of the basis that are cuts, and their right-hand sides.
    """

    decision: Integers
    limit: Array
    codes: Integers
    price: Array
    rows: Array


def new_closing(m: int) -> Closing:
    """Return memory for a witness of `m` columns; it is none yet."""
    return Closing(
        np.full(4, -1, dtype=np.int64),
        np.zeros(1),
        np.zeros(m + 1, dtype=np.int64),
        np.zeros(1),
        np.zeros((m + 1, m + 1)),
    )


@compiled
def decide_on(rules, node, kind, subject, choice):
    """Write a choice about a point into a node."""
    if choice == TO_GIVE_UP:
        node.state[subject] = GIVEN_UP
        if not rules.serving:
            for i in range(len(node.state)):
                node.allowed[i, subject] = False
        return
    node.state[subject] = KEPT
    if kind == SERVER:
        node.served_by[subject, slot_of(node, subject)] = choice
        node.allowed[subject, choice] = False
        if rules.may_give_up and not rules.serving:
            node.state[choice] = KEPT


@compiled
def slot_of(node, i):
    """How many servers of point i are decided, which is the place of the next."""
    found = 0
    for j in node.served_by[i]:
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
