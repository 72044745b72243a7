"""Block ``disjunction_bounds``: what the choice of a point's neighbour allows the margin to be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Size, register_block
from mlmio.cut import Cut, served_row

if TYPE_CHECKING:
    from mlmio.context import Context


@register_block
@dataclass(frozen=True)
class DisjunctionBounds(Cut):
    r"""The margin is at most what the neighbour chosen for any one point allows.

    .. math::

        \lambda \le \frac1k \sum_{j \in \mathcal C_i} \beta_{ij}\, y_{ij} + U (1 - \text{kept}_i)
        \quad \forall i, \qquad
        \beta_{ij} = \max \{\lambda : \theta \in F,\ d_{ij} + \lambda \le d_{ik}\ \forall k
        \in \mathcal N_i\}

    where :math:`U` bounds λ whoever is given up: of every class m points are kept, so that λ is at
    most the m-th largest :math:`\beta_i` of the class, with :math:`\beta_i` the k-th largest
    :math:`\beta_{ij}`.

    Proof. Let i be kept. Its k choices sum to k, and for each of them, since
    :math:`s_i \ge d_{ij}` and no row of i is relieved, the point satisfies the program of
    :math:`\beta_{ij}`, so that :math:`\lambda \le \beta_{ij}`: the sum is an average of numbers
    that are at least λ. Let i be given up: then all its y are 0, and the row reads
    :math:`\lambda \le U`. It implies :math:`\lambda \le \beta_i + (U - \beta_i) z_i`, and
    :math:`\lambda \le \beta_{ij} + (\max_j \beta_{ij} - \beta_{ij}) (1 - y_{ij})`: with an
    incumbent above :math:`\beta_{ij}`, a solver concludes that the choice is none. Nothing is cut
    off that the other blocks allow, however bad.

    Notes
    -----
    Source: disjunctive programming (Balas 1979, "Disjunctive Programming"), one disjunction at a
    time.

    Needs ``nearest`` without a loss or with ``outliers(semantics='excuse')``; under the other
    semantics the rows of a kept point depend on who else is given up. Adds N rows, and solves one
    linear program in θ and λ for each of the C choices; MILP.

    Relations: changes nothing in the optimum; the LP bound can only fall.
    """

    name: ClassVar[str] = "disjunction_bounds"
    source: ClassVar[str] = "Balas 1979"

    def cut(self, context: Context, b: Any) -> None:
        """Add a row for each point."""
        import pyomo.environ as pyo

        served = context.served
        most = np.full((context.data.N, 1), served.most)
        bounds = np.hstack([served.margins, most])
        b.margin = pyo.Constraint(
            range(context.data.N),
            rule=lambda _, i: served_row(context, context.value, bounds, i),
        )

    def size(self, n: Any) -> Size:
        """N rows."""
        return Size(rows=n.N)
