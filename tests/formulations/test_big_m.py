"""The constants that switch rows off: as small as they may be, and no optimum changes."""

from __future__ import annotations

from functools import cache

import pytest
from instances import random_data
from oracle import SEMANTICS, Loss, Problem, solve

import mlmio
from mlmio import Dataset

DMIN, DMAX = 0.02, 1.5
REGION = f"linear + quadratic + nearest + bounded(dmin={DMIN}, dmax={DMAX})"


@cache
def points(seed: int) -> Dataset:
    return random_data(seed, (3, 3), spread=0.6)


@pytest.mark.parametrize(
    ("loss", "big_m"),
    [
        ("outliers(semantics='remove', keep=1)", DMAX - DMIN),
        ("outliers(semantics='printed', keep=2)", DMAX - DMIN),
        ("outliers(semantics='excuse', keep=0)", DMAX - DMIN),
        # A class may be given up as a whole, which leaves the other without any row.
        ("outliers(semantics='remove', keep=0)", 2 * DMAX - DMIN),
        ("outliers(semantics='printed', keep=0)", 2 * DMAX - DMIN),
    ],
)
def test_a_separation_row_is_relaxed_by_as_little_as_is_enough(loss: str, big_m: float) -> None:
    from pyomo.repn import generate_standard_repn

    model = mlmio.compose(f"{REGION} + {loss}").build(points(0))
    given_up = {id(z) for z in model.outliers.z.values()}
    found = []
    for row in model.nearest.separate.values():
        repn = generate_standard_repn(row.body)
        terms = zip(repn.linear_vars, repn.linear_coefs, strict=True)
        found += [-coefficient for variable, coefficient in terms if id(variable) in given_up]
    assert found
    assert found == pytest.approx([big_m] * len(found))


@pytest.mark.parametrize("keep", [0, 1, 2])
@pytest.mark.parametrize("semantics", SEMANTICS)
# Of seed 9, relaxing by less where keep is 0 would lose the optimum.
@pytest.mark.parametrize("seed", [0, 1, 2, 9])
def test_relaxing_by_less_loses_no_optimum(seed: int, semantics: str, keep: int) -> None:
    data = points(seed)
    rho = (0.02, 0.06, 0.15)[seed % 3]
    spec = f"{REGION} + outliers({rho=}, {semantics=}, {keep=})"
    result = mlmio.solve(spec, data, solver="highs")
    expected = solve(Problem(data.X, data.y, loss=Loss(semantics, rho, keep), dmin=DMIN, dmax=DMAX))
    if expected is None:
        assert result.status == "infeasible"
        return
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(expected, abs=1e-6)
