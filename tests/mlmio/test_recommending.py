"""Recommendations: by hand, against loops, and spread over a known boundary."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from instances import random_data, random_metric

import mlmio
from mlmio import DataError, Dataset, Metric, boundary_subset, diagnose, recommend


def line(*points: float, labels: str) -> mlmio.Diagnosis:
    """Points on a line under d = |δ|."""
    data = Dataset([[x] for x in points], list(labels), scale="none")
    return diagnose(Metric({1: [1.0]}, 1), data)


def test_by_hand() -> None:
    found = recommend(line(0.0, 0.3, 0.4, 1.0, labels="aabb"))
    # 0.4 has R = 0.6 / 0.1 = 6, and 0.3 is its opposing point; 1.0 and 0.0 have R < 1.
    assert found.rows.tolist() == [2]
    assert found.opposing.tolist() == [1]
    assert found.priority == pytest.approx([6.0])
    assert found.centres.ravel() == pytest.approx([0.35])
    assert found.radii == pytest.approx([0.05])
    assert found.contains([[0.31], [0.39], [0.29], [0.41]]).tolist() == [[True, True, False, False]]


@pytest.mark.parametrize("orders", [(1,), (2,), (1, 2), (3,)])
@pytest.mark.parametrize("seed", range(3))
def test_what_is_recommended_holds_in_the_data(orders: tuple[int, ...], seed: int) -> None:
    data = random_data(seed, (9, 7, 8), D=3)
    found = recommend(diagnose(random_metric(data, orders, seed), data), 20)
    metric, R = found.diagnosis.metric, found.diagnosis.ratios
    d = np.maximum(metric.scaled_distance(data.X, data.X), 0.0)
    assert len(found) > 0
    assert found.priority.tolist() == sorted(R[found.rows], reverse=True)
    for i, k in zip(found.rows, found.opposing, strict=True):
        assert found.diagnosis.parts[i] != "interior"
        assert data.y[i] != data.y[k]
        assert d[i, k] == pytest.approx(d[i, data.y != data.y[i]].min())
    both = np.concatenate([found.rows, found.opposing])
    assert len(set(both.tolist())) == len(both)
    original = data.X * data.scaling.factor + data.scaling.shift
    ends = (original[found.rows] + original[found.opposing]) / 2
    np.testing.assert_allclose(found.centres, ends)
    away = metric.distance(found.centres, original)
    numbers = np.arange(len(found))
    for end in (found.rows, found.opposing):
        np.testing.assert_allclose(np.maximum(away[numbers, end], 0.0), found.radii, atol=1e-12)


def test_regions_are_not_one_spot() -> None:
    data = random_data(4, (40, 40), D=2)
    found = recommend(diagnose(random_metric(data, (2,), 1), data), 10)
    inside = found.contains(found.centres)
    later = np.triu(inside, 1)
    assert not later.any()


def test_a_point_in_a_strange_class_is_recommended_once() -> None:
    # An outlier amid a class: many points have it for their nearest opposing point.
    ring = [(np.cos(a), np.sin(a)) for a in np.linspace(0, 6, 12)]
    far = [(9.0, y) for y in (0.0, 0.5, 1.0)]
    data = Dataset([(0.0, 0.0), *ring, *far], ["b"] + ["a"] * 12 + ["b"] * 3, scale="none")
    found = recommend(diagnose(Metric({2: np.eye(2)}, 2), data), 10)
    assert found.rows[0] == 0
    assert 0 not in found.opposing


def test_regions_lie_on_a_known_boundary() -> None:
    rng = np.random.default_rng(2)
    X = rng.uniform(-1, 1, (400, 2))
    data = Dataset(X, X[:, 0] + X[:, 1] > 0, scale="none")
    found = recommend(diagnose(Metric({2: np.eye(2)}, 2), data), 8)
    assert len(found) == 8
    assert (np.abs(found.centres.sum(axis=1)) < 0.15).all()
    # All along it, not in one spot.
    assert np.ptp(found.centres[:, 0]) > 0.5


def test_unclear_points_in_the_regions_come_first() -> None:
    found = recommend(line(0.0, 0.3, 0.4, 1.0, 5.0, 5.1, labels="aabbba"), 1)
    # The region is [5, 5.1]: 0.35 is as unclear as 5.05 is, and in none.
    pool = np.array([[0.36], [5.01], [0.2], [9.0], [5.06], [0.35]])
    assert found.select(pool, 3).tolist() == [4, 1, 5]
    assert sorted(found.select(pool, 99)) == [0, 1, 2, 3, 4, 5]
    assert found.select(np.empty((0, 1)), 3).tolist() == []


def test_points_that_were_given_up_make_nothing_unclear() -> None:
    given_up = line(0.0, 0.1, 0.5, 0.9, 1.0, labels="aabbb")
    serves = np.array([True, True, False, True, True])
    found = recommend(diagnose(given_up.metric, given_up.data, serves), 1)
    assert found.select([[0.3], [0.5], [0.7]], 1).tolist() == [1]


def test_a_share_is_explored_far_from_all_that_is_known() -> None:
    found = recommend(line(0.0, 0.3, 0.4, 1.0, labels="aabb"))
    pool = np.array([[0.36], [0.7], [2.0], [9.0], [8.9], [-3.0], [0.35]])
    # Two in the region, [0.3, 0.4]; then 9.0 is farthest, with it -3.0 is, and 2.0 is not yet.
    assert found.select(pool, 4, explore=0.5).tolist() == [6, 0, 3, 5]
    assert found.select(pool, 7, explore=1.0).tolist()[:3] == [3, 5, 2]
    assert sorted(found.select(pool, 99, explore=0.4)) == list(range(7))
    # Points of the pool that are known already are still taken, each once.
    same = np.array([[0.0], [0.3], [0.0], [0.3]])
    assert sorted(found.select(same, 4, explore=0.5)) == [0, 1, 2, 3]


def test_far_does_not_depend_on_the_metric() -> None:
    # The metric sees the first feature alone, the island is far in the second.
    X = [(0.0, 0.0), (0.3, 0.1), (0.4, 0.0), (1.0, 0.1)]
    data = Dataset(X, list("aabb"), scale="none")
    found = recommend(diagnose(Metric({1: [1.0, 0.0]}, 2), data))
    pool = [(0.35, 0.0), (1.5, 0.0), (0.35, 5.0)]
    assert found.select(pool, 2, explore=0.5).tolist() == [0, 2]


@pytest.mark.parametrize("explore", [-0.1, 1.1, float("nan"), True, "half"])
def test_wrong_shares(explore: object) -> None:
    with pytest.raises(DataError, match="explore is"):
        recommend(line(0.0, 0.3, 0.4, 1.0, labels="aabb")).select([[0.0]], 1, explore)


def test_nothing_to_recommend() -> None:
    # Links that oppose nothing: no point has an opposing one.
    links = {"must_link": [(0, 1), (2, 3), (4, 5)], "cannot_link": [(0, 2)]}
    data = Dataset([[0.0], [1.0], [8.0], [10.0], [1.5], [2.0]], None, scale="none", side=links)
    found = recommend(diagnose(Metric({1: [1.0]}, 1), data))
    assert set(found.rows) | set(found.opposing) <= {0, 1, 2, 3}
    inside = replace(found.diagnosis, parts=np.full(6, "interior"))
    nothing = recommend(inside)
    assert len(nothing) == 0
    assert nothing.select([[0.0]], 1).tolist() == []
    assert nothing.select([[2.0], [30.0]], 1, explore=0.1).tolist() == [1]
    assert nothing.to_frame().shape == (0, 7)


def test_the_table() -> None:
    data = mlmio.load_dataset("iris", per_class=20)
    found = recommend(diagnose(Metric({2: np.eye(4)}, 4, data.scaling), data), 3)
    frame = found.to_frame()
    assert frame.index.tolist() == data.ids[found.rows].tolist()
    assert frame.columns.tolist() == [
        "label", "part", "R", "opposing", "opposing label", "radius", *data.feature_names,
    ]  # fmt: skip
    assert (frame["label"] != frame["opposing label"]).all()


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_wrong_numbers(n: object) -> None:
    with pytest.raises(DataError, match="n is"):
        recommend(line(0.0, 0.3, 0.4, 1.0, labels="aabb"), n)


def test_boundary_subset_is_what_is_not_inside() -> None:
    data = mlmio.load_dataset("ten_classes", n=1000)
    found = diagnose(Metric({2: np.eye(2)}, 2, data.scaling), data)
    rows = boundary_subset(found)
    expected = set(found.rows("boundary")) | set(found.outliers)
    assert set(rows) == expected
    assert rows.tolist() == sorted(rows)
    assert len(rows) < 500


def test_a_fitted_estimator_stands_for_its_diagnosis() -> None:
    data = mlmio.load_dataset("iris", per_class=8, scale="none")
    learner = mlmio.MIOMetricLearner("quadratic + diagonal + nearest", strategy="direct")
    learner.fit(data.X, data.labels)
    found = recommend(learner, 4)
    assert found.rows.tolist() == recommend(learner.diagnosis_, 4).rows.tolist()
    assert boundary_subset(learner).tolist() == boundary_subset(learner.diagnosis_).tolist()


@pytest.mark.parametrize("given", [mlmio.MIOMetricClassifier(), None, "iris", 3])
def test_what_has_no_diagnosis(given: object) -> None:
    message = f"diagnosis is a {type(given).__name__} without a diagnosis: give what mlmio.diagnose"
    for function in (recommend, boundary_subset):
        with pytest.raises(DataError, match=message):
            function(given)
