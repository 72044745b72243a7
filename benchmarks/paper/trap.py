"""Target neighbours and triplets that mislead (fig:target-neighbors, fig:triplet, fig:synthetic).

Layers of alternating class, in columns: the Euclidean nearest point of a class is two layers away,
with the other class between. The paper's model, which chooses neighbours, is beside LMNN with
Euclidean target neighbours for several K, and the same targets and, on three bars, triplets are
asked for as constraints. Kumaran et al. 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

import mlmio
from benchmarks.paper.lmnn import by_block, by_peer
from benchmarks.paper.measures import euclidean, metric_of, misled
from benchmarks.paper.record import Record
from mlmio import Dataset, Metric, pictures
from mlmio.pictures.drawing import dots
from mlmio.plotting import QUIET

FORMULATION = "quadratic + psd_cuts + nearest"
LEARNED = "chosen by the model"


@dataclass(frozen=True)
class Parameters:
    """Of the full run."""

    points: tuple[int, ...] = (36, 48, 60)  # of the layers; the middle one is drawn
    neighbors: tuple[int, ...] = (1, 3, 5, 7)  # of LMNN
    bars: int = 36
    peer: bool = True  # needs metric-learn
    time_limit: float = 120.0
    tolerance: float = 0.02  # of B, its largest entry one
    apart: float = 1.5  # weights that differ by such a factor are inconsistent; set after a look


FAST = Parameters(points=(48,), peer=False, time_limit=60.0)


def run(record: Record, parameters: Parameters) -> None:
    """Learn with and without targets, on layers and on bars."""
    learned: dict[int, dict[str, Metric]] = {}
    for points in parameters.points:
        learned[points] = _learned(record, _layers(points), parameters)
    table = pd.DataFrame(
        {"points": points, "targets": name} | _measured(metric, _layers(points))
        for points, metrics in learned.items()
        for name, metric in metrics.items()
    )
    record.table("targets", table)
    _claim_metrics(record, table, parameters)
    shown = sorted(parameters.points)[len(parameters.points) // 2]
    bars = _bars(record, parameters)
    _sides(record, _layers(shown), bars, parameters)
    record.figure("trap", _drawn(_layers(shown), learned[shown], bars))


def _layers(points: int) -> Dataset:
    return mlmio.load_dataset("target_trap", n=points, scale="none")


def _learned(record: Record, data: Dataset, parameters: Parameters) -> dict[str, Metric]:
    """Ours, and LMNN for every K, by name."""
    result = mlmio.solve(FORMULATION, data, time_limit=parameters.time_limit)
    record.result(f"learned_{data.N}", result)
    record.claim(
        f"{data.N} points: the metric is proven optimal",
        result.status,
        result.status == "optimal" and result.verified,
    )
    found = {LEARNED: metric_of(result)}
    for k in parameters.neighbors:
        result = by_block(data, k, parameters.time_limit)
        record.result(f"lmnn_{data.N}_{k}", result)
        found[f"LMNN, K = {k}"] = metric_of(result)
    for k in parameters.neighbors if parameters.peer else ():
        metric = found[f"metric-learn LMNN, K = {k}"] = by_peer(data, k)
        record.metric(f"metric_learn_lmnn_{data.N}_{k}", metric)
    return found


def _unit(metric: Metric) -> np.ndarray:
    """B, its largest entry one: the unit of a metric means nothing."""
    return metric.B / np.abs(metric.B).max()


def _measured(metric: Metric, data: Dataset) -> dict[str, float]:
    B = _unit(metric)
    return {
        "B_xx": B[0, 0],
        "B_xy": B[0, 1],
        "B_yy": B[1, 1],
        "weight of x against y": B[0, 0] / B[1, 1],
        "misled points": misled(metric, data),
    }


def _claim_metrics(record: Record, table: pd.DataFrame, parameters: Parameters) -> None:
    """What is claimed of B, for every number of points."""
    for points, rows in table.groupby("points"):
        ours = rows[rows["targets"] == LEARNED].iloc[0]
        away = max(abs(ours["B_xx"]), abs(ours["B_xy"]), abs(ours["B_yy"] - 1.0))
        record.claim(
            f"{points} points: the learned B is diag(0, 1) within {parameters.tolerance:g}",
            f"at most {away:.2g} away",
            away <= parameters.tolerance,
        )
        count = ours["misled points"]
        record.claim(f"{points} points: it misleads none", count, count == 0)
        lmnn = rows[rows["targets"].str.startswith("LMNN")]
        weights = lmnn["weight of x against y"]
        listed = ", ".join(f"{weight:.3g}" for weight in weights)
        record.claim(
            f"{points} points: LMNN gives diag(0, 1) for no K", listed, (weights > 0.2).all()
        )
        record.claim(
            f"{points} points: its weight of x against y differs among K by a factor of at least "
            f"{parameters.apart:g}",
            f"{weights.max() / weights.min():.3g}",
            weights.max() >= parameters.apart * weights.min(),
        )


def _bars(record: Record, parameters: Parameters) -> tuple[Dataset, Metric]:
    """The three bars, and what is learned from them without triplets."""
    data = mlmio.load_dataset("triplet_trap", n=parameters.bars, scale="none")
    result = mlmio.solve(FORMULATION, data, time_limit=parameters.time_limit)
    record.result("learned_bars", result)
    metric = metric_of(result)
    B = _unit(metric)
    away = np.abs(B - np.diag([1.0, 0.0])).max()
    record.claim(
        f"bars: the learned B is diag(1, 0) within {parameters.tolerance:g}, proven optimal",
        f"{away:.2g} away, {result.status}",
        away <= parameters.tolerance and result.status == "optimal" and result.verified,
    )
    count = misled(metric, data)
    record.claim("bars: it misleads none", count, count == 0)
    held = {
        name: _kept(each, data, misleading_triplets(data))
        for name, each in (("learned", metric), ("Euclidean", euclidean(data)))
    }
    record.claim("bars: no misleading triplet is kept", held, not any(held.values()))
    return data, metric


def _sides(
    record: Record, layers: Dataset, bars: tuple[Dataset, Metric], parameters: Parameters
) -> None:
    """Ask for misleading targets and triplets as constraints, and for right ones."""
    asked: list[tuple[str, Dataset, str, str]] = [
        ("Euclidean targets", layers, f"target_neighbors(pairs={euclidean_targets(layers)})",
         "infeasible"),
        ("targets of the same layer", layers, f"target_neighbors(pairs={layer_targets(layers)})",
         "optimal"),
        ("triplets across the bars", bars[0],
         f"triplets(triplets={misleading_triplets(bars[0])})", "infeasible"),
        ("triplets within a bar", bars[0], f"triplets(triplets={right_triplets(bars[0])})",
         "optimal"),
    ]  # fmt: skip
    rows = []
    for name, data, block, expected in asked:
        limit = parameters.time_limit
        result = mlmio.solve(f"{FORMULATION} + {block}", data, time_limit=limit)
        record.result(name.replace(" ", "_").lower(), result)
        rows.append({"asked for": name, "status": result.status, "objective": result.objective})
        record.claim(f"{name} as constraints: {expected}", result.status, result.status == expected)
    record.table("constraints", rows)


def euclidean_targets(data: Dataset) -> tuple[tuple[int, int], ...]:
    """Each point and its nearest of the same class."""
    return tuple(_nearest(data, lambda i: data.co_class(i)))


def layer_targets(data: Dataset) -> tuple[tuple[int, int], ...]:
    """Each point and the nearest of its layer of three."""
    layer = np.arange(data.N) // 3
    return tuple(_nearest(data, lambda i: np.setdiff1d(np.flatnonzero(layer == layer[i]), [i])))


def _nearest(data: Dataset, candidates: Any) -> Iterator[tuple[int, int]]:
    for i in range(data.N):
        rows = candidates(i)
        yield i, int(rows[((data.X[rows] - data.X[i]) ** 2).sum(axis=1).argmin()])


def misleading_triplets(data: Dataset) -> tuple[tuple[int, int, int], ...]:
    """Left point, right point, and what is midway between them."""
    return tuple((i, i + 2, i + 1) for i in range(0, data.N - 2, 3))


def right_triplets(data: Dataset) -> tuple[tuple[int, int, int], ...]:
    """Left point, another of the same bar, and the middle one."""
    return tuple((i, (i + 3) % data.N, i + 1) for i in range(0, data.N - 2, 3))


def _kept(metric: Metric, data: Dataset, triplets: tuple[tuple[int, int, int], ...]) -> int:
    """How many triplets hold."""
    i, j, k = np.transpose(triplets)
    d = metric.scaled_distance(data.X, data.X)
    return int((d[i, j] < d[i, k]).sum())


def _drawn(layers: Dataset, metrics: dict[str, Metric], bars: tuple[Dataset, Metric]):
    """Targets, what is learned with and without them, triplets, and what is learned without."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 2, figsize=(9.4, 8.2), layout="constrained")
    _draw_joined(axes[0, 0], layers, euclidean_targets(layers), bend=0.35)
    axes[0, 0].set_title("Layers, and Euclidean target neighbours")
    own = {name: each for name, each in metrics.items() if not name.startswith("metric-learn")}
    _draw_ellipses(axes[0, 1], own)
    pairs = [pair[:2] for pair in misleading_triplets(bars[0])]
    _draw_joined(axes[1, 0], bars[0], pairs)
    axes[1, 0].set_title("Bars, and misleading triplets")
    _draw_ellipses(axes[1, 1], {LEARNED: bars[1], "Euclidean": euclidean(bars[0])})
    return figure


def _draw_ellipses(ax, metrics: dict[str, Metric]) -> None:
    pictures.plot_ellipses(metrics, ax)
    ax.set(xlabel="x", ylabel="y", title="Points at one distance")


def _draw_joined(ax, data: Dataset, pairs: Any, bend: float = 0.0) -> None:
    """Points, and pairs of them joined, around what is between where they are bent."""
    line = {"arrowstyle": "-", "color": QUIET, "linewidth": 0.8, "shrinkA": 0, "shrinkB": 0}
    for i, j in pairs:
        arc = line | {"connectionstyle": f"arc3,rad={bend if i < j else -bend}"}
        ax.annotate("", data.X[j], data.X[i], arrowprops=arc, zorder=0)
    for c in range(data.n_classes):
        dots(ax, data.X[data.y == c], c, 26)
    ax.set(aspect="equal", xlabel="x", ylabel="y")
