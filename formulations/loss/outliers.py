"""Block ``outliers``: points that are given up, each at a price."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block, Size, check_choice, check_count, check_number, register_block
from mlmio.context import Margin
from mlmio.data.validation import shown
from mlmio.errors import DataError
from mlmio.outline import GivingUp

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation

# For each semantics: whether an outlier i relieves its own rows (i, k), whether an outlier k
# relieves the rows (i, k) of others, and whether an outlier may still serve others.
SEMANTICS = {
    "printed": (False, True, False),
    "remove": (True, True, False),
    "excuse": (True, False, True),
}


@register_block
@dataclass(frozen=True)
class Outliers(Block):
    r"""Points given up as outliers, at the price ρ each.

    .. math::

        \max \lambda - \rho \sum_i z_i, \quad 0 \le \lambda \le d^{\max}, \quad
        z \in \{0, 1\}, \quad \text{kept}_i = 1 - z_i, \quad
        \sum_{i \in \text{class}} (1 - z_i) \ge m

    ===========  ====================================  ======================
    semantics    separation row (i, k) is relieved by  who may serve others
    ===========  ====================================  ======================
    ``printed``  :math:`M z_k`                         kept points
    ``remove``   :math:`M (z_i + z_k)`                 kept points
    ``excuse``   :math:`M z_i`                         every point
    ===========  ====================================  ======================

    Parameters
    ----------
    rho : float
        Price of an outlier, in units of the distance.
    semantics : {"remove", "printed", "excuse"}
        ``printed`` is the paper's formula, in which an outlier i still forces λ ≤ d_ik;
        ``remove`` the paper's text, the row holds only if i and k are both kept; under
        ``excuse`` Σ z is the leave-one-out error at margin λ.
    keep : int
        Least number m of kept points in every class; 0 is the paper's model, in which giving up
        a whole class can be optimal.

    Notes
    -----
    Source: Kumaran et al. 2018, model:minlp and set:feasible_region_YZ, with its three
    readings told apart.

    λ is at least 0 here, as in the paper; without outliers it may be negative. Where kept points
    overlap under every metric, enough of them are given up to reach λ = 0, each at its price, so
    that the optimum can lie far below that without outliers.

    Needs a bounded distance and neighbours that can be relieved. Adds N binary variables, Q rows
    for the floor of the classes where ``keep`` > 0, and, but for ``excuse``, one row for each
    choice of a neighbour; MILP.

    Relations: a larger ``rho`` or ``keep`` restricts; ``printed`` restricts ``remove``.
    """

    rho: float = 0.1
    semantics: str = "remove"
    keep: int = 2

    name: ClassVar[str] = "outliers"
    slot: ClassVar[str] = "loss"
    source: ClassVar[str] = "model:minlp, set:feasible_region_YZ"
    problem_class: ClassVar[str] = "MILP"
    parameter_order: ClassVar[Mapping[str, str | tuple[str, ...]]] = {
        "rho": "restricts",
        "keep": "restricts",
        "semantics": ("printed", "remove"),
    }

    def __post_init__(self) -> None:
        check_number(self, "rho", minimum=0.0)
        check_choice(self, "semantics", tuple(SEMANTICS))
        check_count(self, "keep")

    @property
    def provides(self) -> frozenset[str]:
        """Outliers."""
        return frozenset({"outliers"})

    @property
    def needs(self) -> frozenset[str]:
        """A bounded distance."""
        return frozenset({"distance", "bounds"})

    @property
    def requires(self) -> frozenset[str]:
        """Neighbours whose rows can be relieved."""
        return frozenset({"relief"})

    def build(self, context: Context, b: Any) -> Any:
        """Add z and the floor of every class; contributes −ρ Σ z."""
        import pyomo.environ as pyo

        data = context.data
        self._check_floor(context)
        b.z = pyo.Var(range(data.N), domain=pyo.Binary)
        for i in context.conflicting:
            # A bound, not a fixed value, which completion would overwrite.
            b.z[int(i)].setlb(1)
        if self.keep:
            members = [np.flatnonzero(data.y == c).tolist() for c in range(data.n_classes)]
            b.floor = pyo.Constraint(
                range(data.n_classes),
                rule=lambda _, c: sum(1 - b.z[i] for i in members[c]) >= self.keep,
            )
        self._publish(context, b)
        return -self.rho * sum(b.z.values())

    def outline(self, context: Context) -> None:
        """Publish the price, the semantics and the floor."""
        self._check_floor(context)
        context.margin = Margin(0.0, context.dmax)
        context.surplus = 1.0
        context.loss = GivingUp(self.rho, *SEMANTICS[self.semantics], self.keep)

    def _check_floor(self, context: Context) -> None:
        data = context.data
        given_up = np.bincount(data.y[context.conflicting], minlength=data.n_classes)
        left = data.class_sizes - given_up
        c = int(np.argmin(left))
        if left[c] < self.keep:
            raise DataError(
                f"class {shown(data.classes[c])} has {left[c]} point(s) that can be kept, and "
                f"'{self}' keeps at least {self.keep} of every class: add points, or give a "
                f"smaller keep"
            )

    def _publish(self, context: Context, b: Any) -> None:
        own, others, serving = SEMANTICS[self.semantics]
        context.margin = Margin(0.0, context.dmax)
        context.kept = lambda i: 1 - b.z[i]
        context.outliers = b.z
        context.surplus = 1.0
        # Classes are apart as a whole and each keeps a point, or kept points' rows all hold.
        context.fenced = self.keep >= 1 or not others

        def relief(i: int, k: int, big_m: float) -> Any:
            return big_m * (int(own) * b.z[i] + int(others) * b.z[k])

        context.relief = relief
        if not serving:
            context.couple = lambda y: self._couple(b, y)

    def _couple(self, b: Any, y: Any) -> None:
        """An outlier serves nobody."""
        import pyomo.environ as pyo

        b.serve = pyo.Constraint(y.index_set(), rule=lambda _, i, j: y[i, j] + b.z[j] <= 1)

    def check(self, evaluation: Evaluation) -> None:
        """Publish who is kept, who serves and which rows are in force; price the outliers."""
        data, z = evaluation.data, evaluation.outliers
        own, others, serving = SEMANTICS[self.semantics]
        evaluation.margin = Margin(0.0, evaluation.dmax)
        evaluation.kept = ~z
        evaluation.serves = np.ones(data.N, dtype=bool) if serving else ~z
        evaluation.in_force = lambda rows: ~(own & z[rows, None] | others & z[None, :])
        evaluation.objective -= self.rho * int(z.sum())
        kept = np.bincount(data.y[~z], minlength=data.n_classes)
        for c in np.flatnonzero(kept < self.keep):
            evaluation.violate(
                self.name,
                f"class {data.classes[c]} keeps {kept[c]} of at least {self.keep} points",
                float(self.keep - kept[c]),
            )
        for c in np.flatnonzero((kept == self.keep) & (data.class_sizes > self.keep)):
            evaluation.remark(
                f"class {data.classes[c]} is reduced to its floor of {self.keep} points: "
                f"a larger rho, or a larger keep, holds more of them"
            )
        for i in evaluation.conflicting[~z[evaluation.conflicting]]:
            evaluation.violate(self.name, f"point {evaluation.name(i)} must be an outlier", 1.0)

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set z."""
        for i, z in b.z.items():
            z.set_value(int(evaluation.outliers[i]))

    def size(self, n: Any) -> Size:
        """N binary variables; Q rows for the floor and one for each choice."""
        floor = n.classes if self.keep else 0
        serving = SEMANTICS[self.semantics][2]
        return Size(variables=n.N, binaries=n.N, rows=floor + (0 if serving else n.choices))

    def extend(self, n: Any) -> None:
        """Any point may be given up."""
        n.given_up = n.N
