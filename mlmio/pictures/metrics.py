"""Pictures of metrics: their shape, what they weigh, and how they divide a plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.data.validation import whole_number
from mlmio.diagnostics import class_number
from mlmio.errors import DataError
from mlmio.metric import Metric
from mlmio.neighbors import LabelledIndex
from mlmio.pictures.drawing import (
    axes_for,
    bare,
    color,
    dot_size,
    dots,
    legend,
    line,
    outline_of,
    plain,
    two_of,
    unscaled,
)
from mlmio.plotting import BLUE, QUIET, TEXT
from mlmio.structure import Significance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlmio.data import Dataset


Array = NDArray[np.float64]

#: Distances by name, for comparison with a learned one.
KNOWN = ("manhattan", "euclidean", "chebyshev")

# Points on each side of the grid on which regions are found.
GRID = 250


def plot_ellipses(
    metrics: Metric | Mapping[str, Metric],
    ax: Axes | None = None,
    features: tuple[int, int] = (0, 1),
) -> Axes:
    """Draw the points at one distance from a centre, an ellipse for a quadratic metric.

    In scaled coordinates, the other features equal. Since the unit of a metric means nothing, every
    outline is drawn so large that its shorter half-axis is 1; a long axis is a direction that
    counts little. Kumaran et al. 2018, fig:boundary-points.

    Parameters
    ----------
    metrics : Metric or mapping of str to Metric
        One, or several by name.
    ax, features
        See :func:`~mlmio.pictures.plot_parts`.
    """
    ax = axes_for(ax)
    named = metrics if isinstance(metrics, Mapping) else {"": metrics}
    known = next(iter(named.values())).feature_names
    names = [f"{plain(known[f])} (scaled)" for f in features]
    ax.set(xlabel=names[0], ylabel=names[1])
    for n, (name, metric) in enumerate(named.items()):
        outline = outline_of(metric, two_of(features, metric.D))
        ax.plot(*outline.T, color=color(n), linestyle=line(n), label=plain(name))
    ax.plot(0.0, 0.0, "+", color=QUIET)
    ax.set_aspect("equal", adjustable="datalim")
    bare(ax)
    if len(named) > 1:
        legend(ax)
    return ax


def plot_significance(significance: Significance, ax: Axes | None = None, most: int = 20) -> Axes:
    """Draw the significance of the coordinates as bars, the largest on top.

    Parameters
    ----------
    significance : Significance
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    most : int, default 20
        At most so many bars.
    """
    ax = axes_for(ax)
    order = np.argsort(-significance.values, kind="stable")[:most]
    total = significance.values.sum() or 1.0
    ax.barh(range(len(order)), significance.values[order] / total, color=BLUE, height=0.7)
    ax.set_yticks(range(len(order)), [plain(significance.feature_names[j]) for j in order])
    ax.invert_yaxis()
    measure = "λ" if significance.psd else "|λ|, since B is indefinite"
    ax.set_xlabel(f"share of significance ({measure})")
    bare(ax)
    return ax


def plot_regions(
    metric: Metric | str | Any, data: Dataset, ax: Axes | None = None, n_neighbors: int = 1
) -> Axes:
    """Draw which class the nearest neighbours, or a classifier, give every place, with the points.

    Kumaran et al. 2018, fig:boundary.

    Parameters
    ----------
    metric : Metric, str or classifier
        A learned one, or ``manhattan``, ``euclidean`` or ``chebyshev``, of scaled features; or
        something fitted whose ``predict`` takes points in original units and returns labels.
    data : Dataset
        With two features.
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    n_neighbors : int, default 1
        How many neighbours vote; ties go to the first class. A classifier has its own way.

    Raises
    ------
    DataError
        If the data have not two features, there is no distance of that name, or the classifier
        predicts a label that the data have not.
    """
    from matplotlib.colors import ListedColormap

    if data.D != 2:
        raise DataError(f"{data.name} has {data.D} features: regions are drawn over two")
    k = whole_number(n_neighbors, "n_neighbors")
    ax = axes_for(ax)
    places = _grid(data)
    found = _class_of(metric, data, places.reshape(-1, 2), k).reshape(places.shape[:2])
    at = places * data.scaling.factor + data.scaling.shift
    x, y = at[..., 0], at[..., 1]
    shades = ListedColormap([color(c) for c in range(data.n_classes)])
    ax.pcolormesh(
        x, y, found, cmap=shades, vmin=-0.5, vmax=data.n_classes - 0.5, alpha=0.3, rasterized=True,
        linewidth=0,
    )  # fmt: skip
    points = unscaled(data)
    for c in range(data.n_classes):
        ax.contour(x, y, found == c, levels=[0.5], colors=TEXT, linewidths=0.6)
        label = plain(data.classes[c])
        dots(ax, points[data.y == c], c, dot_size(14, data.N), label=label)
    ax.set(xlabel=plain(data.feature_names[0]), ylabel=plain(data.feature_names[1]))
    ax.set_title(_title(metric), fontsize="small", color=QUIET)
    return ax


def _grid(data: Dataset) -> Array:
    """(GRID, GRID, 2) places around the scaled points."""
    low, high = data.X.min(axis=0), data.X.max(axis=0)
    room = 0.04 * np.where(high > low, high - low, 1.0)
    sides = np.linspace(low - room, high + room, GRID)
    return np.stack(np.meshgrid(sides[:, 0], sides[:, 1]), axis=-1)


def _title(metric: Any) -> str:
    if isinstance(metric, str):
        return metric
    return "learned" if isinstance(metric, Metric) else "predicted"


def _class_of(metric: Any, data: Dataset, places: Array, k: int) -> Array:
    """Class of every place by the vote of the k nearest points, or by a classifier."""
    if hasattr(metric, "predict"):
        labels = metric.predict(places * data.scaling.factor + data.scaling.shift)
        different, codes = np.unique(labels, return_inverse=True)
        return np.array([class_number(data, label) for label in different.tolist()])[codes]
    if isinstance(metric, Metric):
        index = LabelledIndex(metric, data.X, data.y, data.n_classes)
        return index.votes(places, k).argmax(axis=1)
    if metric not in KNOWN:
        raise DataError(
            f"there is no distance {metric!r}: give a Metric, a classifier, or one of "
            f"{', '.join(KNOWN)}"
        )
    from sklearn.neighbors import KNeighborsClassifier

    return KNeighborsClassifier(k, metric=metric).fit(data.X, data.y).predict(places)
