"""The laws of the algebra, and every way in which blocks refuse to go together."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlmio
from mlmio import Block, Composition, CompositionError, block, compose, variants
from mlmio.registry import blocks

NAMES = blocks.names()

# Parameters that differ from the defaults, for blocks that a law shall meet in several forms.
OTHERS = {
    "bounded": {"dmin": st.sampled_from([0.0, 0.01, "auto"]), "dmax": st.sampled_from([1.0, 2.0])},
    "nearest": {"k": st.integers(1, 9)},
    "outliers": {
        "rho": st.floats(0, 10),
        "semantics": st.sampled_from(["remove", "printed", "excuse"]),
        "keep": st.integers(0, 5),
    },
}


@st.composite
def any_block(draw: st.DrawFn) -> Block:
    name = draw(st.sampled_from(NAMES))
    parameters = draw(st.fixed_dictionaries({}, optional=OTHERS.get(name, {})))
    return block(name, **parameters)


@st.composite
def compositions(draw: st.DrawFn) -> Composition:
    """Blocks one by one, those left out that clash with the ones before."""
    made = Composition(())
    for part in draw(st.lists(any_block(), min_size=1, max_size=6)):
        try:
            made = made + part
        except CompositionError:
            continue
    return made


def added(*parts: Composition) -> Composition | None:
    """The sum, or None where blocks clash."""
    try:
        total = parts[0]
        for part in parts[1:]:
            total = total + part
    except CompositionError:
        return None
    return total


@given(a=compositions(), b=compositions())
def test_adding_is_commutative(a: Composition, b: Composition) -> None:
    assert added(a, b) == added(b, a)


@given(a=compositions(), b=compositions(), c=compositions())
def test_adding_is_associative(a: Composition, b: Composition, c: Composition) -> None:
    bc, ab = added(b, c), added(a, b)
    left = None if ab is None else added(ab, c)
    right = None if bc is None else added(a, bc)
    assert left == right


@given(a=compositions())
def test_adding_is_idempotent(a: Composition) -> None:
    assert a + a == a
    assert hash(a + a) == hash(a)


@given(a=compositions(), b=compositions())
def test_replacing_twice_is_replacing_once(a: Composition, b: Composition) -> None:
    try:
        once = a | b
    except CompositionError:
        return
    assert once | b == once
    assert set(b.blocks) <= set(once.blocks)
    filled = {part.slot for part in b.blocks}
    assert {p for p in once.blocks if p.slot not in filled} == {
        p for p in a.blocks if p.slot not in filled
    }


@given(a=compositions())
def test_printing_and_reading_give_the_same(a: Composition) -> None:
    assert compose(str(a)) == a
    assert str(compose(str(a))) == str(a)
    assert eval(repr(a), {"compose": compose}) == a
    assert pickle.loads(pickle.dumps(a)) == a


@given(a=compositions(), data=st.data())
def test_dropping_takes_out_one_name(a: Composition, data: st.DataObject) -> None:
    dropped = data.draw(st.sampled_from(a.blocks))
    rest = a - dropped.name
    assert dropped.name not in {part.name for part in rest.blocks}
    assert {p for p in a.blocks if p.name != dropped.name} == set(rest.blocks)


@given(a=compositions(), data=st.data())
def test_the_order_of_blocks_does_not_matter(a: Composition, data: st.DataObject) -> None:
    assert compose(data.draw(st.permutations(a.blocks))) == a
    assert str(compose(data.draw(st.permutations(a.blocks)))) == str(a)


@given(
    encodings=st.sets(st.sampled_from(["bigm", "mccormick", "bilinear"]), min_size=1),
    losses=st.sets(st.sampled_from([None, "outliers", "outliers(rho=0.5)"]), min_size=1),
    ks=st.sets(st.integers(1, 5), min_size=1),
)
def test_variants_are_the_product(encodings: set, losses: set, ks: set) -> None:
    made = variants(
        "quadratic + nearest + bigm",
        encoding=list(encodings),
        loss=list(losses),
        neighbors=[f"nearest(k={k})" for k in ks],
    )
    assert len(made) == len(set(made)) == len(encodings) * len(losses) * len(ks)
    wanted = {
        compose(f"quadratic + nearest(k={k}) + {encoding}" + (f" + {loss}" if loss else ""))
        for encoding, loss, k in product(encodings, losses, ks)
    }
    assert set(made) == wanted


def test_variants_change_the_last_slot_fastest_and_leave_slots_empty() -> None:
    made = variants(
        "linear + nearest + outliers", encoding=["bigm", "mccormick"], loss=[None, "outliers"]
    )
    assert list(map(str, made)) == [
        "linear + bigm + nearest",
        "linear + outliers + bigm + nearest",
        "linear + mccormick + nearest",
        "linear + outliers + mccormick + nearest",
    ]


@pytest.mark.parametrize(
    ("slots", "message"),
    [
        ({"colour": ["bigm"]}, "no slot 'colour'"),
        ({"encoding": ["outliers"]}, "'outliers' fills slot 'loss', not 'encoding'"),
        ({"encoding": ["bigmm"]}, "no block 'bigmm', did you mean 'bigm'"),
    ],
)
def test_variants_refuse_what_does_not_fit(slots: dict, message: str) -> None:
    with pytest.raises(CompositionError, match=message):
        variants("linear + nearest", **slots)


def test_the_same_block_in_every_form() -> None:
    quadratic, nearest = block("quadratic"), block("nearest")
    wanted = compose("quadratic + nearest")
    assert quadratic + nearest == nearest + quadratic == wanted
    assert "quadratic" + compose("nearest") == wanted
    assert compose([quadratic, nearest]) == compose(wanted) == wanted
    assert quadratic | "nearest" == wanted
    assert wanted != "quadratic + nearest"


@pytest.mark.parametrize(
    ("spec", "completed"),
    [
        ("linear + nearest", "linear + bounded + bigm + nearest"),
        ("linear + nearest + mccormick", "linear + bounded + mccormick + nearest"),
        ("linear + nearest + bounded(dmin=0.5)", "linear + bounded(dmin=0.5) + bigm + nearest"),
    ],
)
def test_what_is_left_open_gets_its_default(spec: str, completed: str) -> None:
    assert str(compose(spec).completed) == completed
    assert compose(spec).completed.completed == compose(completed)


@given(a=compositions())
def test_every_block_is_built_after_what_it_needs(a: Composition) -> None:
    try:
        order = a.ordered
    except CompositionError:
        return
    assert set(order) == set(a.completed.blocks)
    provided: set[str] = set()
    for part in order:
        assert part.needs <= provided
        provided |= part.provides


def test_points_that_coincide_may_be_outliers() -> None:
    parts = compose("linear + nearest + outliers + bounded(duplicates='outlier')").ordered
    assert {part.name for part in parts} == {"linear", "nearest", "outliers", "bounded", "bigm"}


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ("bigm + mccormick", ["bigm", "mccormick", "encoding"]),
        ("outliers + hinge", ["outliers", "hinge", "slot 'loss'"]),
        ("nearest + nearest(k=2)", ["nearest", "nearest(k=2)"]),
        ("outliers + outliers(rho=0.3)", ["outliers", "outliers(rho=0.3)"]),
        ("bounded + bounded(dmin=0.1)", ["bounded", "bounded(dmin=0.1)"]),
    ],
)
def test_a_clash_names_both_blocks(spec: str, named: list[str]) -> None:
    with pytest.raises(CompositionError, match="clash") as caught:
        compose(spec)
    assert all(name in str(caught.value) for name in named)


@pytest.mark.parametrize(
    ("spec", "asks", "would_do"),
    [
        ("nearest", "'terms'", ["linear", "quadratic"]),
        ("linear", "'neighbors'", ["nearest"]),
        ("linear + nearest + bounded(duplicates='outlier')", "'outliers'", ["add outliers"]),
        ("linear + nearest + gershgorin", "'gershgorin' needs 'B'", ["quadratic"]),
    ],
)
def test_what_is_missing_is_named_with_what_would_do(
    spec: str, asks: str, would_do: list[str]
) -> None:
    composition = compose(spec)
    for attempt in (
        lambda: composition.ordered,
        lambda: composition.build(mlmio.load_dataset("iris")),
    ):
        with pytest.raises(CompositionError) as caught:
            attempt()
        assert asks in str(caught.value)
        assert all(name in str(caught.value) for name in would_do)


def test_an_encoding_that_none_asks_for_is_refused_by_name() -> None:
    with pytest.raises(CompositionError, match=r"'bigm' has nothing to encode.*'knn'.*nearest"):
        compose("linear + knn + bigm").ordered  # noqa: B018


def test_dropping_what_is_not_there_is_refused() -> None:
    with pytest.raises(CompositionError, match="cannot drop 'bigm': it is not in 'linear'"):
        compose("linear") - "bigm"


@pytest.mark.parametrize("nothing", [3, None, [1, 2], ["linear"], object()])
def test_what_is_no_block_is_refused(nothing: object) -> None:
    with pytest.raises(CompositionError, match="cannot compose"):
        compose(nothing)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("nearest", {"k": 0}, "'k' of block 'nearest' is 0: give a whole number of at least 1"),
        ("nearest", {"k": 1.5}, "whole number"),
        ("nearest", {"k": True}, "whole number"),
        ("outliers", {"rho": -1}, "'rho'.*at least 0"),
        ("outliers", {"rho": float("inf")}, "'rho'"),
        ("outliers", {"semantics": "deleted"}, "'remove' or|'printed' or"),
        ("outliers", {"keep": -1}, "'keep'"),
        ("bounded", {"dmin": "automatic"}, "'dmin'"),
        ("bounded", {"dmin": 2.0}, "'dmin'.*0 to 1"),
        ("bounded", {"distances": "matrix"}, "'variables' or 'substituted'"),
        ("bounded", {"duplicates": "keep"}, "'error' or 'drop' or 'outlier'"),
    ],
)
def test_a_wrong_value_is_refused_with_what_would_do(
    name: str, parameters: dict, message: str
) -> None:
    with pytest.raises(CompositionError, match=message):
        block(name, **parameters)


def test_equal_values_are_equal_blocks() -> None:
    assert block("outliers", rho=1) == block("outliers", rho=1.0)
    assert str(block("outliers", rho=1)) == str(block("outliers", rho=1.0))


@pytest.mark.parametrize(
    ("spec", "problem_class"),
    [
        ("linear + nearest", "MILP"),
        ("linear + nearest + bilinear", "MINLP"),
        ("linear + nearest + mccormick + outliers", "MILP"),
    ],
)
def test_the_class_of_problem_is_the_widest(spec: str, problem_class: str) -> None:
    assert compose(spec).problem_class == problem_class


def test_a_composition_builds_a_plain_model_with_a_block_each() -> None:
    import pyomo.environ as pyo

    data = mlmio.load_dataset("iris", per_class=3)
    model = compose("linear + nearest + outliers").build(data)
    assert isinstance(model, pyo.ConcreteModel)
    names = {b.local_name for b in model.component_objects(pyo.Block, descend_into=False)}
    assert names == {"linear", "nearest", "outliers", "bounded", "bigm"}
    assert model.objective.sense == pyo.maximize


def test_a_cone_with_binaries_is_mixed_integer(registry: None) -> None:
    @mlmio.register_block
    @dataclass(frozen=True)
    class Round(Block):
        """A second-order cone."""

        name: ClassVar[str] = "round"
        slot: ClassVar[str] = "cone"
        problem_class: ClassVar[str] = "SOCP"

    assert compose("quadratic + round + nearest").problem_class == "MISOCP"


def test_what_a_block_refuses_is_named() -> None:
    with pytest.raises(CompositionError, match="'lmnn' cannot stand beside 'cubic'"):
        _ = compose("quadratic + cubic + lmnn + unbounded + diagonal").ordered
