"""The compiled alternation, which polishes what the strategy ``alternating`` finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.outline import Serving, Softening

if TYPE_CHECKING:
    from mlmio.outline import Outline

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

# Features of all pairs that the compiled alternation may take.
POLISHED_BYTES = 2**28
POLISHING_ROUNDS = 30


@dataclass
class Best:
    """The best solution so far.

    Parameters
    ----------
    objective : float
        Its objective.
    theta : (P,) array or None
        Parameters.
    outliers : (N,) array of bool
        Who is given up.
    """

    objective: float
    theta: Array | None
    outliers: Mask


def fits(sketch: Outline) -> bool:
    """Whether the compiled alternation takes it: no soft margin, and features that fit memory."""
    context = sketch.context
    margin = isinstance(context.neighbors, Serving) and not isinstance(context.loss, Softening)
    return margin and 8 * sketch.data.N**2 * sketch.region.P <= POLISHED_BYTES


class Polish:
    """The compiled alternation, for the margin alone: who is given up is settled, then fixed.

    Parameters
    ----------
    sketch : Outline
        What is solved.
    """

    def __init__(self, sketch: Outline) -> None:
        from mlmio.kernels.programs import new_work
        from mlmio.parametric import parametric, root_of

        self.problem = parametric(sketch)
        self.work = new_work(self.problem.instance)
        self.counts = np.zeros(2, dtype=np.int64)
        _, self.root = root_of(self.problem, self.work, self.counts)

    def improve(self, theta: Array, best: Best) -> None:
        """Alternate from θ, and replace the best by what is better."""
        from mlmio.kernels.alternate import alternate

        found = self.problem.nothing_found()
        self.problem.distances(theta, self.work)
        alternate(self.problem.instance, self.root, self.work, found, POLISHING_ROUNDS, self.counts)
        if found.value[0] > best.objective:
            best.objective = float(found.value[0])
            best.theta = self.problem.theta(found.x)
            best.outliers = self.problem.given_up(found)
