"""The oracle: what is nearest, farthest and violated under some parameters, without N² memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.series import multiplicities, multisets, parameter_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mlmio.data import Dataset
    from mlmio.kernels.distances import Form

Array = NDArray[np.float64]
Pairs = NDArray[np.intp]
Mask = NDArray[np.bool_]

# A sample has so many points of a class, where there are.
LEAST_OF_A_CLASS = 50
# Pairs of a list whose points join others.
JOINING = 1500


@dataclass(frozen=True)
class Neighborhood:
    """The nearest points of every point's own class and of others.

    Parameters
    ----------
    served_by : (N, k) array of int
        Of its own class, nearest first, −1 where there are no more.
    served_at : (N, k) array
        Their distances, infinite where there are no more.
    fenced_by : (N, q) array of int
        Of other classes, likewise.
    fenced_at : (N, q) array
        Their distances.
    """

    served_by: Pairs
    served_at: Array
    fenced_by: Pairs
    fenced_at: Array

    @property
    def separation(self) -> Array:
        """(N,) distance to the nearest of other classes minus that to the k-th of the own.

        It is −∞ where fewer than k serve, even if nobody is left of other classes.
        """
        served_at = self.served_at[:, -1]
        return np.where(np.isinf(served_at), -np.inf, self.fenced_at[:, 0]) - np.where(
            np.isinf(served_at), 0.0, served_at
        )


class Oracle:
    """Answers what a strategy asks of the data for some θ.

    One question costs O(N²(P + R)) operations, for P parameters of the orders other than 2 and R
    non-zero eigenvalues of B, and O(N) memory; it uses as many threads as numba is set to.

    Parameters
    ----------
    data : Dataset
        The points.
    orders : sequence of int
        Orders of the terms, in the order of θ.
    exempt : (M, 2) array of int
        Pairs of different classes that need not be apart, because they coincide.
    rows : (n,) array of int, optional
        The points that count, numbered anew; all by default.
    """

    def __init__(
        self,
        data: Dataset,
        orders: Sequence[int],
        exempt: Pairs | None = None,
        rows: Pairs | None = None,
    ) -> None:
        from mlmio.kernels.distances import Classes

        self._data, self._exempt = data, exempt
        self.rows = np.arange(data.N) if rows is None else rows
        self.D, self.orders = data.D, tuple(orders)
        twin = np.full(data.N, -1)
        for group, (i, k) in enumerate(() if exempt is None else exempt):
            twin[[i, k]] = twin[i] if twin[i] >= 0 else group
        first = np.unique(data.y, return_index=True)[1]
        apart = np.asarray(data.apart(first[:, None], first[None, :]), dtype=bool)
        # Inside, points are sorted by class.
        y = data.y[self.rows].astype(np.int64)
        self._order = order = np.argsort(y, kind="stable")
        bounds = np.searchsorted(y[order], np.arange(len(apart) + 1))
        self._classes = Classes(y[order], bounds, apart, twin[self.rows][order].astype(np.int64))
        self._X = np.ascontiguousarray(data.X[self.rows][order].T)
        self._everyone = np.ones(len(y), dtype=bool)

    def of(self, rows: Pairs) -> Oracle:
        """Return the oracle of some of the data's points."""
        return Oracle(self._data, self.orders, self._exempt, rows)

    def joined_by(self, pairs: Sequence[Pairs]) -> Oracle:
        """Return the oracle of these points and of the first of some lists of pairs, of each list.

        For rounds over some points, with a look at all where nothing is violated among them: what
        is extreme under one metric is so under others.
        """
        joining = [part[:JOINING].ravel() for part in pairs]
        return self.of(np.unique(np.concatenate([self.rows, *joining])))

    def nearest(
        self,
        theta: Array,
        k: int = 1,
        q: int = 1,
        serving: Mask | None = None,
        fencing: Mask | None = None,
    ) -> Neighborhood:
        """Return the `k` nearest points of every point's class and the `q` nearest of others.

        Parameters
        ----------
        theta : (P,) array
            Parameters, order by order.
        k, q : int
            How many.
        serving, fencing : (N,) arrays of bool, optional
            Which points count among those of the same class, and of others; all by default.
        """
        from mlmio.kernels import distances

        N, order = len(self.rows), self._order
        served_by, fenced_by = np.empty((N, k), np.int64), np.empty((N, q), np.int64)
        served_at, fenced_at = np.empty((N, k)), np.empty((N, q))
        with distances.threads_for(N):
            distances.nearest(
                self._form(theta),
                self._classes,
                self._everyone if serving is None else serving[order],
                self._everyone if fencing is None else fencing[order],
                served_by,
                served_at,
                fenced_by,
                fenced_at,
            )
        place = np.argsort(order)
        return Neighborhood(
            self._numbers(served_by[place]),
            served_at[place],
            self._numbers(fenced_by[place]),
            fenced_at[place],
        )

    def _numbers(self, sorted_by_class: Pairs) -> Pairs:
        """The numbers of points that are given by their places, −1 where there is none."""
        return np.where(sorted_by_class >= 0, self._order[sorted_by_class], -1)

    def violated(
        self, theta: Array, dmin: float, dmax: float
    ) -> tuple[tuple[Pairs, Array], tuple[Pairs, Array]]:
        """Return pairs that break a bound of the distance, among them those that break it most.

        Returns
        -------
        ((pairs, amounts), (pairs, amounts))
            Pairs i < j with d_ij > d_max, then those below their least distance: d_min between
            classes, else 0. Each with by how much, the largest first. Every point has a few at
            most. If both are empty then no pair at all breaks a bound.
        """
        from mlmio.kernels import distances

        N = len(self.rows)
        index, value = np.empty((3, N), np.int64), np.empty((3, N))
        with distances.threads_for(N):
            distances.violations(self._form(theta), self._classes, dmin, dmax, index, value)
        bounds = np.array([[dmax], [0.0], [dmin]])
        return (
            self._worst_first(index[:1], value[:1], bounds[:1]),
            self._worst_first(index[1:], value[1:], bounds[1:]),
        )

    def _worst_first(self, others: Pairs, d: Array, bounds: Array) -> tuple[Pairs, Array]:
        """Pairs of the points with others, and by how much they break bounds, the largest first."""
        kind, point = np.nonzero(others >= 0)
        amount = np.abs(d[kind, point] - bounds[kind, 0])
        worst = np.argsort(-amount, kind="stable")
        pairs = self._order[np.column_stack([point, others[kind, point]])[worst]]
        return np.sort(pairs, axis=1), amount[worst]

    def _form(self, theta: Array) -> Form:
        """Lay θ out for the inner loop."""
        from mlmio.kernels.distances import Form

        D = self.D
        entries, start = {}, 0
        for order in self.orders:
            stop = start + parameter_count(D, order)
            entries[order] = np.asarray(theta[start:stop], dtype=float)
            start = stop
        sign, Y = np.empty(0), np.empty((0, len(self.rows)))
        if 2 in entries:
            sign, Y = _squares(entries[2], self._X)
        sets, weight = _higher(D, tuple(order for order in self.orders if order > 2))
        values = [entries[order] for order in self.orders if order > 2]
        weight = weight * np.concatenate(values) if values else weight
        return Form(self._X, entries.get(1, np.zeros(D)), Y, sign, sets, weight)


def _squares(entries: Array, X: Array) -> tuple[Array, Array]:
    """Signs, and coordinates of the (D, N) points in which δᵀBδ = Σ ± (difference)²."""
    from mlmio.series import tensor_from_entries

    D = len(X)
    values, vectors = np.linalg.eigh(tensor_from_entries(entries, D, 2))
    used = np.abs(values) > 1e-16 * max(1e-300, float(np.abs(values).max()))
    root = vectors[:, used] * np.sqrt(np.abs(values[used]))
    return np.sign(values[used]), np.ascontiguousarray(root.T @ X)


@lru_cache(maxsize=16)
def _higher(D: int, orders: tuple[int, ...]) -> tuple[NDArray[np.int64], Array]:
    """Multisets of the orders, filled up with −1, and their multiplicities."""
    width = max(orders, default=1)
    sets = [np.empty((0, width), np.int64)]
    weights = [np.empty(0)]
    for order in orders:
        filled = np.full((parameter_count(D, order), width), -1)
        filled[:, :order] = multisets(D, order)
        sets.append(filled)
        weights.append(multiplicities(D, order))
    return np.concatenate(sets).astype(np.int64), np.concatenate(weights)


def class_sample(data: Dataset, size: int, seed: int) -> Pairs:
    """Draw points that stand for all, about `size`, of every class in its share and at least some.

    Parameters
    ----------
    data : Dataset
        The points.
    size : int
        How many.
    seed : int
        Of the draw.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for c in range(data.n_classes):
        members = np.flatnonzero(data.y == c)
        wanted = max(LEAST_OF_A_CLASS, round(size * len(members) / data.N))
        rows.append(rng.choice(members, min(wanted, len(members)), replace=False))
    return np.sort(np.concatenate(rows))


def ends(data: Dataset, directions: int) -> Pairs:
    """Return the points that come first and last in random directions.

    The points that are farthest apart under a metric are among such.
    """
    along = data.X @ np.random.default_rng(0).normal(size=(data.D, directions))
    return np.unique(np.concatenate([along.argmin(axis=0), along.argmax(axis=0)]))
