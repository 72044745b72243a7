"""Block ``diagonal``: a diagonal, nonnegative matrix B."""

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
class Diagonal(Cone):
    r"""B is diagonal and nonnegative: the features are weighted, not mixed.

    .. math:: B_{pp} \ge 0, \qquad B_{pq} = 0 \quad (p \ne q)

    Notes
    -----
    Source: Kumaran et al. 2018, model:gershgorin_restriction with every off-diagonal entry zero.

    Needs B. Adds D(D+1)/2 rows; LP.

    Relations: restricts ``gershgorin``.
    """

    name: ClassVar[str] = "diagonal"
    source: ClassVar[str] = "model:gershgorin_restriction, off-diagonal zero"
    restricts: ClassVar[tuple[str, ...]] = ("gershgorin",)

    def build(self, context: Context, b: Any) -> None:
        """Add the rows."""
        import pyomo.environ as pyo

        B = self.matrix(context)
        D = context.data.D
        b.nonnegative = pyo.Constraint(range(D), rule=lambda _, p: B(p, p) >= 0)
        off = [(p, q) for p in range(D) for q in range(p + 1, D)]
        b.zero = pyo.Constraint(off, rule=lambda _, p, q: B(p, q) == 0)

    def check(self, evaluation: Evaluation) -> None:
        """Hold the diagonal to be nonnegative and the rest to be zero."""
        B = evaluation.metric.B
        self.report_eigenvalue(evaluation)
        evaluation.violate(self.name, "B has a negative diagonal entry", -np.diag(B).min())
        off = np.abs(B - np.diag(np.diag(B)))
        evaluation.violate(self.name, "B has an off-diagonal entry", off.max())

    def size(self, n: Any) -> Size:
        """D(D+1)/2 rows."""
        return Size(rows=n.D * (n.D + 1) / 2)
