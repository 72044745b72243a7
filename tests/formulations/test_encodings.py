"""Every way to write s_i: one optimum, bounds in order, constants no larger than they must be."""

from __future__ import annotations

from functools import cache
from itertools import combinations

import networkx as nx
import numpy as np
import pyomo.environ as pyo
import pytest
from instances import broken_statements, random_data, random_metric
from oracle import SEMANTICS, Loss, Problem, pair_features, solve
from scipy.optimize import linprog

import mlmio
from mlmio import Composition, Dataset, Result, SolverError
from mlmio.errors import CompositionError, DataError
from mlmio.lattice import lp_graph, tightens
from mlmio.separation import RegionProgram
from mlmio.sizes import Dimensions
from mlmio.solvers.base import Options, get_solver
from mlmio.strategies.base import relaxed

ENCODINGS = (
    "bigm",
    "bigm(tighten='box')",
    "bigm(tighten='lp')",
    "mccormick",
    "gdp",
    "gdp(method='mbigm')",
    "gdp(method='hull')",
    "gdp(method='between_steps')",
    "gdp(method='cuttingplane')",
)
LOSSES = {
    "": "",
    "remove": "outliers(rho=0.05)",
    "printed": "outliers(rho=0.08, semantics='printed', keep=0)",
    "excuse": "outliers(rho=0.05, semantics='excuse', keep=1)",
    "hinge": "hinge(margin=0.3)",
}
DMIN = 0.02


def spec(encoding: str, loss: str = "", k: int = 1, distances: str = "variables") -> str:
    region = f"bounded(dmin={DMIN}, {distances=})"
    parts = ["linear + quadratic", region, f"nearest({k=})", encoding, LOSSES[loss]]
    return " + ".join(filter(None, parts))


@cache
def points(seed: int, sizes: tuple[int, ...] = (4, 3)) -> Dataset:
    return random_data(seed, sizes, spread=0.45)


@cache
def solved(composition: str, seed: int) -> Result:
    result = mlmio.solve(composition, points(seed), solver="highs")
    assert (result.status, result.verified) == ("optimal", True), str(result)
    return result


# --- One optimum -------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("semantics", [None, *SEMANTICS])
@pytest.mark.parametrize("seed", range(1))
def test_the_optimum_is_that_of_brute_force(seed: int, semantics: str | None, k: int) -> None:
    data = points(seed, (3, 3))
    loss = semantics and Loss(semantics, rho=0.06, keep=seed)
    expected = solve(Problem(data.X, data.y, k=k, loss=loss or None, dmin=DMIN))
    outliers = f" + outliers(rho=0.06, {semantics=}, keep={seed})" if semantics else ""
    for encoding in ENCODINGS:
        distances = ("variables", "substituted")[(seed + len(encoding)) % 2]
        result = mlmio.solve(spec(encoding, k=k, distances=distances) + outliers, data, "highs")
        status = ("infeasible", False) if expected is None else ("optimal", True)
        assert (result.status, result.verified) == status, encoding
        assert result.objective == pytest.approx(expected, abs=1e-6), encoding


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_a_soft_margin_has_one_optimum(seed: int, k: int) -> None:
    found = [solved(spec(encoding, "hinge", k), seed).objective for encoding in ENCODINGS]
    assert found == pytest.approx([found[0]] * len(found), abs=1e-6)
    assert found[0] < -1e-3  # type: ignore[operator]


@pytest.mark.parametrize("encoding", [*ENCODINGS, "indicator"])
def test_rows_on_demand_take_every_encoding(encoding: str) -> None:
    solver = "scip" if encoding == "indicator" else "highs"
    result = mlmio.solve(spec(encoding, "remove"), points(1), solver, strategy="rows")
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(solved(spec("bigm", "remove"), 1).objective, abs=1e-6)


@pytest.mark.parametrize("strategy", ["disjunctive", "alternating"])
@pytest.mark.parametrize("encoding", ["indicator", "gdp(method='hull')", "bigm(tighten='lp')"])
def test_strategies_without_a_model_do_as_without_the_encoding(
    encoding: str, strategy: str
) -> None:
    found = [
        mlmio.solve(spec(each, "remove"), points(1), strategy=strategy).objective
        for each in (encoding, "bigm")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("solver", ["cbc", "glpk", "gurobi", "scip"])
@pytest.mark.parametrize("method", ["bigm", "mbigm", "hull", "between_steps", "cuttingplane"])
def test_a_transformed_model_is_one_for_every_solver(solver: str, method: str) -> None:
    try:
        get_solver(solver, "MILP")
    except SolverError as error:
        pytest.skip(str(error))
    result = mlmio.solve(spec(f"gdp({method=})", "remove"), points(0), solver=solver)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(solved(spec("bigm", "remove"), 0).objective, abs=1e-6)
    plain = mlmio.compose(spec("bigm", "remove")).build(points(0))
    assert result.size.binaries == sum(v.is_binary() for v in plain.component_data_objects(pyo.Var))


# --- Bounds of the LP relaxation ---------------------------------------------------------------

TIGHTER = [
    (first, second)
    for first, second in lp_graph("encoding").edges
    if "indicator" not in (first, second)
]


@cache
def lp_bound(composition: str, seed: int) -> float:
    model = mlmio.compose(composition).build(points(seed))
    with relaxed(model):
        answer = get_solver("highs", "LP").solve(model, Options())
    assert answer.objective is not None
    return answer.objective


def test_no_encoding_tightens_itself_by_way_of_others() -> None:
    assert nx.is_directed_acyclic_graph(lp_graph("encoding"))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_lp_bounds_are_in_order(seed: int, loss: str, k: int) -> None:
    # All pairs in one test, so that no bound is computed by several workers.
    for tight, loose in TIGHTER:
        assert tightens(spec(tight, loss, k), spec(loose, loss, k)), (tight, loose)
        below, above = (lp_bound(spec(each, loss, k), seed) for each in (tight, loose))
        assert below <= above + 1e-7, (tight, loose)


@pytest.mark.parametrize("seed", range(2))
def test_a_big_m_for_every_two_candidates_lowers_the_bound(seed: int) -> None:
    assert lp_bound(spec("gdp(method='mbigm')"), seed) < lp_bound(spec("bigm"), seed) - 1e-3


@pytest.mark.parametrize(
    ("first", "second", "tighter"),
    [
        ("bigm(tighten='lp')", "bigm", True),
        ("bigm", "bigm(tighten='lp')", False),
        ("gdp(method='hull')", "bigm", True),
        ("mccormick", "bigm(tighten='box')", False),
        ("bigm(tighten='box')", "indicator", True),
    ],
)
def test_parameters_relate_lp_bounds(first: str, second: str, tighter: bool) -> None:
    assert tightens(spec(first), spec(second)) is tighter
    assert mlmio.relation(spec(first), spec(second)).kind == "equivalent"


# --- The constants -----------------------------------------------------------------------------


@cache
def region(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of every pair, and the rows of all their bounds."""
    data = points(seed)
    phi = pair_features(data.X, (1, 2))
    rows, right = [], []
    for i, j in combinations(range(data.N), 2):
        rows += [phi[i, j], -phi[i, j]]
        right += [1.0, -DMIN if data.y[i] != data.y[j] else 0.0]
    return phi, np.array(rows), np.array(right)


def largest(seed: int, cost: np.ndarray) -> float:
    _, rows, right = region(seed)
    answer = linprog(-cost, rows, right, bounds=(None, None))
    assert answer.status == 0
    return float(-answer.fun)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("seed", range(2))
def test_tightened_constants_are_what_they_must_be(seed: int, k: int) -> None:
    data, phi = points(seed), region(seed)[0]
    found = {
        tighten: mlmio.compose(spec(f"bigm({tighten=})", k=k)).build(data).bigm.M
        for tighten in ("none", "box", "lp")
    }
    smaller = 0
    for i, j in found["lp"]:
        others = [other for other in data.co_class(i).tolist() if other != j]
        if len(others) < k:
            assert found["box"][i, j] == found["lp"][i, j] == 0.0
            continue
        most = largest(seed, phi[i, j])
        least = sorted(-largest(seed, -phi[i, other]) for other in others)
        gains = sorted(largest(seed, phi[i, j] - phi[i, other]) for other in others)
        assert found["none"][i, j] == 1.0
        assert found["box"][i, j] == pytest.approx(min(most, most - least[k - 1]), abs=1e-6)
        assert found["lp"][i, j] == pytest.approx(min(most, gains[-k]), abs=1e-6)
        smaller += found["lp"][i, j] < found["box"][i, j] - 1e-3
    assert smaller


def test_several_neighbours_of_points_that_may_be_given_up_keep_the_greatest_distance() -> None:
    data, phi = points(0), region(0)[0]
    M = mlmio.compose(spec("bigm(tighten='lp')", "remove", k=2)).build(data).bigm.M
    assert list(M.values()) == pytest.approx([largest(0, phi[pair]) for pair in M], abs=1e-6)


@pytest.mark.parametrize("tighten", ["box", "lp"])
def test_what_cannot_be_computed_is_what_the_bounds_say(
    tighten: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise DataError("stopped at the time limit")

    monkeypatch.setattr(RegionProgram, "solve", late)
    region = "bounded(dmin=0.0, dmax=1.5)"
    model = mlmio.compose(f"quadratic + nearest + {region} + bigm({tighten=})").build(points(0))
    assert set(model.bigm.M.values()) == {1.5}


# --- Models and their size ---------------------------------------------------------------------


def count_and_size(composition: Composition, data: Dataset) -> tuple[tuple[int, int], ...]:
    assembly = composition.assemble(data)
    n = Dimensions.of(assembly.data)
    for part in assembly.blocks:
        part.extend(n)
    [encoding] = composition.slot("encoding")
    b = assembly.model.component(encoding.label)
    variables = list(b.component_data_objects(pyo.Var))
    assert not any(v.is_integer() for v in variables)
    size = encoding.size(n)
    rows = len(list(b.component_data_objects(pyo.Constraint)))
    return (len(variables), rows), (size.variables, size.rows)


# How many cutting planes there are is not known beforehand.
@pytest.mark.parametrize("encoding", [*ENCODINGS[:-1], "indicator"])
@pytest.mark.parametrize("loss", ["", "remove", "hinge"])
@pytest.mark.parametrize("k", [1, 2])
def test_they_add_what_they_say(encoding: str, loss: str, k: int) -> None:
    for distances in ("variables", "substituted"):
        composition = mlmio.compose(spec(encoding, loss, k, distances))
        counted, stated = count_and_size(composition, points(0))
        assert counted == stated


@pytest.mark.parametrize("encoding", [*ENCODINGS, "indicator"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("k", [1, 2])
def test_a_completed_point_satisfies_the_model(encoding: str, loss: str, k: int) -> None:
    """Also after another point, and where the mathematics says that it does not."""
    distances = ("variables", "substituted")[k - 1]
    assembly = mlmio.compose(spec(encoding, loss, k, distances)).assemble(points(0))
    optimum = solved(spec("bigm", loss, k), 0)
    assert optimum.metric is not None
    at_optimum = (optimum.metric, np.isin(assembly.data.ids, optimum.outliers))
    elsewhere = (random_metric(assembly.data, (1, 2), 3, 1.3), np.arange(assembly.data.N) == 2)
    for (metric, z), holds in ((at_optimum, True), (elsewhere, False), (at_optimum, True)):
        evaluation = assembly.complete(metric, z if assembly.context.outliers else None)
        violated = [v for v in evaluation.violations if v.amount > 1e-8]
        broken = broken_statements(assembly.model) + broken_sets(assembly.model)
        assert bool(violated) != holds
        assert bool(broken) != holds, f"model: {broken[:3]}; data: {violated[:3]}"
        assert pyo.value(assembly.model.objective) == pytest.approx(evaluation.objective, abs=1e-8)


def broken_sets(model: pyo.ConcreteModel) -> list[str]:
    """Sets of which more than one variable is not zero."""
    return [
        members.name
        for members in model.component_data_objects(pyo.SOSConstraint, active=True)
        if sum(abs(v.value) > 1e-8 for v in members.get_variables()) > 1
    ]


@pytest.mark.parametrize(
    ("seed", "rest"),
    [
        (34, "bounded(dmin=0.2)"),
        (35, "bounded(dmin=0.2)"),
        (32, "hinge(margin=0.5)"),
        (30, "outliers"),
    ],
)
def test_cutting_planes_come_near_the_hull_and_cut_no_solution_off(seed: int, rest: str) -> None:
    data = random_data(seed, (3, 3), D=2)
    big_m, cut, hull = (
        mlmio.solve(f"linear + nearest + {rest} + gdp({method=})", data, strategy="direct")
        for method in ("bigm", "cuttingplane", "hull")
    )
    assert cut.size.rows > big_m.size.rows
    assert big_m.lp_bound is not None
    assert cut.lp_bound is not None
    assert hull.lp_bound is not None
    assert hull.lp_bound - 1e-7 <= cut.lp_bound < big_m.lp_bound - 1e-3
    assert cut.verified
    assert cut.objective == pytest.approx(big_m.objective, abs=1e-6)
    assembly = cut.resolved.assemble(data)
    given_up = np.isin(data.ids, big_m.outliers)
    assembly.complete(big_m.metric, given_up if assembly.context.outliers else None)
    # What was found without cuts keeps them, to the tolerance of the solver that found it.
    assert not broken_statements(assembly.model, 1e-6)


# --- What is refused ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "parameter"), [("bigm", "tighten"), ("gdp", "method")], ids=["bigm", "gdp"]
)
def test_an_unknown_word_is_refused(name: str, parameter: str) -> None:
    with pytest.raises(CompositionError, match=rf"'{parameter}' of block '{name}' is 'best'"):
        mlmio.block(name, **{parameter: "best"})


def test_cutting_planes_take_linear_rows_only() -> None:
    spec = mlmio.compose("quadratic + sdd + nearest + gdp(method='cuttingplane')")
    with pytest.raises(CompositionError, match=r"'cuttingplane' of block 'gdp' takes linear rows"):
        spec.build(points(0))


@pytest.mark.parametrize("solver", ["highs", "cbc", "glpk"])
def test_a_solver_without_sets_is_refused_before_anything_is_built(
    solver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Composition, "assemble", lambda *_: pytest.fail("was built"))
    with pytest.raises(SolverError, match=rf"{solver} does not have .*SOS1.*: use gurobi or scip"):
        mlmio.solve(spec("indicator"), points(0), solver=solver)


# SCIP branches on the sets for half a minute where points can be given up.
@pytest.mark.parametrize(
    ("solver", "loss"),
    [*(("gurobi", loss) for loss in LOSSES), ("scip", ""), ("scip", "hinge")],
)
@pytest.mark.parametrize("k", [1, 2])
def test_sets_have_the_same_optimum(solver: str, loss: str, k: int) -> None:
    try:
        get_solver(solver, "MILP")
    except SolverError as error:
        pytest.skip(str(error))
    expected = solved(spec("bigm", loss, k), 0)
    result = mlmio.solve(spec("indicator", loss, k), points(0), solver, start=expected)
    assert (result.status, result.verified, result.start) == ("optimal", True, "accepted")
    assert result.objective == pytest.approx(expected.objective, abs=1e-6)
    assert result.lp_bound >= expected.lp_bound - 1e-7  # type: ignore[operator]


def test_a_model_with_sets_is_not_solved_without_them() -> None:
    model = mlmio.compose(spec("indicator")).build(points(0))
    answer = get_solver("highs", "MILP").solve(model, Options())
    assert (answer.status, answer.reason) == ("error", "solver")
    assert "at most one variable is not zero" in answer.message
