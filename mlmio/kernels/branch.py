"""One node of the branch and bound over "which co-class point serves point i".

A node's relaxation is a linear program in the metric's parameters and λ, with the rows of those
points that are already served. What is undecided of other points is left out, so that the bound
is valid; branching decides it.
"""

from __future__ import annotations

import numpy as np

from mlmio.kernels.choosing import choose, try_rounding
from mlmio.kernels.compiling import compiled, inlined
from mlmio.kernels.node import (
    TO_GIVE_UP,
    TO_KEEP,
    Node,
    decide_on,
    in_order,
    no_branches,
    slot_of,
)
from mlmio.kernels.programs import NEARLY_TIGHT, load, solve_node, worth_keeping
from mlmio.kernels.rows import (
    GIVEN_UP,
    KEPT,
    LEFT_OUT,
    OPEN,
    VIOLATED,
    count,
    region_cost,
)
from mlmio.kernels.settle import separations, settle
from mlmio.kernels.simplex import (
    CUT_OFF,
    INFEASIBLE,
    LEANING,
    OPTIMAL,
    STEP_LIMIT,
    UNDECIDED,
    begin,
    objective,
)

WHOLE = 1e-6


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
    counts : (3,) array of int
        Linear programs, steps and rows, added to.

    Returns
    -------
    (Node, Branches)
        What is known of the node now, with its bound, −inf if nothing in it is wanted.
    """
    rules, integer, vertex = instance.rules, instance.columns.integer, work.vertex
    node = copied(original)
    bound = original.bound
    branches = no_branches(len(integer))
    restarted = False
    n = load(instance, node, work, node.served_by)
    while True:
        price = rules.price * count(node.state, GIVEN_UP)
        cutoff = best.value[0] + gap + price
        status, n = solve_node(instance, node.state, node.served_by, work, n, cutoff, counts)
        if status in (CUT_OFF, INFEASIBLE):
            bound = -np.inf
            break
        if not restarted and (status in (STEP_LIMIT, UNDECIDED)):
            # The numbers went astray: once more from the beginning.
            restarted = True
            begin(work.program, vertex, work.scratch)
            continue
        level = objective(work.program, vertex) if status == OPTIMAL else np.inf
        column = fractional(integer, vertex.x)
        # Where the program has no end, what is at hand breaks rows: it is no solution.
        if column < 0 and status in (OPTIMAL, LEANING):
            _look_for_solution(instance, node, work, price, best)
        wanted = best.value[0] + gap
        bound = min(bound, bound_by_prices(rules, node.state, node.most, level, price))
        if bound <= wanted:
            bound = -np.inf
            break
        if _decide(instance.classes, rules, node, level, price, wanted):
            continue
        if column >= 0:
            branches = try_rounding(node, work, n, column, wanted + price, price)
            break
        points = violated(instance.classes, rules, node, work)
        if len(points) == 0:
            # Everything that matters is decided, so that the solution just found attains the
            # bound, unless that leans on bounds which are not the model's own.
            bound = -np.inf if status == OPTIMAL else bound
            break
        branches = choose(
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
        )
        if len(branches.choices) == 0:
            bound = -np.inf
            break
        if len(branches.choices) > 1:
            bound = min(bound, branches.bounds.max())
            break
        decide_on(node, branches.subject, branches.choices[0])
        # It is decided: no child is left to make of it if the node is closed next.
        branches = no_branches(len(integer))
    return (
        Node(
            bound,
            node.state,
            node.served_by,
            node.allowed,
            node.most,
            node.lower,
            node.upper,
            worth_keeping(work, n, NEARLY_TIGHT),
            node.basis,
        ),
        branches,
    )


@compiled
def copied(node):
    """Return a node whose decisions can be changed without changing those of the original."""
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
def fractional(integer, x):
    """Return the integer column that is farthest from a whole number, −1 if none is far."""
    column, farthest = -1, WHOLE
    for p in range(len(x)):
        if integer[p] and abs(x[p] - np.round(x[p])) > farthest:
            column, farthest = p, abs(x[p] - np.round(x[p]))
    return column


@inlined
def _look_for_solution(instance, node, work, price, best):
    """Try the present parameters with the node's own outliers, and with the best choice."""
    classes, rules, dmax = instance.classes, instance.rules, instance.table.dmax
    d, separation, x = work.d, work.separation, work.vertex.x
    rest = region_cost(instance.columns.cost, x)
    served_by = np.empty_like(node.served_by)
    state = _if_kept(node.state)
    least = separations(classes, rules, state, d, served_by, separation)
    if least >= instance.columns.lower[len(x) - 1] - VIOLATED:
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
def bound_by_prices(rules, state, most, level, price):
    """Bound the objective by what keeping each point allows, or giving it up costs.

    λ is at most ``most[i]`` for every point i that is kept: with the t hardest of the undecided
    points given up it is at most that of the next, so that the objective is at most the best, over
    t, of that minus the price of t points (a mixing bound).
    """
    for i in range(len(state)):
        if state[i] == KEPT:
            level = min(level, most[i])
    if not rules.may_give_up:
        return level - price
    hardest = np.sort(most[state == OPEN])
    bound = level - price - len(hardest) * rules.price
    for t in range(len(hardest)):
        bound = max(bound, min(level, hardest[t]) - price - t * rules.price)
    return bound


@inlined
def _decide(classes, rules, node, level, price, wanted):
    """Decide the points that have no choice left; returns whether the program changes by it."""
    if not rules.may_give_up:
        return False
    y, state, changed = classes.y, node.state, False
    left = classes.sizes.copy()
    for i in range(len(state)):
        if state[i] == GIVEN_UP:
            left[y[i]] -= 1
    nobody = level - price - rules.price <= wanted
    for i in range(len(state)):
        if state[i] != OPEN:
            continue
        choice = 0
        if nobody or left[y[i]] <= rules.keep:
            choice = TO_KEEP
        elif node.most[i] - price <= wanted:
            choice = TO_GIVE_UP
            left[y[i]] -= 1
            changed = True
        if choice != 0:
            decide_on(node, i, choice)
    return changed


@inlined
def violated(classes, rules, node, work):
    """Return the points that may lack a server near enough, the most violated first."""
    state, separation = node.state, work.separation
    margin = work.vertex.x[len(work.vertex.x) - 1]
    separations(classes, rules, state, work.d, np.empty_like(node.served_by), separation)
    least = np.full(len(state), np.inf)
    for i in range(len(state)):
        concerned = state[i] != GIVEN_UP and state[i] != LEFT_OUT
        if concerned and margin - separation[i] > VIOLATED and slot_of(node.served_by[i]) < rules.k:
            least[i] = separation[i]
    return in_order(least)
