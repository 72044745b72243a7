"""Writing a program as an MPS file, with plain names and every number in full."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from mlmio.solvers.program import Program


def write_mps(program: Program, path: Path) -> None:
    """Write a linear program as a minimisation, without the constant of its objective.

    Columns are named c0, c1, … and rows r0, r1, …, so that no name needs escaping. Readers differ
    in what a constant and a sense in the file mean: both are left out.
    """
    # Without the word FREE, CBC takes lines for fixed columns now and then.
    lines = ["NAME mlmio FREE", "ROWS", " N cost"]
    lines += [f" {_kind(program, row)} r{row}" for row in range(len(program.rows))]
    lines += ["COLUMNS", *_columns(program), "RHS", *_sides(program)]
    lines += ["RANGES", *_ranges(program), "BOUNDS", *_bounds(program), "ENDATA", ""]
    path.write_text("\n".join(lines), encoding="ascii")


def _kind(program: Program, row: int) -> str:
    low, high = program.row_lower[row], program.row_upper[row]
    if low == high:
        return "E"
    return "L" if math.isinf(low) else "G"


def _columns(program: Program) -> Iterator[str]:
    by_column = program.matrix.tocsc()
    starts, rows = by_column.indptr.tolist(), by_column.indices.tolist()
    values, costs = by_column.data.tolist(), (program.sign * program.cost).tolist()
    within_integers = False
    for column, integer in enumerate(program.integer.tolist()):
        if integer != within_integers:
            yield f" m{column} 'MARKER' '{'INTORG' if integer else 'INTEND'}'"
            within_integers = integer
        # A column without any entry is declared by its cost of zero.
        yield f" c{column} cost {costs[column]!r}"
        for entry in range(starts[column], starts[column + 1]):
            yield f" c{column} r{rows[entry]} {values[entry]!r}"
    if within_integers:
        yield " m 'MARKER' 'INTEND'"


def _sides(program: Program) -> Iterator[str]:
    for row, (low, high) in enumerate(_limits(program)):
        yield f" rhs r{row} {(high if math.isinf(low) else low)!r}"


def _ranges(program: Program) -> Iterator[str]:
    for row, (low, high) in enumerate(_limits(program)):
        if low != high and math.isfinite(low) and math.isfinite(high):
            yield f" range r{row} {high - low!r}"


def _limits(program: Program) -> Iterator[tuple[float, float]]:
    return zip(program.row_lower.tolist(), program.row_upper.tolist(), strict=True)


def _bounds(program: Program) -> Iterator[str]:
    # Always both: readers differ in what they assume, of integers above all.
    for column, (low, high) in enumerate(
        zip(program.lower.tolist(), program.upper.tolist(), strict=True)
    ):
        yield f" MI bound c{column}" if math.isinf(low) else f" LO bound c{column} {low!r}"
        yield f" PL bound c{column}" if math.isinf(high) else f" UP bound c{column} {high!r}"
