"""What ``auto`` chooses for each kind of composition, and that it says so."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import pytest
from instances import random_data

import mlmio
from mlmio import Dataset, Result, SolverError
from mlmio.strategies import auto

BASE = "linear + quadratic"
DATA = random_data(2, (5, 4), spread=0.5)


def chosen(spec: str, data: Dataset = DATA, **more: Any) -> Result:
    return mlmio.solve(spec, data, strategy="auto", **more)


@pytest.mark.parametrize(
    ("spec", "choice", "solver_says"),
    [
        (f"{BASE} + nearest", "disjunctive: 9 points", False),
        (f"{BASE} + nearest(k=2) + outliers(rho=0.05)", "disjunctive: 9 points", False),
        (f"{BASE} + nearest + gershgorin + lasso(mu=0.01)", "disjunctive: 9 points", False),
        (f"{BASE} + nearest + cardinality(U=2, bmax=1.0)", "disjunctive: 9 points", False),
        (f"{BASE} + nearest + hinge(margin=0.9)", "alternating: 9 points, then direct", True),
        (f"{BASE} + knn(K=3)", "direct: no other strategy suits", True),
        (
            f"{BASE} + nearest + hinge(margin=0.05) + cardinality(U=2, bmax=1.0)",
            "direct: no other strategy suits",
            True,
        ),
        ("quadratic + lmnn(k=1) + gershgorin + unbounded", "direct: it is an LP", True),
    ],
)
def test_what_it_chooses_and_says(spec: str, choice: str, solver_says: bool) -> None:
    result = chosen(spec)
    assert result.strategy == "auto"
    assert result.message.split(";")[0] == choice
    assert choice in str(result)
    assert result.status == "optimal"
    assert result.verified
    direct = mlmio.solve(spec, DATA, strategy="direct")
    assert result.objective == pytest.approx(direct.objective, abs=2e-6)
    assert (result.size.rows == direct.size.rows) == solver_says


def test_it_is_the_default_and_a_solver_means_the_whole_model() -> None:
    spec = f"{BASE} + nearest"
    default = mlmio.solve(spec, DATA)
    assert default.strategy == "auto"
    assert default.message == "disjunctive: 9 points"
    assert default.metric == chosen(spec).metric
    named = mlmio.solve(spec, DATA, solver="highs")
    assert named.strategy == "direct"
    assert named.solver == "highs"
    assert named.objective == pytest.approx(default.objective, abs=2e-6)
    both = mlmio.solve(spec, DATA, solver="highs", strategy="auto")
    assert both.strategy == "auto"


def test_too_many_points_for_a_whole_model_are_only_alternated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = f"{BASE} + nearest + hinge(margin=0.9)"
    monkeypatch.setattr(auto, "MOST_PAIRS", 35)
    result = chosen(spec)
    assert result.status == "feasible"
    assert result.message.startswith("alternating: 9 points; the best of")
    monkeypatch.setattr(auto, "MOST_PAIRS", 36)
    assert chosen(spec).status == "optimal"


def test_features_too_large_for_memory_are_not_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = f"{BASE} + nearest"
    monkeypatch.setattr(auto, "MOST_BYTES", 8 * 9 * 9 * 5 - 1)
    assert chosen(spec).message.startswith("alternating: 9 points, then direct")
    monkeypatch.setattr(auto, "MOST_BYTES", 8 * 9 * 9 * 5)
    assert chosen(spec).message.startswith("disjunctive: 9 points")


def test_the_alternation_is_the_incumbent_where_the_solver_finds_nothing_better() -> None:
    """Fifty points of iris: HiGHS has no time to do more than look at the whole model."""
    data = mlmio.load_dataset("iris", per_class=18, seed=0)
    spec = f"{BASE} + nearest + hinge(margin=0.1)"
    alone = mlmio.solve(spec, data, strategy="alternating")
    result = chosen(spec, data, time_limit=alone.solve_s + 2)
    assert result.verified
    assert result.objective >= alone.objective - 1e-9
    assert result.objective <= result.bound + 1e-9
    assert result.solve_s < alone.solve_s + 10


def test_a_limit_of_time_is_not_said_to_be_one_of_size() -> None:
    data = mlmio.load_dataset("iris", per_class=18, seed=0)
    result = chosen(f"{BASE} + nearest + hinge(margin=0.1)", data, time_limit=0.01)
    assert result.reason == "time_limit"
    assert "time limit" in result.message
    assert result.message.startswith("alternating: 54 points; stopped at the time limit")


def test_an_interrupt_reaches_what_it_chose() -> None:
    data = mlmio.load_dataset("iris", per_class=25, seed=0)
    timer = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        result = chosen(f"{BASE} + nearest + outliers(rho=0.02, semantics='excuse')", data)
    finally:
        timer.join()
    assert result.reason == "interrupted"
    assert result.message.startswith("disjunctive: 75 points; stopped by an interrupt")
    assert result.verified


def test_options_of_a_solver_go_to_it_and_nowhere_else() -> None:
    options = {"presolve": "off"}
    assert chosen(f"{BASE} + nearest + hinge(margin=0.05)", options=options).status == "optimal"
    with pytest.raises(SolverError, match="'presolve'"):
        chosen(f"{BASE} + nearest", options=options)


def test_a_time_limit_is_shared() -> None:
    data = mlmio.load_dataset("iris", per_class=12, seed=0)
    result = chosen(f"{BASE} + knn(K=3) + outliers(rho=0.02)", data, time_limit=3)
    assert result.verified
    assert result.solve_s < 6
