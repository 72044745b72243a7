"""The largest possible d_min against the oracle's LP, and what `bounded` makes of it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from instances import random_data
from oracle import largest_separation

import mlmio
from mlmio import DataError, Dataset, separation
from mlmio.outline import outline

TERMS = {(1,): "linear", (2,): "quadratic", (1, 2): "linear + quadratic"}


def too_large_a_dmin(data: Dataset, terms: str, dmax: float = 1.0) -> str:
    spec = f"{terms} + nearest + bounded(dmin={dmax}, dmax={dmax})"
    with pytest.raises(DataError) as caught:
        mlmio.compose(spec).build(data)
    return str(caught.value)


@pytest.mark.parametrize("orders", TERMS)
@pytest.mark.parametrize("seed", range(6))
def test_an_error_names_the_largest_separation_and_a_pair(
    seed: int, orders: tuple[int, ...]
) -> None:
    data = random_data(seed, (3, 2, 4), D=2 + seed % 2)
    message = too_large_a_dmin(data, TERMS[orders])
    delta = float(re.search(r"δ\* = ([\d.e-]+)", message).group(1))
    wanted = largest_separation(data.X, data.y, orders)
    assert delta == pytest.approx(wanted, rel=1e-5, abs=1e-7)
    i, k = map(int, re.search(r"points (\d+) and (\d+) of different", message).groups())
    assert data.y[i] != data.y[k]


def test_the_pair_that_is_named_binds() -> None:
    """Two points of different classes are ten times nearer than any others."""
    data = Dataset([[0.0], [0.5], [0.51], [1.0]], ["a", "a", "b", "b"])
    message = too_large_a_dmin(data, "linear")
    assert "points 1 and 2" in message
    assert "δ* = 0.01" in message


def test_the_greatest_distance_scales_it() -> None:
    data = random_data(1, (3, 3))
    delta = 10 * largest_separation(data.X, data.y, (1,))
    assert f"δ* = {delta:.6g}"[:11] in too_large_a_dmin(data, "linear", dmax=10.0)


def resolved_dmin(data: Dataset, spec: str) -> float:
    resolved = mlmio.compose(spec).assemble(data).resolved
    return next(part for part in resolved.blocks if part.slot == "region").dmin


@pytest.mark.parametrize("seed", range(4))
def test_auto_is_half_of_it_where_that_is_small(seed: int) -> None:
    X = random_data(seed, (3, 3)).X.copy()
    X[3] = X[0] + 0.003
    data = Dataset(X, [0, 0, 0, 1, 1, 1], scale="none")
    delta = largest_separation(X, data.y, (1, 2))
    assert delta < 0.02
    found = resolved_dmin(data, "linear + quadratic + nearest")
    assert found == pytest.approx(delta / 2, abs=1e-8)


@pytest.mark.parametrize(("dmax", "dmin"), [(1.0, 0.01), (5.0, 0.05)])
def test_auto_is_a_hundredth_of_the_greatest_distance_at_most(dmax: float, dmin: float) -> None:
    data = Dataset([[0.0, 0.0], [0.1, 0.1], [0.9, 0.8], [1.0, 1.0]], [0, 0, 1, 1])
    assert resolved_dmin(data, f"linear + nearest + bounded({dmax=})") == dmin


def test_a_dmin_at_the_limit_is_taken() -> None:
    data = random_data(2, (3, 3))
    limit = largest_separation(data.X, data.y, (1, 2))
    spec = f"linear + quadratic + nearest + bounded(dmin={limit * (1 - 1e-6)})"
    assert mlmio.solve(spec, data).status == "optimal"


def test_points_that_no_metric_tells_apart_are_named() -> None:
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1e-9, 0.0], [0.0, 1.0]])
    data = Dataset(X, ["a", "a", "b", "b"], ids=["p", "q", "r", "s"], scale="none")
    with pytest.raises(DataError, match=r"points p and r .* too little to tell from zero"):
        mlmio.compose("linear + nearest").build(data)


@pytest.mark.parametrize("terms", ["linear + quadratic + cubic", "quadratic + tensor(order=4)"])
def test_it_ends_where_the_solver_leaves_a_row_a_little_violated(terms: str) -> None:
    """One point far off makes features so small that HiGHS drops them."""
    X = np.random.default_rng(1).normal(size=(60, 2))
    X[0] *= 30
    data = Dataset(X, np.arange(60) % 3)
    assembly = mlmio.compose(f"{terms} + nearest").assemble(data)
    assert 0 < assembly.context.dmin <= 0.01


def test_auto_needs_no_more_than_twice_a_hundredth() -> None:
    """Two classes far apart: δ* is about 1, and d_min a hundredth of dmax."""
    data = Dataset([[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1])
    for dmax in (1.0, 5.0):
        assembly = mlmio.compose(f"linear + nearest + bounded(dmax={dmax})").assemble(data)
        assert assembly.context.dmin == pytest.approx(0.01 * dmax)


@pytest.mark.parametrize("dmin", ["0.0001", "'auto'"])
def test_some_parameters_are_no_trouble(dmin: str) -> None:
    """44 parameters for 60 points: the LP has many optima, and the simplex method finds one."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(3, 8))[y] + 0.7 * rng.normal(size=(60, 8))
    spec = f"linear + quadratic + nearest + bounded(dmin={dmin})"
    assert mlmio.compose(spec).assemble(Dataset(X, y)).context.dmin > 0


def test_hundreds_of_parameters_are_no_trouble() -> None:
    """495 for the 30 features: the LP of all of them took more than a minute."""
    data = mlmio.load_dataset("breast_cancer", per_class=75, seed=0)
    assert 0 < outline(mlmio.compose("linear + quadratic + nearest"), data).context.dmin <= 0.01


@pytest.mark.parametrize("exempt", [0, 3])
@pytest.mark.parametrize("seed", range(3))
def test_a_sample_comes_first_and_all_pairs_last(
    seed: int, exempt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same δ*, with few looks at all pairs."""
    data = random_data(seed, (120, 80), spread=0.5)
    X = data.X.copy()
    X[120 : 120 + exempt] = X[:exempt]
    data = Dataset(X, data.y, scale="none")
    spec = f"{TERMS[1, 2]} + nearest + outliers(rho=0.1) + bounded(duplicates='outlier')"
    context = outline(mlmio.compose(spec), data).context
    whole = separation.largest_separation(context, None)
    looks = []
    violated = separation.Oracle.violated

    def counted(self, *asked):
        looks.append(len(self.rows))
        return violated(self, *asked)

    monkeypatch.setattr("mlmio.separation.SAMPLE", 20)
    monkeypatch.setattr("mlmio.oracle.JOINING", 5)
    monkeypatch.setattr(separation.Oracle, "violated", counted)
    found = separation.largest_separation(context, None)
    assert found.value == pytest.approx(whole.value, abs=1e-8)
    assert data.y[found.pair[0]] != data.y[found.pair[1]]
    assert 0 < looks.count(data.N) < len(looks) / 2


@pytest.mark.parametrize("orders", [(2,), (1, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_without_products_it_is_a_lower_bound(
    seed: int, orders: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlmio.separation.MANY_PARAMETERS", 0)
    data = random_data(seed, (4, 4), spread=0.5)
    context = outline(mlmio.compose(f"{TERMS[orders]} + nearest"), data).context
    found = separation.largest_separation(context, None)
    assert not found.exact
    assert 0 < found.value <= largest_separation(data.X, data.y, orders) + 1e-9
    monkeypatch.undo()
    whole = separation.largest_separation(context, None)
    assert whole.exact
    assert whole.value == pytest.approx(largest_separation(data.X, data.y, orders), abs=1e-7)
