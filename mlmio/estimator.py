"""Estimators in scikit-learn's way: a metric as a transformer, and a classifier under it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from mlmio.data import Scaling
from mlmio.learning import AUTO
from mlmio.metric import Metric
from mlmio.metric_estimator import TIME_LIMIT, MetricEstimator
from mlmio.model import NeighborModel, check_abstain, check_neighbors
from mlmio.result import Result
from mlmio.risk import RiskCoverage

if TYPE_CHECKING:
    from mlmio.blocks import Block
    from mlmio.composition import Composition

Array = NDArray[np.float64]


class MIOMetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MetricEstimator):
    """Learn a metric by mixed-integer optimization, and map points to its coordinates.

    Parameters
    ----------
    formulation : str, Block or Composition, default "auto"
        What is solved, such as ``"quadratic + gershgorin + nearest"``. ``"auto"`` fits the data:
        :func:`mlmio.learning.auto_formulation` with the cone ``gershgorin``, so that the metric
        is a linear map.
    solver, strategy : str
        Registered names, see :func:`mlmio.solve`.
    time_limit : float or None, default 60
        Wall-clock seconds of the LP relaxation and the search together; building the model, and
        compiling at the first use, come on top.
    scale : str or Scaling, default "minmax"
        "none", "minmax", "standard", "robust", or a scaling that was fitted before. It becomes
        part of the metric.
    random_state : int, RandomState or None
        Seed of the solver; None is its own default, the same every time.
    verbose : bool, default False
        Show the solver's log.

    Attributes
    ----------
    metric_ : Metric
        The learned metric, for points in original units. The Euclidean distance of the scaled
        features, with a warning, where none was found within the time limit.
    result_ : Result
        What was solved, with objective, bound, gap and certificate.
    components_ : (D, D) array
        L of the linear map, where there is one.
    data_ : Dataset
        The training points, scaled.
    classes_ : (C,) array
    diagnosis_ : Diagnosis
        Interior points, boundary points and outliers.
    r_ratio_ : (N,) array
        R-ratio of every training point (Kumaran et al. 2018, eq:R-ratio).
    outliers_ : array of int
        Rows of the training points that were given up or have R ≥ 1, in falling order of R.
    n_features_in_ : int
    feature_names_in_ : (D,) array of str
        Where X was a DataFrame.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> learner = MIOMetricLearner("quadratic + diagonal + nearest", strategy="direct")
    >>> learner.fit_transform(X[::10], y[::10]).shape
    (15, 4)
    """

    _linear_map = True

    def fit(self, X: Any, y: Any, *, start: Metric | Result | None = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : (N, D) array or DataFrame
            Finite numbers.
        y : (N,) array
            Labels of two classes at least, of any type.
        start : Metric or Result, optional
            Point to start from, such as what was learned from fewer points.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y cannot be used, or the formulation does not allow them: a
            :class:`~mlmio.DataError` that names the row, feature or class.
        SolverError
            If the solver fails, or proves that there is no metric.
        """
        self._learn(self._dataset(X, y), start)
        return self

    @property
    def _n_features_out(self) -> int:
        """What scikit-learn names the columns of the output by."""
        return self.data_.D

    def transform(self, X: Any) -> Array:
        """Map points to coordinates in which the metric is the Euclidean distance.

        Parameters
        ----------
        X : (n, D) array or DataFrame
            Points in original units.

        Returns
        -------
        (n, D) array
            ``X @ components_.T``, coordinates in falling order of the eigenvalues of B.

        Raises
        ------
        NoLinearMapError
            If no linear map gives the metric: with |δ| and tensor terms, or with an indefinite
            B. Learn with a cone and the quadratic term alone, or use :meth:`pair_distance`.
        """
        L = self.components_
        return validate_data(self, X, dtype=np.float64, reset=False) @ L.T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class MIOMetricClassifier(ClassifierMixin, MetricEstimator):
    """Classify by the nearest neighbours under a learned metric, of any terms.

    Parameters
    ----------
    formulation : str, Block or Composition, default "auto"
        What is solved, such as ``"linear + quadratic + nearest + outliers(rho=0.1)"``. ``"auto"``
        fits the data, see :func:`mlmio.learning.auto_formulation`.
    solver, strategy : str
        Registered names, see :func:`mlmio.solve`.
    time_limit : float or None, default 60
        Wall-clock seconds of the LP relaxation and the search together; building the model, and
        compiling at the first use, come on top.
    scale : str or Scaling, default "minmax"
        See :class:`MIOMetricLearner`.
    n_neighbors : int, default 1
        How many neighbours vote; ties go to the first class.
    abstain : float, optional
        Abstention ratio above which :meth:`abstains` says that a point is unclear.
    random_state, verbose
        See :class:`MIOMetricLearner`.

    Attributes
    ----------
    model_ : NeighborModel
        The metric with the points that vote, to be written by its ``to_json``. Points that were
        given up as outliers do not vote.
    metric_, result_, components_, data_, classes_, diagnosis_, r_ratio_, outliers_
        See :class:`MIOMetricLearner`.
    n_features_in_, feature_names_in_
        As of every estimator.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = MIOMetricClassifier("linear + nearest", strategy="direct")
    >>> classifier.fit(X[::10], y[::10]).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        formulation: str | Block | Composition = AUTO,
        *,
        solver: str = "highs",
        strategy: str = "auto",
        time_limit: float | None = TIME_LIMIT,
        scale: str | Scaling = "minmax",
        n_neighbors: int = 1,
        abstain: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            formulation,
            solver=solver,
            strategy=strategy,
            time_limit=time_limit,
            scale=scale,
            random_state=random_state,
            verbose=verbose,
        )
        self.n_neighbors = n_neighbors
        self.abstain = abstain

    def fit(self, X: Any, y: Any, *, start: Metric | Result | None = None) -> Self:
        """Learn the metric, and keep the points that vote.

        Parameters, returns and errors are those of :meth:`MIOMetricLearner.fit`.
        """
        # What can be wrong with the call is found before anything is solved.
        data = self._dataset(X, y)
        check_neighbors(self.n_neighbors, data.N)
        check_abstain(self.abstain)
        learned = self._learn(data, start)
        self.model_ = NeighborModel.from_learned(learned, self.n_neighbors, self.abstain)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the label of the class with most votes among the nearest neighbours.

        Every point gets a label, also one that :meth:`abstains` calls unclear.

        Parameters
        ----------
        X : (n, D) array or DataFrame
            Points in original units.

        Returns
        -------
        (n,) array
        """
        return self._fitted_model.predict(self._points(X))

    def predict_proba(self, X: Any) -> Array:
        """Return the share of every class among the nearest neighbours.

        Returns
        -------
        (n, C) array
            Columns in the order of ``classes_``.
        """
        return self._fitted_model.predict_proba(self._points(X))

    def abstention_ratios(self, X: Any) -> Array:
        """Return the distance to the predicted class divided by that to the nearest other.

        Returns
        -------
        (n,) array
            The surer the smaller; at most 1 for one neighbour.
        """
        return self._fitted_model.abstention_ratios(self._points(X))

    def abstains(self, X: Any) -> NDArray[np.bool_]:
        """Tell which points are unclear: their abstention ratio exceeds ``abstain``."""
        return self._fitted_model.abstains(self._points(X))

    def risk_coverage(self, X: Any, y: ArrayLike) -> RiskCoverage:
        """Return error against coverage on labelled points, at every threshold.

        Its last point is the error at full coverage, which is 1 minus :meth:`score`.
        """
        return self._fitted_model.risk_coverage(self._points(X), y)

    @property
    def _fitted_model(self) -> NeighborModel:
        check_is_fitted(self, "model_")
        return self.model_

    def _points(self, X: Any) -> Array:
        return validate_data(self, X, dtype=np.float64, reset=False)
