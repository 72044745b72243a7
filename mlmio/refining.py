"""Rounds of solving and refining, for blocks that come to their statement step by step.

Blocks that override :meth:`~mlmio.blocks.Block.refine` are of two kinds. One whose rows are a
*relaxation* also overrides :meth:`~mlmio.blocks.Block.mend`: it adds rows in every round, so that
the bounds of all rounds hold, and what a round finds is mended before it counts as a solution. One
whose rows are a *restriction* changes them in every round, the last solution staying one: the
solutions get better, and a bound is that of its own round. Such a block may ask to be refined first
by what is found without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from mlmio.assembly import evaluate
from mlmio.blocks import Block
from mlmio.composition import Composition
from mlmio.errors import MlmioError, SolverError
from mlmio.evaluation import Evaluation
from mlmio.registry import strategies
from mlmio.solvers.base import LEAST_TIME, Answer, Options, Solver
from mlmio.solvers.interrupts import noting_interrupts
from mlmio.solvers.starts import Start
from mlmio.solvers.trajectory import Recorder
from mlmio.strategies.base import Incumbent, Outcome, Strategy
from mlmio.verification import broken, tolerance_of

if TYPE_CHECKING:
    from mlmio.data import Dataset
    from mlmio.metric import Metric

# Rounds after which a relaxation is left as it is.
MOST_ROUNDS = 100
# By how much the bound of a proof may differ from its objective, relative to it: strategies know
# optima no better.
ROUNDING = 1e-7
# Strategy that cuts a relaxation before another is to prove something of it, and its share of the
# time: it takes seconds where a proof takes hours, and its cuts serve both.
CHEAP, SHARE = "alternating", 0.25


def run(
    strategy: Strategy,
    composition: Composition,
    data: Dataset,
    solver: Solver | None,
    options: Options,
) -> Outcome:
    """Run a strategy, again and again where a block of the composition refines."""
    if all(type(part).refine is Block.refine for part in composition.ordered):
        return strategy.run(composition, data, solver, options)
    with noting_interrupts() as interrupted:
        began = perf_counter()
        first = first_metric(strategy, composition, data, options)
        if first is not None:
            composition = refined(composition, first) or composition
        rounds = Rounds(composition, data, options, interrupted, perf_counter() - began)
        if rounds.relaxed and strategy.name != CHEAP and composition.problem_class != "LP":
            rounds.hurry()
        if rounds.reason != "interrupted":
            rounds.solve(strategy, solver, options)
    return rounds.concluded()


def first_metric(
    strategy: Strategy, composition: Composition, data: Dataset, options: Options
) -> Metric | None:
    """Return the metric to refine by before anything is solved, if any.

    The one that is given; otherwise, for restrictions that ask for it, the one that the cheap
    strategy finds without them, if it takes the rest.

    Raises
    ------
    KeyboardInterrupt
        At a Ctrl-C before anything was found of what was asked.
    """
    if options.start is not None:
        return options.start.in_scaling_of(data)
    kept = [part for part in composition.ordered if not part.begins_without]
    if len(kept) == len(composition.ordered):
        return None
    hurried = _hurried(options)
    if strategy.name == CHEAP:
        hurried = replace(hurried, options=options.options)
    try:
        outcome = strategies.get(CHEAP)().run(Composition(kept), data, None, hurried)
    except MlmioError:
        # It takes other blocks than these, or there is no region without them.
        return None
    if outcome.answer.reason == "interrupted":
        raise KeyboardInterrupt
    return outcome.metric


def _hurried(options: Options) -> Options:
    """The options of the cheap strategy, before another."""
    limit = None if options.time_limit is None else SHARE * options.time_limit
    return replace(options, options={}, node_limit=None, time_limit=limit)


def refined(composition: Composition, metric: Metric) -> Composition | None:
    """Return the composition with its blocks refined by a metric; None where none is."""
    parts = [(part, part.refine(metric)) for part in composition.ordered]
    if all(new is None for _, new in parts):
        return None
    return Composition(part if new is None else new for part, new in parts)


class Rounds:
    """A composition that is solved and refined in turn, and what was found.

    Parameters
    ----------
    composition : Composition
        What is solved.
    data : Dataset
        The points.
    options : Options
        What was asked for.
    interrupted : callable () -> bool
        Whether there was a Ctrl-C between two rounds.
    spent : float
        Seconds that finding the first metric took.

    Attributes
    ----------
    relaxed : bool
        Whether the rows of a block are a relaxation of what it states.
    best : Incumbent or None
        The best point that holds.
    bound : float or None
        The least bound that holds for what is solved now.
    finished, reason : bool, str
        Whether nothing was left to refine, and otherwise what ended it.
    """

    def __init__(
        self,
        composition: Composition,
        data: Dataset,
        options: Options,
        interrupted: Callable[[], bool],
        spent: float,
    ) -> None:
        self.composition, self.data = composition, data
        self.options, self.interrupted = options, interrupted
        self.relaxed = any(type(part).mend is not Block.mend for part in composition.ordered)
        self.best: Incumbent | None = None
        self.bound: float | None = None
        self.finished, self.reason = False, ""
        self.record = Recorder()
        self._outcomes: list[Outcome] = []
        self._start: str | None = None
        self._complaint = ""
        self._spent = spent
        self._began = perf_counter()

    def hurry(self) -> None:
        """Refine by what a cheap strategy finds, where there is one that takes the composition."""
        try:
            self.solve(strategies.get(CHEAP)(), None, _hurried(self.options))
        except SolverError:
            # It takes other blocks than these, as it says before it solves anything.
            return

    def solve(self, strategy: Strategy, solver: Solver | None, options: Options) -> None:
        """Solve and refine until nothing is left to refine, or a limit is reached.

        Where rounds add to a relaxation there may be many of them: a strategy that starts from
        several points does so in the first, and again once nothing is left to refine of what came
        of the best of them.
        """
        follows = self.relaxed and type(strategy).following is not Strategy.following
        wide = True
        for _ in range(MOST_ROUNDS):
            left = self._left(options)
            if not wide:
                left = strategy.following(replace(left, start=_point(self._outcomes[-1])))
            outcome = strategy.run(self.composition, self.data, solver, left)
            if self._start is None and self.options.start is not None:
                # Of the point that was given; later rounds start from what was found.
                self._start = outcome.answer.start
            self._take(outcome)
            # What depended on the data keeps the values of the first round.
            self.composition = outcome.resolved
            further = self._further(outcome)
            self.finished = further is None and (wide or self._closed)
            self.reason = "" if self.finished else self._ended(outcome.answer, options)
            if self.finished or self.reason:
                return
            wide = not follows or further is None
            self.composition = further or self.composition

    def _left(self, options: Options) -> Options:
        """What is left of the limits, and the best point to start from."""
        left = options.after(self._seconds)
        if options.node_limit is not None:
            left = replace(left, node_limit=max(1, options.node_limit - (self._nodes or 0)))
        if self.best is None or self.composition.problem_class == "LP":
            return left
        ids = self._outcomes[-1].data.ids
        return replace(left, start=Start(self.best.metric, ids[self.best.outliers]))

    @property
    def _seconds(self) -> float:
        """Seconds since the first model was built."""
        if not self._outcomes:
            return self._spent
        return self._spent + perf_counter() - self._began - self._outcomes[0].build_s

    @property
    def _nodes(self) -> int | None:
        """Nodes of the rounds that tell; None where none does."""
        told = [n for outcome in self._outcomes if (n := outcome.answer.nodes) is not None]
        return sum(told) if told else None

    def _take(self, outcome: Outcome) -> None:
        """Take over what a round found and proved."""
        before = self._spent + sum(one.lp_s + one.solve_s for one in self._outcomes)
        self._outcomes.append(outcome)
        bound = outcome.answer.bound
        if not self.relaxed:
            self.bound = bound
        elif bound is not None:
            self.bound = bound if self.bound is None else min(bound, self.bound)
            for moment in outcome.answer.trajectory:
                self.record.note(None, moment.bound, before + moment.seconds)
        found = self._incumbent(outcome)
        if found is not None and (self.best is None or found.objective > self.best.objective):
            self.best = found
            self.record.note(found.objective, None, before + outcome.lp_s + outcome.solve_s)

    def _incumbent(self, outcome: Outcome) -> Incumbent | None:
        """What a round found as a point that holds, if it is one or can be mended to one."""
        metric, objective = outcome.metric, outcome.answer.objective
        if metric is None or objective is None:
            return None
        if not self.relaxed:
            return Incumbent(metric, outcome.outliers, objective)
        for candidate, evaluation in _mended(outcome, metric):
            violated = broken(evaluation)
            if not violated:
                return Incumbent(candidate, outcome.outliers, evaluation.objective)
            self._complaint = f"what was found is no solution yet: {violated[0]}"
        return None

    def _further(self, outcome: Outcome) -> Composition | None:
        """The composition refined by the better of what the round found and the best point."""
        objective = outcome.answer.objective
        if outcome.metric is None or objective is None:
            return None
        if self.relaxed and (self._closed or self._meets(objective)):
            return None
        if self.best is None or objective > self.best.objective:
            return refined(self.composition, outcome.metric)
        return refined(self.composition, self.best.metric)

    @property
    def _closed(self) -> bool:
        """Whether the bound meets the best point within the gap, up to rounding."""
        if self.best is None or self.bound is None:
            return False
        return self._meets(self.bound - ROUNDING * max(1.0, abs(self.best.objective)))

    def _meets(self, value: float) -> bool:
        """Whether the best point is worth a value within the gap."""
        if self.best is None:
            return False
        objective = self.best.objective
        return value <= objective + max(self.options.abs_gap, self.options.rel_gap * abs(objective))

    def _ended(self, answer: Answer, options: Options) -> str:
        """What leaves nothing for another round, or nothing."""
        if answer.reason not in ("", "unproven"):
            return answer.reason
        if self.interrupted():
            return "interrupted"
        if options.time_limit is not None and self._seconds + LEAST_TIME >= options.time_limit:
            return "time_limit"
        full = options.node_limit is not None and (self._nodes or 0) >= options.node_limit
        return "node_limit" if full else ""

    def concluded(self) -> Outcome:
        """What all rounds found together."""
        last, best = self._outcomes[-1], self.best
        answer = self._answer(last.answer) if best else self._without(last.answer)
        moments = tuple(self.record.moments)
        return replace(
            last,
            answer=replace(answer, nodes=self._nodes, trajectory=moments, start=self._start),
            # That of a relaxation in rounds depends on the cuts that happened to be found.
            lp_bound=None if self.relaxed else last.lp_bound,
            metric=best.metric if best else None,
            outliers=best.outliers if best else np.zeros(last.data.N, dtype=bool),
            build_s=sum(outcome.build_s for outcome in self._outcomes),
            lp_s=sum(outcome.lp_s for outcome in self._outcomes),
            solve_s=self._spent + sum(outcome.solve_s for outcome in self._outcomes),
        )

    def _answer(self, answer: Answer) -> Answer:
        """What to say of the best point."""
        assert self.best is not None
        optimal = self._closed if self.relaxed else self.finished and answer.status == "optimal"
        objective, bound = self.best.objective, self.bound
        if bound is not None and objective - tolerance_of(objective) <= bound:
            bound = max(bound, objective)
        reason = "" if optimal else answer.reason or self.reason or "unproven"
        return replace(
            answer,
            status="optimal" if optimal else "feasible",
            objective=objective,
            bound=bound,
            reason=reason,
            message=self._told(answer, reason),
        )

    def _told(self, answer: Answer, reason: str) -> str:
        """How many rounds there were, and what there is to know of their end."""
        number = len(self._outcomes)
        told = [f"{number} round{'s' * (number != 1)}", answer.message]
        if reason and not answer.message:
            told.append("the gap is what mending the metric took" if self.finished else reason)
        return "; ".join(part for part in told if part)

    def _without(self, answer: Answer) -> Answer:
        """What to say where no point holds."""
        if not self.relaxed or answer.status in ("infeasible", "error"):
            return answer
        complaint = self._complaint
        if answer.status == "unbounded":
            complaint = "the relaxation has no bound: make the distances variables, or add a region"
        reason = answer.reason or self.reason or "unproven"
        message = "; ".join(part for part in (self._told(answer, ""), complaint) if part)
        return replace(
            answer,
            status="no_incumbent",
            objective=None,
            bound=self.bound,
            reason=reason,
            message=message,
        )


def _point(outcome: Outcome) -> Start:
    """What a round found, solution or not, to start from."""
    assert outcome.metric is not None
    return Start(outcome.metric, outcome.data.ids[outcome.outliers])


def _mended(outcome: Outcome, metric: Metric) -> Iterator[tuple[Metric, Evaluation]]:
    """A metric mended, also scaled into the region, and as it is; each with its evaluation."""
    parts, mended = outcome.resolved.ordered, metric
    for part in parts:
        mended = part.mend(mended)

    def evaluated(candidate: Metric) -> tuple[Metric, Evaluation]:
        return candidate, evaluate(parts, outcome.data, candidate, outcome.outliers)

    _, evaluation = evaluated(mended)
    yield mended, evaluation
    scaled = evaluation.scaled_in()
    if scaled is not None:
        yield evaluated(scaled)
    yield evaluated(metric)
