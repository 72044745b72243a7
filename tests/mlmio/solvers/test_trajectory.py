"""Collecting incumbents and bounds, and holding them to the end."""

from __future__ import annotations

import math

import pytest

from mlmio.solvers.base import Moment
from mlmio.solvers.trajectory import Recorder, concluded


def test_only_what_is_better_is_kept():
    record = Recorder()
    record.note(1.0, 9.0, seconds=0.0)
    record.note(0.5, 10.0, seconds=1.0)
    record.note(2.0, 8.0, seconds=2.0)
    assert record.moments == [Moment(0.0, 1.0, 9.0), Moment(2.0, 2.0, 8.0)]


def test_of_a_minimisation_less_is_better():
    record = Recorder(maximize=False)
    record.note(5.0, -1.0, seconds=0.0)
    record.note(6.0, 0.0, seconds=1.0)
    record.note(4.0, -2.0, seconds=2.0)
    assert record.moments == [
        Moment(0.0, 5.0, -1.0),
        Moment(1.0, 5.0, 0.0),
        Moment(2.0, 4.0, 0.0),
    ]


@pytest.mark.parametrize("none", [None, math.inf, -math.inf, math.nan, 1e20, -1e100])
def test_signs_for_no_value_are_none(none):
    record = Recorder()
    record.note(none, none, seconds=0.0)
    assert record.moments == []
    record.note(1.0, none, seconds=1.0)
    assert record.moments == [Moment(1.0, 1.0, None)]


def test_bounds_in_close_succession_wait_for_the_next_moment():
    record = Recorder()
    for n in range(1000):
        record.note(bound=1000.0 - n, seconds=1e-4 * n)
    assert len(record.moments) <= 12
    assert record.moments[-1] == Moment(1e-4 * 999, None, 1.0)
    record.note(1.0, seconds=0.1)
    assert record.moments[-1] == Moment(0.1, 1.0, 1.0)


def test_a_bound_that_is_not_followed_by_another_keeps_its_time():
    record = Recorder()
    record.note(1.0, 9.0, seconds=1.0)
    record.note(bound=8.0, seconds=1.005)
    held = [Moment(1.0, 1.0, 9.0), Moment(1.005, 1.0, 8.0)]
    assert record.moments == held
    record.note(2.0, seconds=60.0)
    assert record.moments == [*held, Moment(60.0, 2.0, 8.0)]


def test_time_never_goes_back():
    record = Recorder()
    record.note(1.0, seconds=2.0)
    record.note(2.0, seconds=1.0)
    assert record.moments == [Moment(2.0, 2.0, None)]


def test_a_solve_that_began_later_is_shifted():
    first, both = Recorder(), Recorder()
    first.note(1.0, 5.0, seconds=1.0)
    both.note(2.0, 4.0, seconds=0.5)
    both.follow(first.moments, after=1.0)
    both.follow([Moment(1.0, 3.0, 3.0)], after=2.0)
    assert both.moments == [Moment(0.5, 2.0, 4.0), Moment(3.0, 3.0, 3.0)]


def test_the_end_is_added_where_it_says_more():
    moments = [Moment(1.0, 1.0, 3.0)]
    end = Moment(2.0, 2.0, 2.0)
    assert concluded(moments, end) == (*moments, end)
    assert concluded((*moments, end), Moment(9.0, 2.0, 2.0)) == (*moments, end)
    assert concluded([], Moment(1.0, None, None)) == (Moment(1.0, None, None),)


def test_no_moment_says_more_than_the_end():
    moments = [Moment(1.0, 2.0 + 1e-12, 3.0), Moment(2.0, 2.0 + 1e-12, 2.0 - 1e-12)]
    assert concluded(moments, Moment(3.0, 2.0, 2.0)) == (
        Moment(1.0, 2.0, 3.0),
        Moment(2.0, 2.0, 2.0),
    )
    assert concluded(moments, Moment(3.0, None, 2.5)) == (
        Moment(1.0, None, 3.0),
        Moment(2.0, None, 2.5),
    )
    assert concluded(moments, Moment(3.0, None, None)) == (Moment(3.0, None, None),)


def test_of_a_minimisation_the_end_holds_too():
    moments = [Moment(1.0, 2.0, 0.0), Moment(2.0, 1.0 - 1e-12, 1.0 + 1e-12)]
    assert concluded(moments, Moment(3.0, 1.0, 1.0), maximize=False) == (
        Moment(1.0, 2.0, 0.0),
        Moment(2.0, 1.0, 1.0),
    )
