"""Strategy ``disjunctive``: exact branch and bound over who serves each point."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import tee
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mlmio.errors import SolverError
from mlmio.outline import GivingUp, Outline, Serving, outline
from mlmio.solvers.base import Answer, Options, Solver
from mlmio.solvers.interrupts import noting_interrupts
from mlmio.solvers.trajectory import Recorder
from mlmio.starts import STARTS, starts
from mlmio.strategies.alternation import Alternation
from mlmio.strategies.base import (
    ModelSize,
    Outcome,
    Strategy,
    given_metric,
    refuse_solver_options,
    register_strategy,
)
from mlmio.strategies.loops import load_loops
from mlmio.tables import counted
from mlmio.threads import threads_at_most
from mlmio.watching import Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from mlmio.anytime import AnytimeSearch, Progress
    from mlmio.composition import Composition
    from mlmio.data import Dataset
    from mlmio.kernels.node import Node, Solution
    from mlmio.kernels.programs import Work
    from mlmio.parametric import Parametric

    Array = NDArray[np.float64]

# Share of the time that an alternation over soft margins may take, before the search.
SOFTENED = 0.25


@register_strategy
class Disjunctive(Strategy):
    """Exact branch and bound on "which co-class point serves point i".

    The relaxation of a node is a linear program in the metric's parameters and λ alone, solved by
    a dual simplex method that takes rows in on demand. Alternation from several starts, and from
    the solutions of nodes, finds incumbents. Whole-number columns of the region, the switches of a
    cardinality, are branched on as well.

    Where points may be given up it is searched over sets of them, by cores, and within each over
    who serves; with more than 150 points, or 30 columns, the whole is bounded first over intervals
    of the margin, and over who is given up in part.

    Takes ``nearest(k)`` with no loss or with ``outliers`` of any semantics, and every term, cone,
    sparsity and side block. A node costs about 100 programs of m columns, each a few steps of
    O(m² + mR) with R rows at hand, and O(N²P) for looking at all pairs; memory is that of the
    features, 8N²P bytes, and some kilobytes for each open node.
    """

    name: ClassVar[str] = "disjunctive"
    needs_solver: ClassVar[bool] = False

    def run(
        self, composition: Composition, data: Dataset, solver: Solver | None, options: Options
    ) -> Outcome:
        """Solve `composition` on `data`."""
        began = perf_counter()
        refuse_solver_options(self.name, options)
        sketch = outline(composition, data)
        began += load_loops()
        return search_outline(sketch, options, began)


def search_outline(sketch: Outline, options: Options, began: float) -> Outcome:
    """Search an outline; `began` is when the building did, but for the loading of the loops."""
    sketch.require(Disjunctive.name, (Serving,), (type(None), GivingUp))
    from mlmio.hitting import search_for
    from mlmio.kernels.programs import new_counts, new_work
    from mlmio.kernels.simplex import INFEASIBLE
    from mlmio.parametric import parametric, root_of

    with (
        noting_interrupts() as interrupted,
        # Idle threads of linear algebra spin for a while, and would take time from the search.
        threads_at_most(options.threads, blas=1),
        Watch(options.log) as watch,
    ):
        problem = parametric(sketch)
        work = new_work(problem.instance)
        counts = new_counts()
        status, root = root_of(problem, work, counts)
        built = perf_counter()
        lp_bound = float(root.bound) + problem.slack if np.isfinite(root.bound) else None
        if status == INFEASIBLE:
            answer = Answer("infeasible", message="no metric satisfies the region")
            return _outcome(problem, answer, None, lp_bound, began, built)
        left = _left(options, built, interrupted)
        solution, record = problem.nothing_found(), Recorder()
        record.note(bound=lp_bound)
        search = search_for(problem)(
            problem,
            root,
            solution,
            threads=options.threads,
            rel_gap=options.rel_gap,
            abs_gap=options.abs_gap,
            seed=options.seed,
        )
        search.counts += counts

        def stop() -> bool:
            watch.beat()
            return left() <= 0 or _at_node_limit(search, options)

        def tell(progress: Progress) -> None:
            record.note(progress.incumbent, progress.bound)
            watch.progress(progress)

        if not problem.instance.columns.integer.any():
            begin = _starts(problem, options, left)
            _alternate_from(begin, search, work._replace(halt=search.halt), stop, record)
        search.run(stop, tell)
        answer = replace(_answer(search, options, interrupted()), trajectory=tuple(record.moments))
        if options.start is not None:
            # An alternation began from it, whether or not it satisfies the model.
            answer = replace(answer, start="accepted")
        if options.verify == "full":
            told = check_witnesses(problem, search)
            answer = replace(answer, message="; ".join(filter(None, (answer.message, told))))
        return _outcome(problem, answer, search, lp_bound, began, built)


def _left(options: Options, built: float, interrupted: Callable[[], bool]) -> Callable[[], float]:
    """Return what says how many seconds are left."""
    limit = np.inf if options.time_limit is None else options.time_limit

    def left() -> float:
        return 0.0 if interrupted() else built + limit - perf_counter()

    return left


def _at_node_limit(search: AnytimeSearch, options: Options) -> bool:
    return options.node_limit is not None and search.nodes >= options.node_limit


def _alternate_from(
    begin: Iterator[tuple[Array, bool]],
    search: AnytimeSearch,
    work: Work,
    stop: Callable[[], bool],
    record: Recorder,
) -> None:
    """Improve the solution of a search by alternation from several starts."""
    with ThreadPoolExecutor(1) as pool:
        for theta, keeping_all in begin:
            if stop():
                return
            search.problem.distances(theta, work)
            search.attend(pool, [partial(_alternate, search, work, keeping_all)], stop)
            record.note(float(search.solution.value[0]))


def _starts(
    problem: Parametric, options: Options, left: Callable[[], float]
) -> Iterator[tuple[Array, bool]]:
    """Yield parameters, and whether to alternate with all points kept first."""
    from mlmio.hitting import begins_with_intervals

    sketch, rules = problem.outline, problem.instance.rules
    given = given_metric(options, sketch.data)
    if given is not None:
        # It goes with points that are given up: to keep them would lead away from it.
        yield sketch.theta(given), False
    thetas, again = tee(starts(sketch, STARTS, options.seed))
    if rules.may_give_up and begins_with_intervals(problem):
        # Soft margins say better whom of many to give up than a metric that serves them all.
        deadline = perf_counter() + SOFTENED * left()

        def soon() -> float:
            return min(left(), deadline - perf_counter())

        alternation = Alternation(sketch, soon, options.seed)
        for theta in again:
            if soon() <= 0 or alternation.proven:
                break
            alternation.improve(theta)
        if alternation.best.theta is not None:
            yield alternation.best.theta, False
    for theta in thetas:
        # To give points up one by one goes astray where most are in each other's way.
        yield theta, rules.others


def _alternate(search: AnytimeSearch, work: Work, keeping_all: bool) -> None:
    """Alternate from the distances in ``work.d``."""
    from mlmio.kernels.alternate import ROUNDS, alternate

    problem, root, solution, counts = search.problem, search.root, search.solution, search.counts
    if keeping_all:
        _alternate_keeping_all(problem, root, work, solution, counts)
    alternate(problem.instance, root, work, solution, ROUNDS, counts)


def _alternate_keeping_all(
    problem: Parametric, root: Node, work: Work, solution: Solution, counts: NDArray[np.int64]
) -> None:
    """Alternate as if no point could be given up; the distances are left in ``work.d``."""
    from mlmio.kernels.alternate import ROUNDS, alternate
    from mlmio.kernels.rows import GIVEN_UP, KEPT, region_cost

    instance, kept = problem.instance, problem.nothing_found()
    rules, lower = instance.rules, root.lower.copy()
    # λ may be negative on the way.
    lower[-1] = -instance.table.dmax
    fixed = np.where(instance.fixed == GIVEN_UP, GIVEN_UP, KEPT)
    all_kept = instance._replace(rules=rules._replace(may_give_up=False, price=0.0), fixed=fixed)
    alternate(all_kept, root._replace(lower=lower), work, kept, ROUNDS, counts)
    value = kept.value[0] - rules.price * np.sum(fixed == GIVEN_UP)
    margin = kept.value[0] - region_cost(instance.columns.cost, kept.x)
    if margin >= root.lower[-1] and value > solution.value[0]:
        solution.value[0], solution.x[:], solution.state[:] = value, kept.x, kept.state


def _answer(search: AnytimeSearch, options: Options, interrupted: bool) -> Answer:
    value, bound = float(search.solution.value[0]), float(search.bound)
    found = np.isfinite(value)
    progress = search.progress
    told = f"{counted(progress.open, 'open node')}, {counted(progress.programs, 'linear program')}"
    objective = value if found else None
    if search.open == 0 and not found and np.isneginf(bound):
        return Answer("infeasible", nodes=search.nodes, message="every branch is infeasible")
    # What was cut off may have been better by the gap.
    proven = float(value + search.gap + search.problem.slack)
    if found and bound <= proven:
        return Answer("optimal", value, bound=proven, nodes=search.nodes)
    if search.open == 0:
        reason, message = "unproven", "the bound leans on coefficients above those considered"
    elif interrupted:
        reason, message = "interrupted", f"stopped by an interrupt, {told}"
    elif _at_node_limit(search, options):
        reason, message = "node_limit", f"stopped at the node limit, {told}"
    else:
        reason, message = "time_limit", f"stopped at the time limit, {told}"
    return Answer(
        "feasible" if found else "no_incumbent",
        objective,
        bound=bound if np.isfinite(bound) else None,
        nodes=search.nodes,
        message=message,
        reason=reason,
    )


def _outcome(
    problem: Parametric,
    answer: Answer,
    search: AnytimeSearch | None,
    lp_bound: float | None,
    began: float,
    built: float,
) -> Outcome:
    sketch, N = problem.outline, problem.outline.data.N
    found = search is not None and answer.objective is not None
    columns = problem.instance.columns
    size = ModelSize(
        len(problem.instance.table.b), len(columns.c), int(columns.integer.sum()), None
    )
    return Outcome(
        answer=answer,
        resolved=sketch.resolved,
        data=sketch.data,
        size=size,
        metric=sketch.metric(problem.theta(search.solution.x)) if search and found else None,
        outliers=problem.given_up(search.solution) if search and found else np.zeros(N, dtype=bool),
        lp_bound=lp_bound,
        build_s=built - began,
        lp_s=0.0,
        solve_s=perf_counter() - built,
    )


def check_witnesses(problem: Parametric, search: AnytimeSearch) -> str:
    """Solve a sample of the programs that prove a bound again, in HiGHS; returns how many held.

    Raises
    ------
    SolverError
        If one of them is better than what closed it.
    """
    from mlmio.witnesses import reaches

    for witness in search.witnesses:
        limit, value = witness.limit, reaches(problem, witness)
        # Before there is a solution what is infeasible has no limit above −inf.
        tolerance = 1e-6 * max(1.0, abs(limit)) if np.isfinite(limit) else 0.0
        if value > limit + tolerance:
            raise SolverError(
                f"the bound does not hold: HiGHS finds {value:.9g} where a branch was closed at "
                f"{limit:.9g}. Report it with the data, and use strategy='direct' meanwhile"
            )
    return f"{counted(len(search.witnesses), 'program')} of the bound solved again in HiGHS"
