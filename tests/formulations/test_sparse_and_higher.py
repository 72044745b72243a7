"""Few entries, and terms of higher order: where they help, where they cannot, what they cost."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from instances import random_data
from oracle_paper import Setting, nearest, regions

import mlmio
from mlmio import CompositionError, DataError, Dataset, compose
from mlmio.explaining import HEADS, explain

# --- Cardinality -------------------------------------------------------------------------------


def iris_two_classes() -> Dataset:
    """The first five of classes 1 and 2 of Iris, versicolor and virginica, in three features."""
    iris = mlmio.load_dataset("iris", scale="none")
    rows = np.concatenate([np.flatnonzero(iris.y == c)[:5] for c in (1, 2)])
    return Dataset(iris.X[rows, :3], iris.labels[rows])


def reach(data: Dataset, U: int, bmax: float) -> float:
    """The largest d_min that U entries of B allow, by an LP for each choice of them."""
    best = 0.0
    for region in regions(Setting(data.X, data.y, (2,), dmin=0.0, sparse=(U, bmax, (2,)))):
        across = np.argwhere(np.triu(region.setting.across))
        rows = [np.append(-region.phi[i, k], 1.0) for i, k in across]
        gain = np.eye(region.P + 1)[region.P]
        found = region.maximise(gain, rows, [0.0] * len(rows), [(None, None)])
        assert found is not None
        best = max(best, found[1])
    return best


@pytest.mark.parametrize("U", [1, 2, 3])
def test_few_entries_are_infeasible_above_the_dmin_that_they_reach(U: int) -> None:
    data = iris_two_classes()
    assert reach(data, U, bmax=10.0) < 0.3 < reach(data, 6, bmax=10.0)
    for factor, status in ((0.999, "optimal"), (1.001, "infeasible")):
        dmin = round(factor * reach(data, U, bmax=10.0), 9)
        result = mlmio.solve(f"quadratic + bounded({dmin=}) + nearest + cardinality({U=})", data)
        assert result.status == status
    assert result.objective is result.metric is result.certificate is None


def test_two_entries_where_a_third_would_do() -> None:
    data = iris_two_classes()
    spec = "quadratic + bounded(dmin=0.2) + nearest + cardinality(U={})"
    assert [mlmio.solve(spec.format(U), data).status for U in (2, 4)] == ["infeasible", "optimal"]


@pytest.mark.parametrize(("bmax", "binds"), [(0.5, True), (50.0, False)])
def test_a_bmax_that_binds_is_remarked(bmax: float, binds: bool) -> None:
    result = mlmio.solve(f"quadratic + nearest + cardinality(U=2, {bmax=})", random_data(0, (3, 3)))
    assert result.certificate is not None
    remarks = [remark for remark in result.certificate.remarks if "bmax" in remark]
    assert bool(remarks) == binds == (abs(result.metric.B).max() >= bmax - 1e-6)  # type: ignore[union-attr]
    assert all("an entry reaches bmax = 0.5 of 'cardinality'" in remark for remark in remarks)
    assert all(remark in str(result) for remark in remarks)


@pytest.mark.parametrize("tensors", [("B",), ("a",), ("a", "B", "C"), ("tensor 4",)], ids="+".join)
def test_no_more_entries_than_asked_for_and_the_others_are_free(tensors: tuple[str, ...]) -> None:
    terms = "linear + quadratic + cubic + tensor(order=4)"
    spec = f"{terms} + nearest + cardinality(U=1, {tensors=})"
    result = mlmio.solve(spec, random_data(0, (3, 3)))
    assert (result.status, result.verified) == ("optimal", True)
    assert result.metric is not None
    names = {1: "a", 2: "B", 3: "C", 4: "tensor 4"}
    counted = [order for order in names if names[order] in tensors]
    assert sum(entries(result.metric.tensor(order)) for order in counted) <= 1
    others = [order for order in names if order not in counted]
    assert sum(entries(result.metric.tensor(order)) for order in others) > 1
    assert result.certificate is not None
    assert result.certificate.facts["nonzero entries"] <= 1


def entries(tensor: np.ndarray) -> int:
    """Entries that are not zero, one for each multiset of coordinates."""
    found = np.argwhere(abs(tensor) > 1e-7)
    return len({tuple(sorted(index)) for index in found.tolist()})


# --- Higher orders -----------------------------------------------------------------------------


def points(N: int, D: int) -> Dataset:
    return Dataset(np.random.default_rng(0).normal(size=(N, D)), np.arange(N) % 2)


def row_of(spec: str, data: Dataset, block: str) -> dict[str, str]:
    explanation = explain(compose(spec), data)
    [row] = [row for row in explanation.rows if row[1] == block]
    return dict(zip(HEADS, row, strict=True))


def test_twenty_features_in_order_four_have_8855_parameters() -> None:
    row = row_of("tensor(order=4) + nearest", points(6, 20), "tensor")
    assert (row["variables"], row["binaries"], row["rows"]) == ("8855", "0", "0")


@pytest.mark.parametrize(
    ("order", "N", "parameters", "coefficients"),
    [(4, 3000, "8,855", "39,834,217,500"), (8, 400, "2,220,075", "177,161,985,000")],
)
def test_a_term_too_large_for_memory_is_refused_with_its_count(
    order: int, N: int, parameters: str, coefficients: str
) -> None:
    with pytest.raises(DataError) as caught:
        mlmio.solve(f"tensor({order=}) + nearest", points(N, 20))
    assert f"has {parameters} parameters for 20 features" in str(caught.value)
    assert f"make {coefficients} coefficients" in str(caught.value)
    assert re.search(r"about [\d,]+ GiB where [\d,]+ are free", str(caught.value))


@pytest.mark.parametrize(
    "spec", ["cubic + tensor(order=3)", "tensor(order=4) + cubic + tensor(order=3)"]
)
def test_the_same_order_twice_is_a_clash(spec: str) -> None:
    with pytest.raises(CompositionError, match="'cubic' and 'tensor\\(order=3\\)' clash") as caught:
        compose(spec)
    assert "both fill 'C'" in str(caught.value) or "both fill C" in str(caught.value)


def test_cubic_is_the_tensor_of_order_three() -> None:
    data = random_data(3, (3, 3))
    cubic, tensor = (
        mlmio.solve(f"linear + {term} + nearest", data) for term in ("cubic", "tensor(order=3)")
    )
    assert cubic.objective == pytest.approx(tensor.objective, abs=1e-6)
    assert cubic.metric is not None
    again = compose("linear + tensor(order=3) + nearest + bounded(dmin=1e-4)").evaluate(
        data, cubic.metric
    )
    assert again.objective == pytest.approx(cubic.objective, abs=1e-9)


TERMS = {1: "linear", 2: "quadratic", 3: "cubic", 4: "tensor(order=4)", 5: "tensor(order=5)"}


@pytest.mark.parametrize("orders", [*combinations(TERMS, 2), (1, 2, 3), (2, 3, 5), tuple(TERMS)])
def test_mixtures_of_orders_solve_and_are_verified(orders: tuple[int, ...]) -> None:
    data = random_data(sum(orders), (3, 3), spread=0.5)
    terms = " + ".join(TERMS[order] for order in orders)
    result = mlmio.solve(f"{terms} + nearest", data)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.metric is not None
    assert result.metric.orders == orders
    dmin = result.resolved.slot("region")[0].dmin  # type: ignore[attr-defined]
    assert result.objective == pytest.approx(
        nearest(Setting(data.X, data.y, orders, dmin)), abs=1e-6
    )
