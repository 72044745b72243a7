"""Block ``quantile_cuts``: the margin that the points allow in order, as a mixing set."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Size, register_block
from mlmio.cut import Cut

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class QuantileCuts(Cut):
    r"""With the t hardest points given up, the margin is at most what the next one allows.

    .. math::

        \lambda \le \beta_{(1)} + \sum_{t=1}^{N} (\beta_{(t+1)} - \beta_{(t)})\, w_t, \qquad
        0 \le w_t \le w_{t-1} \le 1, \quad w_t \le z_{(t)}

    where :math:`\beta_{(1)} \le \dots \le \beta_{(N)} \le \beta_{(N+1)} = U` are the bounds of λ if
    a point is kept, see ``disjunction_bounds``, in rising order and none above U. The variable
    :math:`w_t` says that all of the t hardest points are given up.

    Proof. For a solution let :math:`w_t = \min_{s \le t} z_{(s)}`, which satisfies the rows on the
    right. If (t) is the first point that is kept, the sum is :math:`\beta_{(t)} - \beta_{(1)}`, and
    :math:`\lambda \le \beta_{(t)}`; if none is kept, it is :math:`U - \beta_{(1)}`. So every
    solution has its w. The set is the convex hull of the mixing set of the bounds in compact form:
    it implies every mixing inequality

    .. math:: \lambda \le \beta_{(t_1)} + \sum_l (\beta_{(t_{l+1})} - \beta_{(t_l)})\, z_{(t_l)},
              \qquad t_1 < t_2 < \dots, \quad \beta_{(t_{l+1})} = U \text{ for the last } l,

    since w falls and :math:`w_t \le z_{(t)}`.

    Notes
    -----
    Source: mixing inequalities (Günlük and Pochet 2001; Luedtke, Ahmed and Nemhauser 2010).

    Needs ``nearest`` with ``outliers(semantics='excuse')``. Adds N variables w and 2N rows, and
    solves one linear program in θ and λ for each of the C choices; MILP.

    Relations: changes nothing in the optimum; the LP bound can only fall.
    """

    name: ClassVar[str] = "quantile_cuts"
    source: ClassVar[str] = "Günlük and Pochet 2001"

    @property
    def requires(self) -> frozenset[str]:
        """Points that may be given up."""
        return frozenset({"outliers"})

    def cut(self, context: Context, b: Any) -> None:
        """Add w, the rows that order it, and that of λ."""
        import pyomo.environ as pyo

        served, N, z = context.served, context.data.N, self.given_up(context)
        margins = np.minimum(served.point_margins, served.most)
        hardest = np.argsort(margins, kind="stable").tolist()
        levels = np.append(margins[hardest], served.most)
        # Indexed by the points in this order, which is all that completion needs to know.
        b.w = pyo.Var(hardest, bounds=(0.0, 1.0))
        b.own = pyo.Constraint(hardest, rule=lambda _, i: b.w[i] <= z[i])
        b.before = pyo.Constraint(
            range(1, N), rule=lambda _, t: b.w[hardest[t]] <= b.w[hardest[t - 1]]
        )
        gained = sum(float(step) * b.w[i] for step, i in zip(np.diff(levels), hardest, strict=True))
        b.margin = pyo.Constraint(expr=context.value <= float(levels[0]) + gained)

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set w to 1 as long as all points so far are given up."""
        so_far = 1
        for i, w in b.w.items():
            so_far = min(so_far, int(evaluation.outliers[i]))
            w.set_value(so_far)

    def size(self, n: Any) -> Size:
        """N variables and 2N rows."""
        return Size(variables=n.N, rows=2 * n.N)
