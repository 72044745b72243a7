"""The lattice of formulations: how the optima of two compositions must relate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import networkx as nx

from mlmio.blocks import Block
from mlmio.composition import Composition, compose
from mlmio.registry import blocks
from mlmio.slots import SLOTS

EQUIVALENT, RESTRICTION, RELAXATION, UNRELATED = (
    "equivalent",
    "restriction",
    "relaxation",
    "unrelated",
)
_INVERSE = {RESTRICTION: RELAXATION, RELAXATION: RESTRICTION}
_EFFECT = {"restricts": RESTRICTION, "relaxes": RELAXATION, "neutral": EQUIVALENT}


@dataclass(frozen=True)
class Relation:
    """How one composition relates to another; both maximise.

    Parameters
    ----------
    kind : {"equivalent", "restriction", "relaxation", "unrelated"}
        ``restriction`` says that the first optimum is never above the second.
    reasons : tuple of str
        What makes it so, one for every difference.
    assumptions : tuple of str
        What must be so for it to hold.
    """

    kind: str
    reasons: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()

    @property
    def reason(self) -> str:
        """The reasons in one line."""
        return "; ".join(self.reasons) or "the same blocks"

    @property
    def inverse(self) -> Relation:
        """The same seen from the second composition."""
        return replace(self, kind=_INVERSE.get(self.kind, self.kind))

    def __str__(self) -> str:
        return "; ".join([f"{self.kind}: {self.reason}", *self.assumptions])


def relation(first: Composition | Block | str, second: Composition | Block | str) -> Relation:
    """Say how the optimum of one composition relates to that of another.

    Parameters
    ----------
    first, second : Composition, Block or str
        Completed with their defaults before they are compared.

    Returns
    -------
    Relation
        Of the first to the second. A parameter that is "auto" in both counts as the same value,
        as an assumption then says; :func:`~mlmio.comparison.compare` relates the values found.

    Raises
    ------
    CompositionError
        If one of them is not complete.

    Examples
    --------
    >>> print(relation("linear + nearest", "linear + quadratic + nearest"))
    restriction: without quadratic; for equal values of bounded's dmin='auto'
    >>> relation("linear + nearest + bigm", "linear + nearest + mccormick").kind
    'equivalent'
    """
    a, b = compose(first).completed, compose(second).completed
    found = _combine(_slot_relation(name, a.slot(name), b.slot(name)) for name in SLOTS)
    if found.kind not in _INVERSE:
        return found
    return replace(found, assumptions=_assumptions(a, b))


def _assumptions(a: Composition, b: Composition) -> tuple[str, ...]:
    """Parameters that the data decide, and may decide differently for two compositions."""
    return tuple(
        f"for equal values of {mine.name}'s {parameter}='auto'"
        for mine in a.blocks
        for other in b.blocks
        if mine.name == other.name
        for parameter, value in mine.parameters.items()
        if value == "auto" == other.parameters[parameter]
    )


def tightens(first: Composition | Block | str, second: Composition | Block | str) -> bool:
    """Whether the LP bound of the first is never above that of the second.

    True where the first has all that the second has, but for an encoding that says that it
    tightens the other's, and more cuts.
    """
    a, b = compose(first).completed, compose(second).completed
    return a != b and all(_tightens_in(slot, a.slot(slot), b.slot(slot)) for slot in SLOTS)


def _tightens_in(slot: str, ours: tuple[Block, ...], theirs: tuple[Block, ...]) -> bool:
    """Whether what fills a slot here leaves an LP bound no larger than what fills it there."""
    if ours == theirs:
        return True
    if SLOTS[slot].tightening:
        return set(ours) >= set(theirs)
    if slot != "encoding" or not ours or not theirs:
        return False
    return _leads(lp_graph(slot), str(ours[0]), str(theirs[0]))


def slot_graph(slot: str, relation_name: str = "restricts") -> nx.DiGraph:
    """Blocks of a slot, with an edge from each to those that it says it restricts or tightens.

    Parameters
    ----------
    slot : str
        Name of the slot.
    relation_name : {"restricts", "tightens"}
        Which of the blocks' statements to draw.
    """
    graph = nx.DiGraph()
    for name, cls in blocks.available().items():
        if cls.slot == slot:
            graph.add_node(name)
            graph.add_edges_from((name, other) for other in getattr(cls, relation_name))
    return graph


def lp_graph(slot: str) -> nx.DiGraph:
    """Blocks of a slot with their parameters, an edge from each to those that it tightens.

    Parameters
    ----------
    slot : str
        Name of the slot.
    """
    graph = slot_graph(slot, "tightens")
    for name in list(graph):
        graph.add_edges_from(blocks.get(name).lp_order)
    return graph


def _combine(parts: Iterable[Relation]) -> Relation:
    """One relation out of several that hold at once: they must all point the same way."""
    parts = [part for part in parts if part.reasons]
    kinds = {part.kind for part in parts} - {EQUIVALENT}
    reasons = tuple(reason for part in parts for reason in part.reasons)
    if not kinds:
        return Relation(EQUIVALENT, reasons)
    if len(kinds) > 1:
        return Relation(UNRELATED, reasons)
    return Relation(kinds.pop(), reasons)


def _slot_relation(slot: str, ours: tuple[Block, ...], theirs: tuple[Block, ...]) -> Relation:
    """Relate what fills one slot here and there."""
    only_ours = [part for part in ours if part not in theirs]
    only_theirs = [part for part in theirs if part not in ours]
    parts = []
    for mine in list(only_ours):
        other = _counterpart(mine, only_theirs, SLOTS[slot].many)
        if other is not None:
            parts.append(_pair_relation(mine, other))
            only_ours.remove(mine)
            only_theirs.remove(other)
    adding = _EFFECT.get(SLOTS[slot].adding, UNRELATED)
    parts += [Relation(adding, (f"with {part}",)) for part in only_ours]
    parts += [Relation(_INVERSE.get(adding, adding), (f"without {part}",)) for part in only_theirs]
    return _combine(parts)


def _counterpart(mine: Block, theirs: list[Block], many: bool) -> Block | None:
    """The block that stands over there for `mine`: the same kind, or the one in its place."""
    if not many:
        return theirs[0] if theirs else None
    same = [part for part in theirs if part.name == mine.name and not mine.repeatable]
    twins = [part for part in theirs if _publish_the_same(mine, part)]
    return next(iter([*same, *twins]), None)


def _publish_the_same(mine: Block, other: Block) -> bool:
    """Whether two terms are one tensor under two names, as cubic and tensor(order=3)."""
    return SLOTS[mine.slot].many and bool(mine.provides) and mine.provides == other.provides


def _pair_relation(mine: Block, other: Block) -> Relation:
    """Relate two blocks that fill the same place."""
    differs = (f"{mine} instead of {other}",)
    if mine.name == other.name:
        kinds = [
            _parameter_relation(mine, name, value, other.parameters[name])
            for name, value in mine.parameters.items()
            if value != other.parameters[name]
        ]
        return Relation(_combine(Relation(kind, differs) for kind in kinds).kind, differs)
    if SLOTS[mine.slot].peers == EQUIVALENT or _publish_the_same(mine, other):
        return Relation(EQUIVALENT, differs)
    if _restricts(mine.slot, mine.name, other.name):
        return Relation(RESTRICTION, differs)
    if _restricts(mine.slot, other.name, mine.name):
        return Relation(RELAXATION, differs)
    return Relation(UNRELATED, differs)


def _parameter_relation(block: Block, name: str, ours: object, theirs: object) -> str:
    """Relate two values of one parameter."""
    order = block.parameter_order.get(name)
    if isinstance(order, tuple):
        if ours not in order or theirs not in order:
            return UNRELATED
        return RESTRICTION if order.index(ours) < order.index(theirs) else RELAXATION
    if order == "neutral":
        return EQUIVALENT
    if order is None or isinstance(ours, str) or isinstance(theirs, str):
        return UNRELATED
    effect = _EFFECT[order]
    if isinstance(ours, tuple) and isinstance(theirs, tuple):
        return _set_relation(set(ours), set(theirs), effect)
    return effect if ours > theirs else _INVERSE[effect]  # type: ignore[operator]


def _set_relation(ours: set[object], theirs: set[object], effect: str) -> str:
    """Relate two sets of tuples; an empty one stands for those of the data set, unknown here."""
    if ours and theirs and ours > theirs:
        return effect
    if ours and theirs and ours < theirs:
        return _INVERSE[effect]
    return UNRELATED


def _restricts(slot: str, first: str, second: str) -> bool:
    """Whether the statements lead from one block to another."""
    return _leads(slot_graph(slot), first, second)


def _leads(graph: nx.DiGraph, first: str, second: str) -> bool:
    return first in graph and second in graph and nx.has_path(graph, first, second)
