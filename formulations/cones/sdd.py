"""Block ``sdd``: a scaled diagonally dominant matrix B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse.csgraph import connected_components

from mlmio.blocks import Size, register_block
from mlmio.cone import Cone

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Array, Evaluation


# Solvers keep a row to an absolute tolerance, whose square root is what a cone may lack near zero.
SCALE = 1e4


@register_block
@dataclass(frozen=True)
class ScaledDominance(Cone):
    r"""B is scaled diagonally dominant: a sum of positive semidefinite 2×2 blocks.

    .. math:: B_{pp} \ge \sum_{q \ne p} m^{pq}_p, \qquad
              m^{pq}_p\, m^{pq}_q \ge B_{pq}^2, \qquad m \ge 0

    for the pairs p < q, whose two :math:`m^{pq}` are the diagonal of the block of p and q: a
    rotated second-order cone for each. The rows :math:`2|B_{pq}| \le m^{pq}_p + m^{pq}_q`, which
    follow, hold the solver's tolerance down where both are near zero.

    Notes
    -----
    Source: Ahmadi, Majumdar, "DSOS and SDSOS optimization", 2019. B is in the cone exactly where
    its comparison matrix, :math:`B_{pp}` on the diagonal and :math:`-|B_{pq}|` off it, is positive
    semidefinite, which the certificate recomputes.

    Needs B. Adds D(D−1) variables and D + 3D(D−1)/2 rows, D(D−1)/2 of them cones; SOCP, for SCIP
    and Gurobi. Strategies ``direct`` and ``rows`` take it.

    Relations: ``gershgorin`` restricts it; restricts ``psd_cuts``, and is the same for D = 2.
    """

    name: ClassVar[str] = "sdd"
    source: ClassVar[str] = "Ahmadi, Majumdar 2019"
    problem_class: ClassVar[str] = "SOCP"
    restricts: ClassVar[tuple[str, ...]] = ("psd_cuts",)

    def build(self, context: Context, b: Any) -> None:
        """Add the diagonals of the blocks and the rows."""
        import pyomo.environ as pyo

        context.polyhedral = False
        B = self.matrix(context)
        D = context.data.D
        pairs = [(p, q) for p in range(D) for q in range(p + 1, D)]
        b.m = m = pyo.Var([(p, q) for p in range(D) for q in range(D) if p != q], bounds=(0, None))
        b.cone = pyo.Constraint(
            pairs, rule=lambda _, p, q: SCALE * (B(p, q) ** 2 - m[p, q] * m[q, p]) <= 0
        )
        b.above = pyo.Constraint(pairs, rule=lambda _, p, q: m[p, q] + m[q, p] >= 2 * B(p, q))
        b.below = pyo.Constraint(pairs, rule=lambda _, p, q: m[p, q] + m[q, p] >= -2 * B(p, q))
        b.sum = pyo.Constraint(
            range(D), rule=lambda _, p: B(p, p) - sum(m[p, q] for q in range(D) if q != p) >= 0
        )

    def check(self, evaluation: Evaluation) -> None:
        """Hold the comparison matrix to be positive semidefinite."""
        self.report_eigenvalue(evaluation)
        smallest = float(np.linalg.eigvalsh(_comparison(evaluation.metric.B))[0])
        evaluation.violate(self.name, "B is not scaled diagonally dominant", -smallest)

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the diagonals by the scaling under which B is diagonally dominant."""
        B = evaluation.metric.B
        x = _scaling(B)
        for (p, q), m in b.m.items():
            m.set_value(abs(float(B[p, q])) * x[q] / x[p])

    def size(self, n: Any) -> Size:
        """D(D−1) variables; D + 3D(D−1)/2 rows."""
        off = n.D * (n.D - 1)
        return Size(variables=off, rows=n.D + 3 * off / 2)


def _comparison(B: Array) -> Array:
    """The comparison matrix: the diagonal, and minus the magnitudes off it."""
    diagonal: Array = np.diag(np.diag(B))
    return diagonal - np.abs(B - diagonal)


def _scaling(B: Array) -> Array:
    """Positive x for which the comparison matrix times x is nonnegative, where there is one.

    It is the Perron vector, the eigenvector of the smallest eigenvalue, of each connected part.
    """
    M = _comparison(B)
    x = np.ones(len(B))
    number, label = connected_components(M != 0, directed=False)
    for part in (np.flatnonzero(label == n) for n in range(number)):
        # The least entry of a Perron vector is far above rounding, unless B hardly connects it.
        vector = np.abs(np.linalg.eigh(M[np.ix_(part, part)])[1][:, 0])
        x[part] = np.maximum(vector, 1e-12)
    return x
