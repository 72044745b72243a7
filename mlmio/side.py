"""The base of the blocks of slot ``side``, and the rows that compare two distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import Block, Size, check_tuples

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Side(Block):
    """Holds what a user knows of some tuples of points.

    The tuples are a parameter of the block or, where that is empty, side information of the data
    set, by the block's name. A subclass says which rows it states with :meth:`count`.

    Attributes
    ----------
    given : str
        Name of the parameter that has the tuples.
    width : int
        Number of points in a tuple.
    """

    slot: ClassVar[str] = "side"
    given: ClassVar[str] = "pairs"
    width: ClassVar[int] = 2

    def __post_init__(self) -> None:
        hint = f"; a file is given to the data set, as side={{{self.name!r}: 'file.csv'}}"
        check_tuples(self, self.given, self.width, hint)

    @property
    def needs(self) -> frozenset[str]:
        """A distance."""
        return frozenset({"distance"})

    def prepare(self, data: Dataset) -> Dataset:
        """Make the block's own tuples side information of the data.

        Raises
        ------
        DataError
            If there are none here or there, or one names a point that is not in the data.
        """
        tuples = getattr(self, self.given)
        if tuples:
            data = data.with_side(self.name, tuples)
        data.side_rows(self.name, self.width)
        return data

    def count(self, data: Dataset) -> int:
        """Return the number of rows that the block states."""
        raise NotImplementedError(f"{type(self).__name__} states no rows")

    def size(self, n: Any) -> Size:
        """As many rows as the side information makes."""
        return Size(rows=_symbol(f"T_{self.name}") if n.data is None else self.count(n.data))


def _symbol(name: str) -> Any:
    import pyomo.environ as pyo

    model = pyo.ConcreteModel()
    model.add_component(name, pyo.Var())
    return model.component(name)


def add_comparisons(context: Context, b: Any, triples: Rows, margin: float) -> None:
    """Add the row d_ij + margin ≤ d_ik for every (i, j, k)."""
    import pyomo.environ as pyo

    def nearer(_: Any, i: int, j: int, k: int) -> Any:
        return context.distance(i, k) - context.distance(i, j) >= margin

    b.nearer = pyo.Constraint(list(map(tuple, triples.tolist())), rule=nearer)


def check_comparisons(evaluation: Evaluation, block: str, triples: Rows, margin: float) -> None:
    """Report every (i, j, k) for which d_ij + margin ≤ d_ik does not hold."""
    near, far = (evaluation.pair_distances(triples[:, [0, column]]) for column in (1, 2))
    lacking = near + margin - far
    for row in np.flatnonzero(lacking > 0).tolist():
        i, j, k = (evaluation.name(point) for point in triples[row].tolist())
        evaluation.violate(block, f"point {j} is not nearer to {i} than {k}", lacking[row])
