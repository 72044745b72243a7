"""Block ``cubic``: the third-order term of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlmio.blocks import register_block
from mlmio.series import SeriesTerm


@register_block
@dataclass(frozen=True)
class Cubic(SeriesTerm):
    r"""Third-order term, with a fully symmetric tensor.

    .. math:: \sum_{p,q,r} C_{pqr}\, u_{ij,p}\, u_{ij,q}\, u_{ij,r}, \qquad u_{ij} = |x_i - x_j|

    A parameter is the entry :math:`C_{pqr}`, one for each multiset {p, q, r}.

    Notes
    -----
    Source: Kumaran et al. 2018, eq:metric-definition, third term.

    Needs nothing. Adds C(D+2, 3) free variables; LP.

    Relations: every further term relaxes a composition. The same as ``tensor(order=3)``.
    """

    name: ClassVar[str] = "cubic"
    slot: ClassVar[str] = "terms"
    source: ClassVar[str] = "eq:metric-definition, order 3"

    @property
    def order(self) -> int:
        """Order 3."""
        return 3
