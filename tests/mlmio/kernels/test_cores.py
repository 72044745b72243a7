"""Cores are what brute force says: with all of their points kept no metric reaches the level."""

from __future__ import annotations

import numpy as np
import oracle
import pytest
from instances import random_data

import mlmio
from mlmio.kernels.cores import MET, REFUTED, find_core
from mlmio.kernels.known import new_known
from mlmio.kernels.node import new_closing
from mlmio.kernels.programs import new_counts, new_work
from mlmio.kernels.rows import KEPT, LEFT_OUT
from mlmio.outline import outline
from mlmio.parametric import Parametric, parametric, root_of

PLENTY = 10**7
LEVELS = (0.02, 0.15, 0.5, 0.9)


def cores_of(
    problem: Parametric, levels: tuple[float, ...], left_out: tuple[int, ...] = ()
) -> list[np.ndarray | None]:
    """A core of every level, one after another, so that what is known of one serves the next."""
    instance, work = problem.instance, new_work(problem.instance)
    counts = new_counts()
    _, root = root_of(problem, work, counts)
    N, m = len(instance.fixed), len(root.lower)
    known, closing = new_known(N, m), new_closing(N, instance.rules.k, m)
    state = np.full(N, KEPT)
    state[list(left_out)] = LEFT_OUT
    found = []
    for level in levels:
        core = np.zeros(N, dtype=bool)
        outcome = find_core(
            instance, root, work, state, level, PLENTY, known, core, closing, counts
        )
        assert outcome in (REFUTED, MET)
        found.append(core if outcome == REFUTED else None)
    return found


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
@pytest.mark.parametrize("levels", [LEVELS, LEVELS[::-1]], ids=["rising", "falling"])
@pytest.mark.parametrize("seed", range(3))
def test_a_core_holds_whoever_else_is_given_up(
    seed: int, levels: tuple[float, ...], semantics: str, k: int
) -> None:
    """What is known of one level serves the next: choices from below, metrics from above."""
    data = random_data(seed, (3, 3), spread=0.5)
    loss = oracle.Loss(semantics, 0.01, 0)
    brute = oracle.Problem(data.X, data.y, k=k, loss=loss)
    spec = f"linear + quadratic + nearest({k=}) + outliers(rho=0.01, {semantics=}, keep=0)"
    problem = parametric(outline(mlmio.compose(spec), data))
    everyone = np.ones(data.N, dtype=bool)
    largest = oracle.largest_margin_keeping(brute, everyone)
    some = 0
    for level, core in zip(levels, cores_of(problem, levels), strict=True):
        assert (core is None) == (largest > level + 1e-7)
        if core is None:
            continue
        some += 1
        assert oracle.largest_margin_keeping(brute, core) <= level + 1e-7
        if semantics != "excuse":
            # To serve, points must be kept, which the proof of a core leaves out of account.
            continue
        for point in np.flatnonzero(core):
            smaller = core.copy()
            smaller[point] = False
            assert oracle.largest_margin_keeping(brute, smaller) > level - 1e-7
    assert some


def test_no_point_that_is_left_out_is_in_a_core() -> None:
    data = random_data(0, (4, 4), spread=0.5)
    spec = "linear + quadratic + nearest + outliers(rho=0.01, keep=0)"
    problem = parametric(outline(mlmio.compose(spec), data))
    whole, *_ = cores_of(problem, (0.9,))
    assert whole is not None
    gone = int(np.flatnonzero(whole)[0])
    without, *_ = cores_of(problem, (0.9,), (gone,))
    assert without is not None
    assert not without[gone]
