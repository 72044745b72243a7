"""How large differences of distances can be in the region: one LP each, rows of pairs on demand."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import DataError
from mlmio.separation import RegionProgram

if TYPE_CHECKING:
    from mlmio.context import Context

Array = NDArray[np.float64]
Pair = tuple[int, int]

#: Share of d_max by which what an LP says is enlarged, for the sake of its tolerances.
SAFETY = 1e-7


class Extents:
    """Greatest and least distances, and greatest differences of two, over the region F.

    F has the bounds of all distances and every row that restricts the parameters alone, with its
    integers relaxed. The LPs are warm-started one from the other. All numbers are safe: greatest
    values are not below the true ones, and least values not above. Where an LP cannot be solved
    in time, they are what the bounds of single distances say.

    Parameters
    ----------
    context : Context
        With a region published.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.safety = SAFETY * context.dmax
        self._program = program = RegionProgram(context, enough=None)
        # The program's t is what pairs of different classes must reach.
        program.highs.changeColBounds(program.t, context.dmin, context.dmin)
        program.highs.changeColCost(program.t, 0.0)
        self._costed = np.arange(program.P, dtype=np.int32)
        self._greatest = cache(self._find_greatest)
        self._least = cache(self._find_least)

    def greatest(self, pair: Pair) -> float:
        """Greatest value of the distance of two points."""
        return self._greatest((min(pair), max(pair)))

    def least(self, pair: Pair) -> float:
        """Least value of the distance of two points."""
        return self._least((min(pair), max(pair)))

    def difference(self, pair: Pair, other: Pair) -> float:
        """Greatest value of the distance of a pair less that of another.

        Parameters
        ----------
        pair, other : (int, int)
            Points.
        """
        most = self.context.bounds(*pair)[1] - self.context.bounds(*other)[0]
        return min(most, self._largest(self._features(pair) - self._features(other), pair, other))

    def _find_greatest(self, pair: Pair) -> float:
        return min(self.context.bounds(*pair)[1], self._largest(self._features(pair), pair, pair))

    def _find_least(self, pair: Pair) -> float:
        return max(self.context.bounds(*pair)[0], -self._largest(-self._features(pair), pair, pair))

    def _features(self, pair: Pair) -> Array:
        ((_, phi),) = self.context.features(np.array([pair]))
        return np.asarray(phi[0], dtype=float)

    def _largest(self, cost: Array, above: Pair, below: Pair) -> float:
        """The largest value of cost · θ; infinite where no LP says it."""
        program = self._program
        # With these two rows the objective is bounded, whatever else is still missing.
        program.require([(min(above), max(above))], 1.0)
        program.require([(min(below), max(below))], -1.0)
        program.highs.changeColsCost(program.P, self._costed, cost)
        try:
            while True:
                theta, _ = program.solve()
                if not program.add_violated(theta, self.context.dmin):
                    return float(cost @ theta) + self.safety
        except DataError:
            return np.inf
