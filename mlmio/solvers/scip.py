"""Solver ``scip``: SCIP, through PySCIPOpt."""

from __future__ import annotations

import importlib.util
import math
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
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

TOLERANCE = 1e-9
POLL = 0.05

ENDS = {
    "optimal": SOLVED,
    "gaplimit": SOLVED,
    "infeasible": INFEASIBLE,
    "unbounded": UNBOUNDED,
    "inforunbd": UNBOUNDED,
    "timelimit": "time_limit",
    "totalnodelimit": "node_limit",
    "nodelimit": "node_limit",
    "userinterrupt": "interrupted",
}


@register_solver
class Scip(Adapter):
    """SCIP, which also solves nonconvex models: products of variables in the rows.

    PySCIPOpt's SCIP solves on one thread.
    """

    name: ClassVar[str] = "scip"
    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP", "SOCP", "MISOCP", "MINLP"})
    features: ClassVar[frozenset[str]] = frozenset(
        {
            "seed",
            "abs_gap",
            "node_limit",
            "warm_start",
            "interrupt",
            "node_count",
            "root_bound",
            "trajectory",
            "sos1",
            "lazy_rows",
        }
    )
    install: ClassVar[str] = "pip install pyscipopt"

    def version(self) -> str | None:
        """Version of SCIP, or None where PySCIPOpt is not installed."""
        if not importlib.util.find_spec("pyscipopt"):
            return None
        return _scip_version()

    def location(self) -> str | None:
        """Folder of PySCIPOpt."""
        return package_folder("pyscipopt")

    def run(self, program: Program, options: Options, start: Array | None) -> Found:
        """Solve a program, convex or not."""
        record = Recorder(program.maximize)
        scip, variables = _model(program)
        for name, value in _words(options.after(record.seconds)).items():
            scip.setParam(name, value)
        for name, value in options.options.items():
            _set_own(self, scip, name, value)
        _set_log(scip, options)
        accepted = None if start is None else _hand_over(scip, variables, start)
        _listen(scip, record)
        _optimize(scip)
        return replace(_found(scip, variables, accepted), trajectory=record.moments)


def _scip_version() -> str:
    from pyscipopt import Model

    model = Model()
    return f"{model.version():.1f}.{model.getTechVersion()}"


def _words(options: Options) -> dict[str, Any]:
    """The options in SCIP's words."""
    words: dict[str, Any] = {
        # SCIP's own way with Ctrl-C is to print what was pressed.
        "misc/catchctrlc": False,
        "timing/clocktype": 2,
        "randomization/randomseedshift": options.seed,
        "limits/gap": options.rel_gap,
        "limits/absgap": options.abs_gap,
        "numerics/feastol": TOLERANCE,
    }
    if options.time_limit is not None:
        words["limits/time"] = options.time_limit
    if options.node_limit is not None:
        words["limits/totalnodes"] = options.node_limit
    return words


def _set_own(solver: Scip, scip: Any, name: str, value: Any) -> None:
    try:
        scip.setParam(name, value)
    except (KeyError, ValueError, TypeError, LookupError, OverflowError) as error:
        raise unknown_option(solver, name, value, str(error)) from error


def _optimize(scip: Any) -> None:
    """Solve in a thread, so that Ctrl-C can be noticed meanwhile."""
    with noting_interrupts() as interrupted, ThreadPoolExecutor(1) as pool:
        solving = pool.submit(scip.optimizeNogil)
        while not wait([solving], POLL).done:
            if interrupted():
                scip.interruptSolve()
        solving.result()


def _listen(scip: Any, record: Recorder) -> None:
    """Follow incumbents and bounds."""
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    events = (SCIP_EVENTTYPE.BESTSOLFOUND, SCIP_EVENTTYPE.DUALBOUNDIMPROVED)

    class Listener(Eventhdlr):
        def eventinit(self) -> None:
            for event in events:
                self.model.catchEvent(event, self)

        def eventexit(self) -> None:
            for event in events:
                self.model.dropEvent(event, self)

        def eventexec(self, _: Any) -> None:
            record.note(self.model.getPrimalbound(), self.model.getDualbound())

    scip.includeEventhdlr(Listener(), "trajectory", "follows incumbents and bounds")


def _set_log(scip: Any, options: Options) -> None:
    scip.hideOutput(options.log is not True)
    if options.log_file is not None:
        scip.setLogfile(options.log_file)


def _model(program: Program) -> tuple[Any, list[Any]]:
    """The program as SCIP's own model, and its variables."""
    from pyscipopt import Model

    scip = Model()
    variables = [
        scip.addVar(
            lb=None if math.isinf(low) else low,
            ub=None if math.isinf(high) else high,
            vtype="I" if integer else "C",
            obj=cost,
        )
        for low, high, integer, cost in zip(
            program.lower.tolist(),
            program.upper.tolist(),
            program.integer.tolist(),
            program.cost.tolist(),
            strict=True,
        )
    ]
    scip.addObjoffset(program.offset)
    if program.maximize:
        scip.setMaximize()
    else:
        scip.setMinimize()
    for index in range(len(program.rows)):
        _add_row(scip, program, index, variables)
    for columns in program.exclusive:
        members = [variables[column] for column in columns]
        scip.addConsSOS1(members, weights=list(range(1, len(members) + 1)))
    return scip, variables


def _add_row(scip: Any, program: Program, index: int, variables: list[Any]) -> None:
    from pyscipopt import quicksum

    columns, values = program.row(index)
    body = quicksum(
        value * variables[column]
        for column, value in zip(columns.tolist(), values.tolist(), strict=True)
    )
    if index in program.quadratic:
        products = program.quadratic[index]
        body += quicksum(
            value * variables[first] * variables[second]
            for first, second, value in zip(
                products.first.tolist(),
                products.second.tolist(),
                products.coefficients.tolist(),
                strict=True,
            )
        )
    low, high = float(program.row_lower[index]), float(program.row_upper[index])
    if low == high:
        scip.addCons(body == low)
    elif math.isinf(low):
        scip.addCons(body <= high)
    elif math.isinf(high):
        scip.addCons(body >= low)
    else:
        scip.addCons(low <= (body <= high))


def _hand_over(scip: Any, variables: list[Any], start: Array) -> str:
    solution = scip.createSol()
    for variable, value in zip(variables, start.tolist(), strict=True):
        scip.setSolVal(solution, variable, value)
    good = scip.checkSol(solution, printreason=False, original=True)
    return "accepted" if good and scip.addSol(solution) else "rejected"


def _found(scip: Any, variables: list[Any], accepted: str | None) -> Found:
    status = scip.getStatus()
    ended = ENDS.get(status, "limit" if status.endswith("limit") else FAILED)
    x = None
    if scip.getNSols() > 0 and ended not in (INFEASIBLE, UNBOUNDED, FAILED):
        best = scip.getBestSol()
        x = np.array([scip.getSolVal(best, variable) for variable in variables])
    return Found(
        ended,
        x=x,
        bound=scip.getDualbound(),
        root_bound=scip.getDualboundRoot(),
        nodes=int(scip.getNTotalNodes()),
        message=f"SCIP ended with {status}" if ended in (FAILED, "limit") else "",
        start=accepted,
    )
