"""Incumbent and bound over time, of every solver and of every strategy."""

from __future__ import annotations

from itertools import pairwise

import pyomo.environ as pyo
import pytest
from programs import market_split, small, those

import mlmio
from mlmio.registry import strategies
from mlmio.solvers.base import Options
from mlmio.verification import tolerance_of

SPEC = "linear + quadratic + nearest + bigm"
WITHOUT_SOLVER = [
    name for name, cls in sorted(strategies.available().items()) if not cls.needs_solver
]
WITH_SOLVER = [name for name in sorted(strategies.available()) if name not in WITHOUT_SOLVER]


@pytest.fixture(scope="module")
def data():
    return mlmio.load_dataset("iris", per_class=3, seed=0)


def hold(trajectory, objective, bound, sign=1.0):
    """Hold a trajectory to what it promises; `sign` is −1 for a minimisation."""
    seconds = [moment.seconds for moment in trajectory]
    assert seconds[0] >= 0
    assert all(a < b for a, b in pairwise(seconds))
    incumbents = [sign * m.incumbent for m in trajectory if m.incumbent is not None]
    bounds = [sign * m.bound for m in trajectory if m.bound is not None]
    assert incumbents == sorted(incumbents)
    assert bounds == sorted(bounds, reverse=True)
    for kind in ("incumbent", "bound"):
        known = [getattr(moment, kind) is not None for moment in trajectory]
        assert known == sorted(known)
    for moment in trajectory:
        if moment.incumbent is not None and moment.bound is not None:
            slack = tolerance_of(moment.incumbent)
            assert sign * moment.incumbent <= sign * moment.bound + slack
    assert (trajectory[-1].incumbent, trajectory[-1].bound) == (objective, bound)


# Solvers


@those("trajectory")
def test_incumbents_and_bounds_are_told_on_the_way(solver):
    answer = solver.solve(market_split(slack=True), Options(time_limit=2.0))
    hold(answer.trajectory, answer.objective, answer.bound, sign=-1.0)
    assert len(answer.trajectory) > 2
    assert answer.trajectory[0].seconds < 1.0
    assert answer.trajectory[-1].seconds < 4.0
    assert any(moment.incumbent is not None for moment in answer.trajectory[:-1])
    assert any(moment.bound is not None for moment in answer.trajectory[:-1])


@pytest.mark.parametrize("sense", [pyo.maximize, pyo.minimize])
def test_ends_with_the_answer(solver, sense):
    answer = solver.solve(small(sense), Options())
    hold(answer.trajectory, answer.objective, answer.bound, 1.0 if sense == pyo.maximize else -1.0)


def test_without_a_solution_there_is_no_incumbent(solver):
    answer = solver.solve(market_split(slack=False), Options(time_limit=1.0))
    hold(answer.trajectory, None, answer.bound, sign=-1.0)


# Strategies


@pytest.mark.parametrize("strategy", WITH_SOLVER)
def test_of_a_strategy_with_each_solver(solver, strategy, data):
    result = mlmio.solve(SPEC, data, solver.name, strategy, time_limit=20)
    hold(result.trajectory, result.objective, result.bound)
    assert result.trajectory[-1].seconds <= result.solve_s
    assert len(result.trajectory) > 1


@pytest.mark.parametrize("strategy", WITHOUT_SOLVER)
@pytest.mark.parametrize("loss", ["", " + outliers(rho=0.05)"])
def test_of_a_strategy_without_a_solver(strategy, loss, data):
    result = mlmio.solve(SPEC + loss, data, strategy=strategy, time_limit=20)
    hold(result.trajectory, result.objective, result.bound)
    assert result.trajectory[-1].seconds <= result.solve_s
    assert result.trajectory[0].incumbent is None
    assert len(result.trajectory) > 1


def test_of_alternation_before_a_whole_model(data):
    result = mlmio.solve("linear + quadratic + nearest + hinge(margin=0.5)", data, time_limit=20)
    assert result.message.startswith("alternating: 9 points, then direct")
    hold(result.trajectory, result.objective, result.bound)
    assert result.trajectory[0].seconds < result.trajectory[-1].seconds <= result.solve_s


def test_of_a_linear_program_there_is_the_end_alone(data):
    result = mlmio.solve("quadratic + unbounded + diagonal + lmnn(k=2)", data, "highs")
    assert result.problem_class == "LP"
    hold(result.trajectory, result.objective, result.bound)
    assert len(result.trajectory) == 1


def test_table_stays_flat(data):
    result = mlmio.solve(SPEC, data)
    assert "trajectory" not in result.to_dict()
