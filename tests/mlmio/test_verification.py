"""A result that was tampered with does not pass, one that was not does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from instances import random_data

import mlmio
from mlmio import Dataset, Metric, Result

DATA = random_data(3, (4, 4))
SPECS = {
    "S0": "linear + quadratic + nearest",
    "k": "linear + quadratic + nearest(k=2) + mccormick",
    "S1": "linear + quadratic + nearest + outliers(rho=0.05)",
    "excuse": "linear + nearest + outliers(rho=0.05, semantics='excuse')",
}


@pytest.fixture(scope="module", params=SPECS)
def solved(request: pytest.FixtureRequest) -> Result:
    result = mlmio.solve(SPECS[request.param], DATA)
    assert result.status == "optimal"
    return result


def with_entries(result: Result, factor: float, order: int = 1) -> Result:
    metric = result.metric
    tensors = {n: metric.tensor(n) for n in metric.orders}
    tensors[order] = tensors[order] + factor
    return replace(result, metric=Metric(tensors, metric.D, metric.scaling, metric.feature_names))


def refused(result: Result) -> str:
    verified = mlmio.verify(result, DATA)
    assert verified.status == "unverified"
    assert not verified.verified
    assert verified.certificate is not None
    assert verified.message == str(verified.certificate)
    return verified.message


def test_what_was_solved_stays_verified(solved: Result) -> None:
    again = mlmio.verify(solved, DATA)
    assert again.status == solved.status == "optimal"
    assert again.verified
    assert again.certificate.objective == solved.certificate.objective
    assert again.neighbors == solved.neighbors


def test_another_objective(solved: Result) -> None:
    for change in (1e-3, -1e-3, 1e-5):
        claimed = solved.objective + change
        message = refused(replace(solved, objective=claimed, bound=None))
        assert f"objective {claimed:.9g} is claimed" in message
        assert f"the data give {solved.certificate.objective:.9g}" in message


def test_a_bound_below_the_objective(solved: Result) -> None:
    bound = solved.objective - 1e-3
    message = refused(replace(solved, bound=bound))
    assert f"bound {bound:.9g} is claimed" in message
    assert f"the objective {solved.certificate.objective:.9g}" in message


@pytest.mark.parametrize("change", [1e-3, -1e-3])
def test_another_metric(solved: Result, change: float) -> None:
    message = refused(with_entries(solved, change))
    tampered = mlmio.verify(with_entries(solved, change), DATA).certificate
    claimed = f"objective {solved.objective:.9g} is claimed, the data give {tampered.objective:.9g}"
    assert claimed in message or tampered.violations


def test_a_metric_out_of_the_region_names_the_points(solved: Result) -> None:
    message = refused(with_entries(solved, 0.5))
    assert "bounded: points" in message
    assert "are farther than dmax" in message


def test_another_term(solved: Result) -> None:
    metric = Metric({2: np.eye(2)}, 2, solved.metric.scaling)
    refused(replace(solved, metric=metric))


def test_one_outlier_more_and_one_fewer() -> None:
    data = random_data(8, (5, 5), spread=0.6)
    solved = mlmio.solve("linear + quadratic + nearest + outliers(rho=0.02)", data)
    assert solved.status == "optimal"
    assert len(solved.outliers) > 0
    kept = [i for i in data.ids if i not in solved.outliers]
    for outliers in (solved.outliers[1:], np.append(solved.outliers, kept[0])):
        tampered = mlmio.verify(replace(solved, outliers=outliers), data)
        assert tampered.status == "unverified"
        price = 0.02 * (len(solved.outliers) - len(outliers))
        assert price != 0
        assert f"{solved.objective:.9g} is claimed" in tampered.message
        assert f"{tampered.certificate.objective:.9g}" in tampered.message


def test_other_data(solved: Result) -> None:
    moved = Dataset(DATA.X + np.random.default_rng(0).normal(size=DATA.X.shape) / 20, DATA.y)
    assert mlmio.verify(solved, moved).status == "unverified"


def test_a_result_without_incumbent_has_nothing_to_verify() -> None:
    data = mlmio.load_dataset("iris", per_class=12)
    result = mlmio.solve(SPECS["S0"], data, strategy="direct", time_limit=0.01)
    assert mlmio.verify(result, data) is result
    assert not result.verified


def test_what_a_certificate_allows() -> None:
    from mlmio.verification import TOLERANCE, tolerance_of

    assert TOLERANCE == tolerance_of(0.5) == 1e-6
    assert tolerance_of(-200.0) == pytest.approx(2e-4)
    result = mlmio.solve(SPECS["S0"], DATA)
    assert mlmio.verify(replace(result, objective=result.objective + 5e-7), DATA).verified


def test_a_number_that_is_none_is_no_proof(solved: Result) -> None:
    nan = float("nan")
    assert "nan" in refused(replace(solved, objective=nan))
    assert "nan" in refused(replace(solved, bound=nan))


def test_what_a_build_decides_must_be_known() -> None:
    metric = mlmio.solve("linear + nearest", DATA).metric
    assert metric is not None
    for spec, names in (
        ("linear + nearest", "dmin"),
        ("linear + knn", "dmin"),
        (
            "linear + knn + bounded(dmin=0.01)",
            "eps and W",
        ),
    ):
        with pytest.raises(mlmio.CompositionError, match=names):
            mlmio.compose(spec).evaluate(DATA, metric)


def test_outliers_are_given_as_a_mask() -> None:
    spec = "linear + nearest + outliers(rho=0.05) + bounded(dmin=1e-4)"
    result = mlmio.solve(spec, DATA)
    assert result.metric is not None
    with pytest.raises(mlmio.DataError, match=r"np.isin\(data.ids, result.outliers\)"):
        mlmio.compose(spec).evaluate(DATA, result.metric, [7, 2])


FALSE_CLAIMS = {
    "an optimum is claimed, with bound": {"bound": 0.9},
    "no objective is claimed": {"objective": None},
    "status infeasible is claimed": {"status": "infeasible"},
    "status 'bogus' is none of": {"status": "bogus"},
    "other neighbours are claimed": {"neighbors": {0: (7,)}},
    "which the composition has not": {"resolved": mlmio.compose("linear + nearest")},
}


@pytest.mark.parametrize("message", FALSE_CLAIMS)
def test_every_claim_is_held_to_the_data(message: str) -> None:
    result = mlmio.solve("quadratic + nearest", DATA)
    change = dict(FALSE_CLAIMS[message])
    if "resolved" in change:
        change["resolved"] = result.resolved | "linear"
    assert message in refused(replace(result, **change))  # type: ignore[arg-type]


def test_a_solution_without_a_metric_is_no_solution() -> None:
    result = mlmio.solve("quadratic + nearest", DATA)
    for change in ({}, {"objective": None}, {"status": "no_incumbent"}):
        claimed = mlmio.verify(replace(result, metric=None, **change), DATA)
        assert (claimed.status, claimed.verified) == ("unverified", False)
        assert "no metric to hold it to" in claimed.message
    nothing = replace(result, metric=None, objective=None, status="infeasible", certificate=None)
    assert mlmio.verify(nothing, DATA).status == "infeasible"


def test_another_scaling_or_other_features_are_noticed() -> None:
    result = mlmio.solve("linear + nearest", DATA)
    assert result.metric is not None
    tensors = {1: result.metric.a}
    moved = mlmio.Scaling("minmax", np.ones(DATA.D), np.ones(DATA.D))
    for scaling, names, message in (
        (moved, DATA.feature_names, "scaling is not that of the data"),
        (DATA.scaling, DATA.feature_names[::-1], "features are not those of the data"),
    ):
        metric = Metric(tensors, DATA.D, scaling, names)
        assert message in refused(replace(result, metric=metric))


def test_the_data_of_another_result_are_refused() -> None:
    result = mlmio.solve("linear + nearest", DATA)
    with pytest.raises(mlmio.DataError, match="give the data set that was solved"):
        mlmio.verify(result, mlmio.load_dataset("iris", per_class=3))


def test_the_composition_is_the_one_that_was_solved() -> None:
    result = mlmio.solve("linear + nearest", DATA)
    other = replace(result, composition=mlmio.compose("linear + quadratic + nearest"))
    assert "was solved" in refused(other)
