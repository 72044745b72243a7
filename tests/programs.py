"""The solvers that there are, and little programs for them."""

from __future__ import annotations

import time
from importlib.metadata import entry_points

import numpy as np
import pyomo.environ as pyo
import pytest

from mlmio.registry import solvers as registry

NAMES = sorted({point.name for point in entry_points(group="mlmio.solvers")})

# What a solver may take beyond its time limit.
LATE = 2.0


def installed(name):
    adapter = registry.get(name)()
    if adapter.version() is None:
        pytest.skip(f"{name} is not installed: {adapter.install}")
    return adapter


def those(feature=None, problem_class=None):
    """Parametrise over the solvers that have a feature or take a class of problem."""
    able = [
        name
        for name in NAMES
        if feature in {None, *registry.get(name).features}
        and problem_class in {None, *registry.get(name).classes}
    ]
    return pytest.mark.parametrize("solver", able, indirect=True)


def small(sense=pyo.maximize):
    """Optimum 11.5 at (1.5, 2), or −4 at (1, −4)."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(bounds=(0, 3))
    model.y = pyo.Var(domain=pyo.Integers, bounds=(-4, 4))
    model.row = pyo.Constraint(expr=(-7, model.x + 2 * model.y, 5.5))
    model.goal = pyo.Objective(expr=model.x + 2.5 * model.y + 5, sense=sense)
    return model


def market_split(slack):
    """Split 40 products evenly in 5 ways at once: beyond every branch and bound.

    Without slack no solution is ever found; with it there always is one, and never the best.
    """
    weights = np.random.default_rng(1).integers(0, 100, (5, 40))
    half = weights.sum(axis=1) // 2
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(40), domain=pyo.Binary)
    model.over = pyo.Var(range(5), bounds=(0, None if slack else 0))
    model.under = pyo.Var(range(5), bounds=(0, None if slack else 0))
    model.split = pyo.Constraint(
        range(5),
        rule=lambda m, i: (
            sum(int(weights[i, j]) * m.x[j] for j in range(40)) + m.over[i] - m.under[i]
            == int(half[i])
        ),
    )
    model.goal = pyo.Objective(expr=sum(model.over.values()) + sum(model.under.values()))
    return model


def values(model):
    """Values of all variables."""
    return [v.value for v in model.component_data_objects(pyo.Var)]


def limited(solver, model, options):
    """The answer of a solve, which ends in time."""
    began = time.perf_counter()
    answer = solver.solve(model, options)
    assert time.perf_counter() - began < options.time_limit + LATE
    return answer
