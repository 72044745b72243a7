"""Where to look next: points to check, regions to sample, and points that can be left out."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlmio.data.validation import whole_number
from mlmio.diagnostics import INTERIOR, Diagnosis
from mlmio.errors import DataError
from mlmio.metric import Metric
from mlmio.neighbors import NeighborIndex, differences, ratios, training_index

if TYPE_CHECKING:
    import pandas as pd

    from mlmio.metric_estimator import MetricEstimator

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Recommendations:
    """Points to check, each with the region to sample, in falling order of priority.

    Made by :func:`recommend`. The region of a point is the ball in the learned metric around the
    midpoint between it and the nearest point of another class, both of which are on its surface.

    Parameters
    ----------
    diagnosis : Diagnosis
        What they were made from.
    rows : (n,) array of int
        Row of every point to check.
    opposing : (n,) array of int
        Row of the nearest point of another class.
    priority : (n,) array
        R-ratio of the point.
    centres : (n, D) array
        The midpoints, in original units.
    radii : (n,) array
        Distance from the midpoint to both points, in the learned metric.
    """

    diagnosis: Diagnosis
    rows: Rows
    opposing: Rows
    priority: Array
    centres: Array
    radii: Array

    def __len__(self) -> int:
        return len(self.rows)

    def distances(self, X: ArrayLike) -> Array:
        """Return the learned distances from the centres to points.

        Parameters
        ----------
        X : (m, D) array
            Points in original units.

        Returns
        -------
        (n, m) array
        """
        return self.diagnosis.metric.distance(self.centres, X)

    def contains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points are in which region.

        Parameters
        ----------
        X : (m, D) array
            Points in original units.

        Returns
        -------
        (n, m) array of bool
        """
        return self.distances(X) <= self.radii[:, None]

    def select(self, pool: ArrayLike, n: int, explore: float = 0.0) -> Rows:
        """Choose points of a pool: unclear ones in the regions, and far from all that is known.

        A point is the less clear, the more alike its distances to the nearest two classes are.
        Points in a region come first, the least clear of them first, and then those outside.
        Regions are on boundaries between known points, and none leads to an island that is not
        known: a share of the points is therefore chosen by distance alone, each the farthest of
        the pool from all points that are known or chosen before (greedy k-centre).

        Parameters
        ----------
        pool : (m, D) array
            Points in original units.
        n : int
            How many; fewer where the pool has fewer.
        explore : float, default 0
            Share of the far points, all where nothing is recommended and the share is not 0.
            They are far in the Euclidean distance of the scaled features: a learned metric may
            give no weight to the very feature that leads elsewhere.

        Returns
        -------
        array of int
            Rows of the pool, in the order of choosing; none where nothing is recommended and
            nothing explored.

        Raises
        ------
        DataError
            If `n` is no whole number above 0, `explore` no number from 0 to 1, or the points
            have another number of features.
        """
        share = explored_share(explore)
        points = self.diagnosis.metric.scaling.apply(pool)
        wanted = min(whole_number(n, "n"), len(points))
        if not len(self):
            wanted, share = (wanted, 1.0) if share else (0, 0.0)
        far = round(share * wanted)
        chosen = self._unclear(pool, points)[: wanted - far]
        return _with_farthest(chosen, points, self.diagnosis.data.X, far)

    def _unclear(self, pool: ArrayLike, points: Array) -> Rows:
        """Sort a pool: points in a region before others, the least clear first."""
        found = self.diagnosis
        index, _ = training_index(found.metric, found.data, found.serves)
        near = np.partition(index.class_distances(points), 1, axis=1)
        inside = self.contains(pool).any(axis=0)
        return np.lexsort((-ratios(near[:, 0], near[:, 1]), ~inside))

    def to_frame(self) -> pd.DataFrame:
        """One row a recommendation, with the centre in the columns of the features.

        Indexed by the identifier of the point.
        """
        import pandas as pd

        data = self.diagnosis.data
        columns = {
            "label": data.labels[self.rows],
            "part": self.diagnosis.parts[self.rows],
            "R": self.priority,
            "opposing": data.ids[self.opposing],
            "opposing label": data.labels[self.opposing],
            "radius": self.radii,
        }
        index = pd.Index(data.ids[self.rows], name="id")
        centres = pd.DataFrame(self.centres, index=index, columns=list(data.feature_names))
        return pd.concat([pd.DataFrame(columns, index=index), centres], axis=1)


def explored_share(explore: Any) -> float:
    """Return the share that is explored as a float, or raise DataError unless it is one."""
    number = isinstance(explore, numbers.Real) and not isinstance(explore, bool)
    if not (number and 0.0 <= explore <= 1.0):
        raise DataError(f"explore is {explore!r}: give the share of a batch, from 0 to 1")
    return float(explore)


def _with_farthest(chosen: Rows, points: Array, known: Array, n: int) -> Rows:
    """Add n points, each the farthest from those that are known or chosen before."""
    euclidean = Metric({2: np.eye(points.shape[1])}, points.shape[1])
    everything = NeighborIndex(euclidean, np.concatenate([known, points[chosen]]))
    apart = everything.kneighbors(points, 1)[0][:, 0]
    apart[chosen] = -1.0
    rows = chosen.tolist()
    for _ in range(n):
        rows.append(int(apart.argmax()))
        apart = np.minimum(apart, ((points - points[rows[-1]]) ** 2).sum(axis=1))
        apart[rows[-1]] = -1.0
    return np.array(rows, dtype=np.intp)


def diagnosis_of(given: Any) -> Diagnosis:
    """Return a diagnosis, or that of a fitted estimator.

    Raises
    ------
    DataError
        If it is neither.
    """
    found = getattr(given, "diagnosis_", given)
    if not isinstance(found, Diagnosis):
        raise DataError(
            f"diagnosis is a {type(given).__name__} without a diagnosis: give what mlmio.diagnose "
            f"returns, or an estimator of mlmio that is fitted"
        )
    return found


def recommend(diagnosis: Diagnosis | MetricEstimator, n: int = 10) -> Recommendations:
    """Recommend points to check and regions to sample.

    Outliers and boundary points in falling order of R, each with the region between it and the
    nearest point of another class (Kumaran et al. 2018, section "Active Learning"). So that they
    are not all one spot, a point is passed over where it or its opposing point is already part
    of a recommendation, or its centre is in a region that is already recommended.

    Parameters
    ----------
    diagnosis : Diagnosis or estimator
        What :func:`~mlmio.diagnose` returns, or a fitted estimator, for its ``diagnosis_``.
    n : int, default 10
        How many at most; there are fewer where all others are passed over.

    Returns
    -------
    Recommendations

    Raises
    ------
    DataError
        If `n` is no whole number above 0, or the estimator is not fitted.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.Dataset([[0.0], [0.3], [0.4], [1.0]], ["a", "a", "b", "b"], scale="none")
    >>> found = recommend(mlmio.diagnose(mlmio.Metric({1: [1.0]}, D=1), data))
    >>> found.rows.tolist(), found.opposing.tolist(), found.centres.round(2).tolist()
    ([2], [1], [[0.35]])
    """
    diagnosis, limit = diagnosis_of(diagnosis), whole_number(n, "n")
    rows = np.flatnonzero(diagnosis.parts != INTERIOR)
    rows = rows[np.argsort(-diagnosis.ratios[rows], kind="stable")]
    opposing = nearest_opposing(diagnosis, rows)
    # Where links make the classes, a point may have none that is opposed to it.
    rows, opposing = rows[opposing >= 0], opposing[opposing >= 0]
    X, metric = diagnosis.data.X, diagnosis.metric
    centres = (X[rows] + X[opposing]) / 2.0
    radii = np.maximum(differences(metric, (X[rows] - X[opposing]) / 2.0), 0.0)

    kept: list[int] = []
    taken: set[int] = set()
    for i, pair in enumerate(zip(rows.tolist(), opposing.tolist(), strict=True)):
        if len(kept) == limit:
            break
        away = metric.scaled_distance(centres[[i]], centres[kept])[0]
        if taken.isdisjoint(pair) and (away > radii[kept]).all():
            kept.append(i)
            taken.update(pair)
    scaling = metric.scaling
    return Recommendations(
        diagnosis,
        rows[kept],
        opposing[kept],
        diagnosis.ratios[rows[kept]],
        centres[kept] * scaling.factor + scaling.shift,
        radii[kept],
    )


def nearest_opposing(diagnosis: Diagnosis, rows: Rows) -> Rows:
    """Return for some points the nearest of another class that counts, −1 where there is none."""
    data = diagnosis.data
    found = np.full(len(rows), -1, dtype=np.intp)
    for c in np.unique(data.y[rows]):
        member = np.flatnonzero(data.y[rows] == c)
        others = np.flatnonzero(data.apart(rows[member[0]], np.arange(data.N)) & diagnosis.serves)
        if len(others):
            index = NeighborIndex(diagnosis.metric, data.X[others])
            found[member] = others[index.kneighbors(data.X[rows[member]], 1)[1][:, 0]]
    return found


def boundary_subset(diagnosis: Diagnosis | MetricEstimator) -> Rows:
    """Return the points that are worth keeping: all but those inside their class.

    A classifier that is trained on them alone is nearly as good as on all, since others say the
    same as an interior point (Kumaran et al. 2018, "Training DNN using only boundary points").

    Parameters
    ----------
    diagnosis : Diagnosis or estimator
        See :func:`recommend`.

    Returns
    -------
    array of int
        Rows of the boundary points and outliers, in rising order.

    Raises
    ------
    DataError
        If the estimator is not fitted.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.load_dataset("ten_classes", n=2000)
    >>> found = mlmio.diagnose(mlmio.Metric({2: np.eye(2)}, D=2, scaling=data.scaling), data)
    >>> len(boundary_subset(found)) < 1000
    True
    """
    return np.flatnonzero(diagnosis_of(diagnosis).parts != INTERIOR)
