"""Block ``gdp``: the disjunctions as Pyomo states them, and its transformations of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Size, check_choice, register_block
from mlmio.encoding import Encoding
from mlmio.errors import CompositionError
from mlmio.extents import Extents
from mlmio.outline import curved_rows
from mlmio.solvers.base import Options
from mlmio.solvers.highs import Highs
from mlmio.solvers.program import compile_program

if TYPE_CHECKING:
    from mlmio.context import Choice, Context
    from mlmio.evaluation import Evaluation

Pair = tuple[int, int]

# Cuts end when one takes less than this off the bound, of its size where that is above 1, or when
# the point is nearer to the hull than this.
LEAST_GAIN = 1e-3

METHODS = ("bigm", "mbigm", "hull", "between_steps", "cuttingplane")


@register_block
@dataclass(frozen=True)
class Gdp(Encoding):
    r"""The distance to the farthest chosen point as disjunctions, transformed by ``pyomo.gdp``.

    .. math::

        \bigvee_{j \in \mathcal C_i}
        \begin{bmatrix} y_{ij} \\ s_i \ge d_{ij} \end{bmatrix} \vee
        \begin{bmatrix} 1 - \text{kept}_i \\ \ \end{bmatrix} \quad (k = 1), \qquad
        \begin{bmatrix} y_{ij} \\ s_i \ge d_{ij} \end{bmatrix} \vee
        \begin{bmatrix} 1 - y_{ij} \\ \ \end{bmatrix} \quad (k > 1), \qquad
        0 \le s_i \le d^{\max}

    The disjunct of points that are given up is there where the loss may give points up. The
    disjuncts' indicators are replaced by the choices themselves once they are transformed, so that
    the model is a plain mixed-integer program without further binary variables.

    Parameters
    ----------
    method : {"bigm", "mbigm", "hull", "between_steps", "cuttingplane"}
        The transformation: ``gdp.bigm``; ``gdp.mbigm``, with a big-M for every two candidates of
        a point, computed over the region as in ``bigm(tighten='lp')``; ``gdp.hull``, on the box
        of distances; ``gdp.between_steps``, each row split into its two terms;
        ``gdp.cuttingplane``, the rows of big-M and cuts that the hull implies, where the relaxed
        model has its optima.

    Notes
    -----
    Source: eq:separation_constraint_no_outliers as a generalised disjunctive program; Trespalacios
    and Grossmann 2015 (mbigm), Kronqvist, Misener and Tsay 2021 (between_steps), Trespalacios and
    Grossmann 2016 (cuttingplane).

    Needs a bounded distance. Adds N variables and C rows (bigm, mbigm), N + 3C variables and
    N + 5C rows (hull, k = 1), N + 4C variables and 7C rows (hull, k > 1), or N + 6C variables and
    9C rows (between_steps); with ``hull``, k = 1 and points that may be given up, N of both more.
    Where distances are substituted, C/2 of both more. MILP.

    ``cuttingplane`` is ``bigm`` and some cuts, made once the model is whole, by HiGHS: each takes
    three linear programs, of the relaxed big-M model, for the point of the hull that is nearest in
    the maximum norm, and for how far the cut must be backed off so that the hull satisfies it. They
    end when one gains less than 10⁻³; where the relaxed model has no optimum there are none. It
    takes linear rows only.

    Relations: equivalent to every encoding; the LP bound of ``hull`` is never above that of
    ``mccormick``, ``between_steps`` and ``cuttingplane``, nor any above that of ``bigm``.
    """

    method: str = "bigm"

    name: ClassVar[str] = "gdp"
    source: ClassVar[str] = "eq:separation_constraint_no_outliers"
    problem_class: ClassVar[str] = "MILP"
    parameter_order: ClassVar[Mapping[str, str]] = {"method": "neutral"}
    tightens: ClassVar[tuple[str, ...]] = ("bigm",)
    lp_order: ClassVar[tuple[tuple[str, str], ...]] = (
        ("gdp(method='hull')", "mccormick"),
        ("gdp(method='hull')", "gdp(method='between_steps')"),
        ("gdp(method='between_steps')", "gdp"),
        ("gdp(method='mbigm')", "gdp"),
        ("gdp(method='hull')", "gdp(method='cuttingplane')"),
        ("gdp(method='cuttingplane')", "gdp"),
    )

    def __post_init__(self) -> None:
        check_choice(self, "method", METHODS)

    def encode(self, context: Context, b: Any, choice: Choice) -> Mapping[int, Any]:
        """State the disjunctions, transform them, and replace their indicators."""
        import pyomo.environ as pyo

        b.s = pyo.Var(range(len(choice.candidates)), bounds=(0.0, context.dmax))
        b.choice = choice
        b.gdp = pyo.Block(concrete=True)
        distances = _distances(context, b, choice)
        b.indicators = _state(context, b, choice, distances)
        if self.method != "cuttingplane":
            _TRANSFORMATIONS[self.method](context, b, distances)
            _replace(b.gdp, b.indicators)
        return b.s

    def finish(self, context: Context, b: Any) -> None:
        """Cut off optima of the relaxed big-M model, where that is the method.

        Raises
        ------
        CompositionError
            If a row is not linear.
        """
        if self.method == "cuttingplane":
            _cut(context.model, b)
            _replace(b.gdp, b.indicators)

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set s, the distances that it added, and what the transformation added."""
        super().complete(b, evaluation)
        if b.component("d") is not None:
            pairs = np.array(list(b.d), dtype=np.intp).reshape(-1, 2)
            for pair, distance in zip(b.d, evaluation.pair_distances(pairs), strict=True):
                b.d[pair].set_value(float(distance))
        for (i, j), y in b.choice.y.items():
            y.set_value(int(j in evaluation.chosen[i]))
        _complete_rest(b.gdp)

    def size(self, n: Any) -> Size:
        """What the transformation makes of it, without cuts."""
        N, C = n.N, n.choices
        if self.method == "hull":
            variables, rows = (N + 3 * C, N + 5 * C) if n.k == 1 else (N + 4 * C, 7 * C)
            more = n.given_up if n.k == 1 else 0
            variables, rows = variables + more, rows + more
        elif self.method == "between_steps":
            variables, rows = N + 6 * C, 9 * C
        else:
            variables, rows = N, C
        defined = C / 2 if n.substituted else 0
        return Size(variables=variables + defined, rows=rows + defined)


def _distances(context: Context, b: Any, choice: Choice) -> dict[Pair, Any]:
    """d_ij of every choice as a bounded variable, which transformations need."""
    import pyomo.environ as pyo

    found = {pair: context.distance(*pair) for pair in choice.y.index_set()}
    if all(distance.is_variable_type() for distance in found.values()):
        return found
    pairs = sorted({(min(pair), max(pair)) for pair in found})
    b.d = pyo.Var(pairs, bounds=lambda _, i, j: context.bounds(i, j))
    b.define = pyo.Constraint(pairs, rule=lambda _, i, j: context.distance(i, j) - b.d[i, j] == 0)
    return {pair: b.d[min(pair), max(pair)] for pair in found}


def _state(
    context: Context, b: Any, choice: Choice, distances: Mapping[Pair, Any]
) -> list[tuple[Any, Any]]:
    """State the disjunctions; returns what each disjunct's indicator is."""
    import pyomo.environ as pyo
    from pyomo.gdp import Disjunct, Disjunction

    def serve(disjunct: Any, i: int, j: int) -> None:
        disjunct.reach = pyo.Constraint(expr=b.s[i] - distances[i, j] >= 0)

    gdp, y = b.gdp, choice.y
    gdp.serve = Disjunct(y.index_set(), rule=serve)
    indicators = [(gdp.serve[pair], y[pair]) for pair in y]
    if choice.k > 1:
        gdp.idle = Disjunct(y.index_set())
        gdp.choose = Disjunction(
            y.index_set(), rule=lambda _, i, j: [gdp.serve[i, j], gdp.idle[i, j]]
        )
        return indicators + [(gdp.idle[pair], 1 - y[pair]) for pair in y]
    gdp.idle = Disjunct(b.s.index_set() if context.may_give_up else [])
    gdp.choose = Disjunction(
        b.s.index_set(),
        rule=lambda _, i: (
            [gdp.serve[i, j] for j in choice.candidates[i]] + [gdp.idle[i] for _ in [i] if gdp.idle]
        ),
    )
    return indicators + [(gdp.idle[i], 1 - context.kept(i)) for i in gdp.idle]


def _apply(name: str, b: Any, **options: Any) -> None:
    from pyomo.core import TransformationFactory

    TransformationFactory(f"gdp.{name}").apply_to(b.gdp, **options)


def _bigm(context: Context, b: Any, distances: Mapping[Pair, Any]) -> None:
    """One big-M for each row, from the bounds of its variables."""
    _apply("bigm", b)


def _mbigm(context: Context, b: Any, distances: Mapping[Pair, Any]) -> None:
    """One big-M for each row and each other disjunct, from linear programs over the region."""
    extents = Extents(context)

    def most(pair: Pair, other: Any) -> float:
        if other.parent_component() is b.gdp.serve:
            return extents.difference(pair, other.index())
        return extents.greatest(pair)

    sizes = {
        (disjunct.reach, other): (-most(disjunct.index(), other), None)
        for disjunction in b.gdp.choose.values()
        for disjunct, other in permutations(disjunction.disjuncts, 2)
        if disjunct.parent_component() is b.gdp.serve
    }
    # The solver is given nothing to do, but the one that is named by default need not be there.
    _apply("mbigm", b, bigM=sizes, solver="appsi_highs")


def _hull(context: Context, b: Any, distances: Mapping[Pair, Any]) -> None:
    """The convex hull of each disjunction within the bounds of its variables."""
    _apply("hull", b)


def _between_steps(context: Context, b: Any, distances: Mapping[Pair, Any]) -> None:
    """The hull with s_i and d_ij each replaced by a bound of its own in every disjunct.

    It is what ``gdp.between_steps`` does, without its rows on indicators that become one.
    """
    from pyomo.core import LogicalConstraint

    terms = {}
    for disjunction in b.gdp.choose.values():
        served = [d.index() for d in disjunction.disjuncts if d.parent_component() is b.gdp.serve]
        terms[disjunction] = [[b.s[served[0][0]]], [distances[pair] for pair in served]]
    _apply("partition_disjuncts", b, variable_partitions=terms)
    for same in list(b.gdp.component_objects(LogicalConstraint)):
        same.parent_block().del_component(same)
    _apply("hull", b)


def _cut(model: Any, b: Any) -> None:
    """Big-M, with cuts that the hull implies where the relaxed model has its optima."""
    import pyomo.environ as pyo
    from pyomo.common.log import LoggingIntercept

    _refuse_curves(model)
    b.gdp.link = pyo.Constraint(
        range(len(b.indicators)),
        rule=lambda _, n: b.indicators[n][0].binary_indicator_var == b.indicators[n][1],
    )
    known = set(model.component_map())
    # It says when it stops, and warns of how it restores integrality.
    with LoggingIntercept(module="pyomo", level=logging.WARNING):
        pyo.TransformationFactory("gdp.cuttingplane").apply_to(
            model,
            solver="highs",
            norm=float("inf"),
            minimum_improvement_threshold=LEAST_GAIN,
            separation_objective_threshold=LEAST_GAIN,
            cut_filtering_threshold=LEAST_GAIN,
        )
    b.gdp.del_component("link")
    (made,) = (model.component(name) for name in set(model.component_map()) - known)
    cuts = [cut.expr for cut in made.cuts.values()]
    model.del_component(made)
    b.gdp.cut = pyo.Constraint(range(len(cuts)), rule=lambda _, n: cuts[n])
    for variable in model.component_data_objects(pyo.Var):
        variable.set_value(None)


def _refuse_curves(model: Any) -> None:
    for row in curved_rows(model):
        raise CompositionError(
            f"method 'cuttingplane' of block 'gdp' takes linear rows only, and {row.name} is "
            f"none: use another cone or another method, as 'bigm'"
        )


_TRANSFORMATIONS = {
    "bigm": _bigm,
    "mbigm": _mbigm,
    "hull": _hull,
    "between_steps": _between_steps,
}


def _replace(gdp: Any, indicators: list[tuple[Any, Any]]) -> None:
    """Put the choices in place of the indicators, and leave out that exactly one is 1.

    The neighbours state that themselves.
    """
    from pyomo.common.collections import ComponentSet
    from pyomo.core import Block, Constraint, Var
    from pyomo.core.expr import replace_expressions
    from pyomo.gdp import Disjunct, Disjunction

    by_indicator = {}
    for disjunct, choice in indicators:
        by_indicator[id(disjunct.binary_indicator_var)] = choice
        split = disjunct.transformation_block
        if split is not None and split.ctype is Disjunct:
            by_indicator[id(split.binary_indicator_var)] = choice
    disjunctions = gdp.component_data_objects(Disjunction, descend_into=Block)
    stated = ComponentSet(d.algebraic_constraint.parent_component() for d in disjunctions)
    ours = [
        variable
        for variable in gdp.component_objects(Var, descend_into=Block)
        if all(id(data) in by_indicator for data in variable.values())
    ]
    for component in [*(row for row in stated if row.ctype is Constraint), *ours]:
        component.parent_block().del_component(component)
    for row in gdp.component_data_objects(Constraint, active=True, descend_into=Block):
        row.set_value(replace_expressions(row.expr, by_indicator))


def _complete_rest(gdp: Any) -> None:
    """Set what a transformation added, by a linear program in which all else is held."""
    from pyomo.core import Block, Var
    from pyomo.gdp import Disjunct

    added = {id(v) for v in gdp.component_data_objects(Var, descend_into=(Block, Disjunct))}
    if not added:
        return
    program = compile_program(gdp)
    held = [n for n, column in enumerate(program.columns) if id(column) not in added]
    values = [program.columns[n].value for n in held]
    program.lower[held] = program.upper[held] = values
    found = Highs().run(program, Options(), None)
    if found.x is not None:
        program.load(found.x)
