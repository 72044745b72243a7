"""The base of the blocks of slot ``cone``, and what several of them state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block
from mlmio.series import multisets

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Array, Evaluation


@dataclass(frozen=True)
class Cone(Block):
    """Holds the matrix B of the quadratic term in a cone."""

    slot: ClassVar[str] = "cone"

    @property
    def provides(self) -> frozenset[str]:
        """A cone."""
        return frozenset({"cone"})

    @property
    def needs(self) -> frozenset[str]:
        """The matrix B."""
        return frozenset({"B"})

    @staticmethod
    def matrix(context: Context) -> Callable[[int, int], Any]:
        """Return the entries B_pq as a function of p and q."""
        sets = multisets(context.data.D, 2).tolist()
        entries = {tuple(pair): context.terms[2][n] for n, pair in enumerate(sets)}
        return lambda p, q: entries[min(p, q), max(p, q)]

    @staticmethod
    def report_eigenvalue(evaluation: Evaluation) -> None:
        """Put the smallest eigenvalue of B on the certificate."""
        smallest = float(np.linalg.eigvalsh(evaluation.metric.B)[0])
        evaluation.facts["smallest eigenvalue of B"] = smallest


def add_dominance(b: Any, Q: Callable[[int, int], Any], D: int) -> None:
    """Add the rows that hold a symmetric matrix to be diagonally dominant.

    Q_pp ≥ Σ_{q≠p} |Q_pq|, with one magnitude for the two entries of each pair.

    Parameters
    ----------
    b : Pyomo block
        Where they are added.
    Q : callable (p, q) -> linear expression
        Entries of the matrix.
    D : int
        Its size.
    """
    import pyomo.environ as pyo

    off = [(p, q) for p in range(D) for q in range(p + 1, D)]
    b.magnitude = pyo.Var(off, bounds=(0.0, None))
    b.above = pyo.Constraint(off, rule=lambda _, p, q: b.magnitude[p, q] - Q(p, q) >= 0)
    b.below = pyo.Constraint(off, rule=lambda _, p, q: b.magnitude[p, q] + Q(p, q) >= 0)

    def dominant(_: Any, p: int) -> Any:
        others = (b.magnitude[min(p, q), max(p, q)] for q in range(D) if q != p)
        return Q(p, p) - sum(others) >= 0

    b.dominant = pyo.Constraint(range(D), rule=dominant)


def complete_dominance(b: Any, Q: Array) -> None:
    """Set the magnitudes of :func:`add_dominance`."""
    for (p, q), magnitude in b.magnitude.items():
        magnitude.set_value(abs(float(Q[p, q])))


def lack_of_dominance(Q: Array) -> float:
    """Return the most by which the rest of a row exceeds the diagonal entry; negative if none."""
    return float((np.abs(Q).sum(axis=1) - np.abs(np.diag(Q)) - np.diag(Q)).max())
