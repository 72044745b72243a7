"""The picture of a strength study: what share of the root gap is closed, in what time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mlmio.pictures.drawing import axes_for, color, legend, marker, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mlmio.relaxations import Strength


def plot_strength(strength: Strength, ax: Axes | None = None) -> Axes:
    """Draw the share of the root gap that every LP relaxation closes against its time.

    The time is that of building the model, in which bounds and cuts are found, and of its LP.

    Parameters
    ----------
    strength : Strength
    ax
        See :func:`~mlmio.pictures.plot_parts`.
    """
    from mlmio.comparison_table import own_parts

    ax = axes_for(ax)
    names = own_parts(strength.comparison)
    for n, (name, each) in enumerate(zip(names, strength.relaxations, strict=True)):
        if each.run.result is not None and each.lp_closed is not None:
            time = each.run.result.build_s + each.run.result.lp_s
            look: dict[str, Any] = {"color": color(n), "marker": marker(n), "linewidth": 0}
            ax.plot(time, each.lp_closed, label=plain(name), **look)
    ax.set(xscale="log", xlabel="build and LP, s", ylabel="root gap closed by the LP, %")
    ax.set_ylim(-4.0, 104.0)
    legend(ax)
    return ax
