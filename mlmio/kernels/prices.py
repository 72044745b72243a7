"""What giving up undecided points costs at least, as cuts.

Where a point that is given up relieves the rows of others, a row counts only once its points are
decided, and nothing would hold λ before. But the row of i and k charges for what it is short of:
s_i + λ − d_ik ≤ M_ik (z_i + z_k), with the left side at most M_ik. Rows that share no undecided
point add up, so that the price ζ = ρ Σ z of all points given up, a column, satisfies

    ζ ≥ ρ (points given up) + Σ ρ (s_i + λ − d_ik) / M_ik

over any such rows: the largest are taken, greedily, which is a matching of at least half the
largest weight. Where nothing is known of s_i it is 0.
"""

from __future__ import annotations

import numpy as np

from mlmio.kernels.rows import FIRST_OF_CUTS, GIVEN_UP, KEPT, OPEN, count
from mlmio.kernels.simplex import inlined, leaf

# Rows that are short of less than this share of M_ik are not worth a place.
LEAST_WEIGHT = 1e-6


@leaf
def _charges(rules, state, used, i, k):
    """Whether an undecided point relieves the row of i and k, that is not charged for yet."""
    if state[k] == GIVEN_UP or (rules.own and state[i] == GIVEN_UP):
        return False
    if (state[k] == OPEN and used[k]) or (rules.own and state[i] == OPEN and used[i]):
        return False
    return state[k] == OPEN or (rules.own and state[i] == OPEN)


@leaf
def _server(rules, state, served_by, i):
    """Return the last point that is known to serve i, −1 where none is."""
    return served_by[i, rules.k - 1] if state[i] == KEPT else -1


@leaf
def _largest(table, i, k, j):
    """Return M_ik: the most that a row can be short of, with a server or without."""
    return (1.0 if j < 0 else 2.0) * table.dmax - table.least[i, k]


@inlined
def find_cut(table, apart, rules, state, served_by, all_d, x, cut):
    """Write the cut of those rows that charge most at a point of the program.

    It holds below the node too, whatever is decided there.

    Parameters
    ----------
    table, apart, rules, state, served_by
        Of the node.
    all_d : (N, N) array
        Distances at the point.
    x : (m,) array
        The point.
    cut : (m + 1,) array, filled
        Coefficients and right-hand side.

    Returns
    -------
    float
        What ζ must be at the point.
    """
    features, (N, P, _), m = table.features, table.features.shape, len(x)
    used = np.zeros(N, np.bool_)
    weights, rows = _short(table, apart, rules, state, used, served_by, all_d, x[m - 1])
    cut[:] = 0.0
    cut[m - 2] = -1.0
    price = rules.price * count(state, GIVEN_UP)
    cut[m] = -price
    for place in np.argsort(weights):
        i, k, j = rows[place]
        if not _charges(rules, state, used, i, k):
            continue
        used[k] = True
        used[i] = used[i] or rules.own
        price -= weights[place] * rules.price
        share = rules.price / _largest(table, i, k, j)
        cut[m - 1] += share
        for p in range(P):
            cut[p] -= share * features[i, p, k]
            if j >= 0:
                cut[p] += share * features[i, p, j]
    return price


@inlined
def _short(table, apart, rules, state, used, served_by, all_d, margin):
    """Return by how much rows that charge are short, negative and as shares of M, and the rows."""
    N = len(state)
    weights, rows = np.empty(2 * N * N), np.empty((2 * N * N, 3), np.int64)
    found = 0
    for i in range(N):
        d, server = all_d[i], _server(rules, state, served_by, i)
        for k in range(N):
            if not apart[i, k] or not _charges(rules, state, used, i, k):
                continue
            for known in range(1 if server < 0 else 2):
                j = server if known else -1
                # Without a server a row that both points relieve is that of k and i as well.
                if j < 0 and rules.own and k < i:
                    continue
                largest = _largest(table, i, k, j)
                short = margin - d[k] + (d[j] if j >= 0 else 0.0)
                if short > LEAST_WEIGHT * largest:
                    weights[found] = -short / largest
                    rows[found, 0], rows[found, 1], rows[found, 2] = i, k, j
                    found += 1
    return weights[:found], rows[:found]


@leaf
def take_in_cut(program, codes, n, cut, number):
    """Add a cut to the rows at hand; returns how many there are then."""
    A, b = program.A, program.b
    if n >= len(b):
        return n
    m = len(A)
    square = 0.0
    for p in range(m):
        A[p, n] = cut[p]
        square += cut[p] * cut[p]
    b[n] = cut[m]
    program.scale[n] = 1.0 / np.sqrt(square)
    codes[n] = FIRST_OF_CUTS + number
    return n + 1
