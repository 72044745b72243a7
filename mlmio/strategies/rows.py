"""Strategy ``rows``: the whole model in a solver, but for rows of pairs that never bind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.assembly import Assembly, assemble
from mlmio.errors import SolverError
from mlmio.evaluation import Evaluation
from mlmio.metric import Metric
from mlmio.pair_rows import PairRows
from mlmio.solvers.base import LEAST_TIME, Answer, Options, Solver
from mlmio.solvers.interrupts import noting_interrupts
from mlmio.solvers.starts import Start
from mlmio.solvers.trajectory import Recorder
from mlmio.strategies.base import Incumbent, Outcome, Strategy, register_strategy, relaxed
from mlmio.strategies.direct import model_size
from mlmio.tables import counted
from mlmio.verification import broken, tolerance_of

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset

Mask = NDArray[np.bool_]

# While rows are still missing, a model is solved to this relative gap only.
LOOSE_GAP = 0.05


@register_strategy
class Rows(Strategy):
    """Build the model without the rows of its pairs, and write those that its solutions violate.

    A model that is not whole is a relaxation: its bound holds, and where its solution violates no
    row it is a solution of the whole. It begins with the separation from the nearest points of
    other classes, and the bounds of the farthest pairs, under the Euclidean metric. Rows are added
    to its LP relaxation until that is the one of the whole model, and then to the model itself,
    which is solved to a loose gap while rows are missing. Every solution is evaluated on the data,
    scaled into the bounds where it is beyond them, and the best that holds is the incumbent and
    the next point to start from.

    Takes every block but neighbours that provide no ``rows on demand``, with any solver.
    Distances are substituted, whatever ``region`` says of them: a variable for each would bring
    back a row for each.

    A round costs the solver's time and O(N²P) for looking at all pairs. Every solver is called
    anew in each round. Rows written inside a solver's search would need a callback of its own for
    each, with reductions of presolve switched off; this way one loop serves all of them.
    """

    name: ClassVar[str] = "rows"

    def run(
        self, composition: Composition, data: Dataset, solver: Solver | None, options: Options
    ) -> Outcome:
        """Solve `composition` on `data` with `solver`."""
        assert solver is not None, "a strategy that needs a solver is given one"
        _refuse(composition)
        began = perf_counter()
        rounds = Rounds(assemble(composition, composition.ordered, data, whole=False), solver)
        rounds.begin()
        start = None if options.start is None else rounds.take_start(options.start)
        built = perf_counter()
        with noting_interrupts() as interrupted:
            clock = Clock(options, built, interrupted)
            relaxed = rounds.relax(clock) if composition.problem_class == "MILP" else None
            bounded = perf_counter()
            answer = rounds.solve(clock) if relaxed is None else rounds.stopped(relaxed)
        solved = perf_counter()
        assembly, best = rounds.assembly, rounds.best
        record = Recorder()
        record.follow(rounds.record.moments, rounds.began - bounded)
        message = "; ".join(part for part in (answer.message, rounds.told, rounds.refused) if part)
        return Outcome(
            answer=replace(answer, start=start, message=message, trajectory=tuple(record.moments)),
            resolved=assembly.resolved,
            data=assembly.data,
            size=model_size(assembly.model, answer.nonzeros),
            metric=None if best is None else best.metric,
            outliers=np.zeros(assembly.data.N, dtype=bool) if best is None else best.outliers,
            lp_bound=rounds.lp_bound,
            build_s=built - began,
            lp_s=bounded - built,
            solve_s=solved - bounded,
            solver=solver,
        )


def _refuse(composition: Composition) -> None:
    """Refuse neighbours whose rows cannot be written one by one."""
    part = next(part for part in composition.ordered if part.slot == "neighbors")
    if "rows on demand" not in part.provides:
        raise SolverError(
            f"strategy 'rows' does not take the block '{part}', which provides no rows on demand: "
            f"use strategy 'auto', which takes it, or replace that block"
        )


@dataclass(frozen=True)
class Clock:
    """What is left of the limits.

    Parameters
    ----------
    options : Options
        What was asked for.
    began : float
        When the time began to count.
    interrupted : callable () -> bool
        Whether there was a Ctrl-C.
    """

    options: Options
    began: float
    interrupted: Callable[[], bool]

    def left(self, nodes: int) -> Options:
        """Options of the next solve, where the solves before took so many nodes."""
        options = self.options.after(perf_counter() - self.began)
        if options.node_limit is not None:
            options = replace(options, node_limit=max(1, options.node_limit - nodes))
        return replace(options, start=None)

    def ended(self, nodes: int) -> Answer | None:
        """What to say where nothing is left."""
        options = self.options
        if self.interrupted():
            return Answer("no_incumbent", message="interrupted", reason="interrupted")
        if self.left(nodes).time_limit == LEAST_TIME:
            message = "stopped at the time limit"
            return Answer("no_incumbent", message=message, reason="time_limit")
        if options.node_limit is not None and nodes >= options.node_limit:
            message = "stopped at the limit of nodes"
            return Answer("no_incumbent", message=message, reason="node_limit")
        return None


class Rounds:
    """A model that is not whole, and what its rounds of solving and separating have found.

    Parameters
    ----------
    assembly : Assembly
        The model as it is built, without the rows of pairs.
    solver : Solver
        What solves it.

    Attributes
    ----------
    best : Incumbent or None
        The best point that holds.
    bound, lp_bound : float or None
        Least bound of any round, and that of the LP relaxation of the whole model.
    rows : PairRows
        The rows of pairs.
    nodes, count : int
        Nodes of all rounds, and how many rounds there were.
    refused : str
        Why the point to start from was refused.
    began, record : float, Recorder
        When recording began, and the incumbents and bounds since.
    """

    def __init__(self, assembly: Assembly, solver: Solver) -> None:
        self.assembly, self.solver = assembly, solver
        self.context, self.data = assembly.context, assembly.data
        self.rows = PairRows(assembly)
        self.best: Incumbent | None = None
        self.bound: float | None = None
        self.lp_bound: float | None = None
        self.nodes = self.count = 0
        self.refused = ""
        self.began, self.record = perf_counter(), Recorder()

    @property
    def told(self) -> str:
        """How many rounds there were, and how many of the rows were needed."""
        return f"{counted(self.count, 'round')}, {self.rows}"

    def begin(self) -> None:
        """Write the rows that matter under the Euclidean metric, and try it as an incumbent."""
        metric = _euclidean(self.context.orders, self.data)
        self.rows.begin(metric)
        self._consider(metric, np.zeros(self.data.N, dtype=bool))

    def take_start(self, start: Start) -> str:
        """Take a point to start from as the incumbent if it holds; returns what became of it."""
        outliers = np.isin(self.data.ids, start.outliers)
        metric = start.in_scaling_of(self.data)
        evaluation = self.assembly.complete(metric, outliers)
        violated = broken(evaluation)
        if violated:
            self.refused = f"the start was refused: {violated[0]}"
            return "rejected"
        self._keep(metric, outliers, evaluation)
        return "accepted"

    def relax(self, clock: Clock) -> Answer | None:
        """Solve the LP relaxation, until it violates no row; returns why there is no going on."""
        with relaxed(self.assembly.model):
            while True:
                ended = clock.ended(self.nodes)
                if ended is not None:
                    return ended
                options = clock.left(self.nodes)
                answer = self._solve(replace(options, log=options.log is True))
                if answer.status != "optimal":
                    return answer
                if not self._separate():
                    self.lp_bound = answer.objective
                    return None

    def solve(self, clock: Clock) -> Answer:
        """Solve the model until its solution violates no row, or a limit is reached."""
        asked = clock.options
        gap = max(asked.rel_gap, LOOSE_GAP)
        while True:
            ended = clock.ended(self.nodes)
            if ended is not None:
                return self.stopped(ended)
            answer = self._solve(self._started(replace(clock.left(self.nodes), rel_gap=gap)))
            if answer.objective is None:
                return self.stopped(answer)
            missing = self._separate()
            if self._closed(asked):
                return self._optimal(answer)
            if answer.reason:
                return self.stopped(answer)
            if not missing and gap == asked.rel_gap:
                return self._settled(answer)
            gap = gap if missing else asked.rel_gap

    def _solve(self, options: Options) -> Answer:
        """One call of the solver, whose bound holds for the whole model."""
        before = self.record.seconds
        answer = self.solver.solve(self.assembly.model, options)
        for moment in answer.trajectory:
            self.record.note(None, moment.bound, before + moment.seconds)
        self.count += 1
        self.nodes += answer.nodes or 0
        if answer.bound is not None:
            self.bound = answer.bound if self.bound is None else min(self.bound, answer.bound)
        return answer

    def _started(self, options: Options) -> Options:
        """The options with the incumbent to start from, where the solver takes one."""
        if self.best is None or "warm_start" not in self.solver.features:
            return options
        self.assembly.complete(self.best.metric, self.best.outliers)
        start = Start(self.best.metric, self.data.ids[self.best.outliers])
        return replace(options, start=start)

    def _separate(self) -> bool:
        """Write rows that the values of the variables violate, and try these as an incumbent."""
        metric, outliers = self.context.read_metric(), self.context.read_outliers()
        # Completing the point overwrites the values that are to be separated.
        missing = self.rows.separate(metric)
        self._consider(metric, outliers)
        return missing

    def _consider(self, metric: Metric, outliers: Mask) -> None:
        """Keep a point if it holds and is the best, scaled into the bounds where it is beyond."""
        evaluation = self.assembly.complete(metric, outliers)
        if not self._keep(metric, outliers, evaluation):
            scaled = evaluation.scaled_in()
            if scaled is not None:
                self._keep(scaled, outliers, self.assembly.complete(scaled, outliers))

    def _keep(self, metric: Metric, outliers: Mask, evaluation: Evaluation) -> bool:
        """Keep a point if it holds and is the best; returns whether it holds."""
        holds = not broken(evaluation)
        if holds and (self.best is None or evaluation.objective > self.best.objective):
            self.best = Incumbent(metric, outliers, evaluation.objective)
            self.record.note(evaluation.objective)
        return holds

    def _closed(self, options: Options) -> bool:
        """Whether the bound meets the incumbent."""
        if self.best is None or self.bound is None:
            return False
        gap = max(options.abs_gap, options.rel_gap * abs(self.best.objective))
        return self.bound - self.best.objective <= gap

    def _settled(self, answer: Answer) -> Answer:
        """The end where the solver's own solution is one of the whole model."""
        assert answer.objective is not None
        short = np.inf if self.best is None else answer.objective - self.best.objective
        if short > tolerance_of(answer.objective):
            # It holds in the model and not in the data: verification is to say so.
            metric, outliers = self.context.read_metric(), self.context.read_outliers()
            self.best = Incumbent(metric, outliers, answer.objective)
        return self._optimal(answer)

    def _optimal(self, answer: Answer) -> Answer:
        assert self.best is not None
        return replace(
            answer,
            status="optimal",
            objective=self.best.objective,
            bound=self._bound(),
            nodes=self.nodes,
            message="",
            reason="",
        )

    def stopped(self, answer: Answer) -> Answer:
        """The end at a limit, or where the solver has no solution."""
        if self.best is not None:
            reason = answer.reason or "unproven"
            message = answer.message or f"the solver calls the model {answer.status}"
            found, bound = self.best.objective, self._bound()
            answer = replace(answer, status="feasible", reason=reason, message=message)
            return replace(answer, objective=found, bound=bound, nodes=self.nodes)
        if answer.status in ("infeasible", "unbounded", "error"):
            return replace(answer, nodes=self.nodes)
        # What the solver has solves the relaxation only.
        answer = replace(answer, status="no_incumbent", objective=None)
        return replace(answer, bound=self.bound, nodes=self.nodes)

    def _bound(self) -> float | None:
        """The least bound, not below the incumbent by what tolerances explain."""
        assert self.best is not None
        objective = self.best.objective
        if self.bound is None or self.bound < objective - tolerance_of(objective):
            return self.bound
        return max(self.bound, objective)


def _euclidean(orders: list[int], data: Dataset) -> Metric:
    """The Euclidean metric squared, or without a quadratic term what is nearest to it."""
    order = 2 if 2 in orders else orders[0]
    tensor = np.zeros((data.D,) * order)
    tensor[(np.arange(data.D),) * order] = 1.0
    return Metric({order: tensor}, data.D, data.scaling, data.feature_names)
