"""The price of what is undecided: no cut takes a solution away."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import random_data

import mlmio
from mlmio.kernels.prices import find_cut
from mlmio.kernels.rows import GIVEN_UP, KEPT, OPEN
from mlmio.outline import outline
from mlmio.parametric import Parametric, parametric

RHO = 0.1


def problem(semantics: str) -> Parametric:
    data = random_data(3, (3, 3, 2), spread=0.5)
    spec = f"linear + quadratic + nearest + outliers(rho={RHO}, {semantics=})"
    return parametric(outline(mlmio.compose(spec), data))


PROBLEMS = {semantics: problem(semantics) for semantics in ("printed", "remove")}


def random_metric(of: Parametric, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Columns of a metric of the region, d_min and all, and its distances."""
    table, apart = of.instance.table, of.instance.classes.apart
    # Without products of features no distance is negative.
    sound = (table.features >= 0.0).all(axis=(0, 2))
    while True:
        x = np.append(rng.uniform(0.0, 1.0, len(of.unit)) * sound, np.zeros(2))
        d = np.tensordot(table.features, x[:-2], axes=(1, 0))
        x *= table.dmax / d.max()
        d = np.tensordot(table.features, x[:-2], axes=(1, 0))
        if (d >= table.least)[apart].all():
            return x, d


def largest_margin(
    of: Parametric, d: np.ndarray, state: np.ndarray, served_by: np.ndarray
) -> float:
    """λ for a state in which all is decided, where the servers that are known serve."""
    classes, rules = of.instance.classes, of.instance.rules
    kept = state == KEPT
    margin = of.instance.table.dmax
    for i in range(len(state)):
        if not kept[i] and rules.own:
            continue
        servers = classes.together[i] & kept
        if served_by[i, 0] >= 0:
            servers = servers & (np.arange(len(state)) == served_by[i, 0])
        if kept[i] and not servers.any():
            return -np.inf
        reach = d[i, servers].min() if kept[i] else 0.0
        margin = min(margin, d[i, classes.apart[i] & kept].min(initial=np.inf) - reach)
    return margin


@pytest.mark.parametrize("semantics", PROBLEMS)
@given(seed=st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_no_solution_is_cut_off(semantics: str, seed: int) -> None:
    of, rng = PROBLEMS[semantics], np.random.default_rng(seed)
    instance = of.instance
    classes, rules, N = instance.classes, instance.rules, len(instance.fixed)
    state = rng.choice([OPEN, KEPT, GIVEN_UP], N, p=[0.6, 0.25, 0.15])
    served_by = np.full((N, 1), -1)
    for i in np.flatnonzero(state == KEPT):
        served_by[i, 0] = rng.choice(np.append(np.flatnonzero(classes.together[i]), -1))
    x, d = random_metric(of, rng)
    x[-1] = rng.uniform(0.0, instance.table.dmax)
    cut = np.empty(len(x) + 1)
    price = find_cut(
        instance.table, classes.apart, rules, state.astype(np.int64), served_by, d, x, cut
    )
    # What it asks for at the point is what its row says there.
    assert cut[:-1] @ x - cut[-1] == pytest.approx(price, abs=1e-9)
    assert price >= RHO * np.sum(state == GIVEN_UP) - 1e-12

    other, other_d = random_metric(of, rng)
    undecided = np.flatnonzero(state == OPEN)
    for choice in product([KEPT, GIVEN_UP], repeat=len(undecided)):
        decided = state.copy()
        decided[undecided] = choice
        other[-1] = largest_margin(of, other_d, decided, served_by)
        other[-2] = RHO * np.sum(decided == GIVEN_UP)
        if other[-1] >= 0.0:
            assert cut[:-1] @ other <= cut[-1] + 1e-9


@pytest.mark.parametrize("semantics", PROBLEMS)
def test_what_is_in_the_way_of_others_is_charged_for(semantics: str) -> None:
    of = PROBLEMS[semantics]
    instance = of.instance
    x, d = random_metric(of, np.random.default_rng(0))
    x[-1] = instance.table.dmax
    state, served_by = np.full(len(d), OPEN), np.full((len(d), 1), -1)
    cut = np.empty(len(x) + 1)
    price = find_cut(
        instance.table, instance.classes.apart, instance.rules, state, served_by, d, x, cut
    )
    assert price > 0.0
