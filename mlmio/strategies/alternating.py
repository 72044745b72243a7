"""Strategy ``alternating``: choose neighbours under the metric, then the metric for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.data.validation import whole_number
from mlmio.errors import SolverError
from mlmio.outline import GivingUp, Majority, Outline, Serving, Softening, outline
from mlmio.solvers.base import Answer, Options, Solver
from mlmio.solvers.interrupts import noting_interrupts
from mlmio.starts import STARTS, starts
from mlmio.strategies.alternation import Alternation
from mlmio.strategies.base import (
    ModelSize,
    Outcome,
    Strategy,
    given_metric,
    register_strategy,
)
from mlmio.strategies.loops import load_loops
from mlmio.strategies.polish import Best, Polish, fits
from mlmio.tables import counted
from mlmio.threads import threads_at_most
from mlmio.watching import Watch

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset

Array = NDArray[np.float64]

# Above this many points a single start is made: one pass over all pairs takes seconds.
MANY = 3000


@register_strategy
class Alternating(Strategy):
    """Alternation between who serves and the metric (concave-convex), from several starts.

    For fixed neighbours the metric is an optimum of a linear program whose rows are taken in on
    demand; for a fixed metric the best neighbours are the nearest, and the points to give up are
    chosen exactly for ``excuse``, and greedily for the other semantics. It proves nothing, unless
    no point lacks any margin: the result has a bound of the margin's own, and status ``feasible``;
    where the floor of a class binds it may find no solution at all.

    Takes ``nearest(k)`` and ``knn`` with every loss, and every term, cone and side block, also
    lasso, but no cardinality. The option ``starts`` says from how many metrics to alternate, beside
    one that is given, where it may be 0: 8 without it, or 1 above 3,000 points. One round costs
    some passes over all pairs, O(N²(P + D)) each, and a linear program of P + N columns; memory
    grows with N·P, not with N².

    A time limit is one of the starts and their rounds. It counts neither the building, in which a
    ``dmin="auto"`` looks at all pairs some times, nor the certificate, which does so twice; above
    2,000 points the rounds on a sample end at half of it, and of what they find a solution is there
    only once all points are held within their bounds. The start itself, scaled, is one before,
    where the region has it.
    """

    name: ClassVar[str] = "alternating"
    needs_solver: ClassVar[bool] = False

    def run(
        self, composition: Composition, data: Dataset, solver: Solver | None, options: Options
    ) -> Outcome:
        """Solve `composition` on `data`."""
        began = perf_counter()
        return alternate_outline(outline(composition, data), options, began)

    def following(self, options: Options) -> Options:
        """Return the options for alternating from the metric that is given, and no other."""
        return replace(options, options={**options.options, "starts": 0})


def alternate_outline(sketch: Outline, options: Options, began: float) -> Outcome:
    """Alternate on an outline; `began` is when the building did."""
    sketch.require(Alternating.name, (Serving, Majority), (type(None), GivingUp, Softening))
    if sketch.region.integer.any():
        part = next(part for part in sketch.blocks if part.slot == "sparsity")
        raise SolverError(
            f"strategy 'alternating' does not take whole-number columns, as those of '{part}': "
            f"use strategy='disjunctive' or 'direct'"
        )
    if fits(sketch):
        began += load_loops()
    with (
        noting_interrupts() as interrupted,
        threads_at_most(options.threads, blas=options.threads),
        Watch(options.log) as watch,
    ):
        return _run(sketch, options, began, interrupted, watch)


def _run(
    sketch: Outline,
    options: Options,
    began: float,
    interrupted: Callable[[], bool],
    watch: Watch,
) -> Outcome:
    built = perf_counter()
    limit = np.inf if options.time_limit is None else options.time_limit

    def left() -> float:
        return 0.0 if interrupted() else built + limit - perf_counter()

    def stop() -> bool:
        return left() <= 0.0

    number = _number_of_starts(sketch, options)
    alternation = Alternation(sketch, left, options.seed)
    thetas = starts(sketch, number, options.seed, given_metric(options, sketch.data))
    polish = Polish(sketch, options.threads, stop) if fits(sketch) else None
    begun: Iterator[tuple[Array, Best | None]]
    begun = ((theta, None) for theta in thetas) if polish is None else polish.improve_each(thetas)
    with nullcontext() if polish is None else closing(polish):
        for n, (theta, found) in enumerate(begun):
            if alternation.proven or (stop() and n):
                break
            alternation.starts += 1
            if found is not None:
                alternation.take(found)
            # Without a loss both alternate over the same, and the compiled one is faster.
            if polish is None or alternation.loss is not None or alternation.best.theta is None:
                alternation.improve(theta)
                if polish is not None and alternation.best.theta is not None:
                    alternation.take(polish.improve(alternation.best.theta))
            watch.say(f"start {n + 1} · incumbent {alternation.best.objective:.6g}")
    answer = _answer(alternation, interrupted(), stop())
    # An alternation began from a start, whether or not it satisfies the model.
    start = None if options.start is None else "accepted"
    answer = replace(answer, start=start, trajectory=tuple(alternation.record.moments))
    best = alternation.best
    region = sketch.region
    return Outcome(
        answer=answer,
        resolved=sketch.resolved,
        data=sketch.data,
        size=ModelSize(len(region.b), len(region.columns), 0, None),
        metric=None if best.theta is None else sketch.metric(best.theta),
        outliers=best.outliers,
        lp_bound=None,
        build_s=built - began,
        lp_s=0.0,
        solve_s=perf_counter() - built,
    )


def _number_of_starts(sketch: Outline, options: Options) -> int:
    for name in options.options:
        if name != "starts":
            raise SolverError(
                f"strategy {Alternating.name!r} has no option {name!r}: its option is 'starts', "
                f"from how many metrics to alternate beside one that is given"
            )
    usual = STARTS if sketch.data.N <= MANY else 1
    least = 1 if options.start is None else 0
    return whole_number(options.options.get("starts", usual), "the option starts", least)


def _answer(alternation: Alternation, interrupted: bool, stopped: bool) -> Answer:
    best, starts = alternation.best, alternation.starts
    if alternation.proven:
        return Answer("optimal", best.objective, bound=alternation.bound)
    reason = "interrupted" if interrupted else "time_limit" if stopped else "unproven"
    message = {
        "interrupted": "stopped by an interrupt",
        "time_limit": "stopped at the time limit",
        "unproven": f"the best of {counted(starts, 'start')}, which proves no optimum",
    }[reason]
    if best.theta is None:
        return Answer("no_incumbent", nodes=None, message=message, reason=reason)
    return Answer(
        "feasible", best.objective, bound=alternation.bound, message=message, reason=reason
    )
