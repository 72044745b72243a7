"""The model of `by_hand.nearest` with big-M and without a loss, in other modelling interfaces.

Each writer takes a data set and d_min and returns the model of its library, with the same variables
and rows: linear + quadratic + bounded + nearest + bigm, S0 of the mathematics.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

from mlmio import Dataset


@dataclass(frozen=True)
class Instance:
    """The numbers of the model.

    `pairs` are i < j with features `phi` and least distances `least`; `co` and `non` are the
    ordered pairs of the same and of different classes, and `pair_of` numbers a pair.
    """

    N: int
    pairs: np.ndarray
    pair_of: np.ndarray
    phi: np.ndarray
    least: np.ndarray
    co: np.ndarray
    non: np.ndarray


def instance(data: Dataset, dmin: float) -> Instance:
    """Compute the numbers of the model."""
    N, X, y = data.N, data.X, data.y
    pairs = np.column_stack(np.triu_indices(N, 1))
    pair_of = np.zeros((N, N), dtype=int)
    pair_of[pairs[:, 0], pairs[:, 1]] = pair_of[pairs[:, 1], pairs[:, 0]] = np.arange(len(pairs))
    delta = X[pairs[:, 0]] - X[pairs[:, 1]]
    entries = combinations_with_replacement(range(data.D), 2)
    products = [delta[:, p] * delta[:, q] * (1 if p == q else 2) for p, q in entries]
    together = y[:, None] == y[None, :]
    return Instance(
        N,
        pairs,
        pair_of,
        np.column_stack([np.abs(delta), *products]),
        np.where(together[pairs[:, 0], pairs[:, 1]], 0.0, dmin),
        np.argwhere(together & ~np.eye(N, dtype=bool)),
        np.argwhere(~together),
    )


def in_pyscipopt(data: Dataset, dmin: float) -> Any:
    from pyscipopt import Model, quicksum

    given = instance(data, dmin)
    m = Model()
    theta = [m.addVar(lb=None, ub=None) for _ in range(given.phi.shape[1])]
    d = [m.addVar(lb=least, ub=1) for least in given.least.tolist()]
    y = {pair: m.addVar(vtype="B") for pair in map(tuple, given.co.tolist())}
    s = [m.addVar(lb=0, ub=1) for _ in range(given.N)]
    margin = m.addVar(lb=None, ub=1)
    for row, distance in zip(given.phi.tolist(), d, strict=True):
        m.addCons(quicksum(f * t for f, t in zip(row, theta, strict=True)) - distance == 0)
    for i in range(given.N):
        m.addCons(quicksum(choice for (a, _), choice in y.items() if a == i) == 1)
    for i, k in given.non.tolist():
        m.addCons(s[i] + margin - d[given.pair_of[i, k]] <= 0)
    for (i, j), choice in y.items():
        m.addCons(s[i] - d[given.pair_of[i, j]] - choice >= -1)
    m.setObjective(margin, sense="maximize")
    return m


def in_gurobipy(data: Dataset, dmin: float) -> Any:
    import gurobipy as gp
    from gurobipy import GRB

    given = instance(data, dmin)
    m = gp.Model(env=gp.Env(params={"OutputFlag": 0}))
    free = -GRB.INFINITY
    theta = m.addMVar(given.phi.shape[1], lb=free)
    d = m.addMVar(len(given.pairs), lb=given.least, ub=1)
    y = m.addMVar(len(given.co), vtype="B")
    s = m.addMVar(given.N, ub=1)
    margin = m.addMVar(1, lb=free, ub=1)
    m.addConstr(given.phi @ theta - d == 0)
    for i in range(given.N):
        m.addConstr(y[given.co[:, 0] == i].sum() == 1)
    i, k = given.non.T
    m.addConstr(s[i] + margin - d[given.pair_of[i, k]] <= 0)
    i, j = given.co.T
    m.addConstr(s[i] - d[given.pair_of[i, j]] - y >= -1)
    m.setObjective(margin.sum(), GRB.MAXIMIZE)
    m.update()
    return m


def in_linopy(data: Dataset, dmin: float) -> Any:
    import linopy
    import pandas as pd
    import xarray as xr

    given = instance(data, dmin)
    m = linopy.Model()
    axes = {
        name: pd.RangeIndex(size, name=name)
        for name, size in (
            ("entry", given.phi.shape[1]),
            ("pair", len(given.pairs)),
            ("co", len(given.co)),
            ("non", len(given.non)),
            ("point", given.N),
        )
    }
    theta = m.add_variables(coords=[axes["entry"]], name="theta")
    least = xr.DataArray(given.least, coords=[axes["pair"]])
    d = m.add_variables(lower=least, upper=1, coords=[axes["pair"]], name="d")
    y = m.add_variables(binary=True, coords=[axes["co"]], name="y")
    s = m.add_variables(lower=0, upper=1, coords=[axes["point"]], name="s")
    margin = m.add_variables(upper=1, name="margin")

    def at(variable: Any, dim: str, rows: np.ndarray, over: str) -> Any:
        chosen = variable.isel({dim: rows}).rename({dim: over})
        return chosen.assign_coords({over: axes[over]})

    phi = xr.DataArray(given.phi, coords=[axes["pair"], axes["entry"]])
    m.add_constraints((phi * theta).sum("entry") - d == 0, name="define")
    of = xr.DataArray(given.co[:, 0], coords=[axes["co"]], name="point")
    m.add_constraints((1 * y).groupby(of).sum() == 1, name="choose")
    i, k = given.non.T
    rest = at(s, "point", i, "non") - at(d, "pair", given.pair_of[i, k], "non")
    m.add_constraints(rest + margin <= 0, name="separate")
    i, j = given.co.T
    rest = at(s, "point", i, "co") - at(d, "pair", given.pair_of[i, j], "co")
    m.add_constraints(rest - y >= -1, name="above")
    m.add_objective(1 * margin, sense="max")
    return m
