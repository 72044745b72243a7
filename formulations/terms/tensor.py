"""Block ``tensor``: a term of any higher order of the distance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from mlmio.blocks import check_count, register_block
from mlmio.series import MAX_ORDER, SeriesTerm


@register_block
@dataclass(frozen=True)
class Tensor(SeriesTerm):
    r"""Term of order n ≥ 3, with a fully symmetric tensor.

    .. math:: \sum_{p_1, \dots, p_n} T_{p_1 \dots p_n}\, u_{ij,p_1} \cdots u_{ij,p_n}, \qquad
              u_{ij} = |x_i - x_j|

    A parameter is the entry of the tensor itself, one for each multiset of coordinates.

    Parameters
    ----------
    order : int
        Order n of the term, from 3 to 20.

    Notes
    -----
    Source: Kumaran et al. 2018, eq:metric-definition, higher order terms.

    Needs nothing. Adds C(D+n−1, n) free variables; LP.

    Relations: every further term relaxes a composition. ``tensor(order=3)`` is ``cubic``.
    """

    order: int = 4

    name: ClassVar[str] = "tensor"
    slot: ClassVar[str] = "terms"
    source: ClassVar[str] = "eq:metric-definition, higher orders"
    repeatable: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count(self, "order", minimum=3, maximum=MAX_ORDER)

    @property
    def label(self) -> str:
        """``tensor_4`` and so on."""
        return f"tensor_{self.order}"
