"""Block ``gershgorin``: a diagonally dominant matrix B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Size, register_block
from mlmio.cone import Cone

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class Gershgorin(Cone):
    r"""B is diagonally dominant, which makes it positive semidefinite by Gershgorin's theorem.

    .. math:: B_{pp} \ge \sum_{q \ne p} b^+_{pq}, \qquad
              b^+_{pq} \ge B_{pq}, \quad b^+_{pq} \ge -B_{pq}, \quad b^+ \ge 0

    One :math:`b^+` serves the pair p < q in both rows, since B is symmetric.

    Notes
    -----
    Source: Kumaran et al. 2018, model:gershgorin_restriction.

    Needs B. Adds D(D−1)/2 variables and D + D(D−1) rows; LP.

    Relations: ``diagonal`` restricts it.
    """

    name: ClassVar[str] = "gershgorin"
    source: ClassVar[str] = "model:gershgorin_restriction"

    def build(self, context: Context, b: Any) -> None:
        """Add the magnitudes of the off-diagonal entries and the rows."""
        import pyomo.environ as pyo

        B = self.matrix(context)
        D = context.data.D
        off = [(p, q) for p in range(D) for q in range(p + 1, D)]
        b.magnitude = pyo.Var(off, bounds=(0.0, None))
        b.above = pyo.Constraint(off, rule=lambda _, p, q: b.magnitude[p, q] - B(p, q) >= 0)
        b.below = pyo.Constraint(off, rule=lambda _, p, q: b.magnitude[p, q] + B(p, q) >= 0)

        def dominant(_: Any, p: int) -> Any:
            others = (b.magnitude[min(p, q), max(p, q)] for q in range(D) if q != p)
            return B(p, p) - sum(others) >= 0

        b.dominant = pyo.Constraint(range(D), rule=dominant)

    def check(self, evaluation: Evaluation) -> None:
        """Hold every row of B to be dominated by its diagonal entry."""
        B = evaluation.metric.B
        self.report_eigenvalue(evaluation)
        radii = np.abs(B).sum(axis=1) - np.abs(np.diag(B))
        evaluation.violate(self.name, "B is not diagonally dominant", (radii - np.diag(B)).max())

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the magnitudes."""
        for (p, q), magnitude in b.magnitude.items():
            magnitude.set_value(abs(float(evaluation.metric.B[p, q])))

    def size(self, n: Any) -> Size:
        """D(D−1)/2 variables; D + D(D−1) rows."""
        off = n.D * (n.D - 1)
        return Size(variables=off / 2, rows=n.D + off)
