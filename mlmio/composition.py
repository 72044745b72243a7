"""Compositions: immutable sets of blocks, their algebra, and the models they build."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from mlmio.assembly import Assembly, assemble, evaluate, prepare
from mlmio.blocks import PROBLEM_CLASSES, Block
from mlmio.errors import CompositionError
from mlmio.evaluation import Evaluation
from mlmio.parse import parse_blocks
from mlmio.requirements import build_order, defaults, refuse_clashes
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
        refuse_clashes(self.blocks)

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
        return self is other or (
            self._hash == other._hash and set(self.blocks) == set(other.blocks)
        )

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        # With their names: blocks without parameters all hash alike.
        return hash(frozenset((part.name, part) for part in self.blocks))

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
        return Composition((*self.blocks, *defaults(self.blocks)))

    @cached_property
    def ordered(self) -> tuple[Block, ...]:
        """Blocks of the completed composition, each after all that it needs.

        Raises
        ------
        CompositionError
            If a block needs what none provides, or an encoding is given that none asks for.
        """
        return build_order(self.completed.blocks)

    @property
    def problem_class(self) -> str:
        """Class of the problem: the widest of its blocks' classes."""
        classes = {part.problem_class for part in self.ordered}
        widest = max(classes, key=PROBLEM_CLASSES.index)
        return "MISOCP" if widest == "SOCP" and "MILP" in classes else widest

    @property
    def solver_needs(self) -> frozenset[str]:
        """Features that a solver must have for the model: those of all blocks."""
        return frozenset().union(*(part.solver_needs for part in self.ordered))

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
        return assemble(self, self.ordered, data)

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
        return evaluate(self.ordered, prepare(self.ordered, data), metric, outliers)

    def explain(self, data: Dataset | None = None) -> None:
        """Print what is assembled, from what, why, and how large it is.

        Parameters
        ----------
        data : Dataset, optional
            Gives the sizes as numbers; without it they are formulas.
        """
        from mlmio.explaining import print_explanation

        print_explanation(self, data)


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
    for name, options in slots.items():
        if isinstance(options, str | Block | Composition):
            raise CompositionError(f"{name}={options!s} is one filling: give a list of them")
    fillings = [[_filling(name, option) for option in options] for name, options in slots.items()]
    start = compose(base)
    stripped = [part for part in start.blocks if part.slot not in slots]
    return [
        Composition((*stripped, *(part for filling in combination for part in filling)))
        for combination in product(*fillings)
    ]


def _filling(slot: str, option: Composition | Block | str | None) -> tuple[Block, ...]:
    if slot not in SLOTS:
        close = get_close_matches(slot, SLOTS, n=1)
        hint = f", did you mean {close[0]!r}?" if close else ":"
        raise CompositionError(f"there is no slot {slot!r}{hint} the slots are {', '.join(SLOTS)}")
    parts = () if option is None else compose(option).blocks
    for part in parts:
        if part.slot != slot:
            raise CompositionError(f"{part.name!r} fills slot {part.slot!r}, not {slot!r}")
    return parts
