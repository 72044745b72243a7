"""What every installed solver answers: to every outcome, kind of model and start."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from programs import market_split, small, those, values

import mlmio
from mlmio import SolverError
from mlmio.solvers.base import Options
from mlmio.solvers.starts import Start

# Outcomes


@pytest.mark.parametrize(("sense", "optimum"), [(pyo.maximize, 11.5), (pyo.minimize, -4.0)])
def test_optimal(solver, sense, optimum):
    model = small(sense)
    answer = solver.solve(model, Options())
    assert answer.status == "optimal"
    assert answer.objective == pytest.approx(optimum)
    assert answer.bound == pytest.approx(optimum, abs=1e-5)
    assert pyo.value(model.goal) == pytest.approx(optimum)
    assert answer.reason == answer.message == ""


def test_optimal_metric_is_verified(solver, little_iris, known):
    result = mlmio.solve("linear + quadratic + nearest + bigm", little_iris, solver=solver.name)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(known.objective, abs=1e-6)
    assert result.lp_bound >= result.objective
    assert result.bound >= result.objective - 1e-6


def test_linear_program(solver):
    model = small()
    model.y.domain = pyo.Reals
    answer = solver.solve(model, Options())
    assert answer.status == "optimal"
    assert answer.bound == pytest.approx(answer.objective)


def test_infeasible(solver):
    model = small()
    model.more = pyo.Constraint(expr=model.x + model.y >= 8)
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective, answer.bound) == ("infeasible", None, None)


def test_infeasible_for_integers_only(solver):
    model = small()
    model.parity = pyo.Constraint(expr=2 * model.y == 3)
    assert solver.solve(model, Options()).status == "infeasible"


def test_infeasible_before_it_is_solved(solver):
    model = small()
    model.x.fix(1)
    model.never = pyo.Constraint(expr=model.x == 2)
    answer = solver.solve(model, Options())
    assert answer.status == "infeasible"
    assert "never" in answer.message


def test_infeasible_bounds(solver):
    model = small()
    model.y.setub(-5)
    answer = solver.solve(model, Options())
    assert answer.status == "infeasible"
    assert "y" in answer.message


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_unbounded(solver, domain):
    answer = solver.solve(unbounded(domain), Options())
    assert (answer.status, answer.objective, answer.bound) == ("unbounded", None, None)


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_infeasible_that_would_be_unbounded(solver, domain):
    model = unbounded(domain)
    model.more = pyo.Constraint(expr=model.x + 2 * model.y >= 1)
    model.less = pyo.Constraint(expr=model.x + 2 * model.y <= 0)
    assert solver.solve(model, Options()).status == "infeasible"


def unbounded(domain):
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.y = pyo.Var(domain=domain)
    model.row = pyo.Constraint(expr=model.x - model.y <= 4)
    model.goal = pyo.Objective(expr=model.x + model.y)
    return model


# Models out of the ordinary


def test_no_rows(solver):
    model = small()
    model.row.deactivate()
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective) == ("optimal", pytest.approx(18.0))


def test_no_objective(solver):
    model = small()
    model.goal.deactivate()
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective) == ("optimal", 0.0)
    assert -7 <= model.x.value + 2 * model.y.value <= 5.5


def test_all_variables_fixed(solver):
    model = small()
    model.x.fix(1)
    model.y.fix(1)
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective, answer.bound) == ("optimal", 8.5, 8.5)


def test_variable_that_no_row_holds_gets_a_value(solver):
    model = small()
    model.idle = pyo.Var(bounds=(2, 3))
    model.free = pyo.Var()
    solver.solve(model, Options())
    assert 2 <= model.idle.value <= 3
    assert model.free.value is not None


def test_names_that_need_escaping(solver):
    model = pyo.ConcreteModel(name="a model")
    model.i = pyo.Set(initialize=["a b", "ü,[]", "c:d", "\"q' #"])
    model.v = pyo.Var(model.i, domain=pyo.Binary)
    model.add_component("a row", pyo.Constraint(expr=sum(model.v.values()) <= 2))
    weights = dict(zip(model.i, (1, 2, 3, 4), strict=True))
    model.goal = pyo.Objective(expr=sum(weights[i] * model.v[i] for i in model.i), sense=-1)
    assert solver.solve(model, Options()).objective == pytest.approx(7)
    assert values(model) == [0, 0, 1, 1]


def test_more_than_quadratic_is_refused_by_name(solver):
    model = small()
    model.sine = pyo.Constraint(expr=pyo.sin(model.x) <= 1)
    with pytest.raises(SolverError, match="sine"):
        solver.solve(model, Options())


def test_several_objectives_are_refused(solver):
    model = small()
    model.other = pyo.Objective(expr=model.x)
    with pytest.raises(SolverError, match="2 active objectives"):
        solver.solve(model, Options())


# Classes of problem


def test_bilinear(solver, little_iris, known, monkeypatch):
    composition = "linear + quadratic + nearest + bilinear"
    if "MINLP" not in solver.classes:
        monkeypatch.setattr(mlmio.Composition, "assemble", lambda *_: pytest.fail("was built"))
        with pytest.raises(SolverError, match=r"does not solve MINLP.*gurobi.*scip"):
            mlmio.solve(composition, little_iris, solver=solver.name)
        return
    result = mlmio.solve(composition, little_iris, solver=solver.name, time_limit=60)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(known.objective, abs=1e-6)


def test_bilinear_row_is_not_dropped(solver):
    model = small()
    model.product = pyo.Constraint(expr=model.x * model.y <= 1)
    answer = solver.solve(model, Options())
    if "MINLP" in solver.classes:
        assert answer.objective == pytest.approx(10.5)
        assert model.x.value * model.y.value <= 1 + 1e-6
    else:
        assert answer.status == "error"


@those(problem_class="SOCP")
def test_second_order_cone(solver):
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1])
    model.r = pyo.Var(bounds=(0, 2))
    model.cone = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 <= model.r**2)
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1], sense=pyo.maximize)
    answer = solver.solve(model, Options())
    assert answer.objective == pytest.approx(2 * 2**0.5, abs=1e-5)


@those("sos1")
@pytest.mark.parametrize("weight", [2.0, 4.0])
def test_at_most_one_of_a_set_is_not_zero(solver, weight):
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1, 2], bounds=(0, 1))
    model.choice = pyo.Var(domain=pyo.Binary)
    model.set = pyo.SOSConstraint(var=model.x, sos=1)
    model.pair = pyo.SOSConstraint(rule=lambda _: [model.choice, model.x[2]], sos=1)
    model.goal = pyo.Objective(
        expr=model.x[0] + model.x[1] + weight * model.x[2] + 3 * model.choice, sense=pyo.maximize
    )
    answer = solver.solve(model, Options())
    assert answer.objective == pytest.approx(4.0)
    assert answer.bound == pytest.approx(4.0)
    assert sum(abs(x.value) > 1e-9 for x in model.x.values()) <= 1


# Points to start from


def test_start_is_accepted(solver, little_iris, known):
    result = mlmio.solve(
        "linear + quadratic + nearest + bigm", little_iris, solver=solver.name, start=known
    )
    assert result.start == ("accepted" if "warm_start" in solver.features else "not supported")
    assert (result.status, result.verified) == ("optimal", True)


@those("warm_start")
def test_start_is_the_first_incumbent(solver, iris):
    model = market_split(slack=True)
    solver.solve(model, Options(time_limit=1.0))
    before = pyo.value(model.goal)
    start = Start(mlmio.Metric({}, D=1))
    answer = solver.solve(model, Options(time_limit=0.5, start=start))
    assert (answer.status, answer.start) == ("feasible", "accepted")
    assert answer.objective <= before + 1e-6


@those("warm_start")
def test_start_that_violates_the_model_is_refused_with_a_note(solver, little_iris):
    wrong = mlmio.Metric({2: 9 * np.eye(4)}, D=4, scaling=little_iris.scaling)
    result = mlmio.solve(
        "linear + quadratic + nearest + bigm", little_iris, solver=solver.name, start=wrong
    )
    assert (result.start, result.status, result.verified) == ("rejected", "optimal", True)
    assert "start was refused" in result.message
