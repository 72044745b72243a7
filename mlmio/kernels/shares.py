"""Programs in which points are given up in part: what a margin costs at least.

Beside the columns of the instance they have a share z_i of 0 to 1 for each point, before λ.
"""

from __future__ import annotations

import numpy as np

from mlmio.kernels.compiling import compiled, leaf
from mlmio.kernels.programs import solve_node, take_in_code
from mlmio.kernels.rows import VIOLATED, clear_row, scale_row
from mlmio.kernels.simplex import LEANING, OPTIMAL, begin


@compiled
def begin_with(instance, work, served_by, codes):
    """Take in rows by their codes; returns how many there are."""
    n = np.int64(0)
    for code in codes:
        n = take_in_code(instance.table, served_by, work.program, work.codes, n, code)
    work.scratch.few.held[0] = 0
    begin(work.program, work.vertex, work.scratch)
    return n


@compiled
def solve_shares(instance, work, served_by, n, most, cores, cutoff, counts):
    """Solve the program with every row that is violated, from the vertex at hand.

    Parameters
    ----------
    instance : Instance
        With shares among its columns.
    work : Work
    served_by : (N, k) array of int
        Nobody serves anyone.
    n : int
        Rows at hand.
    most : float
        What λ does not exceed: a point that is given up is relieved of so much, less the least
        distance.
    cores : (C, N) array of bool
        Points of which one at least is given up.
    cutoff : float
        For the objective.
    counts : (3,) array of int
        Linear programs, steps and rows, added to.

    Returns
    -------
    (int, int)
        What the simplex method ended with, and how many rows are at hand.
    """
    while True:
        status, n = solve_node(instance, instance.fixed, served_by, work, n, cutoff, counts)
        if status not in (OPTIMAL, LEANING):
            return status, n
        before = n
        n = _take_in_fences(instance, work, n, most)
        n = _take_in_cores(work, n, cores)
        counts[2] += n - before
        if n == before:
            return status, n


@leaf
def _take_in_fences(instance, work, n, most):
    """Add, for every point i, the row λ ≤ d_ik + M z that is violated most.

    The share is that of whom the row is relieved by: of i, of k, or of both.
    """
    least, apart, rules = instance.table.least, instance.classes.apart, instance.rules
    x, all_d = work.vertex.x, work.d
    features, program = instance.table.features, work.program
    N, P, _ = features.shape
    m = len(x)
    shares = m - 1 - N
    for i in range(N):
        fence, worst = -1, VIOLATED
        for k in range(N):
            if not apart[i, k]:
                continue
            share = 0.0
            if rules.own:
                share += x[shares + i]
            if rules.others:
                share += x[shares + k]
            lack = x[m - 1] - all_d[i, k] - max(most - least[i, k], 0.0) * share
            if lack > worst:
                fence, worst = k, lack
        if fence < 0 or n >= len(program.b):
            continue
        relief = max(most - least[i, fence], 0.0)
        clear_row(program, n)
        for p in range(P):
            program.A[p, n] = -features[i, p, fence]
        program.A[m - 1, n] = 1.0
        if rules.own:
            program.A[shares + i, n] = -relief
        if rules.others:
            program.A[shares + fence, n] = -relief
        scale_row(program, n)
        n += 1
    return n


@leaf
def _take_in_cores(work, n, cores):
    """Add the rows Σ z ≥ 1 over cores that are violated."""
    program, x = work.program, work.vertex.x
    N, m = cores.shape[1], len(x)
    shares = m - 1 - N
    for c in range(len(cores)):
        given_up = 0.0
        for i in range(N):
            if cores[c, i]:
                given_up += x[shares + i]
        if given_up >= 1.0 - VIOLATED or n >= len(program.b):
            continue
        clear_row(program, n)
        for i in range(N):
            if cores[c, i]:
                program.A[shares + i, n] = -1.0
        program.b[n] = -1.0
        scale_row(program, n)
        n += 1
    return n
