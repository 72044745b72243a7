"""Block ``bilinear``: the products of distance and choice as they stand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Size, register_block
from mlmio.encoding import Encoding

if TYPE_CHECKING:
    from mlmio.context import Choice, Context


@register_block
@dataclass(frozen=True)
class Bilinear(Encoding):
    r"""The distance to the chosen point as a product.

    .. math:: s_i = \sum_{j \in \mathcal C_i} d_{ij}\, y_{ij} \quad (k = 1), \qquad
              s_i \ge d_{ij}\, y_{ij} \quad (k > 1)

    Notes
    -----
    Source: Kumaran et al. 2018, eq:separation_constraint_no_outliers.

    Needs a bounded distance. Adds N variables s and N rows (k = 1) or C rows (k > 1); nonconvex
    MINLP.

    Relations: equivalent to every encoding.
    """

    name: ClassVar[str] = "bilinear"
    source: ClassVar[str] = "eq:separation_constraint_no_outliers"
    problem_class: ClassVar[str] = "MINLP"

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """Add s and the products."""
        import pyomo.environ as pyo

        points = range(len(choice.candidates))
        b.s = pyo.Var(points, bounds=(0.0, context.dmax))

        def chosen(i: int, j: int) -> Any:
            return context.distance(i, j) * choice.y[i, j]

        if choice.k == 1:
            b.reach = pyo.Constraint(
                points,
                rule=lambda _, i: b.s[i] == sum(chosen(i, j) for j in choice.candidates[i]),
            )
        else:
            b.reach = pyo.Constraint(
                choice.y.index_set(), rule=lambda _, i, j: b.s[i] >= chosen(i, j)
            )
        return b.s

    def size(self, n: Any) -> Size:
        """N variables; N rows for k = 1, C rows for more."""
        return Size(variables=n.N, rows=n.N if n.k == 1 else n.choices)
