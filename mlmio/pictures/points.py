"""Pictures of points: where they are, what they are, and what they look like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlmio.data.validation import whole_number
from mlmio.diagnostics import BOUNDARY, INTERIOR, OUTLIER, PARTS, Diagnosis, class_number
from mlmio.errors import DataError
from mlmio.pictures.drawing import (
    axes_for,
    color,
    coordinates_of,
    dot_size,
    dots,
    halo,
    legend,
    pale,
    plain,
    two_of,
    unscaled,
)
from mlmio.plotting import BLUE, QUIET, TEXT, VERMILION
from mlmio.recommending import nearest_opposing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlmio.data import Dataset
    from mlmio.metric import Metric
    from mlmio.recommending import Recommendations


Array = NDArray[np.float64]


def plot_points(data: Dataset, ax: Axes | None = None, features: tuple[int, int] = (0, 1)) -> Axes:
    """Draw the points of a data set, each class with a colour and a marker.

    The more points there are, the smaller they are drawn.

    Parameters
    ----------
    data : Dataset
    ax, features
        See :func:`~mlmio.pictures.plot_parts`.
    """
    ax = axes_for(ax)
    points = unscaled(data)[:, two_of(features, data.D)]
    for c in range(data.n_classes):
        dots(ax, points[data.y == c], c, dot_size(22, data.N), label=plain(data.classes[c]))
    names = [plain(data.feature_names[f]) for f in features]
    ax.set(xlabel=names[0], ylabel=names[1])
    legend(ax)
    return ax


def plot_parts(
    diagnosis: Diagnosis, ax: Axes | None = None, features: tuple[int, int] = (0, 1)
) -> Axes:
    """Draw the points, those inside their class pale, boundary points full and outliers ringed.

    Kumaran et al. 2018, fig:Tradeoff_curve_figure.

    Parameters
    ----------
    diagnosis : Diagnosis
    ax : matplotlib Axes, optional
        Where to draw; a figure of its own by default.
    features : pair of int, default (0, 1)
        Which features are drawn, in original units.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MlmioError
        If matplotlib is not installed.
    DataError
        If there are no such features.
    """
    ax = axes_for(ax)
    data = diagnosis.data
    points = unscaled(data)[:, two_of(features, data.D)]
    interior, boundary = diagnosis.parts == INTERIOR, diagnosis.parts == BOUNDARY
    outlier = diagnosis.parts == OUTLIER
    for c in range(data.n_classes):
        look = {"facecolor": pale(c), "edgecolor": color(c), "linewidth": 0.6}
        dots(ax, points[interior & (data.y == c)], c, 18, **look)
    for c in range(data.n_classes):
        # Above all that are interior.
        dots(ax, points[~interior & (data.y == c)], c, 26, label=plain(data.classes[c]))
    x, y = points[outlier].T
    ring: dict[str, Any] = {"facecolor": "none", "edgecolor": TEXT, "linewidth": 1.1}
    if len(x):
        ax.scatter(x, y, s=80, marker="o", **ring, label="outlier")
    names = [plain(data.feature_names[f]) for f in features]
    counts = f"{interior.sum()} interior (pale), {boundary.sum()} boundary, {outlier.sum()} outlier"
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_title(counts, fontsize="small", color=QUIET)
    legend(ax)
    return ax


def plot_recommendations(
    recommendations: Recommendations, ax: Axes | None = None, features: tuple[int, int] = (0, 1)
) -> Axes:
    """Draw each point to check and its opposing point, joined, with the centre of the region.

    The number at a centre is its place in the order of priority.

    Parameters
    ----------
    recommendations : Recommendations
    ax, features
        See :func:`~mlmio.pictures.plot_parts`, over which it can be drawn.
    """
    ax = axes_for(ax)
    data = recommendations.diagnosis.data
    chosen = two_of(features, data.D)
    points = unscaled(data)[:, chosen]
    ends = zip(points[recommendations.rows], points[recommendations.opposing], strict=True)
    for pair in ends:
        ax.plot(*np.transpose(pair), color=TEXT, linewidth=0.9, zorder=3)
    for n, centre in enumerate(recommendations.centres[:, chosen], start=1):
        ax.plot(*centre, marker=".", color=TEXT, markersize=3, zorder=3)
        number = ax.annotate(str(n), centre, xytext=(4, 4), textcoords="offset points", zorder=4)
        number.set(fontsize="small", fontweight="bold", color=TEXT, path_effects=[halo()])
    return ax


def plot_coordinates(
    metric: Metric, data: Dataset, ax: Axes | None = None, coordinates: tuple[int, int] = (0, 1)
) -> Axes:
    """Draw the points in coordinates in which the metric is the Euclidean distance.

    Kumaran et al. 2018, fig:boundary-points.

    Parameters
    ----------
    metric : Metric
        In the scaling of the data.
    data : Dataset
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    coordinates : pair of int, default (0, 1)
        Which are drawn; the first is that of the largest eigenvalue.

    Raises
    ------
    DataError
        If no linear map gives the metric.
    """
    ax = axes_for(ax)
    points = coordinates_of(metric, data)[:, two_of(coordinates, data.D)]
    for c in range(data.n_classes):
        dots(ax, points[data.y == c], c, 22, label=plain(data.classes[c]))
    names = [f"metric coordinate {n}" for n in coordinates]
    ax.set(xlabel=names[0], ylabel=names[1])
    ax.set_aspect("equal", adjustable="datalim")
    legend(ax)
    return ax


def plot_signatures(metric: Metric, data: Dataset, ax: Axes | None = None) -> Axes:
    """Draw every point as a row of its metric coordinates, class by class.

    A vertical streak is a coordinate that is the same all over a class: together they are its
    signature (Kumaran et al. 2018, fig:6-d-example and fig:IRIS). Blue is below the mean of all
    points, vermilion above.

    Parameters
    ----------
    metric, data
        See :func:`plot_coordinates`.
    ax
        See :func:`~mlmio.pictures.plot_parts`.

    Raises
    ------
    DataError
        If no linear map gives the metric.
    """
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.ticker import MaxNLocator

    ax = axes_for(ax)
    points = coordinates_of(metric, data)
    points = points - points.mean(axis=0)
    order = np.argsort(data.y, kind="stable")
    most = np.abs(points).max() or 1.0
    colors = LinearSegmentedColormap.from_list("signature", [BLUE, "white", VERMILION])
    image = ax.imshow(
        points[order], cmap=colors, vmin=-most, vmax=most, aspect="auto", interpolation="nearest"
    )
    ax.figure.colorbar(image, ax=ax, label="coordinate less its mean over all points")
    ends = np.cumsum(data.class_sizes)
    for end in ends[:-1]:
        ax.axhline(end - 0.5, color=TEXT, linewidth=1.0)
    ax.set_yticks(ends - data.class_sizes / 2 - 0.5, [plain(label) for label in data.classes])
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("metric coordinate, by falling eigenvalue")
    return ax


def plot_image_rows(
    diagnosis: Diagnosis,
    images: ArrayLike,
    ax: Axes | None = None,
    n: int = 8,
    labels: Iterable[Any] | None = None,
) -> Axes:
    """Draw rows of images: interior points, boundary points, outliers, and what opposes these.

    The innermost, those of the boundary that are nearest to being outliers, and the farthest
    outliers, each above the nearest point of another class (Kumaran et al. 2018, fig:Ri:MNIST).

    Parameters
    ----------
    diagnosis : Diagnosis
    images : (N, height, width) or (N, height, width, 3) array
        The image of every point.
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    n : int, default 8
        How many in a row.
    labels : iterable, optional
        The classes whose points are drawn; all by default.

    Raises
    ------
    DataError
        If there is not one image for each point, or no class has one of the labels.
    """
    count = whole_number(n, "n")
    pixels = np.asarray(images, dtype=float)
    N = diagnosis.data.N
    if pixels.ndim not in (3, 4) or len(pixels) != N or 0 in pixels.shape:
        raise DataError(
            f"the images have shape {pixels.shape}: give one of (height, width) for each of the "
            f"{N} points"
        )
    ax = axes_for(ax)
    rows = _image_rows(diagnosis, count, labels)
    least, most = pixels.min(), pixels.max()
    height, width = pixels.shape[1:3]
    high, wide = height * 1.12, width * 1.12
    for line, chosen in enumerate(rows.values()):
        for column, row in enumerate(chosen):
            left, top = column * wide, line * high
            extent = (left, left + width, top + height, top)
            ax.imshow(pixels[row], cmap="gray_r", extent=extent, vmin=least, vmax=most)
    ax.set(xlim=(-0.1 * width, count * wide), ylim=(len(rows) * high, -0.1 * height))
    ax.set_yticks([line * high + height / 2 for line in range(len(rows))], list(rows))
    ax.set_xticks([])
    ax.tick_params(length=0)
    for spine in ax.spines.values():
        spine.set_visible(False)
    return ax


def _image_rows(
    diagnosis: Diagnosis, count: int, labels: Iterable[Any] | None
) -> dict[str, NDArray[np.intp]]:
    """Rows of the points in each line of the picture, by its caption."""
    data = diagnosis.data
    known = np.arange(data.n_classes)
    chosen = known if labels is None else [class_number(data, label) for label in labels]
    inside, boundary, outliers = (
        rows[np.isin(data.y[rows], chosen)] for rows in map(diagnosis.rows, PARTS)
    )
    outliers = outliers[:count]
    opposing = nearest_opposing(diagnosis, outliers)
    return {
        INTERIOR: inside[::-1][:count],
        BOUNDARY: boundary[:count],
        OUTLIER: outliers,
        "opposing": opposing[opposing >= 0],
    }
