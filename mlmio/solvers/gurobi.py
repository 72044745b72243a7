"""Solver ``gurobi``: Gurobi, through gurobipy."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
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

# What the licence that pip brings allows; with products of variables, so many columns only.
FREE_SIZE = 2000
FREE_COLUMNS_OF_PRODUCTS = 200

# How Gurobi's log says that it took a point to start from.
TAKEN = ("Loaded user MIP start", "User MIP start produced solution")

ENDS = {
    "OPTIMAL": SOLVED,
    "INFEASIBLE": INFEASIBLE,
    "INF_OR_UNBD": UNBOUNDED,
    "UNBOUNDED": UNBOUNDED,
    "TIME_LIMIT": "time_limit",
    "NODE_LIMIT": "node_limit",
    "INTERRUPTED": "interrupted",
}


@register_solver
class Gurobi(Adapter):
    """Gurobi, which also solves nonconvex models: products of variables in the rows.

    With the licence that pip brings, a model beyond its size is an error of reason ``licence``
    before anything is solved.
    """

    name: ClassVar[str] = "gurobi"
    classes: ClassVar[frozenset[str]] = frozenset({"LP", "MILP", "SOCP", "MISOCP", "MINLP"})
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
            "sos1",
            "lazy_rows",
        }
    )
    install: ClassVar[str] = (
        "pip install gurobipy, with a licence for models of more than 2000 rows"
    )

    def version(self) -> str | None:
        """Version of Gurobi, or None where gurobipy is not installed."""
        if not importlib.util.find_spec("gurobipy"):
            return None
        import gurobipy

        return ".".join(str(part) for part in gurobipy.gurobi.version())

    def location(self) -> str | None:
        """Folder of gurobipy."""
        return package_folder("gurobipy")

    def run(self, program: Program, options: Options, start: Array | None) -> Found:
        """Solve a program, convex or not."""
        import gurobipy

        try:
            refused = _too_large(program)
            return refused or self._run(program, options, start)
        except gurobipy.GurobiError as error:
            codes = gurobipy.GRB.Error
            licence = error.errno in (codes.NO_LICENSE, codes.SIZE_LIMIT_EXCEEDED)
            return Found(FAILED, message=str(error), reason="licence" if licence else "solver")

    def _run(self, program: Program, options: Options, start: Array | None) -> Found:
        import gurobipy

        record = Recorder(program.maximize)
        with gurobipy.Model(env=_environment()) as model:
            x = _fill(model, program)
            for name, value in _words(options).items():
                model.setParam(name, value)
            for name, value in options.options.items():
                self._set_own(model, name, value)
            if start is not None:
                x.Start = start
            with noting_interrupts() as interrupted:
                watch = _Watch(record, interrupted)
                model.optimize(watch)
            return _found(model, x, watch, start is not None)

    def _set_own(self, model: Any, name: str, value: Any) -> None:
        import gurobipy

        try:
            model.setParam(name, value)
        except (gurobipy.GurobiError, TypeError, ValueError) as error:
            raise unknown_option(self, name, value, str(error)) from error


@cache
def _status_names() -> dict[int, str]:
    """Names of Gurobi's status codes."""
    import gurobipy

    codes = gurobipy.GRB.Status
    return {getattr(codes, name): name for name in dir(codes) if name.isupper()}


@cache
def _environment() -> Any:
    """The environment of this process, which holds the licence."""
    import gurobipy

    return gurobipy.Env(params={"OutputFlag": 0})


@cache
def _restricted() -> bool:
    """Whether the licence is the one that pip brings: a model just beyond its size is refused."""
    import gurobipy

    with gurobipy.Model(env=_environment()) as model:
        model.addMVar(FREE_SIZE + 1)
        try:
            model.optimize()
        except gurobipy.GurobiError as error:
            return bool(error.errno == gurobipy.GRB.Error.SIZE_LIMIT_EXCEEDED)
    return False


def _too_large(program: Program) -> Found | None:
    """Refuse a model that the licence does not take."""
    rows, columns = len(_one_sided(program)[0]), len(program.columns)
    most = FREE_COLUMNS_OF_PRODUCTS if program.quadratic else FREE_SIZE
    if (rows <= FREE_SIZE and columns <= most) or not _restricted():
        return None
    products = " where there are products of variables" if program.quadratic else ""
    message = (
        f"licence: the model has {rows} rows and {columns} columns, and this licence of Gurobi "
        f"takes {FREE_SIZE} rows and {most} columns{products}"
    )
    return Found(FAILED, message=message, reason="licence")


def _words(options: Options) -> dict[str, Any]:
    """The options in Gurobi's words."""
    words: dict[str, Any] = {
        # First, while there is no output: it would announce each parameter.
        "LogToConsole": int(options.log is True),
        "OutputFlag": int(options.log is not False),
        "Threads": options.threads,
        "Seed": options.seed,
        "MIPGap": options.rel_gap,
        "MIPGapAbs": options.abs_gap,
        "FeasibilityTol": TOLERANCE,
        "IntFeasTol": TOLERANCE,
        "OptimalityTol": TOLERANCE,
    }
    if options.time_limit is not None:
        words["TimeLimit"] = options.time_limit
    if options.node_limit is not None:
        words["NodeLimit"] = options.node_limit
    if options.log_file is not None:
        words["LogFile"] = options.log_file
    return words


def _one_sided(program: Program) -> tuple[Array, list[str], Array]:
    """The rows as Gurobi has them, each with one side: their index, sense and right-hand side."""
    low, high = program.row_lower, program.row_upper
    equal = low == high
    kinds = (
        ("=", equal, low),
        ("<", ~equal & np.isfinite(high), high),
        (">", ~equal & np.isfinite(low), low),
    )
    index = [np.flatnonzero(mask) for _, mask, _ in kinds]
    senses = [sense for (sense, _, _), rows in zip(kinds, index, strict=True) for _ in rows]
    sides = [side[rows] for (_, _, side), rows in zip(kinds, index, strict=True)]
    return np.concatenate(index), senses, np.concatenate(sides)


def _fill(model: Any, program: Program) -> Any:
    """Add the program to Gurobi's own model; returns its variables."""
    import gurobipy

    x = model.addMVar(
        len(program.columns),
        lb=program.lower,
        ub=program.upper,
        obj=program.cost,
        vtype=np.where(program.integer, "I", "C"),
    )
    model.ObjCon = program.offset
    model.ModelSense = gurobipy.GRB.MAXIMIZE if program.maximize else gurobipy.GRB.MINIMIZE
    index, senses, sides = _one_sided(program)
    curved = np.isin(index, list(program.quadratic))
    linear = np.flatnonzero(~curved)
    if len(linear):
        kinds = np.array(senses)[linear]
        model.addMConstr(program.matrix[index[linear]], x, kinds, sides[linear])
    variables = x.tolist()
    for columns in program.exclusive:
        members = [variables[column] for column in columns]
        model.addSOS(gurobipy.GRB.SOS_TYPE1, members, list(range(1, len(members) + 1)))
    for position in np.flatnonzero(curved).tolist():
        body = _products(program, int(index[position]), variables)
        model.addQConstr(body, senses[position], sides[position])
    return x


def _products(program: Program, row: int, variables: list[Any]) -> Any:
    """A row with products as Gurobi's expression."""
    import gurobipy

    columns, values = program.row(row)
    products = program.quadratic[row]
    body = gurobipy.QuadExpr()
    body.addTerms(values.tolist(), [variables[column] for column in columns])
    body.addTerms(
        products.coefficients.tolist(),
        [variables[column] for column in products.first],
        [variables[column] for column in products.second],
    )
    return body


class _Watch:
    """Follows a solve: incumbents and bounds, what becomes of the start, and Ctrl-C."""

    def __init__(self, record: Recorder, interrupted: Callable[[], bool]) -> None:
        self.record = record
        self.root_bound: float | None = None
        self.accepted = False
        self._interrupted = interrupted

    def __call__(self, model: Any, where: int) -> None:
        """Gurobi's callback."""
        from gurobipy import GRB

        tell = model.cbGet
        if self._interrupted():
            model.terminate()
        if where == GRB.Callback.MESSAGE:
            self.accepted |= tell(GRB.Callback.MSG_STRING).startswith(TAKEN)
        elif where == GRB.Callback.MIP:
            bound = tell(GRB.Callback.MIP_OBJBND)
            self.record.note(tell(GRB.Callback.MIP_OBJBST), bound)
            if tell(GRB.Callback.MIP_NODCNT) == 0:
                self.root_bound = bound
        elif where == GRB.Callback.MIPSOL:
            self.record.note(tell(GRB.Callback.MIPSOL_OBJ), tell(GRB.Callback.MIPSOL_OBJBND))


def _found(model: Any, x: Any, watch: _Watch, started: bool) -> Found:
    name = _status_names()[model.Status]
    ended = ENDS.get(name, "limit" if name.endswith("_LIMIT") else FAILED)
    has_values = model.SolCount > 0 and ended not in (INFEASIBLE, UNBOUNDED, FAILED)
    return Found(
        ended,
        x=np.array(x.X) if has_values else None,
        bound=getattr(model, "ObjBound", None),
        root_bound=watch.root_bound,
        nodes=int(model.NodeCount),
        message=f"Gurobi ended with {name}" if ended in (FAILED, "limit") else "",
        start=("accepted" if watch.accepted else "rejected") if started else None,
        trajectory=watch.record.moments,
    )
