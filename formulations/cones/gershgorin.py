"""Block ``gershgorin``: a diagonally dominant matrix B."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Size, register_block
from mlmio.cone import Cone, add_dominance, complete_dominance, lack_of_dominance

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

    Relations: ``diagonal`` restricts it; restricts ``sdd``.
    """

    name: ClassVar[str] = "gershgorin"
    source: ClassVar[str] = "model:gershgorin_restriction"
    restricts: ClassVar[tuple[str, ...]] = ("sdd",)

    def build(self, context: Context, b: Any) -> None:
        """Add the magnitudes of the off-diagonal entries and the rows."""
        add_dominance(b, self.matrix(context), context.data.D)

    def check(self, evaluation: Evaluation) -> None:
        """Hold every row of B to be dominated by its diagonal entry."""
        self.report_eigenvalue(evaluation)
        lacking = lack_of_dominance(evaluation.metric.B)
        evaluation.violate(self.name, "B is not diagonally dominant", lacking)

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the magnitudes."""
        complete_dominance(b, evaluation.metric.B)

    def size(self, n: Any) -> Size:
        """D(D−1)/2 variables; D + D(D−1) rows."""
        off = n.D * (n.D - 1)
        return Size(variables=off / 2, rows=n.D + off)
