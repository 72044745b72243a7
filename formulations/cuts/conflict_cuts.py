"""Block ``conflict_cuts``: of points that no metric serves together, all but one are given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import Size, register_block
from mlmio.cut import Cut

if TYPE_CHECKING:
    from mlmio.context import Context


@register_block
@dataclass(frozen=True)
class ConflictCuts(Cut):
    r"""Of points that are in each other's way, all but one are given up.

    .. math::

        \sum_{l \in Q_i} z_l \ge |Q_i| - 1 \quad \forall i, \qquad
        z_i \ge 1 \text{ for points that no metric serves}

    Points i and l are in conflict where no choice of a neighbour for each leaves a metric in the
    region with their separation rows and :math:`\lambda \ge 0`. :math:`Q_i` is a clique of the
    graph of conflicts that contains i, grown greedily from conflicts that no clique before has;
    where i has none, the row reads :math:`z_i \ge 0`.

    Proof. The loss asks for :math:`\lambda \ge 0`. If i and l were both kept, the solution would
    satisfy the program of its own choices for them, which has no solution. So of two points in
    conflict one is given up, and of a clique all but one. Conflicts are those at λ = 0, not at the
    margin of an incumbent: nothing is cut off that the other blocks allow.

    Notes
    -----
    Source: clique inequalities (Padberg 1973) of disjunctions that exclude each other.

    Needs ``nearest`` with ``outliers(semantics='excuse')``. Adds N rows, and solves up to
    :math:`|\mathcal C_i| |\mathcal C_l|` linear programs for each pair that no metric found so far
    serves; MILP.

    Relations: changes nothing in the optimum; the LP bound can only fall.
    """

    name: ClassVar[str] = "conflict_cuts"
    source: ClassVar[str] = "Padberg 1973"

    @property
    def requires(self) -> frozenset[str]:
        """Points that may be given up."""
        return frozenset({"outliers"})

    def cut(self, context: Context, b: Any) -> None:
        """Add a row for each point."""
        import pyomo.environ as pyo

        conflicts = context.served.conflicts()
        impossible = np.diag(conflicts)
        cliques = _cliques(conflicts & ~(impossible[:, None] | impossible))
        z = self.given_up(context)

        def row(_: Any, i: int) -> Any:
            if impossible[i]:
                return z[i] >= 1
            return sum(z[m] for m in cliques[i]) >= len(cliques[i]) - 1

        b.conflict = pyo.Constraint(range(context.data.N), rule=row)

    def size(self, n: Any) -> Size:
        """N rows."""
        return Size(rows=n.N)


def _cliques(graph: NDArray[np.bool_]) -> list[list[int]]:
    """A clique for each point, grown greedily from the edges that none before has."""
    left, cliques = graph.copy(), []
    for i in range(len(graph)):
        clique = [i]
        common = graph[i].copy()
        while common.any():
            # Most edges that are new, then most points that are left to go on with.
            new = left[clique].sum(axis=0) * len(graph) + (graph & common).sum(axis=1)
            clique.append(int(np.argmax(np.where(common, new, -1))))
            common &= graph[clique[-1]]
        left[np.ix_(clique, clique)] = False
        cliques.append(sorted(clique))
    return cliques
