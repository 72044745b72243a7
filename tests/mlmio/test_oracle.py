"""The oracle answers what loops over all pairs answer."""

from __future__ import annotations

import numpy as np
import pytest

from mlmio import Dataset, Metric
from mlmio.oracle import Oracle, class_sample, ends

ORDERS = [(1,), (2,), (3,), (1, 2), (1, 2, 3), (4,)]


def points(seed: int, sizes: tuple[int, ...] = (9, 6, 8), D: int = 3) -> Dataset:
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return Dataset(rng.uniform(size=(len(y), D)), y)


def theta_and_distances(
    data: Dataset, orders: tuple[int, ...], seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Parameters of either sign, so that B is indefinite; and the distances of all pairs."""
    from mlmio.series import parameter_count

    rng = np.random.default_rng(seed)
    entries = {n: rng.normal(size=parameter_count(data.D, n)) for n in orders}
    metric = Metric.from_entries(entries, D=data.D, scaling=data.scaling)
    theta = np.concatenate([metric.entries(n) for n in orders])
    return theta, metric.scaled_distance(data.X, data.X)


def nearest_by_loops(
    d: np.ndarray, allowed: np.ndarray, count: int
) -> tuple[list[list[int]], list[list[float]]]:
    """For every point the nearest of those allowed, filled up with −1 and infinity."""
    by, at = [], []
    for i in range(len(d)):
        order = sorted((j for j in range(len(d)) if allowed[i, j]), key=lambda j: d[i, j])[:count]
        missing = count - len(order)
        by.append(order + [-1] * missing)
        at.append([float(d[i, j]) for j in order] + [np.inf] * missing)
    return by, at


def same_class(data: Dataset) -> np.ndarray:
    return (data.y[:, None] == data.y[None, :]) & ~np.eye(data.N, dtype=bool)


def other_class(data: Dataset) -> np.ndarray:
    return data.y[:, None] != data.y[None, :]


@pytest.mark.parametrize("orders", ORDERS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_the_nearest(seed: int, orders: tuple[int, ...]) -> None:
    data = points(seed)
    theta, d = theta_and_distances(data, orders, seed)
    found = Oracle(data, orders).nearest(theta, k=2, q=3)
    by, at = nearest_by_loops(d, same_class(data), 2)
    assert found.served_by.tolist() == by
    assert found.served_at == pytest.approx(np.array(at), abs=1e-12)
    by, at = nearest_by_loops(d, other_class(data), 3)
    assert found.fenced_by.tolist() == by
    assert found.fenced_at == pytest.approx(np.array(at), abs=1e-12)
    expected = found.fenced_at[:, 0] - found.served_at[:, 1]
    np.testing.assert_array_equal(found.separation, expected)


def test_b_is_indefinite_in_these_tests() -> None:
    data = points(0)
    _, d = theta_and_distances(data, (2,))
    assert d.min() < 0 < d.max()


def test_more_than_there_are() -> None:
    data = points(1, (2, 4), D=2)
    theta, d = theta_and_distances(data, (1, 2))
    found = Oracle(data, (1, 2)).nearest(theta, k=5, q=6)
    by, at = nearest_by_loops(d, same_class(data), 5)
    assert found.served_by.tolist() == by
    np.testing.assert_allclose(found.served_at, at, atol=1e-12)
    by, _ = nearest_by_loops(d, other_class(data), 6)
    assert found.fenced_by.tolist() == by


@pytest.mark.filterwarnings("error")
def test_a_point_that_nobody_serves_allows_nothing() -> None:
    """Even where nobody of another class counts either: not a number would be no answer."""
    data = points(1, (2, 4), D=2)
    theta, _ = theta_and_distances(data, (1, 2))
    nobody = np.zeros(data.N, dtype=bool)
    oracle = Oracle(data, (1, 2))
    assert (oracle.nearest(theta, serving=nobody, fencing=nobody).separation == -np.inf).all()
    assert (oracle.nearest(theta, serving=nobody).separation == -np.inf).all()
    assert (oracle.nearest(theta, fencing=nobody).separation == np.inf).all()


@pytest.mark.parametrize("seed", range(3))
def test_some_points_neither_serve_nor_fence(seed: int) -> None:
    data = points(seed)
    theta, d = theta_and_distances(data, (1, 2), seed)
    rng = np.random.default_rng(seed)
    serving, fencing = rng.uniform(size=data.N) < 0.5, rng.uniform(size=data.N) < 0.5
    found = Oracle(data, (1, 2)).nearest(theta, k=3, q=2, serving=serving, fencing=fencing)
    assert found.served_by.tolist() == nearest_by_loops(d, same_class(data) & serving, 3)[0]
    assert found.fenced_by.tolist() == nearest_by_loops(d, other_class(data) & fencing, 2)[0]


def test_more_points_than_one_task_holds() -> None:
    data = points(5, (90, 70, 61), D=2)
    theta, d = theta_and_distances(data, (1, 2))
    found = Oracle(data, (1, 2)).nearest(theta)
    assert found.served_by.tolist() == nearest_by_loops(d, same_class(data), 1)[0]
    assert found.fenced_by.tolist() == nearest_by_loops(d, other_class(data), 1)[0]


def test_ties_are_any_of_the_nearest() -> None:
    """A grid, under which nearly all distances come several times."""
    X = np.array([[i, j] for i in range(5) for j in range(4)], dtype=float)
    data = Dataset(X, np.arange(20) % 2, scale="none")
    theta = np.array([1.0, 1.0])
    d = np.abs(X[:, None] - X[None, :]).sum(axis=2)
    found = Oracle(data, (1,)).nearest(theta, k=4, q=4)
    for by, at, allowed in (
        (found.served_by, found.served_at, same_class(data)),
        (found.fenced_by, found.fenced_at, other_class(data)),
    ):
        np.testing.assert_allclose(at, nearest_by_loops(d, allowed, 4)[1])
        for i, row in enumerate(by):
            assert len(set(row.tolist())) == 4
            assert allowed[i, row].all()
            np.testing.assert_allclose(d[i, row], at[i])


@pytest.mark.parametrize("orders", [(2,), (1, 2, 3)], ids=str)
def test_rows_are_numbered_anew(orders: tuple[int, ...]) -> None:
    data = points(2)
    rows = np.array([1, 2, 5, 8, 11, 12, 17, 20])
    theta, d = theta_and_distances(data, orders)
    found = Oracle(data, orders, rows=rows).nearest(theta, k=2)
    among = np.ix_(rows, rows)
    assert found.served_by.tolist() == nearest_by_loops(d[among], same_class(data)[among], 2)[0]
    assert found.fenced_by.tolist() == nearest_by_loops(d[among], other_class(data)[among], 1)[0]


def violated_pairs(
    d: np.ndarray, least: np.ndarray, dmax: float
) -> tuple[dict[tuple[int, int], float], dict[tuple[int, int], float]]:
    """Every pair that breaks a bound, and by how much."""
    later = np.triu(np.ones(d.shape, dtype=bool), 1)
    far = {(i, j): d[i, j] - dmax for i, j in np.argwhere(later & (d > dmax)).tolist()}
    near = {(i, j): least[i, j] - d[i, j] for i, j in np.argwhere(later & (d < least)).tolist()}
    return far, near


def check_violated(
    found: tuple[np.ndarray, np.ndarray], broken: dict[tuple[int, int], float], data: Dataset
) -> None:
    """Nothing that is not broken, and of every point the worst pair with those after it.

    After it means by class, and within a class by number: so every pair is looked at once.
    """
    pairs, amounts = found
    got = dict(zip(map(tuple, pairs.tolist()), amounts.tolist(), strict=True))
    assert len(got) == len(pairs)
    assert (np.diff(amounts) <= 0).all()
    for pair, amount in got.items():
        # A pair at the bound itself is broken by rounding, or not at all.
        assert amount == pytest.approx(broken.get(pair, 0.0), abs=1e-12)
    place = np.argsort(np.argsort(data.y, kind="stable"))
    for i in range(data.N):
        later = [pair for pair in broken if i in pair and place[list(pair)].min() == place[i]]
        worst = max((broken[pair] for pair in later), default=0.0)
        assert max((got[pair] for pair in later if pair in got), default=0.0) == pytest.approx(
            worst, abs=1e-12
        )
    assert max(got.values()) == pytest.approx(max(broken.values()), abs=1e-12)


@pytest.mark.parametrize("orders", ORDERS, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_bounds_that_are_violated(seed: int, orders: tuple[int, ...]) -> None:
    data = points(seed)
    theta, d = theta_and_distances(data, orders, seed)
    # Some pairs of two classes are too near whatever the signs of the parameters.
    dmin, dmax = float(np.quantile(d[other_class(data)], 0.3)), float(np.quantile(d, 0.8))
    far, near = Oracle(data, orders).violated(theta, dmin, dmax)
    broken = violated_pairs(d, np.where(other_class(data), dmin, 0.0), dmax)
    assert broken[0]
    assert broken[1]
    check_violated(far, broken[0], data)
    check_violated(near, broken[1], data)


def test_bounds_among_more_points_than_one_tile_holds() -> None:
    """Two classes of more points than are looked at at once, and three of one point each."""
    data = points(7, (1, 1300, 1, 1100, 1), D=2)
    d = np.abs(data.X[:, None] - data.X[None, :]).sum(axis=2)
    dmin, dmax = float(np.quantile(d[other_class(data)], 1e-4)), float(np.quantile(d, 1 - 1e-4))
    far, near = Oracle(data, (1,)).violated(np.ones(2), dmin, dmax)
    broken = violated_pairs(d, np.where(other_class(data), dmin, 0.0), dmax)
    check_violated(far, broken[0], data)
    check_violated(near, broken[1], data)


def test_the_nearest_of_more_points_than_one_tile_holds() -> None:
    data = points(7, (1, 1300, 1, 1100, 1), D=2)
    theta, d = theta_and_distances(data, (1, 2))
    found = Oracle(data, (1, 2)).nearest(theta, k=3, q=2)
    some = np.append(np.arange(0, data.N, 97), np.flatnonzero(np.isin(data.y, (0, 2, 4))))
    for allowed, by, at in (
        (same_class(data), found.served_by, found.served_at),
        (other_class(data), found.fenced_by, found.fenced_at),
    ):
        expected = np.sort(np.where(allowed, d, np.inf)[some], axis=1)[:, : at.shape[1]]
        np.testing.assert_allclose(at[some], expected, atol=1e-12)
        reached = np.where(by >= 0, np.take_along_axis(d, by, axis=1), np.inf)
        np.testing.assert_allclose(reached, at, atol=1e-12)


def test_nothing_is_violated() -> None:
    data = points(0)
    theta = np.ones(data.D)
    d = np.abs(data.X[:, None] - data.X[None, :]).sum(axis=2)
    dmin = d[other_class(data)].min() * 0.999
    far, near = Oracle(data, (1,)).violated(theta, float(dmin), float(d.max() * 1.001))
    assert far[0].shape == near[0].shape == (0, 2)
    assert len(far[1]) == len(near[1]) == 0


def test_exempt_pairs_need_not_be_apart() -> None:
    """Twins of three classes at one place, and two at another: all but those are held apart."""
    X = np.array([[0.0], [0.0], [0.0], [0.5], [0.5], [0.52], [1.0]])
    data = Dataset(X, [0, 1, 2, 0, 1, 2, 0], scale="none")
    exempt = np.array([[0, 1], [0, 2], [1, 2], [3, 4]])
    _, near = Oracle(data, (1,), exempt).violated(np.array([1.0]), 0.1, 2.0)
    assert sorted(map(tuple, near[0].tolist())) == [(3, 5), (4, 5)]
    assert near[1] == pytest.approx(0.08)
    _, near = Oracle(data, (1,)).violated(np.array([1.0]), 0.1, 2.0)
    assert len(near[0]) > 2


def test_a_sample_is_of_every_class() -> None:
    data = points(3, (700, 300, 60, 4))
    rows = class_sample(data, 100, seed=1)
    assert (np.diff(rows) > 0).all()
    assert np.bincount(data.y[rows]).tolist() == [66, 50, 50, 4]
    assert class_sample(data, 100, seed=1).tolist() == rows.tolist()


def test_the_ends_in_random_directions_are_the_corners() -> None:
    corners = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    inner = np.random.default_rng(0).uniform(0.1, 0.9, size=(30, 2))
    data = Dataset(np.concatenate([inner, corners]), np.arange(34) % 2, scale="none")
    assert ends(data, 50).tolist() == [30, 31, 32, 33]


def test_the_points_of_pairs_join_others() -> None:
    data = points(4)
    some = Oracle(data, (1,)).of(np.array([2, 5, 7]))
    joined = some.joined_by([np.array([[1, 5], [3, 20]]), np.empty((0, 2), dtype=int)])
    assert joined.rows.tolist() == [1, 2, 3, 5, 7, 20]
