"""Block ``unbounded``: distances without bounds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Block, Size, check_choice, register_block
from mlmio.distances import DISTANCES, add_distances, complete_distances

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class Unbounded(Block):
    r"""Distances without bounds: scale and sign are left to the neighbours and the cone.

    .. math:: d_{ij} = \phi_{ij} \cdot \theta

    Parameters
    ----------
    distances : {"variables", "substituted"}
        Whether d_ij is a variable with a defining row, or its definition everywhere.

    Notes
    -----
    Source: Kumaran et al. 2018, model:lmnn, whose distances may be of any size.

    Needs a term. Adds E free variables and E rows, or nothing where the distances are
    substituted; LP.

    Under ``psd_cuts`` or ``sdd`` the variables of the distances are nonnegative, which the cone
    implies and its rows need not; substituted ones leave a relaxation without bound.

    Relations: ``distances`` changes nothing.
    """

    distances: str = "variables"

    name: ClassVar[str] = "unbounded"
    slot: ClassVar[str] = "region"
    source: ClassVar[str] = "model:lmnn"
    parameter_order: ClassVar[Mapping[str, str]] = {"distances": "neutral"}

    def __post_init__(self) -> None:
        check_choice(self, "distances", DISTANCES)

    @property
    def provides(self) -> frozenset[str]:
        """A distance without bounds."""
        return frozenset({"distance", "unbounded"})

    def build(self, context: Context, b: Any) -> None:
        """Add the distances."""
        # What a cone of semidefinite matrices says without a word keeps its relaxation bounded.
        implied = not context.polyhedral and context.orders == [2]
        lower = 0.0 if implied and self.distances == "variables" else -math.inf
        context.bounds = lambda i, j: (lower, math.inf)
        add_distances(context, b, self.distances)

    def check(self, evaluation: Evaluation) -> None:
        """State nothing: there are no bounds."""

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the distances, where they are variables."""
        complete_distances(b, evaluation)

    def size(self, n: Any) -> Size:
        """E variables and E rows, or nothing."""
        count = n.pairs if self.distances == "variables" else 0
        return Size(variables=count, rows=count)
