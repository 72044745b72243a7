"""Compositions: immutable sets of blocks, their algebra, and the models they build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike

from mlmio.blocks import PROBLEM_CLASSES, Block, block
from mlmio.context import Context
from mlmio.errors import CompositionError
from mlmio.evaluation import Evaluation
from mlmio.parse import parse_blocks
from mlmio.registry import blocks
from mlmio.slots import SLOT_ORDER, SLOTS

if TYPE_CHECKING:
    from mlmio.data import Dataset
    from mlmio.metric import Metric


class Composition:
    """An immutable set of blocks.

    ``+`` adds blocks (commutative and idempotent), ``|`` replaces what fills a slot, ``-`` drops
    a block by name. Printing a composition gives the string that makes it.

    Parameters
    ----------
    parts : iterable of Block
        The blocks.

    Raises
    ------
    CompositionError
        If two blocks want one place.

    Examples
    --------
    >>> c = compose("quadratic + nearest + bigm")
    >>> print(c | "mccormick")
    quadratic + mccormick + nearest
    >>> c == compose("bigm + nearest + quadratic")
    True
    """

    def __init__(self, parts: Iterable[Block]) -> None:
        unique = set(parts)
        ordered = sorted(unique, key=lambda part: (SLOT_ORDER[part.slot], str(part)))
        self.blocks: tuple[Block, ...] = tuple(ordered)
        _refuse_clashes(self.blocks)

    def __add__(self, other: Composition | Block | str) -> Composition:
        return Composition((*self.blocks, *compose(other).blocks))

    def __radd__(self, other: Block | str) -> Composition:
        return self + other

    def __or__(self, other: Composition | Block | str) -> Composition:
        new = compose(other)
        replaced = {part.slot for part in new.blocks}
        kept = [part for part in self.blocks if part.slot not in replaced]
        return Composition((*kept, *new.blocks))

    def __sub__(self, name: str) -> Composition:
        kept = [part for part in self.blocks if part.name != name]
        if len(kept) == len(self.blocks):
            raise CompositionError(f"cannot drop {name!r}: it is not in '{self}'")
        return Composition(kept)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Composition):
            return NotImplemented
        return set(self.blocks) == set(other.blocks)

    def __hash__(self) -> int:
        return hash(frozenset(self.blocks))

    def __str__(self) -> str:
        return " + ".join(str(part) for part in self.blocks)

    def __repr__(self) -> str:
        return f"compose({str(self)!r})"

    def _repr_html_(self) -> str:
        from mlmio.explaining import explain_html

        return explain_html(self)

    def slot(self, name: str) -> tuple[Block, ...]:
        """Blocks that fill a slot, defaults not counted."""
        return tuple(part for part in self.blocks if part.slot == name)

    @cached_property
    def completed(self) -> Composition:
        """The composition with the default block in every slot that needs one.

        Raises
        ------
        CompositionError
            If a required slot stays empty.
        """
        added = []
        needs = set().union(*(part.needs for part in self.blocks))
        for slot in SLOTS.values():
            if self.slot(slot.name):
                continue
            if slot.default and (slot.required or slot.name in needs):
                added.append(block(slot.default))
            elif slot.required:
                raise CompositionError(
                    f"'{self}' has no block in slot {slot.name!r}: "
                    f"add {' or '.join(_names_in(slot.name))}"
                )
        return Composition((*self.blocks, *added))

    @cached_property
    def ordered(self) -> tuple[Block, ...]:
        """Blocks of the completed composition, each after all that it needs.

        Raises
        ------
        CompositionError
            If a block needs what none provides, or an encoding is given that none asks for.
        """
        parts = self.completed.blocks
        providers = {token: part for part in parts for token in part.provides}
        graph = nx.DiGraph()
        graph.add_nodes_from(parts)
        for part in parts:
            for token in sorted(part.needs | part.requires):
                if token not in providers:
                    raise CompositionError(_missing(part, token))
            for token in part.needs:
                graph.add_edge(providers[token], part)
        _refuse_idle_encoding(parts)
        return tuple(nx.lexicographical_topological_sort(graph, key=_build_order))

    @property
    def problem_class(self) -> str:
        """Class of the problem: the widest of its blocks' classes."""
        return max((part.problem_class for part in self.ordered), key=PROBLEM_CLASSES.index)

    def build(self, data: Dataset) -> Any:
        """Build the model.

        Parameters
        ----------
        data : Dataset
            The points.

        Returns
        -------
        pyomo.environ.ConcreteModel
            A plain Pyomo model, one Pyomo block for each block, maximising ``objective``.

        Raises
        ------
        CompositionError
            If the composition is not complete.
        DataError
            If the data do not allow it, such as a class with too few points.
        """
        return self.assemble(data).model

    def assemble(self, data: Dataset) -> Assembly:
        """Build the model, and keep what connects it to the composition and the data."""
        import pyomo.environ as pyo

        parts = self.ordered
        for part in parts:
            data = part.prepare(data)
        model = pyo.ConcreteModel(name=str(self))
        context = Context(data, model)
        objective: Any = 0
        for part in parts:
            b = pyo.Block(concrete=True)
            model.add_component(part.label, b)
            contribution = part.build(context, b)
            if contribution is not None:
                objective = objective + contribution
        model.objective = pyo.Objective(expr=objective, sense=pyo.maximize)
        return Assembly(self, parts, context)

    def evaluate(
        self, data: Dataset, metric: Metric, outliers: ArrayLike | None = None
    ) -> Evaluation:
        """Evaluate a metric and a set of outliers from the data alone, without a model.

        Parameters
        ----------
        data : Dataset
            The points.
        metric : Metric
            θ.
        outliers : (N,) array of bool, optional
            z; none by default.
        """
        for part in self.ordered:
            data = part.prepare(data)
        return evaluate(self.ordered, data, metric, outliers)

    def explain(self, data: Dataset | None = None) -> None:
        """Print what is assembled, from what, why, and how large it is.

        Parameters
        ----------
        data : Dataset, optional
            Gives the sizes as numbers; without it they are formulas.
        """
        from mlmio.explaining import print_explanation

        print_explanation(self, data)


@dataclass(frozen=True)
class Assembly:
    """A built model and what connects it to the composition and the data.

    Parameters
    ----------
    composition : Composition
        What was asked for.
    blocks : tuple of Block
        The blocks in the order of building.
    context : Context
        What they published.
    """

    composition: Composition
    blocks: tuple[Block, ...]
    context: Context

    @property
    def model(self) -> Any:
        """The Pyomo model."""
        return self.context.model

    @property
    def data(self) -> Dataset:
        """The points that the model is about."""
        return self.context.data

    @property
    def resolved(self) -> Composition:
        """The completed composition, parameters that depended on the data replaced by values."""
        return Composition(self._resolved_blocks())

    def _resolved_blocks(self) -> tuple[Block, ...]:
        return tuple(self.context.resolved.get(part, part) for part in self.blocks)

    def complete(self, metric: Metric, outliers: ArrayLike | None = None) -> Evaluation:
        """Set every variable to its best value for a point (θ, z) that came from elsewhere.

        Parameters
        ----------
        metric : Metric
            θ, in the scaled coordinates of the data.
        outliers : (N,) array of bool, optional
            z; none by default.

        Returns
        -------
        Evaluation
            The same point evaluated from the data alone.
        """
        parts = self._resolved_blocks()
        evaluation = evaluate(parts, self.data, metric, outliers)
        for part in parts:
            part.complete(self.model.component(part.label), evaluation)
        return evaluation


def evaluate(
    parts: Sequence[Block], data: Dataset, metric: Metric, outliers: ArrayLike | None
) -> Evaluation:
    """Let every block check a point; `data` are the points that the model is about."""
    mask = np.zeros(data.N, dtype=bool) if outliers is None else np.asarray(outliers, dtype=bool)
    evaluation = Evaluation(data, metric, mask)
    for part in parts:
        part.check(evaluation)
    return evaluation


def compose(spec: Composition | Block | str | Iterable[Block]) -> Composition:
    """Make a composition from its string, from a block, or from several.

    Parameters
    ----------
    spec : str, Block, Composition or iterable of Block
        Such as ``"quadratic + nearest + outliers(rho=0.1)"``.

    Raises
    ------
    CompositionError
        If the string cannot be read, a block or parameter is unknown, or two blocks clash.
    """
    if isinstance(spec, Composition):
        return spec
    if isinstance(spec, str):
        return Composition(parse_blocks(spec))
    if isinstance(spec, Block):
        return Composition((spec,))
    parts = tuple(spec) if isinstance(spec, Iterable) else (spec,)
    for part in parts:
        if not isinstance(part, Block):
            raise CompositionError(
                f"cannot compose {type(part).__name__} {part!r}: give a string or blocks"
            )
    return Composition(parts)


def variants(
    base: Composition | Block | str,
    **slots: Sequence[Composition | Block | str | None],
) -> list[Composition]:
    """Make a grid of compositions.

    Parameters
    ----------
    base : Composition, Block or str
        Where the grid starts from.
    **slots
        For each slot, what shall fill it in turn; None leaves it empty.

    Returns
    -------
    list of Composition
        One for every combination, the last slot changing fastest.

    Raises
    ------
    CompositionError
        If a slot is unknown, or something does not belong in it.

    Examples
    --------
    >>> for c in variants("quadratic + nearest", encoding=["bigm", "mccormick"]):
    ...     print(c)
    quadratic + bigm + nearest
    quadratic + mccormick + nearest
    """
    fillings = [[_filling(name, option) for option in options] for name, options in slots.items()]
    start = compose(base)
    stripped = [part for part in start.blocks if part.slot not in slots]
    return [
        Composition((*stripped, *(part for filling in combination for part in filling)))
        for combination in product(*fillings)
    ]


def _filling(slot: str, option: Composition | Block | str | None) -> tuple[Block, ...]:
    if slot not in SLOTS:
        raise CompositionError(f"there is no slot {slot!r}: the slots are {', '.join(SLOTS)}")
    parts = () if option is None else compose(option).blocks
    for part in parts:
        if part.slot != slot:
            raise CompositionError(f"{part.name!r} fills slot {part.slot!r}, not {slot!r}")
    return parts


def _refuse_clashes(parts: Sequence[Block]) -> None:
    """Raise where two blocks want one place."""
    taken: dict[str, Block] = {}
    for part in parts:
        claims = {*part.provides}
        if not SLOTS[part.slot].many:
            claims.add(f"slot {part.slot!r}")
        if not part.repeatable:
            claims.add(f"block {part.name!r}")
        for claim in sorted(claims):
            if claim in taken:
                raise CompositionError(
                    f"'{taken[claim]}' and '{part}' clash, since both fill {claim}: "
                    f"keep one of them, or replace with |"
                )
            taken[claim] = part


def _refuse_idle_encoding(parts: Sequence[Block]) -> None:
    asked = any("encoding" in part.needs for part in parts)
    for part in parts:
        if part.slot == "encoding" and not asked:
            neighbors = next(other for other in parts if other.slot == "neighbors")
            raise CompositionError(
                f"'{part}' has nothing to encode, since '{neighbors}' takes no encoding: "
                f"drop it, or use {' or '.join(_names_needing('encoding'))}"
            )


def _build_order(part: Block) -> tuple[int, str]:
    return SLOT_ORDER[part.slot], str(part)


def _missing(part: Block, token: str) -> str:
    suppliers = [name for name, cls in blocks.available().items() if token in cls().provides]
    would_do = f"add {' or '.join(suppliers)}" if suppliers else "no registered block provides it"
    return f"'{part}' needs {token!r}, which no block here provides: {would_do}"


def _names_in(slot: str) -> list[str]:
    return [name for name, cls in blocks.available().items() if cls.slot == slot]


def _names_needing(token: str) -> list[str]:
    return [name for name, cls in blocks.available().items() if token in cls().needs]
