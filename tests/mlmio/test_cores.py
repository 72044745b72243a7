"""What sets of cores say is never broken by a set of points that is given up."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlmio.cores import Cores, bits_of, points_of

N = 6
PRICE, MOST = 0.1, 0.9
EVERYONE = 2**N - 1

sets_of_points = st.integers(0, EVERYONE)
some_cores = st.lists(
    st.tuples(st.integers(1, EVERYONE), st.sampled_from([0.05, 0.2, 0.4, 0.7])), max_size=6
)


def cores(found: list[tuple[int, float]]) -> Cores:
    known = Cores()
    for members, level in found:
        known.add(points_of(members, N), level)
    return known


def largest(found: list[tuple[int, float]], given_up: int) -> float:
    """What the objective, but for prices, can be at most, as far as cores say."""
    return min([MOST, *(level for members, level in found if not members & given_up)])


def further(given_up: int, kept: int, least: int) -> list[tuple[int, int]]:
    """Every set that at least so many further points make, and how many they are."""
    free = [n for n in range(N) if not (given_up | kept) >> n & 1]
    return [
        (given_up | sum(1 << n for n in chosen), count)
        for count in range(least, len(free) + 1)
        for chosen in combinations(free, count)
    ]


@given(some_cores, sets_of_points, sets_of_points, st.integers(0, 2))
def test_no_set_of_points_is_better_than_the_bound(
    found: list[tuple[int, float]], given_up: int, kept: int, first: int
) -> None:
    kept &= ~given_up
    bound = cores(found).bound(given_up, kept, PRICE, MOST, first)
    for gone, count in further(given_up, kept, first):
        assert largest(found, gone) - PRICE * count <= bound + 1e-12


@given(some_cores, sets_of_points, sets_of_points, st.integers(1, 3))
def test_fewer_points_than_cores_that_are_apart_leave_one_of_them(
    found: list[tuple[int, float]], given_up: int, kept: int, count: int
) -> None:
    kept &= ~given_up
    apart = cores(found).apart(given_up, kept, 0.4, count)
    assert len(apart) <= count
    assert all(not one & other for one, other in combinations(apart, 2))
    for gone, size in further(given_up, kept, 0):
        if size < len(apart) or 0 in apart:
            assert largest(found, gone) <= 0.4


@given(some_cores, sets_of_points, sets_of_points)
def test_a_point_of_the_smallest_core_must_be_given_up(
    found: list[tuple[int, float]], given_up: int, kept: int
) -> None:
    kept &= ~given_up
    smallest = cores(found).smallest(given_up, kept, 0.4)
    for gone, _ in further(given_up, kept, 0):
        if smallest is None:
            assert largest(found, given_up) > 0.4
        elif not gone & smallest:
            assert largest(found, gone) <= 0.4


def test_what_cores_say_of_an_example() -> None:
    """Three points each in a core of 0.2 and one of 0.4, apart: one of them can be hit at 0.1."""
    known = cores([(0b000111, 0.2), (0b111000, 0.4)])
    assert known.bound(0, 0, PRICE, MOST, 0) == pytest.approx(max(0.2, 0.4 - 0.1, 0.9 - 0.2))
    assert known.bound(0, EVERYONE, PRICE, MOST, 0) == pytest.approx(0.2)
    assert known.apart(0, 0b000011, 0.3, 2) == [0b000100]
    assert known.smallest(0b000001, 0b110000, 0.4) == 0b001000


@given(st.lists(st.booleans(), min_size=1, max_size=70))
def test_bits_are_points(points: list[bool]) -> None:
    array = np.array(points)
    assert (points_of(bits_of(array), len(points)) == array).all()


@given(some_cores, sets_of_points)
def test_what_hits_no_core_of_a_level_does_not_exceed_it(
    found: list[tuple[int, float]], given_up: int
) -> None:
    rows = cores(found).of_level(0.4, N)
    assert rows.shape[1] == N
    hit = (rows & points_of(given_up, N)).any(axis=1)
    assert hit.all() == (largest(found, given_up) > 0.4)
