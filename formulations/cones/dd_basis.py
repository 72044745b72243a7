"""Block ``dd_basis``: a matrix B that is diagonally dominant in a basis, which changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import Size, check_count, register_block
from mlmio.cone import Cone, add_dominance, complete_dominance, lack_of_dominance
from mlmio.errors import CompositionError, DataError
from mlmio.series import multisets

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Array, Evaluation
    from mlmio.metric import Metric

# Directions of B below this share of its largest eigenvalue count as its null space, and get this
# weight in the next basis: with none, nothing could be gained along them.
NULL = 1e-2
# A basis whose entries, the largest of them near one, differ by no more is no other.
SAME = 1e-6


@register_block
@dataclass(frozen=True)
class DominanceInBasis(Cone):
    r"""B is diagonally dominant in a basis that follows the metric, round by round.

    .. math:: B = U^\top Q\, U, \qquad Q_{pp} \ge \sum_{q \ne p} |Q_{pq}|

    It begins with the metric that a solve is given to start from, or else with the one that the
    strategy ``alternating`` finds without this block in a quarter of the time, where that takes the
    composition and no basis is given; elsewhere, and without iterations, with U the identity, where
    this is ``gershgorin``. U is the Cholesky
    factor of the B found, along whose null space, and where B is negative, it is completed by
    orthogonal vectors; so also after every round. Then Q is diagonal for that B, so that no round
    is worse than the one before: a sequence of problems whose optima rise, from inside, towards
    that of all positive semidefinite B.

    Parameters
    ----------
    iterations : int
        How often the basis is changed, also by the metric to begin with.
    basis : tuple of tuples
        Rows of U that it begins with, unless a metric is given to start from.

    Notes
    -----
    Source: Ahmadi, Hall, "Sum of squares basis pursuit with linear and second order cone
    programming", 2015.

    What is claimed is the solution and the bound of the last round: ``result.resolved`` has its
    basis, and no iterations where all were made, so that it can be solved again. The bound is one
    of the metrics in that basis only, not of all positive semidefinite ones, and another solver
    may come to another basis.

    Needs B. Adds D(D−1)/2 variables and D + D(D−1) rows; LP.

    Relations: restricts ``psd_cuts``. With another number of iterations or another basis it is
    unrelated: solutions that are equally good may lead to different bases.
    """

    iterations: int = 5
    basis: tuple[tuple[float, ...], ...] = ()

    name: ClassVar[str] = "dd_basis"
    source: ClassVar[str] = "Ahmadi, Hall 2015"
    restricts: ClassVar[tuple[str, ...]] = ("psd_cuts",)

    def __post_init__(self) -> None:
        check_count(self, "iterations", maximum=1000)
        object.__setattr__(self, "basis", _checked(self.basis))

    def build(self, context: Context, b: Any) -> None:
        """Add the magnitudes of the off-diagonal entries of Q and the rows."""
        D, Q = context.data.D, self.matrix(context)
        if self.basis:
            Q = _rotated(Q, np.linalg.inv(self._factor(D)))
        add_dominance(b, Q, D)

    def _factor(self, D: int) -> Array:
        """U as an array.

        Raises
        ------
        DataError
            If it is of another number of features.
        """
        if not self.basis:
            return np.eye(D)
        if len(self.basis) != D:
            raise DataError(
                f"the basis of 'dd_basis' is of {len(self.basis)} features and the data have {D}: "
                f"give {D} rows of {D} numbers, or leave it out"
            )
        return np.array(self.basis)

    def check(self, evaluation: Evaluation) -> None:
        """Hold Q to be diagonally dominant."""
        self.report_eigenvalue(evaluation)
        lacking = lack_of_dominance(self._inner(evaluation.metric))
        evaluation.violate(self.name, "B is not diagonally dominant in the basis", lacking)

    def _inner(self, metric: Metric) -> Array:
        """Q of a metric."""
        W = np.linalg.inv(self._factor(metric.D))
        return W.T @ metric.B @ W

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the magnitudes."""
        complete_dominance(b, self._inner(evaluation.metric))

    @property
    def begins_without(self) -> bool:
        """Where a basis is neither given nor to be kept."""
        return self.iterations > 0 and not self.basis

    def refine(self, metric: Metric) -> DominanceInBasis | None:
        """Return the block in the basis of a metric, with one iteration less to make."""
        if not self.iterations:
            return None
        U = _basis_of(metric.B)
        if np.abs(U - self._factor(metric.D)).max() <= SAME:
            return None
        basis = tuple(map(tuple, U.tolist()))
        return replace(self, iterations=self.iterations - 1, basis=basis)

    def size(self, n: Any) -> Size:
        """D(D−1)/2 variables; D + D(D−1) rows."""
        off = n.D * (n.D - 1)
        return Size(variables=off / 2, rows=n.D + off)


def _checked(basis: Any) -> tuple[tuple[float, ...], ...]:
    """The basis as plain tuples.

    Raises
    ------
    CompositionError
        If it is no square matrix of finite numbers that can be inverted.
    """
    wrong = CompositionError(
        f"parameter 'basis' of block 'dd_basis' is {basis!r}: give D rows of D numbers that are "
        f"linearly independent, or nothing"
    )
    if not isinstance(basis, tuple | list | np.ndarray):
        raise wrong
    try:
        U = np.array(basis, dtype=float)
    except (TypeError, ValueError) as error:
        raise wrong from error
    if not U.size:
        return ()
    square = U.ndim == 2 and U.shape[0] == U.shape[1]
    if not square or not np.isfinite(U).all() or np.linalg.cond(U) > 1e8:
        raise wrong
    return tuple(map(tuple, U.tolist()))


def _rotated(B: Any, W: NDArray[np.floating[Any]]) -> Any:
    """Entries of Q = WᵀBW as linear expressions of those of B."""
    from pyomo.core.expr import LinearExpression

    sets = multisets(len(W), 2)
    entries = [B(r, s) for r, s in sets.tolist()]
    r, s = sets.T

    def Q(p: int, q: int) -> Any:
        coefficients = W[r, p] * W[s, q] + np.where(r == s, 0.0, W[s, p] * W[r, q])
        return LinearExpression(linear_coefs=coefficients.tolist(), linear_vars=entries)

    return Q


def _basis_of(B: Array) -> Array:
    """U with B = UᵀQU for a diagonal Q, the Cholesky factor of B but for its null space."""
    size = float(np.abs(B).sum(axis=1).max())
    values, vectors = np.linalg.eigh(B / size if size else B)
    if values[-1] <= 0:
        return np.eye(len(B))
    large = values > NULL * values[-1]
    root = np.sqrt(values[large] / values[-1])[:, None] * vectors[:, large].T
    factor = np.linalg.qr(root)[1]
    signs = np.where(np.diag(factor) < 0, -1.0, 1.0)
    return np.vstack([signs[:, None] * factor, np.sqrt(NULL) * vectors[:, ~large].T])
