"""What a learned metric says of its data: ratios, knees, and interior, boundary and outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlmio.data.validation import shown
from mlmio.errors import DataError
from mlmio.metric import Metric
from mlmio.neighbors import ratios, training_index

if TYPE_CHECKING:
    import pandas as pd

    from mlmio.data import Dataset

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: The parts that points are told apart into, from the inside of a class outwards.
PARTS = ("interior", "boundary", "outlier")
INTERIOR, BOUNDARY, OUTLIER = PARTS

# A curve whose bend is less than rounding has none.
LEAST_BEND = 1e-12


def r_ratios(metric: Metric, data: Dataset, serves: Mask | None = None) -> Array:
    """Divide each point's nearest distance within its class by that to other classes.

    R_i = min_j d_ij / min_k d_ik, over the co-class points j and the non-class points k
    (Kumaran et al. 2018, eq:R-ratio).

    Parameters
    ----------
    metric : Metric
        In the scaling of the data.
    data : Dataset
    serves : (N,) array of bool, optional
        The points that count as neighbours, those that were not given up as outliers; all by
        default. A ratio is computed for every point.

    Returns
    -------
    (N,) array
        At least 0, without a unit; infinite where a point has no other of its class, 1 where it
        coincides with points of its own and of another class.

    Raises
    ------
    DataError
        If a shape does not fit the data.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.Dataset([[0.0], [0.1], [0.4], [1.0]], ["a", "a", "b", "b"])
    >>> r_ratios(mlmio.Metric({1: [1.0]}, D=1, scaling=data.scaling), data).round(3).tolist()
    [0.25, 0.333, 2.0, 0.667]
    """
    index, own = training_index(metric, data, serves)
    nearest = index.class_distances(data.X, own)
    first = np.array([np.argmax(data.y == c) for c in range(data.n_classes)])
    apart = np.asarray(data.apart(first[:, None], first[None, :]))[data.y]
    other = np.where(apart, nearest, np.inf).min(axis=1)
    return ratios(nearest[np.arange(data.N), data.y], other)


def survival(values: ArrayLike) -> tuple[Array, Array]:
    """Return the curve S(R): the share of points whose ratio is at least R.

    Parameters
    ----------
    values : (n,) array
        Ratios of the points of one class.

    Returns
    -------
    R : (m,) array
        The different finite ratios, in rising order.
    S : (m,) array
        The share of the n points with a ratio of at least R; infinite ratios count.

    Examples
    --------
    >>> R, S = survival([0.1, 0.3, 0.3, 0.9])
    >>> R.tolist(), S.tolist()
    ([0.1, 0.3, 0.9], [1.0, 0.75, 0.25])
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    R = np.unique(ordered[np.isfinite(ordered)])
    if not len(R):
        return R, R
    return R, 1.0 - np.searchsorted(ordered, R, side="left") / len(ordered)


def knee(values: ArrayLike) -> float:
    """Return R*, the knee of the survival curve, up to which points are interior.

    It is the point of the curve that is farthest from the chord between its ends, where the
    tangent is parallel to the chord (Kumaran et al. 2018, fig:Tradeoff_curve_figure).

    Parameters
    ----------
    values : (n,) array
        Ratios of the points of one class.

    Returns
    -------
    float
        0 where the farthest point has a ratio of at least 1, or is above the chord, so that the
        curve is not convex there: the sampling is insufficient, and all points are kept.

    Examples
    --------
    >>> knee([0.0, 0.1, 0.1, 0.1, 0.2, 0.8])
    0.2
    >>> knee([0.1, 0.8, 0.9])
    0.0
    """
    R, S = survival(values)
    if len(R) < 3:
        return 0.0
    chord = S[0] + (S[-1] - S[0]) * (R - R[0]) / (R[-1] - R[0])
    below = chord - S
    farthest = int(np.abs(below).argmax())
    if below[farthest] <= LEAST_BEND or R[farthest] >= 1.0:
        return 0.0
    return float(R[farthest])


@dataclass(frozen=True, eq=False)
class Diagnosis:
    """The points of a data set under a metric: interior, boundary or outlier.

    Made by :func:`diagnose`.

    Parameters
    ----------
    data : Dataset
        The points.
    metric : Metric
        What they were measured with.
    serves : (N,) array of bool
        The points that were not given up before.
    ratios : (N,) array
        R_i of every point.
    knees : (C,) array
        R* of every class, in the order of ``data.classes``.
    parts : (N,) array of str
        ``interior``, ``boundary`` or ``outlier``.
    """

    data: Dataset
    metric: Metric
    serves: Mask
    ratios: Array
    knees: Array
    parts: NDArray[Any]

    @property
    def outliers(self) -> NDArray[np.intp]:
        """Row numbers of the outliers, in falling order of R."""
        return self.rows(OUTLIER)

    @property
    def counts(self) -> NDArray[np.intp]:
        """(C, 3) numbers of interior, boundary and outlier points of every class."""
        codes = [self.data.y[self.parts == part] for part in PARTS]
        return np.stack([np.bincount(c, minlength=self.data.n_classes) for c in codes], axis=1)

    def rows(self, part: str) -> NDArray[np.intp]:
        """Row numbers of the points of one part, in falling order of R.

        Raises
        ------
        DataError
            If there is no such part.
        """
        if part not in PARTS:
            raise DataError(f"there is no part {part!r}: give one of {', '.join(PARTS)}")
        rows = np.flatnonzero(self.parts == part)
        return rows[np.argsort(-self.ratios[rows], kind="stable")]

    def of_class(self, label: Any) -> Array:
        """Ratios of the points of one class that count, for :func:`survival` and :func:`knee`.

        Raises
        ------
        DataError
            If no class has that label.
        """
        return self.ratios[self.serves & (self.data.y == class_number(self.data, label))]

    def to_frame(self) -> pd.DataFrame:
        """One row a point, in the order of the data, indexed by identifier."""
        import pandas as pd

        columns = {"label": self.data.labels, "R": self.ratios, "part": self.parts}
        return pd.DataFrame(columns, index=pd.Index(self.data.ids, name="id"))


def class_number(data: Dataset, label: Any) -> int:
    """Return the position of a label in ``data.classes``.

    Raises
    ------
    DataError
        If no class has that label.
    """
    known = data.classes.tolist()
    if label not in known:
        raise DataError(
            f"there is no class {shown(label)}: the classes are "
            f"{', '.join(shown(one) for one in data.classes)}"
        )
    return known.index(label)


def diagnose(metric: Metric, data: Dataset, serves: Mask | None = None) -> Diagnosis:
    """Tell interior points, boundary points and outliers apart.

    Each class has its own knee R*. A point is interior where R ≤ R*, boundary where R* < R < 1,
    and an outlier where R ≥ 1 or where it was given up before (Kumaran et al. 2018, section
    "Active Learning").

    Parameters
    ----------
    metric, data, serves
        See :func:`r_ratios`; the knees are those of the points that count.

    Returns
    -------
    Diagnosis

    Raises
    ------
    DataError
        If a shape does not fit the data.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.load_dataset("islands", n=90)
    >>> found = diagnose(mlmio.Metric({2: np.eye(2)}, D=2, scaling=data.scaling), data)
    >>> found.counts.sum(axis=1).tolist(), len(found.outliers)
    ([30, 30, 30], 0)
    """
    values = r_ratios(metric, data, serves)
    counted = np.ones(data.N, dtype=bool) if serves is None else np.asarray(serves, dtype=bool)
    knees = np.array([knee(values[counted & (data.y == c)]) for c in range(data.n_classes)])
    parts = np.where(values <= knees[data.y], INTERIOR, BOUNDARY)
    parts = np.where((values >= 1.0) | ~counted, OUTLIER, parts)
    return Diagnosis(data, metric, counted, values, knees, parts)
