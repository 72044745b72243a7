"""Tables of features and labels from files."""

from __future__ import annotations

import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlmio.errors import DataError, MlmioWarning

if TYPE_CHECKING:
    import pandas as pd

LABEL_NAMES = ("label", "class", "target", "y")
# What is given as label where there is none.
NO_LABEL = "none"

# What the readers raise for a file that is not what its name says. pandas' and pyarrow's errors
# are ValueErrors, SciPy's ARFF errors are OSErrors.
_UNREADABLE = (
    ValueError,
    OSError,
    EOFError,
    StopIteration,
    NotImplementedError,
    MemoryError,
    zlib.error,
    zipfile.BadZipFile,
)


def read_table(
    path: str | Path, label: str | int | None = None
) -> tuple[pd.DataFrame, pd.Series | None]:
    """Read features and labels from a file, in the format that its name ends with.

    Parameters
    ----------
    path : str or Path
        A file of comma or tab separated values with a header line (``.csv``, ``.tsv``, both also
        with ``.gz``), ``.parquet``, LIBSVM's format (``.libsvm``, ``.svm``, ``.svmlight``, also
        with ``.gz`` or ``.bz2``), ``.arff``, or ``.npz`` with one array of labels and one of
        points.
    label : str or int, optional
        Name or position of the label column, where -1 is the last. By default the one column
        called label, class, target or y, else the last column. "none", where no column is
        called so, if there are no labels: every column is a feature then, and labels that the
        format keeps apart from the points are left out.

    Returns
    -------
    features : DataFrame
    labels : Series or None
    """
    path = Path(path)
    ending = known_ending(path.name)
    check_present(path)
    if ending is None:
        raise DataError(
            f"{path} ends with none of {', '.join(_READERS)}: convert or rename the file."
        )
    frame = _read(path, ending)
    if len(frame) == 0:
        raise DataError(f"{path} has no rows: give a file with data.")
    if frame.shape[1] < 2 and label != NO_LABEL:
        raise DataError(
            f"{path} has one column only, {str(frame.columns[0])[:40]!r}: it needs features and "
            "labels, with the separator that belongs to its ending."
        )
    features, labels = split_label(frame, label)
    if labels is None and ending in _LABELLED:
        return features.iloc[:, :-1], None
    return features, labels


def known_ending(name: str) -> str | None:
    """Return the ending of a file name that says how to read it, or None.

    Examples
    --------
    >>> known_ending("wine.csv.gz")
    '.csv.gz'
    """
    endings = [ending for ending in _READERS if name.lower().endswith(ending)]
    return max(endings, key=len, default=None)


def split_label(frame: pd.DataFrame, label: Any = None) -> tuple[pd.DataFrame, pd.Series | None]:
    """Split a table into its features and its label column.

    Parameters
    ----------
    frame : DataFrame
    label : str or int, optional
        Name or position of the label column, or "none"; see `read_table`.

    Returns
    -------
    features : DataFrame
    labels : Series or None
    """
    if label == NO_LABEL and NO_LABEL not in frame.columns:
        return frame, None
    position = _label_position(list(frame.columns), label)
    features = [p for p in range(frame.shape[1]) if p != position]
    return frame.iloc[:, features], frame.iloc[:, position]


def _label_position(columns: list[Any], label: Any) -> int:
    if label is None:
        named = [p for p, c in enumerate(columns) if str(c).lower() in LABEL_NAMES]
        return named[0] if len(named) == 1 else len(columns) - 1
    named = [p for p, c in enumerate(columns) if c == label]
    if len(named) > 1:
        raise DataError(f"{len(named)} columns are called {label!r}: give the label's position.")
    if named:
        return named[0]
    if re.fullmatch(r"-?\d+", str(label)) and -len(columns) <= int(label) < len(columns):
        return int(label) % len(columns)
    more = f" and {len(columns) - 10} more" if len(columns) > 10 else ""
    raise DataError(
        f"There is no label column {label!r}: the columns are "
        f"{', '.join(str(c) for c in columns[:10])}{more}."
    )


def check_present(path: Path) -> None:
    """Raise DataError unless there is a file that is not empty."""
    try:
        # Unlike the methods of Path, these answer for names of any length.
        if os.path.isdir(path):
            raise DataError(f"{path} is a directory: give a file in it.")
        if not os.path.exists(path):
            raise DataError(f"There is no file {path}: check the path.")
        if path.stat().st_size == 0:
            raise DataError(f"{path} is empty: give a file with data.")
    except PermissionError:
        raise DataError(_forbidden(path)) from None


def _forbidden(path: Path) -> str:
    return f"{path} may not be read by this user: change its permissions."


def _read(path: Path, ending: str) -> pd.DataFrame:
    try:
        return _READERS[ending](path)
    except DataError:
        raise
    except PermissionError:
        raise DataError(_forbidden(path)) from None
    except ImportError as error:
        raise DataError(f"{path} needs a package that is not installed: {error}.") from None
    except _UNREADABLE as error:
        reason = " ".join(str(error).split())[:160].rstrip(".") or type(error).__name__
        raise DataError(
            f"{path} cannot be read as {ending}: check that the file is whole and is what its "
            f"name says ({reason})."
        ) from None


def _read_csv(path: Path) -> pd.DataFrame:
    return _read_text(path, ",")


def _read_tsv(path: Path) -> pd.DataFrame:
    return _read_text(path, "\t")


def _read_text(path: Path, separator: str) -> pd.DataFrame:
    import pandas as pd

    with warnings.catch_warnings():
        # Where rows are longer than the header pandas warns and drops what is too much.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path, sep=separator, index_col=False, skipinitialspace=True, low_memory=False
            )
        except pd.errors.ParserWarning as warning:
            raise ValueError(str(warning)) from None
    complaint = _complaint_of_names(path, separator, [str(name) for name in frame.columns])
    if complaint:
        warnings.warn(complaint, MlmioWarning, stacklevel=2)
    return frame


def _complaint_of_names(path: Path, separator: str, names: list[str]) -> str:
    """What there is to warn of in the first line of a file, or nothing."""
    import pandas as pd

    # pandas makes equal names differ by appending .1, .2, ...
    numeric = [name for name in names if re.fullmatch(r"[-+]?\d+(\.\d+)*", name)]
    counted = {str(k) for k in range(len(names) + 1)}
    if numeric and len(numeric) >= len(names) - 1 and not counted.issuperset(numeric):
        return (
            f"The first line of {path} was taken for column names but looks like data: "
            "add a line of names above it."
        )
    line = pd.read_csv(path, sep=separator, header=None, nrows=1, dtype=str, skipinitialspace=True)
    given = line.iloc[0]
    again = given.duplicated() & given.notna()
    if not again.any():
        return ""
    taken = [repr(name) for name, repeated in zip(names, again, strict=True) if repeated]
    return (
        f"Several columns of {path} are called {', '.join(map(repr, given[again].unique()))}: the "
        f"later ones are taken as {', '.join(taken)}; give every column its own name."
    )


def _read_parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(path)


def _read_libsvm(path: Path) -> pd.DataFrame:
    from sklearn.datasets import load_svmlight_file

    features, labels = load_svmlight_file(os.fspath(path))
    if np.array_equal(labels, np.rint(labels)):
        labels = labels.astype(np.intp)
    return _frame(features.toarray(), labels, "label")


def _read_arff(path: Path) -> pd.DataFrame:
    import pandas as pd
    from scipy.io.arff import loadarff

    records, meta = loadarff(os.fspath(path))
    frame = pd.DataFrame({name: records[name] for name in meta.names()})
    for name, kind in zip(meta.names(), meta.types(), strict=True):
        if kind == "nominal":
            texts = [value.decode() for value in records[name]]
            frame[name] = [None if text == "?" else text for text in texts]
    return frame


def _read_npz(path: Path) -> pd.DataFrame:
    if not zipfile.is_zipfile(path):  # NumPy would also take other formats of its own
        raise ValueError("not a zip archive")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    labels = [name for name, array in arrays.items() if array.ndim == 1]
    points = [name for name, array in arrays.items() if array.ndim > 1]
    if len(labels) != 1 or len(points) != 1 or len(arrays[labels[0]]) != len(arrays[points[0]]):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise DataError(
            f"{path} holds the arrays {shapes or '(none)'}: it needs one of labels, "
            "of shape (N,), and one of points, of shape (N, ...)."
        )
    rows = arrays[points[0]]
    return _frame(rows.reshape(len(rows), -1), arrays[labels[0]], labels[0])


def _frame(X: np.ndarray, labels: np.ndarray, label: str) -> pd.DataFrame:
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"x{p}" for p in range(X.shape[1])])
    frame[label] = labels
    return frame


_READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".tsv": _read_tsv,
    ".tsv.gz": _read_tsv,
    ".parquet": _read_parquet,
    **{
        f".{name}{compression}": _read_libsvm
        for name in ("libsvm", "svm", "svmlight")
        for compression in ("", ".gz", ".bz2")
    },
    ".arff": _read_arff,
    ".npz": _read_npz,
}
# The formats that keep the labels apart from the points; their readers put them last.
_LABELLED = tuple(e for e, reader in _READERS.items() if reader in (_read_libsvm, _read_npz))
