"""Block ``indicator``: a row that counts where its choice is made, without any big-M."""

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
class Indicator(Encoding):
    r"""The distance to the farthest chosen point by rows that hold only where y is 1.

    .. math:: y_{ij} = 1 \Rightarrow s_i \ge d_{ij}: \qquad
              s_i \ge d_{ij} - w_{ij}, \quad 0 \le w_{ij} \le \bar d_{ij}, \quad
              \text{SOS1}\{w_{ij}, y_{ij}\}, \qquad 0 \le s_i \le d^{\max}

    Of a set SOS1 at most one variable is not zero. Where the distance is bounded, a solver may
    turn the sets into big-M rows itself, and otherwise branches on them.

    Notes
    -----
    Source: Beale and Tomlin 1970 (special ordered sets), in place of eq:w_mccormick_3.

    Needs a bounded distance, and a solver that takes SOS1. Adds C + N variables, C rows and C
    sets; MILP.

    Relations: equivalent to every encoding; its LP bound, without the sets, is never below that
    of ``bigm``.
    """

    name: ClassVar[str] = "indicator"
    source: ClassVar[str] = "eq:w_mccormick_3"
    problem_class: ClassVar[str] = "MILP"
    solver_needs: ClassVar[frozenset[str]] = frozenset({"sos1"})

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """Add s, the relief w of each row, and the sets that allow it."""
        import pyomo.environ as pyo

        pairs = choice.y.index_set()
        b.s = pyo.Var(range(len(choice.candidates)), bounds=(0.0, context.dmax))
        b.w = pyo.Var(pairs, bounds=lambda _, i, j: (0.0, context.bounds(i, j)[1]))
        b.above = pyo.Constraint(
            pairs, rule=lambda _, i, j: b.s[i] + b.w[i, j] - context.distance(i, j) >= 0
        )
        b.relieve = pyo.SOSConstraint(
            pairs, rule=lambda _, i, j: [b.w[i, j], choice.y[i, j]], sos=1
        )
        return b.s

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set s, and w to what the distances of those not chosen are above it."""
        super().complete(b, evaluation)
        for (i, j), w in b.w.items():
            short = evaluation.distance(i, j) - float(evaluation.reach[i])
            w.set_value(0.0 if j in evaluation.chosen[i] else max(0.0, short))

    def size(self, n: Any) -> Size:
        """C + N variables; C rows."""
        return Size(variables=n.choices + n.N, rows=n.choices)
