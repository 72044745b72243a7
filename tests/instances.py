"""Small data sets, metrics and compositions for the tests, and what they solve to."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from mlmio import (
    Block,
    Composition,
    CompositionError,
    Dataset,
    Metric,
    Result,
    SolverError,
    block,
    compose,
    load_dataset,
    solve,
)
from mlmio.registry import blocks, solvers
from mlmio.slots import SLOTS
from mlmio.solvers.base import get_solver


def random_data(seed: int, sizes: tuple[int, ...], D: int = 2, spread: float = 0.35) -> Dataset:
    """Overlapping classes of the given sizes around different centres, min-max scaled."""
    rng = np.random.default_rng(seed)
    centres = rng.uniform(size=(len(sizes), D))
    y = np.repeat(np.arange(len(sizes)), sizes)
    return Dataset(centres[y] + spread * rng.normal(size=(len(y), D)), y)


def random_metric(data: Dataset, orders: tuple[int, ...], seed: int, scale: float = 1.0) -> Metric:
    """Positive semidefinite B, nonnegative other tensors; the largest distance is `scale`."""
    rng = np.random.default_rng(seed)
    tensors = {order: _random_tensor(rng, data.D, order) for order in orders}
    largest = Metric(tensors, data.D).scaled_distance(data.X, data.X).max()
    scaled = {order: tensor * (scale / largest) for order, tensor in tensors.items()}
    return Metric(scaled, data.D, data.scaling, data.feature_names)


def _random_tensor(rng: np.random.Generator, D: int, order: int) -> np.ndarray:
    if order == 2:
        root = rng.normal(size=(D, D))
        return root @ root.T
    entries = rng.uniform(size=(D,) * order)
    axes = list(permutations(range(order)))
    return sum(entries.transpose(a) for a in axes) / len(axes)


@cache
def plain_data() -> Dataset:
    """Two classes of four points, well apart, with side information of every kind."""
    rng = np.random.default_rng(4)
    y = np.repeat([0, 1], 4)
    X = rng.normal(scale=0.06, size=(8, 2)) + y[:, None] * [0.5, 0.35]
    side = {
        "must_link": [(0, 1), (4, 5)],
        "cannot_link": [(0, 4), (2, 6)],
        "triplets": [(0, 1, 4), (5, 6, 2)],
        "target_neighbors": [(0, 3), (4, 5)],
    }
    return Dataset(X, y, side=side)


def iris(per_class: int) -> Dataset:
    """As many points of each class of Iris."""
    return load_dataset("iris", per_class=per_class, seed=0)


# Blocks that others take with some of their parameters only.
PARAMETERS = {"outliers": ("outliers", "outliers(semantics='excuse')")}


@cache
def complete_composition(*parts: Block) -> Composition:
    """The first composition found that contains `parts` and can be built.

    Raises
    ------
    CompositionError
        If nothing that is registered completes them: that of the plainest attempt, if possible
        one that is refused only when it is built.
    """
    refusals: list[CompositionError] = []
    refusals_of_building: list[CompositionError] = []
    for composition in _completions(parts, refusals):
        try:
            composition.build(plain_data())
        except CompositionError as error:
            refusals_of_building.append(error)
        else:
            return composition
    raise (refusals_of_building + refusals)[0]


def _completions(
    parts: tuple[Block, ...], refusals: list[CompositionError]
) -> Iterator[Composition]:
    """Complete compositions that contain `parts`: whatever is missing is added, depth first."""
    try:
        composition = Composition(parts)
        options = _options(composition)
        if not options:
            composition.ordered  # noqa: B018
            yield composition
    except CompositionError as error:
        refusals.append(error)
        return
    try:
        composition.ordered  # noqa: B018
    except CompositionError as error:
        refusals.append(error)
    for option in options:
        yield from _completions((*parts, *compose(" + ".join(option)).blocks), refusals)


def _options(composition: Composition) -> list[tuple[str, ...]]:
    """Names of blocks that supply the first thing that a composition lacks, the plainest first."""
    if not composition.slot("terms"):
        return [("linear", "quadratic"), ("quadratic",), ("linear",)]
    if not composition.slot("neighbors"):
        others = [name for name in blocks.names() if blocks.get(name).slot == "neighbors"]
        return sorted(((name,) for name in others), key=lambda names: names != ("nearest",))
    parts = composition.completed.blocks
    provided = set().union(*(part.provides for part in parts))
    missing = sorted(set().union(*(part.needs | part.requires for part in parts)) - provided)
    suppliers = [name for name in blocks.names() if {*missing[:1]} & block(name).provides]
    return [(spec,) for name in suppliers for spec in PARAMETERS.get(name, (name,))]


def solver_for(composition: Composition) -> str | None:
    """An installed solver that takes the composition, or None."""
    for name in sorted(solvers.names(), key=lambda name: name != "highs"):
        try:
            get_solver(name, composition.problem_class, needs=composition.solver_needs)
        except SolverError:
            continue
        return name
    return None


@cache
def solved(composition: Composition) -> Result | None:
    """Its optimum on the plain data; None where no installed solver takes it."""
    solver = solver_for(composition)
    return None if solver is None else solve(composition, plain_data(), solver=solver)


def disjunctive(spec: str, data: Dataset, **more: Any) -> Result:
    """What the exact search finds."""
    return solve(spec, data, strategy="disjunctive", **more)


def proven(result: Result, optimum: float | None) -> None:
    """Verified, and optimal with a bound on the right side of the optimum; None is infeasible."""
    if optimum is None:
        assert result.status == "infeasible", str(result)
        assert result.metric is None
        assert result.objective is None
        return
    assert result.status == "optimal", str(result)
    assert result.verified
    assert result.objective == pytest.approx(optimum, abs=1e-6)
    assert optimum - 1e-6 <= result.bound <= optimum + 3e-6


def may_meet(first: Block, second: Block) -> bool:
    """Whether two different blocks have room in one composition."""
    return first.slot != second.slot or SLOTS[first.slot].many


def broken_statements(model: object, tolerance: float = 1e-8) -> list[str]:
    """Rows, bounds and integrality that the present values of a Pyomo model break."""
    import pyomo.environ as pyo

    found = []
    for row in model.component_data_objects(pyo.Constraint, active=True):  # type: ignore[attr-defined]
        if min(row.lslack(), row.uslack()) < -tolerance:
            found.append(f"row {row.name} by {-min(row.lslack(), row.uslack()):.3g}")
    for variable in model.component_data_objects(pyo.Var, active=True):  # type: ignore[attr-defined]
        value = variable.value
        lower = -np.inf if variable.lb is None else variable.lb
        upper = np.inf if variable.ub is None else variable.ub
        if value is None or not lower - tolerance <= value <= upper + tolerance:
            found.append(f"bounds of {variable.name} = {value}")
        elif variable.is_integer() and abs(value - round(value)) > tolerance:
            found.append(f"integrality of {variable.name} = {value}")
    return found
