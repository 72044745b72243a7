"""Two close lines: the weight is orthogonal to them (Kumaran et al. 2018, fig:lines).

A metric is learned from two noisy parallel lines, by the paper's model without outliers, with B
positive semidefinite. Shown are the direction of its largest eigenvector, the ellipse, and which
class every place gets. Beside it are the Euclidean distance and LMNN with Euclidean target
neighbours, both as a convex program solved to its optimum and as metric-learn finds it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mlmio
from benchmarks.paper.lmnn import by_block, by_peer
from benchmarks.paper.measures import (
    axis_ratio,
    between,
    error,
    euclidean,
    heaviest,
    matrix,
    metric_of,
    misled,
)
from benchmarks.paper.record import Record
from mlmio import Dataset, Metric, pictures
from mlmio.pictures.drawing import dots
from mlmio.plotting import TEXT

# The lines run at 30 degrees.
ALONG, NORMAL = 30.0, 120.0
FORMULATION = "quadratic + psd_cuts + nearest"


@dataclass(frozen=True)
class Parameters:
    """Of the full run."""

    points: int = 60
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)  # the first is drawn
    fresh: int = 4000
    neighbors: tuple[int, ...] = (1, 3, 5, 7)  # of LMNN
    shown: int = 3  # of these, the one that is drawn
    peer: bool = True  # needs metric-learn
    stretch: float = 30.0  # about 1 from line to line, as the margin of LMNN is
    time_limit: float = 120.0
    degrees: float = 2.0  # tolerance of the direction
    along: float = 0.01  # the most weight along the lines, as a share of that across


FAST = Parameters(points=40, seeds=(0,), neighbors=(1, 3), peer=False, time_limit=60.0)


def run(record: Record, parameters: Parameters) -> None:
    """Learn for every seed, compare for the first, and draw it."""
    learned = {}
    rows = []
    for seed in parameters.seeds:
        data = _data(parameters.points, seed)
        result = mlmio.solve(FORMULATION, data, time_limit=parameters.time_limit)
        record.result(f"learned_{seed}", result)
        learned[seed] = metric_of(result)
        proof = {"status": result.status, "verified": result.verified}
        rows += [
            {"seed": seed, "learner": name} | facts | _measured(metric, data, parameters)
            for name, facts, metric in (
                ("learned", proof, learned[seed]),
                ("Euclidean", dict.fromkeys(proof), euclidean(data)),
            )
        ]
    record.table("seeds", rows)
    _claim(record, rows, parameters)

    first = parameters.seeds[0]
    data = _data(parameters.points, first)
    metrics = {"learned": learned[first], "Euclidean": euclidean(data)}
    metrics |= _lmnn(record, data, parameters)
    record.table(
        "learners",
        [{"learner": name} | _measured(each, data, parameters) for name, each in metrics.items()],
    )
    record.figure("lines", _drawn(data, metrics, parameters))


def _data(points: int, seed: int) -> Dataset:
    return mlmio.load_dataset("two_lines", n=points, seed=seed, scale="none")


def _lmnn(record: Record, data: Dataset, parameters: Parameters) -> dict[str, Metric]:
    """LMNN for every K, by name."""
    found = {}
    for k in parameters.neighbors:
        result = by_block(data, k, parameters.time_limit)
        record.result(f"lmnn_{k}", result)
        found[f"LMNN, K = {k}"] = metric_of(result)
    if parameters.peer:
        found |= _peers(record, data, parameters)
    return found


def _peers(record: Record, data: Dataset, parameters: Parameters) -> dict[str, Metric]:
    """Learn by metric-learn for every K, and for one on points that are farther apart."""
    k, stretch = parameters.shown, parameters.stretch
    found = {f"metric-learn LMNN, K = {each}": by_peer(data, each) for each in parameters.neighbors}
    found[f"metric-learn LMNN, K = {k}, points times {stretch:g}"] = by_peer(data, k, stretch)
    for n, metric in enumerate(found.values()):
        record.metric(f"metric_learn_lmnn_{n}", metric)
    return found


def _measured(metric: Metric, data: Dataset, parameters: Parameters) -> dict[str, float]:
    """Direction, shape and errors."""
    fresh = mlmio.load_dataset("two_lines", n=parameters.fresh, seed=1000, scale="none")
    least, most = np.linalg.eigvalsh(matrix(metric))
    return {
        "direction": np.nan if most == least else heaviest(metric),
        "from normal": np.nan if most == least else between(heaviest(metric), NORMAL),
        "weight along": _weight(metric, ALONG) / _weight(metric, NORMAL),
        "axis ratio": axis_ratio(metric),
        "misled points": misled(metric, data),
        "fresh error": error(metric, data, fresh.X, fresh.labels),
    }


def _weight(metric: Metric, degrees: float) -> float:
    """Squared distance of two points that are one apart in a direction."""
    way = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    return float(way @ matrix(metric) @ way)


def _claim(record: Record, rows: list[dict], parameters: Parameters) -> None:
    ours = [row for row in rows if row["learner"] == "learned"]
    theirs = [row for row in rows if row["learner"] == "Euclidean"]
    proven = sum(row["status"] == "optimal" and row["verified"] for row in ours)
    record.claim("every metric is proven optimal", f"{proven} of {len(ours)}", proven == len(ours))
    turned = max(row["from normal"] for row in ours)
    record.claim(
        f"the largest eigenvector is within {parameters.degrees:g} degrees of the normal",
        f"at most {turned:.2f} degrees",
        turned <= parameters.degrees,
    )
    along = max(row["weight along"] for row in ours)
    record.claim(
        f"the weight along the lines is at most {parameters.along:g} of that across",
        f"at most {along:.2g}",
        along <= parameters.along,
    )
    errors = [(a["fresh error"], b["fresh error"]) for a, b in zip(ours, theirs, strict=True)]
    record.claim(
        "the error on fresh points is smaller than the Euclidean",
        "; ".join(f"{a:.2%} against {b:.2%}" for a, b in errors),
        all(a < b for a, b in errors),
    )


def _drawn(data: Dataset, metrics: dict[str, Metric], parameters: Parameters):
    """The points with the direction of most weight, the ellipses, and the regions."""
    import matplotlib.pyplot as plt

    named = [f"{who}LMNN, K = {parameters.shown}" for who in ("", "metric-learn ")]
    shown = {name: metrics[name] for name in ("learned", "Euclidean", *named) if name in metrics}
    figure, axes = plt.subplots(2, 3, figsize=(11.5, 6.6), layout="constrained")
    _draw_direction(axes[0, 0], data, metrics["learned"])
    pictures.plot_ellipses(shown, axes[0, 1])
    axes[0, 1].set(xlabel="x", ylabel="y", title="Points at one distance")
    below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.15), "ncols": 2}
    axes[0, 1].legend(fontsize="small", edgecolor="none", **below)
    for ax, (name, metric) in zip(axes.flat[2:], shown.items(), strict=False):
        pictures.plot_regions(metric, data, ax)
        ax.set(aspect="equal", xlabel="x", ylabel="y")
        ax.set_title(f"Regions: {name}", color="black", fontsize="large")
    for ax in axes.flat[2 + len(shown) :]:
        ax.set_axis_off()
    return figure


def _draw_direction(ax, data: Dataset, metric: Metric) -> None:
    """The points, and a double arrow along the largest eigenvector."""
    for c, name in enumerate(("lower line", "upper line")):
        dots(ax, data.X[data.y == c], c, 18, label=name)
    angle = np.radians(heaviest(metric))
    middle, across = data.X.mean(axis=0), 0.15 * np.array([np.cos(angle), np.sin(angle)])
    arrow = {"arrowstyle": "<->", "color": TEXT, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", middle + across, middle - across, arrowprops=arrow)
    ax.text(*(middle - across), f" {heaviest(metric):.1f}°", color=TEXT, va="top")
    ax.legend(fontsize="small", edgecolor="none")
    ax.set(aspect="equal", xlabel="x", ylabel="y", title="Points, and the direction of most weight")
