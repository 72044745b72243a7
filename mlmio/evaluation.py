"""The evaluation of a point (θ, z): the mathematics again, in NumPy, without the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.context import Margin

if TYPE_CHECKING:
    from mlmio.data import Dataset
    from mlmio.metric import Metric

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Distances computed at once: a block of rows that stays in the cache while it is looked at.
BLOCK_BYTES = 2 * 2**20


@dataclass(frozen=True)
class Violation:
    """One statement of a block that a point does not satisfy.

    Parameters
    ----------
    block : str
        Block that states it.
    what : str
        The statement, with the points concerned.
    amount : float
        By how much it is violated, in units of the distance.
    """

    block: str
    what: str
    amount: float

    def __str__(self) -> str:
        return f"{self.block}: {self.what} (by {self.amount:.3g})"


class Evaluation:
    """What the blocks compute for one point (θ, z), from the data alone.

    The counterpart of :class:`~mlmio.context.Context`: blocks publish numbers here where they
    publish expressions there, and report what is violated and what the objective is.

    Parameters
    ----------
    data : Dataset
        The points.
    metric : Metric
        θ as a metric.
    outliers : (N,) array of bool
        z.

    Attributes
    ----------
    violations : list of Violation
        What the point does not satisfy, however little.
    remarks : list of str
        What a user should know of the point, though nothing is violated.
    facts : dict of str to float
        Numbers that a certificate should show, such as the smallest eigenvalue of B.
    objective : float
        Sum of the blocks' contributions.
    dmax : float
        Published by ``region``: greatest value of any distance.
    conflicting : array of int
        Published by ``region``: points that the loss must give up.
    margin : Margin
        Published by ``loss``: interval of λ.
    kept : (N,) array of bool
        Published by ``loss``: the points that must be served.
    serves : (N,) array of bool
        Published by ``loss``: the points that may serve others.
    in_force : callable (rows) -> (n, N) array of bool
        Published by ``loss``: which separation rows (i, k) are not relaxed.
    settle : callable (shortfall) -> (N,) array
        Published by ``loss``: takes by how much each point falls short of the margin, accounts
        for it, and returns what is left as violation.
    slack : (N,) array
        Published by ``loss``: what each point lacks of the margin and is paid for.
    chosen : (N, k) array of int
        Published by ``neighbors``: the points that serve each point, −1 where none does.
    reach : (N,) array
        Published by ``neighbors``: s_i, the distance to the farthest of them, 0 where none.
    separation : (N,) array
        Published by ``neighbors``: least d_ik in force minus s_i, infinite where none is.
    threshold : float
        Published by ``side``: least τ that similar points allow.
    value : float or None
        Published by ``neighbors``: the quantity that it maximises (λ).
    """

    def __init__(self, data: Dataset, metric: Metric, outliers: Mask) -> None:
        self.data = data
        self.metric = metric
        self.outliers = outliers
        self.violations: list[Violation] = []
        self.remarks: list[str] = []
        self.facts: dict[str, float] = {}
        self.objective = 0.0
        self.dmax = 1.0
        self.conflicting: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.margin = Margin(-np.inf, np.inf)
        self.kept: Mask = np.ones(data.N, dtype=bool)
        self.serves: Mask = np.ones(data.N, dtype=bool)
        self.in_force: Callable[[NDArray[np.intp]], Mask] = lambda rows: np.ones(
            (len(rows), data.N), dtype=bool
        )
        self.settle: Callable[[Array], Array] = lambda shortfall: shortfall
        self.slack: Array = np.zeros(data.N)
        self.chosen: NDArray[np.intp] = np.empty((data.N, 0), dtype=np.intp)
        self.reach: Array = np.zeros(data.N)
        self.separation: Array = np.full(data.N, np.inf)
        self.threshold = 0.0
        self.value: float | None = None

    def violate(self, block: str, what: str, amount: float) -> None:
        """Report that a statement of `block` is violated by `amount` > 0; less is ignored."""
        # Written so that a NaN is reported.
        if not amount <= 0:
            self.violations.append(Violation(block, what, float(amount)))

    def remark(self, text: str) -> None:
        """Tell the user something about the point."""
        self.remarks.append(text)

    def distance(self, i: int, j: int) -> float:
        """Distance of one pair."""
        return float(self.distances(np.array([i]))[0, j])

    def distances(self, rows: NDArray[np.intp]) -> Array:
        """Distances of the points `rows` to all points, an (n, N) array."""
        return self._distances_to_all(self.data.X[rows])

    @cached_property
    def _distances_to_all(self) -> Callable[[Array], Array]:
        return self.metric.scaled_distance_to(self.data.X)

    def pair_distances(self, pairs: NDArray[np.intp]) -> Array:
        """Distances of the (M, 2) pairs of points."""
        found = np.empty(len(pairs))
        for rows, distances in self.blocks(np.unique(pairs[:, 0])):
            here = (pairs[:, 0] >= rows[0]) & (pairs[:, 0] <= rows[-1])
            row = np.searchsorted(rows, pairs[here, 0])
            found[here] = distances[row, pairs[here, 1]]
        return found

    def blocks(
        self, of: NDArray[np.intp] | None = None
    ) -> Iterator[tuple[NDArray[np.intp], Array]]:
        """Distances of the points `of`, sorted, by default all, to all points.

        Yields
        ------
        ((n,) array, (n, N) array)
            Some of the points, and their distances.
        """
        points = np.arange(self.data.N) if of is None else of
        step = max(1, BLOCK_BYTES // (8 * self.data.N))
        for start in range(0, len(points), step):
            rows = points[start : start + step]
            yield rows, self.distances(rows)

    def scaled_in(self) -> Metric | None:
        """Return the metric scaled so that no distance is above d_max; None where none is."""
        largest = max(float(distances.max()) for _, distances in self.blocks())
        return self.metric.times(self.dmax / largest) if largest > self.dmax else None

    def name(self, i: int) -> str:
        """Name of a point for messages, by its identifier."""
        return str(self.data.ids[i])
