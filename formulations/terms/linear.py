"""Block ``linear``: the first-order term of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlmio.blocks import register_block
from mlmio.series import SeriesTerm


@register_block
@dataclass(frozen=True)
class Linear(SeriesTerm):
    r"""First-order term: a weighted Manhattan distance.

    .. math:: a \cdot u_{ij}, \qquad u_{ij} = |x_i - x_j|

    Notes
    -----
    Source: Kumaran et al. 2018, eq:metric-definition, first term.

    Needs nothing. Adds D free variables; LP.

    Relations: every further term relaxes a composition.
    """

    name: ClassVar[str] = "linear"
    slot: ClassVar[str] = "terms"
    source: ClassVar[str] = "eq:metric-definition, order 1"

    @property
    def order(self) -> int:
        """Order 1."""
        return 1
