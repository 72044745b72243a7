"""Ratios, knees and parts: by hand, and against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import random_data, random_metric

import mlmio
from mlmio import DataError, Dataset, Metric
from mlmio.diagnostics import diagnose, knee, r_ratios, survival


def line(*points: float, labels: str) -> tuple[Metric, Dataset]:
    """Points on a line under d = |δ|."""
    data = Dataset([[x] for x in points], list(labels), scale="none")
    return Metric({1: [1.0]}, 1), data


def looped(metric: Metric, data: Dataset, serves: np.ndarray) -> list[float]:
    """R-ratios, one pair at a time."""
    found = []
    for i in range(data.N):
        near, far = [], []
        for j in range(data.N):
            if j == i or not serves[j]:
                continue
            d = metric.scaled_distance(data.X[[i]], data.X[[j]]).item()
            (near if data.y[i] == data.y[j] else far).append(d)
        found.append(min(near, default=np.inf) / min(far) if near else np.inf)
    return found


def test_ratios_by_hand() -> None:
    metric, data = line(0.0, 1.0, 4.0, 5.0, 1.5, labels="aabbb")
    # 0: 1 to a, 1.5 to b.  1: 1 and 0.5.  4: 1 and 3.  5: 1 and 4.  1.5: 2.5 to b, 0.5 to a.
    assert r_ratios(metric, data).tolist() == [1 / 1.5, 2.0, 1 / 3, 0.25, 5.0]


@pytest.mark.parametrize("orders", [(1,), (2,), (1, 2), (3,)])
@pytest.mark.parametrize("seed", range(3))
def test_ratios_are_those_of_a_loop(orders: tuple[int, ...], seed: int) -> None:
    data = random_data(seed, (5, 1, 7), D=3)
    metric = random_metric(data, orders, seed)
    serves = np.random.default_rng(seed).uniform(size=data.N) < 0.8
    serves[[0, 5, 6]] = True
    np.testing.assert_allclose(r_ratios(metric, data), looped(metric, data, np.ones(data.N, bool)))
    np.testing.assert_allclose(r_ratios(metric, data, serves), looped(metric, data, serves))


def test_points_that_coincide() -> None:
    metric, data = line(0.0, 0.0, 0.0, 3.0, labels="aabb")
    assert r_ratios(metric, data).tolist() == [1.0, 1.0, np.inf, 1.0]


def test_a_point_alone_in_its_class_is_an_outlier() -> None:
    metric, data = line(0.0, 1.0, 9.0, labels="aab")
    found = diagnose(metric, data)
    assert found.ratios.tolist() == [1 / 9, 1 / 8, np.inf]
    assert found.parts[2] == "outlier"


def test_classes_that_no_link_tells_apart_are_not_opposed() -> None:
    links = {"must_link": [(0, 1), (2, 3), (4, 5)], "cannot_link": [(0, 2)]}
    data = Dataset([[0.0], [1.0], [8.0], [10.0], [1.5], [2.0]], None, scale="none", side=links)
    # The third group is apart from none: nothing is far from it, and it is far from nobody.
    assert r_ratios(Metric({1: [1.0]}, 1), data).tolist() == [1 / 8, 1 / 7, 2 / 7, 2 / 9, 0.0, 0.0]


def test_survival_by_hand() -> None:
    R, S = survival([0.5, 0.1, 0.5, np.inf, 2.0])
    assert R.tolist() == [0.1, 0.5, 2.0]
    assert S.tolist() == pytest.approx([1.0, 0.8, 0.4])
    assert survival([np.inf])[0].tolist() == []
    assert survival([])[0].tolist() == []


@given(st.lists(st.floats(0, 5), min_size=1, max_size=40))
def test_survival_counts(values: list[float]) -> None:
    R, S = survival(values)
    assert S[0] == 1.0
    assert (np.diff(S) < 0).all()
    for ratio, share in zip(R, S, strict=True):
        assert share == pytest.approx(sum(v >= ratio for v in values) / len(values))


def test_knee_of_a_constructed_curve() -> None:
    # The curve falls from (0, 1) straight to (0.2, 0.2), and from there straight to (0.95, 0.01).
    steep = np.linspace(0.0, 0.2, 80, endpoint=False)
    flat = np.linspace(0.2, 0.95, 20)
    assert knee(np.concatenate([steep, flat])) == pytest.approx(0.2)


def by_distance(values: np.ndarray) -> float:
    """The point farthest from the chord, by the distance of a point from a line."""
    ordered = sorted(set(values))
    points = [np.array([r, np.mean(values >= r)]) for r in ordered]
    chord = points[-1] - points[0]
    away = [
        (chord[1] * (p - points[0])[0] - chord[0] * (p - points[0])[1]) / np.hypot(*chord)
        for p in points
    ]
    return ordered[int(np.argmax(np.abs(away)))]


@pytest.mark.parametrize("seed", range(5))
def test_knee_is_the_point_farthest_from_the_chord(seed: int) -> None:
    values = np.random.default_rng(seed).exponential(0.1, size=60)
    assert values.max() < 1
    assert knee(values) == by_distance(values)
    assert 0 < knee(values) < values.max()


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([0.1, 0.7, 0.8, 0.85, 0.9], "concave"),
        ([0.0, 1.0, 1.05, 1.1, 9.0], "at least one"),
        ([0.1, 0.2, 0.3, 0.4], "a chord"),
        ([0.3, 0.3], "one point"),
        ([0.3, 0.9], "two points"),
        ([], "empty"),
        ([np.inf, np.inf], "infinite"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_knee_falls_back_to_zero(values: list[float], why: str) -> None:
    assert knee(values) == 0.0


def test_parts_of_a_constructed_set() -> None:
    # Two tight clusters far apart, a looser pair nearer the middle, and one point that strayed.
    left = np.r_[np.linspace(0.0, 0.09, 10), 0.3, 0.375]
    data = Dataset(
        [[x] for x in (*left, *(1.0 - left), 0.45)], ["a"] * 12 + ["b"] * 13, scale="none"
    )
    found = diagnose(Metric({1: [1.0]}, 1), data)
    assert found.parts[:10].tolist() == ["interior"] * 10
    assert found.parts[24] == "outlier"
    for i in range(data.N):
        R, knees = found.ratios[i], found.knees[data.y[i]]
        part = "interior" if knees >= R else "boundary" if R < 1 else "outlier"
        assert found.parts[i] == part
    assert found.counts.tolist() == [
        [sum(found.parts[data.y == c] == part) for part in ("interior", "boundary", "outlier")]
        for c in (0, 1)
    ]


def test_what_was_given_up_is_an_outlier_and_bends_no_curve() -> None:
    data = random_data(3, (12, 12))
    metric = random_metric(data, (2,), 1)
    serves = np.ones(24, dtype=bool)
    serves[[2, 15]] = False
    found = diagnose(metric, data, serves)
    assert set(found.outliers) >= {2, 15}
    for c in (0, 1):
        counted = [found.ratios[i] for i in range(24) if serves[i] and data.y[i] == c]
        assert found.knees[c] == knee(counted)
        assert sorted(found.of_class(c)) == sorted(counted)


def test_rows_fall_in_R_and_the_table_has_every_point() -> None:
    data = mlmio.load_dataset("iris", per_class=20)
    found = diagnose(Metric({2: np.eye(4)}, 4, data.scaling), data)
    for part in ("interior", "boundary", "outlier"):
        assert (np.diff(found.ratios[found.rows(part)]) <= 0).all()
    frame = found.to_frame()
    assert frame.index.tolist() == data.ids.tolist()
    assert frame["label"].tolist() == data.labels.tolist()
    assert (frame["part"] == "outlier").sum() == len(found.outliers)
    with pytest.raises(DataError, match="no part 'inner'"):
        found.rows("inner")
    with pytest.raises(DataError, match="no class 'rose': the classes are 'setosa'"):
        found.of_class("rose")


@given(seed=st.integers(0, 10**6), factor=st.floats(1e-6, 1e6))
def test_ratios_have_no_unit(seed: int, factor: float) -> None:
    data = random_data(seed, (4, 5))
    metric = random_metric(data, (1, 2), seed)
    larger = Metric({n: metric.tensor(n) * factor for n in metric.orders}, 2, data.scaling)
    np.testing.assert_allclose(r_ratios(larger, data), r_ratios(metric, data), rtol=1e-9)


def test_what_is_no_metric_or_data_set_is_refused() -> None:
    data = mlmio.load_dataset("iris", per_class=3)
    result = mlmio.solve("linear + nearest", data)
    with pytest.raises(DataError, match="metric is a Result: give a Metric"):
        mlmio.diagnose(result, data)
    with pytest.raises(DataError, match="ndarray: give a Dataset"):
        mlmio.diagnose(result.metric, data.X)
    with pytest.raises(DataError, match="ndarray: give a Dataset"):
        mlmio.verify(result, data.X)
    with pytest.raises(DataError, match="ndarray: give a Dataset"):
        mlmio.compose("linear + nearest").build(data.X)
    with pytest.raises(DataError, match="metric is a Result: give a Metric"):
        result.resolved.evaluate(data, result)
