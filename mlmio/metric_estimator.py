"""What the estimators share: the solve, and metric-learn's vocabulary."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from mlmio.data import Dataset, Scaling
from mlmio.errors import DataError
from mlmio.learning import AUTO, learn
from mlmio.metric import Metric
from mlmio.neighbors import differences, is_linear_map, linear_map
from mlmio.result import Result

if TYPE_CHECKING:
    from mlmio.blocks import Block
    from mlmio.composition import Composition
    from mlmio.learning import Learned

Array = NDArray[np.float64]

TIME_LIMIT = 60.0


class NoLinearMapError(DataError, AttributeError):
    """The metric is no linear map; as an AttributeError it lets ``hasattr`` answer no."""


class MetricEstimator(BaseEstimator):
    """What the estimators share: the solve, and the vocabulary of metric-learn."""

    # Whether the formulation "auto" must give a linear map.
    _linear_map = False

    def __init__(
        self,
        formulation: str | Block | Composition = AUTO,
        *,
        solver: str = "highs",
        strategy: str = "auto",
        time_limit: float | None = TIME_LIMIT,
        scale: str | Scaling = "minmax",
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        self.formulation = formulation
        self.solver = solver
        self.strategy = strategy
        self.time_limit = time_limit
        self.scale = scale
        self.random_state = random_state
        self.verbose = verbose

    def _dataset(self, X: Any, y: Any) -> Dataset:
        """Check points and labels as scikit-learn does, and scale them."""
        points, labels = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(labels)
        names = getattr(self, "feature_names_in_", None)
        return Dataset(points, labels, scale=self.scale, feature_names=names)

    def _learn(self, data: Dataset, start: Metric | Result | None) -> Learned:
        """Solve, and set what both estimators tell of it."""
        learned = learn(
            data,
            self.formulation,
            linear_map=self._linear_map,
            solver=self.solver,
            strategy=self.strategy,
            time_limit=self.time_limit,
            seed=_seed(self.random_state),
            log=bool(self.verbose),
            start=start,
        )
        self.data_ = data
        self.classes_ = data.classes
        self.result_ = learned.result
        self.metric_ = learned.metric
        self.diagnosis_ = learned.diagnosis
        self.r_ratio_ = learned.diagnosis.ratios
        self.outliers_ = learned.diagnosis.outliers
        return learned

    @property
    def components_(self) -> Array:
        """(D, D) array L of the linear map x → L x, for points in original units.

        Raises
        ------
        NoLinearMapError
            If no linear map gives the metric.
        """
        check_is_fitted(self, "metric_")
        metric: Metric = self.metric_
        if not is_linear_map(metric):
            raise NoLinearMapError(_why_no_map(metric))
        return linear_map(metric) / metric.scaling.factor

    def get_mahalanobis_matrix(self) -> Array:
        """Return M = LᵀL, so that the squared distance is δᵀMδ for points in original units.

        Returns
        -------
        (D, D) array
            B of ``metric_``, with the scaling of the features taken into it.

        Raises
        ------
        NoLinearMapError
            If no linear map gives the metric: see ``metric_`` for its tensors.
        """
        L = self.components_
        return L.T @ L

    def pair_distance(self, pairs: ArrayLike) -> Array:
        """Return the distances of pairs of points.

        Parameters
        ----------
        pairs : (M, 2, D) array
            Points in original units.

        Returns
        -------
        (M,) array
            Where a linear map gives the metric the Euclidean distance after it, √(δᵀMδ), as in
            metric-learn. Elsewhere the power series d itself (Kumaran et al. 2018,
            eq:metric-definition), which need not obey the triangle inequality.

        Raises
        ------
        DataError
            If the shape is another, or a value is not finite.
        """
        check_is_fitted(self, "metric_")
        given = np.asarray(pairs, dtype=np.float64)
        D = self.metric_.D
        if given.ndim != 3 or given.shape[1:] != (2, D) or not np.isfinite(given).all():
            raise DataError(
                f"pairs have shape {given.shape}: give finite numbers of shape (M, 2, {D}), two "
                f"points a pair"
            )
        delta = (given[:, 0] - given[:, 1]) / self.metric_.scaling.factor
        distances = differences(self.metric_, delta)
        return np.sqrt(np.maximum(distances, 0.0)) if is_linear_map(self.metric_) else distances

    def pair_score(self, pairs: ArrayLike) -> Array:
        """Return minus :meth:`pair_distance`: the larger, the more alike."""
        return -self.pair_distance(pairs)

    def get_metric(self) -> Callable[..., float]:
        """Return the metric as a function, as scikit-learn's and SciPy's methods take one.

        Returns
        -------
        callable (u, v, squared=False) -> float
            :meth:`pair_distance` of two points of shape (D,), or its square.
        """
        check_is_fitted(self, "metric_")

        def metric(u: ArrayLike, v: ArrayLike, squared: bool = False) -> float:
            distance = float(self.pair_distance(np.stack([u, v])[None])[0])
            return distance**2 if squared else distance

        return metric


def _seed(random_state: Any) -> int:
    """Return a seed for the solver; 0 is what it does unasked."""
    if random_state is None:
        return 0
    if isinstance(random_state, int | np.integer):
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _why_no_map(metric: Metric) -> str:
    others = [n for n in metric.orders if n != 2 and metric.entries(n).any()]
    why = (
        f"it has a term of order {others[0]} besides the quadratic one"
        if others
        else f"B has the negative eigenvalue {np.linalg.eigvalsh(metric.B)[0]:.3g}"
    )
    return (
        f"no linear map gives this metric, since {why}: use pair_distance, or learn with the term "
        f"'quadratic' alone and a cone such as 'gershgorin'"
    )
