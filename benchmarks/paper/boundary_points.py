"""Metric from boundary points (fig:boundary-points).

Nine islands of three classes, stretched in one direction, so that the ellipse of the right metric
is known. A metric is learned from all points, every class is divided at the knee of its survival
curve (fig:Tradeoff_curve_figure), and a second metric is learned from boundary points alone; a
third, for comparison, from as many points chosen at random. Kumaran et al. 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

import mlmio
from benchmarks.paper.measures import (
    axis_ratio,
    between,
    error,
    euclidean,
    heaviest,
    metric_of,
)
from benchmarks.paper.record import Record
from mlmio import Dataset, Diagnosis, Metric, Result, pictures

FORMULATION = "quadratic + nearest"

# The islands, round before, are so many times as long as wide, at so many degrees from the x axis;
# so should be the ellipse.
STRETCH, ANGLE = 4.0, 30.0


@dataclass(frozen=True)
class Parameters:
    """Of the full run."""

    points: tuple[int, ...] = (540, 1080, 1800)  # the last is shown
    seeds: tuple[int, ...] = (0, 1, 2)
    fresh: int = 4000
    time_limit: float = 300.0
    # Both set after a first look.
    degrees: float = 10.0  # tolerance of the angle between the two ellipses
    factor: float = 1.25  # and of the quotient of their axis ratios


FAST = Parameters(points=(540,), seeds=(0,), fresh=1000, time_limit=60.0)


def run(record: Record, parameters: Parameters) -> None:
    """Learn three metrics for every size and seed, and show those of one."""
    rows: list[dict[str, object]] = []
    shown = (parameters.points[-1], parameters.seeds[0])
    for points, seed in product(parameters.points, parameters.seeds):
        data = stretched(points, seed)
        results, found = _learned(data, seed, parameters)
        for name, result in results.items():
            record.result(f"{name}_{points}_{seed}", result)
        fresh = stretched(parameters.fresh, 1000 + seed)
        facts = {"points in all": points, "seed": seed}
        rows += [facts | row for row in _measured(results, data, fresh)]
        if (points, seed) == shown:
            record.table("parts", _parts(found))
            record.figure("boundary_points", _drawn(found, results))
    record.table("metrics", rows)
    _claim(record, rows, parameters)


def stretched(points: int, seed: int) -> Dataset:
    """Islands that are stretched along ANGLE, in units of their own."""
    data = mlmio.load_dataset("islands", n=points, seed=seed, scale="none")
    turn = np.radians(ANGLE)
    axes = np.array([[np.cos(turn), np.sin(turn)], [-np.sin(turn), np.cos(turn)]])
    X = data.X @ np.diag([STRETCH, 1.0]) @ axes
    return Dataset(X, data.labels, scale="none", name=f"islands stretched, seed {seed}")


def _learned(
    data: Dataset, seed: int, parameters: Parameters
) -> tuple[dict[str, Result], Diagnosis]:
    """What all points give, what they are under it, and what subsets give."""
    results = {"all": mlmio.solve(FORMULATION, data, time_limit=parameters.time_limit)}
    found = mlmio.diagnose(metric_of(results["all"]), data)
    boundary = mlmio.boundary_subset(found)
    by_chance = np.sort(np.random.default_rng(seed).choice(data.N, len(boundary), replace=False))
    for name, rows in (("boundary", boundary), ("random", by_chance)):
        subset = data.take(rows)
        results[name] = mlmio.solve(FORMULATION, subset, time_limit=parameters.time_limit)
    return results, found


def _measured(results: dict[str, Result], data: Dataset, fresh: Dataset) -> list[dict[str, object]]:
    """Shape of every metric, how far it is from that of all points, and its error."""
    whole = metric_of(results["all"])
    rows = []
    for name, result in results.items():
        metric = metric_of(result)
        rows.append(
            {
                "learned from": name,
                "points": len(result.neighbors),
                "status": result.status,
                "verified": result.verified,
                "angle of long axis": _long_axis(metric),
                "axis ratio": axis_ratio(metric),
                "angle to that of all": between(_long_axis(metric), _long_axis(whole)),
                "axis ratio by that of all": axis_ratio(metric) / axis_ratio(whole),
                "fresh error": error(metric, data, fresh.X, fresh.labels),
                "seconds": round(result.seconds, 1),
            }
        )
    plain = error(euclidean(data), data, fresh.X, fresh.labels)
    return [*rows, {"learned from": "Euclidean", "axis ratio": 1.0, "fresh error": plain}]


def _long_axis(metric: Metric) -> float:
    """Direction that counts least, in degrees."""
    return (heaviest(metric) + 90.0) % 180.0


def _parts(found: Diagnosis) -> list[dict[str, object]]:
    """Knee and numbers of points, class by class."""
    columns = ("interior", "boundary", "outlier")
    return [
        {"class": label, "R*": knee} | dict(zip(columns, counts, strict=True))
        for label, knee, counts in zip(
            found.data.classes, found.knees, found.counts.tolist(), strict=True
        )
    ]


def _claim(record: Record, rows: list[dict], parameters: Parameters) -> None:
    learned = [row for row in rows if "status" in row]
    proven = sum(row["status"] == "optimal" and row["verified"] for row in learned)
    record.claim(
        "every metric is proven optimal", f"{proven} of {len(learned)}", proven == len(learned)
    )
    whole = [row for row in learned if row["learned from"] == "all"]
    away = max(between(row["angle of long axis"], ANGLE) for row in whole)
    shape = [row["axis ratio"] / STRETCH for row in whole]
    record.claim(
        "all points give the ellipse that the data were made with",
        f"{away:.2f} degrees off, axis ratio {_range(shape)} of the true one",
        away <= parameters.degrees and _close(shape, parameters.factor),
    )
    kept = [row for row in learned if row["learned from"] == "boundary"]
    share = max(row["points"] / row["points in all"] for row in kept)
    record.claim("boundary points are fewer than a quarter", f"{share:.1%}", share < 0.25)
    turned = max(row["angle to that of all"] for row in kept)
    record.claim(
        f"boundary points turn the ellipse by {parameters.degrees:g} degrees at most",
        f"{turned:.2f} degrees",
        turned <= parameters.degrees,
    )
    quotients = [row["axis ratio by that of all"] for row in kept]
    record.claim(
        f"boundary points change its axis ratio by a factor of {parameters.factor:g} at most",
        _range(quotients),
        _close(quotients, parameters.factor),
    )


def _range(values: list[float]) -> str:
    return f"{min(values):.3f} to {max(values):.3f}"


def _close(quotients: list[float], factor: float) -> bool:
    return all(1.0 / factor <= each <= factor for each in quotients)


def _drawn(found: Diagnosis, results: dict[str, Result]):
    """Above all points, below boundary points: the points, their coordinates, the metric."""
    import matplotlib.pyplot as plt

    data, kept = found.data, found.data.take(mlmio.boundary_subset(found))
    whole, few = (metric_of(results[name]) for name in ("all", "boundary"))
    figure, axes = plt.subplots(2, 3, figsize=(13.0, 7.4), layout="constrained")
    pictures.plot_parts(found, axes[0, 0])
    pictures.plot_survival(found, axes[0, 1])
    _near_zero(axes[0, 1], found)
    shown = {f"all {data.N} points": whole, f"{kept.N} boundary points": few}
    pictures.plot_ellipses(shown, axes[0, 2])
    axes[0, 2].set_title("Points at one distance")
    pictures.plot_coordinates(euclidean(kept), kept, axes[1, 0], (1, 0))
    axes[1, 0].set_title("Boundary points")
    for ax, title, metric, points in (
        (axes[1, 1], "All points, metric from all", whole, data),
        (axes[1, 2], "Boundary points, metric from these", few, kept),
    ):
        pictures.plot_coordinates(metric, points, ax)
        ax.set_title(title)
    for ax in axes[1]:
        # The classes are named above, and here they fill the axes.
        ax.get_legend().remove()
    for ax in (axes[0, 0], axes[1, 0], axes[0, 2]):
        ax.set(aspect="equal", xlabel="x", ylabel="y")
    return figure


def _near_zero(ax, found: Diagnosis) -> None:
    """Show the part of the survival curves where there are points, far from outliers."""
    ax.set(xlim=(0.0, 1.1 * found.ratios.max()), title="Share that survives, and the knees")
    for text in ax.texts:
        text.set_clip_on(True)
