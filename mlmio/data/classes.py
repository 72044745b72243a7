"""Which points are of one class and which are apart: masks, pairs and conflicts."""

from __future__ import annotations

from typing import Any

import numpy as np

from mlmio.data.validation import shown
from mlmio.errors import DataError


class Classes:
    """Points in classes, without where they come from: the part of `Dataset` that compares them.

    Attributes
    ----------
    X : ndarray of shape (N, D)
        The scaled points.
    y : ndarray of shape (N,)
        The class of every point as a position in `classes`.
    classes : ndarray of shape (C,)
        The different labels.
    source_size : int
        How many points they were drawn from.
    """

    X: np.ndarray
    y: np.ndarray
    classes: np.ndarray
    source_size: int
    # Which classes are apart, a (C, C) mask; None where every two are.
    _apart: np.ndarray | None

    @property
    def N(self) -> int:
        """Number of points."""
        return len(self.X)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def class_sizes(self) -> np.ndarray:
        """Number of points of every class."""
        return np.bincount(self.y, minlength=self.n_classes)

    def apart(self, i: Any, k: Any) -> Any:
        """Whether points i and k, numbers or arrays of them, are of classes that differ.

        Where links make the classes, two of them that no cannot-link tells apart are neither the
        same nor apart.
        """
        y = self.y
        return y[i] != y[k] if self._apart is None else self._apart[y[i], y[k]]

    def co_class(self, i: int) -> np.ndarray:
        """Return the other points of the class of point i."""
        same = self.y == self.y[i]
        same[i] = False
        return np.flatnonzero(same)

    def non_class(self, i: int) -> np.ndarray:
        """Return the points of the classes that differ from that of point i."""
        return np.flatnonzero(self.apart(i, np.arange(self.N)))

    def together_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return for every point of `rows` which points are others of its class, as a mask."""
        same = self.y[rows, None] == self.y[None, :]
        same[np.arange(len(rows)), rows] = False
        return same

    def apart_rows(self, rows: np.ndarray) -> np.ndarray:
        """Return for every point of `rows` which points are of other classes, as a mask."""
        return np.asarray(self.apart(rows[:, None], np.arange(self.N)))

    def require_class_size(self, least: int, what: str) -> None:
        """Raise DataError, naming the class, unless every class has `least` points.

        `what` says in the message what needs them.
        """
        smallest = int(self.class_sizes.argmin())
        if self.class_sizes[smallest] < least:
            raise DataError(
                f"class {shown(self.classes[smallest])} has {self.class_sizes[smallest]} "
                f"point(s), and '{what}' needs at least {least} in every class: "
                f"{'draw more of every class' if self.source_size > self.N else 'add points'}, "
                f"or leave that class out"
            )

    def co_pairs(self) -> np.ndarray:
        """Return the ordered pairs (i, j) of different points of the same class, sorted."""
        same = self.y[:, None] == self.y
        np.fill_diagonal(same, False)
        return np.argwhere(same)

    def non_pairs(self) -> np.ndarray:
        """Return the ordered pairs (i, k) of points of different classes, sorted."""
        return np.argwhere(self.apart_rows(np.arange(self.N)))

    @property
    def non_pair_count(self) -> int:
        """Number of ordered pairs (i, k) of points of different classes."""
        sizes = self.class_sizes
        if self._apart is None:
            return int(self.N**2 - (sizes**2).sum())
        return int(sizes @ self._apart @ sizes)

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
            found.append(pairs[self.apart(*pairs.T)])
        conflicts = np.concatenate(found)
        return conflicts[np.lexsort(conflicts.T[::-1])]
