"""Block ``bigm``: the distance to the chosen point by big-M rows."""

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
class BigM(Encoding):
    r"""The distance to the farthest chosen point, one big-M row for each candidate.

    .. math:: s_i \ge d_{ij} - M_{ij}(1 - y_{ij}), \qquad M_{ij} = \bar d_{ij}, \qquad
              0 \le s_i \le d^{\max}

    Notes
    -----
    Source: the lower half of Kumaran et al. 2018, eq:w_mccormick_3, which is all that a
    maximised margin needs.

    Needs a bounded distance. Adds N variables and C rows; MILP.

    Relations: equivalent to every encoding; its LP bound is never below that of ``mccormick``.
    """

    name: ClassVar[str] = "bigm"
    source: ClassVar[str] = "eq:w_mccormick_3"
    problem_class: ClassVar[str] = "MILP"

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """Add s and one row for each candidate."""
        import pyomo.environ as pyo

        b.s = pyo.Var(range(len(choice.candidates)), bounds=(0.0, context.dmax))

        def above(_: Any, i: int, j: int) -> Any:
            big_m = context.bounds(i, j)[1]
            return b.s[i] - context.distance(i, j) - big_m * choice.y[i, j] >= -big_m

        b.above = pyo.Constraint(choice.y.index_set(), rule=above)
        return b.s

    def size(self, n: Any) -> Size:
        """N variables and C rows."""
        return Size(variables=n.N, rows=n.choices)
