"""Metrics to start an alternation from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.metric import Metric

if TYPE_CHECKING:
    from mlmio.data import Dataset
    from mlmio.outline import Outline

Array = NDArray[np.float64]

# From how many metrics an alternation starts, if nothing else is said.
STARTS = 8
# NCA costs a multiple of N² for every step: it learns from at most so many points.
NCA_POINTS = 1000
NCA_STEPS = 30


def starts(
    outline: Outline, number: int, seed: int, given: Metric | None = None
) -> Iterator[Array]:
    """Yield parameters θ to start from, `number` of them.

    The given metric if there is one, the Euclidean distance, the inverse within-class covariance,
    neighbourhood components analysis, and then random ones. Without a quadratic term its place is
    taken by the linear one, or by whatever order there is, with the same weights of the features.

    Parameters
    ----------
    outline : Outline
        What is solved.
    number : int
        How many.
    seed : int
        Of the random ones.
    given : Metric, optional
        In the scaled coordinates of the data.
    """
    if given is not None:
        yield outline.theta(given)
    rng = np.random.default_rng(seed)
    makers = (_euclidean, _within_class, _nca)
    for n in range(number):
        if n < len(makers):
            yield _theta(outline, makers[n](outline.data, seed))
        elif n % 2:
            yield _theta(outline, np.diag(rng.uniform(size=outline.data.D) ** 2))
        else:
            root = rng.normal(size=(outline.data.D, outline.data.D))
            yield _theta(outline, root @ root.T)


def _theta(outline: Outline, B: Array) -> Array:
    """Parameters with the matrix B, or its diagonal in a term of another order."""
    D = len(B)
    orders = outline.context.orders
    order = 2 if 2 in orders else orders[0]
    tensor = B
    if order != 2:
        tensor = np.zeros((D,) * order)
        tensor[(np.arange(D),) * order] = np.sqrt(np.abs(np.diag(B)))
    return outline.theta(Metric({order: tensor}, D))


def _euclidean(data: Dataset, seed: int) -> Array:
    return np.eye(data.D)


def _within_class(data: Dataset, seed: int) -> Array:
    """Inverse of the covariance within the classes."""
    means = np.array([data.X[data.y == c].mean(axis=0) for c in range(data.n_classes)])
    centred = data.X - means[data.y]
    covariance = centred.T @ centred / data.N
    ridge = 1e-3 * max(np.trace(covariance) / data.D, 1e-12)
    return np.linalg.inv(covariance + ridge * np.eye(data.D))


def _nca(data: Dataset, seed: int) -> Array:
    """Matrix of neighbourhood components analysis, of a sample where there are many points."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    rows = np.arange(data.N)
    if data.N > NCA_POINTS:
        rows = np.random.default_rng(seed).choice(data.N, NCA_POINTS, replace=False)
    if len(np.unique(data.y[rows])) < 2:
        return np.eye(data.D)
    nca = NeighborhoodComponentsAnalysis(max_iter=NCA_STEPS, random_state=seed)
    with warnings.catch_warnings():
        # That it has not converged is no matter for a start.
        warnings.simplefilter("ignore", ConvergenceWarning)
        nca.fit(data.X[rows], data.y[rows])
    return np.asarray(nca.components_.T @ nca.components_)
