"""The table of strengths: bounds, shares of the root gap, sizes and times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from mlmio.comparison_table import count, own_parts, seconds, value
from mlmio.tables import NOTHING, Column, fit, table

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mlmio.relaxations import Strength

# Columns left out if there is no room for them, the least important first.
DROPPED = ("nonzeros", "nodes", "rows", "build s", "root bound", "LP bound", "status")
LEAST_FORMULATION = 24


def render(strength: Strength, width: int) -> Iterator[RenderableType]:
    """Yield the table as wide as `width` allows, what it is measured from, and what is wrong."""
    from rich.text import Text

    comparison = strength.comparison
    if len(comparison.rows) > 1 and comparison.common.blocks:
        yield Text(f"all: {comparison.common}")
        yield ""
    layout = fit(_columns(strength), width, (), DROPPED)
    yield table(layout.columns, width)
    if layout.dropped:
        names = ", ".join(column.name for column in layout.dropped)
        yield Text(f"No room for: {names}; a wider terminal, --csv and to_frame() have all.")
    yield ""
    yield from (Text(line) for line in _optima(strength))
    yield from (Text(note) for note in comparison.notes)
    yield from (Text(str(breach), style="bold red") for breach in comparison.breaches)


def _columns(strength: Strength) -> list[Column]:
    relaxations = strength.relaxations
    results = [each.run.result for each in relaxations]

    def numbers(head: str, texts: Iterable[str]) -> Column:
        return Column(head, tuple(texts))

    def of_size(name: str) -> Iterator[str]:
        return (count(None if r is None else getattr(r.size, name)) for r in results)

    def of_result(name: str, show: Callable[[Any], str]) -> Iterator[str]:
        return (show(getattr(r, name, None)) for r in results)

    return [
        Column("formulation", own_parts(strength.comparison), left=True, least=LEAST_FORMULATION),
        numbers("LP bound", of_result("lp_bound", value)),
        numbers("closed", (percent(each.lp_closed) for each in relaxations)),
        numbers("root\nbound", of_result("root_bound", value)),
        numbers("closed\nat root", (percent(each.root_closed) for each in relaxations)),
        numbers("rows", of_size("rows")),
        numbers("non-\nzeros", of_size("nonzeros")),
        numbers("build\ns", of_result("build_s", seconds)),
        numbers("LP\ns", of_result("lp_s", seconds)),
        numbers("solve\ns", of_result("solve_s", seconds)),
        numbers("nodes", of_result("nodes", count)),
        Column("status", tuple(each.run.status for each in relaxations), left=True),
    ]


def _optima(strength: Strength) -> Iterator[str]:
    """Say what the shares are measured to."""
    said = {}
    for each in strength.relaxations:
        if each.optimum is None:
            text = "no solution was found, so that no share of the gap can be told"
        elif each.proven:
            text = f"optimum {each.optimum:.6g}"
        else:
            text = f"best solution {each.optimum:.6g}, not proven: more of the gap may be closed"
        said[each.core] = text
    yield from (f"{same}: {text}" for same, text in said.items())


def percent(share: float | None) -> str:
    """Show a share of the root gap."""
    return NOTHING if share is None else f"{share:z.1f} %"
