"""Explanations of a composition: what is assembled, from what, and how large it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mlmio.sizes import SYMBOLS, Dimensions
from mlmio.tables import Column, Layout, console, html_table, table

if TYPE_CHECKING:
    from mlmio.blocks import Block
    from mlmio.composition import Composition
    from mlmio.data import Dataset

HEADS = ("slot", "block", "source", "variables", "binaries", "rows", "class")
SIZES = ("variables", "binaries", "rows")
# The block's column goes no narrower than this before its text is broken.
LEAST_WIDTH = 20


@dataclass(frozen=True)
class Explanation:
    """What there is to say of a composition.

    Parameters
    ----------
    title : str
        The composition, and the data if there are any.
    rows : tuple of tuple of str
        A row for each block; see :data:`HEADS`.
    remarks : tuple of str
        What is said under the table.
    """

    title: str
    rows: tuple[tuple[str, ...], ...]
    remarks: tuple[str, ...]


def explain(composition: Composition, data: Dataset | None = None) -> Explanation:
    """Find out what a composition assembles.

    Parameters
    ----------
    composition : Composition
        Completed with its defaults.
    data : Dataset, optional
        Gives the sizes as numbers; without it they are formulas.

    Raises
    ------
    CompositionError
        If it is not complete.
    DataError
        If the data do not allow it.
    """
    parts = composition.ordered
    n = _dimensions(parts, data)
    sizes = [part.size(n) for part in parts]
    rows = [
        (
            part.slot,
            str(part) if part in composition.blocks else f"{part} (default)",
            part.source,
            *(show_size([getattr(size, what)]) for what in SIZES),
            part.problem_class,
        )
        for part, size in zip(parts, sizes, strict=True)
    ]
    totals = [f"{what} {show_size(getattr(size, what) for size in sizes)}" for what in SIZES]
    return Explanation(
        title=str(composition)
        if data is None
        else f"{composition}, on {data.N} points of {data.name}",
        rows=tuple(rows),
        remarks=(f"Total: {', '.join(totals)}.", *_remarks(composition, data)),
    )


def print_explanation(composition: Composition, data: Dataset | None = None) -> None:
    """Print what a composition assembles; see :func:`explain`."""
    explanation = explain(composition, data)
    out = console()
    out.print(explanation.title, style="bold")
    out.print()
    out.print(table(_columns(explanation.rows, out.width), out.width))
    out.print()
    for remark in explanation.remarks:
        out.print(remark)


def explain_html(composition: Composition) -> str:
    """Return what a composition assembles as an HTML table."""
    explanation = explain(composition)
    remarks = html_table((), [(remark,) for remark in explanation.remarks])
    return html_table(HEADS, explanation.rows, caption=explanation.title) + remarks


def show_size(amounts: Iterable[Any]) -> str:
    """Write a sum of numbers and Pyomo expressions as one writes it by hand.

    Examples
    --------
    >>> n = Dimensions.symbols()
    >>> show_size([n.D * (n.D + 1) / 2, 3 * n.co + n.N, n.co + 1])
    'D(D+1)/2 + 4C + N + 1'
    >>> show_size([3, 4])
    '7'
    """
    total: dict[str, float] = {}
    for amount in amounts:
        for term, count in _terms(amount).items():
            total[term] = total.get(term, 0) + count
    constant = total.pop("", 0)
    parts = [term if count == 1 else f"{count:g}{term}" for term, count in total.items()]
    return " + ".join([*parts, f"{constant:.15g}"] if constant or not parts else parts)


def _terms(amount: Any) -> Mapping[str, float]:
    """How often each term occurs in a sum; the constant has no name."""
    from pyomo.core.expr import MonomialTermExpression, SumExpression, is_potentially_variable

    if not is_potentially_variable(amount):
        return {"": amount}
    if isinstance(amount, MonomialTermExpression):
        count, symbol = amount.args
        return {str(symbol): count}
    if not isinstance(amount, SumExpression):
        # A product as it is written: D*(D + 1)/2.
        return {re.sub(r"[* ]", "", str(amount)): 1}
    found: dict[str, float] = {}
    for part in amount.args:
        for term, count in _terms(part).items():
            found[term] = found.get(term, 0) + count
    return found


def _dimensions(parts: Iterable[Block], data: Dataset | None) -> Dimensions:
    """Dimensions of what the model is about, as every block sets them."""
    parts = tuple(parts)
    if data is None:
        n = Dimensions.symbols()
    else:
        for part in parts:
            data = part.prepare(data)
        n = Dimensions.of(data)
    for part in parts:
        part.extend(n)
    return n


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> list[Column]:
    """Columns of the table; the source goes under the block where both do not fit."""
    columns = {
        head: Column(head, cells, left=head not in SIZES)
        for head, cells in zip(HEADS, zip(*rows, strict=True), strict=True)
    }
    if Layout(tuple(columns.values())).width > width:
        block, source = columns["block"], columns.pop("source")
        stacked = map("\n".join, zip(block.cells, source.cells, strict=True))
        columns["block"] = Column("block\nsource", tuple(stacked), left=True, least=LEAST_WIDTH)
    return list(columns.values())


def _remarks(composition: Composition, data: Dataset | None) -> Iterable[str]:
    parts = composition.ordered
    widest = composition.problem_class
    makers = [part.name for part in parts if part.problem_class == widest]
    because = "" if widest == "LP" else f", made so by {', '.join(makers)}"
    yield f"A {widest}{because}; it maximises the sum of what its blocks contribute."
    if data is None:
        yield f"Sizes: {SYMBOLS}."
