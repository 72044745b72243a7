"""Cones, sparsity, the hinge, K nearest neighbours and LMNN have the optima of brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from instances import random_data
from oracle import largest_separation
from oracle_paper import GivenUp, Setting, knn, lmnn, nearest

import mlmio
from mlmio import Dataset, Result

SEEDS = range(4)
TERMS = {1: "linear", 2: "quadratic", 3: "cubic"}


def setting(
    seed: int,
    orders: tuple[int, ...] = (1, 2),
    sizes: tuple[int, ...] = (3, 3),
    D: int = 2,
    **more: Any,
) -> Setting:
    """Classes that overlap, and a d_min that their terms reach."""
    data = random_data(seed, sizes, D, spread=0.5)
    reach = largest_separation(data.X, data.y, orders)
    return Setting(data.X, data.y, orders, dmin=round(0.15 * reach, 6), **more)


def found(given: Setting, parts: str) -> Result:
    terms = " + ".join(TERMS[order] for order in given.orders)
    region = "unbounded" if given.dmax is None else f"bounded(dmin={given.dmin})"
    return mlmio.solve(f"{terms} + {region} + {parts}", Dataset(given.X, given.y))


def agree(given: Setting, parts: str, expected: float | None) -> None:
    result = found(given, parts)
    assert result.status == ("infeasible" if expected is None else "optimal"), str(result)
    assert result.objective == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("cone", [None, "gershgorin", "diagonal"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_nearest_in_a_cone(seed: int, k: int, cone: str | None) -> None:
    orders = [(2,), (1, 2)][seed % 2]
    given = setting(seed, orders, D=2 + (seed == 2), cone=cone)
    in_cone = f" + {cone}" if cone else ""
    agree(given, f"nearest({k=}){in_cone}", nearest(given, k))


@pytest.mark.parametrize("cone", [None, "gershgorin", "diagonal"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_hinge(seed: int, k: int, cone: str | None) -> None:
    given = setting(seed, [(2,), (1, 2)][seed % 2], cone=cone)
    margin = [0.01, 0.1, 0.3, 1.0][seed]
    in_cone = f" + {cone}" if cone else ""
    agree(given, f"nearest({k=}) + hinge({margin=}){in_cone}", nearest(given, k, hinge=margin))


@pytest.mark.parametrize("tensors", [("B",), ("a", "B"), ("a",)], ids="+".join)
@pytest.mark.parametrize("U", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_cardinality(seed: int, U: int, tensors: tuple[str, ...]) -> None:
    bmax = [10.0, 1.0, 0.5, 0.8][seed]
    orders = tuple({"a": 1, "B": 2}[name] for name in tensors)
    given = setting(seed, (1, 2), sparse=(U, bmax, orders))
    agree(given, f"nearest + cardinality({U=}, {bmax=}, {tensors=})", nearest(given))


@pytest.mark.parametrize("seed", SEEDS)
def test_cardinality_in_three_dimensions_and_a_cone(seed: int) -> None:
    cone = ["diagonal", "gershgorin"][seed % 2]
    given = setting(seed, (2,), D=3, cone=cone, sparse=(2, 5.0, (2,)))
    agree(given, f"nearest + {cone} + cardinality(U=2, bmax=5)", nearest(given))


@pytest.mark.parametrize("mu", [0.01, 0.3])
@pytest.mark.parametrize("seed", SEEDS)
def test_lasso(seed: int, mu: float) -> None:
    given = setting(seed, [(2,), (1, 2)][seed % 2], mu=mu, cone=[None, "gershgorin"][seed // 2])
    in_cone = " + gershgorin" if given.cone else ""
    agree(given, f"nearest + lasso({mu=}){in_cone}", nearest(given))


@pytest.mark.parametrize("seed", SEEDS)
def test_lasso_with_a_hinge_and_few_entries(seed: int) -> None:
    given = setting(seed, mu=0.02, sparse=(1, 10.0, (2,)))
    parts = "nearest + hinge(margin=0.1) + lasso(mu=0.02) + cardinality(U=1)"
    agree(given, parts, nearest(given, hinge=0.1))


def targets(given: Setting, k: int) -> list[tuple[int, int]]:
    """Every point's k nearest points of its class, as they lie."""
    pairs = []
    for i in range(given.N):
        same = [j for j in range(given.N) if j != i and given.y[j] == given.y[i]]
        same.sort(key=lambda j: np.linalg.norm(given.X[i] - given.X[j]))
        pairs += [(i, j) for j in same[:k]]
    return pairs


@pytest.mark.parametrize("cone", ["gershgorin", "diagonal"])
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_lmnn(seed: int, k: int, cone: str) -> None:
    given = setting(seed, (2,), sizes=(4, 3), D=2 + seed % 2, dmax=None, cone=cone)
    mu = [0.5, 0.9, 0.2, 0.99][seed]
    agree(given, f"{cone} + lmnn({k=}, {mu=})", lmnn(given, targets(given, k), mu))


@pytest.mark.parametrize("seed", SEEDS)
def test_lmnn_with_given_targets_and_a_lasso(seed: int) -> None:
    given = setting(seed, (2,), dmax=None, cone="gershgorin", mu=0.7)
    pairs = [(0, 2), (1, 0), (5, 3)]
    parts = f"gershgorin + lmnn(targets={tuple(pairs)}, mu=0.8) + lasso(mu=0.7)"
    agree(given, parts, lmnn(given, pairs, mu=0.8))


LOSSES = {
    "none": None,
    "remove": GivenUp("remove"),
    "printed": GivenUp("printed"),
    "excuse": GivenUp("excuse", keep=1),
    "whole class": GivenUp("remove", rho=0.3, keep=0),
}


def interleaved(seed: int, orders: tuple[int, ...], sizes: tuple[int, ...]) -> Setting:
    """Points whose classes have nothing to do with where they lie."""
    rng = np.random.default_rng(seed)
    data = Dataset(rng.uniform(size=(sum(sizes), 2)), np.repeat(np.arange(len(sizes)), sizes))
    reach = largest_separation(data.X, data.y, orders)
    return Setting(data.X, data.y, orders, dmin=round(0.5 * reach, 6))


def of(loss: GivenUp | None) -> str:
    if loss is None:
        return ""
    return f" + outliers(semantics={loss.semantics!r}, rho={loss.rho}, keep={loss.keep})"


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_knn(seed: int, K: int, loss: str) -> None:
    given = interleaved(seed, [(1,), (2,)][seed % 2], [(3, 3), (3, 4)][seed // 2 * (K == 1)])
    expected = knn(given, K, given.dmin / 2, LOSSES[loss])
    agree(given, f"knn({K=}){of(LOSSES[loss])}", expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_knn_as_printed(seed: int) -> None:
    given = interleaved(seed, [(1,), (2,)][seed % 2], (3, 3))
    loss = GivenUp(rho=0.05, keep=1)
    expected = knn(given, 2, given.dmin / 2, loss, printed=True)
    agree(given, f"knn(K=2, as_printed=True){of(loss)}", expected)


@pytest.mark.parametrize(("W", "eps"), [(0.0, 0.9), (0.4, 0.1), (1.0, 1.0)])
def test_knn_with_given_weight_and_gap(W: float, eps: float) -> None:
    given, loss = interleaved(2, (1,), (3, 3)), GivenUp(rho=0.2)
    eps = round(eps * given.dmin, 9)
    agree(given, f"knn(K=2, {W=}, {eps=}){of(loss)}", knn(given, 2, eps, loss, W))
