import math
import re

import numpy as np
import pyomo.environ as pyo
import pytest

from mlmio import SolverError
from mlmio.solvers.mps import write_mps
from mlmio.solvers.program import compile_program


@pytest.fixture
def model():
    model = pyo.ConcreteModel()
    model.x = pyo.Var([1, 2], bounds=(0, 3))
    model.n = pyo.Var(domain=pyo.Integers, bounds=(None, 4))
    model.fixed = pyo.Var(initialize=2.0)
    model.fixed.fix()
    model.idle = pyo.Var(domain=pyo.Binary)
    model.ranged = pyo.Constraint(expr=(-1, model.x[1] + 2 * model.n + model.fixed + 1, 6))
    model.equal = pyo.Constraint(expr=model.x[1] == model.x[2])
    model.at_least = pyo.Constraint(expr=model.x[2] - model.fixed * model.n >= 0)
    model.goal = pyo.Objective(expr=model.x[1] - model.fixed * 3, sense=pyo.maximize)
    return model


def test_arrays(model):
    program = compile_program(model)
    assert [column.name for column in program.columns] == ["x[1]", "x[2]", "n", "idle"]
    assert program.matrix.toarray().tolist() == [[1, 0, 2, 0], [1, -1, 0, 0], [0, 1, -2, 0]]
    assert program.row_lower.tolist() == [-4, 0, 0]
    assert program.row_upper.tolist() == [3, 0, math.inf]
    assert program.lower.tolist() == [0, 0, -math.inf, 0]
    assert program.upper.tolist() == [3, 3, 4, 1]
    assert program.integer.tolist() == [False, False, True, True]
    assert (program.cost.tolist(), program.offset) == ([1, 0, 0, 0], -6)
    assert program.maximize
    assert program.discrete


def test_products(model):
    model.product = pyo.Constraint(expr=(model.x[1] + 2 * model.x[2]) * model.n + model.x[1] <= 1)
    model.at_least.deactivate()
    program = compile_program(model)
    x = np.array([0.5, 0.5, 1.0, 0.0])
    assert list(program.quadratic) == [2]
    assert program.quadratic[2].value(x) == pytest.approx(0.5 + 1.0)
    assert program.row(2)[1].tolist() == [1.0]
    assert program.complaint(x, 1e-6) == "row product violated by 1"


def test_products_with_what_is_fixed_are_linear(model):
    model.product = pyo.Constraint(expr=model.fixed * model.n * 3 <= 1)
    assert not compile_program(model).quadratic


def test_what_is_deactivated_is_left_out(model):
    model.equal.deactivate()
    model.extra = pyo.Block()
    model.extra.v = pyo.Var()
    model.extra.row = pyo.Constraint(expr=model.extra.v >= 1)
    model.extra.deactivate()
    program = compile_program(model)
    assert [row.name for row in program.rows] == ["ranged", "at_least"]
    assert len(program.columns) == 4


def test_variables_of_elsewhere_are_columns(model):
    other = pyo.ConcreteModel()
    other.v = pyo.Var(bounds=(0, 1))
    model.foreign = pyo.Constraint(expr=other.v + model.n <= 1)
    assert [column.name for column in compile_program(model).columns][-1] == "v"


@pytest.mark.parametrize(
    ("x", "complaint"),
    [
        ([1, 1, 0, 0], ""),
        ([4, 4, 0, 0], r"the bounds of x\[1\]"),
        ([1, 1, 0.3, 0], "the integrality of n"),
        ([1, 2, 0, 0], "row equal violated by 1"),
        ([math.nan, 1, 0, 0], r"the bounds of x\[1\]"),
        ([1, 1, math.nan, 0], "n"),
    ],
)
def test_complaints(model, x, complaint):
    said = compile_program(model).complaint(np.array(x, dtype=float), 1e-6)
    assert re.search(complaint, said) if complaint else said == ""


def test_values_and_loading(model):
    program = compile_program(model)
    assert program.values() is None
    program.load(np.array([1.0, 1.0, -1.9999999, -0.0]))
    assert program.values().tolist() == [1.0, 1.0, -2.0, 0.0]
    assert str(model.idle.value) == "0.0"


def test_contradictions(model):
    model.never = pyo.Constraint(expr=model.fixed >= 3)
    assert "never" in compile_program(model).contradiction
    model.never.deactivate()
    assert compile_program(model).contradiction == ""
    model.x[1].setlb(3.5)
    assert "bounds of x[1] exclude" in compile_program(model).contradiction


def test_what_no_adapter_takes(model):
    model.curve = pyo.Constraint(expr=model.x[1] ** 3 <= 1)
    with pytest.raises(SolverError, match="curve is neither linear nor quadratic"):
        compile_program(model)
    model.curve.deactivate()
    model.goal.expr = model.x[1] ** 2
    with pytest.raises(SolverError, match="goal has products"):
        compile_program(model)


def test_sets_of_which_one_is_not_zero(model):
    model.set = pyo.SOSConstraint(var=model.x, sos=1)
    program = compile_program(model)
    assert [columns.tolist() for columns in program.exclusive] == [[0, 1]]
    assert program.discrete
    assert "x[1] and x[2]" in program.complaint(np.array([1.0, 1.0, 0.0, 0.0]), 1e-6)
    assert program.complaint(np.array([0.0, 0.0, 0.0, 0.0]), 1e-6) == ""
    model.set.deactivate()
    assert compile_program(model).exclusive == []


@pytest.mark.parametrize("level", [1, 2])
def test_sets_that_no_adapter_takes(model, level):
    model.set = pyo.SOSConstraint(var=model.x, sos=level)
    if level == 1:
        model.x[1].fix(0.0)
    with pytest.raises(SolverError, match="set is an ordered set"):
        compile_program(model)


def test_mps_read_back(model, tmp_path):
    highspy = pytest.importorskip("highspy")
    program = compile_program(model)
    path = tmp_path / "model.mps"
    write_mps(program, path)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.readModel(str(path))
    lp = highs.getLp()
    assert list(lp.col_cost_) == (-program.cost).tolist()
    assert list(lp.col_lower_) == program.lower.tolist()
    assert list(lp.col_upper_) == program.upper.tolist()
    assert list(lp.row_lower_) == program.row_lower.tolist()
    assert list(lp.row_upper_) == program.row_upper.tolist()
    assert [kind.name == "kInteger" for kind in lp.integrality_] == program.integer.tolist()
    assert lp.a_matrix_.value_ == pytest.approx(program.matrix.tocsc().data)
