"""The lattice: what `relation` says, and that the optima of random compositions obey it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from itertools import product
from math import inf
from random import Random

import numpy as np
import pytest
from instances import random_data

import mlmio
from mlmio import DataError, Dataset, relation

# --- What is said, and why ---------------------------------------------------------------------

BASE = "linear + quadratic + bounded(dmin=0.01) + nearest"
KNN = "linear + bounded(dmin=0.01)"
T1, T2 = "((0, 1, 3),)", "((0, 1, 3), (4, 5, 1))"
# Restrictions by the difference alone: the first optimum is never above the second.
RESTRICTIONS = {
    "terms": ("linear + nearest", "linear + quadratic + nearest", "without quadratic"),
    "tensor": (
        f"{BASE} + cubic",
        f"{BASE} + cubic + tensor(order=5)",
        "without tensor(order=5)",
    ),
    "cone": (f"{BASE} + diagonal", f"{BASE} + gershgorin", "diagonal instead of gershgorin"),
    "any cone": (f"{BASE} + gershgorin", BASE, "with gershgorin"),
    "U": (
        f"{BASE} + cardinality(U=2)",
        f"{BASE} + cardinality(U=4)",
        "cardinality(U=2) instead of cardinality(U=4)",
    ),
    "bmax": (
        f"{BASE} + cardinality(bmax=1.0)",
        f"{BASE} + cardinality",
        "cardinality(bmax=1.0) instead of cardinality",
    ),
    "cardinality": (f"{BASE} + cardinality", BASE, "with cardinality"),
    "mu": (
        f"{BASE} + lasso(mu=0.2)",
        f"{BASE} + lasso(mu=0.1)",
        "lasso(mu=0.2) instead of lasso(mu=0.1)",
    ),
    "lasso": (f"{BASE} + lasso", BASE, "with lasso"),
    "rho": (
        f"{BASE} + outliers(rho=0.2)",
        f"{BASE} + outliers",
        "outliers(rho=0.2) instead of outliers",
    ),
    "keep": (
        f"{BASE} + outliers(keep=3)",
        f"{BASE} + outliers(keep=0)",
        "outliers(keep=3) instead of outliers(keep=0)",
    ),
    "semantics": (
        f"{BASE} + outliers(semantics='printed')",
        f"{BASE} + outliers",
        "outliers(semantics='printed') instead of outliers",
    ),
    "margin": (
        f"{BASE} + hinge(margin=0.3)",
        f"{BASE} + hinge(margin=0.1)",
        "hinge(margin=0.3) instead of hinge(margin=0.1)",
    ),
    "k": ("linear + nearest(k=2)", "linear + nearest", "nearest(k=2) instead of nearest"),
    "dmin": (
        "linear + nearest + bounded(dmin=0.02)",
        "linear + nearest + bounded(dmin=0.01)",
        "bounded(dmin=0.02) instead of bounded(dmin=0.01)",
    ),
    "dmax": (
        "linear + nearest + bounded(dmin=0.02)",
        "linear + nearest + bounded(dmin=0.02, dmax=2.0)",
        "bounded(dmin=0.02) instead of bounded(dmin=0.02, dmax=2.0)",
    ),
    "K": (f"{KNN} + knn(K=2)", f"{KNN} + knn", "knn(K=2) instead of knn"),
    "eps": (
        f"{KNN} + knn(eps=0.01)",
        f"{KNN} + knn(eps=0.002)",
        "knn(eps=0.01) instead of knn(eps=0.002)",
    ),
    "W": (
        f"{KNN} + outliers + knn(W=0.01)",
        f"{KNN} + outliers + knn(W=0.02)",
        "knn(W=0.01) instead of knn(W=0.02)",
    ),
    "side": (f"{BASE} + triplets(triplets={T1})", BASE, f"with triplets(triplets={T1})"),
    "more triplets": (
        f"{BASE} + triplets(triplets={T2})",
        f"{BASE} + triplets(triplets={T1})",
        f"triplets(triplets={T2}) instead of triplets(triplets={T1})",
    ),
    "margin of triplets": (
        f"{BASE} + triplets(triplets={T1}, margin=0.2)",
        f"{BASE} + triplets(triplets={T1})",
        f"triplets(triplets={T1}, margin=0.2) instead of triplets(triplets={T1})",
    ),
    "targets": (
        f"{BASE} + target_neighbors(pairs=((0, 1), (3, 4)))",
        f"{BASE} + target_neighbors(pairs=((3, 4),))",
        "target_neighbors(pairs=((0, 1), (3, 4))) instead of target_neighbors(pairs=((3, 4),))",
    ),
}


@pytest.mark.parametrize(("tight", "loose", "reason"), RESTRICTIONS.values(), ids=RESTRICTIONS)
def test_each_difference_restricts_and_says_why(tight: str, loose: str, reason: str) -> None:
    said = relation(tight, loose)
    assert (said.kind, said.reasons) == ("restriction", (reason,))
    turned = relation(loose, tight)
    assert turned.kind == said.inverse.kind == "relaxation"


EQUIVALENT = {
    "encoding": (f"{BASE} + bigm", f"{BASE} + mccormick", "bigm instead of mccormick"),
    "default": (BASE, f"{BASE} + bigm", "the same blocks"),
    "cuts": (f"{BASE} + basic_steps", BASE, "with basic_steps"),
    "nodes": (
        f"{BASE} + basic_steps(nodes=5)",
        f"{BASE} + basic_steps",
        "basic_steps(nodes=5) instead of basic_steps",
    ),
    "k": (BASE, "nearest(k=1) + linear + bounded(dmin=0.01) + quadratic", "the same blocks"),
    "distances": (
        f"{BASE} + lasso",
        "linear + quadratic + nearest + lasso + bounded(dmin=0.01, distances='substituted')",
        "bounded(dmin=0.01) instead of bounded(dmin=0.01, distances='substituted')",
    ),
}


@pytest.mark.parametrize(("first", "second", "reason"), EQUIVALENT.values(), ids=EQUIVALENT)
def test_equivalents_are_told(first: str, second: str, reason: str) -> None:
    for said in (relation(first, second), relation(second, first)):
        assert said.kind == "equivalent"
    assert relation(first, second).reason == reason


UNRELATED = {
    "both ways": (f"{BASE} + diagonal", "quadratic + bounded(dmin=0.01) + nearest"),
    "loss": (BASE, f"{BASE} + outliers"),
    "losses": (f"{BASE} + hinge", f"{BASE} + outliers"),
    "semantics": (f"{BASE} + outliers(semantics='excuse')", f"{BASE} + outliers"),
    "neighbours": (f"{KNN} + knn", f"{KNN} + nearest"),
    "auto and a number": ("linear + nearest", "linear + nearest + bounded(dmin=0.01)"),
    "other triplets": (
        f"{BASE} + triplets(triplets={T1})",
        f"{BASE} + triplets(triplets=((1, 2, 3),))",
    ),
    "those of the data": (f"{BASE} + triplets", f"{BASE} + triplets(triplets={T1})"),
    "as printed": (f"{KNN} + knn(as_printed=True)", f"{KNN} + knn"),
    "targets of lmnn": (
        "quadratic + gershgorin + unbounded + lmnn(k=1)",
        "quadratic + gershgorin + unbounded + lmnn(k=2)",
    ),
    "duplicates": (
        "linear + nearest + bounded(dmin=0.01, duplicates='drop')",
        "linear + nearest + bounded(dmin=0.01)",
    ),
    "orders": (f"{BASE} + tensor(order=4)", f"{BASE} + tensor(order=5)"),
}


@pytest.mark.parametrize(("first", "second"), UNRELATED.values(), ids=UNRELATED)
def test_nothing_is_said_of_what_may_go_either_way(first: str, second: str) -> None:
    assert relation(first, second).kind == relation(second, first).kind == "unrelated"


def test_all_reasons_are_given() -> None:
    said = relation(f"{BASE} + diagonal + lasso", f"{BASE} + cubic + gershgorin")
    assert said.kind == "restriction"
    assert set(said.reasons) == {
        "without cubic",
        "diagonal instead of gershgorin",
        "with lasso",
    }


# --- Random compositions -----------------------------------------------------------------------

# What may fill each place, from loose to tight. Every step restricts.
SHAPE = {
    "terms": ["linear + quadratic + cubic", "linear + quadratic", "quadratic"],
    "cone": ["", "gershgorin", "diagonal"],
    "count": [
        "",
        "cardinality(U=3, bmax=9.0)",
        "cardinality(U=2, bmax=9.0)",
        "cardinality(U=2, bmax=0.9)",
    ],
    "lasso": ["", "lasso(mu=0.02)", "lasso(mu=0.2)"],
    "side": [
        "",
        f"triplets(triplets={T1})",
        f"triplets(triplets={T2})",
        f"triplets(triplets={T2}, margin=0.1)",
    ],
}
REGION = {
    "region": ["bounded(dmin=0.001, dmax=1.3)", "bounded(dmin=0.001)", "bounded(dmin=0.01)"],
}
OUTLIERS = [
    "outliers(rho=0.03, keep=1)",
    "outliers(rho=0.2, keep=1)",
    "outliers(rho=0.2, keep=2)",
    "outliers(rho=0.2, keep=2, semantics='printed')",
    "outliers(rho=0.5, keep=3, semantics='printed')",
]
NEAREST = {"neighbors": ["nearest(k=1)", "nearest(k=2)"]}
FAMILIES: dict[str, dict[str, list[str]]] = {
    "S0": SHAPE | REGION | NEAREST,
    "outliers": SHAPE | REGION | NEAREST | {"loss": OUTLIERS},
    "hinge": SHAPE | REGION | NEAREST | {"loss": ["hinge(margin=0.05)", "hinge(margin=0.3)"]},
    "K0": SHAPE | REGION | {"neighbors": ["knn(K=2)", "knn(K=1)"]},
    "K1": SHAPE
    | REGION
    | {"loss": OUTLIERS}
    | {
        "neighbors": [
            "knn(K=2, W=0.05, eps=0.0001)",
            "knn(K=2, W=0.02, eps=0.0001)",
            "knn(K=2, W=0.02, eps=0.0009)",
            "knn(K=1, W=0.02, eps=0.0009)",
        ]
    },
    "LMNN": {
        "terms": ["quadratic"],  # no cone holds the others
        "cone": ["gershgorin", "diagonal"],
        "lasso": SHAPE["lasso"],
        "count": SHAPE["count"],
        "neighbors": ["unbounded + lmnn(k=1, mu=0.7)"],
    },
}
Levels = Mapping[str, int]


def spec_of(family: str, levels: Levels) -> str:
    places = FAMILIES[family]
    return " + ".join(filter(None, (places[name][level] for name, level in levels.items())))


def random_levels(random: Random, family: str, stay: float = 0.6) -> dict[str, int]:
    """Where each place stands; many at their loosest."""
    return {
        name: 0 if random.random() < stay else random.randrange(len(options))
        for name, options in FAMILIES[family].items()
    }


def tightened(random: Random, family: str, levels: Levels) -> dict[str, int]:
    """One to three places further, and the others as they are."""
    may = [name for name, level in levels.items() if level + 1 < len(FAMILIES[family][name])]
    moved = random.sample(may, min(len(may), random.randint(1, 3)))
    return {
        name: random.randrange(level + 1, len(FAMILIES[family][name])) if name in moved else level
        for name, level in levels.items()
    }


@cache
def points(seed: int) -> Dataset:
    return random_data(seed, (3, 3))


@cache
def optimum(spec: str, seed: int) -> float:
    """−∞ where nothing is feasible, or no metric holds the classes d_min apart."""
    try:
        result = mlmio.solve(spec, points(seed))
    except DataError as error:
        if "δ*" not in str(error):
            raise
        return -inf
    if result.status == "infeasible":
        return -inf
    assert (result.status, result.verified) == ("optimal", True), str(result)
    assert result.objective is not None
    return result.objective


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_restriction_is_never_better(family: str, seed: int) -> None:
    random = Random(f"{family} {seed}")
    levels = random_levels(random, family)
    loose, tight = spec_of(family, levels), spec_of(family, tightened(random, family, levels))
    assert relation(tight, loose).kind == "restriction"
    assert optimum(tight, seed) <= optimum(loose, seed) + 1e-6, f"{tight} | {loose}"


@pytest.mark.parametrize("family", [name for name in FAMILIES if "nearest" in str(FAMILIES[name])])
@pytest.mark.parametrize("seed", range(2))
def test_equivalents_have_one_optimum(family: str, seed: int) -> None:
    spec = spec_of(family, random_levels(Random(seed), family, stay=0.3))
    same = [
        f"{spec} + {encoding}".replace("bounded(", f"bounded({distances=}, ")
        for encoding, distances in product(("bigm", "mccormick"), ("variables", "substituted"))
    ]
    assert {relation(same[0], other).kind for other in same} == {"equivalent"}
    assert [optimum(other, seed) for other in same] == pytest.approx(
        [optimum(spec, seed)] * 4, abs=1e-6
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_order_is_one(family: str) -> None:
    """What is said of a and b, and of b and c, fits what is said of a and c, and of b and a."""
    random = Random(family)
    some = []
    for levels in (random_levels(random, family) for _ in range(5)):
        tighter = tightened(random, family, levels)
        chain = (levels, tighter, tightened(random, family, tighter))
        some += [mlmio.compose(spec_of(family, each)) for each in chain]
    some += [each | "mccormick" for each in some[:3] if "nearest" in str(each)]
    kind = {(a, b): relation(a, b).kind for a, b in product(some, repeat=2)}
    for a, b in product(some, repeat=2):
        assert kind[b, a] == relation(a, b).inverse.kind
    steps = 0
    for a, b, c in product(some, repeat=3):
        chain = {kind[a, b], kind[b, c]} - {"equivalent"}
        if len(chain) < 2 and "unrelated" not in chain:
            assert kind[a, c] == (chain.pop() if chain else "equivalent")
            steps += len({a, b, c}) == 3
    assert steps > 20


# --- Values that depend on the data ------------------------------------------------------------


def near_pair(seed: int) -> Dataset:
    """Two points of different classes lie so close that "auto" can be below 0.01."""
    rng = np.random.default_rng(seed)
    X = random_data(seed, (3, 3), spread=0.4).X.copy()
    X[3] = X[0] + rng.uniform(-1, 1, 2) * [0.004, 0.05]
    return Dataset(X, [0, 0, 0, 1, 1, 1])


# The distances of the second point to its neighbours of either class differ by 0.005.
NEAR_TIE = Dataset([[0.2], [0.5], [0.805], [1.0]], [0, 0, 1, 1], scale="none")
PAPER = "linear + bounded(dmin=0.02) + knn(K=1, eps='paper', alpha={})"

AUTO = {
    "cone": (
        "quadratic + diagonal + nearest",
        "quadratic + gershgorin + nearest",
        near_pair(17),
    ),
    "terms": ("linear + nearest", "linear + quadratic + nearest", near_pair(20)),
    "dmax": ("linear + nearest", "linear + nearest + bounded(dmax=2.0)", near_pair(2)),
    "K": ("linear + knn(K=1) + outliers", "linear + knn(K=2) + outliers", near_pair(8)),
    "alpha": (PAPER.format(0.01), PAPER.format(0.1), NEAR_TIE),
}


@pytest.mark.parametrize(("first", "second", "data"), AUTO.values(), ids=AUTO)
def test_the_values_of_auto_are_compared(first: str, second: str, data: Dataset) -> None:
    """The first is better, since "auto" is another number in the second: no breach."""
    a, b = mlmio.solve(first, data), mlmio.solve(second, data)
    assert a.status == b.status == "optimal"
    assert a.objective > b.objective + 1e-4  # type: ignore[operator]
    assert relation(a.resolved, b.resolved).kind in ("unrelated", "relaxation")
    assert not mlmio.compare([first, second], data).breaches


@pytest.mark.parametrize(("first", "second", "data"), AUTO.values(), ids=AUTO)
def test_nothing_false_is_said_of_auto(first: str, second: str, data: Dataset) -> None:
    """What `relation` says before the data are known holds only for equal values, and says so."""
    found = relation(first, second)
    assert found.kind in ("unrelated", "relaxation") or found.assumptions


@pytest.mark.parametrize("seed", [0, 4, 8])
def test_auto_leaves_a_solution_to_few_entries(seed: int) -> None:
    """δ* is what U entries reach, not what their relaxation does."""
    few = mlmio.solve(
        "quadratic + cardinality(U=1) + nearest + bounded(dmin=1e-5)", near_pair(seed)
    )
    assert few.status == "optimal"
    assert (
        mlmio.solve("quadratic + cardinality(U=1) + nearest", near_pair(seed)).status == "optimal"
    )
