"""Labels of logarithmic axes: round, in order, within the axis, and apart from one another."""

from __future__ import annotations

import itertools
import math

from hypothesis import given
from hypothesis import strategies as st

from mlmio.bench.ticks import LEAST_APART, MOST, apart, ticks_between


@given(st.floats(1e-6, 1e6), st.floats(1.5, 1e9))
def test_ticks_of_any_axis(low: float, ratio: float) -> None:
    high = low * ratio
    ticks = ticks_between(low, high)
    assert 2 <= len(ticks) <= MOST
    assert low <= ticks[0]
    assert ticks[-1] <= high
    assert len({f"{tick:g}" for tick in ticks}) == len(ticks)
    steps = [math.log(b / a) / math.log(ratio) for a, b in itertools.pairwise(ticks)]
    assert min(steps) >= LEAST_APART


@given(st.sets(st.integers(1, 100_000), min_size=2))
def test_labels_of_any_sizes_are_apart_and_have_both_ends(sizes: set[int]) -> None:
    ordered = sorted(map(float, sizes))
    kept = apart(ordered)
    assert set(kept) <= set(ordered)
    assert (kept[0], kept[-1]) == (ordered[0], ordered[-1])
    whole = math.log(ordered[-1] / ordered[0])
    for a, b in itertools.pairwise(kept):
        assert math.log(b / a) >= LEAST_APART * whole * (1 - 1e-9)
