"""Active learning: learn, recommend, acquire, learn again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted

from mlmio.data.validation import feature_cells, finite_numbers, label_array, shown, whole_number
from mlmio.errors import DataError
from mlmio.estimator import MIOMetricClassifier
from mlmio.model import unequal
from mlmio.recommending import Recommendations, explored_share, recommend

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

#: Gives the labels of points in original units.
Oracle = Callable[[Array], ArrayLike]


@dataclass(frozen=True, eq=False)
class Acquisition:
    """What one round of active learning acquired.

    Parameters
    ----------
    X : (n, D) array
        The points, in original units.
    labels : (n,) array
        Their labels.
    predicted : (n,) array
        What was predicted for them before they were learned from.
    size : int
        Number of points that are learned from after it.
    """

    X: Array
    labels: NDArray[Any]
    predicted: NDArray[Any]
    size: int

    @property
    def surprise(self) -> float:
        """Share of the points whose label was predicted wrongly."""
        return float(unequal(self.predicted, self.labels).mean())


class ActiveLearner(MetaEstimatorMixin, BaseEstimator):
    """Learn a metric, ask for points where it is in doubt, and learn again.

    Every solve starts from the metric of the last one. The points come from a pool, or from an
    oracle that labels any point; or :meth:`recommend` or :meth:`select` what to measure, and
    :meth:`update` with what was found.

    Parameters
    ----------
    classifier : MIOMetricClassifier
        Is cloned, and not changed.
    batch : int, default 10
        Points that are acquired in a round.
    explore : float, default 0.4
        Share of a batch that is chosen from the pool far from every known point, see
        :meth:`Recommendations.select`: boundaries between known points lead to no island of a
        class that is not known.
    max_rounds : int, default 10
        :meth:`run` acquires at most so often.
    patience : int, default 2
        :meth:`run` stops when the labels of so many batches in succession were all as predicted.

    Attributes
    ----------
    classifier_ : MIOMetricClassifier
        Learned from all points until now.
    X_, labels_ : array
        These points in original units, and their labels.
    history_ : list of Acquisition
        One for each round.
    stopped_ : str
        Why :meth:`run` ended: ``as predicted``, ``no more rounds``, ``the pool is empty`` or
        ``nothing to recommend``.

    Examples
    --------
    >>> from mlmio import load_dataset
    >>> data = load_dataset("islands", n=180, scale="none")
    >>> start, pool = np.arange(27), np.arange(27, 180)
    >>> active = ActiveLearner(MIOMetricClassifier("quadratic + nearest", time_limit=10), batch=5)
    >>> active.fit(data.X[start], data.labels[start]).select(data.X[pool]).shape
    (5,)
    """

    def __init__(
        self,
        classifier: MIOMetricClassifier,
        *,
        batch: int = 10,
        explore: float = 0.4,
        max_rounds: int = 10,
        patience: int = 2,
    ) -> None:
        self.classifier = classifier
        self.batch = batch
        self.explore = explore
        self.max_rounds = max_rounds
        self.patience = patience

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from the first points, and forget all that was learned before.

        Parameters
        ----------
        X : (N, D) array or DataFrame
        y : (N,) array
            Labels of two classes at least.

        Raises
        ------
        TypeError
            If the classifier is not one of mlmio's.
        DataError
            If a parameter makes no sense.
        ValueError, SolverError
            See :meth:`MIOMetricClassifier.fit`.
        """
        self._check_parameters()
        if not isinstance(self.classifier, MIOMetricClassifier):
            raise TypeError(
                f"{type(self.classifier).__name__} cannot recommend points: give a "
                f"MIOMetricClassifier"
            )
        self.classifier_ = clone(self.classifier).fit(X, y)
        self._columns = getattr(X, "columns", None)
        self.X_ = np.asarray(X, dtype=np.float64)
        self.labels_ = label_array(y, np.arange(len(self.X_)))
        self.history_: list[Acquisition] = []
        return self

    def recommend(self, n: int | None = None) -> Recommendations:
        """Recommend points to check and regions to sample, see :func:`mlmio.recommend`.

        Parameters
        ----------
        n : int, optional
            How many; a batch by default.
        """
        check_is_fitted(self, "classifier_")
        self._check_parameters()
        return recommend(self.classifier_.diagnosis_, self.batch if n is None else n)

    def select(self, pool: ArrayLike) -> Rows:
        """Choose a batch from a pool, see :meth:`Recommendations.select`.

        Parameters
        ----------
        pool : (m, D) array or DataFrame
            Points that could be labelled, in original units.

        Returns
        -------
        array of int
            Rows of the pool.
        """
        found = self.recommend()
        return found.select(self._points(pool, "the pool"), self.batch, self.explore)

    def update(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Take in new points with their labels, and learn again from the last metric.

        Parameters
        ----------
        X : (m, D) array or DataFrame
        y : (m,) array
            Labels of any classes, new ones too.

        Raises
        ------
        ValueError, SolverError
            See :meth:`MIOMetricClassifier.fit`. Nothing is taken in then.
        """
        check_is_fitted(self, "classifier_")
        points = np.asarray(X, dtype=np.float64)
        labels = label_array(y, np.arange(len(points)))
        predicted = self.classifier_.predict(self._named(points))
        X_all = np.concatenate([self.X_, points])
        # As lists, since NumPy would turn numbers beside texts into texts.
        labels_all = label_array([*self.labels_.tolist(), *labels.tolist()], np.arange(len(X_all)))
        start = self.classifier_.result_ if self.classifier_.result_.metric is not None else None
        self.classifier_ = clone(self.classifier).fit(self._named(X_all), labels_all, start=start)
        self.X_, self.labels_ = X_all, labels_all
        self.history_.append(Acquisition(points, labels, predicted, len(X_all)))
        return self

    def run(self, oracle: Oracle, pool: ArrayLike | None = None) -> Self:
        """Run the loop until it stops by itself.

        Parameters
        ----------
        oracle : callable (n, D) array -> (n,) array
            Gives the labels of points in original units.
        pool : (m, D) array or DataFrame, optional
            Points that it can be asked for. Without a pool it is asked for the centres of the
            regions that are recommended.

        Returns
        -------
        self

        Raises
        ------
        DataError
            If a parameter makes no sense, the pool is no table of finite numbers with the
            features of the first points, or the oracle gives another number of labels.
        """
        check_is_fitted(self, "classifier_")
        self._check_parameters()
        if not callable(oracle):
            raise DataError(
                f"the oracle is a {type(oracle).__name__}: give a function that takes points and "
                f"returns their labels"
            )
        left = None if pool is None else self._points(pool, "the pool")
        first = len(self.history_)
        self.stopped_ = ""
        while not self.stopped_:
            if left is None:
                asked = self.recommend().centres
            else:
                rows = self.select(left)
                asked, left = left[rows], np.delete(left, rows, axis=0)
            if len(asked):
                self.update(asked, _labels(oracle, asked))
            self.stopped_ = self._why_stop(len(asked), self.history_[first:], left)
        return self

    def _why_stop(self, asked: int, done: list[Acquisition], left: Array | None) -> str:
        """Why the loop should stop, empty where it should not."""
        if left is not None and not len(left):
            return "the pool is empty"
        if not asked:
            return "nothing to recommend"
        recent = done[-self.patience :]
        if len(recent) == self.patience and not any(each.surprise for each in recent):
            return "as predicted"
        return "no more rounds" if len(done) == self.max_rounds else ""

    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the last classifier predicts."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.predict(X)

    def score(self, X: Any, y: Any) -> float:
        """Return the share of points that the last classifier predicts right."""
        check_is_fitted(self, "classifier_")
        return self.classifier_.score(X, y)

    def _check_parameters(self) -> None:
        """Raise DataError unless every number makes sense."""
        for name in ("batch", "max_rounds", "patience"):
            whole_number(getattr(self, name), name)
        explored_share(self.explore)

    def _points(self, X: Any, what: str) -> Array:
        """Check points that are not labelled yet; there may be none."""
        if hasattr(X, "__len__") and not len(X):
            return np.empty((0, self.X_.shape[1]))
        cells, names = feature_cells(X), self.classifier_.metric_.feature_names
        if cells.shape[1] != len(names):
            raise DataError(
                f"{what} has {cells.shape[1]} features and the first points {len(names)}: give "
                f"points with the same features"
            )
        return finite_numbers(cells, names, np.arange(len(cells)))

    def _named(self, points: Array) -> Any:
        """Points with the names of the features that the first ones had."""
        if self._columns is None:
            return points
        import pandas as pd

        return pd.DataFrame(points, columns=self._columns)


def _labels(oracle: Oracle, asked: Array) -> NDArray[Any]:
    labels = np.asarray(oracle(asked))
    if labels.shape != (len(asked),):
        raise DataError(
            f"the oracle was asked for the labels of {len(asked)} points and gave "
            f"{shown(labels.shape)}: let it return one label for each row"
        )
    return labels
