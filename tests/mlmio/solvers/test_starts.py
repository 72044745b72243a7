from dataclasses import replace

import numpy as np
import pytest

import mlmio
from mlmio import SolverError
from mlmio.solvers.starts import start_from

SPEC = "linear + quadratic + nearest + bigm"


@pytest.fixture(scope="module")
def data():
    return mlmio.load_dataset("iris", per_class=3)


@pytest.fixture(scope="module")
def result(data):
    return mlmio.solve(SPEC, data)


def test_completes_every_variable(data, result, caplog):
    assembly = mlmio.compose(SPEC).assemble(data)
    start_from(result).complete(assembly)
    assert assembly.model.nearest.margin.value == pytest.approx(result.objective)
    assert caplog.text == ""


def test_metric_and_result_are_the_same_start(data, result):
    for point in (result, result.metric):
        again = mlmio.solve(SPEC, data, start=point)
        assert (again.start, again.status) == ("accepted", "optimal")
        assert again.options["start"] is True
        assert again.to_dict()["start"] == "accepted"


def test_outliers_are_handed_over(data):
    spec = SPEC + " + outliers(rho=0.01)"
    first = mlmio.solve(spec, data)
    assert start_from(first).outliers.tolist() == first.outliers.tolist()
    assert len(first.outliers) > 0
    assert mlmio.solve(spec, data, start=first).start == "accepted"


def test_another_scaling_of_the_same_points(result):
    data = mlmio.load_dataset("iris", per_class=3, scale="standard")
    again = mlmio.solve(SPEC, data, start=result)
    assert again.start == "accepted"
    assert again.objective == pytest.approx(result.objective, abs=1e-6)


def test_terms_that_the_model_lacks_are_refused_with_a_note(data, result):
    again = mlmio.solve("linear + nearest + bigm", data, "highs", start=result)
    assert (again.start, again.status) == ("rejected", "optimal")
    assert "the start was refused: " in again.message


def test_other_features(data):
    metric = mlmio.Metric({2: np.eye(3)}, D=3)
    with pytest.raises(SolverError, match="3 features and the data have 4"):
        mlmio.solve(SPEC, data, start=metric)


def test_what_is_no_start(data, result):
    with pytest.raises(SolverError, match="start is a str"):
        mlmio.solve(SPEC, data, start="quadratic")
    nothing = replace(result, metric=None, status="infeasible")
    with pytest.raises(SolverError, match=r"without a metric \(infeasible\)"):
        start_from(nothing)


def test_a_start_does_not_move_what_the_model_holds_at_zero():
    """The second feature is constant: nothing is known of it, and its price is not paid."""
    points = mlmio.Dataset([[0, 1], [0.1, 1], [1, 1], [1.2, 1]], [0, 0, 1, 1], scale="none")
    spec = "quadratic + nearest + lasso(mu=0.1) + bounded(dmin=0.01)"
    alone = mlmio.solve(spec, points)
    start = mlmio.Metric({2: np.diag([0.5, 7.0])}, D=2)
    again = mlmio.solve(spec, points, "highs", start=start)
    assert again.start == "rejected"
    assert again.objective == pytest.approx(alone.objective, abs=1e-9)


def test_outliers_of_mixed_identifiers_are_handed_over():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 2))
    ids = np.array([1, "a", 2, "b", 3, "c", 4, "d"], dtype=object)
    points = mlmio.Dataset(X, [0, 1] * 4, ids=ids)
    spec = "linear + nearest + outliers(rho=0.01)"
    first = mlmio.solve(spec, points)
    assert len(first.outliers) > 0
    assert mlmio.solve(spec, points, start=first).start == "accepted"
