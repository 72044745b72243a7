"""Six features, three classes, told apart by two oblique directions (fig:6-d-example).

Signatures of the points, a row each, before and after: in four of the given features every class is
spread nearly as all points are, and in the other two less; in the two coordinates of the learned
metric that have most of the weight each class is a vertical stripe. How striped a picture is, a
number says: the spread within classes as a share of that of all points, coordinate by coordinate.
Kumaran et al. 2018.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mlmio
from benchmarks.paper.measures import Array, error, euclidean, matrix, metric_of
from benchmarks.paper.record import Record
from mlmio import Dataset, Metric, pictures

FORMULATION = "quadratic + psd_cuts + nearest"


@dataclass(frozen=True)
class Parameters:
    """Of the full run."""

    points: tuple[int, ...] = (45, 90)  # the last is drawn
    seed: int = 0
    fresh: int = 3000
    time_limit: float = 240.0
    strategy: str = "auto"
    # Between margin and bound, as a share of the margin; nothing is claimed of it where None.
    gap: float | None = 0.01
    # Of the weight of the metric, what is in the two directions that matter.
    share: float = 0.9
    # Spread within classes, as a share of that of all points.
    striped: float = 0.5


# Alternation, which proves nothing, takes seconds.
FAST = Parameters(
    points=(45,), fresh=1000, time_limit=60.0, strategy="alternating", gap=None
)  # fmt: skip


def run(record: Record, parameters: Parameters) -> None:
    """Learn for every number of points, and draw the last."""
    fresh = mlmio.load_dataset("six_d", n=parameters.fresh, seed=1000, scale="none")
    rows = []
    for points in parameters.points:
        data = mlmio.load_dataset("six_d", n=points, seed=parameters.seed, scale="none")
        result = mlmio.solve(
            FORMULATION, data, strategy=parameters.strategy, time_limit=parameters.time_limit
        )
        record.result(f"learned_{points}", result)
        metric, plain = metric_of(result), euclidean(data)
        facts = {
            "points": points,
            "status": result.status,
            "margin": result.objective,
            "bound": result.bound,
            "gap": np.inf if result.gap is None else result.gap,
            "verified": result.verified,
            "weight in the two directions": informative_share(metric),
            "fresh error": error(metric, data, fresh.X, fresh.labels),
            "Euclidean fresh error": error(plain, data, fresh.X, fresh.labels),
        }
        rows.append(facts)
        spreads = {
            "given": within_spread(plain, data),
            "learned": within_spread(metric, data),
        }
        _claim(record, facts, spreads, parameters)
    record.table("learned", rows)
    record.table("spread", _spread_rows(spreads, metric))
    record.figure("six_d", _drawn(data, metric, spreads))


def informative_share(metric: Metric) -> float:
    """Share of the trace of B that is in the two directions which tell the classes apart."""
    v = np.arange(1.0, 7.0)
    directions = (np.eye(6) - 2.0 * np.outer(v, v) / (v @ v))[:2]
    B = matrix(metric)
    return float(np.trace(directions @ B @ directions.T) / np.trace(B))


def coordinates(metric: Metric, X: Array) -> Array:
    """Coordinates in which the metric is the Euclidean distance, by falling eigenvalue."""
    values, vectors = np.linalg.eigh(metric.B)
    return (X @ (vectors * np.sqrt(np.clip(values, 0.0, None))))[:, ::-1]


def within_spread(metric: Metric, data: Dataset) -> Array:
    """Standard deviation within classes as a share of that of all points, for each coordinate.

    The last entry is that of all coordinates together, which those of much weight dominate.
    """
    points = data.X if _is_unit(metric) else coordinates(metric, data.X)
    means = np.stack([points[data.y == c].mean(axis=0) for c in range(data.n_classes)])
    within = ((points - means[data.y]) ** 2).mean(axis=0)
    total = ((points - points.mean(axis=0)) ** 2).mean(axis=0)
    within, total = np.append(within, within.sum()), np.append(total, total.sum())
    # A coordinate of no weight is the same everywhere, within classes as among them.
    return np.sqrt(np.divide(within, total, out=np.full(len(total), np.nan), where=total > 1e-12))


def _is_unit(metric: Metric) -> bool:
    return np.array_equal(metric.B, np.eye(metric.D))


def _spread_rows(spreads: dict[str, Array], metric: Metric) -> list[dict[str, object]]:
    """One row for each coordinate, and one for all together."""
    values = np.linalg.eigvalsh(matrix(metric))[::-1]
    weights = np.append(values / values.sum(), 1.0)
    names = [*range(metric.D), "all"]
    return [
        {"coordinate": name, "given": given, "learned": learned, "weight": weight}
        for name, given, learned, weight in zip(
            names, spreads["given"], spreads["learned"], weights, strict=True
        )
    ]


def _claim(record: Record, facts: dict, spreads: dict[str, Array], parameters: Parameters) -> None:
    n = facts["points"]
    if parameters.gap is not None:
        record.claim(
            f"{n} points: the margin is verified, and within {parameters.gap:.0%} of its bound",
            f"{facts['status']}, margin {facts['margin']:.4f}, gap {facts['gap']:.2%}",
            facts["verified"] and facts["gap"] <= parameters.gap,
        )
    share = facts["weight in the two directions"]
    record.claim(
        f"{n} points: at least {parameters.share:.0%} of the weight is in the two directions",
        f"{share:.1%}",
        share >= parameters.share,
    )
    first = spreads["learned"][:2]
    record.claim(
        f"{n} points: in the two coordinates of most weight the spread within classes is at most "
        f"{parameters.striped:g} of that of all points",
        " and ".join(f"{each:.2f}" for each in first),
        (first <= parameters.striped).all(),
    )
    before, after = spreads["given"][-1], spreads["learned"][-1]
    record.claim(
        f"{n} points: over all coordinates together it is smaller than before",
        f"{after:.2f} after, {before:.2f} before",
        after < before,
    )
    ours, theirs = facts["fresh error"], facts["Euclidean fresh error"]
    record.claim(
        f"{n} points: the error on fresh points is smaller than the Euclidean",
        f"{ours:.2%} against {theirs:.2%}",
        ours < theirs,
    )


def _drawn(data: Dataset, metric: Metric, spreads: dict[str, Array]):
    """Signatures before and after, and the points before and after in two coordinates."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(10.0, 8.0), layout="constrained")
    before, after = spreads["given"][-1], spreads["learned"][-1]
    pictures.plot_signatures(euclidean(data), data, axes[0, 0])
    # Of equal eigenvalues the last feature comes first.
    axes[0, 0].set_xticks(range(data.D), reversed(range(data.D)))
    axes[0, 0].invert_xaxis()
    axes[0, 0].set(xlabel="given feature", title=f"Before: spread within classes {before:.2f}")
    pictures.plot_signatures(metric, data, axes[0, 1])
    axes[0, 1].set_title(f"After: spread within classes {after:.2f}")
    pictures.plot_coordinates(euclidean(data), data, axes[1, 0], (data.D - 1, data.D - 2))
    axes[1, 0].set(xlabel="given feature 0", ylabel="given feature 1", title="Two given features")
    pictures.plot_coordinates(metric, data, axes[1, 1])
    axes[1, 1].set_title("Two metric coordinates")
    return figure
