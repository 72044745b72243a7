"""What the pictures share: palette, axes, and the geometry behind them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import DataError
from mlmio.metric import Metric
from mlmio.neighbors import differences, is_linear_map, linear_map
from mlmio.plotting import BLUE, GREEN, GREY, VERMILION, require_matplotlib

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlmio.data import Dataset

Array = NDArray[np.float64]

COLORS = (
    BLUE, VERMILION, GREEN, "#CC79A7", "#E69F00", "#56B4E9", GREY, "#F0E442", "#7B3F00", "#BBBBBB",
)  # fmt: skip
MARKERS = "os^Dv<>Ph8"
# How much of the colour of a class is in its pale one.
PALE = 0.35
# Points from which on dots shrink, so that they do not hide one another.
MANY = 500
# Lines of a legend for which there is room among the points.
MOST_INSIDE = 5
LINES = ("-", "--", "-.", ":")

# Directions in which the outline of a metric is drawn.
ANGLES = np.linspace(0.0, 2.0 * np.pi, 361)
# The outline of a metric that hardly sees a direction ends here.
FARTHEST = 8.0


def axes_for(ax: Axes | None) -> Axes:
    """Return the axes to draw into, or one of a figure of its own."""
    require_matplotlib()
    if ax is None:
        import matplotlib.pyplot as plt

        _, ax = plt.subplots(figsize=(4.8, 3.6), layout="constrained")
    return ax


def color(n: int) -> str:
    """Return the colour of the n-th class or curve."""
    return COLORS[n % len(COLORS)]


def marker(n: int) -> str:
    """Return its marker."""
    return MARKERS[n % len(MARKERS)]


def line(n: int) -> str:
    """Return its style of line."""
    return LINES[n % len(LINES)]


def plain(text: object) -> str:
    """Return a label or name so that matplotlib takes no part of it for a formula."""
    return str(text).replace("$", r"\$")


def dots(ax: Axes, points: Array, c: int, size: float, **style: Any) -> None:
    """Draw points of the c-th class, each with a rim, so that one does not hide in another."""
    rim = min(0.4, size / 40)
    look: dict[str, Any] = {"facecolor": color(c), "edgecolor": "white", "linewidth": rim, **style}
    ax.scatter(points[:, 0], points[:, 1], s=size, marker=marker(c), **look)


def dot_size(size: float, count: int) -> float:
    """Return the size of a dot among so many."""
    return size * min(1.0, (MANY / max(count, 1)) ** 0.5)


def pale(c: int) -> Any:
    """Return the colour of the c-th class mixed with white."""
    from matplotlib.colors import to_rgb

    return tuple(1.0 - PALE * (1.0 - part) for part in to_rgb(color(c)))


def legend(ax: Axes) -> None:
    """Draw the legend, beside the axes where it is long, and open the frame above and right."""
    bare(ax)
    place: dict[str, Any] = {}
    if len(ax.get_legend_handles_labels()[1]) > MOST_INSIDE:
        place = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
    ax.legend(fontsize="small", framealpha=0.85, edgecolor="none", **place)


def halo() -> Any:
    """Return the white rim of a text that is over points."""
    from matplotlib.patheffects import withStroke

    return withStroke(linewidth=2.5, foreground="white")


def bare(ax: Axes) -> None:
    """Take away the frame above and to the right."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


def unscaled(data: Dataset) -> Array:
    """Return the points in original units."""
    return np.asarray(data.X * data.scaling.factor + data.scaling.shift)


def two_of(numbers: tuple[int, int], D: int) -> list[int]:
    """Check two positions among D."""
    given = list(numbers)
    if len(given) != 2 or not all(0 <= number < D for number in given):
        raise DataError(f"there are {D} coordinates, and {numbers} was asked for: give two of them")
    return given


def coordinates_of(metric: Metric, data: Dataset) -> Array:
    """Return coordinates of the points in which the metric is the Euclidean distance."""
    if not is_linear_map(metric):
        raise DataError(
            "no linear map gives this metric, so that there are no coordinates to draw: learn with "
            "the term 'quadratic' alone and a cone such as 'gershgorin'"
        )
    return data.X @ linear_map(metric).T


def outline_of(metric: Metric, features: list[int]) -> Array:
    """Return points at one distance, the nearest of them 1 away, in the plane of two features."""
    directions = np.zeros((len(ANGLES), metric.D))
    directions[:, features] = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])
    # In every direction the distance is a polynomial of how far one goes.
    terms = np.zeros((max(metric.orders, default=0) + 1, len(ANGLES)))
    for n in metric.orders:
        term = Metric.from_entries({n: metric.entries(n)}, metric.D)
        terms[n] = differences(term, directions)
    level = terms.sum(axis=0).max()
    if level <= 0.0:
        raise DataError("the metric is zero in these features: there is no outline to draw")
    terms[0] = -level
    reach = np.minimum([_first_root(polynomial) for polynomial in terms.T], FARTHEST)
    return directions[:, features] * reach[:, None]


def _first_root(polynomial: Array) -> float:
    """Return the least root above zero of coefficients in rising order, infinite if none."""
    roots = np.polynomial.polynomial.polyroots(np.trim_zeros(polynomial, "b"))
    real = roots[np.abs(roots.imag) < 1e-9].real
    return float(real[real > 0].min(initial=np.inf))
