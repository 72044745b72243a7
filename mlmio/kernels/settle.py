"""The best choice of servers and of points to give up under fixed distances."""

from __future__ import annotations

import numpy as np

from mlmio.kernels.compiling import compiled, inlined, leaf
from mlmio.kernels.rows import GIVEN_UP, KEPT, LEFT_OUT, VIOLATED, nearest_fence


@leaf
def serve(together, serving, state, d, served_by):
    """Write the nearest points that may serve; returns the distance of the last, or inf."""
    for t in range(len(served_by)):
        served_by[t] = -1
    reach = np.inf
    for t in range(len(served_by)):
        best, at = -1, np.inf
        for j in range(len(d)):
            if d[j] < at and together[j] and (serving or state[j] != GIVEN_UP):
                taken = False
                for s in range(t):
                    taken = taken or served_by[s] == j
                if not taken:
                    best, at = j, d[j]
        served_by[t] = best
        reach = at
    return reach


@leaf
def separations(classes, rules, state, d, served_by, separation):
    """Write s_i's best servers and what each point allows λ to be; returns the least.

    Points that are given up allow what the semantics leaves of their rows.
    """
    together, apart = classes.together, classes.apart
    least = np.inf
    for i in range(len(state)):
        fence_at = nearest_fence(apart[i], rules.others, state, d[i])[1]
        reach = 0.0
        for t in range(rules.k):
            served_by[i, t] = -1
        if state[i] != GIVEN_UP and state[i] != LEFT_OUT:
            reach = serve(together[i], rules.serving, state, d[i], served_by[i])
        elif rules.own:
            fence_at = np.inf
        separation[i] = -np.inf if reach == np.inf else fence_at - reach
        least = min(least, separation[i])
    return least


@compiled
def settle(classes, rules, dmax, fixed, d, state, served_by, separation):
    """Choose who is given up and who serves under distances d, for the best λ − ρ Σ z.

    Exact where it is fixed who is given up and for ``excuse``, whose points are given up in the
    order of their separations; for the other semantics a greedy choice: of the point that allows
    least and its nearest fence, the one without which λ grows more.

    Parameters
    ----------
    classes, rules, dmax
        Of the instance.
    fixed : (N,) array of int
        What must hold: ``GIVEN_UP`` or ``KEPT``, ``OPEN`` where there is a choice.
    d : (N, N) array
        Distances.
    state, served_by, separation : arrays, filled
        The choice, as every point kept or given up; its servers; its separations.

    Returns
    -------
    float
        λ − ρ Σ z, −inf where points may be given up and λ would be negative all the same.
    """
    y, price = classes.y, rules.price
    left = classes.sizes.copy()
    given_up = 0
    for i in range(len(fixed)):
        state[i] = KEPT
        if fixed[i] == GIVEN_UP:
            state[i] = GIVEN_UP
            left[y[i]] -= 1
            given_up += 1
    least = separations(classes, rules, state, d, served_by, separation)
    if not rules.may_give_up:
        return min(least, dmax) - price * given_up
    best = -np.inf
    best_state = state.copy()
    while True:
        value = min(least, dmax) - price * given_up
        if least >= -VIOLATED and value > best:
            best = value
            best_state[:] = state
        if least >= dmax or dmax - price * (given_up + 1) <= best:
            break
        i = _next_to_give_up(classes, rules, fixed, d, state, separation, left)
        if i < 0:
            break
        state[i] = GIVEN_UP
        left[y[i]] -= 1
        given_up += 1
        if rules.others or not rules.serving:
            least = separations(classes, rules, state, d, served_by, separation)
        else:
            separation[i] = np.inf
            least = separation.min()
    state[:] = best_state
    separations(classes, rules, state, d, served_by, separation)
    return best


@inlined
def _next_to_give_up(classes, rules, fixed, d, state, separation, left):
    """Return the point to give up next, −1 where there is none."""
    i = np.argmin(separation)
    fence = -1
    if rules.others:
        fence = nearest_fence(classes.apart[i], rules.others, state, d[i])[0]
    served_by, without = np.empty((len(state), rules.k), np.int64), np.empty(len(state))
    best, best_least = -1, -np.inf
    # Without relief of its own rows giving i up does not help it.
    for point in (i if rules.own else -1, fence):
        if point < 0 or state[point] == GIVEN_UP or fixed[point] == KEPT:
            continue
        if left[classes.y[point]] <= rules.keep:
            continue
        if not rules.others:
            return point
        state[point] = GIVEN_UP
        least = separations(classes, rules, state, d, served_by, without)
        state[point] = KEPT
        if best < 0 or least > best_least:
            best, best_least = point, least
    return best
