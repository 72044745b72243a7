"""Neighbours under any metric, against loops over all pairs."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import random_data, random_metric

import mlmio.neighbors
from mlmio import DataError, Metric
from mlmio.neighbors import (
    LabelledIndex,
    NeighborIndex,
    differences,
    is_linear_map,
    linear_map,
    ratios,
    training_index,
)

RNG = np.random.default_rng(7)
INDEFINITE = np.array([[2.0, 0.3], [0.3, -1.0]])
CUBE = np.zeros((2, 2, 2))
CUBE[0, 0, 0], CUBE[1, 1, 1] = 1.0, 0.5

METRICS = {
    "psd": Metric({2: [[2.0, 0.5], [0.5, 1.0]]}, 2),
    "singular": Metric({2: [[1.0, 1.0], [1.0, 1.0]]}, 2),
    "zero": Metric({2: np.zeros((2, 2))}, 2),
    "indefinite": Metric({2: INDEFINITE}, 2),
    "linear": Metric({1: [1.0, 0.4]}, 2),
    "linear with signs": Metric({1: [1.0, -0.4], 2: INDEFINITE}, 2),
    "cubic": Metric({1: [0.2, 0.0], 2: INDEFINITE, 3: CUBE}, 2),
    "only cubic": Metric({3: CUBE}, 2),
}


@pytest.fixture(params=METRICS, ids=str)
def metric(request: pytest.FixtureRequest) -> Metric:
    return METRICS[request.param]


def one_by_one(metric: Metric, x: np.ndarray, y: np.ndarray) -> float:
    """The series for two points, written out."""
    delta = x - y
    return (
        sum(metric.a[p] * abs(delta[p]) for p in range(2))
        + sum(metric.B[p, q] * delta[p] * delta[q] for p in range(2) for q in range(2))
        + sum(metric.C[p, p, p] * abs(delta[p]) ** 3 for p in range(2))
    )


def test_neighbours_are_those_of_a_loop(metric: Metric) -> None:
    points, queries = RNG.normal(size=(25, 2)), RNG.normal(size=(9, 2))
    distances, rows = NeighborIndex(metric, points).kneighbors(queries, 4)
    for q, query in enumerate(queries):
        all_of_them = sorted(one_by_one(metric, query, point) for point in points)
        np.testing.assert_allclose(distances[q], all_of_them[:4], atol=1e-12)
        for distance, row in zip(distances[q], rows[q], strict=True):
            assert one_by_one(metric, query, points[row]) == pytest.approx(distance, abs=1e-12)
        assert len(set(rows[q])) == 4


def test_a_point_is_not_its_own_neighbour(metric: Metric) -> None:
    points = RNG.normal(size=(12, 2))
    points[3] = points[5]
    distances, rows = NeighborIndex(metric, points).kneighbors(points, 3, np.arange(12))
    for i in range(12):
        others = sorted(one_by_one(metric, points[i], points[j]) for j in range(12) if j != i)
        assert i not in rows[i]
        np.testing.assert_allclose(distances[i], others[:3], atol=1e-12)


def test_more_neighbours_than_points(metric: Metric) -> None:
    index = NeighborIndex(metric, np.array([[0.0, 0.0], [1.0, 0.0]]))
    distances, rows = index.kneighbors(np.zeros((2, 2)), 3, np.array([0, -1]))
    assert rows[0].tolist() == [1, -1, -1]
    assert sorted(rows[1].tolist()) == [-1, 0, 1]
    assert np.isinf(distances[rows == -1]).all()
    assert np.isfinite(distances[rows != -1]).all()


@pytest.mark.parametrize("name", ["psd", "indefinite", "cubic"])
def test_blocks_change_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    points = RNG.normal(size=(40, 2))
    index = NeighborIndex(METRICS[name], points)
    whole = index.kneighbors(points, 5, np.arange(40))
    monkeypatch.setattr(mlmio.neighbors, "BLOCK_BYTES", 700)
    parts = index.kneighbors(points, 5, np.arange(40))
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])


@pytest.mark.parametrize("name", ["psd", "indefinite"])
def test_memory_does_not_grow_with_the_number_of_pairs(name: str) -> None:
    points = RNG.uniform(size=(8000, 2))
    index = LabelledIndex(METRICS[name], points, np.arange(8000) % 2, 2)
    tracemalloc.start()
    index.class_distances(points[:4000])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # All pairs at once would take 256 MB and the temporaries of a series twice that.
    assert peak < 128 * 2**20


def test_class_distances_and_votes_are_those_of_a_loop(metric: Metric) -> None:
    points, codes = RNG.normal(size=(20, 2)), RNG.integers(0, 3, size=20)
    index = LabelledIndex(metric, points, codes, 4)
    found = index.class_distances(points, np.arange(20))
    votes = index.votes(points, 3, np.arange(20))
    for i in range(20):
        pairs = [(one_by_one(metric, points[i], points[j]), codes[j]) for j in range(20) if j != i]
        for c in range(4):
            wanted = min((d for d, code in pairs if code == c), default=np.inf)
            assert found[i, c] == pytest.approx(wanted, abs=1e-12)
        if len({round(d, 9) for d, _ in pairs}) == 19:
            nearest = [code for _, code in sorted(pairs)[:3]]
            assert votes[i].tolist() == [nearest.count(c) / 3 for c in range(4)]


def test_votes_where_nobody_is_left() -> None:
    index = LabelledIndex(METRICS["psd"], np.zeros((1, 2)), np.array([1]), 2)
    assert index.votes(np.zeros((2, 2)), 2, np.array([0, -1])).tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_no_queries(metric: Metric) -> None:
    distances, rows = NeighborIndex(metric, np.eye(2)).kneighbors(np.empty((0, 2)), 2)
    assert distances.shape == rows.shape == (0, 2)


def test_an_index_is_pickled_before_and_after_its_use(metric: Metric) -> None:
    points = RNG.normal(size=(6, 2))
    index = LabelledIndex(metric, points, np.array([0, 1] * 3), 2)
    for _ in range(2):
        again = pickle.loads(pickle.dumps(index))
        np.testing.assert_array_equal(again.class_distances(points), index.class_distances(points))


@given(seed=st.integers(0, 10**6), D=st.integers(1, 5))
@settings(max_examples=25)
def test_a_linear_map_gives_the_distances(seed: int, D: int) -> None:
    data = random_data(seed, (4, 4), D)
    metric = random_metric(data, (2,), seed)
    assert is_linear_map(metric)
    mapped = data.X @ linear_map(metric).T
    euclidean = np.array([[((x - y) ** 2).sum() for y in mapped] for x in mapped])
    np.testing.assert_allclose(euclidean, metric.scaled_distance(data.X, data.X), atol=1e-12)
    spread = (linear_map(metric) ** 2).sum(axis=1)
    assert (np.diff(spread) <= 1e-12).all()


@pytest.mark.parametrize(
    ("tensors", "answer"),
    [
        ({2: np.eye(2)}, True),
        ({2: np.diag([1.0, -1e-9])}, True),
        ({2: np.diag([1.0, -1e-3])}, False),
        ({1: [0.0, 0.0], 2: np.eye(2)}, True),
        ({1: [0.1, 0.0], 2: np.eye(2)}, False),
        ({1: [0.1, 0.0]}, False),
    ],
)
def test_what_is_a_linear_map(tensors: dict[int, np.ndarray], answer: bool) -> None:
    assert is_linear_map(Metric(tensors, 2)) is answer


def test_distances_of_differences() -> None:
    metric = METRICS["cubic"]
    x, y = RNG.normal(size=(5, 2)), RNG.normal(size=(5, 2))
    wanted = [one_by_one(metric, a, b) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(differences(metric, x - y), wanted, atol=1e-12)


@pytest.mark.parametrize(
    ("near", "far", "ratio"),
    [
        (1.0, 2.0, 0.5),
        (0.0, 2.0, 0.0),
        (0.0, 0.0, 1.0),
        (-1e-9, 0.0, 1.0),
        (-1.0, 2.0, 0.0),
        (1.0, 0.0, np.inf),
        (1.0, -2.0, np.inf),
        (np.inf, 1.0, np.inf),
        (1.0, np.inf, 0.0),
        (np.inf, np.inf, np.inf),
    ],
)
def test_ratios_have_an_answer_for_everything(near: float, far: float, ratio: float) -> None:
    assert ratios(np.array([near]), np.array([far])).item() == ratio


def test_a_training_index_refuses_what_does_not_fit() -> None:
    data = random_data(0, (3, 3))
    with pytest.raises(DataError, match="serves has shape"):
        training_index(METRICS["psd"], data, np.ones(4, dtype=bool))
    with pytest.raises(DataError, match="the metric is of 1 features"):
        training_index(Metric({2: np.eye(1)}, 1), data)
