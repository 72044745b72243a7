"""The evaluation of a point: the mathematics by hand on four points of a line."""

from __future__ import annotations

import numpy as np
import pytest
from instances import random_data, random_metric

import mlmio
import mlmio.evaluation
from mlmio import Dataset, Metric
from mlmio.evaluation import Evaluation

LINE = Dataset([[0.0], [0.1], [0.8], [1.0]], ["a", "a", "b", "b"], scale="none", ids=list("pqrs"))
PLAIN = Metric({1: [1.0]}, D=1)


def evaluate(spec: str, metric: Metric = PLAIN, z: list[int] | None = None) -> Evaluation:
    return mlmio.compose("linear + nearest + bounded(dmin=0.1) " + spec).evaluate(LINE, metric, z)


def test_without_outliers() -> None:
    found = evaluate("")
    assert found.objective == found.value == pytest.approx(0.5)  # r: 0.7 to q, 0.2 to s
    assert found.chosen.tolist() == [[1], [0], [3], [2]]
    np.testing.assert_allclose(found.reach, [0.1, 0.1, 0.2, 0.2])
    np.testing.assert_allclose(found.separation, [0.7, 0.6, 0.5, 0.7])
    assert not found.violations


@pytest.mark.parametrize(
    ("semantics", "value"),
    [("printed", 0.6), ("remove", 0.6), ("excuse", 0.6)],
)
def test_an_outlier_costs_its_price_and_frees_its_rows(semantics: str, value: float) -> None:
    """Under `excuse` r still serves s, else s has nobody: then the point s lacks is reported."""
    found = evaluate(f"+ outliers(rho=0.2, keep=1, {semantics=})", z=[0, 0, 1, 0])
    if semantics == "excuse":
        assert not found.violations
        assert found.chosen.tolist() == [[1], [0], [-1], [2]]
        assert found.objective == pytest.approx(value - 0.2)
    else:
        (violation,) = found.violations
        assert violation.what == "point s has no 1 points to serve it"


def test_printed_outliers_still_hold_the_margin_down() -> None:
    """With both points of b given up, their rows (r, q) remain: λ ≤ d_rq alone."""
    both = [0, 0, 1, 1]
    free = evaluate("+ outliers(rho=0.1, keep=0)", z=both)
    held = evaluate("+ outliers(rho=0.1, keep=0, semantics='printed')", z=both)
    assert free.objective == pytest.approx(1.0 - 0.2)
    assert held.objective == pytest.approx(0.7 - 0.2)
    assert not free.violations
    assert not held.violations


def test_a_class_below_its_floor_is_reported_and_at_its_floor_remarked() -> None:
    data = random_data(0, (4, 3))
    metric = random_metric(data, (1,), seed=0)
    comp = mlmio.compose("linear + nearest + outliers + bounded(dmin=0.0)")
    below = comp.evaluate(data, metric, np.array([1, 1, 1, 0, 0, 0, 0]))
    assert "class 0 keeps 1 of at least 2 points" in [v.what for v in below.violations]
    at = comp.evaluate(data, metric, np.array([1, 1, 0, 0, 0, 0, 0]))
    assert any("class 0 is reduced to its floor of 2" in remark for remark in at.remarks)


@pytest.mark.parametrize(
    ("factor", "what", "amount"),
    [
        (1.5, "points p and s are farther than dmax", 0.5),
        (0.1, "points q and r are nearer than the least distance", 0.03),
        (-1.0, "are nearer than the least distance", 1.1),
    ],
)
def test_distances_out_of_bounds_are_reported(factor: float, what: str, amount: float) -> None:
    found = evaluate("", Metric({1: [factor]}, D=1))
    worst = max(found.violations, key=lambda v: v.amount)
    assert worst.block == "bounded"
    assert what in str(worst)
    assert worst.amount == pytest.approx(amount)


def test_a_negative_margin_is_the_optimum_without_a_loss_and_a_violation_with_one() -> None:
    data = Dataset([[0.0], [0.5], [0.6], [1.0]], [0, 1, 0, 1])
    free = mlmio.compose("linear + nearest + bounded(dmin=0.0)").evaluate(data, PLAIN)
    assert free.objective == pytest.approx(-0.5)
    assert not free.violations
    held = mlmio.compose("linear + nearest + outliers + bounded(dmin=0.0)").evaluate(data, PLAIN)
    assert held.value == 0.0
    assert {v.block for v in held.violations} == {"nearest"}
    assert max(v.amount for v in held.violations) == pytest.approx(0.5)


@pytest.mark.parametrize("k", [1, 2])
def test_rows_are_evaluated_in_blocks(k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = random_data(3, (5, 6))
    metric = random_metric(data, (1, 2), seed=1)
    comp = mlmio.compose(f"linear + quadratic + nearest({k=}) + outliers + bounded(dmin=0.0)")
    z = np.arange(11) == 4
    whole = comp.evaluate(data, metric, z)
    monkeypatch.setattr(mlmio.evaluation, "BLOCK_BYTES", 8 * 11 * 2 * 3)
    parts = comp.evaluate(data, metric, z)
    assert parts.objective == whole.objective
    np.testing.assert_array_equal(parts.chosen, whole.chosen)
    np.testing.assert_array_equal(parts.separation, whole.separation)
    assert list(map(str, parts.violations))[-3:] == list(map(str, whole.violations))[-3:]


def test_it_agrees_with_the_metric() -> None:
    data = random_data(4, (3, 3))
    metric = random_metric(data, (1, 2), seed=2)
    spec = "linear + quadratic + nearest + bounded(dmin=1e-6)"
    found = mlmio.compose(spec).evaluate(data, metric)
    whole = metric.scaled_distance(data.X, data.X)
    assert found.distance(2, 5) == pytest.approx(whole[2, 5], rel=1e-12)
    np.testing.assert_array_equal(found.distances(np.array([4, 1])), whole[[4, 1]])


def test_a_metric_beyond_the_bounds_is_scaled_to_the_largest_distance() -> None:
    scaled = evaluate("", Metric({1: [4.0]}, D=1)).scaled_in()
    assert scaled is not None
    assert scaled.a.tolist() == [1.0]
    assert evaluate("").scaled_in() is None


@pytest.mark.parametrize("k", [1, 3])
def test_those_who_serve_come_nearest_first(k: int) -> None:
    """Also among many, and where two are as near."""
    X = np.repeat(np.random.default_rng(0).uniform(size=(30, 1)), 2, axis=0)
    data = Dataset(X, np.arange(60) // 2 % 2, scale="none")
    found = mlmio.compose(f"linear + nearest({k=}) + bounded(dmin=0.0)").evaluate(data, PLAIN)
    d = np.abs(X - X.T)
    others = (data.y[:, None] != data.y) | np.eye(60, dtype=bool)
    expected = np.argsort(np.where(others, np.inf, d), axis=1, kind="stable")[:, :k]
    rows = np.arange(60)[:, None]
    np.testing.assert_array_equal(d[rows, found.chosen], d[rows, expected])
    np.testing.assert_array_equal(found.reach, d[rows, expected][:, -1])
    assert (d[rows, found.chosen][:, :1] == 0).all()
