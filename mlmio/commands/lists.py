"""``mlmio blocks`` and ``mlmio solvers``: what there is."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from mlmio.errors import FAILURES, MlmioError

if TYPE_CHECKING:
    from mlmio.registry import Registry

Row = tuple[str, ...]


def blocks() -> None:
    """List the blocks of formulations."""
    from mlmio.registry import blocks as known
    from mlmio.slots import SLOT_ORDER

    heads = ("slot", "block", "parameters", "class", "package", "what it is")
    rows = _rows(known, heads, _block_row)
    rows.sort(key=lambda row: (SLOT_ORDER.get(row[0], len(SLOT_ORDER)), row[1]))
    _print_table(heads, rows, wrapped={"parameters": 16, "what it is": 18})


def solvers() -> None:
    """List the solvers, or how to install them."""
    from mlmio.registry import solvers as known

    heads = ("solver", "version", "solves", "features", "what is used, or how to install it")
    rows = _rows(known, heads, _solver_row)
    _print_table(heads, rows, wrapped={"solves": 12, "features": 12, heads[-1]: 20})


def _rows(known: Registry[Any], heads: Row, describe: Callable[[str, Any], Row]) -> list[Row]:
    """A row for each registered class; one that cannot be imported says why in its last cell."""
    from mlmio.tables import NOTHING

    rows = []
    for name in known.names():
        try:
            rows.append(describe(name, known.get(name)))
            continue
        except MlmioError as error:
            reason = str(error)
        except FAILURES as error:
            reason = f"{type(error).__name__}: {error}"
        empty = [name if head == known.kind else NOTHING for head in heads[:-1]]
        rows.append((*empty, reason))
    return rows


def _block_row(name: str, cls: Any) -> Row:
    parameters = [
        field.name if field.default is MISSING else f"{field.name}={field.default!r}"
        for field in fields(cls)
    ]
    summary = (inspect.getdoc(cls) or "").split("\n")[0]
    package = cls.__module__.split(".")[0]
    return cls.slot, name, ", ".join(parameters), cls.problem_class, package, summary


def _solver_row(name: str, cls: Any) -> Row:
    solver = cls()
    version = solver.version()
    solves, features = ", ".join(sorted(cls.classes)), ", ".join(sorted(cls.features))
    where = solver.location() or "" if version else cls.install
    return name, version or "not installed", solves, features, where


def _print_table(heads: Row, rows: list[Row], wrapped: dict[str, int]) -> None:
    from mlmio.tables import Column, console, fit, table

    columns = [
        Column(head, cells, left=True, least=wrapped.get(head, 0))
        for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    out = console()
    columns = [column for column in columns if any(column.cells)]
    layout = fit(columns, out.width, once=("package",), droppable=())
    for column in layout.said_once:
        out.print(f"{column.name}: {column.cells[0]}")
    out.print(table(layout.columns, out.width))
