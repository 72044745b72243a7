"""The cones of B: what belongs to them, how their optima are ordered, and how they are refined."""

from __future__ import annotations

import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from instances import random_data
from sklearn.datasets import make_classification

import mlmio
from mlmio import CompositionError, DataError, Metric, SolverError, block, compose, relation
from mlmio.registry import solvers
from mlmio.solvers.adapter import Found

BASE = "quadratic + nearest"
LMNN = "quadratic + lmnn(k=1) + unbounded"
# Cholesky factor of [[4, 2, 2], [2, 2, 1], [2, 1, 5]].
BASIS = ((2.0, 1.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 2.0))


def solve(spec, data, **options):
    result = mlmio.solve(spec, data, **options)
    assert result.status == "optimal", str(result)
    assert result.verified, str(result)
    return result


def objective(spec, data, **options):
    return solve(spec, data, **options).objective


def smallest(result):
    return np.linalg.eigvalsh(result.metric.B)[0]


def holds(cone, B):
    data = random_data(0, (3, 3), D=len(B))
    spec = compose(f"quadratic + lmnn(k=1) + unbounded + {cone}")
    evaluation = spec.evaluate(data, Metric({2: B}, len(B), data.scaling, data.feature_names))
    return not any(violation.amount > 1e-9 for violation in evaluation.violations)


# Membership


@pytest.mark.parametrize(
    ("B", "members"),
    [
        (np.diag([1.0, 2.0, 3.0]), {"gershgorin", "sdd", "dd_basis", "psd_cuts"}),
        # v vᵀ for v = (3, 1, 0), and for v = (1, 1, 1).
        ([[9.0, 3.0, 0.0], [3.0, 1.0, 0.0], [0.0, 0.0, 1.0]], {"sdd", "psd_cuts"}),
        (np.ones((3, 3)), {"psd_cuts"}),
        (np.diag([1.0, 1.0, -1e-3]), set()),
        ([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]], set()),
    ],
)
def test_who_belongs_to_which_cone(B, members):
    cones = ("gershgorin", "sdd", "dd_basis", "psd_cuts")
    assert {cone for cone in cones if holds(cone, np.array(B))} == members


def test_a_matrix_is_dominant_in_the_basis_of_its_own_factor():
    B = np.array(BASIS).T @ BASIS
    assert not holds("dd_basis", B)
    assert holds(f"dd_basis(basis={BASIS})", B)


def test_a_singular_matrix_is_dominant_in_its_basis():
    data = random_data(0, (3, 3), D=3)
    metric = Metric({2: np.ones((3, 3))}, 3, data.scaling, data.feature_names)
    refined = block("dd_basis").refine(metric)
    assert holds(refined, np.ones((3, 3)))
    assert refined.refine(metric) is None


# Order


@pytest.mark.parametrize(
    ("first", "second", "kind"),
    [
        ("diagonal", "sdd", "restriction"),
        ("gershgorin", "sdd", "restriction"),
        ("gershgorin", "psd_cuts", "restriction"),
        ("sdd", "psd_cuts", "restriction"),
        ("dd_basis", "psd_cuts", "restriction"),
        ("psd_cuts", "psd_cuts(tol=1e-6)", "equivalent"),
        ("gershgorin", "dd_basis", "unrelated"),
        ("dd_basis", "dd_basis(iterations=2)", "unrelated"),
        ("dd_basis", f"dd_basis(basis={BASIS})", "unrelated"),
    ],
)
def test_relations(first, second, kind):
    assert relation(f"{BASE} + {first}", f"{BASE} + {second}").kind == kind


@given(st.integers(0, 1000), st.integers(2, 4))
@settings(max_examples=8, deadline=None)
def test_the_optima_are_ordered(seed, D):
    data = random_data(seed, (5, 5), D=D)
    dominant, in_basis, semidefinite = (
        solve(f"{LMNN} + {cone}", data) for cone in ("gershgorin", "dd_basis", "psd_cuts")
    )
    tolerance = 1e-5 * abs(semidefinite.objective) + 1e-6
    assert dominant.objective <= in_basis.objective + tolerance
    assert in_basis.objective <= semidefinite.objective + tolerance
    assert smallest(semidefinite) >= -1e-9
    assert semidefinite.objective <= semidefinite.bound + 1e-9
    if solvers.get("scip")().version() is None:
        return
    scaled = solve(f"{LMNN} + sdd", data, solver="scip")
    assert dominant.objective <= scaled.objective + tolerance
    assert scaled.objective <= semidefinite.bound + tolerance
    if D == 2:
        # A matrix of two rows is scaled diagonally dominant where it is semidefinite.
        assert scaled.objective == pytest.approx(semidefinite.objective, abs=tolerance)


def test_the_optima_of_whole_programs_are_ordered():
    data = random_data(3, (5, 5), D=3)
    spec = f"{BASE} + bounded(dmin=1e-3)"
    values = [
        objective(f"{spec}{cone}", data, solver="highs")
        for cone in (" + gershgorin", " + dd_basis", " + psd_cuts", "")
    ]
    assert values == pytest.approx(sorted(values), abs=2e-6)
    assert values[0] < values[2] - 1e-4


def test_more_iterations_are_never_worse():
    data = random_data(2, (6, 6), D=4)
    values = [objective(f"{LMNN} + dd_basis(iterations={n})", data) for n in range(5)]
    assert values[0] == pytest.approx(objective(f"{LMNN} + gershgorin", data), abs=1e-6)
    assert all(later >= earlier - 1e-6 for earlier, later in itertools.pairwise(values))
    assert values[-1] > values[0] + 1e-3


# Strategies


@pytest.mark.parametrize("strategy", ["direct", "rows", "disjunctive", "auto"])
def test_every_exact_strategy_finds_the_semidefinite_optimum(strategy):
    data = random_data(3, (4, 4), D=3)
    spec = f"{BASE} + psd_cuts + bounded(dmin=1e-3)"
    result = solve(spec, data, strategy=strategy)
    assert smallest(result) >= -1e-9
    assert result.objective == pytest.approx(objective(spec, data, solver="highs"), abs=3e-6)


def test_alternation_gives_a_semidefinite_matrix():
    data = random_data(3, (8, 8), D=3)
    spec = f"{BASE} + hinge(margin=0.05)"
    free = mlmio.solve(spec, data, strategy="alternating")
    result = mlmio.solve(f"{spec} + psd_cuts", data, strategy="alternating")
    assert smallest(free) < -1e-3
    assert smallest(result) >= -1e-9
    assert (result.status, result.reason) == ("feasible", "unproven")
    assert result.verified
    assert " rounds; " in result.message


@pytest.mark.parametrize("strategy", ["disjunctive", "alternating"])
def test_strategies_on_rows_refuse_cones_by_name(strategy):
    with pytest.raises(SolverError, match="the block 'sdd' are not linear"):
        mlmio.solve(f"{BASE} + sdd", random_data(0, (3, 3)), strategy=strategy)


def test_a_solver_without_cones_is_refused_by_name():
    with pytest.raises(SolverError, match=r"highs does not solve MISOCP.*use gurobi or scip"):
        mlmio.solve(f"{BASE} + sdd", random_data(0, (3, 3)), solver="highs")


@pytest.mark.parametrize("name", ["scip", "gurobi"])
def test_rows_on_demand_takes_cones(name):
    if solvers.get(name)().version() is None:
        pytest.skip(f"{name} is not installed")
    data = random_data(3, (4, 4), D=3)
    spec = f"{BASE} + sdd + bounded(dmin=1e-3)"
    one = objective(spec, data, solver=name, strategy="rows")
    assert one == pytest.approx(objective(spec, data, solver=name), abs=3e-6)


# Rounds


def test_cuts_are_no_part_of_a_blocks_identity():
    part = block("psd_cuts")
    refined = part.refine(Metric({2: [[0.0, 1.0], [1.0, 0.0]]}, 2))
    assert refined == part
    assert hash(refined) == hash(part)
    assert (str(refined), refined.parameters) == ("psd_cuts", part.parameters)
    data = random_data(0, (3, 3))

    def rows(cone):
        return len(compose([*compose(LMNN).blocks, cone]).build(data).psd_cuts.cut)

    assert rows(refined) > rows(part)
    assert rows(pickle.loads(pickle.dumps(refined))) == rows(refined)


def test_a_semidefinite_metric_needs_no_cuts():
    assert block("psd_cuts").refine(Metric({2: np.eye(3)}, 3)) is None
    assert block("dd_basis").refine(Metric({2: 2 * np.eye(3)}, 3)) is None


def test_every_cut_holds_for_semidefinite_matrices_and_not_for_what_was_cut():
    rng = np.random.default_rng(0)
    part = block("psd_cuts")
    for _ in range(5):
        root = rng.normal(size=(4, 4))
        metric = Metric({2: root + root.T}, 4)
        part = part.refine(metric)
    data = random_data(0, (3, 3), D=4)
    assembly = compose([*compose(LMNN).blocks, part]).assemble(data)
    cuts = assembly.model.psd_cuts.cut

    def least(B):
        assembly.complete(Metric({2: B}, 4, data.scaling, data.feature_names))
        return min(row.lslack() for row in cuts.values())

    assert least(metric.B) < -1e-3
    for _ in range(20):
        root = rng.normal(size=(4, 2))
        assert least(root @ root.T) >= -1e-9


def test_cuts_between_the_last_rounds_spare_rounds():
    data = random_data(1, (7, 7), D=7, spread=0.6)
    result = solve(f"{LMNN} + psd_cuts", data, rel_gap=0)
    # With those between the last two rounds only it takes 35.
    assert int(result.message.split()[0]) <= 25, result.message


@pytest.mark.parametrize("seed", [0, 3])
def test_what_the_data_do_not_determine_is_zero(seed):
    """A feature that is the sum of two others adds nothing that a distance could be made of."""
    data = random_data(seed, (6, 6), D=3)
    sums = data.X[:, 0] + data.X[:, 1]
    dependent = mlmio.Dataset(np.column_stack([data.X, sums]), data.y)
    nearest = ((data.X[:, None] - data.X) ** 2).sum(axis=2)
    nearest[data.y[:, None] != data.y] = np.inf
    np.fill_diagonal(nearest, np.inf)
    targets = tuple(enumerate(nearest.argmin(axis=1).tolist()))
    spec = f"quadratic + lmnn(targets={targets}) + unbounded + psd_cuts"
    plain, result = solve(spec, data), solve(spec, dependent)
    assert result.objective == pytest.approx(plain.objective, rel=3e-6)
    null = np.linalg.svd(dependent.X - dependent.X.mean(axis=0))[2][-1]
    assert np.abs(result.metric.B @ null).max() < 1e-9
    assert smallest(result) >= -1e-9


def test_what_was_found_does_not_bind_other_data():
    data = random_data(3, (5, 5), D=3)
    dependent = mlmio.Dataset(np.column_stack([data.X[:, :2], data.X[:, :2].sum(axis=1)]), data.y)
    spec = "quadratic + lmnn + unbounded + psd_cuts"
    resolved = solve(spec, dependent).resolved
    assert solve(resolved, data).objective == pytest.approx(objective(spec, data), rel=1e-5)


def test_the_basis_found_is_in_the_resolved_composition():
    data = random_data(2, (6, 6), D=4)
    result = solve(f"{LMNN} + dd_basis(iterations=2)", data)
    cone = result.resolved.slot("cone")[0]
    assert (cone.iterations, len(cone.basis)) == (0, 4)
    again = solve(compose(str(result.resolved)), data)
    assert again.objective == pytest.approx(result.objective, abs=1e-6)


def test_a_start_gives_the_first_basis():
    data = random_data(2, (6, 6), D=4)
    found = solve(f"{LMNN} + psd_cuts", data)
    result = solve(f"{LMNN} + dd_basis(iterations=1)", data, start=found)
    plain = objective(f"{LMNN} + dd_basis(iterations=1)", data)
    assert result.objective > plain + 1e-4
    assert result.objective == pytest.approx(found.objective, rel=1e-3)


def test_the_basis_is_first_that_of_the_metric_without_it():
    """From the identity the alternation stays with those who serve under dominant matrices."""
    X, y = make_classification(60, 6, n_informative=4, n_redundant=0, random_state=0)
    data, spec = mlmio.Dataset(X, y), f"{BASE} + hinge(margin=0.05) + bounded(dmin=1e-4)"
    dominant, in_basis, semidefinite = (
        mlmio.solve(f"{spec} + {cone}", data, strategy="alternating").objective
        for cone in ("gershgorin", "dd_basis", "psd_cuts")
    )
    assert in_basis >= dominant + 0.5 * (semidefinite - dominant)


@pytest.mark.parametrize("basis", ["((1.0, 2.0), (2.0, 4.0))", "((1.0, 2.0),)", "(1.0, 'x')"])
def test_a_basis_that_is_none_is_refused(basis):
    with pytest.raises(
        CompositionError, match=r"'basis' of block 'dd_basis'.*linearly independent"
    ):
        compose(f"{BASE} + dd_basis(basis={basis})")


def test_a_basis_of_other_features_is_refused():
    with pytest.raises(DataError, match=r"basis of 'dd_basis' is of 3 features.*have 2"):
        compose(f"{BASE} + dd_basis(basis={BASIS})").build(random_data(0, (3, 3)))


# Limits


@pytest.fixture
def only_one_solve(monkeypatch):
    """HiGHS solves once, and then ends as the test says."""
    highs = solvers.get("highs")
    run, calls = highs.run, []

    def limit(ended):
        def once(self, program, options, start):
            calls.append(program)
            return run(self, program, options, start) if len(calls) == 1 else Found(ended)

        monkeypatch.setattr(highs, "run", once)

    return limit


@pytest.mark.parametrize("ended", ["interrupted", "time_limit"])
@pytest.mark.parametrize("cone", ["psd_cuts", "dd_basis"])
def test_what_was_found_before_a_limit_is_kept(cone, ended, only_one_solve):
    data = random_data(0, (5, 5), D=3)
    best = objective(f"{LMNN} + psd_cuts", data)
    only_one_solve(ended)
    result = mlmio.solve(f"{LMNN} + {cone}", data)
    assert (result.status, result.reason) == ("feasible", ended), str(result)
    assert result.verified
    assert smallest(result) >= -1e-9
    assert result.objective <= best + 1e-6
    if cone == "psd_cuts":
        assert result.bound >= best - 1e-6
        assert result.gap > 1e-6
    else:
        assert result.objective == pytest.approx(objective_of_first_round(data), abs=1e-6)


def objective_of_first_round(data):
    return mlmio.solve(f"{LMNN} + gershgorin", data, solver="glpk").objective


def test_time_for_a_few_rounds_only():
    data = random_data(1, (12, 12), D=6, spread=0.8)
    result = mlmio.solve(f"{BASE} + psd_cuts", data, strategy="disjunctive", time_limit=4)
    assert result.status == "feasible"
    assert result.reason == "time_limit"
    assert result.verified
    assert smallest(result) >= -1e-9
    assert result.bound > result.objective


def test_a_relaxation_without_bound_is_no_unbounded_problem():
    data = random_data(2, (3, 3), D=4)
    result = mlmio.solve(f"{LMNN}(distances='substituted') + psd_cuts", data)
    assert (result.status, result.reason) == ("no_incumbent", "unproven")
    assert result.bound is None
    assert "make the distances variables" in result.message
    assert mlmio.solve(f"{LMNN} + psd_cuts", data).status == "optimal"


@pytest.mark.parametrize("cone", ["psd_cuts", "dd_basis", "gershgorin"])
def test_a_dmin_that_is_given_is_not_held_to_metrics_without_products(cone):
    """Across two lines along (1, 1) only B with a product tells the classes apart."""
    t = np.linspace(0.0, 1.0, 4)
    X = np.vstack([np.c_[t, t], np.c_[t + 1e-3, t - 1e-3]])
    data = mlmio.Dataset(X, [0] * 4 + [1] * 4)
    assert mlmio.solve(f"quadratic + {cone} + nearest + bounded(dmin=1e-7)", data).verified


def test_runs_with_other_cuts_contradict_nothing():
    data = random_data(3, (4, 4), D=3)
    specs = [f"quadratic + psd_cuts + nearest + {each}" for each in ("bigm", "mccormick")]
    compared = mlmio.compare(specs, data)
    assert not compared.breaches
    assert {run.result.lp_bound for run in compared.rows} == {None}


def test_of_a_start_that_nobody_gave_nothing_is_said():
    data = random_data(3, (4, 4), D=3)
    spec = "quadratic + psd_cuts + nearest"
    first = mlmio.solve(spec, data, solver="highs")
    assert first.start is None
    assert mlmio.solve(spec, data, solver="highs", start=first).start == "accepted"


def test_a_tolerance_that_no_certificate_allows_is_refused():
    with pytest.raises(CompositionError, match="tol"):
        mlmio.block("psd_cuts", tol=1e-3)
