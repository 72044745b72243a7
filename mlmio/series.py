"""The power series of the distance: features of a pair, tensors, and the terms of one order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, prod
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from numpy.typing import NDArray

from mlmio.blocks import Block, Size
from mlmio.errors import CompositionError, DataError

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation

Array = NDArray[np.float64]

# Memory that one coefficient of a pair takes in the model and in the solver, measured.
BYTES_A_COEFFICIENT = 250

# Above so many parameters a term's memory is checked whatever the strategy is.
MANY_PARAMETERS = 1000

# Highest order of a term: powers of differences below one vanish long before.
MAX_ORDER = 20

# Solvers drop coefficients below 1e-9 and refuse those above 1e15.
LEAST_COEFFICIENT, MOST_COEFFICIENT = 1e-7, 1e12

# Rows of features made at once: bounds the memory of a block of pairs to about 32 MB.
BLOCK_BYTES = 32 * 2**20


@lru_cache(maxsize=64)
def multisets(D: int, order: int) -> NDArray[np.intp]:
    """Multisets {p ≤ q ≤ …} of `order` coordinates out of `D`, one a row.

    >>> multisets(2, 2).tolist()
    [[0, 0], [0, 1], [1, 1]]
    """
    rows = list(combinations_with_replacement(range(D), order))
    return np.array(rows, dtype=np.intp).reshape(len(rows), order)


def parameter_count(D: Any, order: int) -> Any:
    """Number of parameters of a fully symmetric tensor: C(D+n−1, n); D may be a symbol."""
    if isinstance(D, int):
        return comb(D + order - 1, order)
    return prod(D + k for k in range(order)) / factorial(order)


@lru_cache(maxsize=64)
def multiplicities(D: int, order: int) -> Array:
    """How often each multiset's entry occurs in the full tensor."""
    counts = [
        factorial(order) // prod(factorial(int(c)) for c in np.bincount(row))
        for row in multisets(D, order)
    ]
    return np.array(counts, dtype=float)


def features(delta: Array, order: int) -> Array:
    """Coefficients φ of the parameters of one order, so that its term is φ·θ.

    Parameters
    ----------
    delta : (M, D) array
        Differences x_i − x_j; signed for order 2, taken absolute for every other order.
    order : int
        Order of the term.

    Returns
    -------
    (M, P) array
        Multiplicity times the product of the coordinates of each multiset
        (Kumaran et al. 2018, eq:metric-definition).
    """
    u = delta if order == 2 else np.abs(delta)
    sets = multisets(delta.shape[1], order)
    product = u[:, sets[:, 0]]
    for position in range(1, order):
        product = product * u[:, sets[:, position]]
    return product * multiplicities(delta.shape[1], order)


def pair_features(
    X: Array, pairs: NDArray[np.intp], orders: Sequence[int]
) -> Iterator[tuple[slice, Array]]:
    """Features of many pairs, block by block, so that memory does not grow with their number.

    Yields
    ------
    (slice, (m, P) array)
        Which pairs, and their features for all `orders` side by side.
    """
    width = sum(parameter_count(X.shape[1], order) for order in orders)
    step = max(1, BLOCK_BYTES // (8 * max(width, X.shape[1])))
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        delta = X[part[:, 0]] - X[part[:, 1]]
        yield slice(start, start + len(part)), np.hstack([features(delta, n) for n in orders])


def tensor_from_entries(entries: Array, D: int, order: int) -> Array:
    """Full symmetric tensor of shape (D,)·order from one entry a multiset.

    >>> tensor_from_entries(np.array([1.0, 2.0, 3.0]), 2, 2).tolist()
    [[1.0, 2.0], [2.0, 3.0]]
    """
    # Every position of the tensor, sorted, is the position of its multiset.
    weights = D ** np.arange(order)[::-1]
    positions = np.sort(np.indices((D,) * order).reshape(order, -1), axis=0)
    codes = multisets(D, order) @ weights
    return entries[np.searchsorted(codes, weights @ positions)].reshape((D,) * order)


def entries_of_tensor(tensor: Array) -> Array:
    """One entry a multiset of a fully symmetric tensor, the inverse of the above."""
    sets = multisets(tensor.shape[0], tensor.ndim)
    return tensor[tuple(sets.T)]


@dataclass(frozen=True)
class SeriesTerm(Block):
    """Base of the blocks of slot ``terms``: one order of the power series.

    A subclass gives :attr:`order`; everything else follows from it.
    """

    @property
    def order(self) -> int:
        """Order n of the term."""
        raise NotImplementedError(f"{type(self).__name__} states no order")

    @property
    def provides(self) -> frozenset[str]:
        """The tensor of this order: ``a``, ``B``, ``C`` or ``tensor n``."""
        return frozenset({tensor_name(self.order)})

    def _check_memory(self, data: Dataset) -> None:
        """Check that the coefficients of all pairs fit memory, before anything is built."""
        parameters, pairs = parameter_count(data.D, self.order), data.N * (data.N - 1) // 2
        needed = parameters * pairs * BYTES_A_COEFFICIENT
        free = psutil.virtual_memory().available
        if needed > free:
            raise DataError(
                f"'{self}' has {parameters:,} parameters for {data.D} features, and the "
                f"{pairs:,} pairs of points make {parameters * pairs:,} coefficients, about "
                f"{needed / 2**30:,.0f} GiB where {free / 2**30:,.0f} are free: draw fewer points, "
                f"use fewer features, or a term of lower order"
            )

    def _check_magnitude(self, data: Dataset) -> None:
        """Check that solvers can tell the coefficients from zero and from infinity."""
        spread = np.ptp(data.X, axis=0)
        p = int(np.argmax(spread))
        # Higher powers of differences below one are small, and wanted all the same.
        largest = float(spread[p]) ** min(self.order, 2)
        if not LEAST_COEFFICIENT <= largest <= MOST_COEFFICIENT:
            raise DataError(
                f"feature {data.feature_names[p]!r} has differences of up to {spread[p]:.3g}, "
                f"which makes coefficients of {largest:.3g} in '{self}', beyond what solvers "
                f"resolve: scale the features, as scale='minmax' does"
            )

    def build(self, context: Context, b: Any) -> None:
        """Add the parameters, free, those of a constant feature held at zero.

        Raises
        ------
        DataError
            If the coefficients would not fit memory, naming their number, or are too large or
            too small for a solver, naming the feature.
        """
        import pyomo.environ as pyo

        # A strategy holds few rows, but with so many parameters even those are too much.
        if context.whole or parameter_count(context.data.D, self.order) > MANY_PARAMETERS:
            self._check_memory(context.data)
        self._check_magnitude(context.data)
        sets = multisets(context.data.D, self.order)
        b.theta = pyo.Var(range(len(sets)), initialize=0.0)
        for p in np.flatnonzero(self._idle(context.data)).tolist():
            # Bounds, not a fixed value, which completion would overwrite.
            b.theta[p].setlb(0.0)
            b.theta[p].setub(0.0)
        context.publish_term(self.order, b.theta)

    def _idle(self, data: Dataset) -> NDArray[np.bool_]:
        """Parameters of a constant feature: no distance between the points depends on them."""
        constant: NDArray[np.bool_] = np.ptp(data.X, axis=0) == 0
        return np.asarray(constant[multisets(data.D, self.order)].any(axis=1))

    def check(self, evaluation: Evaluation) -> None:
        """Hold the parameters of a constant feature at zero: nothing is known of them."""
        idle = np.abs(evaluation.metric.entries(self.order)[self._idle(evaluation.data)])
        evaluation.violate(
            self.name, "a parameter of a constant feature is not zero", idle.max(initial=0.0)
        )

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the parameters to the metric's own entries."""
        for p, entry in enumerate(evaluation.metric.entries(self.order)):
            b.theta[p].set_value(float(entry))

    def size(self, n: Any) -> Size:
        """C(D+n−1, n) variables, no rows."""
        return Size(variables=parameter_count(n.D, self.order))


def tensor_name(order: int) -> str:
    """Name of the tensor of one order, as blocks ask for it: a, B, C, ``tensor 4`` and so on."""
    return {1: "a", 2: "B", 3: "C"}.get(order, f"tensor {order}")


def tensor_order(name: str) -> int:
    """Order of the tensor of a name, the inverse of :func:`tensor_name`.

    Raises
    ------
    CompositionError
        If it is no such name.
    """
    order = {"a": 1, "B": 2, "C": 3}.get(name)
    number = name.removeprefix("tensor ")
    if order is None and name.startswith("tensor ") and number.isdecimal() and int(number) > 3:
        order = int(number)
    if order is None:
        raise CompositionError(
            f"there is no tensor {name!r}: the names are 'a', 'B', 'C', 'tensor 4' and so on"
        )
    return order
