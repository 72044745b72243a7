"""The figures of a report, each drawn into an axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mlmio.bench.statistics import Array, performance_ratios, power_law, share_within
from mlmio.bench.tables import Contest, scaling_data
from mlmio.bench.ticks import apart, ticks_between
from mlmio.pages import figure
from mlmio.pictures.drawing import bare, color, line, marker, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

# More curves than these cannot be told apart: the first of the summary are drawn.
MOST_CURVES = 12
# Further right it is all the same.
MOST_GAP = 10.0
WIDTH, HEIGHT, LINE = 5.2, 3.3, 0.2
# Room below the shortest and above the longest time, as a factor.
MARGIN = 1.3
# Letters of a legend's entry that has a line of its own.
LONG = 26

PROFILE = (
    "Performance profile (Dolan and Moré 2002): the share of instances that are solved within τ "
    "times the time of the fastest. It says who is the fastest how often, at the left, and who "
    "solves how much, at the right."
)
MISLEADS = (
    "With more than two contestants a profile misleads on who is second: every ratio is to the "
    "fastest of all (Gould and Scott 2016). For any two, read the curves against time."
)
TIME = "The share of instances that are solved within a time: building, LP bound and solve."
GAP = (
    "The share of instances whose relative gap at the end is at most so much. At the left are "
    "those that are solved to no gap, and those that are proven to have no solution or no bound; "
    "what has no verified incumbent, or none that is bounded, is never reached."
)
SCALING = (
    "Time against N, up to the first size at which an instance is unsolved, with the fit of a "
    "power law where there are three sizes."
)


def figures(contest: Contest, order: Sequence[str]) -> list[str]:
    """Draw the figures of a contest as HTML.

    Parameters
    ----------
    contest : Contest
    order : sequence of str
        Labels of the contestants, the best first.
    """
    of_label = {label: contestant for contestant, label in contest.labels.items()}
    names = {of_label[label]: label for label in order[:MOST_CURVES]}
    left = len(order) - len(names)
    more = f" The first {len(names)} of {len(order)} contestants are drawn." if left else ""
    drawn = []
    if len(contest.labels) > 1 and contest.instances:
        note = f" {MISLEADS}" if len(contest.labels) > 2 else ""
        drawn.append(_svg(PROFILE + note + more, names, lambda ax: _profile(ax, contest, names)))
    if contest.instances:
        drawn.append(_svg(TIME + more, names, lambda ax: _times(ax, contest, names)))
        drawn.append(_svg(GAP + more, names, lambda ax: _gaps(ax, contest, names)))
    return [*drawn, *_scalings(contest, names, more)]


def _svg(caption: str, names: dict[str, str], draw: Callable[[Axes], Any]) -> str:
    """Draw with a legend below, so that the axes of all figures are of one size."""
    columns = 2 if max(map(len, names.values())) <= LONG else 1
    height = HEIGHT + LINE * -(-len(names) // columns)

    def with_legend(ax: Axes) -> None:
        draw(ax)
        bare(ax)
        shown: dict[str, Any] = {"fontsize": "small", "frameon": False, "ncols": columns}
        ax.figure.legend(loc="outside lower left", handlelength=2.8, **shown)

    return figure(caption, with_legend, "svg", (WIDTH, height))


def _steps(
    ax: Axes,
    names: dict[str, str],
    curves: dict[str, tuple[Array, Array]],
    ends: tuple[float, float],
) -> None:
    """Draw shares as steps, from the left end to the right one."""
    for n, (contestant, label) in enumerate(names.items()):
        at, share = curves[contestant]
        x = np.concatenate([[ends[0]], np.maximum(at, ends[0]), [ends[1]]])
        y = np.concatenate([[0.0], share, share[-1:] if share.size else [0.0]])
        style: dict[str, Any] = {"color": color(n), "linestyle": line(n), "linewidth": 1.6}
        ax.plot(x, y, drawstyle="steps-post", label=plain(label), **style)
    ax.set(xscale="log", xlim=ends, ylim=(0.0, 1.03), ylabel="share of instances")
    ax.yaxis.set_major_formatter("{x:.0%}")
    ax.grid(color="#CCCCCC", linewidth=0.5)


def _label(axis: Axis, ends: tuple[float, float], unit: str = "", factor: float = 1.0) -> None:
    """Label a logarithmic axis from end to end, its minor ticks not at all."""
    from matplotlib.ticker import NullFormatter

    at = ticks_between(*ends)
    axis.set_ticks(at, [f"{factor * value:g}{unit}" for value in at])
    axis.set_minor_formatter(NullFormatter())


def _profile(ax: Axes, contest: Contest, names: dict[str, str]) -> None:
    times = contest.matrix("seconds")
    # The fastest of all, drawn or not.
    ratios = performance_ratios(times.to_numpy(float))
    curves = {name: share_within(ratios[:, times.columns.get_loc(name)]) for name in names}
    finite = ratios[np.isfinite(ratios)]
    ends = (1.0, 1.1 * max(2.0, finite.max(initial=1.0)))
    _steps(ax, names, curves, ends)
    ax.set_xlabel("τ: time over that of the fastest")
    _label(ax.xaxis, ends)


def _times(ax: Axes, contest: Contest, names: dict[str, str]) -> None:
    times = contest.matrix("seconds")
    curves = {name: share_within(times[name]) for name in names}
    values = times.to_numpy(float)
    values = values[np.isfinite(values)]
    limit = float(contest.cells["limit"].max())
    last = max(limit if np.isfinite(limit) else 0.0, values.max(initial=1.0))
    ends = (0.8 * values.min(initial=last / 2), 1.1 * last)
    _steps(ax, names, curves, ends)
    ax.set_xlabel("seconds")
    _label(ax.xaxis, ends)


def _gaps(ax: Axes, contest: Contest, names: dict[str, str]) -> None:
    gaps = contest.matrix("gap")
    curves = {name: share_within(gaps[name]) for name in names}
    values = gaps.to_numpy(float)
    values = values[np.isfinite(values) & (values > 0.0)]
    # No gap has no place on a logarithmic axis: it is at its left end.
    first = 10.0 ** np.floor(np.log10(max(1e-6, 0.5 * values.min(initial=2e-4))))
    ends = (first, min(MOST_GAP, max(1.0, 1.1 * values.max(initial=0.0))))
    _steps(ax, names, curves, ends)
    ax.set_xlabel("relative gap")
    _label(ax.xaxis, ends, "%", 100.0)


def _scalings(contest: Contest, names: dict[str, str], more: str) -> list[str]:
    """One figure for each data set with several sizes."""
    parts: dict[str, dict[str, Any]] = {}
    for contestant, dataset, cells in scaling_data(contest):
        if contestant in names and len(cells):
            parts.setdefault(dataset, {})[contestant] = cells
    return [
        _svg(
            f"{dataset}. {SCALING}{more}",
            {name: names[name] for name in names if name in part},
            lambda ax, part=part: _scaling(ax, part, names),  # type: ignore[misc]
        )
        for dataset, part in parts.items()
        if len({N for cells in part.values() for N in cells["N"]}) > 1
    ]


def _scaling(ax: Axes, part: dict[str, Any], names: dict[str, str]) -> None:
    sizes = sorted({float(N) for cells in part.values() for N in cells["N"]})
    for n, (contestant, label) in enumerate(names.items()):
        if contestant not in part:
            continue
        N, seconds = (part[contestant][name].to_numpy(float) for name in ("N", "seconds"))
        law = power_law(N, seconds)
        said = "" if law is None else f", N^{law.exponent:.1f}"
        look: dict[str, Any] = {"color": color(n), "marker": marker(n), "markersize": 4}
        style = line(n) if law is not None else ""
        ax.plot([], [], linestyle=style, label=plain(label) + said, **look)
        ax.plot(N, seconds, linestyle="", alpha=0.6, **look)
        if law is not None:
            ends = np.array([N.min(), N.max()])
            ax.plot(ends, law.at(ends), color=color(n), linestyle=line(n))
    ax.set(xscale="log", yscale="log", xlabel="N", ylabel="seconds")
    labelled = apart(sizes)
    ax.set_xticks(labelled, [f"{N:g}" for N in labelled])
    ax.minorticks_off()
    times = np.concatenate([cells["seconds"].to_numpy(float) for cells in part.values()])
    shown = (float(times.min()) / MARGIN, float(times.max()) * MARGIN)
    ax.set_ylim(shown)
    _label(ax.yaxis, shown)
    ax.grid(color="#CCCCCC", linewidth=0.5)
