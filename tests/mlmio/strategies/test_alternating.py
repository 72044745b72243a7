"""Alternation gives verified results that no optimum falls short of, and never a loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import oracle
import pytest
from instances import plain_data, random_data
from sklearn.datasets import make_blobs

import mlmio
from mlmio import DataError, Dataset, Metric, MlmioError, Result, SolverError
from mlmio.softened import Softened

BASE = "linear + quadratic"
KNOWN = Path(__file__).parents[2] / "data" / "optimum_n36.json"


def alternating(spec: str, data: Dataset, **more: Any) -> Result:
    return mlmio.solve(spec, data, strategy="alternating", **more)


def sound(result: Result, optimum: float | None = None) -> None:
    """Verified, proven only where it attains the bound, and no better than what is best."""
    assert result.verified
    if result.status == "optimal":
        assert result.objective == pytest.approx(result.bound, abs=1e-9)
    else:
        assert result.status == "feasible", str(result)
        assert result.reason == "unproven"
    if result.bound is not None:
        assert result.objective <= result.bound
    if optimum is not None:
        assert result.objective <= optimum + 2e-6
        assert result.bound is None or optimum <= result.bound + 1e-6


def sound_or_nothing(result: Result, optimum: float | None = None) -> None:
    """Where the floor of a class binds, no round may leave a margin of at least zero."""
    if result.status == "no_incumbent":
        assert result.metric is None
        assert " outliers(" in str(result.composition)
        return
    sound(result, optimum)


NEIGHBORS = ["nearest", "nearest(k=2)", "knn(K=1)", "knn(K=3)"]
LOSSES = [
    "",
    " + outliers(rho=0.05)",
    " + outliers(rho=0.05, semantics='printed')",
    " + outliers(rho=0.05, semantics='excuse')",
    " + hinge(margin=0.1)",
]
MORE = [
    "",
    " + gershgorin",
    " + diagonal",
    " + lasso(mu=0.01)",
    " + triplets(triplets=((0, 1, 3), (4, 3, 0)))",
    " + gershgorin + lasso(mu=0.01) + must_link(pairs=((0, 1),)) + cannot_link(pairs=((0, 4),))",
]


@pytest.mark.parametrize(
    ("neighbors", "loss", "more"),
    [("nearest", loss, more) for loss in LOSSES for more in MORE]
    + [("nearest(k=2)", loss, "") for loss in LOSSES],
)
def test_no_better_than_the_whole_model(neighbors: str, loss: str, more: str) -> None:
    data = random_data(len(loss) % 7, (3, 3), spread=0.5)
    spec = f"{BASE} + {neighbors} + bounded(dmin=0.0005){loss}{more}"
    whole = mlmio.solve(spec, data, strategy="direct")
    if whole.status == "infeasible":
        assert alternating(spec, data).status == "no_incumbent"
        return
    assert whole.status == "optimal"
    check = sound if neighbors == "nearest" else sound_or_nothing
    check(alternating(spec, data), whole.objective)


@pytest.mark.parametrize("loss", LOSSES[:4])
@pytest.mark.parametrize("K", [1, 3])
def test_a_majority_no_better_than_the_whole_model(K: int, loss: str) -> None:
    data = random_data(K, (5, 4), spread=0.5)
    spec = f"{BASE} + knn({K=}) + bounded(dmin=0.0005){loss}"
    whole = mlmio.solve(spec, data, strategy="direct", time_limit=10)
    assert whole.status in ("optimal", "feasible")
    sound(alternating(spec, data), whole.bound)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("order", ["cubic", "linear + cubic"])
def test_other_orders(order: str, loss: str) -> None:
    data = random_data(1, (5, 5, 4), spread=0.4)
    sound(alternating(f"{order} + nearest{loss}", data))


def test_what_lacks_nothing_is_an_optimum() -> None:
    """Islands far apart: the Euclidean distance, scaled, has the margin for everyone."""
    X, y = make_blobs(60, n_features=3, centers=3, cluster_std=0.3, random_state=0)
    result = alternating(f"{BASE} + nearest + hinge(margin=0.01)", Dataset(X, y))
    assert (result.status, result.objective, result.bound) == ("optimal", 0.0, 0.0)
    assert result.verified


@pytest.mark.parametrize("seed", range(4))
def test_an_optimum_that_is_easy_is_reached(seed: int) -> None:
    """Classes well apart: a margin of 0.1 for everyone, which the hinge knows to be its best."""
    data = random_data(seed, (8, 8), spread=0.02)
    result = alternating(f"{BASE} + nearest + hinge(margin=0.1)", data)
    sound(result, 0.0)
    assert result.objective == pytest.approx(0.0, abs=1e-6)
    assert result.bound == 0.0


@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
@pytest.mark.parametrize("seed", range(2))
def test_the_optimum_of_brute_force_is_not_exceeded(seed: int, semantics: str) -> None:
    data = random_data(seed, (4, 4), spread=0.4)
    loss = oracle.Loss(semantics, 0.1)
    optimum = oracle.solve(oracle.Problem(data.X, data.y, loss=loss))
    result = alternating(f"{BASE} + nearest + outliers(rho=0.1, {semantics=})", data)
    sound(result, optimum)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_the_same_seed_gives_the_same_run(neighbors: str) -> None:
    data = mlmio.load_dataset("iris", per_class=10, seed=1)
    spec = f"{BASE} + {neighbors} + outliers(rho=0.02)"
    one, other = (alternating(spec, data, seed=5) for _ in range(2))
    assert one.metric == other.metric
    assert one.objective == other.objective
    assert one.outliers.tolist() == other.outliers.tolist()
    assert one.message == other.message


def test_two_threads_give_what_one_gives() -> None:
    data = mlmio.load_dataset("iris", per_class=20, seed=1)
    spec = f"{BASE} + nearest + hinge(margin=0.05)"
    one, two = (alternating(spec, data, threads=n) for n in (1, 2))
    assert one.objective == pytest.approx(two.objective, abs=1e-9)


@pytest.mark.parametrize("loss", ["", " + outliers(rho=0.02, semantics='excuse')"])
def test_starts_at_a_time_are_taken_in_their_order(loss: str) -> None:
    data = mlmio.load_dataset("iris", per_class=20, seed=1)
    one, two, three = (alternating(f"{BASE} + nearest{loss}", data, threads=n) for n in (1, 2, 3))
    assert one.metric == two.metric == three.metric
    assert one.objective == two.objective == three.objective
    assert one.outliers.tolist() == two.outliers.tolist() == three.outliers.tolist()


def test_a_sample_takes_half_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What it finds is worth nothing before all points are held within their bounds."""
    monkeypatch.setattr("mlmio.strategies.alternation.SAMPLE", 60)
    solve, asked = Softened.solve, []

    def noting(self: Softened, theta: Any, everyone: Any, seconds: float) -> Any:
        asked.append((len(everyone.rows), seconds))
        return solve(self, theta, everyone, seconds)

    monkeypatch.setattr(Softened, "solve", noting)
    X, y = mlmio.data.generators.six_d(200, seed=0)
    spec = f"{BASE} + nearest + hinge(margin=0.05)"
    sound(alternating(spec, Dataset(X, y), time_limit=1000, options={"starts": 1}))
    *some, (points, seconds) = asked
    assert points == 200
    assert seconds > 900
    assert all(points < 200 and seconds <= 500 for points, seconds in some)


def test_a_sample_that_is_cut_off_leaves_what_it_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All points are held within their bounds from the last metric of the sample."""
    monkeypatch.setattr("mlmio.strategies.alternation.SAMPLE", 60)
    solve, asked = Softened.solve, []

    def cut_off(self: Softened, theta: Any, everyone: Any, seconds: float) -> Any:
        asked.append(len(everyone.rows))
        return None if len(asked) == 2 else solve(self, theta, everyone, seconds)

    monkeypatch.setattr(Softened, "solve", cut_off)
    X, y = mlmio.data.generators.six_d(200, seed=0)
    spec = f"{BASE} + nearest + hinge(margin=0.05)"
    sound(alternating(spec, Dataset(X, y), options={"starts": 1}))
    assert len(asked) == 3


def test_a_start_is_used() -> None:
    """From the known optimum it is no worse than that, which it does not reach by itself."""
    data = mlmio.load_dataset("iris", per_class=12, seed=0)
    spec = f"{BASE} + nearest + bounded(dmin=0.01)"
    known = Metric.from_json(KNOWN)
    optimum = mlmio.compose(spec).evaluate(data, known).objective
    started = alternating(spec, data, start=known)
    sound(started, optimum + 1e-6)
    assert started.objective == pytest.approx(optimum, abs=1e-5)
    assert started.start == "accepted"
    assert alternating(spec, data).objective < optimum - 1e-3


def test_whole_number_columns_are_refused_by_name() -> None:
    with pytest.raises(SolverError, match=r"cardinality\(U=2.*disjunctive"):
        alternating(f"{BASE} + nearest + cardinality(U=2, bmax=1.0)", random_data(0, (3, 3)))


def test_fixed_targets_are_refused_by_name() -> None:
    with pytest.raises(SolverError, match="lmnn"):
        alternating("quadratic + lmnn(k=1) + gershgorin + unbounded", random_data(0, (4, 4)))


def test_options_of_a_solver_are_refused_by_name() -> None:
    with pytest.raises(SolverError, match=r"'presolve'.*'starts'"):
        alternating(f"{BASE} + nearest", random_data(0, (3, 3)), options={"presolve": "off"})


def test_more_starts_give_no_less() -> None:
    """The starts of a smaller number are the first of a larger one."""
    data = mlmio.load_dataset("wine", per_class=20)
    spec = "linear + nearest + hinge(margin=0.3)"
    values = [alternating(spec, data, options={"starts": number}).objective for number in (1, 2, 6)]
    assert values == sorted(values)
    assert values[0] < values[-1] - 1e-4


@pytest.mark.parametrize("number", [0, 1.5, "many"])
def test_a_number_of_starts_is_a_whole_number(number: object) -> None:
    with pytest.raises(DataError, match="starts"):
        alternating(f"{BASE} + nearest", random_data(0, (3, 3)), options={"starts": number})


def test_thousands_of_points() -> None:
    """Above the number from which a sample stands for all at first."""
    X, y = mlmio.data.generators.islands(2100, seed=0)
    loss = "outliers(rho=0.001, semantics='excuse')"
    result = alternating(f"quadratic + nearest + bounded(dmin=1e-9) + {loss}", Dataset(X, y))
    sound(result)


@pytest.mark.parametrize("N", [600, 2100])
def test_a_limit_of_time_gives_what_there_is(N: int) -> None:
    """The start itself, even where a step of all points would take longer."""
    X, y = mlmio.data.generators.six_d(N, seed=0)
    spec = f"{BASE} + nearest + hinge(margin=0.05) + bounded(dmin=1e-6)"
    result = alternating(spec, Dataset(X, y), time_limit=0.001)
    assert result.status == "feasible"
    assert result.verified
    assert result.reason == "time_limit"
    assert "time limit" in result.message


def test_compiled_loops_are_halted_at_the_limit() -> None:
    """With 91 parameters the alternation from one start takes some seconds."""
    data = mlmio.load_dataset("wine", per_class=20)
    spec = "quadratic + nearest + outliers(rho=0.05)"
    whole = alternating(spec, data, options={"starts": 1})
    stopped = alternating(spec, data, options={"starts": 1}, time_limit=0.01)
    assert stopped.verified
    assert stopped.reason == "time_limit"
    assert stopped.objective < whole.objective


# K nearest neighbours have no margin that could be softened.
COMPOSITIONS = [
    (neighbors, loss)
    for neighbors in ("nearest", "knn(K=3)")
    for loss in LOSSES
    if "knn" not in neighbors or "hinge" not in loss
]
DEGENERATE = {
    "each class in a point": [[0, 0]] * 4 + [[1, 1]] * 4,
    "twins": [[0, 0], [0, 0], [1, 1], [1, 1], [0.4, 0.4], [0.4, 0.4], [0.6, 0.6], [0.6, 0.6]],
    "constant feature": [[x, 5] for x in (0, 1, 2, 3, 0.5, 1.5, 2.5, 3.5)],
    "collinear features": [[x, 2 * x] for x in (0, 1, 2, 3, 0.5, 1.5, 2.5, 3.5)],
    "nearly the same": [[1e-9 * i, 1] for i in range(8)],
}


@pytest.mark.filterwarnings("ignore::mlmio.MlmioWarning")
@pytest.mark.parametrize("name", DEGENERATE)
@pytest.mark.parametrize(("neighbors", "loss"), COMPOSITIONS)
def test_degenerate_data_have_an_answer(neighbors: str, loss: str, name: str) -> None:
    data = Dataset(np.array(DEGENERATE[name], dtype=float), np.repeat([0, 1], 4))
    result = alternating(f"{BASE} + {neighbors}{loss}", data)
    assert result.status in ("optimal", "feasible", "no_incumbent")
    assert result.status == "no_incumbent" or result.verified


@pytest.mark.filterwarnings("ignore::mlmio.MlmioWarning")
@pytest.mark.parametrize("loss", LOSSES)
def test_classes_that_coincide_are_one_sentence(loss: str) -> None:
    data = Dataset(np.ones((8, 2)), np.repeat([0, 1], 4))
    with pytest.raises(MlmioError, match="coincide") as caught:
        alternating(f"{BASE} + nearest{loss}", data)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("semantics", oracle.SEMANTICS)
def test_points_that_coincide_are_given_up(semantics: str) -> None:
    data = random_data(3, (6, 6), spread=0.3)
    X = data.X.copy()
    X[6] = X[0]
    spec = f"{BASE} + nearest + bounded(duplicates='outlier') + outliers(rho=0.05, {semantics=})"
    result = alternating(spec, Dataset(X, data.y))
    sound(result)
    assert {0, 6} <= set(result.outliers.tolist())


def test_an_empty_region_has_no_incumbent() -> None:
    spec = f"{BASE} + nearest + triplets(triplets=((0, 1, 2), (0, 2, 1)), margin=0.1)"
    result = alternating(spec, random_data(0, (3, 3)))
    assert result.status == "no_incumbent"
    assert result.metric is None


@pytest.mark.parametrize("keep", [0, 2, 4])
def test_the_floor_of_every_class_is_kept(keep: int) -> None:
    data = random_data(2, (5, 5), spread=2.0)
    result = alternating(f"{BASE} + nearest + outliers(rho=0.001, {keep=})", data)
    sound_or_nothing(result)
    kept = np.bincount(data.y[~np.isin(data.ids, result.outliers)], minlength=2)
    assert kept.min() >= keep


def test_side_information_of_the_data_is_kept() -> None:
    data = plain_data()
    result = alternating(f"{BASE} + nearest + must_link + cannot_link + triplets", data)
    sound(result)
    metric = result.metric
    d = metric.scaled_distance(data.X, data.X)
    for i, j, k in data.side["triplets"]:
        assert d[i, j] <= d[i, k] + 1e-6


def test_a_program_that_the_solver_fails_at_is_begun_again(monkeypatch):
    """HiGHS can end without a status from the basis of the last program, and not without it."""
    import highspy

    solve, calls = highspy.Highs.run, []

    def run(self):
        calls.append(self)
        return highspy.HighsStatus.kError if len(calls) % 3 == 0 else solve(self)

    data = random_data(0, (6, 6), D=2)
    expected = alternating(f"{BASE} + nearest + hinge(margin=0.1)", data)
    monkeypatch.setattr(highspy.Highs, "run", run)
    found = alternating(f"{BASE} + nearest + hinge(margin=0.1)", data)
    assert len(calls) > 3
    assert found.objective == pytest.approx(expected.objective, abs=1e-6)
