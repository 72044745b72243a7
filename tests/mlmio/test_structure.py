"""Significance and islands: known answers."""

from __future__ import annotations

import numpy as np
import pytest
from instances import random_data, random_metric

import mlmio
from mlmio import DataError, Dataset, Metric
from mlmio.structure import islands, significance


def test_significance_of_a_diagonal_matrix_is_the_diagonal() -> None:
    found = significance(Metric({2: np.diag([3.0, 0.0, 0.5])}, 3))
    np.testing.assert_allclose(found.values, [3.0, 0.0, 0.5], atol=1e-15)
    assert found.psd


def test_significance_of_a_known_matrix() -> None:
    # Eigenpairs 3 with (1, 1)/√2 and 1 with (1, −1)/√2: each coordinate weighs (3 + 1)/√2.
    found = significance(Metric({2: [[2.0, 1.0], [1.0, 2.0]]}, 2))
    np.testing.assert_allclose(found.values, [4 / np.sqrt(2)] * 2)


def test_significance_says_where_it_takes_absolute_values() -> None:
    found = significance(Metric({2: np.diag([1.0, -2.0])}, 2, feature_names=["u", "v"]))
    assert found.values.tolist() == [1.0, 2.0]
    assert not found.psd
    assert str(found).splitlines() == [
        "v: 2",
        "u: 1",
        "B is not positive semidefinite: |λ| was taken for λ",
    ]


@pytest.mark.parametrize("seed", range(3))
def test_significance_is_the_sum_over_eigenpairs(seed: int) -> None:
    metric = random_metric(random_data(seed, (4, 4), D=4), (2,), seed)
    # The other solver, for matrices of any kind.
    values, vectors = np.linalg.eig(metric.B)
    wanted = [sum(values[i] * abs(vectors[j, i]) for i in range(4)) for j in range(4)]
    np.testing.assert_allclose(significance(metric).values, wanted)


@pytest.mark.parametrize("seed", range(4))
def test_islands_are_found(seed: int) -> None:
    data = mlmio.load_dataset("islands", n=180, seed=seed)
    metric = Metric({2: np.eye(2)}, 2, data.scaling)
    found = islands(metric, data)
    truth = np.arange(180) % 9
    for c in range(3):
        pairs = set(zip(found[data.y == c].tolist(), truth[data.y == c].tolist(), strict=True))
        assert len(pairs) == 3
        assert {island for island, _ in pairs} == {0, 1, 2}


def test_the_metric_makes_the_islands() -> None:
    X, y = mlmio.data.generators.two_lines(100)
    data = Dataset(X, y, scale="none")
    across = np.array([-0.5, np.sqrt(0.75)])
    ideal = Metric({2: np.outer(across, across) + 1e-4 * np.eye(2)}, 2)
    assert islands(ideal, data).max() == 0
    assert islands(Metric({2: np.eye(2)}, 2), data).max() > 0


def test_a_class_is_cut_where_another_comes_between() -> None:
    data = Dataset([[0.0], [1.0], [2.0], [10.0], [11.0], [5.0], [6.0]], list("aaaaabb"))
    metric = Metric({1: [1.0]}, 1, data.scaling)
    assert islands(metric, data, 2).tolist() == [0, 0, 0, 1, 1, 0, 0]
    whole = Dataset(data.X[[0, 1, 2, 3, 4]], list("aaaab"), scale="none")
    assert islands(metric, whole, 100).tolist() == [0, 0, 0, 0, 0]


def joined(metric: Metric, data: Dataset, k: int) -> set[tuple[int, int]]:
    """Pairs of one class of which each is among the k nearest of the other."""
    near = []
    for i in range(data.N):
        d = metric.scaled_distance(data.X[[i]], data.X)[0]
        near.append(sorted((j for j in range(data.N) if j != i), key=lambda j: d[j])[:k])
    everyone = [(i, j) for i in range(data.N) for j in near[i]]
    return {(i, j) for i, j in everyone if i in near[j] and data.y[i] == data.y[j]}


def test_islands_are_components_of_mutual_neighbours() -> None:
    data = random_data(5, (9, 8), spread=0.6)
    metric = random_metric(data, (1, 2), 2)
    wanted = np.arange(data.N)
    for _ in range(data.N):
        for i, j in joined(metric, data, 3):
            wanted[[i, j]] = min(wanted[i], wanted[j])
    found = islands(metric, data, 3)
    assert len(np.unique(wanted)) > 2
    for i, j in np.argwhere(data.y[:, None] == data.y):
        assert (found[i] == found[j]) == (wanted[i] == wanted[j])
    for c in (0, 1):
        assert (np.diff(np.bincount(found[data.y == c])) <= 0).all()


@pytest.mark.parametrize("wrong", [0, -1, 2.5, "3", None])
def test_wrong_numbers_of_neighbours(wrong: object) -> None:
    data = random_data(0, (3, 3))
    with pytest.raises(DataError, match="n_neighbors is"):
        islands(random_metric(data, (2,), 0), data, wrong)
