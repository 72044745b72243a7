"""Side information as blocks: held to brute force, to completion, and to every refusal."""

from itertools import combinations, product
from typing import Any

import numpy as np
import pyomo.environ as pyo
import pytest
from instances import broken_statements, random_data, random_metric
from scipy.optimize import linprog

import mlmio
from mlmio import CompositionError, DataError, Dataset, block, compose, solve
from mlmio.sizes import Dimensions

DMIN = 0.02
BASE = f"linear + quadratic + nearest + bounded(dmin={DMIN})"
# For the classes {0, 1, 2} and {3, 4, 5}.
TRIPLETS = ((0, 1, 2), (3, 4, 0), (5, 0, 1))
PAIRS = ((0, 2), (1, 2), (4, 3))
MUST, CANNOT = ((0, 1), (1, 2), (3, 4)), ((0, 3), (2, 5))
LINKS = f"must_link(pairs={MUST}) + cannot_link(pairs={CANNOT}, margin={{margin}})"
SPECS = {
    "triplets": f"triplets(triplets={TRIPLETS}, margin={{margin}})",
    "target_neighbors": f"target_neighbors(pairs={PAIRS}, margin={{margin}})",
    "links": LINKS,
}


def six_points(seed: int, spread: float = 0.35) -> Dataset:
    return random_data(seed, (3, 3), spread=spread)


def features(X: np.ndarray) -> np.ndarray:
    """(N, N, 5) features of linear + quadratic in two dimensions."""
    delta = X[:, None] - X
    p, q = delta[..., 0], delta[..., 1]
    return np.stack([abs(p), abs(q), p * p, 2 * p * q, q * q], axis=-1)


def comparisons(kind: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Pairs (near, far) of pairs of points, written out by hand from the definitions."""
    if kind == "triplets":
        return [((i, j), (i, k)) for i, j, k in TRIPLETS]
    if kind == "target_neighbors":
        others = {0: (3, 4, 5), 1: (3, 4, 5), 4: (0, 1, 2)}
        return [((i, j), (i, k)) for i, j in PAIRS for k in others[i]]
    # Every similar pair is nearer than every dissimilar one: τ eliminated.
    similar = [(0, 1), (0, 2), (1, 2), (3, 4)]
    dissimilar = [(i, k) for i in (0, 1, 2) for k in (3, 4, 5)]
    return list(product(similar, dissimilar))


def brute_force(data: Dataset, kind: str, margin: float) -> float | None:
    """Best λ over every choice of neighbours, one LP each; None where all are infeasible."""
    phi, N = features(data.X), data.N
    rows, right = [], []

    def add(coefficients: np.ndarray, of_margin: float, limit: float) -> None:
        rows.append(np.append(coefficients, of_margin))
        right.append(limit)

    for i, j in combinations(range(N), 2):
        add(phi[i, j], 0.0, 1.0)
        add(-phi[i, j], 0.0, -DMIN if data.y[i] != data.y[j] else 0.0)
    for near, far in comparisons(kind):
        add(phi[near] - phi[far], 0.0, -margin)
    best = None
    for choice in product(*(data.co_class(i) for i in range(N))):
        chosen = [
            np.append(phi[i, j] - phi[i, k], 1.0)
            for i, j in enumerate(choice)
            for k in data.non_class(i)
        ]
        answer = linprog(
            [0.0] * 5 + [-1.0],
            np.array(rows + chosen),
            right + [0.0] * len(chosen),
            bounds=[(None, None)] * 6,
        )
        if answer.status == 0:
            best = max(-answer.fun, -np.inf if best is None else best)
    return best


@pytest.mark.parametrize("kind", SPECS)
@pytest.mark.parametrize(("seed", "margin"), [(0, 0.0), (1, 0.05), (4, 0.0)])
def test_the_optimum_is_that_of_brute_force(kind: str, seed: int, margin: float) -> None:
    data = six_points(seed)
    best = brute_force(data, kind, margin)
    plain = solve(BASE, data)
    result = solve(f"{BASE} + {SPECS[kind].format(margin=margin)}", data)
    if best is None:
        assert result.status == "infeasible"
        return
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(best, abs=1e-6)
    assert result.objective <= plain.objective + 1e-6


@pytest.mark.parametrize("kind", SPECS)
def test_what_cannot_hold_is_infeasible(kind: str) -> None:
    spec = SPECS[kind].format(margin=0.999)
    assert solve(f"{BASE} + {spec}", six_points(0)).status == "infeasible"


@pytest.mark.parametrize("distances", ["variables", "substituted"])
@pytest.mark.parametrize("kind", SPECS)
def test_rows_hold_exactly_where_the_check_finds_nothing(kind: str, distances: str) -> None:
    spec = SPECS[kind].format(margin=0.01)
    composition = compose(f"{BASE} + {spec}") | f"bounded(dmin={DMIN}, distances={distances!r})"
    held = set()
    for seed in range(12):
        data = six_points(seed, spread=0.05 if seed % 2 else 0.35)
        assembly = composition.assemble(data)
        evaluation = assembly.complete(random_metric(data, (1, 2), seed))
        reported = {v.block for v in evaluation.violations if v.amount > 1e-8}
        for part in composition.slot("side"):
            broken = broken_statements(assembly.model.component(part.label))
            assert bool(broken) == (part.name in reported), (seed, broken, reported)
        held.add(bool(reported & {"triplets", "target_neighbors", "cannot_link"}))
    assert held == {True, False}


@pytest.mark.parametrize("given", ["block", "data"])
@pytest.mark.parametrize("region", ["nearest", "gershgorin + unbounded + lmnn(k=1)"])
@pytest.mark.parametrize("kind", SPECS)
def test_size_is_exact(kind: str, region: str, given: str) -> None:
    data, composition = six_points(0), compose(f"quadratic + {region}")
    parts = compose(SPECS[kind].format(margin=0.0))
    if given == "data":
        side = {part.name: getattr(part, part.given) for part in parts.blocks}
        data = Dataset(data.X, data.y, side=side)
        parts = compose(" + ".join(side))
    assembly = (composition + parts).assemble(data)
    n = Dimensions.of(assembly.data)
    for part in parts.blocks:
        b, size = assembly.model.component(part.label), part.size(n)
        assert size.variables == len(list(b.component_data_objects(pyo.Var)))
        assert size.rows == len(list(b.component_data_objects(pyo.Constraint))) > 0


def test_sizes_without_data_are_symbols() -> None:
    assert str(block("triplets").size(Dimensions.symbols()).rows) == "T_triplets"
    assert block("must_link").size(Dimensions.symbols()).variables == 1


@pytest.mark.parametrize("kind", SPECS)
def test_unbounded_distances(kind: str) -> None:
    data = six_points(0, spread=0.1)
    lmnn = "quadratic + diagonal + unbounded + lmnn(k=1)"
    plain = solve(lmnn, data)
    result = solve(f"{lmnn} + {SPECS[kind].format(margin=0.1)}", data)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective <= plain.objective + 1e-6


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("triplets", {"triplets": ((0, 1, 2), ("it's", 'a"b', "é"))}),
        ("target_neighbors", {"pairs": ((0, 1),), "margin": 0.5}),
        ("must_link", {"pairs": (("a", 1), (-3, "x y"))}),
        ("cannot_link", {"pairs": ((0, 1),), "margin": 0.25}),
    ],
)
def test_strings_make_the_block_again(name: str, given: dict[str, Any]) -> None:
    part = block(name, **given)
    assert compose(str(part)).blocks == (part,)
    assert hash(part) == hash(compose(str(part)).blocks[0])


def test_lists_and_arrays_become_tuples() -> None:
    part = block("must_link", pairs=((0, 1), (1, 2)))
    assert block("must_link", pairs=[[0, 1], (1, 2)]) == part
    array = block("must_link", pairs=np.array([[0, 1], [1, 2]]))
    assert str(array) == str(part) == "must_link(pairs=((0, 1), (1, 2)))"
    texts = block("must_link", pairs=np.array([["a", "b"]]))
    assert str(texts) == "must_link(pairs=(('a', 'b'),))"


@pytest.mark.parametrize("given", ["links.csv", 5, None, ((0, 1),), ((0, 1, 2), 3), ((0, 1, 2.5),)])
def test_what_is_no_tuple_of_ids_is_refused(given: Any) -> None:
    with pytest.raises(CompositionError, match=r"parameter 'triplets' of block 'triplets' has .*:"):
        block("triplets", triplets=given)


@pytest.mark.parametrize("name", ["triplets", "target_neighbors", "cannot_link"])
def test_a_margin_is_a_number_from_zero(name: str) -> None:
    with pytest.raises(CompositionError, match="parameter 'margin'"):
        block(name, margin=-0.1)


def test_links_come_together() -> None:
    with pytest.raises(
        CompositionError, match=r"'must_link' needs 'dissimilar pairs'.*cannot_link"
    ):
        compose("quadratic + nearest + must_link").build(six_points(0))
    with pytest.raises(CompositionError, match=r"'cannot_link' needs 'similar pairs'.*must_link"):
        compose("quadratic + nearest + cannot_link").build(six_points(0))


BAD = {
    "none": ("triplets", "no side information 'triplets'"),
    "unknown": ("triplets(triplets=((0, 1, 9),))", r"triplets\[0\] names 9"),
    "twice": ("triplets(triplets=((0, 1, 0),))", r"triplets\[0\] names 0 twice"),
    "across": ("target_neighbors(pairs=((0, 4),))", "4 cannot be a target neighbour of 0"),
    "chain": (
        "must_link(pairs=((0, 1), (1, 2))) + cannot_link(pairs=((0, 2),))",
        "0 – 1 – 2 must be one class, but 0 and 2 cannot",
    ),
    "label": (
        "must_link(pairs=((0, 1), (1, 3))) + cannot_link(pairs=((0, 4),))",
        "0 – 1 – 3 must be one class, but 0 is of class 0 and 3 of class 1",
    ),
    "same label": (
        "must_link(pairs=((0, 1),)) + cannot_link(pairs=((0, 2),))",
        "0 and 2 cannot be of one class, but both are of class 0",
    ),
}


@pytest.mark.parametrize(("spec", "message"), BAD.values(), ids=BAD)
def test_what_the_data_do_not_allow_is_refused(spec: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        solve(f"{BASE} + {spec}", six_points(0))


def test_the_block_comes_before_the_data_set() -> None:
    data = Dataset(six_points(0).X, [0, 0, 0, 1, 1, 1], side={"triplets": [(0, 1, 2), (0, 1, 3)]})
    model = compose(f"{BASE} + triplets(triplets=((3, 4, 5),))").build(data)
    assert list(model.triplets.nearer) == [(3, 4, 5)]
    model = compose(f"{BASE} + triplets").build(data)
    assert list(model.triplets.nearer) == [(0, 1, 2), (0, 1, 3)]


def test_a_result_is_verified_again_with_the_data_as_given() -> None:
    data = six_points(0)
    result = solve(f"{BASE} + {LINKS.format(margin=0.0)}", data)
    assert mlmio.verify(result, data).verified
    other = mlmio.verify(solve(BASE, data), data)
    composition = compose(f"{BASE} + triplets(triplets=((0, 3, 1),), margin=0.5)")
    found = composition.evaluate(data, other.metric).violations
    assert [v.block for v in found if v.amount > 1e-6] == ["triplets"]
    assert "point 3 is not nearer to 0 than 1" in str(found[-1])


@pytest.mark.parametrize("distances", ["variables", "substituted"])
def test_points_that_coincide(distances: str) -> None:
    data = Dataset([[0.0], [0.0], [0.0], [1.0], [1.1]], [0, 0, 0, 1, 1])
    base = f"linear + nearest + bounded(distances={distances!r})"
    result = solve(f"{base} + triplets(triplets=((0, 1, 2),))", data)
    assert (result.status, result.verified) == ("optimal", True)
    strict = solve(f"{base} + triplets(triplets=((0, 1, 2),), margin=0.1)", data)
    assert strict.status == "infeasible"


def test_unlabelled_data_with_links_as_classes_and_as_rows() -> None:
    side = {"must_link": MUST, "cannot_link": CANNOT, "triplets": [(0, 1, 2)]}
    data = Dataset(six_points(0, spread=0.1).X, None, side=side)
    with pytest.raises(DataError, match="class 'group of 5' has 1 point"):
        solve(f"{BASE} + must_link + cannot_link", data)
    data = Dataset(six_points(0, spread=0.1).X, None, side=side | {"must_link": [*MUST, (4, 5)]})
    plain = solve(BASE, data)
    result = solve(f"{BASE} + must_link + cannot_link + triplets", data)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective <= plain.objective + 1e-6
