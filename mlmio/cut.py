"""The base of the blocks of slot ``cuts``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Block

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation


@dataclass(frozen=True)
class Cut(Block):
    """Rows that every solution of the other blocks satisfies, and fractional points may not.

    A subclass gives :meth:`cut`. It states nothing that the others do not imply, so that strategies
    that hold the rows of pairs themselves leave it out. The rows are found while the model is
    built, for which there is no time limit.
    """

    slot: ClassVar[str] = "cuts"
    problem_class: ClassVar[str] = "MILP"

    @property
    def needs(self) -> frozenset[str]:
        """A choice of points that serve."""
        return frozenset({"choice"})

    def build(self, context: Context, b: Any) -> None:
        """Add the rows.

        Raises
        ------
        CompositionError
            If they are not valid beside the loss.
        """
        context.served.require(self)
        self.cut(context, b)

    def cut(self, context: Context, b: Any) -> None:
        """Write the rows on `b`."""
        raise NotImplementedError(f"{type(self).__name__} cuts nothing")

    @staticmethod
    def given_up(context: Context) -> Mapping[int, Any]:
        """Return z_i by point; of no points without a loss that gives them up."""
        return {} if context.outliers is None else context.outliers

    def check(self, evaluation: Evaluation) -> None:
        """State nothing of its own: whatever it says follows from the other blocks."""


def served_row(context: Context, worth: Any, bounds: Any, i: int) -> Any:
    r"""Return the row of point i: Σ_j (bound_ij / k) y_ij + bound_i (1 − kept_i) − worth ≥ 0.

    Parameters
    ----------
    context : Context
    worth : Pyomo expression
        What is bounded.
    bounds : (N, N + 1) array
        Of the worth if j serves i and, in the last column, if i is given up.
    i : int
        The point.
    """
    choice = context.choice
    served = sum(float(bounds[i, j]) / choice.k * choice.y[i, j] for j in choice.candidates[i])
    return served + float(bounds[i, -1]) * (1 - context.kept(i)) - worth >= 0
