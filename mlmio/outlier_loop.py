"""The outlier loop: learn, drop the outliers, learn again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from mlmio.data import Dataset
from mlmio.data.validation import whole_number
from mlmio.diagnostics import Diagnosis, diagnose, r_ratios
from mlmio.metric import Metric

Array = NDArray[np.float64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Round:
    """One round of the loop.

    Parameters
    ----------
    rows : (n,) array of int
        Rows of the points that were learned from.
    ratios : (n,) array
        Their R-ratios under the metric that was learned.
    outliers : array of int
        Rows of those among them that the next round does without, in the order of dropping.
    """

    rows: Rows
    ratios: Array
    outliers: Rows


def _learner_has(name: str) -> Callable[[OutlierLoop], bool]:
    """Let the loop have a method where its learner has it."""

    def check(loop: OutlierLoop) -> bool:
        # What the learner raises says why it has none.
        getattr(getattr(loop, "learner_", loop.learner), name)
        return True

    return check


class OutlierLoop(MetaEstimatorMixin, BaseEstimator):
    """Learn, drop the points with R ≥ 1, and learn again, until nothing changes.

    The appendix "Handling Outliers" of Kumaran et al. 2018, around any learner. Note that a
    point beside an outlier can itself have R ≥ 1, and is then dropped with it, unless the points
    are dropped in turn.

    Parameters
    ----------
    learner : estimator
        One of mlmio's, or one with a method ``transform`` after which the distance is Euclidean,
        as scikit-learn's NeighborhoodComponentsAnalysis and the learners of metric-learn.
    max_rounds : int, default 10
        Learn at most so often.
    keep : int, default 2
        How many points of every class stay in any case, those of least R: as many as the learner
        needs.
    in_turn : bool, default False
        Drop the points of a round one after the other, that of largest R first, as long as one has
        R ≥ 1 among the points that are left. Points beside an outlier then stay.

    Attributes
    ----------
    learner_ : estimator
        The learner of the last round.
    rows_ : (n,) array of int
        Rows of the points that it learned from.
    outliers_ : array of int
        Rows of the points that were dropped, in the order of dropping.
    history_ : list of Round
        One for each time it learned.
    converged_ : bool
        Whether the last round had nothing to drop.
    classes_ : (C,) array
        Of the learner, where it has them.

    Examples
    --------
    >>> from sklearn.neighbors import NeighborhoodComponentsAnalysis
    >>> X = np.array([[0.0], [0.1], [0.11], [0.95], [1.0], [1.1], [0.2]])
    >>> loop = OutlierLoop(NeighborhoodComponentsAnalysis(random_state=0))
    >>> loop.fit(X, ["a", "a", "a", "b", "b", "b", "b"]).outliers_.tolist()
    [6]
    >>> [len(done.rows) for done in loop.history_], loop.converged_
    ([7, 6], True)
    """

    def __init__(
        self, learner: Any, *, max_rounds: int = 10, keep: int = 2, in_turn: bool = False
    ) -> None:
        self.learner = learner
        self.max_rounds = max_rounds
        self.keep = keep
        self.in_turn = in_turn

    def fit(self, X: Any, y: Any) -> Self:
        """Run the loop.

        Parameters
        ----------
        X : (N, D) array or DataFrame
        y : (N,) array
            Labels of two classes at least.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If X or y cannot be used, or a parameter makes no sense.
        TypeError
            If the learner gives no metric.
        """
        limit = whole_number(self.max_rounds, "max_rounds")
        keep = whole_number(self.keep, "keep")
        droppable = _droppable_in_turn if self.in_turn else _droppable
        y = np.asarray(y)
        rows = np.arange(len(y))
        self.history_: list[Round] = []
        while True:
            self.learner_ = clone(self.learner).fit(_take(X, rows), y[rows])
            found = _diagnosis(self.learner_, _take(X, rows), y[rows])
            dropped = droppable(found, keep)
            self.history_.append(Round(rows, found.ratios, rows[dropped]))
            if not len(dropped) or len(self.history_) == limit:
                break
            rows = np.delete(rows, dropped)
        self.rows_ = rows
        earlier = [done.outliers for done in self.history_[:-1]]
        self.outliers_ = np.concatenate([np.empty(0, dtype=np.intp), *earlier])
        self.converged_ = not len(dropped)
        return self

    @property
    def classes_(self) -> NDArray[Any]:
        """Labels that the learner knows."""
        return self._fitted.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of features that the learner was given."""
        return self._fitted.n_features_in_

    @property
    def _fitted(self) -> Any:
        check_is_fitted(self, "learner_")
        return self.learner_

    @available_if(_learner_has("predict"))
    def predict(self, X: Any) -> NDArray[Any]:
        """Return what the last learner predicts."""
        return self._fitted.predict(X)

    @available_if(_learner_has("predict_proba"))
    def predict_proba(self, X: Any) -> Array:
        """Return the last learner's shares of the classes."""
        return self._fitted.predict_proba(X)

    @available_if(_learner_has("score"))
    def score(self, X: Any, y: Any) -> float:
        """Return the last learner's score."""
        return self._fitted.score(X, y)

    @available_if(_learner_has("transform"))
    def transform(self, X: Any) -> Array:
        """Map points as the last learner does."""
        return self._fitted.transform(X)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.learner)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.transformer_tags = inner.transformer_tags
        tags.target_tags.required = True
        return tags


def _take(X: Any, rows: Rows) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def _diagnosis(learner: Any, X: Any, y: NDArray[Any]) -> Diagnosis:
    """Measure the points that were learned from with what was learned."""
    if hasattr(learner, "diagnosis_"):
        return learner.diagnosis_
    if not hasattr(learner, "transform"):
        raise TypeError(
            f"{type(learner).__name__} gives no metric to measure outliers with: give a learner "
            f"with transform, or one of mlmio's"
        )
    data = Dataset(learner.transform(X), y, scale="none")
    return diagnose(Metric({2: np.eye(data.D)}, data.D), data)


def _droppable(found: Diagnosis, keep: int) -> Rows:
    """Points with R ≥ 1, in falling order of R, without those that their class cannot spare."""
    y = found.data.y
    spare = found.data.class_sizes - keep
    dropped = []
    # A point that was given up for the margin's sake can have R below 1, and stays.
    for row in found.outliers[found.ratios[found.outliers] >= 1.0]:
        if spare[y[row]] > 0:
            spare[y[row]] -= 1
            dropped.append(row)
    return np.array(dropped, dtype=np.intp)


def _droppable_in_turn(found: Diagnosis, keep: int) -> Rows:
    """Points with R ≥ 1 without those dropped before, that of largest R first."""
    y, left, serves = found.data.y, np.ones(found.data.N, dtype=bool), found.serves.copy()
    spare = found.data.class_sizes - keep
    dropped: list[int] = []
    values = found.ratios
    while True:
        open_to = np.flatnonzero(left & (values >= 1.0) & (spare[y] > 0))
        if not len(open_to):
            return np.array(dropped, dtype=np.intp)
        row = int(open_to[values[open_to].argmax()])
        dropped.append(row)
        left[row] = serves[row] = False
        spare[y[row]] -= 1
        values = r_ratios(found.metric, found.data, serves)
