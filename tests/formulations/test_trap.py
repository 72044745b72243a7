"""The paper's appendix: where Euclidean target neighbours mislead, choosing them does not.

Layers of alternating class, in three columns: the nearest point of a class is two layers up or
down, with the other class between. B = diag(0, 1) finds those of the same layer.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import mlmio
from mlmio import Dataset, Metric

LAYERS = {"six": 18, "eight": 24}


@cache
def trap(points: int) -> Dataset:
    """The lowest layers of the trap: few enough for the whole model."""
    whole = mlmio.load_dataset("target_trap", n=36, scale="none")
    return Dataset(whole.X[:points], whole.y[:points])


@cache
def metric(spec: str, points: int) -> Metric:
    result = mlmio.solve(f"quadratic + {spec}", trap(points))
    assert (result.status, result.verified) == ("optimal", True)
    assert result.metric is not None
    return result.metric


def weight_of_x(B: np.ndarray) -> float:
    """Of x against y, in scaled coordinates."""
    return float(B[0, 0] / B[1, 1])


def misled(metric: Metric, data: Dataset) -> int:
    """Points whose nearest neighbour is of the other class."""
    d = metric.scaled_distance(data.X, data.X)
    np.fill_diagonal(d, np.inf)
    return int((data.y[d.argmin(axis=1)] != data.y).sum())


@pytest.mark.parametrize("points", LAYERS.values(), ids=LAYERS)
def test_the_nearest_point_of_a_class_is_across_the_other(points: int) -> None:
    """It is a trap: where x counts as y does every point is misled, where it does not none is."""
    data = trap(points)
    assert misled(Metric({2: np.eye(2)}, D=2), data) == points
    assert misled(Metric({2: np.diag([0.0, 1.0])}, D=2), data) == 0


@pytest.mark.parametrize(
    ("points", "cone"),
    [(18, ""), (18, " + gershgorin"), (18, " + diagonal"), (24, ""), (24, " + diagonal")],
)
def test_chosen_neighbours_give_diag_0_1(points: int, cone: str) -> None:
    learned = metric(f"nearest{cone}", points)
    np.testing.assert_allclose(learned.B / learned.B[1, 1], np.diag([0.0, 1.0]), atol=0.02)
    assert misled(learned, trap(points)) == 0


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("points", LAYERS.values(), ids=LAYERS)
def test_euclidean_targets_do_not(points: int, k: int) -> None:
    learned = metric(f"unbounded + gershgorin + lmnn({k=})", points)
    assert weight_of_x(learned.B) > 0.2
    assert misled(learned, trap(points)) > points / 4


@pytest.mark.parametrize("points", LAYERS.values(), ids=LAYERS)
def test_what_they_give_is_inconsistent_among_k(points: int) -> None:
    """From k to k the weight of x against y changes by half and more."""
    learned = [metric(f"unbounded + gershgorin + lmnn({k=})", points) for k in (1, 3, 5)]
    weights = sorted(weight_of_x(each.B) for each in learned)
    assert weights[-1] > 3 * weights[0]


@pytest.mark.parametrize("points", LAYERS.values(), ids=LAYERS)
def test_the_right_targets_give_diag_0_1_to_lmnn_too(points: int) -> None:
    """It is the targets: with neighbours of the same layer there is no trap."""
    layer = np.arange(points) // 3
    pairs = tuple(
        (i, j) for i in range(points) for j in range(points) if i != j and layer[i] == layer[j]
    )
    learned = metric(f"unbounded + gershgorin + lmnn(targets={pairs}, mu=0.9)", points)
    assert weight_of_x(learned.B) < 0.02
    assert misled(learned, trap(points)) == 0
