"""A metric with its points: predictions against loops, and a file that keeps every bit."""

from __future__ import annotations

import json
import math
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from instances import random_data, random_metric

from mlmio import DataError, Dataset, Metric, MlmioError, NeighborModel, Scaling
from mlmio.data.validation import encode, label_array


def model_of(seed: int = 0, k: int = 1, abstain: float | None = None) -> NeighborModel:
    X = np.random.default_rng(seed).normal(size=(14, 2)) * [100.0, 0.01] + [5000.0, 0.0]
    data = Dataset(X, ["u", "v"] * 7, scale="standard", feature_names=["mass", "ünïcode"])
    metric = random_metric(data, (1, 2), seed)
    return NeighborModel(metric, data.X, data.y, data.classes, k, abstain, {"status": "optimal"})


@pytest.mark.parametrize("k", [1, 4])
def test_predictions_are_those_of_a_loop(k: int) -> None:
    model = model_of(k=k)
    X = np.random.default_rng(1).normal(size=(9, 2)) * [100.0, 0.01] + [5000.0, 0.0]
    originals = model.points * model.metric.scaling.factor + model.metric.scaling.shift
    labels, ratios = model.decide(X)
    for i, x in enumerate(X):
        d = model.metric.distance([x], originals)[0]
        votes = [model.codes[j] for j in sorted(range(14), key=d.__getitem__)[:k]]
        shares = [votes.count(0) / k, votes.count(1) / k]
        assert model.predict_proba(X)[i].tolist() == shares
        winner = int(shares[1] > shares[0])
        assert labels[i] == "uv"[winner] == model.predict(X)[i]
        own, other = (
            min(d[j] for j in range(14) if model.codes[j] == c) for c in (winner, 1 - winner)
        )
        assert ratios[i] == pytest.approx(own / other)
    assert not model.abstains(X).any()


def test_abstention() -> None:
    X = np.random.default_rng(2).normal(size=(30, 2)) * [100.0, 0.01] + [5000.0, 0.0]
    model = model_of(abstain=0.5)
    ratios = model.abstention_ratios(X)
    assert model.abstains(X).tolist() == [ratio > 0.5 for ratio in ratios]
    assert 0 < model.abstains(X).sum() < 30
    curve = model.risk_coverage(X, ["u"] * 30)
    assert curve.full_error == np.mean(model.predict(X) == "v")
    assert curve.at(0.5)[0] == pytest.approx(1 - model.abstains(X).mean())


def test_labels_that_are_unknown_are_errors() -> None:
    model = model_of()
    X = model.points * model.metric.scaling.factor + model.metric.scaling.shift
    assert model.risk_coverage(X, ["x"] * 14).full_error == 1.0
    assert model.risk_coverage(X, [0, 1] * 7).full_error == 1.0
    assert model.risk_coverage(X, ["u", "v"] * 7).full_error == 0.0
    texts = NeighborModel(model.metric, model.points, model.codes, np.array(["0", "1"]))
    assert texts.risk_coverage(X, [0, 1] * 7).full_error == 1.0
    assert texts.risk_coverage(X, ["0", "1"] * 7).full_error == 0.0


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "ü"],
        [0, 1],
        [-5, 10**15],
        [0.5, 1e300],
        [True, False],
        [1, "1"],
        [np.int8(3), np.int8(4)],
        [np.float32(0.1), np.float32(0.2)],
        ["", " "],
    ],
    ids=str,
)
def test_the_file_keeps_every_bit_and_labels_of_any_type(labels: list, tmp_path: Path) -> None:
    plain = model_of(3, k=3, abstain=0.7)
    classes, codes = encode(label_array(labels * 7, np.arange(14)))
    model = NeighborModel(plain.metric, plain.points, codes, classes, 3, 0.7, plain.solved)
    X = np.random.default_rng(3).normal(size=(20, 2)) * [100.0, 0.01] + [5000.0, 0.0]
    text = model.to_json(tmp_path / "m.json")
    for source in (text, str(tmp_path / "m.json"), tmp_path / "m.json"):
        again = NeighborModel.from_json(source)
        assert again.metric == model.metric
        np.testing.assert_array_equal(again.points, model.points)
        assert again.predict(X).tolist() == model.predict(X).tolist()
        assert [type(c) for c in again.classes.tolist()] == [type(c) for c in classes.tolist()]
        np.testing.assert_array_equal(again.abstention_ratios(X), model.abstention_ratios(X))
        assert (again.n_neighbors, again.abstain) == (3, 0.7)
        assert again.solved == {"status": "optimal"}
        assert again.to_json() == text


def test_the_file_is_that_of_a_metric_too(tmp_path: Path) -> None:
    model = model_of()
    model.to_json(tmp_path / "m.json")
    assert Metric.from_json(tmp_path / "m.json") == model.metric


def test_numbers_that_json_has_not_are_left_empty() -> None:
    plain = model_of()
    solved = {"bound": math.inf, "gap": np.float64(np.nan), "nodes": np.int64(3)}
    model = NeighborModel(plain.metric, plain.points, plain.codes, plain.classes, solved=solved)
    assert json.loads(model.to_json())["solved"] == {"bound": None, "gap": None, "nodes": 3}


@pytest.mark.parametrize("label", [date(2020, 1, 1), (1, 2), math.inf, b"x"])
def test_labels_that_json_has_not(label: object) -> None:
    plain = model_of()
    classes = np.empty(2, dtype=object)
    classes[:] = [label, "v"]
    model = NeighborModel(plain.metric, plain.points, plain.codes, classes)
    with pytest.raises(DataError, match="cannot be written to JSON"):
        model.to_json()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(MlmioError, match="there is no folder"):
        model_of().to_json(tmp_path / "absent" / "m.json")


def changed(**entries: object) -> str:
    content = json.loads(model_of().to_json())
    content["neighbors"] |= entries
    return json.dumps(content)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model_of().metric.to_json(), "a metric without points"),
        ("{}", "not a metric written by mlmio"),
        ("nowhere.json", "cannot read a metric from nowhere.json"),
        (changed(version=2), "version 2"),
        (changed(points=[[0.0]] * 14), "shape"),
        (changed(points=[[0.0, math.nan]] * 14), "not finite"),
        (changed(points=[]), "shape"),
        (changed(points="far away"), "damaged"),
        (changed(codes=[0] * 13), "one class for each point"),
        (changed(codes=[7] * 14), "none of the 2 classes"),
        (changed(codes=[-1] * 14), "none of the 2 classes"),
        (changed(classes=[None, 1]), "damaged"),
        (changed(classes=3), "damaged"),
        (changed(n_neighbors=15), "there are 14 points"),
        (changed(n_neighbors=0), "n_neighbors is 0"),
        (changed(abstain="never"), "abstain is 'never'"),
        (json.dumps(json.loads(model_of().to_json()) | {"neighbors": [1]}), "damaged"),
        (json.dumps(json.loads(model_of().to_json()) | {"solved": 3}), "damaged"),
    ],
    ids=lambda value: "" if value[:1] == "{" else value,
)
def test_damaged_files(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        NeighborModel.from_json(text)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[1.0]], "the points have 1 features and the metric 2: give mass, ünïcode"),
        ([[1.0, np.nan]], "feature 'ünïcode'"),
        ([[1.0, np.inf]], "missing or infinite"),
        ([[1e200, 0.0]], "larger than 1e"),
        ([["heavy", 0.0]], "not a number"),
        ([], "X is empty"),
        ([1.0, 2.0], "shape"),
    ],
)
def test_points_that_cannot_be_used(X: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        model_of().predict(X)


@pytest.mark.parametrize("abstain", [0, -1.0, math.nan, "0.5", True])
def test_wrong_thresholds(abstain: object) -> None:
    with pytest.raises(DataError, match="abstain is"):
        model_of(abstain=abstain)


def test_far_away_points_have_a_class() -> None:
    data = random_data(1, (5, 5))
    scaling = Scaling("minmax", [1e12, -1e12], [1e-6, 1e6])
    metric = Metric({2: [[1.0, 0.0], [0.0, -0.5]]}, 2, scaling)
    model = NeighborModel(metric, data.X, data.y, data.classes)
    labels, ratios = model.decide([[1e12, 1e12], [-1e100, 0.0]])
    assert set(labels) <= {0, 1}
    assert not np.isnan(ratios).any()
