"""Block ``basic_steps``: what a neighbour allows beside the disjunctions of the hardest points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Size, check_count, register_block
from mlmio.cut import Cut, served_row

if TYPE_CHECKING:
    from mlmio.context import Context


@register_block
@dataclass(frozen=True)
class BasicSteps(Cut):
    r"""The disjunction of each point, intersected with those along a tree of the hardest points.

    .. math::

        \lambda - \rho \sum_l z_l \le \frac1k \sum_{j \in \mathcal C_i} \gamma_{ij}\, y_{ij}
        + \gamma_i (1 - \text{kept}_i) \quad \forall i, \qquad
        \gamma_{ij} = \max \{\gamma_0,\ \max_{v \in V} \gamma_{ij}(v)\}

    A basic step replaces two disjunctions by their intersection: the pairs of a choice for the one
    point and a choice for the other. A tree that branches on who serves a point, or whether it is
    given up, is a sequence of such steps in which only the choices that matter are multiplied out.
    V are its leaves after a number of nodes, :math:`\gamma_{ij}(v)` is the bound of the leaf's
    linear program if j serves i as well, :math:`\gamma_i` the largest bound of a leaf, and
    :math:`\gamma_0` the best objective that was found, which closed all other leaves.

    Proof. Every solution is in a leaf or in a branch that was closed. In a leaf, with i kept, its
    k choices sum to k and each of them bounds the left side by its :math:`\gamma_{ij}(v)`, so that
    their average does; with i given up, :math:`\gamma_i` does. In a branch that was closed the
    left side is at most :math:`\gamma_0`. So nothing is cut off, a solution that is worse than
    :math:`\gamma_0` included: :math:`\gamma_0` stands on the right side only.

    Parameters
    ----------
    nodes : int
        How many nodes the tree has. With 0, one disjunction at a time, as
        ``disjunction_bounds``; with enough, the tree is a proof of the optimum.

    Notes
    -----
    Source: basic steps of disjunctive programming (Balas 1985, "Disjunctive programming and a
    hierarchy of relaxations for discrete optimization problems"); cuts from a partial tree
    (Perregaard and Balas 2001).

    Needs ``nearest`` without a loss or with ``outliers(semantics='excuse')``. Adds N rows, and
    solves a linear program in θ and λ for each choice at each leaf; MILP.

    Relations: changes nothing in the optimum; the LP bound can only fall. ``nodes`` changes
    nothing.
    """

    nodes: int = 100

    name: ClassVar[str] = "basic_steps"
    source: ClassVar[str] = "Balas 1985"
    parameter_order: ClassVar[Mapping[str, str]] = {"nodes": "neutral"}

    def __post_init__(self) -> None:
        check_count(self, "nodes")

    def cut(self, context: Context, b: Any) -> None:
        """Add a row for each point."""
        import pyomo.environ as pyo

        bounds = context.served.worths(self.nodes)
        loss = context.served.outline.context.loss
        price = 0.0 if loss is None else loss.price * sum(self.given_up(context).values())
        b.worth = pyo.Constraint(
            range(context.data.N),
            rule=lambda _, i: served_row(context, context.value - price, bounds, i),
        )

    def size(self, n: Any) -> Size:
        """N rows."""
        return Size(rows=n.N)
