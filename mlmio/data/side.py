"""Side information: tuples of points by their identifiers, given in Python or in a CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mlmio.data.files import check_present
from mlmio.data.validation import shown
from mlmio.errors import DataError

Rows = NDArray[np.intp]


def rows_by_text(ids: NDArray) -> dict[str, int]:
    """Return the row of every identifier, by its text.

    Raises
    ------
    DataError
        If two identifiers have the same text.
    """
    rows = {str(one): row for row, one in enumerate(ids)}
    if len(rows) < len(ids):
        row = next(row for row, one in enumerate(ids) if rows[str(one)] != row)
        raise DataError(
            f"Two ids read {str(ids[row])!r}: side information needs ids that differ as text."
        )
    return rows


def row_of(one: Any, rows: Mapping[str, int], where: str) -> int:
    """Return the row of the point that `where` calls by its identifier.

    Raises
    ------
    DataError
        If no point has it.
    """
    row = rows.get(str(one))
    if row is None:
        some = ", ".join(list(rows)[:3])
        raise DataError(
            f"{where} names {shown(one)}, which is not the id of a point: "
            f"the {len(rows)} ids are {some}{', …' if len(rows) > 3 else ''}"
        )
    return row


def read_tuples(name: str, given: Any, rows: Mapping[str, int]) -> Rows:
    """Return tuples of points as row numbers, each once.

    Parameters
    ----------
    name : str
        How to call them in an error.
    given : sequence of tuples of identifiers, or path of a CSV file
        A first line of the file that names no identifier is taken as a header.
    rows : mapping of str to int
        See `rows_by_text`.

    Returns
    -------
    ndarray of shape (M, width)
    """
    is_file = isinstance(given, str | os.PathLike)
    entries = _lines(Path(given).expanduser(), rows) if is_file else _items(name, given)
    found: dict[tuple[int, ...], None] = {}
    width = len(entries[0][1]) if entries else 0
    for where, points in entries:
        if len(points) != width or width < 2:
            wanted = f"{width}, as {entries[0][0]}" if width > 1 else "two at least"
            raise DataError(f"{where} has {len(points)} point(s): give {wanted}.")
        found[_different(points, rows, where)] = None
    return _read_only(np.array(list(found), dtype=np.intp).reshape(len(found), width))


def _different(points: Sequence[Any], rows: Mapping[str, int], where: str) -> tuple[int, ...]:
    """Return the rows of one tuple, which must be of different points."""
    found = tuple(row_of(point, rows, where) for point in points)
    if len(set(found)) < len(found):
        twice = next(
            point for point, row in zip(points, found, strict=True) if found.count(row) > 1
        )
        raise DataError(f"{where} names {shown(twice)} twice: give different points.")
    return found


def _items(name: str, given: Any) -> list[tuple[str, Sequence[Any]]]:
    """Return tuples given in Python, each with how to call it in an error."""
    if not isinstance(given, Iterable) or isinstance(given, bytes | Mapping):
        raise DataError(
            f"{name} is {given!r}: give tuples of ids, such as [(0, 1)], or the path of a CSV file."
        )
    items = [(f"{name}[{n}]", item) for n, item in enumerate(given)]
    for where, item in items:
        if isinstance(item, str | bytes) or not isinstance(item, Sequence | np.ndarray):
            raise DataError(f"{where} is {shown(item)}: give a tuple of ids, such as (0, 1).")
    return items


def _lines(path: Path, rows: Mapping[str, int]) -> list[tuple[str, Sequence[Any]]]:
    """Return the lines of a CSV file but for its header, each with how to call it in an error."""
    check_present(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.reader(file)
            lines: list[tuple[str, Sequence[Any]]] = [
                (f"line {reader.line_num} of {path}", [cell.strip() for cell in cells])
                for cells in reader
                if any(cell.strip() for cell in cells)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read as a CSV file in UTF-8 ({error}).") from None
    if lines and rows.keys().isdisjoint(lines[0][1]):
        del lines[0]
    if not lines:
        raise DataError(f"{path} names no id of a point: give one tuple of ids a line.")
    return lines


def read_side(side: Any, ids: NDArray) -> dict[str, Rows]:
    """Return side information as row numbers.

    Parameters
    ----------
    side : mapping of str to what `read_tuples` takes, or None
    ids : ndarray of shape (N,)
    """
    if not side:
        return {}
    if not isinstance(side, Mapping):
        raise DataError(f"side is {side!r}: give a dict such as {{'must_link': [(0, 1)]}}.")
    rows = rows_by_text(ids)
    return {str(name): read_tuples(str(name), given, rows) for name, given in side.items()}


def rows_of(side: Mapping[str, Rows], name: str, width: int, data: str) -> Rows:
    """Return the tuples of one name, of `data`, which must be some and of `width` points."""
    rows = side.get(name)
    if rows is None or not len(rows):
        raise DataError(
            f"There is no side information {name!r} on the points of {data}: give it to the "
            f"data set, as side={{{name!r}: …}}, or to the block {name!r}."
        )
    if rows.shape[1] != width:
        raise DataError(
            f"The tuples of {name!r} of {data} have {rows.shape[1]} points: give {width} in each."
        )
    return rows


def within(side: Mapping[str, Rows], chosen: Rows, N: int) -> dict[str, Rows]:
    """Return the tuples whose points are all among the chosen rows, of N, by their new numbers."""
    new = np.full(N, -1, dtype=np.intp)
    new[chosen] = np.arange(len(chosen))
    moved = {name: new[tuples] for name, tuples in side.items()}
    return {name: _read_only(rows[(rows >= 0).all(axis=1)]) for name, rows in moved.items()}


def _read_only(rows: Rows) -> Rows:
    rows.flags.writeable = False
    return rows
