"""The bounds on the margin, against an independent solver of the same programs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from instances import random_data
from oracle import Loss, Problem, largest_margin

from mlmio import DataError, Dataset, compose
from mlmio.outline import outline
from mlmio.served import Served

BASE = "linear + quadratic + bounded(dmin=0.002) + nearest"
EXCUSE = "outliers(rho=0.05, keep=1, semantics='excuse')"


def served_of(data: Dataset, spec: str) -> Served:
    return Served(lambda: outline(compose(spec), data))


@pytest.mark.parametrize("seed", range(10))
def test_margins_without_a_loss_are_those_of_the_programs(seed: int) -> None:
    data = random_data(seed, (4, 3))
    margin_of = largest_margin(Problem(data.X, data.y, dmin=0.002))
    margins = served_of(data, BASE).margins
    for i in range(data.N):
        for j in data.co_class(i).tolist():
            expected = margin_of(np.zeros(data.N, dtype=bool), {i: (j,)})
            assert expected - 1e-9 <= margins[i, j] <= expected + 1e-6


@pytest.mark.parametrize("seed", range(10))
def test_margins_of_kept_points_do_not_depend_on_who_is_given_up(seed: int) -> None:
    data = random_data(seed, (4, 3), spread=0.5)
    margin_of = largest_margin(Problem(data.X, data.y, loss=Loss("excuse", keep=0), dmin=0.002))
    margins = served_of(data, f"{BASE} + {EXCUSE}").margins
    for i in range(data.N):
        for j in data.co_class(i).tolist():
            expected = margin_of(np.arange(data.N) != i, {i: (j,)})
            if np.isfinite(expected):
                assert expected - 1e-9 <= margins[i, j] <= expected + 1e-6
            else:
                assert margins[i, j] < 1e-6


def test_conflicts_are_those_of_the_programs() -> None:
    found = 0
    for seed in range(12):
        data = random_data(seed, (3, 3), spread=0.8)
        problem = Problem(data.X, data.y, (1,), loss=Loss("excuse", keep=0), dmin=0.05)
        margin_of = largest_margin(problem)
        spec = f"linear + bounded(dmin=0.05) + nearest + {EXCUSE}"
        try:
            conflicts = served_of(data, spec).conflicts()
        except DataError:
            # No metric holds the classes so far apart.
            continue
        np.testing.assert_array_equal(conflicts, conflicts.T)
        for i in range(data.N):
            for k in range(i):
                given_up = ~np.isin(np.arange(data.N), (i, k))
                servers = product(data.co_class(i).tolist(), data.co_class(k).tolist())
                margins = [margin_of(given_up, {i: (j,), k: (m,)}) for j, m in servers]
                assert conflicts[i, k] == (max(margins) < 0), (seed, i, k)
                found += int(conflicts[i, k] and not conflicts[i, i] and not conflicts[k, k])
    assert found > 0
