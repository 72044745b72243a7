"""From what a user gives to checked arrays, or to an error that says what and where."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mlmio.errors import DataError

# The square of a difference of two numbers below this bound is finite, and so is a sum of them.
LARGEST = 1e150


def shown(value: Any) -> str:
    """Return the repr of a value without NumPy's type around it."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def whole_number(value: Any, what: str, least: int = 1) -> int:
    """Return `value` as an int, or raise unless it is a whole number of at least `least`."""
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise DataError(f"{what} is {value!r}: give a whole number of at least {least}.")
    return int(value)


def random_state(seed: Any) -> np.random.RandomState:
    """Return NumPy's legacy generator, whose numbers no version of NumPy changes."""
    try:
        return np.random.RandomState(whole_number(seed, "seed", least=0))
    except ValueError:
        raise DataError(f"seed is {seed!r}: give a whole number from 0 to 2**32 - 1.") from None


def feature_cells(X: Any) -> np.ndarray:
    """Return X as a two-dimensional array of cells of any type, with a row and a column at least.

    Parameters
    ----------
    X : array-like or DataFrame

    Returns
    -------
    ndarray of shape (N, D)
    """
    if hasattr(X, "tocsr"):
        raise DataError("X is a sparse matrix: make it dense with X.toarray() if it fits memory.")
    if isinstance(X, np.ma.MaskedArray):
        X = _unmasked(X)
    try:
        cells = np.asarray(X)
    except ValueError:
        raise DataError(_ragged(X)) from None
    if cells.shape[:1] == (0,):
        raise DataError("X is empty: give one row per point and one column per feature.")
    if cells.ndim != 2:
        raise DataError(
            f"X has shape {cells.shape}: give one row per point and one column per feature "
            "(a single feature is X.reshape(-1, 1))."
        )
    if cells.shape[1] == 0:
        raise DataError(f"X has {len(cells)} rows but no features: give one column at least.")
    return cells


def _unmasked(array: np.ma.MaskedArray) -> np.ndarray:
    values = np.ma.getdata(array).astype(object)
    values[np.ma.getmaskarray(array)] = None
    return values


def _ragged(X: Any) -> str:
    lengths = [len(row) if hasattr(row, "__len__") else 1 for row in X]
    odd = next((r for r, length in enumerate(lengths) if length != lengths[0]), None)
    if odd is None:
        return "The rows of X are nested unevenly: give one number per cell."
    return (
        f"Row {odd} of X has {lengths[odd]} values but row 0 has {lengths[0]}: "
        "give every row one value per feature."
    )


def finite_numbers(cells: np.ndarray, names: Sequence[str], ids: np.ndarray) -> np.ndarray:
    """Return cells as finite numbers whose squared differences do not overflow.

    Parameters
    ----------
    cells : ndarray of shape (N, D)
    names, ids : sequence of D feature names, array of N identifiers
        How to call a column and a row in an error.

    Returns
    -------
    ndarray of shape (N, D) of float64
    """
    if cells.dtype.kind == "c":
        raise DataError("X is complex: give real numbers, such as the real and imaginary parts.")
    numbers = _numbers(cells, names, ids)
    bad = ~np.isfinite(numbers)
    problem, advice = "missing or infinite", "drop or fill in those rows"
    if not bad.any():
        bad = np.abs(numbers) > LARGEST
        problem, advice = f"larger than {LARGEST:g}", "change the unit of that feature"
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise DataError(
            f"X has values that are {problem}, the first of {np.count_nonzero(bad)} being "
            f"{shown(numbers[row, column])} in row {shown(ids[row])}, "
            f"feature {names[column]!r}: {advice}."
        )
    return numbers


def _numbers(cells: np.ndarray, names: Sequence[str], ids: np.ndarray) -> np.ndarray:
    if cells.dtype.kind not in "mM":  # NumPy would take dates for numbers
        try:
            return cells.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            pass  # some cell is not a number: look for it
    from pandas import isna

    numbers = np.full(cells.shape, np.nan)
    for row, column in np.argwhere(~isna(cells)):
        try:
            numbers[row, column] = _number(cells[row, column])
        except (TypeError, ValueError, OverflowError):
            raise DataError(
                f"X is {shown(cells[row, column])} in row {shown(ids[row])}, feature "
                f"{names[column]!r}, which is not a number: drop or encode that feature."
            ) from None
    return numbers


def _number(cell: Any) -> float:
    if isinstance(cell, np.datetime64 | np.timedelta64):
        raise TypeError("a date is not a number")
    return float(cell)


def feature_names(given: Any, X: Any, n_features: int) -> tuple[str, ...]:
    """Return one name per feature: those given, else a DataFrame's, else x0, x1, ..."""
    if given is None:
        given = X.columns if hasattr(X, "iloc") else [f"x{p}" for p in range(n_features)]
    names = tuple(str(name) for name in given)
    if len(names) != n_features:
        raise DataError(
            f"feature_names has {len(names)} names but X has {n_features} columns: "
            "give one name per column."
        )
    return names


def identifiers(given: Any, n_rows: int) -> np.ndarray:
    """Return one identifier per row: those given, which must differ, else the row numbers."""
    ids = np.arange(n_rows) if given is None else _one_dimensional(given, "ids")
    if len(ids) != n_rows:
        raise DataError(f"ids has {len(ids)} entries but X has {n_rows} rows: give one per row.")
    values, codes = encode(ids)
    counts = np.bincount(codes)
    if counts.max() > 1:
        raise DataError(
            f"The id {shown(values[counts.argmax()])} is given to {counts.max()} rows: "
            "give every row an id of its own."
        )
    return ids


def label_array(y: Any, ids: np.ndarray) -> np.ndarray:
    """Return labels of any type as an array, as many as there are ids and none of them missing.

    Parameters
    ----------
    y : array-like of shape (N,)
    ids : ndarray of shape (N,)
        How to call a row in an error.

    Returns
    -------
    ndarray of shape (N,)
    """
    labels = _one_dimensional(y, "y")
    if len(labels) != len(ids):
        raise DataError(
            f"X has {len(ids)} rows but y has {len(labels)} labels: give one label per row."
        )
    missing = _missing(labels)
    if missing.any():
        raise DataError(
            f"y has no label in row {shown(ids[missing.argmax()])}, the first of "
            f"{np.count_nonzero(missing)}: label or drop those rows."
        )
    return _unified(labels) if labels.dtype.kind == "O" else labels


def _one_dimensional(values: Any, what: str) -> np.ndarray:
    if isinstance(values, np.ma.MaskedArray):
        values = _unmasked(values)
    if isinstance(values, str | bytes) or not hasattr(values, "__iter__"):
        raise DataError(f"{what} is {values!r}: give one value per row, or X as a DataFrame.")
    if hasattr(values, "__array__"):
        array = np.array(values)  # a copy: the caller may change theirs
    else:  # NumPy would turn [1, "a"] into strings
        items = list(values)
        array = np.fromiter(items, dtype=object, count=len(items))
        if any(isinstance(item, list | np.ndarray) for item in items):
            raise DataError(f"{what} is a list of lists: give one value per row.")
    if array.ndim != 1:
        raise DataError(f"{what} has shape {array.shape}: give one value per row.")
    return array.astype(object) if array.dtype.kind == "T" else array


def _missing(values: np.ndarray) -> np.ndarray:
    if values.dtype.kind == "O":
        from pandas import isna

        return np.asarray(isna(values))
    # Only what can be missing differs from itself: NaN and NaT.
    return np.asarray(values != values)


def _unified(labels: np.ndarray) -> np.ndarray:
    """Return an array of the labels' own type where they are of one kind."""
    plain = (np.bool_, np.number, np.str_)
    items = [item.item() if isinstance(item, plain) else item for item in labels]
    kinds = {type(item) for item in items}
    if kinds <= {int, float} or kinds in ({bool}, {str}):
        return np.asarray(items)
    return np.fromiter(items, dtype=object, count=len(items))


def encode(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values, sorted, and the position of every value among them.

    Values of several types are sorted by the name of the type, then as strings.

    Examples
    --------
    >>> encode(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    if values.dtype.kind != "O":
        return np.unique(values, return_inverse=True)
    keys = [(type(value).__name__, str(value)) for value in values]
    first = {key: row for row, key in reversed(list(enumerate(keys)))}
    code = {key: c for c, key in enumerate(sorted(first))}
    return values[[first[key] for key in code]], np.array([code[key] for key in keys], np.intp)
