"""Data sets by name: built in, generated, from a file, or from OpenML."""

from __future__ import annotations

import difflib
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path
from typing import Any

from mlmio.data.dataset import Dataset
from mlmio.data.files import NO_LABEL, known_ending, read_table, split_label
from mlmio.data.generators import GENERATORS
from mlmio.data.label_column import check_label_column
from mlmio.data.validation import random_state, whole_number
from mlmio.errors import DataError

DATA_DIR_VARIABLE = "MLMIO_DATA"
_SEARCHED_ENDINGS = (".csv.gz", ".csv", ".parquet", ".npz", ".arff", ".libsvm")
_OPENML_TIMEOUT = 10.0

# Built-in name -> scikit-learn's loader, and whether labels are the names of the classes.
_SKLEARN = {
    "iris": ("load_iris", True),
    "wine": ("load_wine", True),
    "breast_cancer": ("load_breast_cancer", True),
    "digits": ("load_digits", False),
}


def dataset_names() -> list[str]:
    """Return the names of the built-in data sets.

    Examples
    --------
    >>> dataset_names()
    ['iris', 'wine', 'breast_cancer', 'digits', 'two_lines', 'islands', 'six_d', 'target_trap',
     'triplet_trap', 'ten_classes']
    """
    return [*_SKLEARN, *GENERATORS]


def load_dataset(
    name: str | Path,
    *,
    per_class: int | None = None,
    n: int | None = None,
    seed: int = 0,
    scale: str = "minmax",
    label: str | int | None = None,
    side: Mapping[str, Any] | None = None,
    data_dir: str | Path | None = None,
) -> Dataset:
    """Load a data set by name, and draw points from it.

    The scaling is fitted to all points of the data set, then the points are drawn.

    Parameters
    ----------
    name : str or Path
        A built-in name (see `dataset_names`), a file (see `mlmio.data.read_table`), the name of a
        file in `data_dir` without its ending, or a data set of OpenML; looked for in this order.
    per_class : int, optional
        Draw this many points of every class.
    n : int, optional
        Draw this many points whatever their class; for a synthetic set, generate this many.
    seed : int, default 0
        Seed of the generator and of the drawing.
    scale : str, default "minmax"
        "none", "minmax", "standard" or "robust".
    label : str or int, optional
        Name or position of the label column of a file or an OpenML data set; "none" if it has
        no labels, for which `side` must have links.
    side : mapping of str to sequence of tuples, or path, optional
        Side information, see `Dataset`; the identifiers are the row numbers from 0 of the whole
        data set, before points are drawn.
    data_dir : str or Path, optional
        Folder of data files; by default that of the environment variable MLMIO_DATA, if any.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> load_dataset("iris", per_class=5)
    Dataset(iris: 15 of 150 points, 4 features, 3 classes, minmax)
    >>> load_dataset("two_lines", n=20)
    Dataset(two_lines: 20 points, 2 features, 2 classes, minmax)
    """
    name = os.fspath(name)
    if not name:
        raise DataError("The name of the data set is empty: give a built-in name or a file.")
    if label is not None and name in dataset_names():
        raise DataError(f"{name} is built in and has its own labels: leave out label={label!r}.")
    if name in GENERATORS:
        size = {} if n is None else {"n": n}
        X, labels = GENERATORS[name](seed=seed, **size)
        data = Dataset(X, labels, scale=scale, name=name, side=side)
        return data if per_class is None else data.draw(per_class, seed)
    if n is not None and per_class is not None:
        raise DataError(f"n={n} and per_class={per_class} are two ways to draw: give one of them.")
    options = {"scale": scale, "side": side}
    return _drawn(_whole(name, label, data_dir, options), per_class, n, seed)


def _drawn(data: Dataset, per_class: int | None, n: int | None, seed: int) -> Dataset:
    if per_class is not None:
        return data.draw(per_class, seed)
    if n is None:
        return data
    if whole_number(n, "n", least=2) > data.N:
        raise DataError(f"{data.name} has {data.N} points: draw at most as many, not {n}.")
    return data.take(random_state(seed).choice(data.N, n, replace=False))


def _whole(
    name: str, label: str | int | None, data_dir: str | Path | None, options: dict[str, Any]
) -> Dataset:
    if name in _SKLEARN:
        return _from_sklearn(name, options)
    if _is_file(name):
        path = Path(os.path.expanduser(name))
        return _from_file(path, label, name=_stem(path), **options)
    folder = _data_folder(data_dir)
    for path in [] if folder is None else [folder / (name + e) for e in _SEARCHED_ENDINGS]:
        if os.path.isfile(path):
            return _from_file(path, label, name=name, **options)
    features, labels = _from_openml(name, label, folder)
    if labels is not None:
        check_label_column(labels, name)
    return Dataset(features, labels, name=name, **options)


def _from_file(path: Path, label: str | int | None, **options: Any) -> Dataset:
    features, labels = read_table(path, label)
    if labels is not None:
        check_label_column(labels, str(path))
    return Dataset(features, labels, **options)


def _from_sklearn(name: str, options: dict[str, Any]) -> Dataset:
    import sklearn.datasets

    loader, named = _SKLEARN[name]
    bunch = getattr(sklearn.datasets, loader)()
    labels = bunch.target_names[bunch.target] if named else bunch.target
    return Dataset(bunch.data, labels, feature_names=bunch.feature_names, name=name, **options)


def _is_file(name: str) -> bool:
    separators = [s for s in (os.sep, os.altsep) if s is not None]
    is_path = any(separator in name for separator in separators)
    return is_path or known_ending(name) is not None or os.path.exists(name)


def _stem(path: Path) -> str:
    return path.name[: len(path.name) - len(known_ending(path.name) or "")]


def _data_folder(data_dir: str | Path | None) -> Path | None:
    given = data_dir or os.environ.get(DATA_DIR_VARIABLE)
    if not given:
        return None
    folder = Path(os.path.expanduser(given))
    if not folder.is_dir():
        raise DataError(
            f"The data directory {folder} is not a folder: correct --data-dir or "
            f"{DATA_DIR_VARIABLE}."
        )
    return folder


def _from_openml(name: str, label: str | int | None, folder: Path | None) -> tuple[Any, Any]:
    from sklearn.datasets import fetch_openml

    target = "default-target" if label in (None, NO_LABEL) else None
    try:
        with _socket_timeout(_OPENML_TIMEOUT):
            bunch = fetch_openml(
                name, target_column=target, as_frame=True, parser="pandas", n_retries=1
            )
    except (OSError, ValueError, HTTPException) as error:  # URLError is an OSError
        raise DataError(_not_found(name, folder, error)) from None
    if label == NO_LABEL:
        return bunch.data, None
    if label is not None:
        return split_label(bunch.frame, label)
    if bunch.target is None:
        raise DataError(f"OpenML's {name} has no default label column: give one with label=.")
    return bunch.data, bunch.target


@contextmanager
def _socket_timeout(seconds: float) -> Iterator[None]:
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)


def _not_found(name: str, folder: Path | None, error: Exception) -> str:
    close = difflib.get_close_matches(name, dataset_names())
    built_in = f"close to it: {', '.join(close)}" if close else ", ".join(dataset_names())
    endings = ", ".join(_SEARCHED_ENDINGS)
    files = (
        f"no folder of data files is set in which to look for {name} with {endings}"
        if folder is None
        else f"{folder} has no {name} with {endings}"
    )
    reason = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    return (
        f"There is no data set {name!r}: it is not built in ({built_in}), {files}, and OpenML did "
        f"not give it ({reason}); correct the name, or set --data-dir or {DATA_DIR_VARIABLE} to "
        "the folder that has its file."
    )
