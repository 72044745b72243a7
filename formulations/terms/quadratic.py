"""Block ``quadratic``: the second-order term of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlmio.blocks import register_block
from mlmio.series import SeriesTerm


@register_block
@dataclass(frozen=True)
class Quadratic(SeriesTerm):
    r"""Second-order term: the Mahalanobis distance, squared.

    .. math:: \delta_{ij}^\top B\, \delta_{ij}, \qquad \delta_{ij} = x_i - x_j,\ B = B^\top

    The differences are signed. B need not be positive semidefinite unless a cone asks for it. A
    parameter is the entry :math:`B_{pq}`, :math:`p \le q`, itself.

    Notes
    -----
    Source: Kumaran et al. 2018, eq:metric-definition, second term.

    Needs nothing. Adds D(D+1)/2 free variables; LP.

    Relations: every further term relaxes a composition.
    """

    name: ClassVar[str] = "quadratic"
    slot: ClassVar[str] = "terms"
    source: ClassVar[str] = "eq:metric-definition, order 2"

    @property
    def order(self) -> int:
        """Order 2."""
        return 2
