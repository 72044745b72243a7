"""Statistics against values computed by hand, and the laws that they obey."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlmio.bench.statistics import (
    performance_ratios,
    power_law,
    primal_gap,
    primal_integral,
    share_within,
    shifted_geometric_mean,
)

times = st.lists(st.floats(1e-3, 1e4), min_size=1, max_size=20)


def test_shifted_geometric_mean_by_hand() -> None:
    # (1 + 1)(3 + 1)(15 + 1) = 128, and its cube root less 1.
    assert shifted_geometric_mean([1, 3, 15], 1.0) == pytest.approx(128 ** (1 / 3) - 1)
    assert shifted_geometric_mean([2, 8], 0.0) == pytest.approx(4.0)
    assert shifted_geometric_mean([0, 0], 10.0) == pytest.approx(0.0)
    assert math.isnan(shifted_geometric_mean([], 1.0))


@given(times, st.floats(0.0, 100.0))
def test_shifted_geometric_mean_is_a_mean_below_the_arithmetic_one(
    values: list[float], shift: float
) -> None:
    mean = shifted_geometric_mean(values, shift)
    assert min(values) * (1 - 1e-9) - 1e-9 <= mean <= np.mean(values) * (1 + 1e-9) + 1e-9


def test_primal_gap_by_hand() -> None:
    assert primal_gap([0.0, 4.0, 5.0, -5.0, np.nan], best=5.0) == pytest.approx([1, 0.2, 0, 1, 1])
    assert primal_gap([-10.0, 0.0], best=-5.0) == pytest.approx([0.5, 1.0])
    assert primal_gap([0.0, 2.0], best=0.0) == pytest.approx([0.0, 1.0])


def test_primal_integral_by_hand() -> None:
    # 1 for 2 s, 0.5 for 3 s, 0.2 for 1 s, then nothing.
    found = primal_integral([2.0, 5.0, 6.0], [1.0, 1.6, 2.0], best=2.0, until=10.0)
    assert found == pytest.approx(2.0 + 1.5 + 0.2)
    # Nothing is ever found; nothing after the limit counts.
    assert primal_integral([], [], best=2.0, until=10.0) == 10.0
    assert primal_integral([4.0], [np.nan], best=2.0, until=10.0) == 10.0
    assert primal_integral([12.0], [2.0], best=2.0, until=10.0) == 10.0
    # The end is short of the best: it stays so until the limit.
    assert primal_integral([1.0], [1.0], best=2.0, until=9.0) == pytest.approx(1.0 + 4.0)


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 1)), max_size=10))
def test_a_primal_integral_is_between_nothing_and_the_limit(moments: list[tuple[float, float]]):
    at = sorted(time for time, _ in moments)
    found = primal_integral(at, sorted(value for _, value in moments), best=1.0, until=10.0)
    assert -1e-9 <= found <= 10.0 + 1e-9


def test_performance_ratios_by_hand() -> None:
    ratios = performance_ratios([[2.0, 1.0, np.inf], [3.0, 6.0, 3.0], [np.inf] * 3])
    assert ratios.tolist() == [[2.0, 1.0, math.inf], [1.0, 2.0, 1.0], [math.inf] * 3]
    # The profile of the first: 1/3 at once, 2/3 within twice the time, and never more.
    at, share = share_within(ratios[:, 0])
    assert at.tolist() == [1.0, 2.0]
    assert share == pytest.approx([1 / 3, 2 / 3])


@given(st.lists(st.tuples(*[st.floats(1e-3, 1e3)] * 3), min_size=1, max_size=10), st.floats(0.1, 9))
def test_ratios_do_not_depend_on_the_clock(rows: list[tuple[float, ...]], factor: float) -> None:
    ratios = performance_ratios(rows)
    assert ratios.min(axis=1) == pytest.approx(1.0)
    assert performance_ratios(factor * np.array(rows)) == pytest.approx(ratios)


def test_shares_by_hand() -> None:
    at, share = share_within([3.0, 1.0, 3.0, math.inf, 0.0])
    assert at.tolist() == [0.0, 1.0, 3.0]
    assert share == pytest.approx([0.2, 0.4, 0.8])
    at, share = share_within([math.inf])
    assert at.tolist() == share.tolist() == []


@given(st.lists(st.floats(0, 100) | st.just(math.inf), min_size=1))
def test_shares_rise_to_that_of_what_is_finite(values: list[float]) -> None:
    at, share = share_within(values)
    assert (np.diff(at) > 0).all()
    assert (np.diff(share) > 0).all()
    if len(share):
        assert share[-1] == pytest.approx(np.isfinite(values).mean())


def test_power_law_by_hand() -> None:
    # log2 t = 0, 1, 4 at log2 N = 0, 1, 2: slope 2, intercept −1/3, residuals 1/3, −2/3, 1/3.
    law = power_law([1, 2, 4], [1.0, 2.0, 16.0])
    assert law is not None
    assert law.exponent == pytest.approx(2.0)
    assert law.factor == pytest.approx(2 ** (-1 / 3))
    assert law.r2 == pytest.approx(1 - (6 / 9) / (78 / 9))
    # Student's t with one degree of freedom at 97.5 %, times sqrt((6/9) / 1 / 2).
    margin = math.tan(math.pi * 0.475) * math.sqrt(1 / 3)
    assert law.high - law.exponent == pytest.approx(margin)
    assert law.exponent - law.low == pytest.approx(margin)
    assert law.points == 3
    assert law.at([2.0]) == pytest.approx([2 ** (-1 / 3) * 4])


def test_power_law_needs_three_sizes_and_takes_constant_times() -> None:
    assert power_law([10, 20, 20], [1.0, 2.0, 3.0]) is None
    law = power_law([1, 2, 4], [5.0, 5.0, 5.0])
    assert law is not None
    assert law.exponent == pytest.approx(0.0)
    assert math.isnan(law.r2)


@given(st.floats(-3, 3), st.floats(1e-3, 1e3))
def test_a_power_law_is_found_again(exponent: float, factor: float) -> None:
    N = np.array([10.0, 15.0, 24.0, 36.0])
    law = power_law(N, factor * N**exponent)
    assert law is not None
    assert law.exponent == pytest.approx(exponent, abs=1e-9)
    assert law.factor == pytest.approx(factor)
    assert law.low - 1e-6 <= exponent <= law.high + 1e-6
