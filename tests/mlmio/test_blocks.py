"""The base of the blocks: what a block gets for nothing."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

from mlmio import Block, CompositionError, block
from mlmio.blocks import check_choice, check_count, check_number, register_block


@dataclass(frozen=True)
class Sample(Block):
    weight: float = 1.0
    count: int = 2
    kind: str = "round"

    name: ClassVar[str] = "sample"
    slot: ClassVar[str] = "side"

    def __post_init__(self) -> None:
        check_number(self, "weight", 0.0, 9.0)
        check_count(self, "count", 1)
        check_choice(self, "kind", ("round", "square"))


def test_it_prints_the_parameters_that_differ_from_the_defaults() -> None:
    assert str(Sample()) == "sample"
    assert str(Sample(kind="square", weight=2)) == "sample(weight=2.0, kind='square')"
    assert Sample(count=3).parameters == {"weight": 1.0, "count": 3, "kind": "round"}


def test_parameters_are_part_of_its_identity() -> None:
    assert Sample(weight=2) == Sample(weight=2.0) != Sample()
    assert len({Sample(), Sample(weight=1), Sample(count=5)}) == 2


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"weight": -0.1}, "'weight' of block 'sample' is -0.1: give a number from 0 to 9"),
        ({"weight": float("nan")}, "give a number"),
        ({"weight": "heavy"}, "give a number"),
        ({"weight": True}, "give a number"),
        ({"count": 0}, "give a whole number of at least 1"),
        ({"count": 2.0}, "whole number"),
        ({"kind": "oval"}, "give 'round' or 'square'"),
    ],
)
def test_it_holds_its_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(CompositionError, match=message):
        Sample(**parameters)


def test_without_a_build_method_it_says_so() -> None:
    with pytest.raises(NotImplementedError, match="Sample has no build method"):
        Sample().build(None, None)  # type: ignore[arg-type]


def test_an_unknown_block_or_parameter_is_refused() -> None:
    with pytest.raises(CompositionError, match="no block 'smaple'"):
        block("smaple")
    with pytest.raises(CompositionError, match="no parameter 'j': it takes k"):
        block("nearest", j=1)
    with pytest.raises(CompositionError, match="no parameter 'k': it takes none"):
        block("linear", k=1)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"name": "my cap"}, "its name is 'my cap'"),
        ({"name": None}, "its name is None"),
        ({"slot": "roof"}, "its slot is 'roof'"),
        ({"problem_class": "MLP"}, "its problem_class is 'MLP'"),
        ({"parameter_order": {"cap": "restricts"}}, "names 'cap', which is no parameter"),
        ({"parameter_order": {"top": "relax"}}, "its parameter_order has 'relax'"),
    ],
)
def test_what_makes_no_block_is_not_registered(
    registry: None, members: dict[str, object], message: str
) -> None:
    body = {"name": "cap", "slot": "side", "top": 1.0, "__annotations__": {"top": "float"}}
    cls = dataclass(frozen=True)(type("Cap", (Block,), {**body, **members}))
    with pytest.raises(CompositionError, match=re.escape(message)):
        register_block(cls)


def test_a_class_without_the_decorator_is_not_registered(registry: None) -> None:
    cls = type("Cap", (Block,), {"name": "cap", "slot": "side"})
    with pytest.raises(CompositionError, match="dataclass"):
        register_block(cls)
    with pytest.raises(CompositionError, match="base Block"):
        register_block(int)
