"""The base of the blocks of slot ``encoding``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Block

if TYPE_CHECKING:
    from mlmio.context import Choice, Context
    from mlmio.evaluation import Evaluation


@dataclass(frozen=True)
class Encoding(Block):
    """Writes s_i, the distance to the farthest chosen point, for the choices of ``neighbors``.

    A subclass gives :meth:`encode`, whose rows are written when the neighbours state their
    choice, and overrides :meth:`complete` if it has other variables than ``s``.
    """

    slot: ClassVar[str] = "encoding"

    @property
    def provides(self) -> frozenset[str]:
        """The encoding."""
        return frozenset({"encoding"})

    @property
    def needs(self) -> frozenset[str]:
        """A bounded distance."""
        return frozenset({"distance", "bounds"})

    def build(self, context: Context, b: Any) -> None:
        """Publish :meth:`encode`."""
        context.encode = lambda choice: self.encode(context, b, choice)

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """Write the rows of the choice on `b`.

        Returns
        -------
        mapping of int to Pyomo expression
            s_i.
        """
        raise NotImplementedError(f"{type(self).__name__} encodes nothing")

    def check(self, evaluation: Evaluation) -> None:
        """State nothing of its own: every encoding leaves the choice as free as the others."""

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set s to the distance of the farthest chosen point."""
        for i, s in b.s.items():
            s.set_value(float(evaluation.reach[i]))
