"""A built model, and what connects it to the composition and the data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mlmio.blocks import Block
from mlmio.context import Context
from mlmio.data import require_dataset
from mlmio.errors import DataError
from mlmio.evaluation import Evaluation
from mlmio.metric import Metric, require_metric

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset


@dataclass(frozen=True)
class Assembly:
    """A built model and what connects it to the composition and the data.

    Parameters
    ----------
    composition : Composition
        What was asked for.
    blocks : tuple of Block
        The blocks in the order of building.
    context : Context
        What they published.
    """

    composition: Composition
    blocks: tuple[Block, ...]
    context: Context

    @property
    def model(self) -> Any:
        """The Pyomo model."""
        return self.context.model

    @property
    def data(self) -> Dataset:
        """The points that the model is about."""
        return self.context.data

    @property
    def resolved(self) -> Composition:
        """The completed composition, parameters that depended on the data replaced by values."""
        from mlmio.composition import Composition

        return Composition(self._resolved_blocks())

    def _resolved_blocks(self) -> tuple[Block, ...]:
        return tuple(self.context.resolved.get(part, part) for part in self.blocks)

    def complete(self, metric: Metric, outliers: ArrayLike | None = None) -> Evaluation:
        """Set every variable to its best value for a point (θ, z) that came from elsewhere.

        Parameters
        ----------
        metric : Metric
            θ, in the scaled coordinates of the data.
        outliers : (N,) array of bool, optional
            z; none by default.

        Returns
        -------
        Evaluation
            The same point evaluated from the data alone.
        """
        from pyomo.common.log import LoggingIntercept

        parts = self._resolved_blocks()
        evaluation = evaluate(parts, self.data, metric, outliers)
        # Pyomo warns of each value outside its bounds; the evaluation says what is violated.
        with LoggingIntercept(StringIO(), "pyomo.core"):
            for part in parts:
                part.complete(self.model.component(part.label), evaluation)
        return evaluation


def assemble(
    composition: Composition, parts: Sequence[Block], data: Dataset, whole: bool = True
) -> Assembly:
    """Let every block build itself, in the order given, and sum up the objective.

    Where the model is not `whole`, a strategy is to add the rows of the pairs of points.
    """
    import pyomo.environ as pyo

    from mlmio.outline import outline
    from mlmio.served import Served

    model = pyo.ConcreteModel(name=str(composition))
    context = Context(prepare(parts, data), model, whole)
    context.served = Served(lambda: outline(composition, data, relaxed=True))
    objective: Any = 0
    for part in parts:
        b = pyo.Block(concrete=True)
        model.add_component(part.label, b)
        contribution = part.build(context, b)
        if contribution is not None:
            objective = objective + contribution
    model.objective = pyo.Objective(expr=objective, sense=pyo.maximize)
    for part in parts:
        part.finish(context, model.component(part.label))
    return Assembly(composition, tuple(parts), context)


def prepare(parts: Sequence[Block], data: Dataset) -> Dataset:
    """Return the points that the model is about, as the blocks want them.

    Raises
    ------
    DataError
        If `data` is no Dataset, or a block cannot take its points.
    """
    require_dataset(data)
    for part in parts:
        data = part.prepare(data)
    return data


def evaluate(
    parts: Sequence[Block], data: Dataset, metric: Metric, outliers: ArrayLike | None
) -> Evaluation:
    """Let every block check a point; `data` are the points that the model is about."""
    require_metric(metric)
    mask = np.zeros(data.N, dtype=bool) if outliers is None else np.asarray(outliers)
    if mask.shape != (data.N,) or not np.isin(mask, (0, 1)).all():
        raise DataError(
            f"outliers are of shape {mask.shape}: give True or False for each of the {data.N} "
            f"points, as np.isin(data.ids, result.outliers)"
        )
    evaluation = Evaluation(data, metric, mask.astype(bool))
    for part in parts:
        part.check(evaluation)
    return evaluation
