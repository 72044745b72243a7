"""The contract of a strategy: a way to solve a composition on data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.registry import strategies
from mlmio.solvers.base import Answer, Options, Solver

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset
    from mlmio.metric import Metric


@dataclass(frozen=True)
class ModelSize:
    """Size of a built model.

    Parameters
    ----------
    rows, columns, binaries : int
        Counts of constraints, of variables that are not fixed, and of those that are binary.
    nonzeros : int or None
        Of the constraint matrix, where the solver has one.
    """

    rows: int
    columns: int
    binaries: int
    nonzeros: int | None


@dataclass(frozen=True)
class Outcome:
    """What a strategy found, before it is verified.

    Parameters
    ----------
    answer : Answer
        Status, objective, bound.
    resolved : Composition
        The composition with the parameters that depended on the data as values.
    data : Dataset
        The points that the model is about.
    size : ModelSize
        Size of the model.
    metric : Metric or None
        θ of the incumbent.
    outliers : (N,) array of bool
        z of the incumbent.
    lp_bound : float or None
        Bound of the LP relaxation.
    build_s, lp_s, solve_s : float
        Seconds of building, of the LP relaxation, and of the solve.
    """

    answer: Answer
    resolved: Composition
    data: Dataset
    size: ModelSize
    metric: Metric | None
    outliers: NDArray[np.bool_]
    lp_bound: float | None
    build_s: float
    lp_s: float
    solve_s: float


class Strategy:
    """Base of the strategies.

    Attributes
    ----------
    name : str
        Name by which the strategy is asked for.
    """

    name: ClassVar[str]

    def run(
        self, composition: Composition, data: Dataset, solver: Solver, options: Options
    ) -> Outcome:
        """Solve `composition` on `data`.

        Raises
        ------
        SolverError
            If it cannot take the composition; the message names the block.
        """
        raise NotImplementedError(f"{type(self).__name__} runs nothing")


def register_strategy(cls: type[Any]) -> type[Any]:
    """Class decorator that makes a strategy known by its ``name``."""
    return strategies.register(cls)
