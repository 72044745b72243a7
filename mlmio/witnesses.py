"""Closed branches solved again by another solver, to hold a dual bound to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlmio.errors import SolverError
from mlmio.solvers.highs import silent_highs

if TYPE_CHECKING:
    from mlmio.parametric import Parametric
    from mlmio.search import Witness


def reaches(problem: Parametric, witness: Witness) -> float:
    """Return the optimum, in HiGHS, of the rows that closed a branch; −inf where infeasible.

    Only the rows of the basis that proved it are needed, and the bounds of the columns.

    Raises
    ------
    SolverError
        If HiGHS can neither solve the program nor tell that it is infeasible.
    """
    import highspy

    from mlmio.kernels.rows import new_work, take_in_code

    instance, closing = problem.instance, witness.closing
    i, choice, slot, infeasible = closing.decision.tolist()
    served_by = witness.served_by.copy()
    if choice >= 0:
        served_by[i, slot] = choice
    work = new_work(instance)
    program, n = work.program, 0
    for code in closing.codes if infeasible else closing.codes[:-1]:
        if code >= 0:
            n = take_in_code(instance.table, served_by, program, work.codes, n, code)
    highs = silent_highs()
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    columns = np.arange(len(program.c), dtype=np.int32)
    for p in columns.tolist():
        highs.addVar(witness.lower[p], witness.upper[p])
        highs.changeColCost(p, program.c[p])
    for r in range(n):
        row = np.ascontiguousarray(program.A[:, r])
        highs.addRow(-highspy.kHighsInf, program.b[r], len(columns), columns, row)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return -np.inf
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"HiGHS cannot check a branch: {highs.modelStatusToString(status)}")
    return float(highs.getInfo().objective_function_value)
