"""The region: points that coincide, and the bounds of the distances."""

from __future__ import annotations

import pytest
from instances import random_data

import mlmio
from mlmio import DataError, Dataset

SPEC = "linear + quadratic + nearest"


def coinciding(ids: list[str] | None = None) -> Dataset:
    """Points 0 and 4 are of different classes, and one."""
    X = random_data(5, (4, 4)).X.copy()
    X[4] = X[0]
    return Dataset(X, ["red"] * 4 + ["blue"] * 4, scale="none", ids=ids)


def test_the_default_names_the_points_their_classes_and_the_ways_out() -> None:
    with pytest.raises(DataError) as caught:
        mlmio.compose(SPEC).build(coinciding(list("abcdefgh")))
    for part in ("a ('red')", "e ('blue')", "1 such pair", "'drop'", "'outlier'"):
        assert part in str(caught.value)


def test_dropped_points_are_gone() -> None:
    data = coinciding()
    result = mlmio.solve(SPEC + " + bounded(duplicates='drop')", data)
    without = mlmio.solve(SPEC, data.take([1, 2, 3, 5, 6, 7]))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(without.objective, abs=1e-6)
    assert set(result.neighbors) == {1, 2, 3, 5, 6, 7}
    assert mlmio.verify(result, data).verified


def test_dropping_a_whole_class_is_an_error() -> None:
    data = Dataset([[0.0], [1.0], [0.0], [1.0], [2.0]], [0, 0, 1, 1, 1], scale="none")
    with pytest.raises(DataError):
        mlmio.compose(SPEC + " + bounded(duplicates='drop')").build(data)


def test_as_outliers_they_are_given_up() -> None:
    data = coinciding()
    result = mlmio.solve(SPEC + " + bounded(duplicates='outlier') + outliers", data)
    assert result.status == "optimal"
    assert {0, 4} <= set(result.outliers)
    assert mlmio.verify(result, data).verified


def test_as_outliers_they_must_leave_enough() -> None:
    data = Dataset([[0.0], [1.0], [0.0], [3.0], [2.0]], [0, 0, 1, 1, 1], scale="none")
    with pytest.raises(DataError, match="class 0 has 1 point"):
        mlmio.compose(SPEC + " + bounded(duplicates='outlier') + outliers").build(data)


def test_points_that_coincide_within_a_class_are_fine() -> None:
    X = random_data(5, (4, 4)).X.copy()
    X[1] = X[0]
    result = mlmio.solve(SPEC, Dataset(X, [0] * 4 + [1] * 4, scale="none"))
    assert result.status == "optimal"
    assert result.neighbors[0] == (1,)


@pytest.mark.parametrize("distances", ["variables", "substituted"])
@pytest.mark.parametrize("dmax", [1.0, 3.0])
def test_distances_of_the_optimum_are_within_bounds(distances: str, dmax: float) -> None:
    data = random_data(6, (3, 3))
    result = mlmio.solve(f"{SPEC} + bounded(dmin=0.05, {dmax=}, {distances=})", data)
    d = result.metric.scaled_distance(data.X, data.X)
    assert d.min() >= -1e-6
    assert d.max() <= dmax + 1e-6
    assert d[data.y[:, None] != data.y].min() >= 0.05 - 1e-6


def test_a_dmin_of_zero_gives_nobody_up() -> None:
    result = mlmio.solve(SPEC + " + bounded(dmin=0.0) + outliers(rho=1.0)", coinciding())
    assert result.status == "optimal"
    assert len(result.outliers) == 0
    assert result.objective == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("factor", [1e12, 1e-12])
@pytest.mark.parametrize("scale", ["minmax", "standard", "robust", "none"])
def test_huge_and_tiny_scales_are_scaled_or_named(factor: float, scale: str) -> None:
    X = [[0.0, 1.0], [0.1, 2.0], [1.0, 3.0], [1.1, 4.0]]
    data = Dataset([[factor * x for x in row] for row in X], list("aabb"), scale=scale)
    if scale == "none":
        with pytest.raises(DataError, match=r"feature 'x1' has differences .* scale='minmax'"):
            mlmio.solve("quadratic + nearest", data)
    else:
        assert mlmio.solve("quadratic + nearest", data).objective == pytest.approx(1.0)
