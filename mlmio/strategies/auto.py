"""Strategy ``auto``: the way to solve that suits the composition and the size of the data."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from mlmio.errors import SolverError
from mlmio.outline import GivingUp, Majority, Outline, Serving, outline
from mlmio.solvers.base import Options, Solver
from mlmio.solvers.starts import Start
from mlmio.solvers.trajectory import Recorder
from mlmio.strategies.alternating import alternate_outline
from mlmio.strategies.base import Outcome, Strategy, refuse_solver_options, register_strategy
from mlmio.strategies.direct import Direct
from mlmio.strategies.disjunctive import search_outline
from mlmio.strategies.loops import load_loops

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset

# Memory that the features of all pairs may take in an exact search.
MOST_BYTES = 2**30
# Pairs of points above which a whole model is not built.
MOST_PAIRS = 20_000


@register_strategy
class Auto(Strategy):
    """Alternation for an incumbent, then the exact method that suits, inside the time limit.

    A linear program goes to the solver as it is. ``nearest`` without a loss or with ``outliers``
    goes to ``disjunctive``, which begins by alternating, while the features of all pairs fit one
    GiB. Everything else is alternated, and then goes to the solver as a whole model with the
    metric found to start from, if it has at most 20,000 pairs of points. The message of the result
    says what was chosen and why.
    """

    name: ClassVar[str] = "auto"

    def run(
        self, composition: Composition, data: Dataset, solver: Solver | None, options: Options
    ) -> Outcome:
        """Solve `composition` on `data`."""
        began = perf_counter()
        sketch = _sketch(composition, data)
        if sketch is None or not _suits(sketch):
            why = "it is an LP" if composition.problem_class == "LP" else "no other strategy suits"
            return _told(Direct().run(composition, data, solver, options), f"direct: {why}")
        size = f"{sketch.data.N:,} points"
        if _disjunctive(sketch):
            refuse_solver_options(self.name, options)
            began += load_loops()
            chosen, found = f"disjunctive: {size}", search_outline(sketch, options, began)
            if found.answer.reason != "unproven":
                return _told(found, chosen)
        else:
            if not _whole(sketch):
                refuse_solver_options(self.name, options)
            chosen = f"alternating: {size}"
            found = alternate_outline(sketch, replace(options, options={}), began)
        settled = found.answer.status == "optimal"
        if settled or not _whole(sketch) or found.answer.reason in ("interrupted", "time_limit"):
            return _told(found, chosen)
        left = options.after(found.solve_s)
        if found.metric is not None:
            left = replace(left, start=Start(found.metric, found.data.ids[found.outliers]))
        exact = Direct().run(composition, data, solver, left)
        return _told(_better(found, exact), f"{chosen}, then direct")


def _sketch(composition: Composition, data: Dataset) -> Outline | None:
    """The outline of what is no LP; None where a block states none."""
    if composition.problem_class == "LP":
        return None
    try:
        return outline(composition, data)
    except SolverError:
        return None


def _whole(sketch: Outline) -> bool:
    """Whether a whole model can be built and given to a solver."""
    return sketch.data.N * (sketch.data.N - 1) // 2 <= MOST_PAIRS


def _suits(sketch: Outline) -> bool:
    """Whether another strategy than ``direct`` has something to say of it."""
    if _may_be_unbounded(sketch):
        return False
    if isinstance(sketch.context.neighbors, Majority) and _whole(sketch):
        # Alternation aims at a majority by way of a margin, and helps a whole model little: from
        # its solutions HiGHS has claimed optima below its own bound.
        return False
    return _disjunctive(sketch) or not sketch.region.integer.any()


def _may_be_unbounded(sketch: Outline) -> bool:
    """Whether a column of the region has no bound where its cost would have it."""
    region = sketch.region
    up = (region.cost > 0) & np.isinf(region.upper)
    down = (region.cost < 0) & np.isinf(region.lower)
    return bool((up | down).any())


def _disjunctive(sketch: Outline) -> bool:
    """Whether the exact search takes it."""
    context = sketch.context
    taken = isinstance(context.neighbors, Serving) and (
        context.loss is None or isinstance(context.loss, GivingUp)
    )
    return taken and 8 * sketch.data.N**2 * sketch.region.P <= MOST_BYTES


def _better(found: Outcome, exact: Outcome) -> Outcome:
    """The exact outcome, with the incumbent of the alternation where that is better."""
    ours, theirs = found.answer.objective, exact.answer.objective
    solve_s = found.solve_s + exact.solve_s
    record = Recorder()
    record.follow(found.answer.trajectory)
    record.follow(exact.answer.trajectory, found.solve_s)
    exact = replace(exact, answer=replace(exact.answer, trajectory=tuple(record.moments)))
    if ours is None or exact.answer.status == "optimal" or (theirs is not None and theirs >= ours):
        return replace(exact, solve_s=solve_s)
    answer = replace(exact.answer, status="feasible", objective=ours)
    return replace(
        exact, answer=answer, metric=found.metric, outliers=found.outliers, solve_s=solve_s
    )


def _told(outcome: Outcome, chosen: str) -> Outcome:
    """The outcome, with what was chosen in its message."""
    message = f"{chosen}; {outcome.answer.message}" if outcome.answer.message else chosen
    return replace(outcome, answer=replace(outcome.answer, message=message))
