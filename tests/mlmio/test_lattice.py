"""What the lattice says of two compositions, and that solved optima keep to it."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from instances import random_data

import mlmio
from mlmio import relation
from mlmio.lattice import slot_graph, tightens
from mlmio.slots import SLOTS

BASE = "linear + quadratic + nearest"
S1 = BASE + " + outliers"

RELATIONS = [
    (BASE, BASE, "equivalent"),
    (BASE, BASE + " + bigm + bounded", "equivalent"),
    (BASE, "linear + quadratic + nearest(k=1)", "equivalent"),
    (BASE + " + mccormick", BASE + " + bigm", "equivalent"),
    (BASE + " + bilinear", BASE + " + mccormick", "equivalent"),
    (BASE + " + bounded(distances='substituted')", BASE, "equivalent"),
    ("linear + nearest", BASE, "restriction"),
    ("quadratic + nearest", BASE, "restriction"),
    (BASE, BASE + " + cubic", "restriction"),
    ("linear + quadratic + nearest(k=2)", BASE, "restriction"),
    (BASE + " + bounded(dmin=0.2)", BASE + " + bounded(dmin=0.1)", "restriction"),
    (BASE + " + bounded(dmax=1.0)", BASE + " + bounded(dmax=2.0)", "restriction"),
    (BASE + " + outliers(rho=0.2)", S1, "restriction"),
    (BASE + " + outliers(keep=3)", S1, "restriction"),
    (BASE + " + outliers(semantics='printed')", S1, "restriction"),
    (BASE + " + diagonal", BASE + " + gershgorin", "restriction"),
    (BASE + " + gershgorin", BASE, "restriction"),
    (BASE + " + lasso", BASE, "restriction"),
    ("linear + nearest", "quadratic + nearest", "unrelated"),
    ("linear + nearest", "linear + quadratic + nearest(k=2)", "unrelated"),
    (BASE, S1, "unrelated"),
    (BASE + " + outliers(semantics='excuse')", S1, "unrelated"),
    (BASE + " + outliers(rho=0.2, keep=1)", S1, "unrelated"),
    (BASE + " + bounded(dmin=0.1)", BASE, "unrelated"),
    (BASE, "linear + quadratic + knn", "unrelated"),
]


@pytest.mark.parametrize(("first", "second", "kind"), RELATIONS)
def test_relations(first: str, second: str, kind: str) -> None:
    inverse = {"restriction": "relaxation"}.get(kind, kind)
    assert relation(first, second).kind == kind
    assert relation(second, first).kind == inverse
    assert relation(first, second).inverse.kind == inverse


def test_several_restrictions_at_once_are_one() -> None:
    found = relation("linear + nearest(k=2) + mccormick", BASE + " + bigm")
    assert found.kind == "restriction"
    assert len(found.reasons) == 3
    assert "without quadratic" in found.reason


@pytest.mark.parametrize(
    ("first", "second", "tighter"),
    [
        (BASE + " + mccormick", BASE, True),
        (BASE, BASE + " + mccormick", False),
        (BASE + " + mccormick", BASE + " + mccormick", False),
        ("linear + nearest + mccormick", BASE, False),
        (BASE + " + mccormick", BASE + " + bounded(dmin=0.1)", False),
        (BASE + " + disjunction_bounds", BASE, True),
        (BASE + " + disjunction_bounds + mccormick", BASE, True),
        (BASE, BASE + " + disjunction_bounds", False),
        (BASE + " + disjunction_bounds", BASE + " + mccormick", False),
        (BASE + " + disjunction_bounds", BASE + " + basic_steps", False),
    ],
)
def test_lp_bounds_are_compared_where_only_encoding_and_cuts_differ(
    first: str, second: str, tighter: bool
) -> None:
    assert tightens(first, second) is tighter


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize("kind", ["restricts", "tightens"])
def test_no_block_restricts_itself_by_way_of_others(slot: str, kind: str) -> None:
    assert nx.is_directed_acyclic_graph(slot_graph(slot, kind))


SPECS = sorted({spec for pair in RELATIONS for spec in pair[:2]})


@given(*[st.sampled_from(SPECS)] * 2)
def test_the_inverse_of_the_inverse_is_the_relation(first: str, second: str) -> None:
    assert relation(first, second).inverse.kind == relation(second, first).kind
    assert relation(first, second).inverse.inverse == relation(first, second)
    assert relation(first, first).kind == "equivalent"


@given(*[st.sampled_from(SPECS)] * 3)
def test_restrictions_are_transitive(first: str, second: str, third: str) -> None:
    steps = {relation(first, second).kind, relation(second, third).kind}
    if steps == {"restriction"}:
        assert relation(first, third).kind == "restriction"
    if steps == {"equivalent"}:
        assert relation(first, third).kind == "equivalent"


@pytest.mark.parametrize("seed", range(2))
def test_solved_optima_and_lp_bounds_keep_to_the_lattice(seed: int) -> None:
    data = random_data(seed, (3, 3))
    specs = [
        spec
        for spec in SPECS
        if "bilinear" not in spec
        and "knn" not in spec
        and "dmin=0.2" not in spec
        and "dmin=0.1" not in spec
        and "(k=2)" not in spec
    ]
    results = {spec: mlmio.solve(spec, data) for spec in specs}
    assert {result.status for result in results.values()} <= {"optimal", "infeasible"}
    solved = {spec: r for spec, r in results.items() if r.status == "optimal"}
    compared = 0
    for first, ours in solved.items():
        for second, theirs in solved.items():
            kind = relation(first, second).kind
            if kind == "restriction":
                assert ours.objective <= theirs.objective + 1e-6, f"{first} / {second}"
                compared += 1
            if kind == "equivalent":
                assert ours.objective == pytest.approx(theirs.objective, abs=1e-6)
            if tightens(first, second):
                assert ours.lp_bound <= theirs.lp_bound + 1e-6
    assert compared > 10
