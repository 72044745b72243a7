"""Our learner for the table: metrics by mixed-integer optimization, which vote together."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from benchmarks.paper.learners import Array, Chosen, Mapped, Voters, by_votes, folds, votes_in_folds
from benchmarks.paper.record import certified
from mlmio import Dataset, Metric, MlmioWarning
from mlmio.learning import Learned, learn, learnable

#: Metrics to alternate from.
STARTS = ("Euclidean", "Euclidean and LDA")
LDA = Mapped(lambda seed: LinearDiscriminantAnalysis())
#: Seeds of the folds of two rounds of cross-validation are so far apart.
SEEDS = 1000


class Plan(NamedTuple):
    """What is cross-validated."""

    formulation: str
    start: str
    scaling: str

    def learned(self, data: Dataset, seed: int, time_limit: float) -> Learned:
        """Return what the plan gives on the points that a metric can hold apart."""
        points = data.take(learnable(data))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", MlmioWarning)
            return learn(
                points,
                self.formulation,
                strategy="alternating",
                seed=seed,
                time_limit=time_limit,
                start=None if self.start == STARTS[0] else LDA.fit(points, seed),
                options={"starts": 1},
            )


@dataclass
class Trial:
    """What cross-validation has told of a plan so far.

    Parameters
    ----------
    scores : list of (V,) array
        For each round the score of every number of votes.
    learned : list of Learned
        Of all solves, one for each round and fold.
    """

    scores: list[Array] = field(default_factory=list)
    learned: list[Learned] = field(default_factory=list)

    @property
    def score(self) -> Array:
        """The mean over the rounds, for every number of votes."""
        return np.mean(self.scores, axis=0)

    @property
    def best(self) -> float:
        """The score with the best number of votes."""
        return float(self.score.min())


@dataclass(frozen=True)
class Ours:
    """What is searched, and how thoroughly.

    One round of cross-validation compares plans, changing one thing after another, and further
    rounds, on other folds, are held between those that came out best. Their metrics, each learned
    from another part of the training points, are then at hand: all of them vote, and their votes
    count alike.

    Parameters
    ----------
    first : tuple of str
        Formulations to compare.
    variants : tuple of (str, tuple of str)
        What to put in the place of a block of the best of them, one after another.
    finalists : int
        How many plans go on to the further rounds, and vote.
    rounds : int
        Of cross-validation, in all.
    time_limit : float
        Seconds a solve.
    """

    first: tuple[str, ...]
    variants: tuple[tuple[str, tuple[str, ...]], ...]
    finalists: int
    rounds: int
    time_limit: float

    def choose(
        self, scaled: Sequence[Dataset], seed: int, number: int, votes: Sequence[int]
    ) -> Chosen:
        """Choose the plans that vote, and let them."""
        search = Search(self, scaled, seed, number, votes)
        finalists = search.finalists()
        committee = [voters for plan in finalists for voters in search.voters(plan)]
        kept = [search.choice(plan) | {"solves": search.solves(plan)} for plan in finalists]
        best = finalists[0]
        return Chosen(
            search.choice(best), search.trials[best].best, partial(by_votes, committee), kept
        )


class Search:
    """Plans in cross-validation on one draw of training points."""

    def __init__(
        self, ours: Ours, scaled: Sequence[Dataset], seed: int, number: int, votes: Sequence[int]
    ) -> None:
        self.ours, self.seed, self.number, self.votes = ours, seed, number, votes
        self.by_scaling = {data.scaling.kind: data for data in scaled}
        self.trials: dict[Plan, Trial] = {}

    def finalists(self) -> list[Plan]:
        """Return the best plans after all rounds, the best first."""
        self._compare()
        plans = self._ranked(self.trials)[: self.ours.finalists]
        for round_ in range(1, self.ours.rounds):
            for plan in plans:
                self._cross_validate(plan, round_)
        return self._ranked(plans)

    def voters(self, plan: Plan) -> list[Voters]:
        """Return all training points under each metric of a plan."""
        data, k = self.by_scaling[plan.scaling], self._number_of_votes(plan)
        return [Voters(one.metric, data, k) for one in self.trials[plan].learned]

    def choice(self, plan: Plan) -> dict[str, Any]:
        """Return a plan and its number of votes by name."""
        return plan._asdict() | {"votes": self._number_of_votes(plan)}

    def solves(self, plan: Plan) -> list[dict[str, Any]]:
        """Return what the solves of a plan gave, with their certificates."""
        return [certified(one.result) for one in self.trials[plan].learned]

    def _number_of_votes(self, plan: Plan) -> int:
        return self.votes[int(self.trials[plan].score.argmin())]

    def _ranked(self, plans: Iterable[Plan]) -> list[Plan]:
        return sorted(plans, key=lambda plan: self.trials[plan].best)

    def _compare(self) -> None:
        """Compare plans, changing one thing of the best after another."""
        scaling, *others = self.by_scaling
        best = self._best([Plan(one, STARTS[0], scaling) for one in self.ours.first])
        for block, variants in self.ours.variants:
            if block in best.formulation:
                formulations = [best.formulation.replace(block, variant) for variant in variants]
                best = self._best([best, *(best._replace(formulation=f) for f in formulations)])
        if "quadratic" in best.formulation:
            best = self._best([best._replace(start=start) for start in STARTS])
        self._best([best, *(best._replace(scaling=other) for other in others)])

    def _best(self, plans: Sequence[Plan]) -> Plan:
        for plan in plans:
            if plan not in self.trials:
                self._cross_validate(plan, 0)
        return self._ranked(plans)[0]

    def _cross_validate(self, plan: Plan, round_: int) -> None:
        data, trial = self.by_scaling[plan.scaling], self.trials.setdefault(plan, Trial())

        def fit(some: Dataset) -> Metric:
            learned = plan.learned(some, self.seed, self.ours.time_limit)
            trial.learned.append(learned)
            return learned.metric

        parts = folds(data, self.number, self.seed + SEEDS * round_)
        trial.scores.append(votes_in_folds(fit, data, parts, self.votes))
