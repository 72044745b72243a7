"""The linear program of a node: its rows at hand, taken in on demand, and the memory for it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.compiling import compiled, leaf
from mlmio.kernels.rows import (
    FIRST_OF_REGION,
    REGION,
    Array,
    Instance,
    Integers,
    Mask,
    take_in,
    take_in_broken_region,
    take_in_violated,
)
from mlmio.kernels.simplex import (
    LEANING,
    OPTIMAL,
    STEP_LIMIT,
    Program,
    Scratch,
    Vertex,
    begin,
    new_scratch,
    new_vertex,
    refactor,
    simplex,
)

MOST_STEPS = np.int64(20_000)
# A node hands on the rows whose scaled slack is below this.
NEARLY_TIGHT = 0.02


class Work(NamedTuple):
    """Memory of one thread: rows at hand, and vertex and distances of node and child.

    Once ``halt`` is set, from another thread, every program ends undecided at once.
    """

    program: Program
    codes: Integers
    scratch: Scratch
    vertex: Vertex
    child: Vertex
    d: Array
    row: Array
    separation: Array
    halt: Mask


def new_work(instance: Instance) -> Work:
    """Return memory for the nodes of an instance."""
    columns = instance.columns
    m, N = len(columns.c), len(instance.fixed)
    capacity = 2000 + 20 * N * instance.rules.k + len(instance.table.b)
    program = Program(
        columns.c,
        columns.lower.copy(),
        columns.upper.copy(),
        columns.artificial,
        np.zeros((m, capacity)),
        np.zeros(capacity),
        np.zeros(capacity),
    )
    return Work(
        program,
        np.zeros(capacity, dtype=np.int64),
        new_scratch(m, capacity),
        new_vertex(m),
        new_vertex(m),
        np.empty((N, N)),
        np.empty(N),
        np.empty(N),
        np.zeros(1, dtype=np.bool_),
    )


def new_counts() -> Integers:
    """Return counts of linear programs, of steps of the simplex method, and of rows taken in."""
    return np.zeros(3, dtype=np.int64)


@leaf
def take_in_code(table, served_by, program, codes, n, code):
    """Add the row of a code."""
    N = len(table.least)
    kind, i, k = code // (N * N), (code // N) % N, code % N
    if code >= FIRST_OF_REGION:
        row = code - FIRST_OF_REGION
        kind, i, k = REGION, row // N, row % N
    return take_in(table, served_by, program, codes, n, kind, i, k)


@leaf
def solve_node(instance, state, served_by, work, n, cutoff, counts):
    """Solve the program of the work's vertex with every row of the node, taken in on demand.

    Returns
    -------
    (int, int)
        What the last run of the simplex method ended with, and how many rows are at hand.
    """
    table, apart, rules = instance.table, instance.classes.apart, instance.rules
    program, vertex, scratch = work.program, work.vertex, work.scratch
    codes, d, x = work.codes, work.d, work.vertex.x
    while True:
        if work.halt[0]:
            return STEP_LIMIT, n
        status, steps = simplex(program, n, vertex, scratch, cutoff, MOST_STEPS)
        counts[0] += 1
        counts[1] += steps
        if status != OPTIMAL and status != LEANING:
            return status, n
        before = n
        n = take_in_broken_region(table, served_by, program, codes, n, x)
        n = take_in_violated(table, apart, rules, state, served_by, program, codes, d, n, x)
        counts[2] += n - before
        if n == before:
            return status, n


@leaf
def load(instance, node, work, served_by):
    """Make the rows and the vertex of a node for its decisions; returns how many rows there are."""
    table, program, at_hand = instance.table, work.program, work.codes
    codes, basis, lower, upper = node.codes, node.basis, node.lower, node.upper
    start = work.vertex.basis
    # The same node is worked off in the same way, whatever this thread did before.
    work.scratch.few.held[0] = 0
    n = np.int64(0)
    for code in codes:
        n = take_in_code(table, served_by, program, at_hand, n, code)
    for r in range(len(basis)):
        start[r] = basis[r]
        if basis[r] < 0:
            continue
        where = 0
        while where < n and at_hand[where] != basis[r]:
            where += 1
        if where == n:
            n = take_in_code(table, served_by, program, at_hand, n, basis[r])
        start[r] = where
    for p in range(len(lower)):
        program.lower[p] = lower[p]
        program.upper[p] = upper[p]
    if not refactor(program, work.vertex, work.scratch):
        begin(program, work.vertex, work.scratch)
    return n


@leaf
def named(codes, vertex, basis):
    """Write the basis of a vertex by the codes of its rows."""
    for r in range(len(basis)):
        code = vertex.basis[r]
        basis[r] = codes[code] if code >= 0 else code


@compiled
def worth_keeping(work, n, slack):
    """Return the codes of the rows in the basis and of those that are nearly tight."""
    A, b, scale, x = work.program.A, work.program.b, work.program.scale, work.vertex.x
    keep = np.zeros(n, dtype=np.bool_)
    for r in range(n):
        value = -b[r]
        for p in range(len(x)):
            value += x[p] * A[p, r]
        keep[r] = value * scale[r] > -slack
    for code in work.vertex.basis:
        if code >= 0:
            keep[code] = True
    return work.codes[:n][keep]
