"""The table of a comparison: what to show of every run, and what there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from mlmio.tables import NOTHING, Column, Layout, fit, html_table, number, relative, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mlmio.comparison import Comparison, Run
    from mlmio.verdicts import Verdict

# Columns said above the table if every row says the same and there is no room for them, and those
# left out if there is still none, the least important first.
SAID_ONCE = ("class", "solver", "verified", "status")
DROPPED = (
    "nonzeros",
    "columns",
    "build s",
    "rows",
    "class",
    "binaries",
    "nodes",
    "root gap closed",
    "LP bound",
    "gap",
    "verified",
    "solve s",
)
LEAST_FORMULATION = 24


def render(comparison: Comparison, width: int) -> Iterator[RenderableType]:
    """Yield the table as wide as `width` allows, notes and verdicts."""
    from rich.text import Text

    layout = fit(_columns(comparison), width, SAID_ONCE, DROPPED)
    said = _said_once(comparison, layout)
    if said:
        yield Text(f"all: {said}" if len(comparison.rows) > 1 else said)
        yield ""
    yield table(layout.columns, width)
    if layout.dropped:
        names = ", ".join(column.name for column in layout.dropped)
        yield Text(f"No room for: {names}; a wider terminal, --csv and to_frame() have all.")
    yield from _paragraph([Text(note) for note in comparison.notes])
    yield from _paragraph([Text(str(v), style=_style(v)) for v in comparison.verdicts])


def render_html(comparison: Comparison) -> str:
    """Return the same as HTML, every column of it."""
    columns = _columns(comparison)
    rows = list(zip(*(column.cells for column in columns), strict=True))
    said = _said_once(comparison, Layout(tuple(columns)))
    heads = [column.name for column in columns]
    lines = [(line,) for line in (*comparison.notes, *map(str, comparison.verdicts))]
    below = html_table((), lines) if lines else ""
    return html_table(heads, rows, caption=f"all: {said}" if said else "") + below


def _said_once(comparison: Comparison, layout: Layout) -> str:
    """What holds for every row: the common blocks, and columns for which there is no room."""
    blocks = [str(comparison.common)] if _several(comparison) and comparison.common.blocks else []
    columns = [
        f"{column.name} {column.cells[0]}" if column.name != "status" else column.cells[0]
        for column in layout.said_once
    ]
    return " · ".join([*blocks, *columns])


def _several(comparison: Comparison) -> bool:
    return len({run.composition for run in comparison.rows}) > 1


def _columns(comparison: Comparison) -> list[Column]:
    results = [run.result for run in comparison.rows]
    sizes = [result and result.size for result in results]

    def numbers(head: str, show: Callable[[Any], str], name: str, of: Sequence[Any]) -> Column:
        return Column(head, tuple(show(getattr(each, name, None)) for each in of))

    return [
        Column("formulation", own_parts(comparison), left=True, least=LEAST_FORMULATION),
        Column("solver", tuple(_solver(run) for run in comparison.rows), left=True),
        Column("class", tuple(r.problem_class if r else NOTHING for r in results), left=True),
        numbers("rows", count, "rows", sizes),
        numbers("col-\numns", count, "columns", sizes),
        numbers("bina-\nries", count, "binaries", sizes),
        numbers("non-\nzeros", count, "nonzeros", sizes),
        numbers("LP bound", value, "lp_bound", results),
        numbers("objective", value, "objective", results),
        numbers("bound", value, "bound", results),
        numbers("gap", relative, "gap", results),
        Column("root gap\nclosed", tuple(_closed(each) for each in comparison.root_gaps_closed)),
        numbers("nodes", count, "nodes", results),
        numbers("build\ns", seconds, "build_s", results),
        numbers("solve\ns", seconds, "solve_s", results),
        Column("status", tuple(run.status for run in comparison.rows), left=True),
        Column("verified", tuple(_verified(run) for run in comparison.rows), left=True),
    ]


def _solver(run: Run) -> str:
    """What solved it, which may have been no solver but mlmio itself."""
    return run.solver if run.result is None else run.result.solver


def own_parts(comparison: Comparison) -> tuple[str, ...]:
    """For each row what is not common to all."""
    shared = comparison.common.blocks if _several(comparison) else ()
    own = [[str(b) for b in run.composition.blocks if b not in shared] for run in comparison.rows]
    return tuple(" + ".join(parts) or "(defaults)" for parts in own)


def _paragraph(lines: Sequence[RenderableType]) -> Iterator[RenderableType]:
    """Lines after an empty one."""
    if lines:
        yield ""
        yield from lines


def _style(verdict: Verdict) -> str:
    return {"breach": "bold red", "agree": "green"}.get(verdict.kind, "")


def count(number: int | None) -> str:
    """Show how many there are."""
    return NOTHING if number is None else str(number)


def value(objective: float | None) -> str:
    """Show an objective or a bound."""
    if objective is None:
        return NOTHING
    return f"{objective:z.6f}" if abs(objective) < 1000 else number(objective)


def _closed(percent: float | None) -> str:
    # Not −0: two LP bounds may differ in the last digit.
    return NOTHING if percent is None else f"{abs(round(percent, 1)):g}%"


def seconds(time: float | None) -> str:
    """Show a time."""
    return NOTHING if time is None else f"{time:.2f}"


def _verified(run: Run) -> str:
    if run.result is None or run.result.certificate is None:
        return NOTHING
    return "yes" if run.verified else "no"
