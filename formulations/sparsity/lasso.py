"""Block ``lasso``: a price on the size of the entries of B."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block, Size, check_number, register_block

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class Lasso(Block):
    r"""A price on the absolute entries of B, which promotes zeros.

    .. math:: \max\ \dots - \mu \sum_{p \le q} t_{pq}, \qquad t_{pq} \ge B_{pq}, \quad
              t_{pq} \ge -B_{pq}

    Parameters
    ----------
    mu : float
        Price μ of a unit of magnitude, in scaled coordinates.

    Notes
    -----
    Source: Kumaran et al. 2018, appendix "Sparsification".

    Needs B. Adds D(D+1)/2 variables and D(D+1) rows; LP.

    Relations: restricts the composition without it; a larger ``mu`` restricts.
    """

    mu: float = 0.01

    name: ClassVar[str] = "lasso"
    slot: ClassVar[str] = "sparsity"
    source: ClassVar[str] = "appendix, Sparsification"
    parameter_order: ClassVar[Mapping[str, str]] = {"mu": "restricts"}

    def __post_init__(self) -> None:
        check_number(self, "mu", minimum=0.0)

    @property
    def needs(self) -> frozenset[str]:
        """The matrix B."""
        return frozenset({"B"})

    def build(self, context: Context, b: Any) -> Any:
        """Add the magnitudes; contributes minus their price."""
        import pyomo.environ as pyo

        entries = context.terms[2]
        b.magnitude = pyo.Var(entries.index_set(), bounds=(0.0, None))
        b.above = pyo.Constraint(
            entries.index_set(), rule=lambda _, p: b.magnitude[p] - entries[p] >= 0
        )
        b.below = pyo.Constraint(
            entries.index_set(), rule=lambda _, p: b.magnitude[p] + entries[p] >= 0
        )
        return -self.mu * sum(b.magnitude.values())

    def check(self, evaluation: Evaluation) -> None:
        """Price the entries of B."""
        magnitude = np.abs(evaluation.metric.entries(2))
        evaluation.objective -= self.mu * float(magnitude.sum())

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the magnitudes."""
        for p, entry in enumerate(evaluation.metric.entries(2)):
            b.magnitude[p].set_value(abs(float(entry)))

    def size(self, n: Any) -> Size:
        """D(D+1)/2 variables; D(D+1) rows."""
        return Size(variables=n.D * (n.D + 1) / 2, rows=n.D * (n.D + 1))
