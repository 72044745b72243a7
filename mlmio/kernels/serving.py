"""What a node allows once it is decided who serves one of its points, or two of them."""

from __future__ import annotations

import numpy as np

from mlmio.kernels.choosing import nearest_fences, try_choice
from mlmio.kernels.compiling import compiled, inlined
from mlmio.kernels.node import slot_of
from mlmio.kernels.programs import load, solve_node
from mlmio.kernels.rows import GIVEN_UP, KEPT, count
from mlmio.kernels.simplex import CUT_OFF, INFEASIBLE, LEANING, OPTIMAL, objective


@compiled
def bound_choices(instance, node, work, bounds, closing, counts):
    """Raise the bounds of all choices to what a node of the search allows.

    Over the rows that the node needs and those of its own point, each is a relaxation.

    Parameters
    ----------
    instance : Instance
        Whose points that are given up relieve none but their own rows.
    node : Node
    work : Work
    bounds : (N, N + 1) array
        Of the objective if j serves i and, in the last column, if i is given up; raised.
    closing : Closing
        Memory for a witness.
    counts : (3,) array of int
        Linear programs, steps and rows, added to.
    """
    rules, state, served_by = instance.rules, node.state, node.served_by
    N, bound, price = len(state), node.bound, rules.price * count(state, GIVEN_UP)
    n = load(instance, node, work, served_by)
    solved, n = solve_node(instance, state, served_by, work, n, -np.inf, counts)
    if solved == INFEASIBLE:
        return
    if solved == OPTIMAL:
        bound = min(bound, objective(work.program, work.vertex) - price)
    for i in range(N):
        if rules.may_give_up and state[i] != KEPT:
            bounds[i, N] = max(bounds[i, N], bound)
        for j in served_by[i]:
            if j >= 0:
                bounds[i, j] = max(bounds[i, j], bound)
        if state[i] == GIVEN_UP or slot_of(node.served_by[i]) == rules.k:
            continue
        near = nearest_fences(instance.classes.apart[i], rules, state, work.d[i])
        for j in range(N):
            if not node.allowed[i, j] or bounds[i, j] >= bound:
                continue
            status, reached = solved, np.inf
            if solved in (OPTIMAL, LEANING):
                cutoff = bounds[i, j] + price
                status, reached = try_choice(
                    instance, node, work, n, i, j, near, cutoff, closing, counts
                )
            if status not in (CUT_OFF, INFEASIBLE):
                reached = reached - price if status == OPTIMAL else bound
                bounds[i, j] = max(bounds[i, j], min(bound, reached))


@compiled
def solve_choices(instance, root, work, bounds, counts):
    """Solve the program of every choice to the end.

    Parameters
    ----------
    instance : Instance
        Without a price.
    root : Node
        With nobody served.
    work : Work
    bounds : (N, N) array
        Of the objective if j serves i; set, but where j may not.
    counts : (3,) array of int
        Linear programs, steps and rows, added to.
    """
    N = len(bounds)
    state, served_by = root.state.copy(), root.served_by.copy()
    for i in range(N):
        if state[i] == GIVEN_UP:
            continue
        before, state[i] = state[i], KEPT
        for j in range(N):
            if root.allowed[i, j]:
                served_by[i, 0] = j
                reached = _reach(instance, root, work, state, served_by, -np.inf, counts)
                bounds[i, j] = min(root.bound, reached)
        served_by[i, 0] = -1
        state[i] = before


@inlined
def _reach(instance, root, work, state, served_by, cutoff, counts):
    """Bound the objective with some points served; −inf where it is not above a cut-off."""
    n = load(instance, root, work, served_by)
    status, n = solve_node(instance, state, served_by, work, n, cutoff, counts)
    if status in (CUT_OFF, INFEASIBLE):
        return -np.inf
    return objective(work.program, work.vertex) if status == OPTIMAL else np.inf


@compiled
def find_conflicts(instance, root, work, margins, least, compatible, counts):
    """Clear the pairs of points that no metric serves both with a margin above the least.

    Parameters
    ----------
    instance : Instance
        Without a price.
    root : Node
        With nobody served.
    work : Work
    margins : (N, N) array
        Bounds of λ if j serves i.
    least : float
        Choices and pairs of choices whose bound is not above it do not count.
    compatible : (N, N) array of bool
        Which pairs may both be served; set.
    counts : (3,) array of int
        Linear programs, steps and rows, added to.
    """
    N = len(margins)
    compatible[:] = False
    for i in range(N):
        for k in range(i):
            if not compatible[i, k]:
                _find_metric(instance, root, work, margins, least, compatible, i, k, counts)


@inlined
def _find_metric(instance, root, work, margins, least, compatible, i, k, counts):
    """Look for a metric that serves two points, and note all pairs that it serves."""
    state, served_by = root.state.copy(), root.served_by.copy()
    state[i], state[k] = KEPT, KEPT
    for j in np.argsort(-margins[i]):
        if margins[i, j] <= least:
            return
        served_by[i, 0] = j
        for other in np.argsort(-margins[k]):
            if margins[k, other] <= least:
                break
            served_by[k, 0] = other
            if _reach(instance, root, work, state, served_by, least, counts) > least:
                compatible[i, k], compatible[k, i] = True, True
                _note_served(instance.classes, work.d, compatible)
                return


@compiled
def _note_served(classes, d, compatible):
    """Note all pairs of points that are nearer to one of their class than to any other."""
    N = len(d)
    served = np.zeros(N, np.bool_)
    for i in range(N):
        near, far = np.inf, np.inf
        for j in range(N):
            if classes.together[i, j]:
                near = min(near, d[i, j])
            elif classes.apart[i, j]:
                far = min(far, d[i, j])
        served[i] = near < far
    for i in range(N):
        for k in range(N):
            if served[i] and served[k]:
                compatible[i, k] = True
