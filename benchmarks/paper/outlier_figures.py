"""The two figures of the experiment ``outliers``."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.planes import KNOWN
from benchmarks.paper.record import Record
from mlmio import Dataset, Metric, diagnose
from mlmio.plotting import TEXT

Rows = NDArray[np.intp]
# A metric, and the points that vote.
Learned = tuple[Metric, Dataset]


def draw_loop(
    record: Record, before: Learned, after: Learned, planted: Rows, dropped: Rows
) -> None:
    """Draw fig:outliers."""
    from matplotlib import pyplot as plt

    from mlmio import pictures

    figure, axes = plt.subplots(2, 2, figsize=(8.4, 8.2), layout="constrained")
    for ax, (metric, points), title in (
        (axes[0, 0], before, "Metric of all points"),
        (axes[1, 0], after, "Metric without outliers"),
    ):
        pictures.plot_regions(metric, points, ax)
        ax.set_title(title, color=TEXT)
    data = before[1]
    pictures.plot_parts(diagnose(*before), axes[0, 1])
    box = {"marker": "D", "s": 190, "facecolor": "none", "edgecolor": TEXT, "linestyle": ":"}
    axes[0, 1].scatter(*data.X[planted].T, label="planted", zorder=4, **box)
    axes[0, 1].scatter(*data.X[dropped].T, s=16, c=TEXT, label="dropped", zorder=4)
    handles, names = axes[0, 1].get_legend_handles_labels()
    # What plot_parts rings under the metric of all points.
    names = ["R ≥ 1" if name == "outlier" else name for name in names]
    axes[0, 1].legend(handles, names, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncol=3)
    axes[0, 1].set_title("Outliers", color=TEXT)
    shapes = {"all points": before[0], "outliers removed": after[0]}
    pictures.plot_ellipses(shapes, axes[1, 1])
    axes[1, 1].set(title="Points at one distance", xlabel="x0", ylabel="x1")
    _alike([*axes[0], axes[1, 0]])
    record.figure("outliers", figure)


def draw_others(record: Record, data: Dataset, after: Learned) -> None:
    """Draw fig:outliersAndOther."""
    from matplotlib import pyplot as plt

    from mlmio import pictures

    figure, axes = plt.subplots(2, 2, figsize=(7.2, 7.2), layout="constrained")
    for ax, known in zip(axes.flat, KNOWN, strict=False):
        pictures.plot_regions(known, data, ax)
        ax.set_title(known.capitalize(), color=TEXT)
    pictures.plot_regions(*after, axes[1, 1])
    axes[1, 1].set_title("Learned, outliers removed", color=TEXT)
    _alike(list(axes.flat))
    for ax in axes.flat:
        ax.label_outer()
    record.figure("outliers_and_other", figure)


def _alike(axes: list[Any]) -> None:
    """Show the same part of the plane in all axes."""
    for ax in axes:
        ax.set(aspect="equal", xlim=axes[0].get_xlim(), ylim=axes[0].get_ylim())
