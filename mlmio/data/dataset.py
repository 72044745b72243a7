"""A checked, scaled and read-only set of labelled points."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlmio.data.files import split_label
from mlmio.data.scaling import Scaling
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
class Dataset:
    """Labelled points, checked and scaled, that are not changed any more.

    Parameters
    ----------
    X : array-like of shape (N, D) or DataFrame
        The points; a DataFrame's column names are kept.
    y : array-like of shape (N,), or a column of X
        The labels, of any type; for a DataFrame also the name or position of the column of X that
        holds them.
    scale : str or Scaling, default "minmax"
        "none", "minmax", "standard", "robust", or a scaling that was fitted before.
    ids : array-like of shape (N,), optional
        A different identifier for every point; the row number by default.
    feature_names : sequence of str, optional
        One name per feature.
    name : str, default "data"
        How to call the data set in messages.

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

    Examples
    --------
    >>> data = Dataset([[0, 1], [2, 3], [4, 2]], ["b", "a", "b"])
    >>> data
    Dataset(data: 3 points, 2 features, 2 classes, minmax)
    >>> data.classes[data.y].tolist()
    ['b', 'a', 'b']
    >>> data.co_class(0), data.non_class(0)
    (array([2]), array([1]))
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

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        scale: str | Scaling = "minmax",
        ids: Any = None,
        feature_names: Sequence[str] | None = None,
        name: str = "data",
    ) -> None:
        if hasattr(X, "iloc") and (isinstance(y, str | int | np.integer)):
            X, y = split_label(X, y)
        points, names, ids = _checked_points(X, feature_names, ids)
        labels = label_array(y, ids)
        scaling = scale if isinstance(scale, Scaling) else Scaling.fit(scale, points)
        self._fill(
            X=np.ascontiguousarray(scaling.apply(points)),
            labels=labels,
            feature_names=names,
            ids=ids,
            scaling=scaling,
            name=name,
            source_size=len(points),
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
    def N(self) -> int:
        """Number of points."""
        return len(self.X)

    @property
    def D(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def class_sizes(self) -> np.ndarray:
        """Number of points of every class."""
        return np.bincount(self.y, minlength=self.n_classes)

    @property
    def constant_features(self) -> tuple[str, ...]:
        """Names of the features that have the same value in all points."""
        constant = np.ptp(self.X, axis=0) == 0
        return tuple(self.feature_names[p] for p in np.flatnonzero(constant))

    def co_class(self, i: int) -> np.ndarray:
        """Return the other points of the class of point i."""
        same = self.y == self.y[i]
        same[i] = False
        return np.flatnonzero(same)

    def non_class(self, i: int) -> np.ndarray:
        """Return the points that are not of the class of point i."""
        return np.flatnonzero(self.y != self.y[i])

    def together_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return for every point of `rows` which points are others of its class, as a mask."""
        same = self.y[rows, None] == self.y[None, :]
        same[np.arange(len(rows)), rows] = False
        return same

    def apart_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return for every point of `rows` which points are not of its class, as a mask."""
        return self.y[rows, None] != self.y[None, :]

    def require_class_size(self, least: int, what: str) -> None:
        """Raise DataError, naming the class, unless every class has `least` points.

        `what` says in the message what needs them.
        """
        smallest = int(self.class_sizes.argmin())
        if self.class_sizes[smallest] < least:
            raise DataError(
                f"class {shown(self.classes[smallest])} has {self.class_sizes[smallest]} "
                f"point(s), and '{what}' needs at least {least} in every class: "
                f"add points, or leave that class out"
            )

    def co_pairs(self) -> np.ndarray:
        """Return the ordered pairs (i, j) of different points of the same class, sorted."""
        same = self.y[:, None] == self.y
        np.fill_diagonal(same, False)
        return np.argwhere(same)

    def non_pairs(self) -> np.ndarray:
        """Return the ordered pairs (i, k) of points of different classes, sorted."""
        return np.argwhere(self.y[:, None] != self.y)

    def pairs(self) -> np.ndarray:
        """Return the pairs i < j of points, sorted."""
        return np.column_stack(np.triu_indices(self.N, 1))

    def conflicts(self) -> np.ndarray:
        """Return the pairs i < j of different classes whose scaled points are equal, sorted.

        Equal points are found by sorting, so that the time grows with N log N and the number of
        conflicts, not with the number of pairs.
        """
        order = np.lexsort(self.X.T)
        ranked = self.X[order]
        starts = np.flatnonzero(np.r_[True, (ranked[1:] != ranked[:-1]).any(axis=1)])
        codes = self.y[order]
        mixed = np.minimum.reduceat(codes, starts) != np.maximum.reduceat(codes, starts)
        ends = np.r_[starts[1:], self.N]
        found = [np.empty((0, 2), dtype=np.intp)]
        for start, end in zip(starts[mixed], ends[mixed], strict=True):
            group = np.sort(order[start:end])
            pairs = group[np.column_stack(np.triu_indices(len(group), 1))]
            found.append(pairs[self.y[pairs[:, 0]] != self.y[pairs[:, 1]]])
        conflicts = np.concatenate(found)
        return conflicts[np.lexsort(conflicts.T[::-1])]

    def take(self, rows: Any) -> Dataset:
        """Return some of the points, with their ids and scaling; absent classes are left out.

        Parameters
        ----------
        rows : array-like
            Row numbers, each at most once, or a boolean for every row.

        Returns
        -------
        Dataset
        """
        chosen = self._row_numbers(rows)
        subset = object.__new__(type(self))
        subset._fill(
            X=self.X[chosen],
            labels=self.labels[chosen],
            feature_names=self.feature_names,
            ids=self.ids[chosen],
            scaling=self.scaling,
            name=self.name,
            source_size=self.source_size,
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


def _checked_points(X: Any, names: Any, ids: Any) -> tuple[np.ndarray, tuple[str, ...], np.ndarray]:
    cells = feature_cells(X)
    names = feature_names(names, X, cells.shape[1])
    ids = identifiers(ids, len(cells))
    return finite_numbers(cells, names, ids), names, ids
