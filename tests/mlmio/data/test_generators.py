"""Synthetic sets: seeds, and the property that each of them is made to have."""

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlmio.data import Dataset
from mlmio.data.generators import (
    GENERATORS,
    islands,
    six_d,
    target_trap,
    ten_classes,
    triplet_trap,
    two_lines,
)
from mlmio.errors import DataError

every_generator = pytest.mark.parametrize("generator", GENERATORS.values(), ids=GENERATORS)
seeds = st.integers(0, 2**32 - 1)


def nearest_are_co_class(X: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Say for every point whether its nearest neighbour is of its class."""
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    return labels[squares.argmin(axis=1)] == labels


@every_generator
def test_the_seed_decides(generator: Callable) -> None:
    X, labels = generator(40, 3)
    again, labels_again = generator(40, 3)
    other, _ = generator(40, 4)
    assert np.array_equal(X, again)
    assert np.array_equal(labels, labels_again)
    assert not np.array_equal(X, other)


@every_generator
@pytest.mark.parametrize("n", [36, 37, 100])
def test_there_are_as_many_points_as_asked_for(generator: Callable, n: int) -> None:
    X, labels = generator(n, 0)
    assert len(X) == len(labels) == n
    assert n == Dataset(X, labels).N


@every_generator
@pytest.mark.parametrize("n", [3, 0, -1, 40.0, True])
def test_too_few_points_are_refused(generator: Callable, n: object) -> None:
    with pytest.raises(DataError, match=r"n is .* at least"):
        generator(n, 0)


@every_generator
def test_a_bad_seed_is_refused(generator: Callable) -> None:
    with pytest.raises(DataError, match="seed is -1"):
        generator(40, -1)


@given(seeds)
def test_two_lines_are_apart_only_across_the_lines(seed: int) -> None:
    X, labels = two_lines(60, seed)
    across = X @ [-np.sin(np.pi / 6), np.cos(np.pi / 6)]
    assert across[labels == 0].max() < 0 < across[labels == 1].min()
    assert nearest_are_co_class(across[:, None], labels).all()
    assert not nearest_are_co_class(X, labels).all()


@given(seeds)
def test_islands_of_a_class_are_disjoint(seed: int) -> None:
    X, labels = islands(90, seed)
    assert X.min() > 0
    assert X.max() < 1
    cells = np.floor(X * 3).astype(int)
    for label in range(3):
        own = {tuple(cell) for cell in cells[labels == label]}
        assert len(own) == 3
        assert all(a[0] != b[0] and a[1] != b[1] for a, b in itertools.combinations(own, 2))
    # The gap between two islands is wider than 3 / 8 of an island.
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    assert squares[(cells[:, None] != cells).any(axis=2)].min() > 0.09**2


@given(seeds)
def test_six_d_is_told_apart_by_two_directions(seed: int) -> None:
    X, labels = six_d(90, seed)
    v = np.arange(1.0, 7.0)
    latent = X @ (np.eye(6) - 2 * np.outer(v, v) / (v @ v))
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])
    assert np.abs(latent[:, :2] - corners[labels]).max() <= 0.25 + 1e-12
    assert (np.abs(latent[:, 2:]).max(axis=0) > 1.0).all()
    assert nearest_are_co_class(latent[:, :2], labels).all()
    assert not nearest_are_co_class(X, labels).all()


@pytest.mark.parametrize("scale", ["none", "minmax"])
@given(seed=seeds, n=st.integers(36, 80))
def test_target_neighbours_lie_across_a_non_class_point(scale: str, seed: int, n: int) -> None:
    data = Dataset(*target_trap(n, seed), scale=scale)
    X, y = data.X, data.y
    assert nearest_are_co_class(X[:, 1:], y).all()
    squares = ((X[:, None] - X) ** 2).sum(axis=2)
    trapped = 0
    for i in range(n):
        co, non = data.co_class(i), data.non_class(i)
        j = co[squares[i, co].argmin()]
        low, high = sorted([X[i, 1], X[j, 1]])
        between = (X[non, 1] > low) & (X[non, 1] < high) & (squares[i, non] < squares[i, j])
        trapped += bool(between.any())
    assert trapped >= n - n % 3


@given(seeds)
def test_triplets_have_a_non_class_midpoint(seed: int) -> None:
    X, labels = triplet_trap(37, seed)
    left, middle, right = X[0:36:3], X[1:36:3], X[2:36:3]
    np.testing.assert_allclose(middle, (left + right) / 2, rtol=1e-15)
    assert labels[:6].tolist() == [0, 1, 0, 0, 1, 0]
    assert nearest_are_co_class(X[:, :1], labels).all()


def test_ten_classes_are_the_same_regions_for_every_seed() -> None:
    X, labels = ten_classes()
    assert X.shape == (10_000, 2)
    assert X.min() >= 0
    assert X.max() <= 1
    assert np.bincount(labels).min() > 500
    other, other_labels = ten_classes(500, seed=1)
    nearest = ((other[:, None] - X) ** 2).sum(axis=2).argmin(axis=1)
    assert np.mean(labels[nearest] == other_labels) > 0.97


def test_ten_classes_have_curved_boundaries() -> None:
    from sklearn.linear_model import LogisticRegression

    X, labels = ten_classes(4000)
    # A linear classifier draws straight boundaries, which cannot follow these.
    assert LogisticRegression(C=1e6, max_iter=2000).fit(X, labels).score(X, labels) < 0.95
