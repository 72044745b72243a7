"""From data to a usable metric: the automatic formulation, and honest ends of a solve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
from instances import random_data, random_metric

import mlmio
from mlmio import Dataset, MlmioWarning, SolverError
from mlmio.learning import auto_formulation, learn, learnable, serving
from mlmio.solvers.base import Answer, Options, register_solver
from mlmio.solvers.highs import Highs


def answering(name: str, **changes: Any) -> str:
    """Register a solver that answers as HiGHS does, but for some changes after the relaxation."""
    relaxed: list[Answer] = []

    class Changed(Highs):
        def solve(self, model: Any, options: Options) -> Answer:
            answer = super().solve(model, options)
            if relaxed:
                return replace(answer, **changes)
            relaxed.append(answer)
            return answer

    Changed.name = name
    register_solver(Changed)
    return name


def silent(name: str, status: str, message: str, reason: str = "") -> str:
    """Register a solver that finds nothing."""

    class Silent(Highs):
        name: ClassVar[str] = "silent"

        def solve(self, model: Any, options: Options) -> Answer:
            return Answer(status, message=message, reason=reason)

    Silent.name = name
    register_solver(Silent)
    return name


def taught(data: Dataset, formulation: str, **options: Any) -> Any:
    return learn(data, formulation, strategy="direct", **options)


@pytest.mark.parametrize(
    ("sizes", "k"), [((9, 9), 5), ((6, 9), 5), ((5, 9), 4), ((2, 4), 1), ((1, 5), 1)]
)
def test_as_many_neighbours_as_the_smallest_class_allows(sizes: tuple[int, ...], k: int) -> None:
    found = auto_formulation(random_data(0, sizes))
    assert found == mlmio.compose(f"quadratic + hinge(margin=0.01) + nearest(k={k})")


def test_with_few_points_there_is_a_cone() -> None:
    few, enough = random_data(0, (2, 3), D=2), random_data(0, (3, 3), D=2)
    assert "gershgorin" in str(auto_formulation(few))
    assert "gershgorin" not in str(auto_formulation(enough))


@pytest.mark.parametrize("seed", range(3))
def test_with_few_points_the_metric_is_no_worse_than_guessing(seed: int) -> None:
    """Nine points of wine do not determine 91 products: 64 % of the others were wrong."""
    wine = mlmio.load_dataset("wine", scale="none")
    few = mlmio.load_dataset("wine", per_class=3, seed=seed, scale="none")
    found = mlmio.MIOMetricClassifier(n_neighbors=1, time_limit=5).fit(few.X, few.labels)
    assert found.score(wine.X, wine.labels) > 0.6


def test_a_linear_map_has_a_cone() -> None:
    data = random_data(0, (4, 4))
    assert auto_formulation(data, linear_map=True) == auto_formulation(data) + "gershgorin"
    assert taught(data, "auto", linear_map=True).metric.is_psd


def loop_of_near_rows(data: Dataset) -> Iterator[int]:
    diagonal = sum((max(column) - min(column)) ** 2 for column in data.X.T)
    for i in range(data.N):
        far = [((data.X[i] - data.X[k]) ** 2).sum() for k in range(data.N) if data.apart(i, k)]
        if min(far) < 2e-5 * diagonal:
            yield i


def test_many_features_get_a_term_that_can_be_learned() -> None:
    """64 features have 2,080 products, whose coefficients would not fit the memory."""
    data = mlmio.load_dataset("digits", per_class=8, seed=0)
    assert str(auto_formulation(data)).startswith("linear + ")
    assert "quadratic" in str(auto_formulation(data, linear_map=True))
    found = learn(data, "auto", time_limit=5)
    assert found.result.verified


@pytest.mark.parametrize("seed", range(3))
def test_points_that_no_metric_tells_apart_are_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.uniform(size=(80, 1)), [[0.31], [0.31]]])
    data = Dataset(X, [*rng.integers(0, 2, size=80), 0, 1])
    near = list(loop_of_near_rows(data))
    assert {80, 81} <= set(near)
    with pytest.warns(MlmioWarning, match=f"{len(near)} of 82 points of data all but coincide"):
        rows = learnable(data)
    assert sorted([*rows, *near]) == list(range(82))
    # The rest is within what the region takes: it builds.
    mlmio.compose("quadratic + gershgorin + nearest + hinge").build(data.take(rows))


def test_where_too_little_would_be_left_nothing_is_left_out() -> None:
    data = Dataset([[0.0], [0.0], [1.0], [1.0]], ["a", "b", "a", "b"])
    assert learnable(data).tolist() == [0, 1, 2, 3]
    with pytest.raises(mlmio.DataError, match="coincide but differ in class"):
        taught(data, "auto")


def test_points_left_out_are_judged_all_the_same() -> None:
    X = [[0.0], [0.1], [0.2], [0.9], [1.0], [0.8], [0.2]]
    data = Dataset(X, ["a", "a", "a", "b", "b", "b", "b"])
    with pytest.warns(MlmioWarning, match="2 of 7 points"):
        found = taught(data, "auto")
    assert found.result.verified
    assert found.serves.all()
    assert found.diagnosis.parts[[2, 6]].tolist() == ["outlier", "outlier"]


def test_a_formulation_that_is_given_is_taken_as_it_is() -> None:
    data = random_data(1, (4, 5))
    found = taught(data, "linear + nearest")
    assert str(found.result.composition) == "linear + nearest"
    assert found.metric == found.result.metric
    assert found.serves.all()


@pytest.mark.parametrize(("semantics", "serves"), [("remove", False), ("excuse", True)])
def test_who_serves_is_what_the_loss_says(semantics: str, serves: bool) -> None:
    X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1], [1.3]]
    data = Dataset(X, ["a"] * 3 + ["b"] * 3 + ["a"], ids=list("ABCDEFG"))
    formulation = f"linear + nearest + outliers(rho=0.3, semantics='{semantics}')"
    found = taught(data, formulation)
    assert found.result.outliers.tolist() == ["G"]
    assert found.serves.tolist() == [True] * 6 + [serves]
    assert found.diagnosis.parts[6] == "outlier"


def test_points_that_the_region_drops_do_not_serve() -> None:
    X = [[0.0], [0.1], [0.2], [0.9], [1.0], [0.2]]
    data = Dataset(X, ["a", "a", "a", "b", "b", "b"])
    found = taught(data, "linear + nearest + bounded(duplicates='drop')")
    assert found.serves.tolist() == [True, True, False, True, True, False]
    assert set(found.diagnosis.outliers) == {2, 5}
    assert serving(found.result, data).tolist() == found.serves.tolist()


def test_where_time_was_short_the_euclidean_distance_stands_in(registry: None) -> None:
    data = random_data(2, (4, 5))
    name = silent("starved", "no_incumbent", "stopped at the time limit", "time_limit")
    with pytest.warns(MlmioWarning, match="no metric was found .stopped at the time limit."):
        found = taught(data, "quadratic + nearest", solver=name)
    assert found.result.metric is None
    assert found.result.status == "no_incumbent"
    assert not found.result.verified
    euclidean = [[((x - y) ** 2).sum() / 2 for y in data.X] for x in data.X]
    np.testing.assert_allclose(found.metric.scaled_distance(data.X, data.X), euclidean)
    assert found.metric.scaling is data.scaling
    assert found.serves.all()
    assert len(found.diagnosis.ratios) == 9


@pytest.mark.parametrize("status", ["infeasible", "unbounded", "error"])
def test_a_formulation_without_a_metric_is_an_error(registry: None, status: str) -> None:
    name = silent(f"says_{status}", status, "so it is")
    with pytest.raises(SolverError, match=rf"gave no metric on data: {status} \(so it is\)"):
        taught(random_data(2, (4, 5)), "quadratic + nearest", solver=name)


def test_an_interrupted_solve_keeps_its_best(registry: None) -> None:
    data = random_data(2, (4, 5))
    name = answering("stopped", status="feasible", bound=1.0, reason="interrupted")
    with pytest.warns(MlmioWarning, match="was interrupted: the best metric"):
        found = taught(data, "quadratic + nearest", solver=name)
    assert found.metric == found.result.metric
    assert found.result.verified


def test_a_liar_is_named(registry: None) -> None:
    name = answering("liar", objective=0.9, bound=0.9)
    with pytest.warns(MlmioWarning, match=r"does not do what the solver claims.*0\.9"):
        found = taught(random_data(2, (4, 5)), "quadratic + nearest", solver=name)
    assert found.result.status == "unverified"
    assert found.metric == found.result.metric


def test_a_start_is_handed_on() -> None:
    data = random_data(2, (4, 5))
    start = random_metric(data, (2,), 0, scale=0.9)
    found = taught(data, "quadratic + nearest + outliers", start=start)
    assert found.result.start is not None


def test_a_refused_block_that_nobody_typed_is_explained() -> None:
    data = mlmio.load_dataset("iris", per_class=6)
    with pytest.raises(SolverError, match=r"'hinge'.*formulation 'auto' chose 'quadratic"):
        learn(data, strategy="disjunctive")
    with pytest.raises(SolverError) as refused:
        learn(data, "quadratic + nearest + hinge", strategy="disjunctive")
    assert "formulation 'auto'" not in str(refused.value)
