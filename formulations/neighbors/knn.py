"""Block ``knn``: a majority of co-class points among the K nearest neighbours."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import Block, Size, check_choice, check_count, check_number, register_block
from mlmio.errors import CompositionError
from mlmio.outline import Majority

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Array, Evaluation

# Distances closer than this count as equal when neighbours are counted: solvers resolve no less,
# and one neighbour more or less changes the objective by a whole unit.
TIE = 1e-7
LEAST_EPS = 1e-5


@register_block
@dataclass(frozen=True)
class KNearest(Block):
    r"""The least number κ of co-class points among the K nearest neighbours of any point.

    .. math::

        \max\ & \kappa + W \sum_i \sum_{j \in \mathcal C_i} u_{ij} \\
        \text{s.t.}\ & \sum_{j \in \mathcal C_i} u_{ij} \ge \kappa - K(1 - \text{kept}_i), \qquad
        \sum_j u_{ij} \le K\, \text{kept}_i \\
        & d_{ij} \le \Delta_i + M(1 - u_{ij}), \qquad
        d_{ik} \ge \Delta_i + \varepsilon - M_{ik} u_{ik} - \text{relief}_{ik}, \quad
        k \in \mathcal N_i \\
        & u \in \{0, 1\}, \quad 0 \le \Delta \le d^{\max}

    The sum with weight W counts only where the loss asks for it (``outliers``). Ties among
    co-class points are allowed. The majority condition holds if and only if
    κ* ≥ floor(K/2) + 1.

    Parameters
    ----------
    K : int
        Number of neighbours.
    eps : float, "auto" or "paper"
        By how much the neighbours left out are farther. ``"auto"`` is d_min/2; ``"paper"`` is
        `alpha` times the least Euclidean distance between two points, refused above d_min.
    alpha : float
        Factor of the paper's rule, in (0, 1].
    W : float or "auto"
        Weight of the sum. ``"auto"`` is 1/(NK+1), which never outweighs one unit of κ.
    as_printed : bool
        The paper's form: the first row without its relief for outliers, so that one outlier
        forces κ = 0, and W = 2/(NK), which can outweigh κ.

    Notes
    -----
    Source: Kumaran et al. 2018, model:knn_milp_no_outliers (empty loss) and
    model:knn_milp_with_outlier_detection (``outliers``).

    Needs a bounded distance. Takes no encoding. Adds N(N−1) binary variables u, N variables Δ
    and κ, 2N + N(N−1) + S rows; MILP.

    Relations: a larger K or W relaxes, a larger eps or alpha restricts.
    """

    K: int = 3
    eps: float | str = "auto"
    alpha: float = 1.0
    W: float | str = "auto"
    as_printed: bool = False

    name: ClassVar[str] = "knn"
    slot: ClassVar[str] = "neighbors"
    source: ClassVar[str] = "model:knn_milp_no_outliers, model:knn_milp_with_outlier_detection"
    problem_class: ClassVar[str] = "MILP"
    parameter_order: ClassVar[Mapping[str, str]] = {
        "K": "relaxes",
        "W": "relaxes",
        "eps": "restricts",
        "alpha": "restricts",  # it acts through eps alone
    }

    def __post_init__(self) -> None:
        check_count(self, "K", minimum=1)
        if self.eps not in ("auto", "paper"):
            check_number(self, "eps", minimum=LEAST_EPS)
        if self.W != "auto":
            check_number(self, "W", minimum=0.0)
        check_number(self, "alpha", minimum=1e-9, maximum=1.0)
        check_choice(self, "as_printed", (False, True))

    @property
    def provides(self) -> frozenset[str]:
        """Rows that a loss may relieve."""
        return frozenset({"relief"})

    @property
    def needs(self) -> frozenset[str]:
        """A bounded distance."""
        return frozenset({"distance", "bounds"})

    def prepare(self, data: Dataset) -> Dataset:
        """Check that every class has K + 1 points.

        Raises
        ------
        DataError
            Naming the class that has fewer.
        """
        data.require_class_size(self.K + 1, str(self))
        return data

    def build(self, context: Context, b: Any) -> Any:
        """Add u, Δ, κ and their rows; contributes κ and the weighted sum."""
        import pyomo.environ as pyo

        data = context.data
        settled = self._resolve(context)
        eps, weight = float(settled.eps), float(settled.W)
        points = range(data.N)
        ordered = [(i, j) for i in points for j in points if i != j]
        b.u = pyo.Var(ordered, domain=pyo.Binary)
        b.radius = pyo.Var(points, bounds=(0.0, context.dmax))
        b.kappa = pyo.Var(bounds=(0.0, self.K))
        co = [data.co_class(i).tolist() for i in points]

        def majority(_: Any, i: int) -> Any:
            floor = b.kappa
            if not self.as_printed:
                floor = floor - self.K * (1 - context.kept(i))
            return sum(b.u[i, j] for j in co[i]) - floor >= 0

        def within(_: Any, i: int, j: int) -> Any:
            big_m = context.bounds(i, j)[1]
            return context.distance(i, j) - b.radius[i] + big_m * b.u[i, j] <= big_m

        def beyond(_: Any, i: int, k: int) -> Any:
            big_m = context.dmax + eps - context.bounds(i, k)[0]
            relief = context.relief(i, k, big_m)
            return context.distance(i, k) - b.radius[i] + big_m * b.u[i, k] + relief >= eps

        b.majority = pyo.Constraint(points, rule=majority)
        b.at_most = pyo.Constraint(
            points,
            rule=lambda _, i: (
                sum(b.u[i, j] for j in points if j != i) - self.K * context.kept(i) <= 0
            ),
        )
        b.within = pyo.Constraint(ordered, rule=within)
        b.beyond = pyo.Constraint(list(map(tuple, data.non_pairs().tolist())), rule=beyond)
        context.couple(b.u)
        return b.kappa + weight * sum(b.u[i, j] for i in points for j in co[i])

    def outline(self, context: Context) -> None:
        """Publish K and eps."""
        settled = self._resolve(context)
        context.neighbors = Majority(self.K, float(settled.eps))

    def _resolve(self, context: Context) -> KNearest:
        """Give eps and W their values for these data, and publish them."""
        N, dmin = context.data.N, context.dmin
        eps = self._eps(context)
        if not LEAST_EPS <= eps <= dmin:
            raise CompositionError(
                f"eps is {eps:.6g} for '{self}', and d_min {dmin:.6g}: give an eps from "
                f"{LEAST_EPS:g} to d_min, below which the model always has a solution"
            )
        auto = 2 / (N * self.K) if self.as_printed else 1 / (N * self.K + 1)
        weight = context.surplus * (auto if self.W == "auto" else float(self.W))
        settled = replace(self, eps=eps, W=weight)
        context.resolved[self] = settled
        return settled

    def _eps(self, context: Context) -> float:
        if self.eps == "auto":
            return context.dmin / 2
        if self.eps == "paper":
            return self.alpha * _least_distance(context.data)
        return float(self.eps)

    def check(self, evaluation: Evaluation) -> None:
        """Give every point the radius that takes in most co-class points; κ is the least."""
        data = evaluation.data
        if isinstance(self.eps, str) or isinstance(self.W, str):
            raise CompositionError(
                f"'{self}' has no values for eps and W yet: evaluate with result.resolved, or "
                f"give knn numbers"
            )
        eps = self.eps
        counts = np.zeros(data.N, dtype=np.intp)
        evaluation.chosen = np.full((data.N, self.K), -1, dtype=np.intp)
        evaluation.reach = np.zeros(data.N)
        for rows, distances in evaluation.blocks():
            active = data.apart_rows(rows) & evaluation.in_force(rows)
            same = data.together_rows(rows) & evaluation.serves[None, :]
            for row, i in enumerate(rows.tolist()):
                if not evaluation.kept[i]:
                    self._check_given_up(evaluation, i, distances[row], active[row], eps)
                    continue
                radius, members = _best_radius(distances[row], same[row], active[row], self.K, eps)
                if radius is None:
                    evaluation.violate(self.name, f"point {evaluation.name(i)} has no radius", eps)
                    continue
                evaluation.reach[i] = radius
                evaluation.chosen[i, : len(members)] = members
                counts[i] = int(same[row][members].sum())
        counted = counts if self.as_printed else counts[evaluation.kept]
        kappa = float(counted.min()) if len(counted) else float(self.K)
        evaluation.value = kappa
        evaluation.objective += kappa + self.W * float(counts.sum())

    def _check_given_up(
        self, evaluation: Evaluation, i: int, d: Array, active: NDArray[np.bool_], eps: float
    ) -> None:
        """An outlier has no neighbours, and radius 0, and its rows may still be in force."""
        nearest = np.where(active, d, np.inf).min()
        evaluation.violate(
            self.name, f"outlier {evaluation.name(i)} has a neighbour within eps", eps - nearest
        )

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set u, Δ and κ to what was counted."""
        for (i, j), u in b.u.items():
            u.set_value(int(j in evaluation.chosen[i]))
        for i, radius in b.radius.items():
            radius.set_value(float(evaluation.reach[i]))
        b.kappa.set_value(evaluation.value)

    def size(self, n: Any) -> Size:
        """N(N−1) binary variables, Δ and κ; 2N + N(N−1) + S rows."""
        ordered = 2 * n.pairs
        return Size(variables=ordered + n.N + 1, binaries=ordered, rows=2 * n.N + ordered + n.non)

    def extend(self, n: Any) -> None:
        """N(N−1) choices, of which at most K serve each point."""
        n.choices, n.k = 2 * n.pairs, self.K


def _best_radius(
    d: Array,
    same: NDArray[np.bool_],
    active: NDArray[np.bool_],
    K: int,
    eps: float,
) -> tuple[float | None, NDArray[np.intp]]:
    """Radius and neighbours of one point with most co-class points among at most K.

    A radius is allowed if no non-class distance in force lies within eps beyond it, and if the
    non-class points in force within it, who must all be neighbours, are at most K.
    """
    fences = np.sort(d[active])
    candidates = np.unique(np.concatenate([[0.0], d[same], d[active]]))
    inside = np.searchsorted(fences, candidates + TIE, side="right")
    up_to_eps = np.searchsorted(fences, candidates + eps - TIE, side="left")
    allowed = (inside >= up_to_eps) & (up_to_eps <= K)
    if not allowed.any():
        return None, np.empty(0, dtype=np.intp)
    reached = np.searchsorted(np.sort(d[same]), candidates + TIE, side="right")
    forced = up_to_eps
    gained = np.where(allowed, np.minimum(reached, K - forced), -1)
    best = int(np.argmax(gained))
    radius = float(candidates[best])
    must = np.flatnonzero(active & (d < radius + eps - TIE))
    near = np.flatnonzero(same & (d <= radius + TIE))
    near = near[np.argsort(d[near], kind="stable")][: int(gained[best])]
    return radius, np.concatenate([must, near])


def _least_distance(data: Dataset) -> float:
    """Least Euclidean distance between two points."""
    from scipy.spatial import cKDTree

    return float(cKDTree(data.X).query(data.X, k=2)[0][:, 1].min())
