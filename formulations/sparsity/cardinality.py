"""Block ``cardinality``: at most U entries that are not zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block, Size, check_count, check_number, register_block
from mlmio.errors import CompositionError
from mlmio.series import parameter_count, tensor_name, tensor_order

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Array, Evaluation

# An entry below this counts as zero: solvers let the entries of a closed switch be that large.
ZERO = 1e-7


@register_block
@dataclass(frozen=True)
class Cardinality(Block):
    r"""At most U entries of the tensors are not zero.

    .. math:: -b^{\max} q_p \le \theta_p \le b^{\max} q_p, \qquad \sum_p q_p \le U, \qquad
              q \in \{0, 1\}

    Parameters
    ----------
    U : int
        Greatest number of entries, one counted for each multiset of coordinates.
    bmax : float
        Greatest magnitude of an entry, in scaled coordinates. A solution that reaches it says
        so: a larger one may then do better.
    tensors : tuple of str
        The tensors whose entries are counted together: ``"a"``, ``"B"``, ``"C"``,
        ``"tensor 4"`` and so on.

    Notes
    -----
    Source: Kumaran et al. 2018, appendix "Sparsification".

    Needs the tensors that it counts. Adds one binary variable and two rows for each of their
    parameters, and one row; MILP.

    Relations: restricts the composition without it; a larger ``U`` or ``bmax`` relaxes.
    """

    U: int = 3
    bmax: float = 10.0
    tensors: tuple[str, ...] = ("B",)

    name: ClassVar[str] = "cardinality"
    slot: ClassVar[str] = "sparsity"
    source: ClassVar[str] = "appendix, Sparsification"
    problem_class: ClassVar[str] = "MILP"
    parameter_order: ClassVar[Mapping[str, str]] = {"U": "relaxes", "bmax": "relaxes"}

    def __post_init__(self) -> None:
        check_count(self, "U")
        check_number(self, "bmax", minimum=1e-6, maximum=1e9)
        given = (self.tensors,) if isinstance(self.tensors, str) else self.tensors
        named = isinstance(given, tuple | list) and all(isinstance(name, str) for name in given)
        if not given or not named:
            raise CompositionError(
                f"parameter 'tensors' of block 'cardinality' is {self.tensors!r}: "
                f"give names such as ('a', 'B')"
            )
        orders = sorted({tensor_order(name) for name in given})
        object.__setattr__(self, "tensors", tuple(tensor_name(order) for order in orders))

    @property
    def orders(self) -> list[int]:
        """Orders of the tensors that it counts."""
        return [tensor_order(name) for name in self.tensors]

    @property
    def needs(self) -> frozenset[str]:
        """The tensors that it counts."""
        return frozenset(self.tensors)

    def build(self, context: Context, b: Any) -> None:
        """Add a switch for every entry, and count them."""
        import pyomo.environ as pyo

        entries = {
            (order, p): theta for order in self.orders for p, theta in context.terms[order].items()
        }
        b.q = pyo.Var(list(entries), domain=pyo.Binary)
        b.above = pyo.Constraint(
            list(entries), rule=lambda _, *p: self.bmax * b.q[p] - entries[p] >= 0
        )
        b.below = pyo.Constraint(
            list(entries), rule=lambda _, *p: self.bmax * b.q[p] + entries[p] >= 0
        )
        b.count = pyo.Constraint(expr=sum(b.q.values()) <= self.U)

    def check(self, evaluation: Evaluation) -> None:
        """Count the entries that are not zero, and hold them to bmax."""
        entries = np.abs(self._entries(evaluation))
        count = int((entries > ZERO).sum())
        evaluation.facts["nonzero entries"] = count
        evaluation.violate(self.name, f"{count} entries are not zero", float(count - self.U))
        largest = float(entries.max(initial=0.0))
        evaluation.violate(self.name, "an entry is larger than bmax", largest - self.bmax)
        if largest >= self.bmax * (1 - 1e-6):
            evaluation.remark(
                f"an entry reaches bmax = {self.bmax:g} of 'cardinality': "
                f"a larger bmax may give a better metric"
            )

    def _entries(self, evaluation: Evaluation) -> Array:
        return np.concatenate([evaluation.metric.entries(order) for order in self.orders])

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Open the switch of every entry that is not zero."""
        for q, entry in zip(b.q.values(), self._entries(evaluation), strict=True):
            q.set_value(int(abs(entry) > ZERO))

    def size(self, n: Any) -> Size:
        """P binary variables and 2P + 1 rows for the P entries."""
        count = sum(parameter_count(n.D, order) for order in self.orders)
        return Size(variables=count, binaries=count, rows=2 * count + 1)
