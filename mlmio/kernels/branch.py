"""One node of the branch and bound over "which co-class point serves point i".

A node's relaxation is a linear program in the metric's parameters and λ, with the rows of those
points that are already served. What is undecided of other points is left out, so that the bound
is valid; branching decides it.
"""

from __future__ import annotations

import numpy as np

from mlmio.kernels.choosing import choose, try_rounding
from mlmio.kernels.node import (
    KEEPING,
    SERVER,
    TO_GIVE_UP,
    TO_KEEP,
    Node,
    decide_on,
    in_order,
    no_branches,
    slot_of,
)
from mlmio.kernels.programs import charge, load, solve_node, worth_keeping
from mlmio.kernels.rows import (
    FIRST_OF_CUTS,
    GIVEN_UP,
    KEPT,
    OPEN,
    VIOLATED,
    count,
    nearest_fence,
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
    compiled,
    inlined,
    objective,
    refactor,
)

WHOLE = 1e-6
# A node hands on the rows whose scaled slack is below this.
NEARLY_TIGHT = 0.02


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
    branches = no_branches(len(integer))
    restarted = False
    n = load(instance, node, work, node.state, node.served_by)
    while True:
        lost = rules.price * count(node.state, GIVEN_UP)
        # What the program does not know of prices.
        price = 0.0 if rules.others else lost
        if charge(rules, node.state, work.program):
            refactor(work.program, vertex)
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
        # λ at most, less what the program knows of prices.
        level = objective(work.program, vertex) if status == OPTIMAL else np.inf
        column = fractional(integer, vertex.x)
        # Where the program has no end, what is at hand breaks rows: it is no solution.
        if column < 0 and status in (OPTIMAL, LEANING):
            _look_for_solution(instance, node, work, lost, best)
        wanted = best.value[0] + gap
        bound = min(bound, _bound_by_prices(rules, node.state, node.most, level, price))
        if bound <= wanted:
            bound = -np.inf
            break
        # What could be had if nothing more were lost.
        most = _most_without_prices(instance.columns, work.program) if rules.others else level
        most -= lost
        if _decide(instance.classes, rules, node, most, price, wanted):
            continue
        if column >= 0:
            branches = try_rounding(node, work, n, column, wanted + price, price)
            break
        kind, points = _violated(instance.classes, rules, node, work)
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
            kind,
            points,
            level,
            bound,
            price,
            most,
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
        branches = no_branches(len(integer))
    codes = worth_keeping(work, n, NEARLY_TIGHT)
    cuts = _cuts_in_use(work, codes, branches.bases)
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
            cuts,
        ),
        branches,
    )


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
        node.cuts,
    )


@inlined
def _cuts_in_use(work, codes, bases):
    """Return the cuts that are named, by codes and bases in which they get new numbers."""
    number = np.full(len(work.cuts), -1, np.int64)
    found = 0
    for code in codes:
        if code >= FIRST_OF_CUTS:
            number[code - FIRST_OF_CUTS] = 0
    for child in range(len(bases)):
        for code in bases[child]:
            if code >= FIRST_OF_CUTS:
                number[code - FIRST_OF_CUTS] = 0
    for old in range(len(number)):
        if number[old] == 0:
            number[old] = found
            found += 1
    cuts = np.empty((found, work.cuts.shape[1]))
    for old in range(len(number)):
        if number[old] >= 0:
            cuts[number[old], :] = work.cuts[old]
    for place in range(len(codes)):
        if codes[place] >= FIRST_OF_CUTS:
            codes[place] = FIRST_OF_CUTS + number[codes[place] - FIRST_OF_CUTS]
    for child in range(len(bases)):
        for place in range(bases.shape[1]):
            code = bases[child, place]
            if code >= FIRST_OF_CUTS:
                bases[child, place] = FIRST_OF_CUTS + number[code - FIRST_OF_CUTS]
    return cuts


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


@inlined
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
def _most_without_prices(columns, program):
    """Return the most that λ and the costs of the region can be within the bounds."""
    lower, upper, cost = program.lower, program.upper, columns.cost
    most = 0.0
    for p in range(len(cost)):
        most += max(cost[p] * lower[p], cost[p] * upper[p])
    return most


@inlined
def _decide(classes, rules, node, most, price, wanted):
    """Decide the points that have no choice left; returns whether the program changes by it."""
    if not rules.may_give_up:
        return False
    y, state, changed = classes.y, node.state, False
    left = classes.sizes.copy()
    for i in range(len(state)):
        if state[i] == GIVEN_UP:
            left[y[i]] -= 1
    nobody = most - rules.price <= wanted
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


@inlined
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
        if concerned and margin - separation[i] > VIOLATED and slot_of(node, i) < rules.k:
            least[i] = separation[i]
    if least.min() < np.inf or not others:
        return SERVER, in_order(least)
    kept = _if_kept(state)
    separations(classes, rules, kept, d, served_by, separation)
    for i in range(N):
        if margin - separation[i] > VIOLATED:
            fence = nearest_fence(classes.apart[i], others, kept, d[i])[0]
            for point in (i, fence):
                if point >= 0 and state[point] == OPEN:
                    least[point] = min(least[point], separation[i])
    return KEEPING, in_order(least)
