"""Rows on demand: the same optimum as the whole model, and a valid bound at every limit."""

from __future__ import annotations

import os
import signal
import threading
from functools import cache
from typing import Any

import numpy as np
import pytest
from instances import plain_data, random_data

import mlmio
from mlmio import Dataset, Result, SolverError
from mlmio.registry import solvers

BASE = "linear + quadratic + nearest"
DATA = random_data(2, (5, 4), spread=0.5)
SPECS = [
    BASE,
    "quadratic + nearest + mccormick",
    f"{BASE} + bounded(distances='substituted') + gershgorin",
    "linear + cubic + nearest(k=2) + mccormick",
    f"{BASE} + hinge(margin=0.05)",
    "quadratic + nearest(k=2) + hinge(margin=0.05) + diagonal",
    f"{BASE} + outliers(rho=0.03, semantics='remove')",
    f"{BASE} + outliers(rho=0.03, semantics='printed')",
    f"{BASE} + outliers(rho=0.03, semantics='excuse') + mccormick",
    f"{BASE} + lasso(mu=0.01)",
    f"{BASE} + cardinality(U=2, bmax=1.0)",
]
SIDE = [
    f"{BASE} + must_link + cannot_link",
    f"{BASE} + triplets + target_neighbors + outliers(rho=0.05)",
]


def rows(spec: str, data: Dataset = DATA, solver: str = "highs", **more: Any) -> Result:
    return mlmio.solve(spec, data, solver=solver, strategy="rows", **more)


@cache
def direct(spec: str, data: Dataset = DATA, solver: str = "highs") -> Result:
    return mlmio.solve(spec, data, solver=solver, strategy="direct")


def require(solver: str) -> str:
    if solvers.get(solver)().version() is None:
        pytest.skip(f"{solver} is not installed")
    return solver


def assert_same(found: Result, whole: Result) -> None:
    assert found.status == whole.status == "optimal"
    assert found.verified
    assert found.objective == pytest.approx(whole.objective, abs=2e-6)
    assert found.bound == pytest.approx(whole.objective, abs=2e-6)
    assert found.objective <= found.bound + 1e-9


@pytest.mark.parametrize("spec", SPECS)
def test_the_optimum_and_the_relaxation_are_those_of_the_whole_model(spec: str) -> None:
    found, whole = rows(spec), direct(spec)
    assert_same(found, whole)
    assert found.lp_bound == pytest.approx(whole.lp_bound, abs=1e-6)
    assert found.size.rows < whole.size.rows
    assert found.size.binaries == whole.size.binaries


@pytest.mark.parametrize("spec", SIDE)
def test_side_information(spec: str) -> None:
    assert_same(rows(spec, plain_data()), direct(spec, plain_data()))


@pytest.mark.parametrize("solver", ["glpk", "gurobi"])
@pytest.mark.parametrize("spec", [SPECS[1], SPECS[4], SPECS[7]])
def test_any_solver(spec: str, solver: str) -> None:
    assert_same(rows(spec, solver=require(solver)), direct(spec))


@pytest.mark.parametrize("k", [1, 2])
def test_products_go_to_a_solver_that_takes_them(k: int) -> None:
    spec = f"linear + nearest(k={k}) + bilinear"
    data = random_data(3, (4, 4), spread=0.5)
    found = rows(spec, data, require("scip"))
    assert_same(found, direct(f"linear + nearest(k={k}) + bigm", data))
    assert found.lp_bound is None


def test_points_that_coincide_become_outliers() -> None:
    X = np.vstack([DATA.X, DATA.X[:1]])
    data = Dataset(X, [*DATA.y, 1])
    spec = f"{BASE} + bounded(duplicates='outlier') + outliers(rho=0.03)"
    found = rows(spec, data)
    assert_same(found, direct(spec, data))
    assert {0, 9} <= set(found.outliers.tolist())


def test_few_rows_are_needed() -> None:
    data = mlmio.load_dataset("iris", per_class=4, seed=0)
    found, whole = rows(BASE, data), direct(BASE, data)
    assert_same(found, whole)
    assert "of 96 separation rows" in found.message
    assert "of 66 bounds" in found.message
    assert found.size.rows < 0.9 * whole.size.rows


@pytest.mark.parametrize("limit", [1e-3, 2.0])
@pytest.mark.parametrize("loss", ["", " + hinge(margin=0.1)", " + outliers(rho=0.02)"])
def test_a_limit_of_time_leaves_a_valid_bound(loss: str, limit: float) -> None:
    data = mlmio.load_dataset("iris", per_class=12, seed=0)
    found = rows(BASE + loss, data, time_limit=limit)
    assert found.status in ("feasible", "no_incumbent")
    assert found.reason == "time_limit"
    assert "time limit" in found.message
    assert found.lp_s + found.solve_s < limit + 2
    if found.status == "feasible":
        assert found.verified
        assert found.bound is None or found.objective <= found.bound + 1e-9
    if limit == 2.0:
        assert found.bound is not None


def test_a_limit_of_nodes_is_one_of_all_rounds() -> None:
    data = mlmio.load_dataset("iris", per_class=8, seed=0)
    found = rows(BASE, data, node_limit=5)
    assert found.reason == "node_limit"
    assert found.objective <= found.bound


def test_an_interrupt_returns_what_was_found() -> None:
    """After a start there is an incumbent, however slow the machine."""
    data = mlmio.load_dataset("iris", per_class=15, seed=0)
    start = mlmio.solve(BASE, data, strategy="alternating")
    timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        found = rows(BASE, data, time_limit=60, start=start)
    finally:
        timer.join()
    assert found.reason == "interrupted"
    assert found.verified
    assert found.bound is None or found.objective <= found.bound + 1e-9


def test_a_start_is_the_incumbent_if_it_holds() -> None:
    best = direct(BASE)
    found = rows(BASE, start=best, time_limit=0.01)
    assert found.start == "accepted"
    assert found.objective == pytest.approx(best.objective, abs=1e-6)
    far = mlmio.Metric({2: 100 * best.metric.B}, DATA.D, DATA.scaling)
    refused = rows(BASE, start=far)
    assert refused.start == "rejected"
    assert "the start was refused" in refused.message
    assert_same(refused, best)


def test_rows_that_contradict_one_another_are_infeasible() -> None:
    found = rows(f"{BASE} + triplets(triplets=((0, 1, 2), (0, 2, 1)), margin=0.1)")
    assert found.status == "infeasible"
    assert found.metric is None


def test_the_same_seed_gives_the_same_run() -> None:
    first, second = rows(BASE), rows(BASE)
    assert first.metric == second.metric
    assert (first.nodes, first.message) == (second.nodes, second.message)


@pytest.mark.parametrize(
    "spec", ["linear + quadratic + knn(K=3)", "quadratic + gershgorin + unbounded + lmnn(k=1)"]
)
def test_refusals_name_the_block_and_what_to_use(spec: str) -> None:
    with pytest.raises(SolverError, match=r"does not take the block '(knn|lmnn).*'auto'"):
        rows(spec)
