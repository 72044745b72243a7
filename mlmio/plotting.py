"""Figures."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import networkx as nx

from mlmio.errors import MlmioError
from mlmio.lattice import slot_graph
from mlmio.registry import blocks
from mlmio.slots import SLOTS, Slot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NONE = "(none)"

# The palette of Okabe and Ito, told apart in every common colour blindness, its green darkened so
# that text in it can be read. The edge of a box, and the same mixed with white for its inside. No
# meaning rests on the colour alone.
BLUE, VERMILION, GREEN, GREY = "#0072B2", "#D55E00", "#007D5A", "#5F5F5F"
FILLS = {BLUE: "#DCEBF6", VERMILION: "#FBE6D8", GREEN: "#DCF0EA", GREY: "#EEEEEE"}
TEXT, QUIET = "#1A1A1A", "#4D4D4D"

# Sizes in inches, and of letters in points; an axes of another width scales them all.
WIDTH, LEFT, EDGE = 6.6, 1.9, 0.15
GAP, ARROW = 0.36, 0.55
CAPTION, LEADING, LANE = 0.46, 0.14, 0.26
HEAD, FOOT = 0.5, 1.12
NAME, SMALL = 9.0, 7.2

_EFFECTS = {
    "relaxes": (BLUE, "each one more relaxes ▸"),
    "restricts": (VERMILION, "◂ each one restricts"),
    "equivalent": (GREEN, "all have one optimum"),
    "unrelated": (GREY, "no order between them"),
    "ordered": (GREY, ""),
}


def plot_lattice(ax: Axes | None = None) -> Axes:
    """Draw the lattice of the registered blocks, slot by slot.

    Further right is looser: an arrow leads from a block to one whose optimum is never below its
    own. In the slot ``encoding``, whose blocks have the same optimum, a dashed arrow leads from an
    encoding to one whose LP bound is never below its own.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw; a figure of its own by default.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    MlmioError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_lattice()
    >>> ax.figure.savefig("lattice.pdf")  # doctest: +SKIP
    """
    require_matplotlib()
    lanes = [_lane(slot) for slot in SLOTS.values()]
    lanes = [lane for lane in lanes if lane.places]
    width = max(WIDTH, *(lane.right + EDGE for lane in lanes))
    height = HEAD + FOOT + sum(lane.height for lane in lanes)
    ax = ax or _new_axes(width, height)
    ax.set(xlim=(0, width), ylim=(-height, 0))
    ax.set_axis_off()
    pen = _Pen(ax, width)
    _draw_head(pen)
    top = -HEAD
    for lane in lanes:
        _draw_lane(pen, lane, top)
        top -= lane.height
    _draw_foot(pen, top)
    return ax


def require_matplotlib() -> None:
    """Raise MlmioError where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MlmioError("figures need matplotlib: install it with pip install 'mlmio[plots]'")


def _new_axes(width: float, height: float) -> Axes:
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(width, height), facecolor="white")
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


@dataclass(frozen=True)
class _Box:
    """A block in the figure: its lines of text and its size."""

    name: str
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> float:
        widths = [_text_width(self.name, NAME), *(_text_width(n, SMALL) for n in self.notes)]
        return max(widths) + 0.24

    @property
    def height(self) -> float:
        return 0.32 + LEADING * len(self.notes)


@dataclass(frozen=True)
class _Lane:
    """One slot: where its boxes stand, as (box, left edge, middle), and what is between them."""

    slot: Slot
    effect: str
    height: float
    right: float
    places: dict[str, tuple[_Box, float, float]]
    arrows: tuple[tuple[str, str], ...]
    signs: tuple[float, ...]


def _lane(slot: Slot) -> _Lane:
    """Lay out a slot: components side by side, each from tight on the left to loose."""
    equivalent = slot.peers == "equivalent"
    graph = nx.transitive_reduction(
        slot_graph(slot.name, "tightens" if equivalent else "restricts")
    )
    boxes = {name: _Box(name, tuple(_notes(blocks.get(name)))) for name in graph}
    if slot.adding == "restricts" and graph:
        loosest = [name for name in graph if not graph.out_degree(name)]
        graph.add_edges_from((name, NONE) for name in loosest)
        boxes[NONE] = _Box(NONE)
    places: dict[str, tuple[_Box, float, float]] = {}
    signs: list[float] = []
    left, tallest = LEFT, 0.0
    for part in sorted(map(sorted, nx.weakly_connected_components(graph)), key=_by_order):
        if places:
            signs.append(left - GAP / 2)
        # Each as near as it can be to what it restricts.
        columns = list(nx.topological_generations(graph.subgraph(part).reverse()))[::-1]
        for column in columns:
            stack = [boxes[name] for name in sorted(column)]
            width = max(box.width for box in stack)
            tallest = max(tallest, _stack_height(stack))
            y = _stack_height(stack) / 2
            for box in stack:
                places[box.name] = (box, left + (width - box.width) / 2, y - box.height / 2)
                y -= box.height + LEADING
            left += width + ARROW
        left += GAP - ARROW
    return _Lane(
        slot,
        _effect(slot, graph),
        max(tallest, CAPTION) + LANE,
        left - GAP,
        places,
        tuple(graph.edges),
        tuple(signs),
    )


def _by_order(names: list[str]) -> tuple[Any, ...]:
    """Terms by their order, everything else by name."""
    orders = [getattr(blocks.get(name)(), "order", 0) for name in names if name != NONE]
    return (min(orders, default=0), names)


def _stack_height(column: list[_Box]) -> float:
    return sum(box.height for box in column) + LEADING * (len(column) - 1)


def _effect(slot: Slot, graph: Any) -> str:
    if slot.adding in ("relaxes", "restricts"):
        return slot.adding
    if slot.peers == "equivalent":
        return "equivalent"
    return "ordered" if graph.edges else "unrelated"


def _notes(cls: Any) -> Iterator[str]:
    """Lines on what the parameters do."""
    order = cls.parameter_order
    left = [name for name, effect in order.items() if effect == "restricts"]
    right = [name for name, effect in order.items() if effect == "relaxes"]
    parts = [f"◂ {', '.join(left)}"] if left else []
    parts += [f"{', '.join(right)} ▸"] if right else []
    if parts:
        yield "   ".join(parts)
    for name, effect in order.items():
        if isinstance(effect, tuple):
            yield f"{name}: {' ▸ '.join(map(str, effect))}"


def _text_width(text: str, size: float) -> float:
    """Width of a text in inches."""
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=size).get_extents().width) / 72


class _Pen:
    """Draws boxes, arrows and texts at the scale of the axes."""

    def __init__(self, ax: Axes, width: float) -> None:
        self.ax = ax
        self.right = width - EDGE
        self.scale = ax.get_window_extent().width / ax.figure.dpi / width

    def text(self, x: float, y: float, text: str, size: float = SMALL, **style: Any) -> None:
        style = {"color": TEXT, "va": "center", "ha": "left", **style}
        self.ax.text(x, y, text, fontsize=size * self.scale, **style)

    def box(self, box: _Box, left: float, top: float, color: str) -> Any:
        from matplotlib.patches import FancyBboxPatch

        nothing = box.name == NONE
        patch = FancyBboxPatch(
            (left, top - box.height),
            box.width,
            box.height,
            boxstyle="round,pad=0,rounding_size=0.07",
            facecolor="white" if nothing else FILLS[color],
            edgecolor=QUIET if nothing else color,
            linestyle=(0, (2, 2)) if nothing else "-",
            linewidth=1.1 * self.scale,
        )
        self.ax.add_patch(patch)
        middle, y = left + box.width / 2, top - 0.16
        weight = "normal" if nothing else "bold"
        self.text(middle, y, box.name, NAME, ha="center", weight=weight)
        for note in box.notes:
            y -= LEADING
            self.text(middle, y, note, ha="center", color=QUIET)
        return patch

    def arrow(self, start: Any, end: Any, dashed: bool = False) -> None:
        from matplotlib.patches import ConnectionPatch

        (x0, y0), (x1, y1) = _exit(start), _entry(end)
        self.ax.add_patch(
            ConnectionPatch(
                (x0, y0),
                (x1, y1),
                "data",
                arrowstyle="-|>",
                mutation_scale=9 * self.scale,
                linewidth=1.1 * self.scale,
                linestyle=(0, (3, 2)) if dashed else "-",
                color=QUIET,
                shrinkA=2,
                shrinkB=2,
            )
        )

    def rule(self, y: float, color: str = "#D0D0D0") -> None:
        self.ax.plot([EDGE, self.right], [y, y], color=color, linewidth=0.8 * self.scale)


def _exit(patch: Any) -> tuple[float, float]:
    return patch.get_x() + patch.get_width(), patch.get_y() + patch.get_height() / 2


def _entry(patch: Any) -> tuple[float, float]:
    return patch.get_x(), patch.get_y() + patch.get_height() / 2


def _draw_head(pen: _Pen) -> None:
    y = -0.26
    pen.text(EDGE, y, "slot", color=QUIET)
    pen.text(LEFT, y, "◂ tighter: the optimum can only fall", color=QUIET)
    pen.text(pen.right, y, "looser: it can only rise ▸", color=QUIET, ha="right")
    pen.rule(-HEAD + 0.06, QUIET)


def _draw_lane(pen: _Pen, lane: _Lane, top: float) -> None:
    color, caption = _EFFECTS[lane.effect]
    middle = top - lane.height / 2
    captions = [line for line in (_how_many(lane.slot), caption) if line]
    y = middle + (LEADING + 0.02) * len(captions) / 2
    pen.text(EDGE, y, lane.slot.name, NAME + 0.5, weight="bold", color=color)
    for line in captions:
        y -= LEADING + 0.02
        pen.text(EDGE, y, line, color=QUIET)
    drawn = {
        name: pen.box(box, left, middle + centre + box.height / 2, color)
        for name, (box, left, centre) in lane.places.items()
    }
    for a, b in lane.arrows:
        pen.arrow(drawn[a], drawn[b], dashed=lane.effect == "equivalent")
    for x in lane.signs:
        sign = {"relaxes": "+", "equivalent": "="}.get(lane.effect, "")
        pen.text(x, middle, sign, NAME + 2, ha="center", color=color)
    pen.rule(top - lane.height)


def _how_many(slot: Slot) -> str:
    if slot.many:
        return "one or more" if slot.required else "any number"
    return "exactly one" if slot.required else "at most one"


def _draw_foot(pen: _Pen, top: float) -> None:
    legend: Iterable[tuple[str, str]] = (
        ("a → b", "the optimum with a is never above the one with b"),
        ("a ⇢ b", "the optima are equal, and the LP bound of a is never above that of b"),
        ("◂ p", "a larger value of the parameter p, or more of them, restricts"),
        ("p ▸", "a larger value of the parameter p, or more of them, relaxes"),
        ("v ▸ w", "the value v restricts the value w"),
    )
    y = top - 0.2
    for sign, meaning in legend:
        pen.text(LEFT - 0.16, y, sign, ha="right", weight="bold")
        pen.text(LEFT, y, meaning, color=QUIET)
        y -= 0.175
