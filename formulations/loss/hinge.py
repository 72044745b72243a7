"""Block ``hinge``: a fixed margin, and a slack for every point that lacks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block, Size, check_number, register_block
from mlmio.context import Margin
from mlmio.errors import CompositionError
from mlmio.outline import Softening

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Array, Evaluation


@register_block
@dataclass(frozen=True)
class Hinge(Block):
    r"""A soft margin: what each point lacks of a fixed margin is paid for.

    .. math:: \max -\frac1N \sum_i \xi_i \quad \text{s.t.} \quad
              s_i + m \le d_{ik} + \xi_i \quad \forall i, k, \qquad \xi \ge 0

    With ``nearest(k)`` this is large-margin nearest-neighbour learning whose target neighbours
    are chosen by the optimization.

    Parameters
    ----------
    margin : float
        The margin m, in units of the distance; above 0.

    Notes
    -----
    Source: not in Kumaran et al. 2018; the soft counterpart of model:minlp.

    Needs a bounded distance with d_min above 0, without which the zero metric can win, and
    neighbours with a margin. Adds N variables; LP.

    Relations: a larger ``margin`` restricts.
    """

    margin: float = 0.01

    name: ClassVar[str] = "hinge"
    slot: ClassVar[str] = "loss"
    source: ClassVar[str] = "soft counterpart of model:minlp"
    parameter_order: ClassVar[Mapping[str, str]] = {"margin": "restricts"}

    def __post_init__(self) -> None:
        check_number(self, "margin", minimum=1e-6)

    @property
    def needs(self) -> frozenset[str]:
        """A bounded distance."""
        return frozenset({"distance", "bounds"})

    @property
    def requires(self) -> frozenset[str]:
        """Neighbours with a margin."""
        return frozenset({"margin"})

    def build(self, context: Context, b: Any) -> Any:
        """Add the slacks; contributes minus their mean.

        Raises
        ------
        CompositionError
            If d_min is 0.
        """
        import pyomo.environ as pyo

        self._check_scale(context)
        b.slack = pyo.Var(range(context.data.N), bounds=(0.0, None))
        context.margin = Margin(self.margin, self.margin)
        context.relief = lambda i, k, big_m: b.slack[i]
        return -1.0 / context.data.N * sum(b.slack.values())

    def outline(self, context: Context) -> None:
        """Publish the margin and the price of lacking it."""
        self._check_scale(context)
        context.margin = Margin(self.margin, self.margin)
        context.loss = Softening(self.margin, 1.0 / context.data.N)

    def _check_scale(self, context: Context) -> None:
        if context.dmin <= 0.0:
            raise CompositionError(
                f"'{self}' with d_min = 0 is won by the zero metric: give bounded a dmin above 0"
            )

    def check(self, evaluation: Evaluation) -> None:
        """Publish the margin; what points lack of it is paid for."""
        evaluation.margin = Margin(self.margin, self.margin)

        def settle(shortfall: Array) -> Array:
            evaluation.slack = shortfall
            evaluation.objective -= float(shortfall.mean())
            return np.zeros_like(shortfall)

        evaluation.settle = settle

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the slacks to what the points lack."""
        for i, slack in b.slack.items():
            slack.set_value(float(evaluation.slack[i]))

    def size(self, n: Any) -> Size:
        """N variables."""
        return Size(variables=n.N)

    def extend(self, n: Any) -> None:
        """The margin is no variable."""
        n.margin = 0
