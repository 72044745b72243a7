"""Block ``nearest``: the nearest co-class points are nearer than every non-class point."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block, Size, check_count, register_block
from mlmio.context import Choice, Fences
from mlmio.outline import Serving

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation


@register_block
@dataclass(frozen=True)
class Nearest(Block):
    r"""The k nearest co-class points of every point, and a margin to the others.

    .. math::

        \max \lambda \quad \text{s.t.} \quad
        s_i + \lambda \le d_{ik} + \text{relief}_{ik} \quad \forall i,\ k \in \mathcal N_i,
        \qquad \sum_{j \in \mathcal C_i} y_{ij} = k \cdot \text{kept}_i,
        \qquad y \in \{0, 1\}

    where :math:`s_i` is the largest of the chosen distances, written by the encoding: for every
    i a disjunction over the co-class points j of
    :math:`\{d_{ij} + \lambda \le \min_k d_{ik}\}`.

    Parameters
    ----------
    k : int
        How many co-class points must be nearer than every non-class point; 1 is the paper.

    Notes
    -----
    Source: Kumaran et al. 2018, model:minlp_no_outliers (empty loss) and model:minlp.

    Needs a bounded distance and an encoding. Adds C binary variables y and the variable λ where
    the loss does not fix it, N rows of choice and S rows of separation; MILP.

    Relations: a larger k restricts a smaller one.
    """

    k: int = 1

    name: ClassVar[str] = "nearest"
    slot: ClassVar[str] = "neighbors"
    source: ClassVar[str] = "model:minlp_no_outliers, model:minlp"
    problem_class: ClassVar[str] = "MILP"
    parameter_order: ClassVar[Mapping[str, str]] = {"k": "restricts"}

    def __post_init__(self) -> None:
        check_count(self, "k", minimum=1)

    @property
    def provides(self) -> frozenset[str]:
        """Rows with a margin, which a loss may relieve and a strategy may write on demand.

        And its choice, about which cuts may say more.
        """
        return frozenset({"margin", "relief", "rows on demand", "choice"})

    @property
    def needs(self) -> frozenset[str]:
        """A bounded distance and an encoding."""
        return frozenset({"distance", "bounds", "encoding"})

    def prepare(self, data: Dataset) -> Dataset:
        """Check that every class has k + 1 points.

        Raises
        ------
        DataError
            Naming the class that has fewer.
        """
        data.require_class_size(self.k + 1, str(self))
        return data

    def build(self, context: Context, b: Any) -> Any:
        """Add y, λ, the choice and, where the model is whole, the separation; contributes λ."""
        import pyomo.environ as pyo

        data = context.data
        b.y = pyo.Var(_tuples(data.co_pairs()), domain=pyo.Binary)
        candidates = [data.co_class(i).tolist() for i in range(data.N)]
        b.choose = pyo.Constraint(
            range(data.N),
            rule=lambda _, i: sum(b.y[i, j] for j in candidates[i]) == self.k * context.kept(i),
        )
        context.couple(b.y)
        context.choice = Choice(b.y, candidates, self.k)
        reach = context.encode(context.choice)
        context.value = margin = self._margin(context, b)
        most = _most_needed(context)

        def excess(i: int, k: int) -> Any:
            # The largest that s_i + λ − d_ik need be: enough to switch the row off.
            big_m = most - context.bounds(i, k)[0]
            return reach[i] + margin - context.distance(i, k) - context.relief(i, k, big_m)

        if context.whole:
            b.separate = pyo.Constraint(
                _tuples(data.non_pairs()), rule=lambda _, i, k: excess(i, k) <= 0
            )
        else:
            context.fences = Fences(lambda i: reach[i] + margin, excess)
        return None if context.margin.fixed else margin

    def _margin(self, context: Context, b: Any) -> Any:
        """λ: a variable, or the constant that the loss fixes."""
        import pyomo.environ as pyo

        margin = context.margin
        if margin.fixed:
            return margin.lower
        lower = None if np.isinf(margin.lower) else margin.lower
        b.margin = pyo.Var(bounds=(lower, margin.upper))
        return b.margin

    def outline(self, context: Context) -> None:
        """Publish k."""
        context.neighbors = Serving(self.k)

    def check(self, evaluation: Evaluation) -> None:
        """Choose the k nearest points that may serve; λ is what the worst point allows."""
        data = evaluation.data
        chosen = np.full((data.N, self.k), -1, dtype=np.intp)
        nearest_other = np.full(data.N, np.inf)
        for rows, distances in evaluation.blocks():
            may_serve = data.together_rows(rows) & evaluation.serves[None, :]
            masked = np.where(may_serve, distances, np.inf)
            row = np.arange(len(rows))
            # One after the other: for a few that is ten times as fast as to sort or to part all.
            for t in range(self.k):
                nearest = masked.argmin(axis=1)
                evaluation.reach[rows] = at = masked[row, nearest]
                chosen[rows, t] = np.where(np.isfinite(at), nearest, -1)
                masked[row, nearest] = np.inf
            other = np.where(data.apart_rows(rows) & evaluation.in_force(rows), distances, np.inf)
            nearest_other[rows] = other.min(axis=1)
        chosen[~evaluation.kept] = -1
        evaluation.reach[~evaluation.kept] = 0.0
        for i in np.flatnonzero(evaluation.kept & (chosen[:, -1] < 0)).tolist():
            evaluation.violate(
                self.name, f"point {evaluation.name(i)} has no {self.k} points to serve it", 1.0
            )
            evaluation.reach[i] = 0.0
        evaluation.chosen = chosen
        evaluation.separation = nearest_other - evaluation.reach
        self._check_margin(evaluation)

    def _check_margin(self, evaluation: Evaluation) -> None:
        interval = evaluation.margin
        margin = float(np.clip(evaluation.separation.min(), interval.lower, interval.upper))
        left = evaluation.settle(np.maximum(0.0, margin - evaluation.separation))
        for i in np.flatnonzero(left > 0).tolist():
            evaluation.violate(
                self.name, f"point {evaluation.name(i)} lacks the margin {margin:.6g}", left[i]
            )
        evaluation.value = margin
        if not interval.fixed:
            evaluation.objective += margin

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set y to the choice and λ to what the worst point allows."""
        for (i, j), y in b.y.items():
            y.set_value(int(j in evaluation.chosen[i]))
        if not evaluation.margin.fixed:
            b.margin.set_value(evaluation.value)

    def size(self, n: Any) -> Size:
        """C binary variables and λ; N + S rows."""
        return Size(variables=n.co + n.margin, binaries=n.co, rows=n.N + n.non)

    def extend(self, n: Any) -> None:
        """C choices, of which k serve each point."""
        n.choices, n.k = n.co, self.k


def _most_needed(context: Context) -> float:
    """The largest that s_i + λ need be in a separation row that is relaxed.

    A point that is given up needs no more than s_i = 0, and with it λ, at most its upper bound.
    A kept point whose row (i, k) is relaxed because k is given up has, where points are fenced,
    another row (i, l) that is not: s_i + λ ≤ d_il ≤ d_max. Where they are not, a kept point may
    be left with nobody to keep away from, and s_i and λ may both be at their greatest.
    """
    if context.fenced:
        return max(context.dmax, context.margin.upper)
    return context.dmax + context.margin.upper


def _tuples(pairs: np.ndarray) -> list[tuple[int, int]]:
    return list(map(tuple, pairs.tolist()))
