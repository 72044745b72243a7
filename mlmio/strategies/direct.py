"""Strategy ``direct``: the whole model at once, given to a solver."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.solvers.base import Answer, Options, Solver
from mlmio.strategies.base import ModelSize, Outcome, Strategy, register_strategy

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset

# A solver that is given no time at all may not even say so.
LEAST_TIME = 0.01


@register_strategy
class Direct(Strategy):
    """Build the whole model, solve its LP relaxation, then the model itself.

    The time limit covers both solves; what the relaxation takes is not left for the model.
    """

    name: ClassVar[str] = "direct"

    def run(
        self, composition: Composition, data: Dataset, solver: Solver, options: Options
    ) -> Outcome:
        """Solve `composition` on `data` with `solver`."""
        start = perf_counter()
        assembly = composition.assemble(data)
        built = perf_counter()
        relaxed = _solve_relaxation(assembly.model, composition.problem_class, solver, options)
        bounded = perf_counter()
        answer = solver.solve(assembly.model, _with_time_left(options, bounded - built))
        solved = perf_counter()
        context = assembly.context
        found = answer.objective is not None
        return Outcome(
            answer=answer,
            resolved=assembly.resolved,
            data=assembly.data,
            size=_size(assembly.model, answer.nonzeros),
            metric=context.read_metric() if found else None,
            outliers=context.read_outliers() if found else np.zeros(assembly.data.N, dtype=bool),
            lp_bound=relaxed.objective if relaxed.status == "optimal" else None,
            build_s=built - start,
            lp_s=bounded - built,
            solve_s=solved - bounded,
        )


def _solve_relaxation(model: Any, problem_class: str, solver: Solver, options: Options) -> Answer:
    """Solve the model with its integers relaxed, where that is an LP; it is left as it was."""
    from pyomo.core import TransformationFactory

    if problem_class not in ("LP", "MILP"):
        return Answer("no_incumbent", message=f"the relaxation of a {problem_class} is not an LP")
    relax = TransformationFactory("core.relax_integer_vars")
    token = relax.apply_to(model)
    try:
        return solver.solve(model, options)
    finally:
        relax.apply_to(model, reverse=token)


def _with_time_left(options: Options, used: float) -> Options:
    if options.time_limit is None:
        return options
    return replace(options, time_limit=max(options.time_limit - used, LEAST_TIME))


def _size(model: Any, nonzeros: int | None) -> ModelSize:
    from pyomo.core import Constraint, Var

    rows = sum(1 for _ in model.component_data_objects(Constraint, active=True))
    free = [v for v in model.component_data_objects(Var, active=True) if not v.fixed]
    return ModelSize(rows, len(free), sum(v.is_binary() for v in free), nonzeros)
