"""The contract of a block: one piece of a formulation, in one file."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.errors import CompositionError
from mlmio.registry import blocks
from mlmio.slots import SLOTS

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.evaluation import Evaluation
    from mlmio.metric import Metric

EFFECTS = ("restricts", "relaxes", "neutral")
PROBLEM_CLASSES = ("LP", "MILP", "SOCP", "MISOCP", "MINLP")


@dataclass(frozen=True)
class Size:
    """How much a block adds to the model.

    Parameters
    ----------
    variables, rows : int or symbolic expression
        Counts; `variables` includes the binary ones.
    binaries : int or symbolic expression
        Count of binary variables.
    """

    variables: Any = 0
    rows: Any = 0
    binaries: Any = 0


@dataclass(frozen=True)
class Block:
    """One piece of a formulation, filling one slot.

    A subclass is a frozen dataclass whose fields are its parameters. It sets the class variables
    and overrides the methods that it needs, and meets other blocks only through what they publish
    on the :class:`~mlmio.context.Context` and the :class:`~mlmio.evaluation.Evaluation`.

    Attributes
    ----------
    name, slot, source : str
        Name in compositions, slot it fills, and the equation it comes from.
    problem_class : {"LP", "MILP", "SOCP", "MISOCP", "MINLP"}
        Class of problem that its variables and rows make.
    solver_needs : frozenset of str
        Features that a solver must have for its variables and rows, of
        :data:`mlmio.solvers.base.FEATURES`.
    repeatable : bool
        Whether a composition may hold it twice with different parameters.
    restricts : tuple of str
        Blocks of the same slot whose optimum is never below this one's.
    tightens : tuple of str
        Blocks of the same slot whose LP bound is never below this one's, all with their
        parameters at their defaults.
    lp_order : tuple of (str, str)
        The same of other parameters: pairs of blocks as in a composition's string, the LP bound
        of the first never above that of the second.
    parameter_order : mapping of str to str or tuple
        For each parameter, what a larger value (of tuples: one that contains the other) does to
        the optimum: ``"restricts"``, ``"relaxes"`` or ``"neutral"``; or the values in order, from
        the tightest to the loosest.
        A parameter left out makes two blocks that differ in it unrelated.
    """

    name: ClassVar[str]
    slot: ClassVar[str]
    source: ClassVar[str] = "mlmio"
    problem_class: ClassVar[str] = "LP"
    solver_needs: ClassVar[frozenset[str]] = frozenset()
    repeatable: ClassVar[bool] = False
    restricts: ClassVar[tuple[str, ...]] = ()
    tightens: ClassVar[tuple[str, ...]] = ()
    lp_order: ClassVar[tuple[tuple[str, str], ...]] = ()
    parameter_order: ClassVar[Mapping[str, str | tuple[Any, ...]]] = {}

    @property
    def provides(self) -> frozenset[str]:
        """What the block publishes for others, each thing published by one block only."""
        return frozenset()

    @property
    def needs(self) -> frozenset[str]:
        """What other blocks must have published before this one is built."""
        return frozenset()

    @property
    def requires(self) -> frozenset[str]:
        """What other blocks must provide, sooner or later, for this one to make sense."""
        return frozenset()

    @property
    def refuses(self) -> frozenset[str]:
        """What no other block may provide beside this one."""
        return frozenset()

    @property
    def label(self) -> str:
        """Name of its Pyomo block, unique in a composition."""
        return self.name

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def prepare(self, data: Dataset) -> Dataset:
        """Return the points that the model is about; by default all of them."""
        return data

    def build(self, context: Context, b: Any) -> Any:
        """Add variables and rows to the Pyomo block `b`.

        Returns
        -------
        Pyomo expression, number or None
            Contribution to the objective, which is maximised.
        """
        raise NotImplementedError(f"{type(self).__name__} has no build method")

    def finish(self, context: Context, b: Any) -> None:
        """Add what needs the whole model, which is there now with its objective."""

    def outline(self, context: Context) -> None:
        """Publish as data what `build` states in rows, for strategies that hold the rows.

        Blocks of the slots ``neighbors`` and ``loss`` override it, with one of the classes of
        :mod:`mlmio.outline`; without it they can only be solved by strategy ``direct``.
        """

    def check(self, evaluation: Evaluation) -> None:
        """Recompute, in NumPy and from the data alone, what `build` states.

        Publishes what later blocks need on `evaluation`, and reports violations and the
        contribution to the objective there.
        """

    def complete(self, b: Any, evaluation: Evaluation) -> None:
        """Set the variables of `b` to the best values for the point that was evaluated."""

    @property
    def begins_without(self) -> bool:
        """Whether to refine the block first by what is found without it."""
        return False

    def refine(self, metric: Metric) -> Block | None:
        """Return the block to solve with again, now that it is known what a solve gives.

        For blocks that come to their statement in rounds, see :mod:`mlmio.refining`.

        Parameters
        ----------
        metric : Metric
            What the last solve found, or what the first is to start from, in the scaled
            coordinates of the data.

        Returns
        -------
        Block or None
            None where there is nothing left to refine.
        """
        return None

    def mend(self, metric: Metric) -> Metric:
        """Return the nearest metric that satisfies the block.

        A block overrides it whose rows are a relaxation of what it states: what a solve gives
        may then violate it, while every bound holds.
        """
        return metric

    def size(self, n: Any) -> Size:
        """How much the block adds, for dimensions `n` (:class:`~mlmio.sizes.Dimensions`).

        What only solving tells, as the number of cuts, is left out.
        """
        return Size()

    def extend(self, n: Any) -> None:
        """Set the dimensions that the block decides for the others."""

    def __str__(self) -> str:
        given = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{self.name}({', '.join(given)})" if given else self.name

    def __add__(self, other: Block | Composition | str) -> Composition:
        return _composition(self) + other

    def __or__(self, other: Block | Composition | str) -> Composition:
        return _composition(self) | other


def _composition(block: Block) -> Composition:
    from mlmio.composition import Composition

    return Composition((block,))


def block(name: str, **parameters: Any) -> Block:
    """Make a registered block.

    Parameters
    ----------
    name : str
        Registered name, see ``mlmio blocks``.
    **parameters
        Its parameters.

    Raises
    ------
    CompositionError
        If the name, a parameter or a value is unknown.

    Examples
    --------
    >>> print(block("outliers", rho=0.05))
    outliers(rho=0.05)
    """
    cls = blocks.get(name)
    known = [field.name for field in fields(cls)]
    for parameter in parameters:
        if parameter not in known:
            takes = f"it takes {', '.join(known)}" if known else "it takes none"
            raise CompositionError(f"block {name!r} has no parameter {parameter!r}: {takes}")
    return cls(**parameters)


def register_block(cls: type[Any]) -> type[Any]:
    """Class decorator that makes a block known by its ``name``.

    Raises
    ------
    CompositionError
        If it is no frozen dataclass of a block, its class variables make no sense, or its name is
        taken.
    """
    wrong = _what_is_wrong_with(cls)
    if wrong:
        raise CompositionError(f"{cls.__qualname__} cannot be registered as a block: {wrong}")
    return blocks.register(cls)


def _what_is_wrong_with(cls: type[Any]) -> str:
    """Say what keeps a class from being a block; empty where nothing does."""
    if not issubclass(cls, Block) or "__dataclass_params__" not in vars(cls):
        return "give it the base Block and the decorator @dataclass(frozen=True) below this one"
    name, slot = getattr(cls, "name", None), getattr(cls, "slot", None)
    if not (isinstance(name, str) and name.isidentifier()):
        return f"its name is {name!r}: give a text that is a Python name"
    if slot not in SLOTS:
        return f"its slot is {slot!r}: the slots are {', '.join(SLOTS)}"
    if cls.problem_class not in PROBLEM_CLASSES:
        return f"its problem_class is {cls.problem_class!r}: give {' or '.join(PROBLEM_CLASSES)}"
    known = {field.name for field in fields(cls)}
    for parameter, order in cls.parameter_order.items():
        if parameter not in known:
            return f"its parameter_order names {parameter!r}, which is no parameter"
        if not isinstance(order, tuple) and order not in EFFECTS:
            return f"its parameter_order has {order!r}: give {' or '.join(EFFECTS)} or a tuple"
    return ""


def check_number(
    block: Block, parameter: str, minimum: float = -math.inf, maximum: float = math.inf
) -> None:
    """Hold a parameter to a finite number in [minimum, maximum], stored as float.

    Raises
    ------
    CompositionError
        If it is not.
    """
    value = getattr(block, parameter)
    good = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    # Not math.isfinite, which a whole number too large for a float is too much for.
    finite = good and abs(value) <= sys.float_info.max
    if not (finite and minimum <= value <= maximum):
        raise CompositionError(_wrong(block, parameter, f"a number{_range(minimum, maximum)}"))
    object.__setattr__(block, parameter, float(value))


def check_count(block: Block, parameter: str, minimum: int = 0, maximum: float = math.inf) -> None:
    """Hold a parameter to a whole number in [minimum, maximum], stored as int.

    Raises
    ------
    CompositionError
        If it is not.
    """
    value = getattr(block, parameter)
    good = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (good and minimum <= value <= maximum):
        wanted = f"a whole number{_range(minimum, maximum)}"
        raise CompositionError(_wrong(block, parameter, wanted))
    object.__setattr__(block, parameter, int(value))


def check_choice(block: Block, parameter: str, allowed: Sequence[Any]) -> None:
    """Hold a parameter to one of the allowed values.

    Raises
    ------
    CompositionError
        If it is none of them.
    """
    if getattr(block, parameter) not in allowed:
        options = " or ".join(repr(value) for value in allowed)
        raise CompositionError(_wrong(block, parameter, options))


def check_tuples(block: Block, parameter: str, width: int, hint: str = "") -> None:
    """Hold a parameter to tuples of `width` identifiers each, stored as plain tuples.

    Raises
    ------
    CompositionError
        If it is anything else; `hint` ends the message.
    """
    tuples = getattr(block, parameter)
    wrong = [tuples]
    if isinstance(tuples, list | tuple | np.ndarray):
        wrong = [points for points in tuples if not _names_points(points, width)]
    if wrong:
        raise CompositionError(
            f"parameter {parameter!r} of block {block.name!r} has {wrong[0]!r}: give tuples of "
            f"{width} ids, such as ({tuple(range(width))},){hint}"
        )
    # NumPy's types would not survive the round trip through a composition's string.
    plain = tuple(
        tuple(point.item() if isinstance(point, np.generic) else point for point in points)
        for points in tuples
    )
    object.__setattr__(block, parameter, plain)


def _names_points(points: Any, width: int) -> bool:
    """Whether it is a tuple of `width` whole numbers or texts."""
    return (
        isinstance(points, tuple | list | np.ndarray)
        and len(points) == width
        and all(isinstance(point, int | str | np.integer) for point in points)
    )


def _wrong(block: Block, parameter: str, wanted: str) -> str:
    value = getattr(block, parameter)
    return f"parameter {parameter!r} of block {block.name!r} is {value!r}: give {wanted}"


def _range(minimum: float, maximum: float) -> str:
    if math.isinf(minimum) and math.isinf(maximum):
        return ""
    if math.isinf(maximum):
        return f" of at least {minimum:g}"
    return f" from {minimum:g} to {maximum:g}"
