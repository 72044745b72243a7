"""How a table is shown: as HTML that can be sorted, and as LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from mlmio.tables import NOTHING

if TYPE_CHECKING:
    import pandas as pd

Row = Mapping[str, Any]

# A wide or long table scrolls in a box of its own, with its heads in sight; a shadow at an edge
# says that there is more, and is covered at the end of the table.
STYLE = """
.wide { overflow: auto; max-height: 85vh;
  background: linear-gradient(to right, Canvas 2rem, transparent),
    linear-gradient(to left, Canvas 2rem, transparent) right,
    linear-gradient(to right, #8889, transparent 1rem),
    linear-gradient(to left, #8889, transparent 1rem) right;
  background-size: 4rem 100%, 4rem 100%, 1rem 100%, 1rem 100%; background-repeat: no-repeat;
  background-attachment: local, local, scroll, scroll; }
.wide thead th { position: sticky; top: 0; background: Canvas; }
@media print { .wide { max-height: none; } }
th { vertical-align: bottom; font-weight: 600; }
th button { font: inherit; color: inherit; background: none; border: 0; padding: 0;
  text-align: inherit; cursor: pointer; }
th button:hover { text-decoration: underline; }
th[aria-sort=ascending] button::after { content: " \\25B4"; }
th[aria-sort=descending] button::after { content: " \\25BE"; }
td.n, th.n { text-align: right; }
td.n, td.w { white-space: nowrap; }
td.t { min-width: min(14rem, 40vw); overflow-wrap: anywhere; }
"""

# A click on a heading sorts by it, another turns the order round; what has no number stays last.
SCRIPT = """
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0], sign = down ? -1 : 1;
    const rows = [...body.rows].map(row => {
      const cell = row.cells[column];
      return { row, text: cell.textContent, number: parseFloat(cell.dataset.v ?? "NaN") };
    });
    const numeric = head.classList.contains("n");
    rows.sort((a, b) => {
      if (!numeric) return sign * a.text.localeCompare(b.text, "en", { numeric: true });
      if (isNaN(a.number) || isNaN(b.number)) return isNaN(a.number) - isNaN(b.number);
      return sign * (a.number - b.number);
    });
    body.append(...rows.map(({ row }) => row));
  }));
}
"""

_LATEX = {
    **{mark: f"\\{mark}" for mark in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "†": r"$^{\dagger}$",
    "·": r"$\cdot$",
    "≤": r"$\le$",
    "²": "$^2$",
    "\u00a0": "~",
    "–": "--",
    "…": r"\ldots{}",
}


@dataclass(frozen=True)
class Shown:
    """A column that is shown.

    Parameters
    ----------
    name : str
        Column of the table, by which it is sorted.
    head : str
        Heading.
    show : callable (Row) -> str, optional
        Text of a row's cell; the value itself by default.
    number : bool
        Whether it is aligned to the right, and sorted as a number.
    narrow : bool
        Whether it may be wrapped.
    """

    name: str
    head: str
    show: Callable[[Row], str] | None = None
    number: bool = True
    narrow: bool = False

    def text(self, row: Row) -> str:
        """Return the text of a cell."""
        if self.show is not None:
            return self.show(row)
        value = row[self.name]
        return NOTHING if isinstance(value, float) and math.isnan(value) else str(value)

    def value(self, row: Row) -> str:
        """Return what sorts a number."""
        return repr(float(row[self.name]))


def decimals(name: str, places: int, unit: str = "", factor: float = 1.0) -> Callable[[Row], str]:
    """Return a way to show numbers with so many decimals; those that are none as a dash.

    Examples
    --------
    >>> decimals("x", 1, "%")({"x": 2.345}), decimals("x", 1)({"x": float("nan")})
    ('2.3%', '–')
    """

    def show(row: Row) -> str:
        value = row[name]
        if not math.isfinite(value):
            return NOTHING
        # Not −0.
        text = f"{round(factor * value, places) + 0.0:.{places}f}"
        return text + unit

    return show


def integer(name: str) -> Callable[[Row], str]:
    """Return a way to show whole numbers."""
    return decimals(name, 0)


def words(name: str, head: str, narrow: bool = False) -> Shown:
    """Return a column of text."""
    return Shown(name, head, number=False, narrow=narrow)


def count(name: str, head: str) -> Shown:
    """Return a column of whole numbers."""
    return Shown(name, head, integer(name))


def html(frame: pd.DataFrame, columns: Sequence[Shown]) -> str:
    """Draw a table that scrolls by itself where the screen is narrow, and sorts by its headings."""
    heads = "".join(
        f'<th scope="col"{_class(column)}><button type="button">{escape(column.head)}</button></th>'
        for column in columns
    )
    rows = "\n".join(
        f"<tr>{''.join(_cell(column, row) for column in columns)}</tr>" for row in _rows(frame)
    )
    return (
        f'<div class="wide" tabindex="0"><table class="sortable"><thead><tr>{heads}</tr></thead>\n'
        f"<tbody>{rows}</tbody></table></div>"
    )


def latex(frame: pd.DataFrame, columns: Sequence[Shown], caption: str) -> str:
    r"""Write a table for the package booktabs.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"who": ["a_b"], "time": [1.5]})
    >>> shown = [words("who", "who"), Shown("time", "time / s", decimals("time", 2))]
    >>> print(latex(frame, shown, "Times."))
    \begin{table}
    \centering
    \caption{Times.}
    \begin{tabular}{lr}
    \toprule
    who & time / s \\
    \midrule
    a\_b & 1.50 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    kinds = "".join("r" if column.number else "l" for column in columns)
    body = [_latex_row(column.text(row) for column in columns) for row in _rows(frame)]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{escape_latex(caption)}}}",
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        _latex_row(column.head for column in columns),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def escape_latex(text: str) -> str:
    """Return a text so that LaTeX shows it as it is."""
    return re.sub(f"[{re.escape(''.join(_LATEX))}]", lambda found: _LATEX[found[0]], text)


def _rows(frame: pd.DataFrame) -> list[Row]:
    rows: list[Row] = frame.to_dict("records")
    return rows


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(map(escape_latex, cells)) + r" \\"


def _class(column: Shown) -> str:
    if column.number:
        return ' class="n"'
    return ' class="t"' if column.narrow else ' class="w"'


def _cell(column: Shown, row: Row) -> str:
    value = f' data-v="{column.value(row)}"' if column.number else ""
    return f"<td{_class(column)}{value}>{escape(column.text(row))}</td>"
