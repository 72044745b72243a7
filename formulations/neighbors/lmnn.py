"""Block ``lmnn``: large-margin nearest neighbours, with target neighbours given beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import (
    Block,
    Size,
    check_count,
    check_number,
    check_tuples,
    register_block,
)
from mlmio.errors import DataError
from mlmio.series import MAX_ORDER, tensor_name

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class LMNN(Block):
    r"""Large-margin nearest neighbours: the method that the others are compared with.

    .. math::

        \min\ (1-\mu) \sum_{(i,j) \in \mathcal T} d_{ij} + \mu \sum_{(i,j,k)} s_{ijk}
        \quad \text{s.t.} \quad d_{ij} + 1 \le d_{ik} + s_{ijk}, \quad s \ge 0

    over the target pairs :math:`\mathcal T` and every k of another class than i; stated here as
    the maximum of the negative. The cone is left to the slot ``cone``.

    Parameters
    ----------
    k : int
        Number of target neighbours of each point, the nearest co-class points by the Euclidean
        distance of the scaled features.
    mu : float
        Weight μ of the slacks, in [0, 1].
    targets : tuple of (i, j)
        Target pairs by the identifiers of the points, instead of the Euclidean ones.

    Notes
    -----
    Source: Kumaran et al. 2018, model:lmnn.

    Needs B, an unbounded distance, and a cone, without which it has no optimum. Adds one
    variable and one row for each triplet; LP.

    Relations: none that hold for every data set.
    """

    k: int = 3
    mu: float = 0.5
    targets: tuple[tuple[Any, Any], ...] = ()

    name: ClassVar[str] = "lmnn"
    slot: ClassVar[str] = "neighbors"
    source: ClassVar[str] = "model:lmnn"

    def __post_init__(self) -> None:
        check_count(self, "k", minimum=1)
        check_number(self, "mu", minimum=0.0, maximum=1.0)
        check_tuples(self, "targets", 2)

    @property
    def needs(self) -> frozenset[str]:
        """B and an unbounded distance."""
        return frozenset({"B", "distance", "unbounded"})

    @property
    def requires(self) -> frozenset[str]:
        """A cone."""
        return frozenset({"cone"})

    @property
    def refuses(self) -> frozenset[str]:
        """Every tensor but B: no cone holds it, and the loss would fall for ever."""
        return frozenset(tensor_name(order) for order in range(1, MAX_ORDER + 1)) - {"B"}

    def prepare(self, data: Dataset) -> Dataset:
        """Check that every class has k + 1 points, where the targets are Euclidean.

        Raises
        ------
        DataError
            Naming the class that has fewer.
        """
        if not self.targets:
            data.require_class_size(self.k + 1, str(self))
        return data

    def build(self, context: Context, b: Any) -> Any:
        """Add the slacks and their rows; contributes minus the loss."""
        import pyomo.environ as pyo

        targets = self._targets(context.data)
        triplets = [(i, j, k) for i, j in targets for k in context.data.non_class(i).tolist()]
        b.slack = pyo.Var(triplets, bounds=(0.0, None))

        def apart(_: Any, i: int, j: int, k: int) -> Any:
            return context.distance(i, k) + b.slack[i, j, k] - context.distance(i, j) >= 1

        b.apart = pyo.Constraint(triplets, rule=apart)
        pull = sum(context.distance(i, j) for i, j in targets)
        return -(1 - self.mu) * pull - self.mu * sum(b.slack.values())

    def _targets(self, data: Dataset) -> list[tuple[int, int]]:
        """Target pairs as rows of the data.

        Raises
        ------
        DataError
            If a given pair is not of two points of one class.
        """
        if not self.targets:
            return list(_euclidean_targets(data, self.k))
        pairs = []
        for named in dict.fromkeys(self.targets):
            i, j = (int(point) for point in data.positions(named))
            if j not in data.co_class(i):
                raise DataError(f"{named} in the targets of 'lmnn' are not two points of one class")
            pairs.append((i, j))
        return pairs

    def check(self, evaluation: Evaluation) -> None:
        """Recompute the loss."""
        data = evaluation.data
        targets = np.array(self._targets(data), dtype=np.intp)
        pull = push = 0.0
        for rows, distances in evaluation.blocks(np.unique(targets[:, 0])):
            for i, d in zip(rows.tolist(), distances, strict=True):
                others = d[data.non_class(i)]
                for j in targets[targets[:, 0] == i, 1]:
                    pull += d[j]
                    push += np.maximum(0.0, d[j] + 1 - others).sum()
        evaluation.value = float(-((1 - self.mu) * pull + self.mu * push))
        evaluation.objective += evaluation.value

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the slacks to what the triplets lack."""
        d = evaluation.distances(np.arange(evaluation.data.N))
        for (i, j, k), slack in b.slack.items():
            slack.set_value(max(0.0, float(d[i, j] + 1 - d[i, k])))

    def size(self, n: Any) -> Size:
        """One variable and one row for each triplet, k of them for every non-class pair."""
        count = self.k * n.non
        if self.targets and n.data is not None:
            count = sum(len(n.data.non_class(i)) for i, _ in self._targets(n.data))
        return Size(variables=count, rows=count)


def _euclidean_targets(data: Dataset, k: int) -> Iterator[tuple[int, int]]:
    """Each point's k nearest co-class points by the Euclidean distance."""
    for i in range(data.N):
        candidates = data.co_class(i)
        distance: NDArray[np.float64] = ((data.X[candidates] - data.X[i]) ** 2).sum(axis=1)
        for j in candidates[np.argsort(distance, kind="stable")[:k]].tolist():
            yield i, j
