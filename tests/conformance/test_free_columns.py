"""Metric parameters without bounds of their own beside binaries: every solver finds the optimum.

CBC 2.10.3 calls most of these solved at a solution far from the optimum when it is given the
columns as they are.
"""

from __future__ import annotations

import pytest
from instances import random_data
from programs import NAMES, installed

import mlmio


@pytest.mark.parametrize(
    ("seed", "semantics", "optimum"),
    [(1, "printed", 0.408304439), (2, "printed", 0.333170794), (2, "excuse", 0.198343508)],
)
@pytest.mark.parametrize("name", NAMES)
def test_the_optimum_with_outliers(name: str, seed: int, semantics: str, optimum: float) -> None:
    """These are also what the exact search proves, which shares no code with the solvers."""
    spec = f"linear + quadratic + nearest + outliers(rho=0.03, {semantics=})"
    solver = installed(name).name
    result = mlmio.solve(spec, random_data(seed, (5, 4), spread=0.5), solver)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(optimum, abs=1e-6)
    assert result.bound == pytest.approx(optimum, abs=1e-5)
