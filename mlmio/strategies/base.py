"""The contract of a strategy: a way to solve a composition on data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import SolverError
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
    solver : Solver or None
        What solved the model; None where no solver was given one.
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
    solver: Solver | None = None


@dataclass(frozen=True)
class Incumbent:
    """A point (θ, z) that holds, and what it is worth."""

    metric: Metric
    outliers: NDArray[np.bool_]
    objective: float


class Strategy:
    """Base of the strategies.

    Attributes
    ----------
    name : str
        Name by which the strategy is asked for.
    needs_solver : bool
        Whether it hands models to a solver.
    """

    name: ClassVar[str]
    needs_solver: ClassVar[bool] = True

    def run(
        self, composition: Composition, data: Dataset, solver: Solver | None, options: Options
    ) -> Outcome:
        """Solve `composition` on `data`.

        Raises
        ------
        SolverError
            If it cannot take the composition; the message names the block.
        """
        raise NotImplementedError(f"{type(self).__name__} runs nothing")

    def following(self, options: Options) -> Options:
        """Return the options for a run that only follows the start it is given."""
        return options


@contextmanager
def relaxed(model: Any) -> Iterator[None]:
    """Let a model be its linear relaxation meanwhile: integers any number, sets without effect."""
    from pyomo.core import SOSConstraint, TransformationFactory

    relax = TransformationFactory("core.relax_integer_vars")
    sets = list(model.component_data_objects(SOSConstraint, active=True))
    token = relax.apply_to(model)
    for members in sets:
        members.deactivate()
    try:
        yield
    finally:
        relax.apply_to(model, reverse=token)
        for members in sets:
            members.activate()


def refuse_solver_options(strategy: str, options: Options) -> None:
    """Refuse options under a solver's own names, where there is no solver.

    Raises
    ------
    SolverError
        Naming the first.
    """
    if options.options:
        raise SolverError(
            f"strategy {strategy!r} hands no model to a solver, so that the option "
            f"{next(iter(options.options))!r} has no meaning: leave it out"
        )


def given_metric(options: Options, data: Dataset) -> Metric | None:
    """Return the metric to start from in the scaled coordinates of the data, if one is given."""
    return None if options.start is None else options.start.in_scaling_of(data)


def register_strategy(cls: type[Any]) -> type[Any]:
    """Class decorator that makes a strategy known by its ``name``."""
    return strategies.register(cls)
