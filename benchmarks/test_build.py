"""Building a model, beside the same model written by hand in Pyomo.

    python -m pytest benchmarks/test_build.py --benchmark-enable --benchmark-group-by=group

The limit is twice the time by hand, in one run. `benchmarks/memory.py` measures the memory.
"""

from __future__ import annotations

import pytest
from by_hand import nearest
from pyomo.core import Constraint, Var
from synthetic import gaussian_classes

from mlmio import compose

DMIN = 1e-4
COMPOSITIONS = {
    "bigm": (f"linear + quadratic + bounded(dmin={DMIN}) + nearest + bigm", (False, None)),
    "mccormick": (f"linear + quadratic + bounded(dmin={DMIN}) + nearest + mccormick", (True, None)),
    "outliers": (
        f"linear + quadratic + bounded(dmin={DMIN}) + nearest + bigm + outliers(rho=0.1)",
        (False, 0.1),
    ),
}
SIZES = [(60, 4), (60, 8), (150, 4), (150, 8), (300, 4), (300, 8)]


@pytest.mark.parametrize(("N", "D"), SIZES)
@pytest.mark.parametrize("name", COMPOSITIONS)
@pytest.mark.parametrize("writer", ["by hand", "mlmio"])
def test_build(benchmark, writer, name, N, D):
    data = gaussian_classes(N, D)
    spec, (mccormick, rho) = COMPOSITIONS[name]
    benchmark.group = f"{name} N={N} D={D}"

    def by_hand():
        return nearest(data, mccormick=mccormick, rho=rho, dmin=DMIN)

    def by_mlmio():
        return compose(spec).build(data)

    ours, theirs = _counts(by_mlmio()), _counts(by_hand())
    assert ours == theirs
    benchmark.pedantic(by_hand if writer == "by hand" else by_mlmio, rounds=3, warmup_rounds=1)


def _counts(model):
    return tuple(
        sum(1 for _ in model.component_data_objects(kind, active=True))
        for kind in (Var, Constraint)
    )
