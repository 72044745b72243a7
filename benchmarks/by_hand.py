"""The same models written directly in Pyomo, with the same variables and rows.

What a researcher would write without mlmio: plain loops and rules, nothing clever and nothing
slow. `benchmarks/test_build.py` checks that the counts agree and compares the times.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr import LinearExpression

from mlmio import Dataset


def nearest(data: Dataset, *, mccormick: bool, rho: float | None, dmin: float) -> pyo.ConcreteModel:
    """linear + quadratic + bounded + nearest, with bigm or mccormick, and outliers (remove)."""
    N, X, y = data.N, data.X, data.y.tolist()
    points = range(N)
    co = [[j for j in points if j != i and y[j] == y[i]] for i in points]
    co_pairs = [(i, j) for i in points for j in co[i]]
    non_pairs = [(i, k) for i in points for k in points if y[k] != y[i]]
    m = pyo.ConcreteModel()
    _distances(m, X, y, dmin)

    def d(i: int, j: int) -> pyo.Var:
        return m.d[i, j] if i < j else m.d[j, i]

    m.y = pyo.Var(co_pairs, domain=pyo.Binary)
    m.s = pyo.Var(points, bounds=(0, 1))
    m.margin = pyo.Var(bounds=(0 if rho else None, 1))
    if rho:
        m.z = pyo.Var(points, domain=pyo.Binary)
        m.floor = pyo.Constraint(
            range(data.n_classes),
            rule=lambda m, c: sum(1 - m.z[i] for i in points if y[i] == c) >= 2,
        )
        m.serve = pyo.Constraint(co_pairs, rule=lambda m, i, j: m.y[i, j] + m.z[j] <= 1)
        m.choose = pyo.Constraint(
            points, rule=lambda m, i: sum(m.y[i, j] for j in co[i]) == 1 - m.z[i]
        )
        big = 2 - dmin
        m.separate = pyo.Constraint(
            non_pairs,
            rule=lambda m, i, k: m.s[i] + m.margin - d(i, k) - big * (m.z[i] + m.z[k]) <= 0,
        )
        m.objective = pyo.Objective(
            expr=m.margin - rho * sum(m.z[i] for i in points), sense=pyo.maximize
        )
    else:
        m.choose = pyo.Constraint(points, rule=lambda m, i: sum(m.y[i, j] for j in co[i]) == 1)
        m.separate = pyo.Constraint(
            non_pairs, rule=lambda m, i, k: m.s[i] + m.margin - d(i, k) <= 0
        )
        m.objective = pyo.Objective(expr=m.margin, sense=pyo.maximize)
    if mccormick:
        m.w = pyo.Var(co_pairs, bounds=(0, 1))
        m.w1 = pyo.Constraint(co_pairs, rule=lambda m, i, j: m.w[i, j] - d(i, j) <= 0)
        m.w2 = pyo.Constraint(co_pairs, rule=lambda m, i, j: m.w[i, j] - m.y[i, j] <= 0)
        m.w3 = pyo.Constraint(co_pairs, rule=lambda m, i, j: m.w[i, j] - d(i, j) - m.y[i, j] >= -1)
        m.reach = pyo.Constraint(points, rule=lambda m, i: m.s[i] == sum(m.w[i, j] for j in co[i]))
    else:
        m.above = pyo.Constraint(co_pairs, rule=lambda m, i, j: m.s[i] - d(i, j) - m.y[i, j] >= -1)
    return m


def _distances(m: pyo.ConcreteModel, X: np.ndarray, y: list[int], dmin: float) -> None:
    """θ, d_ij and their defining rows."""
    N, D = X.shape
    entries = list(combinations_with_replacement(range(D), 2))
    m.a = pyo.Var(range(D))
    m.B = pyo.Var(entries)
    theta = [*m.a.values(), *m.B.values()]
    pairs = list(combinations(range(N), 2))
    m.d = pyo.Var(pairs, bounds=lambda m, i, j: (dmin if y[i] != y[j] else 0, 1))

    def define(m: pyo.ConcreteModel, i: int, j: int) -> tuple:
        delta = (X[i] - X[j]).tolist()
        phi = [abs(value) for value in delta]
        phi += [delta[p] * delta[q] * (1 if p == q else 2) for p, q in entries]
        body = LinearExpression(linear_coefs=[*phi, -1], linear_vars=[*theta, m.d[i, j]])
        return (0, body, 0)

    m.define = pyo.Constraint(pairs, rule=define)
