"""What the paper leaves open or prints wrong, settled: each point beside the printed form."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest
from instances import random_data
from oracle import largest_separation
from oracle_paper import Setting, knn, regions
from scipy.optimize import LinearConstraint, milp
from scipy.sparse import lil_array

import mlmio
from mlmio import CompositionError, DataError, Dataset, Result

# --- d_min -------------------------------------------------------------------------------------


def is_empty(data: Dataset, dmin: float) -> bool:
    """Whether no linear and quadratic metric is within the paper's region."""
    [region] = regions(Setting(data.X, data.y, dmin=dmin))
    return region.maximise(np.zeros(region.P), [], [], []) is None


def with_near_pair(gap: float) -> Dataset:
    X = random_data(0, (4, 4), spread=0.15).X.copy()
    X[4] = X[0] + gap
    return Dataset(X, [0] * 4 + [1] * 4, scale="none")


def test_a_pair_that_coincides_leaves_no_metric_for_any_dmin() -> None:
    data = with_near_pair(0.0)
    assert is_empty(data, dmin=1e-6)
    assert not is_empty(data, dmin=0.0)
    spec = "linear + quadratic + nearest + bounded(duplicates={!r})"
    with pytest.raises(DataError, match=r"points 0 \(0\) and 4 \(1\) coincide but differ in class"):
        mlmio.solve(spec.format("error"), data)
    dropped = mlmio.solve(spec.format("drop"), data)
    assert (dropped.status, dropped.verified) == ("optimal", True)


def test_a_fixed_dmin_is_too_large_for_a_near_pair_and_auto_is_not() -> None:
    data = with_near_pair(5e-4)
    assert is_empty(data, dmin=0.01)
    with pytest.raises(DataError, match=r"δ\* = .* and dmin is 0.01"):
        mlmio.solve("linear + quadratic + nearest + bounded(dmin=0.01)", data)
    result = mlmio.solve("linear + quadratic + nearest", data)
    assert (result.status, result.verified) == ("optimal", True)
    [region] = result.resolved.slot("region")
    reach = largest_separation(data.X, data.y, (1, 2))
    assert region.dmin == pytest.approx(reach / 2, rel=1e-6)  # type: ignore[attr-defined]


# --- What an outlier still forces --------------------------------------------------------------

# On a line: point 2 is a stranger in the other class, which is too small to lose a point.
STRANGER = Dataset([[0.0], [0.05], [0.5], [0.52], [0.57]], [0, 0, 0, 1, 1])


def with_stranger(semantics: str) -> Result:
    return mlmio.solve(f"linear + nearest + outliers(rho=0.01, {semantics=})", STRANGER)


def test_as_printed_an_outlier_holds_the_margin_down() -> None:
    printed, removed = with_stranger("printed"), with_stranger("remove")
    assert printed.outliers.tolist() == removed.outliers.tolist() == [2]
    assert printed.certificate is not None
    assert removed.certificate is not None
    # λ ≤ d_23 although 2 is given up; removed, the gap between the others counts.
    assert printed.certificate.value == pytest.approx(0.02 / 0.57, abs=1e-6)
    assert removed.certificate.value == pytest.approx((0.47 - 0.05) / 0.57, abs=1e-6)


# --- A small rho gives up a whole class --------------------------------------------------------


@cache
def ten_iris_points() -> Dataset:
    """Five versicolor and five virginica."""
    iris = mlmio.load_dataset("iris", per_class=5)
    return iris.take(np.flatnonzero(iris.labels != "setosa"))


def given_up(result: Result, data: Dataset) -> list[int]:
    """How many of each class."""
    z = np.isin(data.ids, result.outliers)
    return [int(z[data.y == c].sum()) for c in range(data.n_classes)]


def mahalanobis(loss: str) -> Result:
    return mlmio.solve(f"quadratic + gershgorin + nearest + {loss}", ten_iris_points())


def test_without_a_floor_a_small_rho_drops_a_class() -> None:
    result = mahalanobis("outliers(rho=0.1, keep=0)")
    assert result.objective == pytest.approx(1 - 5 * 0.1, abs=1e-6)
    assert sorted(given_up(result, ten_iris_points())) == [0, 5]


def test_with_the_floor_that_is_worth_less_and_both_classes_are_told_apart() -> None:
    result = mahalanobis("outliers(rho=0.1)")
    assert result.status == "optimal"
    assert 0 < result.objective < 0.4
    assert max(given_up(result, ten_iris_points())) <= 3


def test_a_class_reduced_to_its_floor_is_remarked() -> None:
    result = mahalanobis("outliers(rho=0.001)")
    assert given_up(result, ten_iris_points()) == [3, 3]
    assert result.certificate is not None
    assert len(result.certificate.remarks) == 2
    assert "is reduced to its floor of 2 points" in result.certificate.remarks[0]


# --- The big M of a relieved row ---------------------------------------------------------------

RELIEVED_BY = {"printed": (0, 1), "remove": (1, 1)}


def s1_by_hand(data: Dataset, semantics: str, M: float, rho: float, dmin: float) -> float:
    """Optimum of the paper's S1 in one linear term a·u, with this M in the separation rows."""
    N, D = data.X.shape
    u = abs(data.X[:, None] - data.X[None, :])
    co = [(i, j) for i, j in product(range(N), repeat=2) if i != j and data.y[i] == data.y[j]]
    # Columns: a, y_ij, s_i, z_i, λ.
    y = {pair: D + n for n, pair in enumerate(co)}
    s, z, last = D + len(co), D + len(co) + N, D + len(co) + 2 * N
    own, others = RELIEVED_BY[semantics]
    rows: list[tuple[dict[int, float], float, float]] = []

    def distance(i: int, k: int, sign: float = 1.0) -> dict[int, float]:
        return {p: sign * u[i, k, p] for p in range(D)}

    for i, k in product(range(N), repeat=2):
        if data.y[i] != data.y[k]:
            relief = {z + k: -M * others} | ({z + i: -M * own} if own else {})
            rows.append(({s + i: 1.0, last: 1.0, **relief} | distance(i, k, -1.0), -np.inf, 0.0))
            rows.append((distance(i, k), dmin, 1.0))
        elif i != k:
            rows.append(({s + i: 1.0, y[i, k]: -1.0} | distance(i, k, -1.0), -1.0, np.inf))
            rows.append(({y[i, k]: 1.0, z + k: 1.0}, -np.inf, 1.0))
            rows.append((distance(i, k), 0.0, 1.0))
    for i in range(N):
        rows.append(({y[i, j]: 1.0 for p, j in co if p == i} | {z + i: 1.0}, 1.0, 1.0))
    A = lil_array((len(rows), last + 1))
    for n, (row, _, _) in enumerate(rows):
        for column, value in row.items():
            A[n, column] = value
    cost = np.zeros(last + 1)
    cost[last], cost[z : z + N] = -1.0, rho
    lower = np.zeros(last + 1)
    lower[:D] = -np.inf
    upper = np.full(last + 1, np.inf)
    upper[D:s] = upper[z:] = 1.0
    integral = np.zeros(last + 1)
    integral[D:s] = integral[z:last] = 1
    limits = LinearConstraint(A.tocsr(), [row[1] for row in rows], [row[2] for row in rows])
    answer = milp(cost, constraints=limits, bounds=(lower, upper), integrality=integral)
    return float(-answer.fun)


def scattered(seed: int) -> Dataset:
    return Dataset(np.random.default_rng(seed).uniform(size=(6, 2)), [0, 0, 0, 1, 1, 1])


def of_mlmio(data: Dataset, semantics: str, rho: float, keep: int) -> float:
    spec = f"linear + bounded(dmin=0.05) + nearest + outliers({rho=}, {semantics=}, {keep=})"
    result = mlmio.solve(spec, data)
    assert result.status == "optimal"
    assert result.objective is not None
    return result.objective


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_an_M_of_one_cuts_off_the_optimum_where_a_class_is_removed(seed: int) -> None:
    """s_i + λ − d_ik can be 2 − d_min: λ = 1, as no row is left, and s_i is not 0."""
    data = scattered(seed)
    optimum = of_mlmio(data, "remove", rho=0.1, keep=0)
    assert optimum == pytest.approx(1 - 3 * 0.1, abs=1e-6)
    assert s1_by_hand(data, "remove", 2 - 0.05, 0.1, dmin=0.05) == pytest.approx(optimum, abs=1e-6)
    assert s1_by_hand(data, "remove", 1.0, 0.1, dmin=0.05) < optimum - 0.02


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_an_M_of_one_is_enough_for_the_printed_rows(seed: int) -> None:
    """There an outlier k itself forces λ ≤ d_ik, so that s_i + λ ≤ 1 + d_ik."""
    data = scattered(seed)
    optimum = of_mlmio(data, "printed", rho=0.25, keep=0)
    for M in (1.0, 2.0):
        assert s1_by_hand(data, "printed", M, 0.25, dmin=0.05) == pytest.approx(optimum, abs=1e-6)


# --- K nearest neighbours ----------------------------------------------------------------------


def value_of(result: Result) -> float:
    assert result.status == "optimal"
    assert result.certificate is not None
    assert result.certificate.value is not None
    return result.certificate.value


def test_as_printed_one_outlier_forces_kappa_to_zero() -> None:
    """Two points coincide and must be given up; the others are as easy as can be."""
    X = [[0.0], [0.1], [0.2], [0.3], [0.3], [0.8], [0.9], [1.0]]
    data = Dataset(X, [0, 0, 0, 0, 1, 1, 1, 1])
    spec = "linear + bounded(duplicates='outlier') + outliers + knn(K=2, as_printed={})"
    printed, settled = (mlmio.solve(spec.format(form), data) for form in (True, False))
    assert set(printed.outliers) == set(settled.outliers) == {3, 4}
    assert value_of(printed) == 0
    assert value_of(settled) == 2


# The points of a class are near one another along x, but for the first; along y every point has
# one of its class beside it.
EITHER_OR = Dataset(
    np.transpose(
        [
            [0.90, 0.02, 0.01, 0.12, 0.99, 0.95, 0.99, 0.99],
            [0.40, 0.97, 0.83, 0.22, 0.84, 0.02, 0.93, 0.35],
        ]
    ),
    [0, 0, 0, 0, 1, 1, 1, 1],
)


def test_the_printed_weight_gives_up_kappa() -> None:
    """W = 2/(NK): κ = 0 and 21 neighbours are worth 1.75, κ = 1 and 8 only 1 + 8/12."""
    K, N = 3, EITHER_OR.N
    spec = "linear + outliers(rho=2) + knn(K=3{})"
    printed = mlmio.solve(spec.format(f", W={2 / (N * K)}"), EITHER_OR)
    settled = mlmio.solve(spec.format(""), EITHER_OR)
    assert len(printed.outliers) == len(settled.outliers) == 0
    assert (value_of(printed), printed.objective) == (0, pytest.approx(21 * 2 / (N * K)))
    assert (value_of(settled), settled.objective) == (1, pytest.approx(1 + 8 / (N * K + 1)))
    assert value_of(mlmio.solve("linear + knn(K=3)", EITHER_OR)) == 1


@pytest.mark.parametrize(
    ("spec", "weight"),
    [
        ("knn(K=2) + outliers", 1 / (6 * 2 + 1)),
        ("knn(K=2, as_printed=True) + outliers", 2 / (6 * 2)),
        ("knn(K=2)", 0.0),
    ],
)
def test_the_weight_is_one_that_never_outweighs_kappa(spec: str, weight: float) -> None:
    """A unit of κ can be exchanged for fewer than NK neighbours."""
    [part] = mlmio.compose(f"linear + {spec}").assemble(scattered(0)).resolved.slot("neighbors")
    assert pytest.approx(weight) == part.W  # type: ignore[attr-defined]


# Both points of class 1 are near point 0, and K = 1 takes in but one of them.
CROWDED = Dataset([[0.0], [1.0], [0.02], [0.03]], [0, 0, 1, 1])


def test_a_gap_above_dmin_can_leave_no_solution() -> None:
    given = Setting(CROWDED.X, CROWDED.y, (1,), dmin=0.01)
    assert knn(given, K=1, eps=0.05) is None
    for eps in (0.01, 0.002):
        assert knn(given, K=1, eps=eps) is not None
    spec = "linear + bounded(dmin=0.01) + knn(K=1, eps={})"
    with pytest.raises(CompositionError, match=r"eps is 0.05 .* and d_min 0.01"):
        mlmio.solve(spec.format(0.05), CROWDED)
    result = mlmio.solve(spec.format(0.01), CROWDED)
    assert (result.status, result.verified) == ("optimal", True)


def test_the_gap_of_the_paper_is_taken_up_to_dmin() -> None:
    """α times the least Euclidean distance, which is 0.01."""
    spec = "linear + bounded(dmin=0.01) + knn(K=1, eps='paper', alpha={})"
    result = mlmio.solve(spec.format(0.5), CROWDED)
    assert result.resolved.slot("neighbors")[0].eps == pytest.approx(0.005)  # type: ignore[attr-defined]
    with pytest.raises(CompositionError, match=r"eps is 0.01 .* d_min 0.008"):
        mlmio.solve("linear + bounded(dmin=0.008) + knn(K=1, eps='paper')", CROWDED)


@pytest.mark.parametrize("seed", range(4))
def test_up_to_dmin_there_is_always_a_solution(seed: int) -> None:
    """Δ = 0 and u = 0 is one, however the points lie."""
    data = scattered(seed)
    reach = largest_separation(data.X, data.y, (1,))
    dmin = round(0.999 * reach, 6)
    for loss in ("", " + outliers(semantics='printed')"):
        spec = f"linear + bounded({dmin=}) + knn(K=1, eps={dmin}){loss}"
        assert mlmio.solve(spec, data).status == "optimal"


@pytest.mark.parametrize("part", ["knn(K=3)", "nearest(k=3)"])
def test_a_class_with_too_few_points_is_named(part: str) -> None:
    """The paper assumes K points in a class; the point itself is none of them."""
    data = Dataset(random_data(1, (5, 3)).X, ["many"] * 5 + ["few"] * 3)
    with pytest.raises(DataError, match=r"class 'few' has 3 point"):
        mlmio.solve(f"linear + {part}", data)
    assert mlmio.solve(f"linear + {part.replace('3', '2')}", data).status == "optimal"
