"""Solver ``highs``: HiGHS, through highspy."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar

import numpy as np

from mlmio.solvers.adapter import (
    FAILED,
    INFEASIBLE,
    SOLVED,
    UNBOUNDED,
    Adapter,
    Array,
    Found,
    package_folder,
    unknown_option,
)
from mlmio.solvers.base import Options, register_solver
from mlmio.solvers.interrupts import noting_interrupts
from mlmio.solvers.program import Program
from mlmio.solvers.trajectory import Recorder

# The solver's own tolerances are set below the certificate's, so that what it calls feasible is.
TOLERANCE = 1e-9

# A step of presolve that finds nothing in our models, and neither looks at the clock nor ends
# soon: five minutes for 150 points, under a limit of five seconds.
SPARSIFY = 1 << 14

# Another that pays off in nodes, but takes seconds on large models without a look at the clock: it
# is left out where the time limit is short for the size of the model.
AGGREGATOR = 1 << 12
NONZEROS_A_SECOND = 20_000

ENDS = {
    "kOptimal": SOLVED,
    "kInfeasible": INFEASIBLE,
    "kUnbounded": UNBOUNDED,
    "kUnboundedOrInfeasible": UNBOUNDED,
    "kTimeLimit": "time_limit",
    "kSolutionLimit": "node_limit",
    "kIterationLimit": "limit",
    "kObjectiveBound": "limit",
    "kObjectiveTarget": "limit",
    "kMemoryLimit": "limit",
    "kInterrupt": "interrupted",
}


@register_solver
class Highs(Adapter):
    """HiGHS, the default solver.

    The model goes to highspy as arrays: Pyomo's interface drops options that HiGHS refuses, hands
    on no point to start from, and takes several times as long to translate.
    """

    name: ClassVar[str] = "highs"
    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP"})
    features: ClassVar[frozenset[str]] = frozenset(
        {
            "threads",
            "seed",
            "abs_gap",
            "node_limit",
            "warm_start",
            "interrupt",
            "node_count",
            "root_bound",
            "trajectory",
        }
    )
    install: ClassVar[str] = "pip install highspy"

    def version(self) -> str | None:
        """Version of highspy, or None where it is not installed."""
        return version("highspy") if importlib.util.find_spec("highspy") else None

    def location(self) -> str | None:
        """Folder of highspy."""
        return package_folder("highspy")

    def run(self, program: Program, options: Options, start: Array | None) -> Found:
        """Solve a linear or mixed-integer linear program."""
        if program.quadratic:
            return Found(FAILED, message="HiGHS does not take rows with products of variables")
        record = Recorder(program.maximize)
        highs = silent_highs()
        for name, value in {**_words(options), **_presolve(program, options)}.items():
            highs.setOptionValue(name, value)
        for name, value in options.options.items():
            if _refused(highs.setOptionValue(name, value)):
                raise unknown_option(self, name, value)
        highs.passModel(_model(program))
        accepted = None if start is None else _hand_over(highs, start)
        root: list[float] = []
        with noting_interrupts() as interrupted:
            _listen(highs, root, record, interrupted)
            highs.run()
        return replace(_found(highs, program, root, accepted), trajectory=record.moments)


def silent_highs() -> Any:
    """Return a HiGHS instance on one thread that prints nothing."""
    import highspy

    forget_threads()
    _print_banner()
    highs = highspy.Highs()
    highs.setOptionValue("log_to_console", False)
    highs.setOptionValue("threads", 1)
    return highs


def run_linear(highs: Any) -> Any:
    """Run a linear program and return the status.

    From the basis of a former run HiGHS can end without an answer: it then runs again from none.
    """
    import highspy

    without_answer = (
        highspy.HighsModelStatus.kNotset,
        highspy.HighsModelStatus.kSolveError,
        highspy.HighsModelStatus.kUnknown,
    )
    highs.run()
    if highs.getModelStatus() in without_answer:
        highs.clearSolver()
        highs.run()
    return highs.getModelStatus()


@cache
def _print_banner() -> None:
    """Let HiGHS print its banner to nowhere: it does so once a process, unasked."""
    import highspy
    from pyomo.common.tee import capture_output

    with capture_output(capture_fd=True):
        highspy.Highs()


def forget_threads() -> None:
    """Let the next solve have another number of threads.

    HiGHS keeps one pool of threads a process and ends in an error, without solving, when a later
    solve asks for another size.
    """
    import highspy

    highspy.Highs.resetGlobalScheduler(True)


def _words(options: Options) -> dict[str, Any]:
    """The options in HiGHS's words."""
    words: dict[str, Any] = {
        "threads": options.threads,
        "random_seed": options.seed,
        "mip_rel_gap": options.rel_gap,
        "mip_abs_gap": options.abs_gap,
        "primal_feasibility_tolerance": TOLERANCE,
        "dual_feasibility_tolerance": TOLERANCE,
        "mip_feasibility_tolerance": TOLERANCE,
        "log_to_console": options.log is True,
    }
    if options.time_limit is not None:
        words["time_limit"] = options.time_limit
    if options.node_limit is not None:
        words["mip_max_nodes"] = options.node_limit
    if options.log_file is not None:
        words["log_file"] = options.log_file
    return words


def _presolve(program: Program, options: Options) -> dict[str, int]:
    """Steps of presolve to leave out."""
    limit = options.time_limit
    short = limit is not None and program.matrix.nnz > NONZEROS_A_SECOND * limit
    return {"presolve_rule_off": SPARSIFY | (AGGREGATOR if short else 0)}


def _model(program: Program) -> Any:
    """The program as HiGHS's own structure."""
    import highspy

    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(program.columns), len(program.rows)
    lp.sense_ = highspy.ObjSense.kMaximize if program.maximize else highspy.ObjSense.kMinimize
    lp.offset_ = program.offset
    lp.col_cost_ = program.cost
    lp.col_lower_, lp.col_upper_ = program.lower, program.upper
    lp.row_lower_, lp.row_upper_ = program.row_lower, program.row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = program.matrix.indptr
    lp.a_matrix_.index_ = program.matrix.indices
    lp.a_matrix_.value_ = program.matrix.data
    if program.integer.any():
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(integer)] for integer in program.integer]
    return lp


def _hand_over(highs: Any, start: Array) -> str:
    import highspy

    solution = highspy.HighsSolution()
    solution.col_value = start
    return "rejected" if _refused(highs.setSolution(solution)) else "accepted"


def _listen(highs: Any, root: list[float], record: Recorder, interrupted: Any) -> None:
    """Follow the bound at the root, incumbents and bounds, and stop on Ctrl-C."""

    def follow(event: Any) -> None:
        told = event.data_out
        record.note(told.mip_primal_bound, told.mip_dual_bound)

    def note_root(event: Any) -> None:
        if event.data_out.mip_node_count == 0:
            root[:] = [event.data_out.mip_dual_bound]

    def stop(event: Any) -> None:
        if interrupted():
            event.interrupt()

    highs.cbMipLogging.subscribe(note_root)
    # Each incumbent is logged, and bounds are told whenever it asks whether to go on.
    for callback in (highs.cbMipLogging, highs.cbMipInterrupt):
        callback.subscribe(follow)
    for callback in (highs.cbMipInterrupt, highs.cbSimplexInterrupt, highs.cbIpmInterrupt):
        callback.subscribe(stop)


def _found(highs: Any, program: Program, root: list[float], accepted: str | None) -> Found:
    import highspy

    status, info = highs.getModelStatus(), highs.getInfo()
    said = highs.modelStatusToString(status)
    ended = ENDS.get(status.name, FAILED)
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    x = np.array(highs.getSolution().col_value) if feasible and ended != FAILED else None
    bound = info.mip_dual_bound if program.discrete else None
    if bound is None and ended == SOLVED and x is not None:
        bound = program.objective(x)
    return Found(
        ended,
        x=x,
        bound=bound,
        root_bound=root[0] if root else None,
        nodes=max(int(info.mip_node_count), 0),
        message=f"HiGHS ended with: {said}" if ended in (FAILED, "limit") else "",
        start=accepted,
    )


def _refused(status: Any) -> bool:
    return bool(status.name == "kError")
