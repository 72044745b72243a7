"""Closed branches solved again by another solver, to hold a dual bound to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlmio.anytime import WrittenWitness
from mlmio.errors import SolverError
from mlmio.solvers.highs import silent_highs

if TYPE_CHECKING:
    from mlmio.anytime import Witness
    from mlmio.kernels.rows import Array, Instance, Integers
    from mlmio.parametric import Parametric


def reaches(problem: Parametric, witness: Witness | WrittenWitness) -> float:
    """Return the optimum, in HiGHS, of the rows that closed a branch; −inf where infeasible.

    Only the rows of the basis that proved it are needed, and the bounds of the columns.

    Raises
    ------
    SolverError
        If HiGHS can neither solve the program nor tell that it is infeasible.
    """
    import highspy

    written = witness if isinstance(witness, WrittenWitness) else _written(problem, witness)
    highs = silent_highs()
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    columns = np.arange(len(written.c), dtype=np.int32)
    for p in columns.tolist():
        highs.addVar(written.lower[p], written.upper[p])
        highs.changeColCost(p, written.c[p])
    for row in written.rows:
        coefficients = np.ascontiguousarray(row[:-1])
        highs.addRow(-highspy.kHighsInf, row[-1], len(columns), columns, coefficients)
    highs.run()
    status = highs.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return -np.inf
    if status != highspy.HighsModelStatus.kOptimal:
        raise SolverError(f"HiGHS cannot check a branch: {highs.modelStatusToString(status)}")
    return float(highs.getInfo().objective_function_value)


def _written(problem: Parametric, witness: Witness) -> WrittenWitness:
    """Write the program of a branch out, its rows made anew from the data."""
    from mlmio.kernels.simplex import INFEASIBLE

    instance, closing = problem.instance, witness.closing
    basis = closing.codes if closing.status[0] == INFEASIBLE else closing.codes[:-1]
    rows = _rows(instance, closing.served_by, basis)
    return WrittenWitness(instance.columns.c, witness.lower, witness.upper, rows, witness.limit)


def _rows(instance: Instance, served_by: Integers, codes: Integers) -> Array:
    """Rows of a basis with their right-hand sides, made anew from the data."""
    from mlmio.kernels.programs import new_work, take_in_code

    work, n = new_work(instance), 0
    program = work.program
    for code in codes[codes >= 0]:
        n = take_in_code(instance.table, served_by, program, work.codes, n, code)
    return np.column_stack([program.A[:, :n].T, program.b[:n]])
