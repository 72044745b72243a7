"""Model and mathematics are held to each other, with no solver in between.

Whatever the metric and the outliers, the completed point satisfies the model exactly where the
evaluation from the data alone finds nothing violated, and the objectives agree.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pyomo.environ as pyo
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from instances import broken_statements, random_data, random_metric

import mlmio
from mlmio import Dataset
from mlmio.composition import Assembly

ENCODINGS = ("bigm", "mccormick", "bilinear")
LOSSES = {
    "": "",
    "remove": "outliers(rho=0.1)",
    "remove all": "outliers(rho=0.3, keep=0)",
    "printed": "outliers(rho=0.1, semantics='printed', keep=1)",
    "excuse": "outliers(rho=0.05, semantics='excuse', keep=1)",
}
TERMS = {"linear": (1,), "quadratic": (2,), "linear + quadratic": (1, 2)}
DISTANCES = ("variables", "substituted")


@cache
def points(name: str) -> Dataset:
    if name == "coinciding":
        X = random_data(2, (4, 3)).X.copy()
        X[[4, 5]] = X[[0, 0]]
        return Dataset(X, [0, 0, 0, 0, 1, 1, 1], scale="none")
    return random_data(7, (4, 3), spread=0.15) if name == "apart" else random_data(8, (3, 3, 3))


@cache
def assembled(data: str, terms: str, region: str, k: int, encoding: str, loss: str) -> Assembly:
    spec = f"{terms} + bounded({region}) + nearest({k=}) + {encoding}"
    return mlmio.compose(f"{spec} + {loss}" if loss else spec).assemble(points(data))


def hold_model_to_data(
    assembly: Assembly, orders: tuple[int, ...], seed: int, z: list[bool], scale: float = 1.0
) -> bool:
    """Complete a random point, compare, and return whether it is feasible."""
    data = assembly.data
    metric = random_metric(data, orders, seed, scale)
    evaluation = assembly.complete(metric, np.array(z[: data.N]))
    violated = [v for v in evaluation.violations if v.amount > 1e-9]
    broken = broken_statements(assembly.model)
    assert bool(broken) == bool(violated), f"model: {broken[:3]}; data: {violated[:3]}"
    assert pyo.value(assembly.model.objective) == pytest.approx(evaluation.objective, abs=1e-9)
    return not violated


def masks(likely: float) -> st.SearchStrategy[list[bool]]:
    one = st.floats(0, 1).map(lambda draw: draw < likely)
    return st.lists(one, min_size=9, max_size=9)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=40)
@given(
    data=st.sampled_from(["apart", "mixed"]),
    terms=st.sampled_from(list(TERMS)),
    distances=st.sampled_from(DISTANCES),
    k=st.sampled_from([1, 2]),
    seed=st.integers(0, 10**6),
    z=st.one_of(st.just([False] * 9), masks(0.2), masks(0.6)),
    scale=st.sampled_from([1.0, 1.0, 0.3, 1.2, -0.5]),
)
def test_the_model_holds_where_the_mathematics_does(
    encoding: str,
    loss: str,
    data: str,
    terms: str,
    distances: str,
    k: int,
    seed: int,
    z: list[bool],
    scale: float,
) -> None:
    region = f"dmin=0.002, {distances=}"
    assembly = assembled(data, terms, region, k, encoding, LOSSES[loss])
    z = z if loss else [False] * 9
    hold_model_to_data(assembly, TERMS[terms], seed, z, scale)


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("distances", DISTANCES)
def test_without_a_loss_every_metric_of_the_region_is_feasible(
    encoding: str, k: int, distances: str
) -> None:
    assembly = assembled("mixed", "linear + quadratic", f"dmin=0.0, {distances=}", k, encoding, "")
    assert all(hold_model_to_data(assembly, (1, 2), seed, [False] * 9) for seed in range(5))


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("semantics", ["printed", "remove", "excuse"])
def test_what_the_outliers_relieve(encoding: str, semantics: str) -> None:
    """A metric under which some points fail is feasible once exactly these are given up."""
    loss = f"outliers({semantics=}, keep=0)"
    assembly = assembled("mixed", "linear", "dmin=0.0", 1, encoding, loss)
    nothing = [False] * 9
    failing = next(
        seed for seed in range(99) if not hold_model_to_data(assembly, (1,), seed, nothing)
    )
    d = random_metric(assembly.data, (1,), failing).scaled_distance(
        assembly.data.X, assembly.data.X
    )
    np.fill_diagonal(d, np.inf)
    wrong = assembly.data.y[d.argmin(axis=1)] != assembly.data.y
    assert wrong.any()
    feasible = hold_model_to_data(assembly, (1,), failing, wrong.tolist())
    assert (
        feasible
        if semantics == "excuse"
        else hold_model_to_data(assembly, (1,), failing, [True] * 9)
    )


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("semantics", ["printed", "remove", "excuse"])
@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), z=masks(0.3), give_up=st.booleans())
@example(seed=0, z=[i in (0, 6) for i in range(9)], give_up=False)
def test_points_that_coincide_must_be_given_up(
    encoding: str, semantics: str, seed: int, z: list[bool], give_up: bool
) -> None:
    loss = f"outliers({semantics=}, keep=1)"
    region = "dmin=0.001, duplicates='outlier'"
    assembly = assembled("coinciding", "linear + quadratic", region, 1, encoding, loss)
    if give_up:
        z = [i in (0, 4, 5) or given_up for i, given_up in enumerate(z)]
    hold_model_to_data(assembly, (1, 2), seed, z)
