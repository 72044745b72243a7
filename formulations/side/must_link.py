"""Block ``must_link``: similar points, whose distance stays within a threshold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Size, register_block
from mlmio.side import Side

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class MustLink(Side):
    r"""Similar points are no farther apart than a threshold τ, which dissimilar points reach.

    .. math:: d_{ij} \le \tau \qquad \text{for all } (i, j)
              \text{ in the transitive closure of the given pairs}

    Parameters
    ----------
    pairs : tuple of (i, j)
        Pairs of points by identifier; empty for those of the data set's side information.

    Notes
    -----
    Source: Kumaran et al. 2018, section "Extensions"; the rows of Davis et al. 2007 and
    Shalev-Shwartz et al. 2004.

    Needs a distance, and dissimilar pairs, without which any τ would do. Adds the variable τ and
    one row for each pair of the closure; LP.

    Relations: with ``cannot_link`` restricts the composition without both.
    """

    pairs: tuple[tuple[Any, Any], ...] = ()

    name: ClassVar[str] = "must_link"
    source: ClassVar[str] = "section Extensions"
    parameter_order: ClassVar[Mapping[str, str]] = {"pairs": "restricts"}

    @property
    def provides(self) -> frozenset[str]:
        """Similar pairs and their threshold."""
        return frozenset({"similar pairs"})

    @property
    def requires(self) -> frozenset[str]:
        """Dissimilar pairs."""
        return frozenset({"dissimilar pairs"})

    def build(self, context: Context, b: Any) -> None:
        """Add τ and a row for each pair of the closure; publishes τ."""
        import pyomo.environ as pyo

        similar = context.data.links().similar
        b.threshold = context.threshold = pyo.Var()
        b.within = pyo.Constraint(
            list(map(tuple, similar.tolist())),
            rule=lambda _, i, j: b.threshold - context.distance(i, j) >= 0,
        )

    def check(self, evaluation: Evaluation) -> None:
        """Publish the least τ, which is the best for the dissimilar pairs."""
        similar = evaluation.data.links().similar
        evaluation.threshold = float(evaluation.pair_distances(similar).max())

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set τ."""
        b.threshold.set_value(evaluation.threshold)

    def count(self, data: Dataset) -> int:
        """One row for each pair of the closure."""
        return len(data.links().similar)

    def size(self, n: Any) -> Size:
        """The variable τ; one row for each pair of the closure."""
        return replace(super().size(n), variables=1)
