"""From data to a metric that can be used: the solve behind the estimators and ``mlmio fit``."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.assembly import prepare
from mlmio.blocks import block
from mlmio.composition import Composition, compose
from mlmio.errors import MlmioWarning, SolverError
from mlmio.metric import Metric
from mlmio.neighbors import training_index
from mlmio.solving import solve

if TYPE_CHECKING:
    from mlmio.blocks import Block
    from mlmio.data import Dataset
    from mlmio.diagnostics import Diagnosis
    from mlmio.result import Result

#: What stands for a formulation that is made to fit the data.
AUTO = "auto"

# What was tried beside these is in benchmarks/compositions.py and learners.py.
MOST_NEIGHBORS = 5
MARGIN = 0.01
# With more products of features than this a metric of them takes too long to learn.
MOST_PRODUCTS = 200
# With fewer points for each product than this their coefficients follow the accidents of the
# sample: benchmarks/few_points.py.
POINTS_A_PRODUCT = 2

# Squared distances of the scaled points, of that across the data: twice what ``bounded`` asks for.
LEAST_APART = 2e-5


@dataclass(frozen=True, eq=False)
class Learned:
    """A metric with the data that it was learned from.

    Made by :func:`learn`.

    Parameters
    ----------
    data : Dataset
        All points that were given.
    result : Result
        What the solve found.
    metric : Metric
        The metric of the result, or the Euclidean distance of the scaled features where no metric
        was found in time.
    serves : (N,) array of bool
        The points that count as neighbours: those that the optimization did not give up.
    """

    data: Dataset
    result: Result
    metric: Metric
    serves: NDArray[np.bool_]

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """Interior points, boundary points and outliers."""
        from mlmio.diagnostics import diagnose

        return diagnose(self.metric, self.data, self.serves)


def learn(
    data: Dataset,
    formulation: Composition | Block | str = AUTO,
    *,
    linear_map: bool = False,
    solver: str = "highs",
    strategy: str = "auto",
    **options: Any,
) -> Learned:
    """Solve a formulation on data, and leave a metric that can be used.

    Parameters
    ----------
    data : Dataset
    formulation : str, Block or Composition
        ``"auto"`` for :func:`auto_formulation`, on the points that are :func:`learnable`.
    linear_map : bool, default False
        Whether ``"auto"`` must give a metric that is a linear map.
    solver, strategy, **options
        See :func:`mlmio.solve`.

    Returns
    -------
    Learned

    Raises
    ------
    CompositionError, DataError
        If the formulation is not complete, or the data do not allow it.
    SolverError
        If the solver cannot take it, fails, or proves that there is no metric.

    Warns
    -----
    MlmioWarning
        Where no metric was found in time, the solve was interrupted, or what was found does not
        hold in the data.
    """
    if formulation == AUTO:
        solved = data.take(learnable(data))
        composition = auto_formulation(solved, linear_map)
    else:
        solved, composition = data, compose(formulation)
    try:
        result = solve(composition, solved, solver, strategy, **options)
    except SolverError as error:
        if formulation != AUTO or not any(f"'{part}'" in str(error) for part in composition.blocks):
            raise
        # Nobody typed the block that the message may name.
        raise SolverError(f"{error}; formulation 'auto' chose '{composition}' here") from error
    if result.metric is None:
        return Learned(data, result, _stand_in(result, data), np.ones(data.N, dtype=bool))
    _warn(result)
    given_up = solved.ids[~serving(result, solved)]
    return Learned(data, result, result.metric, ~np.isin(data.ids, given_up))


def auto_formulation(data: Dataset, linear_map: bool = False) -> Composition:
    """Return a formulation that fits the data.

    ``quadratic + nearest(k=K) + hinge(margin=0.01)``, where K is 5, or one less than the
    smallest class has points; with the cone ``gershgorin`` where there are fewer than two points
    for each of the D(D + 1)/2 products of features, or the metric must be a linear map. From 20
    features on ``linear``, a weighted Manhattan distance, takes the place of ``quadratic``, unless
    the metric must be a linear map.

    Parameters
    ----------
    data : Dataset
    linear_map : bool, default False
        Whether B must be positive semidefinite.

    Examples
    --------
    >>> import mlmio
    >>> print(auto_formulation(mlmio.load_dataset("iris", per_class=4)))
    quadratic + gershgorin + hinge + nearest(k=3)
    >>> print(auto_formulation(mlmio.load_dataset("iris")))
    quadratic + hinge + nearest(k=5)
    """
    k = int(max(1, min(MOST_NEIGHBORS, data.class_sizes.min() - 1)))
    soft = block("nearest", k=k) + block("hinge", margin=MARGIN)
    products = data.D * (data.D + 1) // 2
    if products > MOST_PRODUCTS and not linear_map:
        return "linear" + soft
    few = products * POINTS_A_PRODUCT > data.N
    return ("quadratic + gershgorin" if few or linear_map else "quadratic") + soft


def learnable(data: Dataset) -> NDArray[np.intp]:
    """Return the rows that a metric can hold apart from the points of other classes.

    The others are nearer to a point of another class than some 0.4 % of the diagonal of the
    data. The region ``bounded`` would refuse them; with the rest B = I over the square of the
    diagonal is in it.

    Parameters
    ----------
    data : Dataset

    Returns
    -------
    (n,) array of int
        All rows where a class would be left with less than two.

    Warns
    -----
    MlmioWarning
        Saying how many points are left out.
    """
    rows = np.flatnonzero(~_too_near(data))
    if len(rows) == data.N or np.bincount(data.y[rows], minlength=data.n_classes).min() < 2:
        return np.arange(data.N)
    warnings.warn(
        f"{data.N - len(rows)} of {data.N} points of {data.name} all but coincide with points of "
        f"other classes: the metric is learned from the others",
        MlmioWarning,
        stacklevel=3,
    )
    return rows


def _too_near(data: Dataset) -> NDArray[np.bool_]:
    euclidean = Metric({2: np.eye(data.D)}, data.D, data.scaling)
    index, own = training_index(euclidean, data)
    nearest = index.class_distances(data.X, own)
    nearest[np.arange(data.N), data.y] = np.inf
    diagonal = float((np.ptp(data.X, axis=0) ** 2).sum())
    return nearest.min(axis=1) < LEAST_APART * diagonal


def serving(result: Result, data: Dataset) -> NDArray[np.bool_]:
    """Tell which points of the data may serve others under a result.

    Parameters
    ----------
    result : Result
        With a metric.
    data : Dataset
        What was solved.

    Returns
    -------
    (N,) array of bool
        False for outliers, unless the loss lets them serve, and for points that the region
        dropped.
    """
    solved = prepare(result.resolved.ordered, data)
    if not len(result.outliers):
        return np.isin(data.ids, solved.ids)
    given_up = np.isin(solved.ids, result.outliers)
    assert result.metric is not None
    evaluation = result.resolved.evaluate(solved, result.metric, given_up)
    return np.isin(data.ids, solved.ids[evaluation.serves])


def _stand_in(result: Result, data: Dataset) -> Metric:
    """Return the Euclidean distance where time was short; raise where time is not the reason."""
    if result.status != "no_incumbent":
        raise SolverError(
            f"'{result.composition}' gave no metric on {data.name}: {result.status}"
            f"{f' ({result.message})' if result.message else ''}; try other terms, or a loss "
            f"that allows outliers"
        )
    why = result.message or result.reason or result.status
    warnings.warn(
        f"no metric was found ({why}): the Euclidean distance of the scaled features stands in "
        f"for it; give more time, or another strategy",
        MlmioWarning,
        stacklevel=3,
    )
    names = data.feature_names
    return Metric({2: np.eye(data.D) / data.D}, data.D, data.scaling, names)


def _warn(result: Result) -> None:
    """Say what a user should know of a metric that is there all the same."""
    if result.status == "unverified":
        text = f"the metric does not do what the solver claims: {result.message}"
        warnings.warn(text, MlmioWarning, stacklevel=3)
    if result.reason == "interrupted":
        text = "the solve was interrupted: the best metric until then is kept"
        warnings.warn(text, MlmioWarning, stacklevel=3)
