"""Cores: points of which one at least must be given up where a margin is to be reached.

That no metric reaches an objective while some points are kept is proved by branching on who serves
them, depth first. What closes a branch is the basis of its program, and that leans on the rows of
few points. A core is the points that the whole proof leans on: it holds wherever they are kept,
whoever else is given up. A proof below a branch that does not lean on the point that was branched
on holds without the branching as well, and makes its other branches superfluous (backjumping).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mlmio.kernels.branch import violated
from mlmio.kernels.choosing import (
    CANDIDATES,
    GROWTH,
    choices_of,
    nearest_fences,
    try_choice,
)
from mlmio.kernels.compiling import compiled, inlined
from mlmio.kernels.known import get_to_know, is_known, recall, remember
from mlmio.kernels.leaning import lean_on
from mlmio.kernels.node import Node, slot_of
from mlmio.kernels.programs import NEARLY_TIGHT, load, named, solve_node, worth_keeping
from mlmio.kernels.rows import (
    KEPT,
    LEFT_OUT,
    Integers,
    Mask,
    nearest_fence,
    region_cost,
)
from mlmio.kernels.settle import separations
from mlmio.kernels.simplex import CUT_OFF, INFEASIBLE, LEANING, OPTIMAL, objective

# To leave points out of a core may take so many steps of the simplex method each, and all together
# so many, and so many times those of the core itself.
EFFORT_A_POINT, EFFORT, SHARE = 8_000, 20_000, 4
# What is added to the estimated size of a subtree, for being one at all.
LEAST_SIZE = 1e-12

#: What a proof ends with: no metric exceeds the cut-off, one does, or neither is known.
REFUTED, MET, UNCLEAR = range(3)


class Branching(NamedTuple):
    """A branching on the way from the root: who may serve a point.

    Parameters
    ----------
    point : int
        The point, −1 if there is none to branch on.
    choices, bases : (n,) and (n, m) arrays of int
        Who may serve it, and where those programs start.
    done : (1,) array of int
        How many of the choices are closed.
    leaning : (N,) array of bool
        What the proof leans on so far.
    codes : array of int
        Rows that the branches have at hand.
    """

    point: int
    choices: Integers
    bases: Integers
    done: Integers
    leaning: Mask
    codes: Integers


@compiled
def find_core(instance, root, work, state, cutoff, effort, known, core, closing, counts):
    """Find a core among the points that are kept: with all of it no objective exceeds a cut-off.

    Parameters
    ----------
    instance : Instance
    root : Node
        With nobody served.
    work : Work
    state : (N,) array of int
        ``KEPT`` or ``LEFT_OUT``.
    cutoff : float
        For the objective, but for prices.
    effort : int
        Steps of the simplex method, about, after which a proof is left.
    known : Known
        Used and added to.
    core : (N,) array of bool, filled
        The core. None of its points can be left out, as far as some effort says.
    closing : Closing
        Filled with what closed a branch.
    counts : (3,) array of int
        Linear programs, steps and rows, added to.

    Returns
    -------
    int
        ``REFUTED`` where there is a core, ``MET`` where a metric is better with all that are kept,
        or ``UNCLEAR``.
    """
    begun = counts[1]
    outcome = _grow(instance, root, work, state, cutoff, effort, known, core, closing, counts)
    if outcome != REFUTED:
        return outcome
    N, last = len(state), counts[1] + EFFORT + SHARE * (counts[1] - begun)
    effort = min(effort, EFFORT_A_POINT)
    trial, smaller = np.empty(N, np.int64), np.empty(N, np.bool_)
    for point in range(N):
        if not core[point] or counts[1] > last:
            continue
        for i in range(N):
            trial[i] = KEPT if core[i] and i != point else LEFT_OUT
        if (
            _refute(instance, root, work, trial, cutoff, effort, known, smaller, closing, counts)
            == REFUTED
        ):
            core[:] = smaller
    return REFUTED


@compiled
def _grow(instance, root, work, state, cutoff, effort, known, core, closing, counts):
    """Take in the most violated point until no metric is left for those that were.

    What is in its way is taken in with it where that needs to be kept. Proofs over few points are
    easy, and that a metric stands against them is found out soon.
    """
    classes, rules, d = instance.classes, instance.rules, work.d
    taken, last = np.full(len(state), LEFT_OUT), counts[1] + effort
    served_by = np.empty((len(state), rules.k), np.int64)
    while True:
        outcome = _refute(
            instance, root, work, taken, cutoff, last - counts[1], known, core, closing, counts
        )
        if outcome != MET:
            return outcome
        separations(classes, rules, state, d, served_by, work.separation)
        if _exceeds(instance, work, cutoff):
            return MET
        i = np.argmin(work.separation)
        fence = -1
        if rules.others:
            fence = nearest_fence(classes.apart[i], rules.others, state, d[i])[0]
        grown = False
        for point in (i, fence):
            if point >= 0 and state[point] == KEPT and taken[point] != KEPT:
                taken[point] = KEPT
                grown = True
        if not grown:
            return UNCLEAR


@compiled
def _refute(instance, root, work, state, cutoff, effort, known, core, closing, counts):
    """Prove that no metric is better than a cut-off, or find one; returns which of it was done.

    The distances of a metric that was found are left in ``work.d``.
    """
    if recall(instance, work, state, cutoff, known):
        return MET
    if _plunge(instance, root, work, state, cutoff, counts):
        remember(work, known)
        return MET
    rules, N = instance.rules, len(state)
    served_by, allowed = np.full((N, rules.k), -1, np.int64), root.allowed.copy()
    codes, basis, last = root.codes, root.basis, counts[1] + effort
    # The compiler learns from the entry what the list holds.
    path = [_nothing(root)]
    path.pop()
    while True:
        node = Node(0.0, state, served_by, allowed, root.most, root.lower, root.upper, codes, basis)
        n = load(instance, node, work, served_by)
        status, n = solve_node(instance, state, served_by, work, n, cutoff, counts)
        if status in (CUT_OFF, INFEASIBLE):
            core[:] = False
            lean_on(instance, work, work.vertex, status, core)
        elif status not in (OPTIMAL, LEANING) or counts[1] > last:
            return UNCLEAR
        else:
            alone = len(path) == 0
            branching = _branch(instance, node, work, n, cutoff, known, alone, closing, counts)
            if branching.point < 0 and _exceeds(instance, work, cutoff):
                remember(work, known)
                return MET
            if branching.point < 0:
                return UNCLEAR
            if len(branching.choices) > 0:
                path.append(branching)
                basis = _choose(branching, served_by, allowed)
                codes = branching.codes
                continue
            core[:] = branching.leaning
        # Back to the last branching that matters and has a choice left.
        while len(path) > 0:
            branching = path[-1]
            _take_back(branching, served_by)
            if core[branching.point]:
                for i in range(N):
                    branching.leaning[i] = branching.leaning[i] or core[i]
                branching.done[0] += 1
                if branching.done[0] < len(branching.choices):
                    basis = _choose(branching, served_by, allowed)
                    codes = branching.codes
                    break
                core[:] = branching.leaning
            for j in branching.choices:
                allowed[branching.point, j] = True
            path.pop()
        if len(path) == 0:
            return REFUTED


@compiled
def _plunge(instance, root, work, state, cutoff, counts):
    """Have the most violated point served by the nearest, again and again.

    Returns whether that ends with a metric that exceeds a cut-off, which costs little beside a
    search for one.
    """
    served_by, allowed = np.full((len(state), instance.rules.k), -1, np.int64), root.allowed.copy()
    node = Node(
        0.0, state, served_by, allowed, root.most, root.lower, root.upper, root.codes, root.basis
    )
    n = load(instance, node, work, served_by)
    while True:
        status, n = solve_node(instance, state, served_by, work, n, cutoff, counts)
        if status not in (OPTIMAL, LEANING):
            return False
        points = violated(instance.classes, instance.rules, node, work)
        if _exceeds(instance, work, cutoff):
            return True
        if len(points) == 0:
            return False
        choices = choices_of(instance.rules, node, work.d[points[0]], points[0], 0.0)
        if len(choices) == 0:
            return False
        served_by[points[0], slot_of(served_by[points[0]])] = choices[0]
        allowed[points[0], choices[0]] = False


@inlined
def _exceeds(instance, work, cutoff):
    """Whether the metric at hand exceeds a cut-off, by the separations that were written last."""
    reached = min(work.separation.min(), instance.table.dmax)
    return region_cost(instance.columns.cost, work.vertex.x) + reached > cutoff


@compiled
def _nothing(root):
    """Return that there is no point to branch on."""
    return Branching(
        -1,
        np.empty(0, np.int64),
        np.empty((0, len(root.lower)), np.int64),
        np.zeros(1, np.int64),
        np.zeros(len(root.state), np.bool_),
        root.codes,
    )


@compiled
def _choose(branching, served_by, allowed):
    """Make the next choice of a branching; returns the basis that its program starts from.

    The choice is not allowed again below the branching: no set of servers comes twice.
    """
    point, choice = branching.point, branching.choices[branching.done[0]]
    served_by[point, slot_of(served_by[point])] = choice
    allowed[point, choice] = False
    return branching.bases[branching.done[0]]


@compiled
def _take_back(branching, served_by):
    """Take the choice that was made at a branching back."""
    point = branching.point
    served_by[point, slot_of(served_by[point]) - 1] = -1


@inlined
def _branch(instance, node, work, n, cutoff, known, alone, closing, counts):
    """Try who may serve the most violated points, and return the branching on the best of them.

    The best has the smallest estimated subtrees; one with a choice at most is taken at once. None
    is returned where a metric at hand exceeds the cut-off.
    """
    rules, child, apart, N = instance.rules, work.child, instance.classes.apart, len(node.state)
    best, best_size = _nothing(node), np.inf
    # Without a cut-off sizes are estimated as if there were one this far below.
    floor = max(cutoff, objective(work.program, work.vertex) - instance.table.dmax)
    points = violated(instance.classes, rules, node, work)
    if _exceeds(instance, work, cutoff):
        return best
    codes = worth_keeping(work, n, NEARLY_TIGHT)
    for i in points[:CANDIDATES]:
        choices, bases = np.empty(N, np.int64), np.empty((N, len(child.x)), np.int64)
        leaning, size, found = np.zeros(N, np.bool_), 0.0, 0
        leaning[i] = True
        near = nearest_fences(apart[i], rules, node.state, work.d[i])
        for j in choices_of(rules, node, work.d[i], i, 0.0):
            if size >= best_size:
                break
            if is_known(known, node.state, cutoff, i, j, leaning):
                continue
            status, bound = try_choice(instance, node, work, n, i, j, near, cutoff, closing, counts)
            if status in (CUT_OFF, INFEASIBLE):
                if alone:
                    get_to_know(instance, work, status, cutoff, known, i, j)
                lean_on(instance, work, child, status, leaning)
                continue
            above = bound - floor if status == OPTIMAL else instance.table.dmax
            size += max(above, 0.0) ** GROWTH + LEAST_SIZE
            choices[found] = j
            named(work.codes, child, bases[found])
            found += 1
        if size < best_size:
            best_size = size
            best = Branching(
                i, choices[:found], bases[:found], np.zeros(1, np.int64), leaning, codes
            )
            if found <= 1:
                break
    return best
