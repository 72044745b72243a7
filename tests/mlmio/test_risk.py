"""Leave-one-out error and the risk–coverage curve, against loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import random_data, random_metric

from mlmio import DataError, Dataset, Metric
from mlmio.risk import abstention_ratios, leave_one_out, risk_coverage

RATIO = st.one_of(st.sampled_from([0.0, 0.5, 1.0, math.inf]), st.floats(0, 2))


@given(st.lists(st.tuples(st.booleans(), RATIO), min_size=1, max_size=30))
def test_the_curve_is_that_of_every_threshold(points: list[tuple[bool, float]]) -> None:
    wrong, values = zip(*points, strict=True)
    curve = risk_coverage(wrong, values)
    assert curve.thresholds.tolist() == sorted(set(values))
    for threshold in curve.thresholds:
        accepted = [mistake for mistake, value in points if value <= threshold]
        coverage, error = curve.at(threshold)
        assert coverage == pytest.approx(len(accepted) / len(points))
        assert error == pytest.approx(sum(accepted) / len(accepted))
    assert curve.coverage[-1] == 1.0
    assert curve.full_error == pytest.approx(sum(wrong) / len(wrong))


def test_between_and_below_thresholds() -> None:
    curve = risk_coverage([False, True], [0.2, 0.8])
    assert curve.at(0.5) == (0.5, 0.0)
    coverage, error = curve.at(0.1)
    assert coverage == 0.0
    assert math.isnan(error)


@pytest.mark.parametrize(
    ("wrong", "values", "message"),
    [
        ([], [], "a point at least"),
        ([True], [0.1, 0.2], "one of each"),
        ([[True]], [[0.1]], "one of each"),
        ([True], [math.nan], "a ratio is NaN"),
    ],
)
def test_curves_that_cannot_be(wrong: list, values: list, message: str) -> None:
    with pytest.raises(DataError, match=message):
        risk_coverage(wrong, values)


def test_abstention_by_hand() -> None:
    distances = np.array([[0.1, 0.4, 0.2], [0.3, 0.3, 0.9], [0.2, 0.1, np.inf]])
    found = abstention_ratios(distances, np.array([0, 1, 0]))
    assert found.tolist() == [0.5, 1.0, 2.0]
    assert distances[0, 0] == 0.1


@pytest.mark.parametrize("orders", [(2,), (1, 2)])
@pytest.mark.parametrize("k", [1, 3])
def test_leave_one_out_is_a_loop(orders: tuple[int, ...], k: int) -> None:
    data = random_data(4, (9, 8, 7), spread=0.6)
    metric = random_metric(data, orders, 3)
    serves = np.ones(data.N, dtype=bool)
    serves[[1, 10]] = False
    found = leave_one_out(metric, data, k, serves)
    for i in range(data.N):
        others = [j for j in range(data.N) if j != i and serves[j]]
        d = {j: metric.scaled_distance(data.X[[i]], data.X[[j]]).item() for j in others}
        voters = [data.y[j] for j in sorted(others, key=d.__getitem__)[:k]]
        winner = max(range(3), key=lambda c: (voters.count(c), -c))
        assert found.predicted[i] == winner
        own = min(d[j] for j in others if data.y[j] == winner)
        rest = min(d[j] for j in others if data.y[j] != winner)
        assert found.ratios[i] == pytest.approx(own / rest)
    assert found.error == pytest.approx(np.mean(found.predicted != data.y))
    assert found.risk_coverage.full_error == found.error
    if k == 1:
        assert (found.ratios <= 1.0).all()


def test_duplicates_are_neighbours_of_each_other() -> None:
    data = Dataset([[0.0], [0.0], [1.0], [1.0]], ["a", "a", "b", "b"])
    found = leave_one_out(Metric({2: [[1.0]]}, 1, data.scaling), data)
    assert found.error == 0.0
    assert found.ratios.tolist() == [0.0] * 4


def test_a_point_that_is_left_out_leaves_its_double_of_another_class() -> None:
    data = Dataset([[0.0], [0.0], [1.0], [1.0]], ["a", "b", "a", "b"])
    found = leave_one_out(Metric({2: [[1.0]]}, 1, data.scaling), data)
    assert found.error == 1.0
    assert found.ratios.tolist() == [0.0] * 4
