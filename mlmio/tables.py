"""Tables as text that fits its width, and as HTML."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.table import Table

# Where the output is no terminal and COLUMNS is not set.
WIDTH = 120
GAP = 2
# Where there is nothing to say.
NOTHING = "–"

STYLES = {
    "optimal": "green",
    "unverified": "bold red",
    "no": "bold red",
    "error": "red",
    "refused": "yellow",
    "not run": "yellow",
}


@dataclass(frozen=True)
class Column:
    """One column of text.

    Parameters
    ----------
    head : str
        Heading; may have several lines.
    cells : tuple of str
        One text a row.
    left : bool
        Whether it is aligned to the left.
    least : int
        Width to which its texts may be wrapped; 0 where they must not be.
    """

    head: str
    cells: tuple[str, ...]
    left: bool = False
    least: int = 0

    @property
    def name(self) -> str:
        """Heading in one line, a divided word put together."""
        return self.head.replace("-\n", "").replace("\n", " ")

    @property
    def natural(self) -> int:
        """Width that it has unwrapped."""
        return max(len(line) for text in (self.head, *self.cells) for line in text.split("\n"))

    @property
    def narrowest(self) -> int:
        """Width below which it cannot go."""
        return min(self.least, self.natural) if self.least else self.natural

    @property
    def constant(self) -> bool:
        """Whether every row says the same."""
        return len(set(self.cells)) == 1


@dataclass(frozen=True)
class Layout:
    """What of a table is shown at a width.

    Parameters
    ----------
    columns : tuple of Column
        Columns that are shown.
    said_once : tuple of Column
        Columns that say the same in every row, said above the table instead.
    dropped : tuple of Column
        Columns for which there is no room.
    """

    columns: tuple[Column, ...]
    said_once: tuple[Column, ...] = ()
    dropped: tuple[Column, ...] = field(default=())

    @property
    def width(self) -> int:
        """Least width of what is shown."""
        return sum(column.narrowest for column in self.columns) + GAP * (len(self.columns) - 1)

    def without(self, name: str) -> Layout:
        """Say a column once, if every row says the same, or drop it."""
        column = next(column for column in self.columns if column.name == name)
        left = tuple(other for other in self.columns if other is not column)
        if column.constant and column.cells[0] != NOTHING:
            return replace(self, columns=left, said_once=(*self.said_once, column))
        return replace(self, columns=left, dropped=(*self.dropped, column))


def fit(
    columns: Sequence[Column], width: int, once: Sequence[str], droppable: Sequence[str]
) -> Layout:
    """Choose what of a table is shown.

    Parameters
    ----------
    columns : sequence of Column
        All columns.
    width : int
        Characters in a line.
    once : sequence of str
        Columns that are said once, as far as needed, if every row says the same.
    droppable : sequence of str
        Columns that are left out, as far as needed, the least important first.
    """
    layout = Layout(tuple(columns))
    constant = [column.name for column in columns if column.constant]
    for name in (*(name for name in once if name in constant), *droppable):
        if layout.width <= width:
            break
        if any(column.name == name for column in layout.columns):
            layout = layout.without(name)
    return layout


def table(columns: Sequence[Column], width: int) -> Table:
    """Draw columns as a table; those that may be wrapped share the room that is left."""
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    height = max(column.head.count("\n") for column in columns)
    for column, room in zip(columns, _widths(columns, width), strict=True):
        drawn.add_column(
            "\n" * (height - column.head.count("\n")) + column.head,
            justify="left" if column.left else "right",
            no_wrap=not column.least,
            overflow="fold" if column.least else "ellipsis",
            width=room,
        )
    for cells in zip(*(column.cells for column in columns), strict=True):
        drawn.add_row(*(Text(cell, style=STYLES.get(cell, "")) for cell in cells))
    return drawn


def _widths(columns: Sequence[Column], width: int) -> list[int]:
    """Width of each column: what is left over is given out evenly, as far as it is of use."""
    widths = [column.narrowest for column in columns]
    spare = width - Layout(tuple(columns)).width
    while spare > 0:
        wanting = [c for c, column in enumerate(columns) if widths[c] < column.natural]
        if not wanting:
            break
        for c in wanting[:spare]:
            widths[c] += 1
        spare -= len(wanting)
    return widths


def html_table(heads: Sequence[str], rows: Sequence[Sequence[str]], caption: str = "") -> str:
    """Draw an HTML table; every text is escaped."""
    lines = ["<table>"]
    if caption:
        lines.append(f"<caption>{escape(caption)}</caption>")
    lines.append(f"<thead>{_html_row('th', heads)}</thead>")
    lines.append("<tbody>")
    lines.extend(_html_row("td", row) for row in rows)
    lines.append("</tbody></table>")
    return "\n".join(lines)


def _html_row(tag: str, cells: Sequence[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"


def number(value: float | None, digits: int = 6) -> str:
    """Return a number in so many significant digits, never as −0.

    Examples
    --------
    >>> number(-0.0), number(1 / 3), number(None)
    ('0', '0.333333', '–')
    """
    return NOTHING if value is None else f"{value:z.{digits}g}"


def relative(gap: float | None) -> str:
    """Return a relative gap in percent.

    Examples
    --------
    >>> relative(0.056), relative(12.0), relative(1e-8), relative(None)
    ('5.6%', '>999%', '0%', '–')
    """
    if gap is None:
        return NOTHING
    percent = 100 * gap
    if percent >= 1000:
        return ">999%"
    return "0%" if percent < 0.005 else f"{percent:.3g}%"


def counted(number: int, what: str) -> str:
    """Return a number of things in words, as ``1 case`` and ``2 cases``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def console(file: Any = None) -> Console:
    """Return a console that shows texts as they are, as wide as the terminal or 120 columns."""
    from rich.console import Console

    stream = file or sys.stdout
    given = Console(file=stream, highlight=False, markup=False, emoji=False)
    if given.is_terminal:
        return given
    return Console(
        file=stream, highlight=False, markup=False, emoji=False, width=_width(), color_system=None
    )


def _width() -> int:
    """Width that COLUMNS or the terminal gives, at least one that rich can draw in."""
    return max(20, shutil.get_terminal_size((WIDTH, 24)).columns)


def plain(renderable: RenderableType) -> str:
    """Draw as text without control characters, as wide as the terminal."""
    from rich.console import Console

    text = StringIO()
    drawn = Console(
        file=text, highlight=False, markup=False, emoji=False, color_system=None, width=_width()
    )
    drawn.print(renderable)
    return "\n".join(line.rstrip() for line in text.getvalue().rstrip("\n").split("\n"))
