"""Block ``psd_cuts``: a positive semidefinite matrix B, cut out by its eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import orth

from mlmio.blocks import Size, check_number, register_block
from mlmio.cone import Cone
from mlmio.metric import Metric

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Array, Evaluation


# Shares of the last matrix in those between, how many eigenvectors each gives, how far below zero
# their eigenvalues are at least, and how many former rounds there are to be between.
BETWEEN = (0.1, 0.25, 0.5, 0.75, 0.9)
MOST_BETWEEN = 2
LEAST = 1e-9
REMEMBERED = 6
# Cosine of the angle from which on two cuts of one round count as the same.
PARALLEL = 1 - 1e-4
# Singular values of the points below this share of the largest count as zero.
RANK = 1e-10


@register_block
@dataclass(frozen=True)
class PSDCuts(Cone):
    r"""B is positive semidefinite, approached from outside by linear cuts.

    .. math:: v^\top B v \ge 0 \qquad \text{for all } v

    The first rows are those of :math:`v = e_p` and :math:`v = e_p \pm e_q`. Wherever what a solve
    gives has an eigenvalue below −tol, it is cut off and the solve is repeated, see
    :mod:`mlmio.refining`: by the eigenvectors of negative eigenvalues of B and, before them, by
    those of its small principal submatrices at the eigenvector's largest entries, which are sparse;
    then by those of matrices between B and what the last rounds found, as it was and clipped to the
    cone, which are where the next rounds would look.

    Where features depend on one another linearly, directions w along which no two points differ
    have no distance, and the data do not determine B w. Cuts are then for B on the span of the
    differences, and a metric that is mended gets B w = 0.

    Parameters
    ----------
    tol : float
        The rounds end where the smallest eigenvalue is at least −tol, for scaled features.

    Notes
    -----
    Source: for the cuts, Sherali, Fraticelli, "Enhancing RLT relaxations via a new class of
    semidefinite cuts", 2002; for sparse ones, Qualizza, Belotti, Margot 2012.

    Every round is a relaxation, so that its bound holds. The metric that is reported has the
    negative eigenvalues set to zero, is scaled into the region where that takes it out, and is
    valued anew; what it is worth less than the bound shows as the gap. Where the region does not
    take it even so, it is left as it is once the smallest eigenvalue is at least −tol.

    Needs B. Adds D² rows at first; LP.

    Relations: ``sdd`` and ``dd_basis`` restrict it; ``tol`` changes nothing but the gap.
    """

    tol: float = 1e-7

    name: ClassVar[str] = "psd_cuts"
    source: ClassVar[str] = "Sherali, Fraticelli 2002"
    parameter_order: ClassVar[Mapping[str, str]] = {"tol": "neutral"}

    # No fields, but what an instance has found so far: equal blocks state the same cone. The cuts,
    # the matrices of the last rounds, and the projection on the span of the points' differences.
    _cuts: ClassVar[tuple[Array, ...]] = ()
    _seen: ClassVar[tuple[Array, ...]] = ()
    _span: ClassVar[Array | None] = None

    def __post_init__(self) -> None:
        check_number(self, "tol", minimum=1e-9, maximum=1e-6)

    def build(self, context: Context, b: Any) -> None:
        """Add the first rows and those of all cuts so far."""
        import pyomo.environ as pyo

        context.polyhedral = False
        # Anew for every build: what was found may be given to other data.
        context.resolved[self] = self._with(_span=_projection(context.data.X))
        B = self.matrix(context)
        D = context.data.D
        cuts = [*_first(D), *self._cuts]

        def row(_: Any, n: int) -> Any:
            v = cuts[n].tolist()
            at = [p for p in range(D) if v[p]]
            return sum(v[p] * v[q] * B(p, q) for p in at for q in at) >= 0

        b.cut = pyo.Constraint(range(len(cuts)), rule=row)

    def check(self, evaluation: Evaluation) -> None:
        """Hold the smallest eigenvalue of B to be nonnegative."""
        self.report_eigenvalue(evaluation)
        smallest = float(np.linalg.eigvalsh(evaluation.metric.B)[0])
        evaluation.violate(self.name, "B has a negative eigenvalue", -smallest)

    def refine(self, metric: Metric) -> PSDCuts | None:
        """Return the block with cuts that the metric violates."""
        B = self._determined(metric.B)
        # What the data do not determine is cut as well, so that it stays where solvers are exact.
        found = [*_violated(B, self.tol), *_violated(metric.B, self.tol)]
        if not found:
            return None
        for seen in self._seen:
            for share in BETWEEN:
                values, vectors = np.linalg.eigh(share * B + (1 - share) * seen)
                found += list(vectors[:, values < -LEAST].T[:MOST_BETWEEN])
        last = (*self._seen, B, _clipped(B))[-2 * REMEMBERED :]
        return self._with(_cuts=(*self._cuts, *_distinct(found)), _seen=last)

    def _with(self, **found: Any) -> PSDCuts:
        """The same block, with what was found."""
        new = copy(self)
        for name, value in found.items():
            object.__setattr__(new, name, value)
        return new

    def _determined(self, B: Array) -> Array:
        """B where what the data do not determine is zero."""
        return B if self._span is None else self._span @ B @ self._span

    def mend(self, metric: Metric) -> Metric:
        """Return the metric with B set to zero where it is negative or not determined."""
        if self._span is None and np.linalg.eigvalsh(metric.B)[0] >= 0.0:
            return metric
        tensors = {order: metric.tensor(order) for order in metric.orders}
        tensors[2] = _clipped(self._determined(metric.B))
        return Metric(tensors, metric.D, metric.scaling, metric.feature_names)

    def size(self, n: Any) -> Size:
        """D² rows: D for e_p, and D(D−1) for e_p ± e_q."""
        return Size(rows=n.D**2 + len(self._cuts))


def _first(D: int) -> Iterator[Array]:
    """e_p, and e_p ± e_q."""
    unit = np.eye(D)
    for p in range(D):
        yield unit[p]
        for q in range(p + 1, D):
            yield unit[p] + unit[q]
            yield unit[p] - unit[q]


def _projection(X: Array) -> Array | None:
    """The projection on the span of the differences of points; None where that is everything."""
    basis: Array = orth((X - X.mean(axis=0)).T, rcond=RANK)
    return None if basis.shape[1] == X.shape[1] else basis @ basis.T


def _clipped(B: Array) -> Array:
    """The nearest positive semidefinite matrix: negative eigenvalues set to zero."""
    values, vectors = np.linalg.eigh(B)
    clipped = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return (clipped + clipped.T) / 2


def _violated(B: Array, tol: float) -> Iterator[Array]:
    """Unit vectors v with vᵀBv < −tol: for each negative eigenvalue a sparse one and its own."""
    values, vectors = np.linalg.eigh(B)
    for value, v in zip(values, vectors.T, strict=True):
        if value >= -tol:
            return
        sparse = _sparsest(B, v, min(-tol, value / 2))
        if sparse is not None:
            yield sparse
        yield v


def _distinct(found: list[Array]) -> Iterator[Array]:
    """Those that are not nearly parallel to one before, which solvers would stall at."""
    kept = np.empty((0, len(found[0])))
    for v in found:
        if np.abs(kept @ v).max(initial=0.0) <= PARALLEL:
            kept = np.vstack([kept, v])
            yield v


def _sparsest(B: Array, v: Array, limit: float) -> Array | None:
    """The eigenvector of the smallest principal submatrix, at v's largest entries, below a limit.

    None where nothing smaller than B has one.
    """
    order = np.argsort(-np.abs(v), kind="stable")
    for count in range(2, len(v)):
        at = np.sort(order[:count])
        values, vectors = np.linalg.eigh(B[np.ix_(at, at)])
        if values[0] < limit:
            sparse = np.zeros(len(v))
            sparse[at] = vectors[:, 0]
            return sparse
    return None
