"""What to branch on: the children of several points are tried, and those of the best one kept."""

from __future__ import annotations

import numpy as np

from mlmio.kernels.compiling import compiled, inlined, leaf
from mlmio.kernels.node import (
    COLUMN,
    SERVER,
    TO_GIVE_UP,
    Branches,
    in_order,
    no_branches,
    slot_of,
)
from mlmio.kernels.programs import named
from mlmio.kernels.rows import (
    KEPT,
    OPEN,
    SEPARATION,
    VIOLATED,
    distances_of,
    nearest_fence,
    take_in,
)
from mlmio.kernels.simplex import (
    CUT_OFF,
    INFEASIBLE,
    OPTIMAL,
    STEP_LIMIT,
    objective,
    refactor,
    simplex,
)

# Points that are tried for branching, the most violated ones.
CANDIDATES = 12
# Rows of a child that are at hand from the start: to the nearest non-class points.
FENCES_AT_HAND = 4
CHILD_STEPS = np.int64(5_000)
# Estimated size of a subtree: by how much its bound exceeds the incumbent, to this power.
GROWTH = 4.0


@inlined
def choose(
    instance,
    node,
    work,
    n,
    points,
    level,
    bound,
    price,
    wanted,
    candidates,
    probing,
    closing,
    counts,
):
    """Try the children of several points, and return those of the best one (strong branching).

    `level` bounds the node's program, `bound` its objective, which may count on prices of points
    that are not yet decided.

    The best has the smallest estimated subtrees. A point that leaves a single choice, or none, is
    returned at once.
    """
    rules, child, codes = instance.rules, work.child, work.codes
    m, N = len(child.x), len(node.state)
    best = no_branches(m)
    best_size = np.inf
    # Before there is a solution sizes are estimated as if there were one this far below.
    floor = max(wanted, bound - instance.table.dmax)
    for i in points if probing else points[:candidates]:
        choices, bounds = np.empty(N + 1, np.int64), np.empty(N + 1)
        bases = np.empty((N + 1, m), np.int64)
        size, found, most, complete = 0.0, 0, -np.inf, True
        near = nearest_fences(instance.classes.apart[i], rules, node.state, work.d[i])
        for choice in choices_of(rules, node, work.d[i], i, level - price - wanted):
            if size >= best_size and not probing:
                complete = False
                break
            status, reached = try_choice(
                instance, node, work, n, i, choice, near, wanted + price, closing, counts
            )
            if status in (CUT_OFF, INFEASIBLE):
                if choice >= 0:
                    node.allowed[i, choice] = False
                continue
            reached = min(reached, level) if status == OPTIMAL else level
            cost = rules.price if choice == TO_GIVE_UP else 0.0
            choices[found], bounds[found] = choice, min(bound, reached - price - cost)
            named(codes, child, bases[found])
            size += max(bounds[found] - floor, 0.0) ** GROWTH
            if choice != TO_GIVE_UP:
                most = max(most, reached)
            found += 1
        if not complete:
            continue
        node.most[i] = min(node.most[i], most)
        branches = Branches(SERVER, i, choices[:found], bounds[:found], bases[:found])
        if found <= 1:
            return branches
        if size < best_size:
            best, best_size = branches, size
    return best


@inlined
def choices_of(rules, node, d, i, to_lose):
    """Return the choices about a point, the likeliest first; `to_lose` may be given up at most."""
    N = len(node.state)
    choices = np.empty(N + 1, np.int64)
    found = 0
    near = d.copy()
    for j in range(N):
        if not node.allowed[i, j]:
            near[j] = np.inf
    for j in in_order(near):
        choices[found] = j
        found += 1
    # Enough must be left for the servers that are still to be chosen.
    if found < rules.k - slot_of(node.served_by[i]):
        found = 0
    if node.state[i] == OPEN and to_lose > rules.price:
        choices[found] = TO_GIVE_UP
        found += 1
    return choices[:found]


@leaf
def try_choice(instance, node, work, n, i, choice, near, cutoff, closing, counts):
    """Solve the program of a child over the rows at hand and the new ones of its point."""
    table, program, codes = instance.table, work.program, work.codes
    child, scratch, served_by, state = work.child, work.scratch, node.served_by, node.state
    _copy_vertex(work.vertex, child)
    if work.halt[0]:
        return STEP_LIMIT, np.inf
    if choice == TO_GIVE_UP:
        # The program is that of the node.
        return OPTIMAL, np.inf
    slot, before = slot_of(node.served_by[i]), state[i]
    state[i] = KEPT
    served_by[i, slot] = choice
    for fence in near:
        n = take_in(table, served_by, program, codes, n, SEPARATION + slot, i, fence)
    while True:
        status, steps = simplex(program, n, child, scratch, cutoff, CHILD_STEPS)
        counts[0] += 1
        counts[1] += steps
        if status != OPTIMAL:
            break
        fence, at_hand = _violated_fence(instance, state, work, i, choice), n
        if fence >= 0:
            n = take_in(table, served_by, program, codes, n, SEPARATION + slot, i, fence)
        counts[2] += n - at_hand
        if n == at_hand:
            break
    if status in (CUT_OFF, INFEASIBLE):
        _witness(work, served_by, status, cutoff, closing)
    state[i] = before
    served_by[i, slot] = -1
    return status, objective(program, child)


@inlined
def _witness(work, served_by, status, cutoff, closing):
    """Note down what closed a child."""
    codes, m = work.codes, len(work.child.x)
    for i in range(len(served_by)):
        for t in range(len(served_by[i])):
            closing.served_by[i, t] = served_by[i, t]
    closing.status[0] = status
    closing.limit[0] = cutoff
    entering = work.scratch.entering[0]
    for r in range(m + 1):
        row = work.child.basis[r] if r < m else entering
        closing.codes[r] = codes[row] if row >= 0 else row


@leaf
def _copy_vertex(vertex, child):
    for r in range(len(vertex.x)):
        child.basis[r] = vertex.basis[r]
        child.x[r] = vertex.x[r]
        child.multipliers[r] = vertex.multipliers[r]
        for p in range(len(vertex.x)):
            child.inverse[r, p] = vertex.inverse[r, p]


@compiled
def nearest_fences(apart, rules, state, d):
    """Return the non-class points that count and are nearest at the node's solution."""
    distances = d.copy()
    for k in range(len(d)):
        if not apart[k] or (rules.others and state[k] != KEPT):
            distances[k] = np.inf
    return in_order(distances)[:FENCES_AT_HAND]


@inlined
def _violated_fence(instance, state, work, i, j):
    """Return the non-class point whose row with i and j the child violates most, −1 if none."""
    x, d = work.child.x, work.row
    distances_of(instance.table.features, x, i, d)
    fence, at = nearest_fence(instance.classes.apart[i], instance.rules.others, state, d)
    return fence if fence >= 0 and d[j] + x[len(x) - 1] - at > VIOLATED else -1


@inlined
def try_rounding(node, work, n, column, cutoff, price):
    """Return the two children in which an integer column is rounded: 2v is ≤ v, 2v + 1 is ≥ v."""
    program, child, x = work.program, work.child, work.vertex.x
    choices, bounds = np.empty(2, np.int64), np.empty(2)
    bases = np.empty((2, len(x)), np.int64)
    below = np.floor(x[column])
    lower, upper = program.lower[column], program.upper[column]
    found = 0
    for up in range(2):
        program.lower[column] = below + 1.0 if up else lower
        program.upper[column] = upper if up else below
        _copy_vertex(work.vertex, child)
        refactor(program, child, work.scratch)
        status, _ = simplex(program, n, child, work.scratch, cutoff, CHILD_STEPS)
        if status != CUT_OFF and status != INFEASIBLE:
            choices[found] = 2 * int(below + up) + up
            bounds[found] = node.bound
            if status == OPTIMAL:
                bounds[found] = min(node.bound, objective(program, child) - price)
            named(work.codes, child, bases[found])
            found += 1
    program.lower[column], program.upper[column] = lower, upper
    return Branches(COLUMN, column, choices[:found], bounds[:found], bases[:found])
