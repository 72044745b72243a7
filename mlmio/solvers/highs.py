"""Solver ``highs``: HiGHS, through Pyomo's second-generation interface."""

from __future__ import annotations

import importlib.util
import math
from importlib.metadata import version
from typing import Any, ClassVar

from mlmio.solvers.base import Answer, Options, Solver, register_solver

# The solver's own tolerances are set below the certificate's, so that what it calls feasible is.
TOLERANCE = 1e-9


@register_solver
class Highs(Solver):
    """HiGHS, the default solver."""

    name: ClassVar[str] = "highs"
    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP"})
    features: ClassVar[frozenset[str]] = frozenset({"threads", "seed", "nodes"})
    install: ClassVar[str] = "pip install highspy"

    def version(self) -> str | None:
        """Version of highspy, or None where it is not installed."""
        return version("highspy") if importlib.util.find_spec("highspy") else None

    def solve(self, model: Any, options: Options) -> Answer:
        """Solve a linear or mixed-integer linear model."""
        from pyomo.contrib.solver.common.util import IncompatibleModelError
        from pyomo.contrib.solver.solvers.highs import Highs as Interface

        forget_threads()
        interface = Interface()
        try:
            results = interface.solve(
                model,
                time_limit=options.time_limit,
                threads=options.threads,
                rel_gap=options.rel_gap,
                load_solutions=False,
                raise_exception_on_nonoptimal_result=False,
                solver_options={
                    "random_seed": options.seed,
                    "mip_abs_gap": 1e-9,
                    "primal_feasibility_tolerance": TOLERANCE,
                    "dual_feasibility_tolerance": TOLERANCE,
                    "mip_feasibility_tolerance": TOLERANCE,
                },
            )
        except IncompatibleModelError as error:
            return Answer("error", message=str(error))
        return _translate(interface, results)


def silent_highs() -> Any:
    """Return a HiGHS instance on one thread that prints nothing, for small LPs on arrays."""
    import highspy
    from pyomo.common.tee import capture_output

    forget_threads()
    # The first instance of a process prints a banner before it can be told not to.
    with capture_output(capture_fd=True):
        highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    return highs


def forget_threads() -> None:
    """Let the next solve have another number of threads.

    HiGHS keeps one pool of threads a process and ends in an error, without solving, when a later
    solve asks for another size.
    """
    import highspy

    highspy.Highs.resetGlobalScheduler(True)


def _translate(interface: Any, results: Any) -> Answer:
    """Put HiGHS's words into the vocabulary, and load its incumbent."""
    from pyomo.contrib.solver.common.results import SolutionStatus, TerminationCondition

    # Pyomo's results carry no node count.
    highs = interface._solver_model
    nodes = int(highs.getInfo().mip_node_count)
    common = {"nodes": max(nodes, 0), "nonzeros": int(highs.getNumNz())}
    ended = results.termination_condition
    bound = _finite(results.objective_bound)
    plain = {
        TerminationCondition.provenInfeasible: "infeasible",
        TerminationCondition.unbounded: "unbounded",
        TerminationCondition.error: "error",
    }
    if ended in plain:
        return Answer(plain[ended], **common, message=f"HiGHS ended with {ended.name}")
    if results.solution_status not in (SolutionStatus.optimal, SolutionStatus.feasible):
        return Answer("no_incumbent", bound=bound, **common, message=f"stopped: {ended.name}")
    results.solution_loader.load_vars()
    proven = ended == TerminationCondition.convergenceCriteriaSatisfied
    return Answer(
        "optimal" if proven else "feasible",
        objective=_finite(results.incumbent_objective),
        bound=bound,
        **common,
        message="" if proven else f"stopped: {ended.name}",
    )


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
