"""Block ``nonnegative``: every coefficient of the linear term is at least some weight."""

from dataclasses import dataclass
from typing import Any, ClassVar

import pyomo.environ as pyo

from mlmio.blocks import Block, Size, check_number, register_block


@register_block
@dataclass(frozen=True)
class Nonnegative(Block):
    """Every feature that differs adds to the distance by a least weight: a_p ≥ ℓ.

    Parameters
    ----------
    least : float
        Least weight ℓ of a feature.

    Notes
    -----
    Source: a stranger's package. Needs the linear term. Adds D rows; LP.
    Relations: a larger ``least`` restricts.
    """

    least: float = 0.0
    name: ClassVar[str] = "nonnegative"
    slot: ClassVar[str] = "side"
    source: ClassVar[str] = "a stranger's package"
    parameter_order: ClassVar[dict[str, str]] = {"least": "restricts"}

    def __post_init__(self) -> None:
        check_number(self, "least", minimum=0.0)

    @property
    def needs(self) -> frozenset[str]:
        return frozenset({"a"})

    def build(self, context: Any, b: Any) -> None:
        a = context.terms[1]
        b.rows = pyo.Constraint(a.index_set(), rule=lambda _, p: a[p] >= self.least)

    def check(self, evaluation: Any) -> None:
        short = self.least - evaluation.metric.a.min()
        evaluation.violate(self.name, "a coefficient is below the least weight", short)

    def size(self, n: Any) -> Size:
        return Size(rows=n.D)
