"""One node of the branch and bound over "which co-class point serves point i".

A node's relaxation is a linear program in the metric's parameters and λ, with the rows of those
points that are already served. What is undecided of other points is left out, so that the bound
is valid; branching decides it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.rows import (
    BARE,
    GIVEN_UP,
    KEPT,
    OPEN,
    SEPARATION,
    VIOLATED,
    Array,
    Integers,
    Mask,
    compiled,
    distances_of,
    load,
    named,
    nearest_fence,
    region_cost,
    solve_node,
    take_in,
    worth_keeping,
)
from mlmio.kernels.settle import separations, settle
from mlmio.kernels.simplex import (
    CUT_OFF,
    INFEASIBLE,
    OPTIMAL,
    STEP_LIMIT,
    UNDECIDED,
    begin,
    objective,
    refactor,
    simplex,
)

#: What a node is branched on: nothing, who serves a point, whether it is kept, a column that must
#: be a whole number.
NOTHING, SERVER, KEEPING, COLUMN = range(4)

#: Choices that are not the number of a point: it is given up, it is kept.
TO_GIVE_UP, TO_KEEP = -2, -3

WHOLE = 1e-6
# Rows of a child that are at hand from the start: to the nearest non-class points.
FENCES_AT_HAND = 4
CHILD_STEPS = 5_000
# A node hands on the rows whose scaled slack is below this.
NEARLY_TIGHT = 0.02
# Estimated size of a subtree: by how much its bound exceeds the incumbent, to this power.
GROWTH = 4.0


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
    decision : (4,) array of int
        The point, its choice, which of its servers that is, and whether the program was
        infeasible; the point is −1 if there is no witness.
    limit : (1,) array
        The objective that the program does not exceed.
    codes : (m + 1,) array of int
        The basis that proves it, and the entering row of an infeasible program.
    """

    decision: Integers
    limit: Array
    codes: Integers


@compiled
def expand(instance, original, work, best, gap, candidates, probing, closing, counts):
    """Bound a node, look for a solution in it, and branch.

    Parameters
    ----------
    instance : Instance
    original : Node
    work : Work
        Memory of this thread.
    best : Solution
        The best solution known, replaced by a better one.
    gap : float
        By how much a solution must be better to be wanted.
    candidates : int
        How many points are tried for branching, the most violated ones.
    probing : bool
        Whether every violated point is tried to the end, which bounds and prunes most.
    closing : Closing
        Filled with a child that was closed.
    counts : (2,) array of int
        Linear programs and steps, added to.

    Returns
    -------
    (Node, Branches)
        What is known of the node now, with its bound, −inf if nothing in it is wanted.
    """
    rules, integer, vertex = instance.rules, instance.columns.integer, work.vertex
    node = _copied(original)
    bound = original.bound
    branches = _no_branches(len(integer))
    restarted = False
    n = load(instance, node.served_by, work, node.codes, node.basis, node.lower, node.upper)
    while True:
        price = rules.price * _count(node.state, GIVEN_UP)
        cutoff = best.value[0] + gap + price
        status, n = solve_node(instance, node.state, node.served_by, work, n, cutoff, counts)
        if status in (CUT_OFF, INFEASIBLE):
            bound = -np.inf
            break
        if not restarted and (status in (STEP_LIMIT, UNDECIDED)):
            # The numbers went astray: once more from the beginning.
            restarted = True
            begin(work.program, vertex)
            continue
        if status == OPTIMAL:
            bound = min(bound, objective(work.program, vertex) - price)
        column = fractional(integer, vertex.x)
        if column < 0:
            _look_for_solution(instance, node, work, price, best)
        wanted = best.value[0] + gap
        bound = min(bound, _bound_by_prices(rules, node.state, node.most, bound + price, price))
        if bound <= wanted:
            bound = -np.inf
            break
        if _decide(instance.classes, rules, node, bound, price, wanted):
            continue
        if column >= 0:
            branches = _branch_on_column(node, work, n, column, wanted + price, price)
            break
        kind, points = _violated(instance.classes, rules, node, work)
        if len(points) == 0:
            # Everything that matters is decided, so that the solution just found attains the
            # bound, unless that leans on bounds which are not the model's own.
            bound = -np.inf if status == OPTIMAL else bound
            break
        branches = _choose(
            instance,
            node,
            work,
            n,
            kind,
            points,
            bound + price,
            price,
            wanted,
            candidates,
            probing,
            closing,
            counts,
        )
        if len(branches.choices) == 0:
            bound = -np.inf
            break
        if len(branches.choices) > 1:
            bound = min(bound, branches.bounds.max())
            break
        decide_on(rules, node, kind, branches.subject, branches.choices[0])
        # It is decided: no child is left to make of it if the node is closed next.
        branches = _no_branches(len(integer))
    codes = worth_keeping(work, n, NEARLY_TIGHT)
    return (
        Node(
            bound,
            node.state,
            node.served_by,
            node.allowed,
            node.most,
            node.lower,
            node.upper,
            codes,
            node.basis,
        ),
        branches,
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
        node.served_by[subject, _slot(node, subject)] = choice
        node.allowed[subject, choice] = False
        if rules.may_give_up and not rules.serving:
            node.state[choice] = KEPT


@compiled
def _copied(node):
    return Node(
        node.bound,
        node.state.copy(),
        node.served_by.copy(),
        node.allowed.copy(),
        node.most.copy(),
        node.lower,
        node.upper,
        node.codes,
        node.basis,
    )


@compiled
def _no_branches(m):
    return Branches(NOTHING, -1, np.empty(0, np.int64), np.empty(0), np.empty((0, m), np.int64))


@compiled
def _count(state, value):
    """How many points are in a state."""
    count = 0
    for each in state:
        if each == value:
            count += 1
    return count


@compiled
def _slot(node, i):
    """How many servers of point i are decided, which is the place of the next."""
    count = 0
    for j in node.served_by[i]:
        if j >= 0:
            count += 1
    return count


@compiled
def fractional(integer, x):
    """Return the integer column that is farthest from a whole number, −1 if none is far."""
    column, farthest = -1, WHOLE
    for p in range(len(x)):
        if integer[p] and abs(x[p] - np.round(x[p])) > farthest:
            column, farthest = p, abs(x[p] - np.round(x[p]))
    return column


@compiled
def _look_for_solution(instance, node, work, price, best):
    """Try the present parameters with the node's own outliers, and with the best choice."""
    classes, rules, dmax = instance.classes, instance.rules, instance.table.dmax
    d, separation, x = work.d, work.separation, work.vertex.x
    rest = region_cost(instance.columns.cost, x)
    served_by = np.empty_like(node.served_by)
    state = _if_kept(node.state)
    least = separations(classes, rules, state, d, served_by, separation)
    if least >= 0.0 or not rules.may_give_up:
        _keep_better(best, rest + min(least, dmax) - price, x, state)
    if rules.may_give_up:
        value = settle(classes, rules, dmax, instance.fixed, d, state, served_by, separation)
        _keep_better(best, rest + value, x, state)


@compiled
def _if_kept(decided):
    """The states if every point that is not decided were kept."""
    state = decided.copy()
    for i in range(len(state)):
        if state[i] == OPEN:
            state[i] = KEPT
    return state


@compiled
def _keep_better(best, value, x, state):
    if value > best.value[0]:
        best.value[0] = value
        best.x[:] = x
        best.state[:] = state


@compiled
def _bound_by_prices(rules, state, most, level, price):
    """Bound the objective by what keeping each point allows, or giving it up costs.

    λ is at most ``most[i]`` for every point i that is kept: with the t hardest of the undecided
    points given up it is at most that of the next, so that the objective is at most the best, over
    t, of that minus the price of t points (a mixing bound).
    """
    for i in range(len(state)):
        if state[i] == KEPT:
            level = min(level, most[i])
    if not rules.may_give_up or rules.others:
        return level - price
    hardest = np.sort(most[state == OPEN])
    bound = level - price - len(hardest) * rules.price
    for t in range(len(hardest)):
        bound = max(bound, min(level, hardest[t]) - price - t * rules.price)
    return bound


@compiled
def _decide(classes, rules, node, bound, price, wanted):
    """Decide the points that have no choice left; returns whether the program changes by it."""
    if not rules.may_give_up:
        return False
    y, state, changed = classes.y, node.state, False
    left = classes.sizes.copy()
    for i in range(len(state)):
        if state[i] == GIVEN_UP:
            left[y[i]] -= 1
    nobody = bound - rules.price <= wanted
    for i in range(len(state)):
        if state[i] != OPEN:
            continue
        choice = 0
        if nobody or left[y[i]] <= rules.keep:
            choice = TO_KEEP
            changed = changed or rules.others
        elif not rules.others and node.most[i] - price <= wanted:
            choice = TO_GIVE_UP
            left[y[i]] -= 1
            changed = True
        if choice != 0:
            decide_on(rules, node, KEEPING, i, choice)
    return changed


@compiled
def _violated(classes, rules, node, work):
    """Return what to branch on and the points, the most violated first.

    First come points that are kept and lack a server near enough; where only kept points count
    among the others', next are undecided points that λ would not allow to be kept.
    """
    state, d, separation, others = node.state, work.d, work.separation, rules.others
    N = len(state)
    margin = work.vertex.x[len(work.vertex.x) - 1]
    served_by = np.empty_like(node.served_by)
    separations(classes, rules, state, d, served_by, separation)
    least = np.full(N, np.inf)
    for i in range(N):
        concerned = state[i] == KEPT or (state[i] == OPEN and not others)
        if concerned and margin - separation[i] > VIOLATED and _slot(node, i) < rules.k:
            least[i] = separation[i]
    if least.min() < np.inf or not others:
        return SERVER, _sorted(least)
    kept = _if_kept(state)
    separations(classes, rules, kept, d, served_by, separation)
    for i in range(N):
        if margin - separation[i] > VIOLATED:
            fence = nearest_fence(classes.apart[i], others, kept, d[i])[0]
            for point in (i, fence):
                if point >= 0 and state[point] == OPEN:
                    least[point] = min(least[point], separation[i])
    return KEEPING, _sorted(least)


@compiled
def _sorted(values):
    """Positions of the finite values, the least first."""
    order = np.argsort(values)
    count = 0
    while count < len(order) and values[order[count]] < np.inf:
        count += 1
    return order[:count]


@compiled
def _choose(
    instance,
    node,
    work,
    n,
    kind,
    points,
    level,
    price,
    wanted,
    candidates,
    probing,
    closing,
    counts,
):
    """Try the children of several points, and return those of the best one (strong branching).

    The best has the smallest estimated subtrees. A point that leaves a single choice, or none, is
    returned at once.
    """
    rules, child, codes = instance.rules, work.child, work.codes
    m, N = len(child.x), len(node.state)
    best = _no_branches(m)
    best_size = np.inf
    # Before there is a solution sizes are estimated as if there were one this far below.
    floor = max(wanted, level - price - instance.table.dmax)
    for i in points if probing else points[:candidates]:
        choices, bounds = np.empty(N + 1, np.int64), np.empty(N + 1)
        bases = np.empty((N + 1, m), np.int64)
        size, found, most, complete = 0.0, 0, -np.inf, True
        near = _nearest_fences(instance.classes.apart[i], rules, node.state, work.d[i])
        for choice in _choices(rules, node, work.d[i], kind, i, level - price - wanted):
            if size >= best_size and not probing:
                complete = False
                break
            status, reached = _try(
                instance, node, work, n, kind, i, choice, near, wanted + price, closing, counts
            )
            if status in (CUT_OFF, INFEASIBLE):
                if kind == SERVER and choice >= 0:
                    node.allowed[i, choice] = False
                continue
            reached = min(reached, level) if status == OPTIMAL else level
            cost = rules.price if choice == TO_GIVE_UP else 0.0
            choices[found], bounds[found] = choice, reached - price - cost
            named(codes, child, bases[found])
            size += max(bounds[found] - floor, 0.0) ** GROWTH
            if choice != TO_GIVE_UP:
                most = max(most, reached)
            found += 1
        if not complete:
            continue
        node.most[i] = min(node.most[i], most)
        branches = Branches(kind, i, choices[:found], bounds[:found], bases[:found])
        if found <= 1:
            return branches
        if size < best_size:
            best, best_size = branches, size
    return best


@compiled
def _choices(rules, node, d, kind, i, to_lose):
    """Return the choices about a point, the likeliest first; `to_lose` may be given up at most."""
    N = len(node.state)
    choices = np.empty(N + 1, np.int64)
    found = 0
    if kind == KEEPING:
        choices[0] = TO_KEEP
        found = 1
    else:
        near = d.copy()
        for j in range(N):
            if not node.allowed[i, j]:
                near[j] = np.inf
        for j in _sorted(near):
            choices[found] = j
            found += 1
        # Enough must be left for the servers that are still to be chosen.
        if found < rules.k - _slot(node, i):
            found = 0
    if node.state[i] == OPEN and to_lose > rules.price:
        choices[found] = TO_GIVE_UP
        found += 1
    return choices[:found]


@compiled
def _try(instance, node, work, n, kind, i, choice, near, cutoff, closing, counts):
    """Solve the program of a child over the rows at hand and the new ones of its point."""
    table, program, codes = instance.table, work.program, work.codes
    child, scratch, served_by = work.child, work.scratch, node.served_by
    _copy_vertex(work.vertex, child)
    if choice == TO_GIVE_UP:
        return OPTIMAL, objective(program, child)
    slot = _slot(node, i)
    if kind == KEEPING:
        n = _fence_rows(instance, node, work, n, i)
    else:
        served_by[i, slot] = choice
        for fence in near:
            n = take_in(table, served_by, program, codes, n, SEPARATION + slot, i, fence)
    while True:
        status, steps = simplex(program, n, child, scratch, cutoff, CHILD_STEPS)
        counts[0] += 1
        counts[1] += steps
        if status != OPTIMAL or kind == KEEPING:
            break
        fence = _violated_fence(instance, node.state, work, i, choice)
        if fence < 0:
            break
        n = take_in(table, served_by, program, codes, n, SEPARATION + slot, i, fence)
    if status in (CUT_OFF, INFEASIBLE):
        closing.decision[:] = (i, choice, slot, int(status == INFEASIBLE))
        closing.limit[0] = cutoff
        named(codes, child, closing.codes[:-1])
        entering = scratch.entering[0]
        closing.codes[-1] = codes[entering] if entering >= 0 else entering
    if kind == SERVER:
        served_by[i, slot] = -1
    return status, objective(program, child)


@compiled
def _copy_vertex(vertex, child):
    for r in range(len(vertex.x)):
        child.basis[r] = vertex.basis[r]
        child.x[r] = vertex.x[r]
        child.multipliers[r] = vertex.multipliers[r]
        for p in range(len(vertex.x)):
            child.inverse[r, p] = vertex.inverse[r, p]


@compiled
def _nearest_fences(apart, rules, state, d):
    """Return the non-class points that count and are nearest at the node's solution."""
    distances = d.copy()
    for k in range(len(d)):
        if not apart[k] or (rules.others and state[k] != KEPT):
            distances[k] = np.inf
    return _sorted(distances)[:FENCES_AT_HAND]


@compiled
def _violated_fence(instance, state, work, i, j):
    """Return the non-class point whose row with i and j the child violates most, −1 if none."""
    x, d = work.child.x, work.row
    distances_of(instance.table.features, x, i, d)
    fence, at = nearest_fence(instance.classes.apart[i], instance.rules.others, state, d)
    return fence if fence >= 0 and d[j] + x[len(x) - 1] - at > VIOLATED else -1


@compiled
def _fence_rows(instance, node, work, n, k):
    """Add the violated rows in which a point that is now kept is the non-class point."""
    table, rules, apart = instance.table, instance.rules, instance.classes.apart
    program, codes, d, served_by = work.program, work.codes, work.d, node.served_by
    margin = work.vertex.x[len(work.vertex.x) - 1]
    for i in range(len(node.state)):
        if not apart[i, k]:
            continue
        for kind in range(BARE, SEPARATION + rules.k):
            if kind == BARE:
                violated = not rules.own and margin - d[i, k] > VIOLATED
            else:
                j = served_by[i, kind - SEPARATION]
                served = j >= 0 and node.state[i] == KEPT
                violated = served and d[i, j] + margin - d[i, k] > VIOLATED
            if violated:
                n = take_in(table, served_by, program, codes, n, kind, i, k)
    return n


@compiled
def _branch_on_column(node, work, n, column, cutoff, price):
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
        refactor(program, child)
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
