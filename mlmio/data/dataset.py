"""A checked, scaled and read-only set of labelled points."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mlmio.data.classes import Classes
from mlmio.data.files import split_label
from mlmio.data.links import Links
from mlmio.data.scaling import Scaling
from mlmio.data.side import read_side, read_tuples, row_of, rows_by_text, rows_of, within
from mlmio.data.validation import (
    encode,
    feature_cells,
    feature_names,
    finite_numbers,
    identifiers,
    label_array,
    random_state,
    shown,
    whole_number,
)
from mlmio.errors import DataError, MlmioWarning


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Dataset(Classes):
    """Labelled points, checked and scaled, that are not changed any more.

    Without labels the must-links and cannot-links of the side information make the classes:
    points that must-links connect are a class, and two classes are apart only if a cannot-link
    tells them apart. Points in no link are left out, after the scaling is fitted.

    Parameters
    ----------
    X : array-like of shape (N, D) or DataFrame
        The points; a DataFrame's column names are kept.
    y : array-like of shape (N,), a column of X, or None
        The labels, of any type; for a DataFrame also the name or position of the column of X that
        holds them. None if there are none.
    scale : str or Scaling, default "minmax"
        "none", "minmax", "standard", "robust", or a scaling that was fitted before.
    ids : array-like of shape (N,), optional
        A different identifier for every point; the row number by default.
    feature_names : sequence of str, optional
        One name per feature.
    name : str, default "data"
        How to call the data set in messages.
    side : mapping of str to sequence of tuples, or path, optional
        Side information by the name of the block that takes it, such as ``{"must_link": [(0, 1)],
        "triplets": "triplets.csv"}``: tuples of identifiers, or a CSV file with one a line.

    Attributes
    ----------
    X : ndarray of shape (N, D)
        The scaled points.
    y : ndarray of shape (N,)
        The class of every point as a position in `classes`.
    labels : ndarray of shape (N,)
        The label of every point as it was given.
    classes : ndarray of shape (C,)
        The different labels, sorted; labels of several types by type name, then as strings.
    feature_names : tuple of str
    ids : ndarray of shape (N,)
    scaling : Scaling
    name : str
    source_size : int
        How many points the data set had that this one was drawn from, N if it was not drawn.
    side : dict of str to ndarray of shape (M, width)
        The side information as row numbers.

    Examples
    --------
    >>> data = Dataset([[0, 1], [2, 3], [4, 2]], ["b", "a", "b"])
    >>> data
    Dataset(data: 3 points, 2 features, 2 classes, minmax)
    >>> data.classes[data.y].tolist()
    ['b', 'a', 'b']
    >>> data.co_class(0), data.non_class(0)
    (array([2]), array([1]))
    >>> linked = Dataset(
    ...     [[0], [1], [5], [9]], None, side={"must_link": [(0, 1)], "cannot_link": [(1, 3)]}
    ... )
    >>> linked
    Dataset(data: 3 of 4 points, 1 features, 2 classes, minmax)
    >>> linked.labels.tolist()
    ['group of 0', 'group of 0', 'group of 3']
    """

    X: np.ndarray
    y: np.ndarray
    labels: np.ndarray
    classes: np.ndarray
    feature_names: tuple[str, ...]
    ids: np.ndarray
    scaling: Scaling
    name: str
    source_size: int
    side: dict[str, np.ndarray]
    # Which classes are apart, a (C, C) mask; None where every two are.
    _apart: np.ndarray | None

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        scale: str | Scaling = "minmax",
        ids: Any = None,
        feature_names: Sequence[str] | None = None,
        name: str = "data",
        side: Mapping[str, Any] | None = None,
    ) -> None:
        if hasattr(X, "iloc") and (isinstance(y, str | int | np.integer)):
            X, y = split_label(X, y)
        points, names, ids = _checked_points(X, feature_names, ids)
        tuples = read_side(side, ids)
        if y is None:
            rows, labels, apart = _implied_classes(tuples, ids, name)
        else:
            rows, labels, apart = np.arange(len(ids)), label_array(y, ids), None
        scaling = scale if isinstance(scale, Scaling) else Scaling.fit(scale, points)
        self._fill(
            X=np.ascontiguousarray(scaling.apply(points)[rows]),
            labels=labels,
            feature_names=names,
            ids=ids[rows],
            scaling=scaling,
            name=name,
            source_size=len(points),
            side=within(tuples, rows, len(ids)),
            _apart=apart,
        )
        self._warn_of_constant_features()

    def _fill(self, *, labels: np.ndarray, **values: Any) -> None:
        classes, codes = encode(labels)
        if len(classes) < 2:
            raise DataError(
                f"All {len(labels)} points of {values['name']} have the label "
                f"{shown(classes[0])}: give points of at least two classes."
            )
        values |= {"labels": labels, "classes": classes, "y": codes.astype(np.intp)}
        for attribute, value in values.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, attribute, value)
        if not self.non_pair_count:
            raise DataError(
                f"No cannot-link is left between the {self.N} points of {self.name}: "
                "take points of classes that one tells apart."
            )

    def _warn_of_constant_features(self) -> None:
        constant = self.constant_features
        if constant:
            more = f" and {len(constant) - 5} more" if len(constant) > 5 else ""
            warnings.warn(
                f"{len(constant)} of {self.D} features of {self.name} have the same value in all "
                f"points ({', '.join(constant[:5])}{more}): no distance depends on them, "
                "so they can be dropped.",
                MlmioWarning,
                stacklevel=3,
            )

    @property
    def D(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def constant_features(self) -> tuple[str, ...]:
        """Names of the features that have the same value in all points."""
        constant = np.ptp(self.X, axis=0) == 0
        return tuple(self.feature_names[p] for p in np.flatnonzero(constant))

    @cached_property
    def _rows_by_text(self) -> dict[str, int]:
        return rows_by_text(self.ids)

    def positions(self, ids: Iterable[Any]) -> list[int]:
        """Return the rows of points by their identifiers, or by the text of these.

        Raises
        ------
        DataError
            Naming the identifier that no point has.
        """
        return [row_of(one, self._rows_by_text, self.name) for one in ids]

    def with_side(self, name: str, tuples: Any) -> Dataset:
        """Return the same points with other side information of one name.

        Parameters
        ----------
        name : str
            Name of the block that takes it.
        tuples : sequence of tuples of identifiers, or path
            See the parameter `side`.
        """
        told = copy.copy(self)
        rows = read_tuples(name, tuples, self._rows_by_text)
        object.__setattr__(told, "side", self.side | {name: rows})
        return told

    def side_rows(self, name: str, width: int) -> np.ndarray:
        """Return the side information of one name as row numbers.

        Parameters
        ----------
        name : str
            Name of the block that takes it.
        width : int
            Number of points in a tuple.

        Returns
        -------
        ndarray of shape (M, width)

        Raises
        ------
        DataError
            If there is none, or it has tuples of another width.
        """
        return rows_of(self.side, name, width, self.name)

    def links(self) -> Links:
        """Return the must-links and cannot-links as a graph.

        Raises
        ------
        DataError
            If they contradict one another, naming the chain of must-links, or the classes.
        """
        cannot = self.side_rows("cannot_link", 2)
        links = Links(self.side_rows("must_link", 2), cannot, self.ids)
        similar = links.similar
        across = similar[self.apart(*similar.T)]
        if len(across):
            i, j = across[0]
            raise DataError(
                f"{links.chain(i, j)} must be one class, but {self.ids[i]} is of class "
                f"{shown(self.labels[i])} and {self.ids[j]} of class {shown(self.labels[j])}."
            )
        inside = cannot[self.y[cannot[:, 0]] == self.y[cannot[:, 1]]]
        if len(inside):
            i, k = inside[0]
            raise DataError(
                f"{self.ids[i]} and {self.ids[k]} cannot be of one class, but both are of class "
                f"{shown(self.labels[i])}."
            )
        return links

    def take(self, rows: Any) -> Dataset:
        """Return some of the points, with their ids and scaling; absent classes are left out.

        Side information is kept where all of a tuple's points are taken.

        Parameters
        ----------
        rows : array-like
            Row numbers, each at most once, or a boolean for every row.

        Returns
        -------
        Dataset
        """
        chosen = self._row_numbers(rows)
        present = np.unique(self.y[chosen])
        subset = object.__new__(type(self))
        subset._fill(
            X=self.X[chosen],
            labels=self.labels[chosen],
            feature_names=self.feature_names,
            ids=self.ids[chosen],
            scaling=self.scaling,
            name=self.name,
            source_size=self.source_size,
            side=within(self.side, chosen, self.N),
            _apart=None if self._apart is None else self._apart[np.ix_(present, present)],
        )
        return subset

    def _row_numbers(self, rows: Any) -> np.ndarray:
        rows = np.asarray(rows)
        if rows.size == 0 or rows.ndim != 1:
            raise DataError(f"Rows of shape {rows.shape} of {self.name}: give a list of rows.")
        try:
            chosen = np.arange(self.N)[rows]
        except IndexError as error:
            raise DataError(f"Not rows of {self.name}, which has {self.N}: {error}.") from None
        if len(np.unique(chosen)) < len(chosen):
            raise DataError(f"A row of {self.name} is taken twice: give every row at most once.")
        return chosen

    def draw(self, per_class: int, seed: int = 0) -> Dataset:
        """Return the same number of points of every class, drawn at random.

        Parameters
        ----------
        per_class : int
            Number of points of every class.
        seed : int, default 0

        Returns
        -------
        Dataset
            The points of the first class, then those of the second, and so on.
        """
        per_class = whole_number(per_class, "per_class")
        scarcest = int(self.class_sizes.argmin())
        if self.class_sizes[scarcest] < per_class:
            raise DataError(
                f"Class {shown(self.classes[scarcest])} of {self.name} has only "
                f"{self.class_sizes[scarcest]} points: draw at most as many per class, "
                f"not {per_class}."
            )
        rng = random_state(seed)
        return self.take(
            np.concatenate(
                [
                    rng.choice(np.flatnonzero(self.y == c), per_class, replace=False)
                    for c in range(self.n_classes)
                ]
            )
        )

    def __len__(self) -> int:
        return self.N

    def __repr__(self) -> str:
        source = f" of {self.source_size}" if self.source_size > self.N else ""
        return (
            f"Dataset({self.name}: {self.N}{source} points, {self.D} features, "
            f"{self.n_classes} classes, {self.scaling.kind})"
        )


def require_dataset(data: Any) -> None:
    """Raise DataError unless `data` is a Dataset."""
    if not isinstance(data, Dataset):
        raise DataError(f"data is a {type(data).__name__}: give a Dataset, as Dataset(X, y)")


def _checked_points(X: Any, names: Any, ids: Any) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    cells = feature_cells(X)
    names = feature_names(names, X, cells.shape[1])
    ids = identifiers(ids, len(cells))
    return finite_numbers(cells, names, ids), names, ids


def _implied_classes(
    side: Mapping[str, np.ndarray], ids: np.ndarray, name: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows in a link, their labels, and which classes are apart."""
    if not {"must_link", "cannot_link"} <= side.keys():
        raise DataError(
            f"{name} has no labels: give y, or must-links and cannot-links as "
            "side={'must_link': …, 'cannot_link': …}."
        )
    must, cannot = (rows_of(side, kind, 2, name) for kind in ("must_link", "cannot_link"))
    return Links(must, cannot, ids).classes()
