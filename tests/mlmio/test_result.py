"""A result as text and as a record."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from instances import random_data

import mlmio
from mlmio import Result


@pytest.fixture(scope="module")
def result() -> Result:
    spec = "linear + quadratic + nearest + outliers"
    return mlmio.solve(spec, random_data(0, (4, 3)), solver="highs")


def test_it_prints_what_it_is(result: Result) -> None:
    text = str(result)
    for part in (
        str(result.composition),
        "optimal",
        f"{result.objective:.6g}",
        "verified",
        "highs",
    ):
        assert part in text
    assert repr(result) == text


def test_what_is_missing_prints_as_a_dash(result: Result) -> None:
    text = str(replace(result, objective=None, bound=None, metric=None, certificate=None))
    assert "objective  –   bound –   gap –" in text
    assert "None" not in text


def test_zero_has_no_sign_and_a_count_is_whole(result: Result) -> None:
    text = str(replace(result, objective=-0.0, bound=-0.0, lp_bound=-0.0, nodes=12_345_678))
    assert "objective  0   bound 0   gap 0%   LP bound 0" in text
    assert "12345678 nodes" in text
    assert "build 1.00 s, LP 0.00 s" in str(replace(result, build_s=1.0, lp_s=0.0))


def test_its_record_is_plain(result: Result) -> None:
    record = json.loads(json.dumps(result.to_dict()))
    assert record["formulation"] == "linear + quadratic + outliers + nearest"
    assert record["objective"] == result.objective
    assert record["verified"] is True
    assert record["rows"] == result.size.rows
    assert record["option_seed"] == 0


def test_what_was_open_is_resolved(result: Result) -> None:
    region = next(part for part in result.resolved.blocks if part.slot == "region")
    assert 0 < region.dmin <= 0.01
    assert mlmio.compose(str(result.resolved)) == result.resolved
    assert "bounded" not in str(result.composition)


def test_the_size_is_that_of_the_model(result: Result) -> None:
    import pyomo.environ as pyo

    model = result.composition.build(random_data(0, (4, 3)))
    assert result.size.rows == len(list(model.component_data_objects(pyo.Constraint)))
    assert result.size.columns == len(list(model.component_data_objects(pyo.Var)))
    assert result.size.binaries == 4 * 3 + 3 * 2 + 7
    assert result.size.nonzeros > result.size.rows


@pytest.mark.parametrize(
    ("objective", "bound", "gap"),
    [
        (0.5, 0.5, 0.0),
        (0.5, 0.6, 0.2),
        (-0.5, -0.4, 0.2),
        (0.0, 0.0, 0.0),
        (0.0, 0.1, float("inf")),
        (None, 0.1, None),
        (0.1, None, None),
    ],
)
def test_gaps(
    result: Result, objective: float | None, bound: float | None, gap: float | None
) -> None:
    claimed = replace(result, objective=objective, bound=bound, lp_bound=bound)
    assert claimed.gap == pytest.approx(gap)
    assert claimed.root_gap == pytest.approx(gap)


def test_neighbors_are_named_where_there_are_fewer_than_k() -> None:
    data = random_data(1, (5, 4))
    result = mlmio.solve("linear + quadratic + knn(K=3)", data)
    assert result.certificate is not None
    for point, served in zip(data.ids, result.certificate.neighbors, strict=True):
        assert len(result.neighbors.get(point, ())) == (served >= 0).sum()
