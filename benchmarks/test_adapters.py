"""Overhead of each adapter beyond the solver's own time: translating, handing over, reading back.

The clock of these benchmarks stands still while the solver itself works, so that what they show
is the overhead. The relaxation is solved for 24 points; for 150 the solver is soon stopped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from time import perf_counter
from typing import Any

import pyomo.environ as pyo
import pytest

import mlmio
from mlmio.registry import solvers as registry
from mlmio.solvers import executable, scip
from mlmio.solvers.base import Options

NAMES = ("cbc", "glpk", "gurobi", "highs", "scip")


class Clock:
    """Counts the seconds in which no solver works."""

    def __init__(self) -> None:
        self.own = 0.0

    def __call__(self) -> float:
        return perf_counter() - self.own

    def stopped_in(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(*args: Any, **words: Any) -> Any:
            began = perf_counter()
            try:
                return function(*args, **words)
            finally:
                self.own += perf_counter() - began

        return call


CLOCK = Clock()


@pytest.fixture(params=NAMES)
def solver(request, monkeypatch):
    adapter = registry.get(request.param)()
    if adapter.version() is None:
        pytest.skip(f"{adapter.name} is not installed: {adapter.install}")
    if adapter.name == "highs":
        import highspy

        monkeypatch.setattr(highspy.Highs, "run", CLOCK.stopped_in(highspy.Highs.run))
    elif adapter.name == "gurobi":
        import gurobipy

        optimize = CLOCK.stopped_in(gurobipy.Model.optimize)
        monkeypatch.setattr(
            gurobipy, "Model", type("Model", (gurobipy.Model,), {"optimize": optimize})
        )
    monkeypatch.setattr(scip, "_optimize", CLOCK.stopped_in(scip._optimize))
    monkeypatch.setattr(executable, "run_command", CLOCK.stopped_in(executable.run_command))
    return adapter


def model(points):
    data = mlmio.load_dataset("iris", per_class=points // 3, seed=0)
    built = mlmio.compose("linear + quadratic + nearest + bigm").build(data)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(built)
    return built


@pytest.mark.benchmark(timer=CLOCK, group="adapter, 24 points")
def test_overhead_24(benchmark, solver):
    built = model(24)
    answer = benchmark.pedantic(solver.solve, (built, Options()), rounds=5, warmup_rounds=1)
    assert answer.status == "optimal"


@pytest.mark.benchmark(timer=CLOCK, group="adapter, 150 points")
def test_overhead_150(benchmark, solver):
    built = model(150)
    options = Options(time_limit=2.0)
    answer = benchmark.pedantic(solver.solve, (built, options), rounds=2)
    assert answer.status in ("optimal", "feasible", "no_incumbent", "error")
