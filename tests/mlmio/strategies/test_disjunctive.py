"""The exact search proves what brute force and whole models prove, whenever it is stopped."""

from __future__ import annotations

import os
import re
import signal
import threading
import traceback
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from instances import random_data
from oracle_paper import Setting, nearest

import mlmio
from mlmio import DataError, Dataset, Metric, Result, SolverError
from mlmio.outline import outline
from mlmio.search import Progress, Search
from mlmio.solvers.base import Options
from mlmio.watching import Watch

BASE = "linear + quadratic + nearest"
TERMS = {1: "linear", 2: "quadratic", 3: "cubic"}
KNOWN = Path(__file__).parents[2] / "data" / "optimum_n36.json"


def disjunctive(spec: str, data: Dataset, **more: Any) -> Result:
    return mlmio.solve(spec, data, strategy="disjunctive", **more)


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


def iris(per_class: int) -> Dataset:
    return mlmio.load_dataset("iris", per_class=per_class, seed=0)


@pytest.fixture(autouse=True)
def interrupts_are_left_as_they_were() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


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
def test_points_that_are_undecided_have_their_price(
    semantics: str, per_class: int, optimum: float
) -> None:
    """The first two agree with a search that knows no prices, which takes 24 s for the second."""
    spec = f"{BASE} + bounded(dmin=0.01) + outliers(rho=0.1, {semantics=})"
    result = disjunctive(spec, iris(per_class), verify="full", threads=2)
    proven(result, optimum)
    # Without prices a program knows λ ≤ 1 and no more.
    assert result.lp_bound < 0.8


def test_the_known_optimum_of_36_points_of_iris() -> None:
    data = iris(12)
    spec = BASE + " + bounded(dmin=0.01)"
    known = mlmio.compose(spec).evaluate(data, Metric.from_json(KNOWN)).objective
    assert known == pytest.approx(0.102041, abs=1e-6)
    result = disjunctive(spec, data, threads=2, verify="full")
    proven(result, known)
    assert result.nodes > 1


def consistent(result: Result) -> None:
    """Whatever a search that was stopped says, it holds."""
    assert result.status in ("feasible", "no_incumbent", "optimal"), str(result)
    if result.status == "no_incumbent":
        assert result.objective is None
        assert result.metric is None
        return
    assert result.verified
    assert result.objective <= result.bound
    if result.status == "feasible":
        open_nodes = re.search(r"(\d+) open nodes", result.message)
        assert open_nodes is not None
        assert int(open_nodes[1]) > 0


@pytest.mark.parametrize("limit", [1, 2, 5, 12])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("more", ["", " + outliers(rho=0.05)"])
def test_at_a_limit_of_nodes(more: str, threads: int, limit: int) -> None:
    data = iris(10)
    result = disjunctive(BASE + more, data, node_limit=limit, threads=threads, verify="full")
    consistent(result)
    if result.status == "feasible":
        assert result.reason == "node_limit"
        assert "node limit" in result.message
        assert limit <= result.nodes < limit + 4 * threads + 1


@pytest.mark.parametrize("limit", [1e-6, 0.02, 0.1])
def test_at_a_limit_of_time(limit: float) -> None:
    result = disjunctive(
        BASE + " + outliers(rho=0.02, semantics='excuse')", iris(20), time_limit=limit
    )
    consistent(result)
    assert result.status != "optimal"
    assert result.reason == "time_limit"
    assert "time limit" in result.message


def logged_steps(spec: str, data: Dataset, threads: int) -> tuple[Search, list[Progress]]:
    """A search from nothing, with all that it says."""
    from mlmio.kernels.programs import new_work
    from mlmio.parametric import parametric, root_of

    problem = parametric(outline(mlmio.compose(spec), data))
    counts = np.zeros(2, dtype=np.int64)
    _, root = root_of(problem, new_work(problem.instance), counts)
    search = Search(problem, root, problem.nothing_found(), threads)
    steps = [search.progress]
    search.run(lambda: False, steps.append)
    return search, steps


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    "more", ["", " + outliers(rho=0.2)", " + outliers(rho=0.1, semantics='printed')"]
)
def test_bounds_are_never_crossed(more: str, threads: int) -> None:
    data = iris(5)
    optimum = disjunctive(BASE + more, data).objective
    search, steps = logged_steps(BASE + more, data, threads)
    assert search.open == steps[-1].open == 0
    assert len(steps) > 1
    for before, after in pairwise(steps):
        assert before.incumbent <= after.incumbent <= optimum + 1e-6
        assert before.bound + 1e-12 >= after.bound >= optimum - 1e-6
        assert after.incumbent <= after.bound
        assert before.nodes <= after.nodes
        assert before.programs <= after.programs
    assert steps[-1].incumbent == pytest.approx(optimum, abs=1e-6)


def test_a_log_says_where_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "search.log"
    spec = BASE + " + outliers(rho=0.02, semantics='excuse')"
    disjunctive(spec, iris(20), time_limit=1.8, log=file)
    lines = file.read_text(encoding="utf-8").splitlines()
    assert lines
    for line in lines:
        said = re.match(r"incumbent (\S+) · bound (\S+) · gap \S+ · nodes \d+ \(\d+ open\)", line)
        assert said is not None
        assert float(said[1]) <= float(said[2])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_an_interrupt_at_a_random_step(
    monkeypatch: pytest.MonkeyPatch, seed: int, threads: int
) -> None:
    """While the tree is put away: nothing of it may be lost."""
    moment = int(np.random.default_rng(seed).integers(1, 15))
    steps: list[Progress] = []

    def interrupt(_: Watch, progress: Progress) -> None:
        steps.append(progress)
        if len(steps) == moment:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Watch, "progress", interrupt)
    spec = BASE + " + outliers(rho=0.02, semantics='excuse')"
    result = disjunctive(spec, iris(20), threads=threads, verify="full")
    consistent(result)
    assert result.reason == "interrupted"
    assert len(steps) == moment
    assert result.nodes == steps[-1].nodes
    assert result.objective == pytest.approx(steps[-1].incumbent, abs=1e-6)
    assert result.bound == pytest.approx(steps[-1].bound, abs=1e-9)
    assert f"{steps[-1].open} open nodes" in result.message


@pytest.mark.parametrize("after", [0.02, 0.15, 0.4])
@pytest.mark.parametrize("threads", [1, 2])
def test_an_interrupt_at_a_random_moment(after: float, threads: int) -> None:
    """While the model is laid out it ends the call, as it would anywhere else."""
    spec = BASE + " + outliers(rho=0.02, semantics='excuse')"
    # Loaded before the clock starts.
    disjunctive(BASE, iris(3))
    data = iris(20)
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    result = None
    try:
        result = disjunctive(spec, data, threads=threads, time_limit=30)
    except KeyboardInterrupt as interrupt:
        functions = [entry.name for entry in traceback.extract_tb(interrupt.__traceback__)]
        assert "_search" not in functions or "parametric" in functions
    finally:
        timer.join()
    if result is not None:
        consistent(result)
        assert result.reason == "interrupted"
        assert result.solve_s < 10
    proven(disjunctive(BASE, iris(3)), disjunctive(BASE, iris(3), threads=2).objective)


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
