"""Closed branches solved again by another solver, to hold a dual bound to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_array

from mlmio.anytime import WrittenWitness
from mlmio.errors import SolverError
from mlmio.solvers.highs import silent_highs

if TYPE_CHECKING:
    from mlmio.anytime import Proof, Witness
    from mlmio.kernels.rows import Array, Instance, Integers
    from mlmio.parametric import Parametric

# The least that HiGHS takes.
LEAST_TOLERANCE = 1e-10


def reaches(problem: Parametric, witness: Proof) -> float:
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
    # What contradicts itself may do so by a hair, which a larger tolerance would forgive.
    highs.setOptionValue("primal_feasibility_tolerance", LEAST_TOLERANCE)
    highs.changeObjectiveSense(highspy.ObjSense.kMaximize)
    columns = range(len(written.c))
    highs.addVars(len(columns), written.lower, written.upper)
    highs.changeColsCost(len(columns), np.array(columns, dtype=np.int32), written.c)
    rows, count = written.rows, len(written.rhs)
    unbounded = np.full(count, -highspy.kHighsInf)
    starts, indices = rows.indptr[:-1].astype(np.int32), rows.indices.astype(np.int32)
    highs.addRows(count, unbounded, written.rhs, rows.nnz, starts, indices, rows.data)
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
    rows, rhs = _rows(instance, closing.served_by, basis)
    c = instance.columns.c
    return WrittenWitness(c, witness.lower, witness.upper, rows, rhs, witness.limit)


def _rows(instance: Instance, served_by: Integers, codes: Integers) -> tuple[csr_array, Array]:
    """Rows of a basis with their right-hand sides, made anew from the data."""
    from mlmio.kernels.programs import new_work, take_in_code

    work, n = new_work(instance), 0
    program = work.program
    for code in codes[codes >= 0]:
        n = take_in_code(instance.table, served_by, program, work.codes, n, code)
    return csr_array(program.A[:, :n].T), program.b[:n]
