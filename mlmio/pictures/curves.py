"""Pictures of curves: survival with its knee, and error against coverage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mlmio.diagnostics import Diagnosis, survival
from mlmio.pictures.drawing import axes_for, bare, color, legend, line, marker, plain
from mlmio.plotting import QUIET, TEXT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlmio.risk import RiskCoverage


def plot_survival(
    diagnosis: Diagnosis, ax: Axes | None = None, labels: Iterable[Any] | None = None
) -> Axes:
    """Draw the survival curve of every class with its chord, its knee and R*.

    The points of a class up to R* are interior; R* = 0 where the sampling is insufficient.
    Kumaran et al. 2018, fig:Tradeoff_curve_figure.

    Parameters
    ----------
    diagnosis : Diagnosis
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    labels : iterable, optional
        The classes that are drawn; all by default.

    Raises
    ------
    DataError
        If no class has one of the labels.
    """
    ax = axes_for(ax)
    largest = 1.0
    known = diagnosis.data.classes.tolist()
    for label in known if labels is None else labels:
        R, S = survival(diagnosis.of_class(label))
        if not len(R):
            continue
        c = known.index(label)
        R_star, largest = diagnosis.knees[c], max(largest, R[-1])
        name = f"{plain(label)}: R* = {R_star:.3g}"
        ax.plot(R, S, color=color(c), linestyle=line(c), drawstyle="steps-pre", label=name)
        ax.plot(R[[0, -1]], S[[0, -1]], color=color(c), linewidth=0.7, alpha=0.7)
        if R_star > 0:
            at = S[np.searchsorted(R, R_star)]
            ax.plot(R_star, at, marker=marker(c), color=color(c), markeredgecolor=TEXT)
            ax.plot([R_star, R_star], [0.0, at], color=color(c), linewidth=0.7, linestyle=":")
    ax.axvline(1.0, color=QUIET, linewidth=0.8)
    above = ax.get_xaxis_transform()
    ax.text(1.0, 1.01, "outliers ▸", color=QUIET, fontsize="small", transform=above)
    ax.set(xlabel="R-ratio", ylabel="share of points with at least R")
    # One point far from its class should not press the curves against the axis.
    ax.set(xlim=(0.0, min(1.05 * largest, 2.0)), ylim=(0.0, 1.06))
    legend(ax)
    return ax


def plot_risk_coverage(
    curves: RiskCoverage | Mapping[str, RiskCoverage], ax: Axes | None = None
) -> Axes:
    """Draw error against coverage; the mark at its right end is the error at full coverage.

    Parameters
    ----------
    curves : RiskCoverage or mapping of str to RiskCoverage
        One, or several by name.
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    """
    ax = axes_for(ax)
    named = curves if isinstance(curves, Mapping) else {"": curves}
    for n, (name, curve) in enumerate(named.items()):
        label = f"{plain(name)}{': ' * bool(name)}{curve.full_error:.2%} at full coverage"
        ax.plot(curve.coverage, curve.error, color=color(n), linestyle=line(n), label=label)
        ax.plot(1.0, curve.full_error, marker=marker(n), color=color(n), clip_on=False)
    ax.set(xlabel="coverage", ylabel="error", xlim=(0.0, 1.0))
    ax.set_ylim(bottom=0.0)
    ax.xaxis.set_major_formatter("{x:.0%}")
    ax.yaxis.set_major_formatter("{x:.1%}")
    bare(ax)
    ax.legend(fontsize="small", loc="upper left", edgecolor="none")
    return ax
