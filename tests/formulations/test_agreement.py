"""Every encoding and every semantics has the optimum that brute force finds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from instances import random_data
from oracle import SEMANTICS, Loss, Problem, largest_separation, solve

import mlmio
from mlmio import Composition, Dataset, compose

SEEDS = range(20)
ENCODINGS = ("bigm", "mccormick")
ORDERS = {1: "linear", 2: "quadratic"}


def instance(seed: int, semantics: str | None) -> tuple[Dataset, Problem]:
    """Points and options, which between them meet in every combination over the seeds."""
    k = 1 + seed % 2
    classes = [(3, 3), (4, 3), (3, 3), (3, 4)] if k == 2 else [(2, 2, 2), (3, 3), (3, 4), (4, 2)]
    orders = [(1, 2), (2,), (1,)][seed % 3]
    data = random_data(seed, classes[seed // 2 % 4], D=2 + seed % 3 // 2)
    loss = None
    if semantics is not None:
        loss = Loss(semantics, rho=(0.05, 0.12, 0.3)[seed // 3 % 3], keep=(2, 0, 1)[seed % 3])
    dmin: float | str = "auto"
    if seed // 2 % 2:
        dmin = round(0.3 * largest_separation(data.X, data.y, orders), 6)
    return data, Problem(data.X, data.y, orders, k, loss, dmin)


def composition(problem: Problem, encoding: str, distances: str) -> Composition:
    parts = [mlmio.block(ORDERS[order]) for order in problem.orders]
    parts += [mlmio.block("bounded", dmin=problem.dmin, distances=distances)]
    parts += [mlmio.block("nearest", k=problem.k), mlmio.block(encoding)]
    if problem.loss is not None:
        loss = problem.loss
        parts += [mlmio.block("outliers", rho=loss.rho, semantics=loss.semantics, keep=loss.keep)]
    return compose(parts)


@pytest.mark.parametrize("semantics", [None, *SEMANTICS])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_optimum_is_that_of_brute_force(seed: int, semantics: str | None) -> None:
    data, problem = instance(seed, semantics)
    expected = solve(problem)
    ways = ("variables", "substituted") if seed // 4 % 2 else ("substituted", "variables")
    for encoding, distances in zip(ENCODINGS, ways, strict=True):
        result = mlmio.solve(composition(problem, encoding, distances), data)
        status = "infeasible" if expected is None else "optimal"
        assert result.status == status, f"{encoding}: {result}"
        assert result.objective == pytest.approx(expected, abs=1e-6), f"{encoding}, {distances}"


@pytest.mark.parametrize("semantics", [None, *SEMANTICS])
def test_substituting_the_distances_changes_nothing(semantics: str | None) -> None:
    data, problem = instance(0, semantics)
    objectives = [
        mlmio.solve(composition(problem, encoding, distances), data).objective
        for encoding, distances in itertools.product(ENCODINGS, ["variables", "substituted"])
    ]
    assert objectives == pytest.approx([objectives[0]] * 4, abs=1e-6)


@pytest.mark.parametrize("semantics", SEMANTICS)
def test_points_that_coincide_are_outliers_of_the_optimum(semantics: str) -> None:
    points = random_data(5, (4, 4)).X.copy()
    points[4] = points[0]
    data = Dataset(points, [0, 0, 0, 0, 1, 1, 1, 1], scale="none")
    problem = Problem(points, data.y, loss=Loss(semantics, rho=0.1, keep=2))
    spec = f"linear + quadratic + nearest + bounded(duplicates='outlier') + outliers({semantics=})"
    result = mlmio.solve(spec, data)
    assert result.status == "optimal"
    assert {0, 4} <= set(result.outliers)
    assert result.objective == pytest.approx(solve(problem), abs=1e-6)


@pytest.mark.parametrize("semantics", [None, *SEMANTICS])
def test_the_greatest_distance_sets_the_scale(semantics: str | None) -> None:
    """All distances twice as large: with twice the price, twice the optimum."""
    data = random_data(3, (3, 3))
    loss = "" if semantics is None else f" + outliers({semantics=}, rho="
    base = "linear + quadratic + nearest + bounded(dmax="
    one = mlmio.solve(base + "1.0)" + (loss and loss + "0.1)"), data)
    two = mlmio.solve(base + "2.0)" + (loss and loss + "0.2)"), data)
    assert one.status == two.status == "optimal"
    assert two.objective == pytest.approx(2 * one.objective, abs=1e-6)


@pytest.mark.parametrize("semantics", [None, *SEMANTICS])
@pytest.mark.parametrize("k", [1, 2])
def test_leaving_branches_loses_nothing(semantics: str | None, k: int) -> None:
    """The oracle against itself without bounds: each full choice solved on its own."""
    data = random_data(11 + k, (3, 2) if k == 1 else (3, 3))
    loss = semantics and Loss(semantics, rho=0.1, keep=0)
    problem = Problem(data.X, data.y, orders=(2,), k=k, loss=loss, dmin=1e-3)
    assert solve(problem) == pytest.approx(_without_pruning(problem), abs=1e-8)


def _without_pruning(problem: Problem) -> float:
    from oracle import _outlier_sets, _Search

    best = -np.inf
    for z in _outlier_sets(problem):
        search = _Search(problem)
        search.run(z, np.inf)
        kept = np.flatnonzero(~z).tolist()
        if not all(search.options):
            continue
        for choice in itertools.product(*(search.options[i] for i in kept)):
            chosen = dict.fromkeys(np.flatnonzero(z).tolist(), ()) | dict(
                zip(kept, choice, strict=True)
            )
            price = problem.loss.rho * z.sum() if problem.loss else 0.0
            best = max(best, search.relaxation(chosen)[1] - price)
    return best
