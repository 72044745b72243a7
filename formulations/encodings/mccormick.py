"""Block ``mccormick``: the products of distance and choice by their McCormick envelope."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Size, register_block
from mlmio.encoding import Encoding

if TYPE_CHECKING:
    from mlmio.context import Choice, Context
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class McCormick(Encoding):
    r"""The product of distance and choice, linearised; exact because the choice is binary.

    .. math::

        w_{ij} \le d_{ij}, \quad w_{ij} \le \bar d_{ij}\, y_{ij}, \quad
        w_{ij} \ge d_{ij} + \bar d_{ij}(y_{ij} - 1), \quad w_{ij} \ge 0,
        \qquad s_i = \sum_{j \in \mathcal C_i} w_{ij} \ (k = 1), \quad
        s_i \ge w_{ij}\ (k > 1)

    The sum is written once for each point, so that the separation rows stay short.

    Notes
    -----
    Source: Kumaran et al. 2018, eq:w_mccormick_1 to eq:w_mccormick_3.

    Needs a bounded distance. Adds C + N variables and 3C + N rows (k = 1) or 4C rows (k > 1); MILP.

    Relations: equivalent to every encoding; its LP bound is never above that of ``bigm``.
    """

    name: ClassVar[str] = "mccormick"
    source: ClassVar[str] = "eq:w_mccormick_1 to eq:w_mccormick_3"
    problem_class: ClassVar[str] = "MILP"
    tightens: ClassVar[tuple[str, ...]] = ("bigm",)

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """Add w with its envelope, and s."""
        import pyomo.environ as pyo

        pairs = choice.y.index_set()
        points = range(len(choice.candidates))
        b.w = pyo.Var(pairs, bounds=lambda _, i, j: (0.0, context.bounds(i, j)[1]))
        b.s = pyo.Var(points, bounds=(0.0, context.dmax))
        b.below_distance = pyo.Constraint(
            pairs, rule=lambda _, i, j: b.w[i, j] - context.distance(i, j) <= 0
        )
        b.below_choice = pyo.Constraint(
            pairs, rule=lambda _, i, j: b.w[i, j] - b.w[i, j].ub * choice.y[i, j] <= 0
        )

        def above(_: Any, i: int, j: int) -> Any:
            upper = b.w[i, j].ub
            return b.w[i, j] - context.distance(i, j) - upper * choice.y[i, j] >= -upper

        b.above = pyo.Constraint(pairs, rule=above)
        if choice.k == 1:
            b.reach = pyo.Constraint(
                points, rule=lambda _, i: b.s[i] == sum(b.w[i, j] for j in choice.candidates[i])
            )
        else:
            b.reach = pyo.Constraint(pairs, rule=lambda _, i, j: b.s[i] - b.w[i, j] >= 0)
        return b.s

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set w to the distance where j serves i, and s to the farthest."""
        for (i, j), w in b.w.items():
            served = j in evaluation.chosen[i]
            w.set_value(evaluation.distance(i, j) if served else 0.0)
        super().complete(b, evaluation)

    def size(self, n: Any) -> Size:
        """C + N variables; 3C + N rows for k = 1, 4C for more."""
        reach = n.N if n.k == 1 else n.choices
        return Size(variables=n.choices + n.N, rows=3 * n.choices + reach)
