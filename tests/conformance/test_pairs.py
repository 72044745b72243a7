"""Any two blocks that may meet either solve to a verified optimum, or are refused by name."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from instances import complete_composition, may_meet, solved

from mlmio import Composition, CompositionError, block
from mlmio.registry import blocks
from mlmio.strategies import alternating

PAIRS = [
    (first, second)
    for first, second in combinations(blocks.names(), 2)
    if may_meet(block(first), block(second))
]


@pytest.fixture(autouse=True)
def few_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """What comes before the exact solver: it changes the time alone, and has its own tests."""
    monkeypatch.setattr(alternating, "STARTS", 2)


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_two_blocks_solve_or_are_refused(first: str, second: str) -> None:
    try:
        composition = complete_composition(block(first), block(second))
    except CompositionError as error:
        refusal = str(error)
    else:
        refusal = ""
    if refusal:
        assert names_the_trouble(refusal, first, second)
        return
    result = solved(composition)
    if result is None:
        pytest.skip(f"no installed solver takes {composition.problem_class}")
    assert result.status == "optimal", str(result)
    assert result.verified


def names_the_trouble(message: str, first: str, second: str) -> bool:
    """Whether it says what is missing, or names two blocks, one of the pair at least.

    The other may be a third one, without which the pair would be no complete composition.
    """
    if re.search(r"'.+' needs '.+', which no block here provides", message):
        return True
    named = {name for name in blocks.names() if re.search(rf"\b{name}\b", message)}
    return len(named) > 1 and bool(named & {first, second})


@pytest.mark.parametrize(("first", "second"), list(combinations(blocks.names(), 2)))
def test_two_blocks_that_want_one_slot_clash(first: str, second: str) -> None:
    if may_meet(block(first), block(second)):
        assert {part.name for part in Composition((block(first), block(second))).blocks} == {
            first,
            second,
        }
        return
    with pytest.raises(CompositionError, match="clash") as caught:
        block(first) + block(second)
    assert first in str(caught.value)
    assert second in str(caught.value)
