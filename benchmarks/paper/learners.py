"""Learners for the table: what each fits, what it may choose, and how the choice is made.

All choose by cross-validation on the training points alone, on the same folds: the scaling, the
number of neighbours that vote, and what else each has. Of ours single metrics are cross-validated,
and an average of several is used.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.svm import SVC

from mlmio import Dataset, Metric, MlmioError, MlmioWarning, Result
from mlmio.learning import Learned, learn, learnable
from mlmio.neighbors import training_index
from mlmio.risk import abstention_ratios

Array = NDArray[np.float64]
Rows = NDArray[np.intp]

SCALINGS = ("minmax", "standard")
#: Of the cost and of the width of the kernel, in multiples of 1/(D·variance).
SVM_COSTS = (0.3, 1.0, 3.0, 10.0, 30.0)
SVM_WIDTHS = (0.1, 0.3, 1.0, 3.0)
#: Share of the training points that each of the averaged metrics is learned from.
SHARE = 2 / 3


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
    metric : Metric or None
        What was learned; the SVM has none.
    results : tuple of Result
        The solves behind it; only ours have any.
    """

    choice: dict[str, Any]
    cv_score: float
    test: Callable[[Array, NDArray[Any]], Verdict]
    metric: Metric | None = None
    results: tuple[Result, ...] = field(default=(), repr=False)


def by_votes(metric: Metric, data: Dataset, points: Array, y: NDArray[Any], k: int) -> Verdict:
    """Classify scaled points by the k nearest; in doubt by the vote, then by the distances."""
    index, _ = training_index(metric, data)
    votes = index.votes(points, k)
    predicted = votes.argmax(axis=1)
    ratios = abstention_ratios(index.class_distances(points), predicted)
    lost = 1.0 - votes[np.arange(len(votes)), predicted]
    doubt = np.empty(len(lost))
    doubt[np.lexsort((ratios, lost))] = np.arange(len(lost))
    return Verdict(data.classes[predicted] != y, doubt)


def folds(data: Dataset, number: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Return the rows to train on and to test on, the same for every learner."""
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
            lambda X, y: by_votes(metric, data, data.scaling.apply(X), y, k),
            metric,
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
    ImportError
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


#: Metrics to alternate from.
STARTS = ("Euclidean", "Euclidean and LDA")
LDA = Mapped(lambda seed: LinearDiscriminantAnalysis())


class Plan(NamedTuple):
    """What is cross-validated of ours."""

    formulation: str
    start: str
    scaling: str


@dataclass(frozen=True)
class Ours:
    """Metrics by mixed-integer optimization, averaged.

    Distances are averaged, which is to average their parameters: each metric is learned from
    another part of the training points, and all points vote.

    Parameters
    ----------
    first : tuple of str
        Formulations to compare.
    variants : tuple of (str, tuple of str)
        What to put in the place of a block of the best of them, one after another.
    metrics : int
        How many are averaged.
    time_limit : float
        Seconds a solve.
    """

    first: tuple[str, ...]
    variants: tuple[tuple[str, tuple[str, ...]], ...]
    metrics: int
    time_limit: float

    def choose(
        self, scaled: Sequence[Dataset], seed: int, number: int, votes: Sequence[int]
    ) -> Chosen:
        """Choose one thing after another, and fit to parts of the training points."""
        known: dict[Plan, Array] = {}
        by_scaling = {data.scaling.kind: data for data in scaled}

        def scores(plan: Plan) -> Array:
            if plan not in known:
                data = by_scaling[plan.scaling]
                known[plan] = votes_in_folds(
                    lambda some: self.learned(plan, some, seed).metric,
                    data,
                    folds(data, number, seed),
                    votes,
                )
            return known[plan]

        def best_of(plans: Sequence[Plan]) -> Plan:
            return min(plans, key=lambda plan: scores(plan).min())

        scaling = scaled[0].scaling.kind
        best = best_of([Plan(formulation, STARTS[0], scaling) for formulation in self.first])
        for block, others in self.variants:
            if block in best.formulation:
                formulations = [best.formulation.replace(block, other) for other in others]
                best = best_of([best, *(best._replace(formulation=f) for f in formulations)])
        if "quadratic" in best.formulation:
            best = best_of([best._replace(start=start) for start in STARTS])
        best = best_of([best._replace(scaling=scaling) for scaling in by_scaling])
        least = int(scores(best).argmin())
        data = by_scaling[best.scaling]
        return self._fitted(best, data, votes[least], float(scores(best)[least]), seed)

    def _fitted(self, plan: Plan, data: Dataset, k: int, cv_score: float, seed: int) -> Chosen:
        rng = np.random.default_rng(seed)
        parts = [
            np.sort(rng.choice(data.N, round(SHARE * data.N), replace=False))
            for _ in range(self.metrics)
        ]
        found = [self.learned(plan, data.take(rows), seed).result for rows in parts]
        metric = averaged([result.metric for result in found if result.metric is not None])
        return Chosen(
            plan._asdict() | {"votes": k},
            cv_score,
            lambda X, y: by_votes(metric, data, data.scaling.apply(X), y, k),
            metric,
            tuple(found),
        )

    def learned(self, plan: Plan, data: Dataset, seed: int) -> Learned:
        """Return what a plan gives on the points that a metric can hold apart."""
        points = data.take(learnable(data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MlmioWarning)
            return learn(
                points,
                plan.formulation,
                strategy="alternating",
                seed=seed,
                time_limit=self.time_limit,
                start=None if plan.start == STARTS[0] else LDA.fit(points, seed),
                options={"starts": 1},
            )


def averaged(metrics: Sequence[Metric]) -> Metric:
    """Return the metric whose distances are the means of those of all.

    Raises
    ------
    MlmioError
        If there is none.
    """
    if not metrics:
        raise MlmioError("no metric was found in time: give the solves of the table more seconds")
    first = metrics[0]
    means = {
        order: np.mean([metric.tensor(order) for metric in metrics], axis=0)
        for order in first.orders
    }
    return Metric(means, first.D, first.scaling)
