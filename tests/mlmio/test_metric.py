"""The metric: distances against explicit sums, files that keep every bit, and refusals."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import random_data, random_metric

import mlmio.metric
from mlmio import DataError, Dataset, Metric, Scaling


def explicit(metric: Metric, x: np.ndarray, y: np.ndarray) -> float:
    """The power series, one entry of every tensor at a time."""
    delta = metric.scaling.apply([x])[0] - metric.scaling.apply([y])[0]
    total = 0.0
    for order in metric.orders:
        u = delta if order == 2 else abs(delta)
        tensor = metric.tensor(order)
        for indices in product(range(metric.D), repeat=order):
            total += tensor[indices] * np.prod([u[p] for p in indices])
    return total


def points(seed: int, n: int, D: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, D))


def scaled(kind: str = "standard") -> Dataset:
    X = points(0, 8) * [1.0, 30.0, 1e-3] + [5.0, 0.0, 2.0]
    return Dataset(X, [0, 1] * 4, scale=kind, feature_names=["height", "weight", 'ünïcode "x"'])


@pytest.mark.parametrize("orders", [(1,), (2,), (3,), (4,), (1, 2), (1, 2, 3, 4)])
def test_distances_are_the_sums_of_the_series(orders: tuple[int, ...]) -> None:
    data = scaled()
    metric = random_metric(data, orders, seed=1)
    X, Y = points(2, 4) + 3, points(3, 5)
    wanted = [[explicit(metric, x, y) for y in Y] for x in X]
    np.testing.assert_allclose(metric.distance(X, Y), wanted, rtol=1e-12)
    np.testing.assert_allclose(metric.distance(X), metric.distance(X, X), rtol=0)


@pytest.mark.parametrize("orders", [(1,), (2,), (1, 2, 3)])
def test_blocks_of_rows_give_what_one_shot_gives(
    orders: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    metric = random_metric(scaled(), orders, seed=4)
    X, Y = points(5, 23), points(6, 7)
    whole = metric.distance(X, Y)
    monkeypatch.setattr(mlmio.metric, "BLOCK_BYTES", 600)
    np.testing.assert_allclose(metric.distance(X, Y), whole, rtol=1e-12)


def test_its_tensors() -> None:
    B = np.array([[1.0, 0.5], [0.5, 2.0]])
    metric = Metric({2: B, 1: [3.0, 4.0]}, D=2)
    assert metric.orders == (1, 2)
    assert metric.a.tolist() == [3.0, 4.0]
    assert metric.B.tolist() == B.tolist()
    assert metric.C.tolist() == np.zeros((2, 2, 2)).tolist()
    assert metric.tensor(4).shape == (2,) * 4
    with pytest.raises(ValueError, match="read-only"):
        metric.B[0, 0] = 9.0


def test_entries_are_those_of_the_tensor() -> None:
    metric = Metric.from_entries({2: np.array([1.0, 2.0, 3.0])}, D=2)
    assert metric.B.tolist() == [[1.0, 2.0], [2.0, 3.0]]
    assert metric.distance([[0, 0]], [[1, 1]]).item() == pytest.approx(1 + 2 * 2 + 3)


@pytest.mark.parametrize("kind", ["none", "minmax", "standard", "robust"])
def test_json_keeps_every_bit(kind: str, tmp_path: Path) -> None:
    data = scaled(kind)
    metric = random_metric(data, (1, 2, 3), seed=7)
    path = tmp_path / "metric.json"
    text = metric.to_json(path)
    for again in (Metric.from_json(text), Metric.from_json(path), Metric.from_json(str(path))):
        assert again == metric
        assert all((again.tensor(n) == metric.tensor(n)).all() for n in (1, 2, 3))
        assert again.scaling.kind == kind
        assert (again.scaling.shift == data.scaling.shift).all()
        assert (again.scaling.factor == data.scaling.factor).all()
        assert again.feature_names == data.feature_names
        np.testing.assert_array_equal(again.distance(points(1, 3)), metric.distance(points(1, 3)))


@given(st.lists(st.floats(-1e300, 1e300, allow_subnormal=True), min_size=3, max_size=3))
def test_json_keeps_any_number(entries: list[float]) -> None:
    metric = Metric.from_entries({2: np.array(entries)}, D=2)
    assert (Metric.from_json(metric.to_json()).B == metric.B).all()


def test_json_states_its_format_and_version() -> None:
    content = json.loads(Metric({1: [1.0]}, D=1).to_json())
    assert content["format"] == "mlmio.metric"
    assert content["version"] == 1


def altered(**changes: object) -> str:
    return json.dumps(json.loads(Metric({1: [1.0]}, D=1).to_json()) | changes)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("nowhere.json", "cannot read a metric from nowhere.json"),
        ("{", "not a metric written by mlmio"),
        ("{}", "not a metric written by mlmio"),
        (altered(format="other"), "this text is not a metric written by mlmio: give a file"),
        (altered(version=99), "version 99: this mlmio reads"),
        (altered(tensors={"1": [1.0, 2.0]}), "."),
        (altered(tensors={"1": ["one"]}), "."),
        (altered(tensors={"one": [1.0]}), "."),
        (altered(tensors=None), "."),
        (altered(features=[]), "."),
        (altered(scaling={"kind": "minmax"}), "."),
        (altered(scaling=None), "."),
        (
            altered(scaling={"kind": "none", "shift": [0.0] * 2, "factor": [1.0] * 2}),
            "of 1 features and is given 2 shifts",
        ),
    ],
)
def test_what_is_no_metric_is_refused(source: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Metric.from_json(source)


def test_a_file_without_metric_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text("[1, 2]")
    with pytest.raises(DataError, match="not a metric written by mlmio"):
        Metric.from_json(path)


@pytest.mark.parametrize("kind", ["none", "minmax", "standard"])
def test_the_transformed_points_have_these_distances(kind: str) -> None:
    data = scaled(kind)
    metric = random_metric(data, (2,), seed=8)
    X = points(9, 6)
    L = metric.transform(X)
    squared = ((L[:, None] - L[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(squared, metric.distance(X), rtol=1e-9, atol=1e-12)


def test_a_term_that_is_zero_does_not_hinder_the_transform() -> None:
    metric = Metric({1: [0.0, 0.0], 2: np.eye(2)}, D=2)
    np.testing.assert_allclose(abs(metric.transform([[1.0, 2.0]])), [[1.0, 2.0]])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({1: [1.0, 0.0], 2: np.eye(2)}, "besides the quadratic one"),
        ({2: np.diag([1.0, -0.5])}, "negative eigenvalue -0.5"),
    ],
)
def test_no_transform_where_there_is_none(tensors: dict, message: str) -> None:
    metric = Metric(tensors, D=2)
    assert metric.is_psd == (1 in tensors)
    with pytest.raises(DataError, match=message):
        metric.transform([[0.0, 0.0]])


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({1: [1.0, 2.0, 3.0]}, r"order 1 has shape \(3,\): give shape \(2,\)"),
        ({2: [1.0, 2.0]}, "order 2 has shape"),
        ({2: [[0.0, 1.0], [0.0, 0.0]]}, "order 2 is not symmetric"),
        ({2: [[np.nan, 0.0], [0.0, 0.0]]}, "not finite"),
        ({1: [np.inf, 0.0]}, "not finite"),
    ],
)
def test_bad_tensors_are_refused(tensors: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Metric(tensors, D=2)


def test_what_rounding_does_to_symmetry_is_no_matter() -> None:
    B = np.array([[1.0, 1e-12], [-1e-12, 2.0]])
    assert Metric({2: B}, D=2).distance([[1.0, 0.0]], [[0.0, 0.0]]) == 1.0


@pytest.mark.parametrize("X", [[[1.0]], [[1.0, 2.0, 3.0, 4.0]], [1.0, 2.0, 3.0]])
def test_points_of_another_width_are_refused(X: list) -> None:
    metric = random_metric(scaled(), (1,), seed=0)
    with pytest.raises(DataError, match="3 features"):
        metric.distance(X)


def test_a_learned_metric_takes_points_as_they_were_measured() -> None:
    data = random_data(1, (3, 3))
    raw = data.X * 100 + 7
    measured = Dataset(raw, data.y)
    result = mlmio.solve("linear + quadratic + nearest", measured)
    d = result.metric.distance(raw)
    assert d.max() == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(d, result.metric.scaled_distance(measured.X, measured.X), atol=1e-9)
    np.testing.assert_allclose(d[0, 1], result.metric.distance(raw[:1], raw[1:2]).item())


def test_names_and_scaling_are_of_its_features() -> None:
    with pytest.raises(DataError, match="of 1 features and is given 2 names: give one for each"):
        Metric({1: [1.0]}, D=1, feature_names=["u", "v"])
    with pytest.raises(DataError, match="of 1 features and is given 2 shifts"):
        Metric({1: [1.0]}, D=1, scaling=Scaling("none", np.zeros(2), np.ones(2)))


def test_scaling_is_the_identity_by_default() -> None:
    metric = Metric({1: [1.0, 1.0]}, D=2)
    assert metric.distance([[0.0, 0.0]], [[-3.0, 4.0]]).item() == 7.0
    assert isinstance(metric.scaling, Scaling)


def test_a_high_order_costs_no_permutations() -> None:
    metric = Metric.from_entries({20: np.ones(21)}, D=2)
    assert metric.distance([[0.0, 0.0]], [[1.0, 1.0]])[0, 0] == pytest.approx(2.0**20)
    assert metric.tensor(8).shape == (2,) * 8


def test_a_file_that_cannot_be_written_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(mlmio.MlmioError, match="nowhere"):
        Metric({1: [1.0]}, D=1).to_json(tmp_path / "nowhere" / "metric.json")
