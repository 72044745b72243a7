"""Handling outliers (fig:outliers, fig:outliersAndOther): the loop of three steps, and its regions.

Points of ``islands`` are given the label of another class, one in an island at most. The loop
learns, drops the points with R ≥ 1, and learns again; the points of a round are dropped in turn, so
that those beside an outlier stay. What is left gives the refined metric, the optimum of S0. Counted
are the planted outliers among the dropped points, and the error on clean fresh points before and
after, beside Manhattan, Euclidean and Chebyshev. Other ways to find outliers are compared: dropping
all at once, the loop around S0 itself, and the blocks ``outliers`` of the model.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.preprocessing import FunctionTransformer

from benchmarks.paper.measures import metric_of, over_seeds, row
from benchmarks.paper.outlier_figures import Learned, Rows, draw_loop, draw_others
from benchmarks.paper.planes import KNOWN, divide
from benchmarks.paper.record import Record
from mlmio import (
    Dataset,
    MIOMetricClassifier,
    OutlierLoop,
    Result,
    load_dataset,
    solve,
)
from mlmio.plotting import require_matplotlib

# Of the generator: nine islands, whose points alternate.
ISLANDS = 9


@dataclass(frozen=True)
class Parameters:
    """Values of the full run."""

    s0: str = "quadratic + gershgorin + nearest"
    # S0 is decided by its worst point, which an outlier is; the hinge adds up over all points.
    learner: str = "quadratic + gershgorin + nearest(k=3) + hinge(margin=0.01)"
    # So dear that no point is given up but where λ ≥ 0 asks for it.
    blocks: tuple[str, ...] = (
        "outliers(rho=0.1, semantics='remove')",
        "outliers(rho=0.1, semantics='excuse')",
    )
    points: int = 180
    planted: int = 6
    # How far a planted outlier is from all other points at least.
    apart: float = 0.01
    seeds: int = 20
    # Seeds on which the blocks and the loop around S0 are compared.
    compared: int = 5
    # Points on which the error is measured, without outliers.
    fresh: int = 2000
    time_limit: float = 15.0


FAST = Parameters(points=90, seeds=3, compared=0, fresh=500, time_limit=60.0)

# Thresholds of the claims, chosen before anything was run.
LEAST_RECALL, LEAST_PRECISION = 0.9, 0.8

IN_TURN, AT_ONCE = "hinge, in turn", "hinge, all at once"


def run(record: Record, parameters: Parameters) -> None:
    """Plant, find and measure on every seed, and draw the first."""
    require_matplotlib()
    limit = parameters.time_limit
    found: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    results: dict[tuple[int, str], Result] = {}
    for seed in range(parameters.seeds):
        data, planted = plant(parameters, seed)
        loop = _loop(data, parameters.learner, limit)
        kept = data.take(loop.rows_)
        solved = [solve(parameters.s0, points, time_limit=limit) for points in (data, kept)]
        results |= {(seed, "before"): solved[0], (seed, "after"): solved[1]}
        results[seed, "loop"] = loop.learner_.result_
        at_once = _loop(data, parameters.learner, limit, in_turn=False)
        ways = {IN_TURN: loop.outliers_, AT_ONCE: at_once.outliers_}
        if seed < parameters.compared:
            ways |= _other_ways(data, parameters, seed, results)
        found += [{"seed": seed, "way": way, **scores(rows, planted)} for way, rows in ways.items()]
        before, after = (metric_of(solved[0]), data), (metric_of(solved[1]), kept)
        errors += _errors(seed, before, after, parameters)
        if seed == 0:
            draw_loop(record, before, after, planted, loop.outliers_)
            draw_others(record, data, after)
        record.say(f"seed {seed}: {len(loop.outliers_)} points dropped")
    _write(record, found, errors, results)


def plant(parameters: Parameters, seed: int) -> tuple[Dataset, Rows]:
    """Give points of ``islands`` the label of another class; returns their rows as well."""
    clean = load_dataset("islands", n=parameters.points, seed=seed, scale="none")
    rng = np.random.default_rng(seed)
    alone = np.sort(cdist(clean.X, clean.X), axis=1)[:, 1] >= parameters.apart
    # One in an island at most, so that no outlier has another beside it.
    islands = rng.choice(ISLANDS, parameters.planted, replace=False)
    places = [np.flatnonzero(alone & (np.arange(clean.N) % ISLANDS == n)) for n in islands]
    rows = np.array([rng.choice(place) for place in places])
    labels = clean.labels.copy()
    labels[rows] = (labels[rows] + rng.integers(1, 3, size=len(rows))) % 3
    # They fill the unit square, so that there is nothing to scale.
    return Dataset(clean.X, labels, scale="none", name="islands with outliers"), rows


def scores(found: Rows, planted: Rows) -> dict[str, float]:
    """Recall and precision of what was found."""
    hits = len(np.intersect1d(found, planted))
    return {
        "dropped": len(found),
        "recall": hits / len(planted),
        "precision": hits / max(len(found), 1),
    }


def _loop(data: Dataset, learner: str, limit: float, in_turn: bool = True) -> OutlierLoop:
    # The exact search takes no hinge.
    strategy = "alternating" if "hinge" in learner else "auto"
    one = MIOMetricClassifier(learner, strategy=strategy, time_limit=limit, scale="none")
    return OutlierLoop(one, in_turn=in_turn).fit(data.X, data.labels)


def _other_ways(
    data: Dataset, parameters: Parameters, seed: int, results: dict[tuple[int, str], Result]
) -> dict[str, Rows]:
    """Rows that the loop around S0 drops, and those that the blocks give up."""
    limit = parameters.time_limit
    ways = {
        f"S0, {name}": _loop(data, parameters.s0, limit, in_turn).outliers_
        for name, in_turn in (("in turn", True), ("all at once", False))
    }
    for block in parameters.blocks:
        result = solve(f"{parameters.s0} + {block}", data, time_limit=limit)
        results[seed, block] = result
        ways[block] = np.flatnonzero(np.isin(data.ids, result.outliers))
    return ways


def _errors(
    seed: int, before: Learned, after: Learned, parameters: Parameters
) -> list[dict[str, Any]]:
    """One row for every distance and the points that vote under it."""
    # Another seed, which no set that is learned from has, and no outliers.
    fresh = load_dataset("islands", n=parameters.fresh, seed=10_000 + seed, scale="none")
    data = before[1]
    # Without a transformation the distance is Euclidean.
    euclidean = OutlierLoop(FunctionTransformer(), in_turn=True).fit(data.X, data.labels)
    ways: list[tuple[str, str, Any, Dataset]] = [
        ("learned", "all", before[0], data),
        ("learned", "kept", after[0], after[1]),
        *((known, "all", known, data) for known in KNOWN),
        ("euclidean", "kept", "euclidean", data.take(euclidean.rows_)),
    ]
    return [
        {"seed": seed, "distance": name, "points": points}
        | asdict(divide(metric, voting, fresh.X, fresh.labels))
        for name, points, metric, voting in ways
    ]


def _write(
    record: Record,
    found: list[dict[str, Any]],
    errors: list[dict[str, Any]],
    results: dict[tuple[int, str], Result],
) -> None:
    """Write all tables and certificates, and claim."""
    solves = []
    for (seed, name), result in results.items():
        word = name.partition("'")[2].rstrip("')") or name
        record.result(f"{word}_{seed}", result)
        given_up = {"given up": len(result.outliers)}
        solves.append({"seed": seed, "solve": name, **row(result), **given_up})
    dropped, regions = pd.DataFrame(found), pd.DataFrame(errors)
    record.table("found_by_seed", dropped)
    record.table("regions_by_seed", regions)
    record.table("solves", solves)
    columns = ["dropped", "recall", "precision"]
    record.table("found", over_seeds(dropped, ["way"], columns).round(4))
    columns = ["error", "length", "regions"]
    record.table("regions", over_seeds(regions, ["distance", "points"], columns).round(4))
    _claim(record, dropped, regions, pd.DataFrame(solves))


def _claim(
    record: Record, dropped: pd.DataFrame, regions: pd.DataFrame, solves: pd.DataFrame
) -> None:
    loop = dropped[dropped.way == IN_TURN]
    for what, least in (("recall", LEAST_RECALL), ("precision", LEAST_PRECISION)):
        mean, spread = loop[what].mean(), loop[what].std()
        record.claim(
            f"{what} of the planted outliers, dropped in turn, is {least} or more",
            f"{mean:.3f}, standard deviation {spread:.3f} over {len(loop)} seeds",
            mean >= least,
        )
    means = regions.groupby(["distance", "points"])[["error", "length"]].mean()
    error = means.error
    others = [("learned", "all"), *((known, "all") for known in KNOWN)]
    record.claim(
        "the error on clean fresh points falls, below that of Manhattan, Euclidean and Chebyshev",
        f"after {error['learned', 'kept']:.4f}; with outliers "
        + ", ".join(f"{name} {error[name, points]:.4f}" for name, points in others),
        error["learned", "kept"] < error[others].min(),
    )
    length = means.length
    record.claim(
        "the boundary becomes shorter, also than under Manhattan, Euclidean and Chebyshev",
        f"after {length['learned', 'kept']:.3f}; with outliers "
        + ", ".join(f"{name} {length[name, points]:.3f}" for name, points in others),
        length["learned", "kept"] < length[others].min(),
    )
    after = solves[solves.solve == "after"]
    proven = int(((after.status == "optimal") & after.verified).sum())
    record.claim(
        "every refined metric is a proven and verified optimum",
        f"{proven} of {len(after)}",
        proven == len(after),
    )
