"""Cuts cut off no solution, however bad, keep every optimum, and lower the LP bound."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from instances import broken_statements, random_data, random_metric
from oracle import Loss, Problem, largest_margin, solve

import mlmio
from mlmio import CompositionError, compose
from mlmio.assembly import Assembly

WITHOUT_LOSS = ("disjunction_bounds", "basic_steps(nodes=0)", "basic_steps(nodes=2)")
WITH_LOSS = (*WITHOUT_LOSS, "quantile_cuts", "conflict_cuts")
EXCUSE = "outliers(rho=0.05, keep=1, semantics='excuse')"
S0 = "linear + quadratic + bounded(dmin=0.01) + nearest"


def spec_of(k: int, loss: bool, cuts: tuple[str, ...]) -> str:
    parts = ["linear + quadratic + bounded(dmin=0.002)", f"nearest(k={k})"]
    return " + ".join([*parts, *([EXCUSE] if loss else []), *cuts])


def problem_of(data: mlmio.Dataset, k: int, loss: bool) -> Problem:
    given_up = Loss("excuse", rho=0.05, keep=1) if loss else None
    return Problem(data.X, data.y, (1, 2), k, given_up, 0.002)


def choices_of(data: mlmio.Dataset, k: int, loss: bool) -> Iterator[dict[int, tuple[int, ...]]]:
    """Every choice of who serves whom; a point that is given up is served by nobody."""
    options = []
    for i in range(data.N):
        servers = list(combinations(data.co_class(i).tolist(), k))
        options.append([*servers, ()] if loss else servers)
    for chosen in product(*options):
        yield dict(enumerate(chosen))


def set_point(assembly: Assembly, chosen: dict[int, tuple[int, ...]], margin: float) -> None:
    """Give y, z, w and λ their values; the cuts speak of nothing else."""
    model = assembly.model
    for (i, j), y in model.nearest.y.items():
        y.set_value(int(j in chosen[i]))
    model.nearest.margin.set_value(margin)
    if assembly.context.outliers is not None:
        for i, z in assembly.context.outliers.items():
            z.set_value(int(not chosen[i]))
        so_far = 1
        for i, w in model.quantile_cuts.w.items():
            so_far *= int(not chosen[i])
            w.set_value(so_far)


def rows_of(assembly: Assembly, cuts: tuple[str, ...]) -> list[Any]:
    """Rows that the cuts add."""
    return [
        row
        for part in compose(" + ".join(cuts)).blocks
        for row in assembly.model.component(part.label).component_data_objects(pyo.Constraint)
    ]


SHAPES = {
    (1, False): ((3, 3), (2, 2, 2)),
    (2, False): ((3, 4),),
    (1, True): ((3, 2), (2, 2, 2)),
    (2, True): ((3, 3),),
}
CASES = [
    (k, loss, sizes, seed)
    for (k, loss), shapes in SHAPES.items()
    for sizes in shapes
    for seed in range(6)
]


@pytest.mark.parametrize(("k", "loss", "sizes", "seed"), CASES)
def test_no_solution_is_cut_off(k: int, loss: bool, sizes: tuple[int, ...], seed: int) -> None:
    """Every (y, z), with the largest λ that any metric reaches beside it."""
    data = random_data(seed, sizes, spread=(0.2, 0.35, 0.6)[seed % 3])
    margin_of = largest_margin(problem_of(data, k, loss))
    solutions = []
    for chosen in choices_of(data, k, loss):
        z = np.array([not servers for servers in chosen.values()])
        kept = np.bincount(data.y[~z], minlength=data.n_classes)
        margin = margin_of(z, chosen) if kept.min() >= 1 else -np.inf
        if np.isfinite(margin):
            solutions.append((chosen, margin))
    if not solutions:
        pytest.skip("nothing there that could be cut off")
    # A composition holds a block once: basic_steps with one number of nodes, or the other.
    left_out = ("basic_steps(nodes=0)", "basic_steps(nodes=2)")[seed % 2]
    taken = tuple(cut for cut in (WITH_LOSS if loss else WITHOUT_LOSS) if cut != left_out)
    assembly = compose(spec_of(k, loss, taken)).assemble(data)
    rows = rows_of(assembly, taken)
    for chosen, margin in solutions:
        set_point(assembly, chosen, margin)
        excess = max(-min(row.lslack(), row.uslack()) for row in rows)
        assert excess <= 1e-8, f"{chosen}: λ = {margin}"


@pytest.mark.parametrize("seed", range(30))
def test_no_metric_is_cut_off(seed: int) -> None:
    k, loss = 1 + seed % 2, seed // 2 % 2 == 1
    data = random_data(seed, (5, 4, 4))
    spec = spec_of(k, loss, (WITH_LOSS if loss else WITHOUT_LOSS)[1:])
    assembly = compose(spec.replace(" + basic_steps(nodes=2)", "")).assemble(data)
    random = np.random.default_rng(seed)
    for number in range(10):
        metric = random_metric(data, (1, 2), number, scale=float(random.uniform(0.2, 1.0)))
        z = random.uniform(size=data.N) < random.uniform()
        evaluation = assembly.complete(metric, z if loss else None)
        violated = any(violation.amount > 1e-9 for violation in evaluation.violations)
        assert bool(broken_statements(assembly.model)) == violated


OTHERS = ("", " + gershgorin", " + lasso(mu=0.01)", " + triplets(triplets=((0, 1, 4),))")


@pytest.mark.parametrize("encoding", ["bigm", "mccormick"])
@pytest.mark.parametrize("seed", range(4))
def test_optima_are_those_without_cuts(seed: int, encoding: str) -> None:
    loss, k = seed % 2 == 1, 1 + seed // 2 % 2
    data = random_data(seed, (4, 3))
    base = spec_of(k, loss, (encoding,)) + OTHERS[seed // 2 % 4]
    cuts = [cut for cut in (WITH_LOSS if loss else WITHOUT_LOSS) if cut != WITHOUT_LOSS[1]]
    plain = mlmio.solve(base, data, solver="highs")
    for taken in ([cuts[seed // 2 % len(cuts)]], cuts):
        result = mlmio.solve(" + ".join([base, *taken]), data, solver="highs")
        assert result.status == plain.status, str(result)
        assert result.objective == pytest.approx(plain.objective, abs=1e-6), taken
        assert plain.lp_bound is not None
        assert result.lp_bound is not None
        assert result.lp_bound <= plain.lp_bound + 1e-7, taken


@pytest.mark.parametrize("seed", range(4))
def test_optima_are_those_of_brute_force(seed: int) -> None:
    loss = seed % 2 == 1
    data = random_data(seed + 20, (3, 3))
    expected = solve(problem_of(data, 1, loss))
    cuts = [cut for cut in (WITH_LOSS if loss else WITHOUT_LOSS) if cut != WITHOUT_LOSS[1]]
    result = mlmio.solve(spec_of(1, loss, tuple(cuts)), data, solver="highs")
    assert result.objective == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("per_class", "optimum", "nodes"), [(8, 0.435666, 3), (12, 0.102041, 10), (16, 0.088269, 10)]
)
def test_a_small_tree_closes_most_of_the_root_gap(
    per_class: int, optimum: float, nodes: int
) -> None:
    data = mlmio.load_dataset("iris", per_class=per_class, seed=0)
    bounds = [root_bound(f"{S0}{cuts}", data) for cuts in ("", f" + basic_steps(nodes={nodes})")]
    assert (bounds[0] - bounds[1]) / (bounds[0] - optimum) >= 0.8


def root_bound(spec: str, data: mlmio.Dataset) -> float:
    """Bound of the LP relaxation."""
    model = compose(spec).build(data)
    pyo.TransformationFactory("core.relax_integer_vars").apply_to(model)
    pyo.SolverFactory("appsi_highs").solve(model)
    return float(pyo.value(model.objective))


def test_a_whole_model_of_36_points_is_proven() -> None:
    """HiGHS alone is not done in minutes; the tree proves what it has only to see."""
    data = mlmio.load_dataset("iris", per_class=12, seed=0)
    start = mlmio.solve(S0, data, strategy="alternating")
    spec = f"{S0} + bigm + basic_steps(nodes=100)"
    result = mlmio.solve(spec, data, solver="highs", start=start, time_limit=60)
    assert (result.status, result.start) == ("optimal", "replaced")
    assert result.objective == pytest.approx(0.102041, abs=1e-6)


@pytest.mark.parametrize(
    "cuts", ["quantile_cuts", "conflict_cuts", "quantile_cuts + conflict_cuts"]
)
def test_cuts_on_outliers_lower_the_bound(cuts: str) -> None:
    """Two points are nearest to each other and of different classes, whatever the metric."""
    data = mlmio.Dataset([[0.0], [0.1], [0.55], [0.6], [0.9], [1.0]], [0, 0, 0, 1, 1, 1])
    base = f"linear + bounded(dmin=0.01) + nearest + {EXCUSE}"
    assert root_bound(f"{base} + {cuts}", data) < root_bound(base, data) - 1e-3


@pytest.mark.parametrize("strategy", ["rows", "disjunctive", "alternating", "auto"])
def test_every_strategy_takes_a_composition_with_cuts(strategy: str) -> None:
    data = random_data(3, (4, 4))
    spec = spec_of(1, True, WITH_LOSS[2:])
    expected = mlmio.solve(spec_of(1, True, ()), data, solver="highs").objective
    result = mlmio.solve(spec, data, strategy=strategy)
    if strategy == "alternating":
        assert result.status == "feasible"
        assert result.objective <= expected + 1e-6
    else:
        assert result.status == "optimal"
        assert result.objective == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "cut", ["disjunction_bounds", "basic_steps", "quantile_cuts", "conflict_cuts"]
)
@pytest.mark.parametrize(
    "loss", ["outliers", "outliers(semantics='printed')", "hinge(margin=0.05)", "knn"]
)
def test_what_they_are_not_valid_beside_is_refused(cut: str, loss: str) -> None:
    neighbors = "knn" if loss == "knn" else f"nearest + {loss}"
    with pytest.raises(CompositionError, match=cut):
        compose(f"linear + bounded(dmin=0.01) + {neighbors} + {cut}").build(random_data(0, (3, 3)))


@pytest.mark.parametrize("cut", ["quantile_cuts", "conflict_cuts"])
def test_cuts_on_outliers_need_outliers(cut: str) -> None:
    with pytest.raises(CompositionError, match="needs 'outliers'"):
        compose(f"{S0} + {cut}").build(random_data(0, (3, 3)))


def test_points_that_coincide_are_given_up_beside_cuts() -> None:
    points = random_data(5, (4, 4)).X.copy()
    points[4] = points[0]
    data = mlmio.Dataset(points, [0, 0, 0, 0, 1, 1, 1, 1], scale="none")
    base = "linear + quadratic + nearest + bounded(duplicates='outlier')"
    base += " + outliers(semantics='excuse')"
    expected = mlmio.solve(base, data, solver="highs")
    result = mlmio.solve(" + ".join([base, *WITH_LOSS[:1], *WITH_LOSS[2:]]), data, solver="highs")
    assert {0, 4} <= set(result.outliers)
    assert result.objective == pytest.approx(expected.objective, abs=1e-6)
