"""Block ``cannot_link``: dissimilar points, whose distance reaches beyond a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import check_number, register_block
from mlmio.side import Side

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class CannotLink(Side):
    r"""Dissimilar points are farther apart than the threshold τ that similar points keep.

    .. math:: d_{kl} \ge \tau + m \qquad \text{for all } (k, l)
              \text{ that the given pairs imply}

    A given pair implies every pair of a point that must-links connect with its first point and
    one that they connect with its second.

    Parameters
    ----------
    pairs : tuple of (k, l)
        Pairs of points by identifier; empty for those of the data set's side information.
    margin : float
        By how much they are farther than τ, m, in units of the distance.

    Notes
    -----
    Source: Kumaran et al. 2018, section "Extensions"; the rows of Davis et al. 2007 and
    Shalev-Shwartz et al. 2004.

    Needs a distance, and similar pairs with their threshold. Adds one row for each pair that is
    implied; LP.

    Relations: with ``must_link`` restricts the composition without both; a larger ``margin``
    restricts.
    """

    pairs: tuple[tuple[Any, Any], ...] = ()
    margin: float = 0.0

    name: ClassVar[str] = "cannot_link"
    source: ClassVar[str] = "section Extensions"
    parameter_order: ClassVar[Mapping[str, str]] = {"margin": "restricts", "pairs": "restricts"}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "margin", minimum=0.0)

    @property
    def provides(self) -> frozenset[str]:
        """Dissimilar pairs."""
        return frozenset({"dissimilar pairs"})

    @property
    def needs(self) -> frozenset[str]:
        """A distance, and similar pairs with their threshold."""
        return frozenset({"distance", "similar pairs"})

    def prepare(self, data: Dataset) -> Dataset:
        """Make the pairs side information, and check them with the must-links and the classes.

        Raises
        ------
        DataError
            If they contradict one another, naming the chain of must-links.
        """
        data = super().prepare(data)
        data.links()
        return data

    def build(self, context: Context, b: Any) -> None:
        """Add a row for each pair that is implied."""
        import pyomo.environ as pyo

        b.beyond = pyo.Constraint(
            list(map(tuple, context.data.links().dissimilar.tolist())),
            rule=lambda _, *pair: context.distance(*pair) - context.threshold >= self.margin,
        )

    def check(self, evaluation: Evaluation) -> None:
        """Hold every dissimilar pair to be beyond the threshold."""
        pairs = evaluation.data.links().dissimilar
        lacking = evaluation.threshold + self.margin - evaluation.pair_distances(pairs)
        for row in np.flatnonzero(lacking > 0).tolist():
            k, other = (evaluation.name(point) for point in pairs[row].tolist())
            evaluation.violate(
                self.name,
                f"dissimilar points {k} and {other} are not beyond the similar ones",
                lacking[row],
            )

    def count(self, data: Dataset) -> int:
        """One row for each pair that is implied."""
        return len(data.links().dissimilar)
