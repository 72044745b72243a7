"""Smooth class boundaries (fig:boundary): regions under four distances.

On two sets of the plane, the regions of the nearest neighbour under the learned metric, Manhattan,
Euclidean and Chebyshev: how long their boundaries are, of how many parts they are, and the error
on fresh points. ``islands`` is spread alike in all directions, ``two_lines`` is not. The metric is
the optimum of S0 over the matrices of the Gershgorin cone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import pandas as pd

from benchmarks.paper.measures import metric_of, over_seeds, row
from benchmarks.paper.planes import KNOWN, divide
from benchmarks.paper.record import Record
from mlmio import Dataset, Metric, load_dataset, solve
from mlmio.plotting import TEXT, require_matplotlib

LEARNED = "learned"
DISTANCES = (LEARNED, *KNOWN)


@dataclass(frozen=True)
class Parameters:
    """Values of the full run."""

    formulation: str = "quadratic + gershgorin + nearest"
    # Points of each set; those of two_lines are so few that neighbours along a line are far.
    islands: int = 180
    two_lines: int = 100
    seeds: int = 20
    # Points on which the error is measured.
    fresh: int = 2000
    time_limit: float = 60.0


FAST = Parameters(islands=90, two_lines=60, seeds=3, fresh=500)

# How much longer than the Euclidean boundary of islands the learned one may be: "the Euclidean
# metric performs similarly".
SIMILAR = 1.05


def run(record: Record, parameters: Parameters) -> None:
    """Learn on every set and seed, measure, and draw the first seed."""
    require_matplotlib()
    rows, statuses, drawn = [], [], []
    for name in ("islands", "two_lines"):
        for seed in range(parameters.seeds):
            data = load_dataset(name, n=getattr(parameters, name), seed=seed)
            result = solve(parameters.formulation, data, time_limit=parameters.time_limit)
            metric = metric_of(result)
            record.result(f"{name}_{seed}", result)
            statuses.append({"set": name, "seed": seed, **row(result)})
            rows += _measured(name, seed, data, metric, parameters)
            if seed == 0:
                drawn.append((name, data, metric))
        record.say(f"{name}: {parameters.seeds} seeds")
    table = pd.DataFrame(rows)
    record.table("seeds", table)
    record.table("solves", statuses)
    columns = ["length", "regions", "error"]
    record.table("boundaries", over_seeds(table, ["set", "distance"], columns).round(4))
    _claim(record, table, pd.DataFrame(statuses))
    _draw(record, drawn)


def _measured(
    name: str, seed: int, data: Dataset, metric: Metric, parameters: Parameters
) -> list[dict[str, object]]:
    """One row a distance."""
    # Another seed, which no set that is learned from has.
    fresh = load_dataset(name, n=parameters.fresh, seed=10_000 + seed, scale="none")
    rows: list[dict[str, object]] = []
    for distance in DISTANCES:
        which = metric if distance == LEARNED else distance
        measured = divide(which, data, fresh.X, fresh.labels)
        rows.append({"set": name, "seed": seed, "distance": distance, **asdict(measured)})
    return rows


def _claim(record: Record, table: pd.DataFrame, solves: pd.DataFrame) -> None:
    optimal = int(((solves.status == "optimal") & solves.verified).sum())
    record.claim(
        "every metric is a proven and verified optimum",
        f"{optimal} of {len(solves)}",
        optimal == len(solves),
    )
    means = table.groupby(["set", "distance"])[["length", "error"]].mean()
    for name in ("islands", "two_lines"):
        length, error = means.length[name], means.error[name]
        jagged = ("manhattan", "chebyshev") if name == "islands" else KNOWN
        record.claim(
            f"{name}: the learned boundary is shorter than under {', '.join(jagged)}",
            ", ".join(f"{d} {length[d]:.3f}" for d in DISTANCES),
            all(length[LEARNED] < length[d] for d in jagged),
        )
        record.claim(
            f"{name}: the error on fresh points is larger than under the others by at most 0.005",
            ", ".join(f"{d} {error[d]:.4f}" for d in DISTANCES),
            error[LEARNED] <= error[list(KNOWN)].min() + 0.005,
        )
    ratio = means.length["islands", LEARNED] / means.length["islands", "euclidean"]
    record.claim(
        "islands: the Euclidean distance performs similarly, its boundary shorter by 5% at most",
        f"learned over Euclidean {ratio:.3f}",
        ratio <= SIMILAR,
    )


def _draw(record: Record, drawn: list[tuple[str, Dataset, Metric]]) -> None:
    from matplotlib import pyplot as plt

    from mlmio import pictures

    # two_lines is little more than half as high as it is wide.
    figure, axes = plt.subplots(
        len(drawn), len(DISTANCES), figsize=(12.0, 5.6), height_ratios=(1.0, 0.59),
        layout="constrained",
    )  # fmt: skip
    for line, (name, data, metric) in zip(axes, drawn, strict=True):
        for ax, distance in zip(line, DISTANCES, strict=True):
            pictures.plot_regions(metric if distance == LEARNED else distance, data, ax)
            ax.set_title(f"{name}, {distance.capitalize()}", color=TEXT)
            ax.set_aspect("equal")
            ax.label_outer()
    record.figure("boundaries", figure)
