"""Block ``target_neighbors``: given neighbours that are nearer than every non-class point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import check_number, register_block
from mlmio.errors import DataError
from mlmio.side import Side, add_comparisons, check_comparisons

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class TargetNeighbors(Side):
    r"""Given neighbours j of a point i are nearer to it than every point of another class.

    .. math:: d_{ij} + m \le d_{ik} \qquad \text{for the given } (i, j)
              \text{ and all } k \in \mathcal N_i

    Parameters
    ----------
    pairs : tuple of (i, j)
        Points and their neighbours by identifier; empty for those of the data set's side
        information.
    margin : float
        By how much the others are farther, m, in units of the distance.

    Notes
    -----
    Source: Kumaran et al. 2018, section "Extensions"; the rows of model:lmnn without their
    slack.

    Needs a distance. Adds one row for each pair (i, j) and each point k of another class than i;
    LP.

    Relations: restricts the composition without it; a larger ``margin`` restricts.
    """

    pairs: tuple[tuple[Any, Any], ...] = ()
    margin: float = 0.0

    name: ClassVar[str] = "target_neighbors"
    source: ClassVar[str] = "section Extensions, model:lmnn"
    parameter_order: ClassVar[Mapping[str, str]] = {"margin": "restricts", "pairs": "restricts"}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_number(self, "margin", minimum=0.0)

    def prepare(self, data: Dataset) -> Dataset:
        """Make the pairs side information, and check that each is of one class.

        Raises
        ------
        DataError
            Naming a pair of points of different classes.
        """
        data = super().prepare(data)
        pairs = data.side_rows(self.name, 2)
        across = pairs[data.apart(*pairs.T)]
        if len(across):
            i, j = data.ids[across[0]]
            raise DataError(
                f"{j} cannot be a target neighbour of {i}, since their classes differ: drop that "
                f"pair of '{self.name}'"
            )
        return data

    def build(self, context: Context, b: Any) -> None:
        """Add a row for each pair and each point of another class."""
        add_comparisons(context, b, self._triples(context.data), self.margin)

    def check(self, evaluation: Evaluation) -> None:
        """Hold every target neighbour to be nearer than the points of other classes."""
        check_comparisons(evaluation, self.name, self._triples(evaluation.data), self.margin)

    def _triples(self, data: Dataset) -> NDArray[np.intp]:
        """(i, j, k) of the rows."""
        pairs = data.side_rows(self.name, 2)
        pair, others = np.nonzero(data.apart_rows(pairs[:, 0]))
        return np.column_stack([pairs[pair], others])

    def count(self, data: Dataset) -> int:
        """One row for each pair and each point of another class."""
        return len(self._triples(data))
