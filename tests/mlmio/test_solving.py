"""From a call to a result: every status by its own name, and every bad call by one sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyomo.environ as pyo
import pytest
from instances import random_data

import mlmio
from mlmio import Block, CompositionError, DataError, Dataset, SolverError, register_block
from mlmio.solvers.base import Answer, Options, Solver, get_solver, register_solver

SPEC = "linear + quadratic + nearest"


@dataclass(frozen=True)
class Impossible(Block):
    """A variable that must be 2 and may be 1 at most."""

    name: ClassVar[str] = "impossible"
    slot: ClassVar[str] = "side"

    def build(self, context: Any, b: Any) -> None:
        b.x, b.other = pyo.Var(bounds=(0, 1)), pyo.Var(bounds=(0, 1))
        b.row = pyo.Constraint(expr=b.x + b.other >= 3)


@dataclass(frozen=True)
class Endless(Block):
    """A variable without upper bound that is maximised."""

    name: ClassVar[str] = "endless"
    slot: ClassVar[str] = "side"

    def build(self, context: Any, b: Any) -> Any:
        b.x = pyo.Var(bounds=(0, None))
        b.rows = pyo.ConstraintList()
        for theta in context.theta:
            b.rows.add(b.x - theta >= -1e3)
        return b.x


@dataclass(frozen=True)
class Liar(Block):
    """An objective of which its check knows nothing."""

    name: ClassVar[str] = "liar"
    slot: ClassVar[str] = "side"

    def build(self, context: Any, b: Any) -> Any:
        b.x = pyo.Var(bounds=(0, 0.25))
        return b.x


@pytest.fixture
def strangers(registry: None) -> None:
    for cls in (Impossible, Endless, Liar):
        register_block(cls)


def holds_no_number(result: mlmio.Result) -> bool:
    nothing = (result.objective, result.metric, result.certificate, result.gap)
    return nothing == (None,) * 4 and not result.verified and len(result.outliers) == 0


def test_an_optimum() -> None:
    data = random_data(0, (3, 3))
    result = mlmio.solve(SPEC, data, solver="highs")
    assert result.status == "optimal"
    assert result.verified
    assert result.certificate.worst <= 1e-6
    assert result.objective <= result.bound + 1e-9 <= result.lp_bound + 2e-9
    assert result.gap <= 1e-6
    assert set(result.neighbors) == set(data.ids)
    assert all(data.y[i] == data.y[j] for i, served in result.neighbors.items() for j in served)
    assert min(result.build_s, result.lp_s, result.solve_s) > 0
    assert (result.solver, result.strategy, result.options["seed"]) == ("highs", "direct", 0)
    assert result.version


@pytest.mark.usefixtures("strangers")
def test_an_infeasible_model() -> None:
    result = mlmio.solve(SPEC + " + impossible", random_data(0, (3, 3)))
    assert result.status == "infeasible"
    assert holds_no_number(result)
    assert result.bound is None
    assert result.lp_bound is None


@pytest.mark.usefixtures("strangers")
def test_an_unbounded_model() -> None:
    result = mlmio.solve(SPEC + " + endless", random_data(0, (3, 3)))
    assert result.status == "unbounded"
    assert holds_no_number(result)
    assert result.bound is None


@pytest.mark.usefixtures("strangers")
def test_a_model_that_says_what_the_data_do_not() -> None:
    result = mlmio.solve(SPEC + " + liar", random_data(0, (3, 3)))
    assert result.status == "unverified"
    assert not result.verified
    honest = mlmio.solve(SPEC, random_data(0, (3, 3)))
    assert result.objective == pytest.approx(honest.objective + 0.25, abs=1e-6)
    assert f"{result.objective:.9g} is claimed" in result.message
    assert f"the data give {result.certificate.objective:.9g}" in result.message


def test_a_time_limit_without_incumbent() -> None:
    data = mlmio.load_dataset("iris", per_class=20, seed=0)
    result = mlmio.solve(SPEC, data, strategy="direct", time_limit=0.01)
    assert result.status == "no_incumbent"
    assert holds_no_number(result)
    assert result.bound is None or math.isfinite(result.bound)
    assert "time" in result.message.lower()


def test_the_bound_of_the_relaxation_where_a_search_is_stopped_above_it(registry: None) -> None:
    class Slow(Solver):
        name = "slow"
        classes = frozenset({"LP", "MILP"})

        def version(self) -> str:
            return "1.0"

        def solve(self, model: Any, options: Options) -> Answer:
            if any(v.is_binary() for v in model.component_data_objects(pyo.Var)):
                return Answer("no_incumbent", bound=10.0, message="stopped", reason="time_limit")
            return get_solver("highs", "LP", options).solve(model, options)

    register_solver(Slow)
    result = mlmio.solve(SPEC, random_data(0, (3, 3)), solver="slow")
    assert result.status == "no_incumbent"
    assert result.bound == result.lp_bound < 10


def test_a_time_limit_with_an_incumbent() -> None:
    """All points may be given up, so that there is an incumbent at once; the proof takes hours."""
    data = mlmio.load_dataset("iris", per_class=10, seed=0)
    spec = SPEC + " + outliers(semantics='excuse', keep=0, rho=0.02)"
    result = mlmio.solve(spec, data, strategy="direct", time_limit=3)
    assert result.status == "feasible"
    assert result.verified
    assert result.bound > result.objective + 1e-6
    assert result.gap == pytest.approx((result.bound - result.objective) / abs(result.objective))
    assert result.metric is not None
    assert result.lp_s + result.solve_s < 10


@pytest.mark.parametrize(("less", "looks"), [(1e-16, 1), (1e-8, 2)])
def test_an_objective_that_is_less_by_rounding_is_held_to_the_data_once(
    less: float, looks: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that is truly understated is replaced, and held to the data again."""
    data = random_data(0, (4, 4))
    result = mlmio.solve("linear + nearest", data, strategy="alternating")
    exact = result.certificate.objective
    held = []

    def counted(claim: mlmio.Result, data: Dataset) -> mlmio.Result:
        held.append(claim)
        return mlmio.verify(claim, data)

    monkeypatch.setattr("mlmio.solving.hold_to_data", counted)
    verified = mlmio.solving._verified(replace(result, objective=exact - less), data)
    assert len(held) == looks
    assert verified.objective == pytest.approx(exact, abs=1e-12)


def test_a_result_without_neighbours_of_outliers() -> None:
    data = random_data(8, (5, 5), spread=0.6)
    result = mlmio.solve(SPEC + " + outliers(rho=0.02)", data)
    assert len(result.outliers) > 0
    assert set(result.neighbors) == set(data.ids) - set(result.outliers)


def test_points_are_named_by_their_identifiers() -> None:
    plain = random_data(8, (4, 4), spread=0.6)
    named = Dataset(plain.X, plain.y, ids=[f"p{i}" for i in range(8)], scale="none")
    spec = SPEC + " + outliers(rho=0.02)"
    one, other = mlmio.solve(spec, plain), mlmio.solve(spec, named)
    assert one.objective == pytest.approx(other.objective, abs=1e-6)
    assert set(other.outliers) <= set(named.ids)
    assert set(other.neighbors) | set(other.outliers) == set(named.ids)


@pytest.mark.parametrize("seed", [0, 7])
def test_the_same_call_gives_the_same_result(seed: int) -> None:
    data = random_data(1, (4, 4))
    one, other = (mlmio.solve(SPEC, data, seed=seed) for _ in range(2))
    assert one.metric == other.metric
    assert one.objective == other.objective


def test_a_feature_without_differences_gets_no_weight() -> None:
    plain = random_data(0, (3, 3))
    X = np.column_stack([plain.X, np.full(6, 3.0)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mlmio.MlmioWarning)
        result = mlmio.solve(SPEC, Dataset(X, plain.y))
    assert result.verified
    assert result.objective == pytest.approx(mlmio.solve(SPEC, plain).objective, abs=1e-6)
    assert result.metric.a[2] == 0
    assert not result.metric.B[2].any()


def test_labels_of_any_type_give_the_same() -> None:
    plain = random_data(0, (3, 3))
    objectives = [
        mlmio.solve(SPEC, Dataset(plain.X, labels, scale="none")).objective
        for labels in (["x"] * 3 + ["y"] * 3, [1.5] * 3 + [0.5] * 3, [True] * 3 + [False] * 3)
    ]
    assert objectives == pytest.approx([mlmio.solve(SPEC, plain).objective] * 3, abs=1e-6)


DATA = random_data(0, (3, 3))
ONE_ALONE = Dataset([[0.0], [1.0], [2.0]], ["a", "a", "b"])
COINCIDING = Dataset([[0.0], [1.0], [1.0], [2.0]], ["a", "a", "b", "b"])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: mlmio.solve(SPEC, ONE_ALONE), DataError, "'b' has 1 point.*at least 2"),
        (
            lambda: mlmio.solve("linear + nearest(k=3)", DATA),
            DataError,
            r"nearest\(k=3\).*at least 4",
        ),
        (lambda: mlmio.solve(SPEC, COINCIDING), DataError, "points 1 .* and 2 .*coincide"),
        (
            lambda: mlmio.solve(SPEC + " + outliers(keep=4)", DATA),
            DataError,
            r"3 point.*outliers\(keep=4\)",
        ),
        (lambda: mlmio.solve(SPEC, DATA.X), DataError, "ndarray: give a Dataset"),
        (lambda: mlmio.solve(SPEC, DATA, solver="hihgs"), SolverError, "did you mean 'highs'"),
        (lambda: mlmio.solve(SPEC, DATA, strategy="drct"), SolverError, "mean 'direct'"),
        (
            lambda: mlmio.solve(SPEC + " + bilinear", DATA),
            SolverError,
            "highs does not solve MINLP",
        ),
        (lambda: mlmio.solve(SPEC, DATA, time_limit=0), SolverError, "time_limit"),
        (lambda: mlmio.solve(SPEC, DATA, time_limit=-1), SolverError, "time_limit"),
        (lambda: mlmio.solve(SPEC, DATA, time_limit=math.nan), SolverError, "time_limit"),
        (lambda: mlmio.solve(SPEC, DATA, threads=0), SolverError, "threads"),
        (lambda: mlmio.solve(SPEC, DATA, seed=-1), SolverError, "seed"),
        (lambda: mlmio.solve(SPEC, DATA, rel_gap=1.0), SolverError, "rel_gap"),
        (lambda: mlmio.solve("linear", DATA), CompositionError, "'neighbors': add .*nearest"),
        (lambda: mlmio.solve("lnear + nearest", DATA), CompositionError, "mean 'linear'"),
        (
            lambda: mlmio.solve(SPEC + " + bounded(dmin=1.0)", DATA),
            DataError,
            "δ. = .* give a dmin of at most",
        ),
    ],
)
def test_a_bad_call_is_one_sentence(
    call: Callable[[], Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert isinstance(caught.value, mlmio.MlmioError)
