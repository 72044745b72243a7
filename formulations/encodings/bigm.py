"""Block ``bigm``: the distance to the chosen point by big-M rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from mlmio.blocks import Size, check_choice, register_block
from mlmio.encoding import Encoding
from mlmio.extents import Extents

if TYPE_CHECKING:
    from mlmio.context import Choice, Context

Pair = tuple[int, int]

TIGHTEN = ("none", "box", "lp")


@register_block
@dataclass(frozen=True)
class BigM(Encoding):
    r"""The distance to the farthest chosen point, one big-M row for each candidate.

    .. math:: s_i \ge d_{ij} - M_{ij}(\text{kept}_i - y_{ij}) - U_{ij}(1 - \text{kept}_i), \qquad
              0 \le s_i \le d^{\max}

    where :math:`U_{ij}` is the greatest value of :math:`d_{ij}`. A kept point that j does not
    serve is served by k others, and :math:`s_i` is at least the k-th smallest of their distances:
    :math:`M_{ij}` is the greatest that :math:`d_{ij}` can be above that.

    =========  ===================  ===========================================================
    tighten    :math:`U_{ij}`       :math:`M_{ij}`
    =========  ===================  ===========================================================
    ``none``   its bound            :math:`U_{ij}`
    ``box``    max over the region  :math:`U_{ij}` − the k-th smallest :math:`L_{ij'}`, with
                                    :math:`L_{ij'}` the least value of :math:`d_{ij'}`
    ``lp``     max over the region  k-th largest over j' of the greatest
                                    :math:`d_{ij} - d_{ij'}`
    =========  ===================  ===========================================================

    The model has them as the parameter ``bigm.M[i, j]``.

    Parameters
    ----------
    tighten : {"none", "box", "lp"}
        ``box`` takes two small LPs for each pair of a class, ``lp`` one for each ordered triple.
        Where points can be given up and k > 1, both leave M at U: a relaxed choice may there be
        larger than what is kept.

    Notes
    -----
    Source: the lower half of Kumaran et al. 2018, eq:w_mccormick_3, which is all that a
    maximised margin needs.

    Needs a bounded distance. Adds N variables and C rows; MILP.

    Relations: equivalent to every encoding; its LP bound falls from ``none`` to ``box`` to ``lp``,
    and without tightening is never below that of ``mccormick``, nor above that of ``indicator``.
    """

    tighten: str = "none"

    name: ClassVar[str] = "bigm"
    source: ClassVar[str] = "eq:w_mccormick_3"
    problem_class: ClassVar[str] = "MILP"
    parameter_order: ClassVar[Mapping[str, str]] = {"tighten": "neutral"}
    tightens: ClassVar[tuple[str, ...]] = ("indicator",)
    lp_order: ClassVar[tuple[tuple[str, str], ...]] = (
        ("bigm(tighten='lp')", "bigm(tighten='box')"),
        ("bigm(tighten='box')", "bigm"),
    )

    def __post_init__(self) -> None:
        check_choice(self, "tighten", TIGHTEN)

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """Add s and one row for each candidate."""
        import pyomo.environ as pyo

        pairs = choice.y.index_set()
        greatest, enough = self._sizes(context, choice)
        b.M = pyo.Param(pairs, initialize=enough, within=pyo.Reals)
        b.s = pyo.Var(range(len(choice.candidates)), bounds=(0.0, context.dmax))

        def above(_: Any, i: int, j: int) -> Any:
            y, U, M = choice.y[i, j], greatest[i, j], enough[i, j]
            spared = (U - M) * (context.kept(i) - y) if M < U else 0.0
            return b.s[i] - context.distance(i, j) - U * y - spared >= -U

        b.above = pyo.Constraint(pairs, rule=above)
        return b.s

    def _sizes(
        self, context: Context, choice: Choice
    ) -> tuple[dict[Pair, float], dict[Pair, float]]:
        """U and M."""
        pairs = list(choice.y.index_set())
        if self.tighten == "none":
            bounds = {pair: context.bounds(*pair)[1] for pair in pairs}
            return bounds, bounds
        extents = Extents(context)
        greatest = {pair: extents.greatest(pair) for pair in pairs}
        if choice.k > 1 and context.may_give_up:
            return greatest, greatest
        enough = {}
        for i, j in pairs:
            others = [(i, other) for other in choice.candidates[i] if other != j]
            enough[i, j] = self._enough(extents, (i, j), others, choice.k)
        return greatest, enough

    def _enough(self, extents: Extents, pair: Pair, others: list[Pair], k: int) -> float:
        """M: the k-th largest of what the pair's distance can be above those of the others."""
        most = extents.greatest(pair)
        if self.tighten == "box":
            gains = (most - extents.least(other) for other in others)
        else:
            gains = (extents.difference(pair, other) for other in others)
        # With fewer than k others, a kept point is always served by this one.
        largest = [0.0] * k if len(others) < k else [-math.inf] * k
        for gain in gains:
            largest = sorted([*largest, gain])[-k:]
            if largest[0] >= most:
                break
        return min(largest[0], most)

    def size(self, n: Any) -> Size:
        """N variables and C rows."""
        return Size(variables=n.N, rows=n.choices)
