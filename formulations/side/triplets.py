"""Block ``triplets``: of two points, the one that is nearer to a third."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import check_number, register_block
from mlmio.side import Side, add_comparisons, check_comparisons

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class Triplets(Side):
    r"""Of every triplet (i, j, k), j is nearer to i than k.

    .. math:: d_{ij} + m \le d_{ik} \qquad \text{for the given } (i, j, k)

    Parameters
    ----------
    triplets : tuple of (i, j, k)
        Triplets by the identifiers of the points; empty for those of the data set's side
        information.
    margin : float
        By how much k is farther, m, in units of the distance.

    Notes
    -----
    Source: Kumaran et al. 2018, section "Extensions"; triplets as in Rosales and Fung 2006.

    Needs a distance. Adds one row for each triplet; LP.

    Relations: restricts the composition without it; a larger ``margin`` restricts.
    """

    triplets: tuple[tuple[Any, Any, Any], ...] = ()
    margin: float = 0.0

    name: ClassVar[str] = "triplets"
    given: ClassVar[str] = "triplets"
    width: ClassVar[int] = 3
    source: ClassVar[str] = "section Extensions"
    parameter_order: ClassVar[Mapping[str, str]] = {"margin": "restricts", "triplets": "restricts"}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "margin", minimum=0.0)

    def build(self, context: Context, b: Any) -> None:
        """Add a row for each triplet."""
        add_comparisons(context, b, context.data.side_rows(self.name, 3), self.margin)

    def check(self, evaluation: Evaluation) -> None:
        """Hold every triplet to be in order."""
        triplets = evaluation.data.side_rows(self.name, 3)
        check_comparisons(evaluation, self.name, triplets, self.margin)

    def count(self, data: Dataset) -> int:
        """One row for each triplet."""
        return len(data.side_rows(self.name, 3))
