"""Strategy ``direct``: the whole model at once, given to a solver."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.solvers.base import LEAST_TIME, Answer, Options, Solver
from mlmio.solvers.starts import Start
from mlmio.strategies.base import ModelSize, Outcome, Strategy, register_strategy, relaxed
from mlmio.verification import broken

if TYPE_CHECKING:
    from mlmio.assembly import Assembly
    from mlmio.composition import Composition
    from mlmio.data import Dataset


@register_strategy
class Direct(Strategy):
    """Build the whole model, solve its LP relaxation, then the model itself.

    The time limit covers both solves; what the relaxation takes is not left for the model. It does
    not cover building the model, in which the rows of blocks of slot ``cuts`` are found. Where
    cuts come with a better solution than the one to start from, the solver starts from theirs.
    """

    name: ClassVar[str] = "direct"

    def run(
        self, composition: Composition, data: Dataset, solver: Solver | None, options: Options
    ) -> Outcome:
        """Solve `composition` on `data` with `solver`."""
        assert solver is not None, "a strategy that needs a solver is given one"
        start = perf_counter()
        assembly = composition.assemble(data)
        built = perf_counter()
        relaxed = _solve_relaxation(assembly.model, composition.problem_class, solver, options)
        bounded = perf_counter()
        answer = _solve(assembly, relaxed, solver, options.after(bounded - built))
        answer = _bounded(answer, relaxed)
        solved = perf_counter()
        lp = answer if composition.problem_class == "LP" else relaxed
        context = assembly.context
        found = answer.objective is not None
        return Outcome(
            answer=answer,
            resolved=assembly.resolved,
            data=assembly.data,
            size=model_size(assembly.model, answer.nonzeros),
            metric=context.read_metric() if found else None,
            outliers=context.read_outliers() if found else np.zeros(assembly.data.N, dtype=bool),
            lp_bound=lp.objective if lp.status == "optimal" else None,
            build_s=built - start,
            lp_s=bounded - built,
            solve_s=solved - bounded,
            solver=solver,
        )


def _solve_relaxation(model: Any, problem_class: str, solver: Solver, options: Options) -> Answer:
    """Solve the model with its integers relaxed, where that is an LP; it is left as it was."""
    if problem_class != "MILP":
        # An LP is its own relaxation; that of any other class is none.
        return Answer("no_incumbent")
    with relaxed(model):
        return solver.solve(model, replace(options, start=None, log=options.log is True))


def _solve(assembly: Assembly, relaxed: Answer, solver: Solver, options: Options) -> Answer:
    """Solve the model itself, from the point to start from where there is one."""
    if relaxed.reason == "interrupted":
        return Answer("no_incumbent", message=relaxed.message, reason=relaxed.reason)
    start = _better_start(assembly, options.start)
    if start is None and options.time_limit == LEAST_TIME:
        # The relaxation took all the time: handing the model over again would only overrun it.
        return Answer(
            "no_incumbent",
            nonzeros=relaxed.nonzeros,
            message="stopped at the time limit",
            reason="time_limit",
        )
    if start is None:
        return solver.solve(assembly.model, options)
    start.complete(assembly)
    answer = solver.solve(assembly.model, replace(options, start=start))
    if options.start is None:
        # Of a start that nobody gave, there is nothing to say.
        return replace(answer, start=None)
    told = answer.start or "not supported"
    return replace(answer, start=told if start is options.start else "replaced")


def _bounded(answer: Answer, relaxed: Answer) -> Answer:
    """Return the answer with the bound of the relaxation, where a search was stopped above it."""
    if not answer.reason or relaxed.status != "optimal":
        return answer
    bounds = [bound for bound in (answer.bound, relaxed.objective) if bound is not None]
    return replace(answer, bound=min(bounds))


def _better_start(assembly: Assembly, given: Start | None) -> Start | None:
    """The start that is given, or what the cuts found where that is better."""
    found = assembly.context.served.found
    if found is None:
        return given
    data = assembly.data
    ours = Start(found[0], data.ids[found[1]])
    reached = ours.complete(assembly)
    if broken(reached):
        # Cuts do not know the rows of every cone.
        return given
    if given is None:
        return ours
    theirs = given.complete(assembly)
    return given if broken(theirs) or theirs.objective >= reached.objective else ours


def model_size(model: Any, nonzeros: int | None) -> ModelSize:
    """Count the rows, columns and binaries of a model."""
    from pyomo.core import Constraint, Var

    rows = sum(1 for _ in model.component_data_objects(Constraint, active=True))
    free = [v for v in model.component_data_objects(Var, active=True) if not v.fixed]
    return ModelSize(rows, len(free), sum(v.is_binary() for v in free), nonzeros)
