"""The exact search proves what brute force and whole models prove, or refuses by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from instances import disjunctive, iris, proven, random_data
from oracle_paper import Setting, nearest
from sklearn.datasets import make_classification

import mlmio
from mlmio import DataError, Dataset, Metric, SolverError
from mlmio.anytime import WrittenWitness
from mlmio.solvers.base import Options

BASE = "linear + quadratic + nearest"
TERMS = {1: "linear", 2: "quadratic", 3: "cubic"}
KNOWN = Path(__file__).parents[2] / "data" / "optimum_n36.json"


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("orders", [(1,), (2,), (1, 2), (1, 2, 3)], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_without_a_loss(seed: int, orders: tuple[int, ...], k: int) -> None:
    data = random_data(seed, (4, 3, 3), spread=0.5)
    terms = " + ".join(TERMS[n] for n in orders)
    optimum = oracle.solve(oracle.Problem(data.X, data.y, orders, k))
    proven(disjunctive(f"{terms} + nearest({k=})", data, verify="full"), optimum)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("keep", [0, 2])
@pytest.mark.parametrize("rho", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
def test_outliers(semantics: str, rho: float, keep: int, k: int) -> None:
    # Seeds of which all have a solution.
    data = random_data(1 if rho == 0.1 else 3, (4, 3), spread=0.35)
    loss = oracle.Loss(semantics, rho, keep)
    spec = f"{BASE}({k=}) + outliers({rho=}, {semantics=}, {keep=})"
    optimum = oracle.solve(oracle.Problem(data.X, data.y, k=k, loss=loss))
    assert optimum is not None
    proven(disjunctive(spec, data, verify="full"), optimum)


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.usefixtures("by_intervals")
def test_many_points_are_bounded_by_intervals(threads: int, k: int) -> None:
    """Here all numbers of points are many."""
    data = random_data(3, (4, 3), spread=0.35)
    for semantics in oracle.SEMANTICS:
        loss = oracle.Loss(semantics, 0.05, 2)
        optimum = oracle.solve(oracle.Problem(data.X, data.y, k=k, loss=loss))
        spec = f"{BASE}({k=}) + outliers(rho=0.05, {semantics=})"
        proven(disjunctive(spec, data, verify="full", threads=threads), optimum)
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.1, semantics='excuse')"
    proven(disjunctive(spec, iris(12), threads=threads), 0.102041)


@pytest.mark.parametrize("more", ["lasso(mu=0.05)", "gershgorin", "cardinality(U=2)"])
@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
@pytest.mark.usefixtures("by_intervals")
def test_many_points_with_other_blocks(semantics: str, more: str) -> None:
    """A lasso makes the objective, but for prices, another than the margin."""
    data = random_data(3, (4, 3), spread=0.35)
    spec = f"quadratic + nearest + outliers(rho=0.05, {semantics=}) + {more}"
    whole = mlmio.solve(spec, data, strategy="direct")
    assert whole.status == "optimal"
    proven(disjunctive(spec, data, verify="full", threads=2), whole.objective)


@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
@pytest.mark.usefixtures("by_intervals")
def test_a_bound_is_no_weaker_than_that_of_the_whole_model(semantics: str) -> None:
    """Points are given up in part there as well."""
    X, y = make_classification(24, 3, n_informative=3, n_redundant=0, random_state=0)
    data = Dataset(X, y)
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.02, {semantics=})"
    whole = mlmio.solve(spec, data, strategy="direct", node_limit=1)
    stopped = disjunctive(spec, data, node_limit=1)
    assert stopped.objective <= stopped.bound <= whole.lp_bound + 1e-6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
def test_more_outliers_in_other_terms(semantics: str, seed: int) -> None:
    orders = [(1,), (2,), (2,), (1, 2)][seed]
    data = random_data(seed + 20, (3, 3, 2), D=1 + seed % 3, spread=0.5)
    terms = " + ".join(TERMS[n] for n in orders)
    loss = oracle.Loss(semantics, 0.05, 2)
    optimum = oracle.solve(oracle.Problem(data.X, data.y, orders, loss=loss))
    spec = f"{terms} + nearest + outliers(rho=0.05, {semantics=}, keep=2)"
    proven(disjunctive(spec, data, verify="full"), optimum)


@pytest.mark.parametrize("cone", ["diagonal", "gershgorin"])
@pytest.mark.parametrize("seed", range(3))
def test_cones(seed: int, cone: str) -> None:
    data = random_data(seed, (3, 4), D=2 + (seed == 1), spread=0.5)
    optimum = nearest(Setting(data.X, data.y, dmin=0.002, cone=cone))
    proven(disjunctive(f"{BASE} + {cone} + bounded(dmin=0.002)", data, verify="full"), optimum)


@pytest.mark.parametrize("mu", [0.001, 0.05])
@pytest.mark.parametrize("seed", range(3))
def test_lasso(seed: int, mu: float) -> None:
    data = random_data(seed, (3, 4), spread=0.5)
    optimum = nearest(Setting(data.X, data.y, dmin=0.002, mu=mu))
    proven(
        disjunctive(f"{BASE} + lasso({mu=}) + bounded(dmin=0.002)", data, verify="full"), optimum
    )


@pytest.mark.parametrize("U", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_cardinality(seed: int, U: int) -> None:
    data = random_data(seed, (3, 3), spread=0.5)
    optimum = nearest(Setting(data.X, data.y, (1, 2), dmin=0.001, sparse=(U, 1.5, (2,))))
    spec = f"{BASE} + cardinality({U=}, bmax=1.5) + bounded(dmin=0.001)"
    proven(disjunctive(spec, data, verify="full"), optimum)


TRIPLETS = "triplets(triplets=((0, 1, 3), (4, 3, 0), (5, 3, 1)), margin=0.01)"


TARGETS = "target_neighbors(pairs=((0, 1), (4, 3)))"


LINKS = "must_link(pairs=((0, 1), (4, 5))) + cannot_link(pairs=((0, 4),))"


@pytest.mark.parametrize(
    "more",
    [
        TRIPLETS,
        TARGETS,
        LINKS,
        "outliers(rho=0.05) + gershgorin",
        "outliers(rho=0.05, semantics='printed') + lasso(mu=0.01)",
        f"outliers(rho=0.05, semantics='excuse') + {TRIPLETS}",
        f"gershgorin + lasso(mu=0.01) + {LINKS}",
        "outliers(rho=0.05) + cardinality(U=2, bmax=2.0)",
        "cubic + gershgorin",
    ],
)
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_is_that_of_the_whole_model(seed: int, more: str) -> None:
    data = random_data(seed, (3, 3), spread=0.5)
    spec = f"{BASE} + bounded(dmin=0.001) + {more}"
    whole = mlmio.solve(spec, data, strategy="direct")
    result = disjunctive(spec, data, verify="full")
    assert whole.status in ("optimal", "infeasible")
    proven(result, whole.objective)


def test_more_rows_of_the_region_than_pairs_of_points() -> None:
    """Every triplet that some metric has in order: 60 rows of a region on 6 points."""
    data = random_data(0, (3, 3), spread=0.5)
    d = ((data.X[:, None] - data.X[None, :]) ** 2).sum(axis=2)
    everyone = range(data.N)
    triplets = tuple(
        (i, j, k)
        for i in everyone
        for j in everyone
        for k in everyone
        if len({i, j, k}) == 3 and d[i, j] < d[i, k]
    )
    assert len(triplets) > data.N**2
    for more in ("", " + outliers(rho=0.02, semantics='printed')"):
        spec = f"{BASE}(k=2) + bounded(dmin=0.0001) + triplets({triplets=}){more}"
        whole = mlmio.solve(spec, data, strategy="direct")
        proven(disjunctive(spec, data, verify="full"), whole.objective)


@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
def test_points_that_coincide_are_given_up(semantics: str) -> None:
    data = random_data(3, (4, 4), spread=0.4)
    X = data.X.copy()
    X[4] = X[0]
    spec = f"{BASE} + bounded(duplicates='outlier') + outliers(rho=0.05, {semantics=})"
    data = Dataset(X, data.y, scale="none")
    optimum = oracle.solve(oracle.Problem(X, data.y, loss=oracle.Loss(semantics, 0.05)))
    result = disjunctive(spec, data, verify="full")
    proven(result, optimum)
    assert {0, 4} <= set(result.outliers.tolist())


@pytest.mark.parametrize("more", ["", " + outliers(rho=0.2)", " + outliers(semantics='excuse')"])
def test_two_threads_prove_the_same_and_the_same_seed_gives_the_same_run(more: str) -> None:
    data = iris(5)
    spec = BASE + more
    one, again = (disjunctive(spec, data, threads=1, seed=3) for _ in range(2))
    two, twice = (disjunctive(spec, data, threads=2, seed=3) for _ in range(2))
    assert one.nodes == again.nodes
    assert two.nodes == twice.nodes
    assert one.metric == again.metric
    assert two.metric == twice.metric
    proven(two, one.objective)
    proven(disjunctive(spec, data, seed=4), one.objective)


@pytest.mark.parametrize(("seed", "optimum"), [(10, 0.212074242), (11, 0.194587310)])
def test_a_price_of_undecided_points_is_not_counted_twice(seed: int, optimum: float) -> None:
    """HiGHS and SCIP prove these optima of the whole model; 0.211722 and 0.188134 were claimed."""
    spec = f"{BASE} + outliers(rho=0.03, semantics='excuse')"
    proven(disjunctive(spec, random_data(seed, (5, 4), spread=0.5), verify="full"), optimum)


@pytest.mark.parametrize(
    ("semantics", "per_class", "optimum"),
    [("printed", 8, 0.435666), ("remove", 6, 0.414172), ("remove", 12, 0.183863)],
)
def test_few_sets_of_points_are_tried(semantics: str, per_class: int, optimum: float) -> None:
    """They are the optima of a search that asks of each point whether it is kept, in 24 s."""
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.1, {semantics=})"
    result = disjunctive(spec, iris(per_class), verify="full", threads=2)
    proven(result, optimum)
    assert result.nodes < 300


def test_the_known_optimum_of_36_points_of_iris() -> None:
    data = iris(12)
    spec = BASE + " + bounded(dmin=0.01)"
    known = mlmio.compose(spec).evaluate(data, Metric.from_json(KNOWN)).objective
    assert known == pytest.approx(0.102041, abs=1e-6)
    result = disjunctive(spec, data, threads=2, verify="full")
    proven(result, known)
    assert result.nodes > 1


@pytest.mark.parametrize(
    ("spec", "block"),
    [
        (BASE + " + hinge(margin=0.1)", r"hinge\(margin=0\.1"),
        ("quadratic + knn(K=2)", r"knn\(K=2"),
        ("quadratic + lmnn(k=1) + gershgorin + unbounded", r"lmnn"),
    ],
)
def test_what_it_does_not_take_is_refused_by_name(spec: str, block: str) -> None:
    with pytest.raises(SolverError, match=block):
        disjunctive(spec, random_data(0, (4, 4)))


def test_options_of_a_solver_are_refused_by_name() -> None:
    with pytest.raises(SolverError, match="'presolve'"):
        disjunctive(BASE, random_data(0, (3, 3)), options={"presolve": "off"})


def test_an_empty_region_is_infeasible() -> None:
    data = random_data(0, (3, 3))
    spec = BASE + " + bounded(dmin=0.001) + triplets(triplets=((0, 1, 2), (0, 2, 1)), margin=0.1)"
    result = disjunctive(spec, data)
    assert result.status == "infeasible"
    assert result.metric is None
    assert result.objective is None


@pytest.mark.filterwarnings("ignore::mlmio.MlmioWarning")
@pytest.mark.parametrize(
    "X",
    [
        [[0, 0], [0, 0], [0, 0], [1, 1], [1, 1], [1, 1]],
        [[0, 0], [0, 0], [1, 1], [0.4, 0.4], [0.4, 0.4], [0.6, 0.6]],
        [[0, 5], [1, 5], [2, 5], [0.5, 5], [1.5, 5], [2.5, 5]],
        [[0, 0], [1, 2], [2, 4], [0.5, 1], [1.5, 3], [2.5, 5]],
    ],
    ids=["each class in a point", "twins", "constant feature", "collinear features"],
)
@pytest.mark.parametrize("more", ["", " + outliers(rho=0.05)"])
def test_degenerate_data_have_the_optimum_of_brute_force(X: Any, more: str) -> None:
    data = Dataset(np.array(X, dtype=float), [0, 0, 0, 1, 1, 1])
    loss = oracle.Loss("remove", 0.05) if more else None
    optimum = oracle.solve(oracle.Problem(data.X, data.y, loss=loss))
    proven(disjunctive(BASE + more, data, verify="full"), optimum)


def test_classes_that_coincide_are_refused_by_row() -> None:
    data = Dataset([[0.0], [0.0], [0.0], [0.0]], [0, 0, 1, 1], scale="none")
    with pytest.raises(DataError, match="coincide"):
        disjunctive("linear + nearest", data)


def test_a_start_is_taken_up() -> None:
    data = iris(12)
    spec = BASE + " + bounded(dmin=0.01)"
    known = Metric.from_json(KNOWN)
    result = disjunctive(spec, data, start=known, node_limit=1)
    assert result.objective >= mlmio.compose(spec).evaluate(data, known).objective - 1e-6


@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
def test_of_a_start_nothing_is_lost(semantics: str) -> None:
    """Also not by keeping points that it gives up."""
    data = iris(12)
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.1, {semantics=})"
    best = disjunctive(spec, data)
    again = disjunctive(spec, data, start=best.metric)
    first = next(m.incumbent for m in again.trajectory if m.incumbent is not None)
    assert first >= best.objective - 1e-6


@pytest.mark.usefixtures("by_intervals")
def test_many_points_are_given_up_by_soft_margins_first() -> None:
    X, y = make_classification(60, 3, n_informative=3, n_redundant=0, random_state=0)
    data = Dataset(X, y)
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.01, semantics='excuse')"
    alternated = mlmio.solve(spec, data, strategy="alternating")
    begun = disjunctive(spec, data, node_limit=1).trajectory
    first = next(m.incumbent for m in begun if m.incumbent is not None)
    assert first >= alternated.objective - 1e-6


def test_a_full_verification_finds_a_bound_that_does_not_hold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """HiGHS is asked, and what it says counts: here it says that every branch could be better."""
    import mlmio.witnesses

    asked: list[object] = []

    def better(problem: object, witness: object) -> float:
        asked.append(witness)
        return 2.0

    monkeypatch.setattr(mlmio.witnesses, "reaches", better)
    data = iris(6)
    assert disjunctive(BASE, data).status == "optimal"
    assert not asked
    with pytest.raises(SolverError, match="the bound does not hold"):
        disjunctive(BASE, data, verify="full")
    assert asked


@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
@pytest.mark.usefixtures("by_intervals")
def test_a_full_verification_solves_programs_of_intervals(
    monkeypatch: pytest.MonkeyPatch, semantics: str
) -> None:
    """They hold as they are, and to one whose limit is too low it would be said."""
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.1, {semantics=})"
    monkeypatch.setattr("mlmio.anytime.WITNESSES", 10_000)
    proven(disjunctive(spec, iris(6), verify="full"), disjunctive(spec, iris(6)).objective)
    honest, met = mlmio.witnesses.reaches, []

    def reaches(problem: Any, witness: Any) -> float:
        if isinstance(witness, WrittenWitness):
            witness = replace(witness, limit=witness.limit - 0.01)
            met.append(honest(problem, witness) > witness.limit)
        return honest(problem, witness)

    monkeypatch.setattr(mlmio.witnesses, "reaches", reaches)
    disjunctive(spec, iris(6), verify="full")
    assert any(met)


def test_what_contradicts_itself_by_a_hair_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to its usual tolerance HiGHS takes a program as feasible here that is not."""
    monkeypatch.setattr("mlmio.anytime.WITNESSES", 10_000)
    X, y = make_classification(60, 3, n_informative=3, n_redundant=0, class_sep=0.5, random_state=0)
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.02, semantics='excuse')"
    found = disjunctive(spec, Dataset(X, y), verify="full", node_limit=1000)
    assert "solved again in HiGHS" in found.message


def test_another_verification_is_refused() -> None:
    with pytest.raises(SolverError, match="verify"):
        disjunctive(BASE, random_data(0, (3, 3)), verify="fully")
    assert Options(verify="full").verify == "full"


def test_misleading_triplets_are_infeasible() -> None:
    """The first programs lean on bounds that are not the model's own, which proves nothing."""
    data = mlmio.load_dataset("triplet_trap", n=36, scale="none")
    spec = "quadratic + nearest + triplets(triplets=((0, 2, 1),))"
    proven(disjunctive(spec, data), None)
    assert mlmio.solve(spec, data, "highs", "rows").status == "infeasible"
