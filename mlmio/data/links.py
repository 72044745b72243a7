"""Must-links and cannot-links as a graph: their closure, propagation and contradictions."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import DataError

Rows = NDArray[np.intp]


class Links:
    """Groups of points that must be of one class, and pairs of groups that cannot.

    Parameters
    ----------
    must, cannot : (M, 2) array of int
        Must-links and cannot-links, as row numbers.
    ids : array
        How to call the points in an error.

    Raises
    ------
    DataError
        If a cannot-link joins two points that must be of one class, naming the must-links that
        connect them.

    Attributes
    ----------
    groups : list of list of int
        Points that must-links connect, and points of cannot-links alone; sorted.
    group : dict of int to int
        Position in `groups` of every point that is in a link.

    Examples
    --------
    >>> links = Links(np.array([[0, 1], [1, 2]]), np.array([[2, 4]]), np.arange(5))
    >>> links.groups
    [[0, 1, 2], [4]]
    >>> links.similar.tolist(), links.dissimilar.tolist()
    ([[0, 1], [0, 2], [1, 2]], [[0, 4], [1, 4], [2, 4]])
    """

    def __init__(self, must: Rows, cannot: Rows, ids: NDArray) -> None:
        import networkx as nx

        self._graph = nx.Graph()
        self._graph.add_nodes_from(cannot.ravel().tolist())
        self._graph.add_edges_from(must.tolist())
        self._ids = ids
        self.groups = sorted(sorted(points) for points in nx.connected_components(self._graph))
        self.group = {point: g for g, points in enumerate(self.groups) for point in points}
        self._apart = sorted({self._separate(i, k) for i, k in cannot.tolist()})

    def _separate(self, i: int, k: int) -> tuple[int, int]:
        """Return the groups that a cannot-link tells apart, in order."""
        first, second = sorted((self.group[i], self.group[k]))
        if first == second:
            raise DataError(
                f"{self.chain(i, k)} must be one class, but {self._ids[i]} and {self._ids[k]} "
                "cannot: drop that cannot-link or one of these must-links."
            )
        return first, second

    def chain(self, i: int, k: int) -> str:
        """Return the points that connect two of one group by the fewest must-links."""
        import networkx as nx

        return " – ".join(str(self._ids[p]) for p in nx.shortest_path(self._graph, i, k))

    @property
    def similar(self) -> Rows:
        """The transitive closure of the must-links, pairs i < j, sorted."""
        return _sorted_pairs(pair for points in self.groups for pair in combinations(points, 2))

    @property
    def dissimilar(self) -> Rows:
        """The cannot-links propagated over the groups, pairs i < k, sorted."""
        return _sorted_pairs(
            pair for g, h in self._apart for pair in product(self.groups[g], self.groups[h])
        )

    def classes(self) -> tuple[Rows, NDArray[np.str_], NDArray[np.bool_]]:
        """Return the classes that the links imply.

        Returns
        -------
        rows : (N,) array of int
            Points that are in a link.
        labels : (N,) array of str
            Name of the group of each, after the group's first point.
        apart : (C, C) array of bool
            Which of the groups, sorted by name, a cannot-link tells apart.
        """
        rows = sorted(self.group)
        names = np.array([f"group of {self._ids[points[0]]}" for points in self.groups])
        apart = np.zeros((len(names), len(names)), dtype=bool)
        for g, h in self._apart:
            apart[g, h] = apart[h, g] = True
        order = np.argsort(names)
        labels = names[[self.group[row] for row in rows]]
        return np.array(rows, dtype=np.intp), labels, apart[np.ix_(order, order)]


def _sorted_pairs(pairs: Iterable[tuple[int, int]]) -> Rows:
    ordered = sorted((min(pair), max(pair)) for pair in pairs)
    return np.array(ordered, dtype=np.intp).reshape(-1, 2)
