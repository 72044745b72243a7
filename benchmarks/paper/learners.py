"""Learners for the table: what each fits, what it may choose, and how the choice is made.

All choose by cross-validation on the training points alone: the scaling, the number of neighbours
that vote, and what else each has. Ours is in ``ours``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.svm import SVC

from mlmio import Dataset, Metric
from mlmio.neighbors import training_index
from mlmio.risk import abstention_ratios

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

SCALINGS = ("minmax", "standard")
#: Of the cost and of the width of the kernel, in multiples of 1/(D·variance).
SVM_COSTS = (0.3, 1.0, 3.0, 10.0, 30.0)
SVM_WIDTHS = (0.1, 0.3, 1.0, 3.0)


@dataclass(frozen=True)
class Verdict:
    """What a learner says of test points.

    Parameters
    ----------
    wrong : (n,) array of bool
        Where it errs.
    doubt : (n,) array
        How little it is to be trusted; the order counts.
    """

    wrong: NDArray[np.bool_]
    doubt: Array

    def error(self, coverage: float = 1.0) -> float:
        """Return the error on the share of the points that is least in doubt."""
        kept = np.argsort(self.doubt, kind="stable")[: round(coverage * len(self.doubt))]
        return float(self.wrong[kept].mean())

    def first(self, size: int) -> Verdict:
        """Return what is said of the first points."""
        return Verdict(self.wrong[:size], self.doubt[:size])


@dataclass(frozen=True)
class Chosen:
    """What came of choosing and fitting one learner.

    Parameters
    ----------
    choice : dict
        What was chosen, by name.
    cv_score : float
        Its score in cross-validation, the smaller the better: Brier's, of the SVM the error.
    test : callable (X, y) -> Verdict
        Classifies points in original units.
    plans : list of dict
        The plans that vote, with their solves; only ours has any.
    """

    choice: dict[str, Any]
    cv_score: float
    test: Callable[[Array, NDArray[Any]], Verdict]
    plans: list[dict[str, Any]] = field(default_factory=list, repr=False)


class Voters(NamedTuple):
    """Points that vote: the k nearest, under a metric."""

    metric: Metric
    data: Dataset
    k: int


def by_votes(committee: Sequence[Voters], X: Array, y: NDArray[Any]) -> Verdict:
    """Classify points in original units by the mean of the shares of votes.

    In doubt by these shares, and among equal ones by the ratios of the distances.
    """
    votes = np.zeros((len(X), committee[0].data.n_classes))
    distances = []
    for metric, data, k in committee:
        index, _ = training_index(metric, data)
        points = data.scaling.apply(X)
        votes += index.votes(points, k) / len(committee)
        distances.append(index.class_distances(points))
    predicted = votes.argmax(axis=1)
    ratios = np.mean([abstention_ratios(one, predicted) for one in distances], axis=0)
    # Means of the same shares differ by rounding.
    lost = np.round(1.0 - votes[np.arange(len(votes)), predicted], 12)
    doubt = np.empty(len(lost))
    doubt[np.lexsort((ratios, lost))] = np.arange(len(lost))
    return Verdict(committee[0].data.classes[predicted] != y, doubt)


def folds(data: Dataset, number: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return the rows to train on and to test on, the same for every learner with one seed."""
    split = StratifiedKFold(number, shuffle=True, random_state=seed)
    return list(split.split(data.X, data.y))


def votes_in_folds(
    fit: Callable[[Dataset], Metric], data: Dataset, parts: list[tuple[Rows, Rows]], votes: Any
) -> Array:
    """Return the cross-validated Brier score for each number of votes.

    The mean squared difference between the shares of the vote and the class. With 300 points it
    tells learners apart that differ by few errors, which differ by chance.
    """
    scores = np.zeros(len(votes))
    labels = data.classes[data.y]
    for train, test in parts:
        some = data.take(train)
        index, _ = training_index(fit(some), some)
        true = labels[test][:, None] == some.classes
        for n, k in enumerate(votes):
            scores[n] += np.square(index.votes(data.X[test], k) - true).sum()
    return scores / data.N


@dataclass(frozen=True)
class Mapped:
    """A learner of a linear map, at its own defaults, and a vote.

    Parameters
    ----------
    make : callable (int) -> transformer, or None
        Makes one from a seed; None is the Euclidean distance.
    """

    make: Callable[[int], Any] | None

    def choose(
        self, scaled: Sequence[Dataset], seed: int, number: int, votes: Sequence[int]
    ) -> Chosen:
        """Choose the scaling and the vote, and fit to all training points."""
        best: tuple[float, Dataset, int] | None = None
        for data in scaled:
            scores = votes_in_folds(
                lambda some: self.fit(some, seed), data, folds(data, number, seed), votes
            )
            least = int(scores.argmin())
            if best is None or scores[least] < best[0]:
                best = float(scores[least]), data, votes[least]
        assert best is not None
        return self._fitted(best[1], seed, best[2], best[0])

    def like(self, scaled: Sequence[Dataset], seed: int, number: int, other: Chosen) -> Chosen:
        """Fit with the scaling and the vote that another learner chose."""
        data = next(one for one in scaled if one.scaling.kind == other.choice["scaling"])
        return self._fitted(data, seed, other.choice["votes"], np.nan)

    def _fitted(self, data: Dataset, seed: int, k: int, cv_score: float) -> Chosen:
        """Fit to all training points with what was chosen."""
        metric = self.fit(data, seed)
        return Chosen(
            {"scaling": data.scaling.kind, "votes": k},
            cv_score,
            partial(by_votes, [Voters(metric, data, k)]),
        )

    def fit(self, data: Dataset, seed: int) -> Metric:
        """Return the metric of the map."""
        unit = np.eye(data.D)
        if self.make is not None:
            with warnings.catch_warnings():
                # The number of steps is the learner's own.
                warnings.simplefilter("ignore", ConvergenceWarning)
                map_ = self.make(seed).fit(data.X, data.y)
            unit = map_.transform(unit) - map_.transform(np.zeros((1, data.D)))
        return Metric({2: unit @ unit.T}, data.D, data.scaling)


def map_makers(lmnn_neighbors: Sequence[int]) -> dict[str, Callable[[int], Any] | None]:
    """Return the learners of maps by name, LMNN once for each number of targets.

    Raises
    ------
    MlmioError
        If metric-learn is missing.
    """
    from benchmarks.metric_learn_shim import LMNN, ITML_Supervised

    def lmnn(k: int) -> Callable[[int], Any]:
        return lambda seed: LMNN(n_neighbors=k, random_state=seed)

    return {
        "Euclidean": None,
        **{f"LMNN K={k}": lmnn(k) for k in lmnn_neighbors},
        "NCA": lambda seed: NeighborhoodComponentsAnalysis(random_state=seed),
        "ITML": lambda seed: ITML_Supervised(random_state=seed),
        "LDA": lambda seed: LinearDiscriminantAnalysis(),
    }


def choose_svm(scaled: Sequence[Dataset], seed: int, number: int) -> Chosen:
    """Choose scaling, cost and width of a support vector machine with a radial kernel."""
    best: tuple[float, Dataset, SVC] | None = None
    for data in scaled:
        width = 1.0 / (data.D * data.X.var())
        for cost, multiple in product(SVM_COSTS, SVM_WIDTHS):
            machine = SVC(C=cost, gamma=multiple * width)
            wrong = [
                machine.fit(data.X[train], data.y[train]).predict(data.X[test]) != data.y[test]
                for train, test in folds(data, number, seed)
            ]
            error = float(np.concatenate(wrong).mean())
            if best is None or error < best[0]:
                best = error, data, machine
    assert best is not None
    error, data, machine = best
    machine.fit(data.X, data.y)

    def test(X: Array, y: NDArray[Any]) -> Verdict:
        points = data.scaling.apply(X)
        margin = np.abs(machine.decision_function(points))
        doubt = -(margin if margin.ndim == 1 else margin.max(axis=1))
        return Verdict(data.classes[machine.predict(points)] != y, doubt)

    choice = {"scaling": data.scaling.kind, "C": machine.C, "gamma": round(machine.gamma, 4)}
    return Chosen(choice, error, test)
