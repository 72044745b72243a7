"""A page for every registered block, and the table of them all, made from the registry."""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator, Sequence
from dataclasses import MISSING, fields
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages import session, table, title, write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What an example is made of where the block does not need something else.
USUAL = ("quadratic", "nearest")
USUAL_SOLVERS = ("highs", "scip")
DATA = 'mlmio.load_dataset("iris", per_class=4)'
WORDS = {
    "restricts": "restricts: the optimum can only fall",
    "relaxes": "relaxes: the optimum can only rise",
    "neutral": "changes nothing in the optimum",
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", make_pages)
    return {"parallel_read_safe": True}


def make_pages(app: Sphinx) -> None:
    """Write a page for each block, and the table."""
    from mlmio.registry import blocks

    folder = Path(app.srcdir) / "blocks"
    names = blocks.names()
    for old in folder.glob("*.rst"):
        if old.stem not in names:
            old.unlink()
    for name in names:
        write(folder / f"{name}.rst", page(name))
    write(Path(app.srcdir) / "_generated" / "blocks.inc", overview())
    write(Path(app.srcdir) / "_generated" / "slots.inc", slot_table())


def slot_table() -> str:
    """Return the table of the slots."""
    from mlmio.slots import SLOTS

    rows = [
        (
            f"``{slot.name}``",
            how_many(slot),
            ", ".join(link(name) for name, _ in members(slot.name)),
            "equivalent" if slot.peers == "equivalent" else ADDING.get(slot.adding, "unrelated"),
        )
        for slot in SLOTS.values()
    ]
    heads = ("slot", "how many", "blocks", "one block more, or another")
    return table(heads, rows, "12 30 36 22")


def overview() -> str:
    """Return the table of all blocks, slot by slot."""
    from mlmio.slots import SLOTS

    parts = []
    for slot in SLOTS.values():
        rows = [
            (f":doc:`{name} <blocks/{name}>`", summary(cls), cls.problem_class)
            for name, cls in members(slot.name)
        ]
        if rows:
            parts += [title(slot.name, "-"), how_many(slot), "", table(HEADS, rows, "18 70 12")]
    return "\n".join(parts)


ADDING = {"relaxes": "each one more relaxes", "restricts": "each one more restricts"}
HEADS = ("block", "what it is", "class")


def page(name: str) -> str:
    """Return the page of one block."""
    from mlmio.composition import Composition
    from mlmio.registry import blocks

    cls = blocks.get(name)
    composition: Composition = example_of(name)
    return "\n".join(
        [
            title(name),
            f".. autoclass:: {cls.__module__}.{cls.__qualname__}",
            "   :no-members:",
            "",
            title("Place", "-"),
            table(("", ""), place(cls), "20 80"),
            *parameters(cls),
            title("Relations", "-"),
            *(f"* {line}" for line in relations(cls)),
            "",
            title("Example", "-"),
            session(statements(composition)),
            title("Size", "-"),
            "The same model, block by block: what was counted on those 12 points of Iris, and the "
            "formula that the block states.",
            "",
            size_table(name, composition),
            symbols(),
            "",
        ]
    )


def place(cls: Any) -> Iterator[tuple[str, str]]:
    """Yield the facts of a block, two columns."""
    from mlmio.slots import SLOTS

    block = cls()
    yield "Slot", f"``{cls.slot}``. {how_many(SLOTS[cls.slot])}"
    yield "Class", f"{cls.problem_class}"
    yield "Source", cls.source
    if block.needs | block.requires:
        yield "Needs", listed(sorted(block.needs | block.requires))
    if block.provides:
        yield "Provides", listed(sorted(block.provides))


def parameters(cls: Any) -> list[str]:
    """Return the table of parameters, or nothing."""
    rows = [
        (f"``{field.name}``", "" if field.default is MISSING else f"``{field.default!r}``", effect)
        for field in fields(cls)
        for effect in [effect_of(cls.parameter_order.get(field.name))]
    ]
    heads = ("parameter", "default", "a larger value, or more of them")
    return (
        [title("Parameters and the optimum", "-"), table(heads, rows, "20 20 60")] if rows else []
    )


def effect_of(order: Any) -> str:
    """Say what a larger value of a parameter does."""
    if isinstance(order, tuple):
        return "from tight to loose: " + ", ".join(f"``{value!r}``" for value in order)
    return WORDS.get(order, "no order that holds for all data")


def relations(cls: Any) -> Iterator[str]:
    """Yield what the data of a block and of its peers say."""
    from mlmio.slots import SLOTS

    slot = SLOTS[cls.slot]
    peers = {name: peer for name, peer in members(cls.slot) if name != cls.name}
    lines = [f"Restricts {link(other)}: its optimum is never above." for other in cls.restricts]
    lines += [
        f"Restricted by {link(name)}: its optimum is never below."
        for name, peer in peers.items()
        if cls.name in peer.restricts
    ]
    if slot.peers == "equivalent" and peers:
        lines.append(f"Equivalent to {' and '.join(map(link, peers))}: the optimum is the same.")
    lines += [f"Its LP bound is never above that of {link(other)}." for other in cls.tightens]
    lines += [
        f"Its LP bound is never below that of {link(name)}."
        for name, peer in peers.items()
        if cls.name in peer.tightens
    ]
    lines += [
        f"The LP bound of ``{tight}`` is never above that of ``{loose}``."
        for tight, loose in cls.lp_order
    ]
    if slot.adding != "unrelated":
        lines.append(f"Adding it to a composition {WORDS[slot.adding]}.")
    if slot.tightening:
        lines.append("The LP bound can only fall by it.")
    yield from lines or [f"No order among the blocks of ``{slot.name}`` holds for all data."]


def how_many(slot: Any) -> str:
    """Say how many blocks may fill a slot, and what fills it by default."""
    many = (
        ("One or more." if slot.required else "Any number.")
        if slot.many
        else ("Exactly one." if slot.required else "At most one.")
    )
    default = f" ``{slot.default}`` where one is needed and none is given." if slot.default else ""
    return many + default


def example_of(name: str) -> Any:
    """Return the smallest complete composition that has a block."""
    from mlmio.registry import blocks

    others = [*USUAL, *(other for other in blocks.names() if other not in USUAL)]
    others.remove(name)
    for count in range(len(others) + 1):
        for chosen in combinations(others, count):
            if is_complete((name, *chosen)):
                return with_points((name, *chosen))
    raise LookupError(f"no composition with {name} is complete")


def is_complete(names: Sequence[str]) -> bool:
    """Say whether blocks with their defaults make a composition that lacks nothing."""
    from mlmio.blocks import block
    from mlmio.composition import Composition
    from mlmio.errors import CompositionError

    try:
        Composition(map(block, names)).ordered  # noqa: B018 - raises where it is not
    except CompositionError:
        return False
    return True


def with_points(names: Sequence[str]) -> Any:
    """Compose blocks, those of the slot side with some points that agree with the classes."""
    from mlmio.composition import Composition

    candidates = [
        Composition(parts) for parts in product(*(choices(name, names) for name in names))
    ]
    if len(candidates) == 1:
        return candidates[0]
    return max(candidates, key=objective)


def choices(name: str, names: Sequence[str]) -> list[Any]:
    """Return a block with its defaults, or with each kind of points that it may be told.

    With the semantics that cuts take, where there are some among the `names`.
    """
    from mlmio.blocks import block
    from mlmio.registry import blocks

    cls = blocks.get(name)
    if name == "outliers" and any(blocks.get(other).slot == "cuts" for other in names):
        return [block(name, semantics="excuse")]
    if cls.slot != "side":
        return [block(name)]
    data = load()
    i, (j, *_), (k, *_) = 0, data.co_class(0), data.non_class(0)
    tuples = [(i, j, k)] if cls.width == 3 else [(i, j), (i, k)]
    ids = [tuple(data.ids[list(points)].tolist()) for points in tuples]
    return [block(name, **{cls.given: (points,)}) for points in ids]


def objective(composition: Any) -> float:
    """Return the optimum, minus infinity where there is none."""
    import mlmio

    try:
        result = mlmio.solve(composition, load(), solver=solver_for(composition))
    except mlmio.MlmioError:
        return -math.inf
    return -math.inf if result.objective is None else result.objective


def load() -> Any:
    """Load the points of the examples."""
    import mlmio

    return mlmio.load_dataset("iris", per_class=4)


def solver_for(composition: Any) -> str:
    """Return the name of an installed solver for a composition, or nothing."""
    from mlmio.registry import solvers

    for name in (*USUAL_SOLVERS, *solvers.names()):
        cls = solvers.get(name)
        if _takes(cls, composition) and cls().version():
            return name
    return ""


def _takes(cls: Any, composition: Any) -> bool:
    """Whether a solver's class takes a composition."""
    return composition.problem_class in cls.classes and composition.solver_needs <= cls.features


def statements(composition: Any) -> list[str]:
    """Return what to type to solve a composition, or to build it where no solver is here."""
    start = ["import mlmio", f"data = {DATA}", f'composition = mlmio.compose("{composition}")']
    solver = solver_for(composition)
    if not solver:
        return [*start, "model = composition.build(data)", "print(composition.problem_class)"]
    argument = "" if solver == "highs" else f', solver="{solver}"'
    return [
        *start,
        f"result = mlmio.solve(composition, data{argument})",
        "print(result.status, round(result.objective, 6), result.verified)",
    ]


def size_table(name: str, composition: Any) -> str:
    """Return the size of every block of a model, measured, and as the blocks state it."""
    from mlmio.explaining import show_size
    from mlmio.sizes import Dimensions

    assembly = composition.assemble(load())
    n = Dimensions.symbols()
    for part in assembly.blocks:
        part.extend(n)
    rows = []
    for part in assembly.blocks:
        stated = part.size(n)
        counts = count(assembly.model.component(part.label))
        shown = f"**{part.name}**" if part.name == name else link(part.name)
        formulas = (show_size([getattr(stated, what)]) for what in WHAT)
        rows.append(
            (
                shown,
                *(
                    f"{c} = {f}" if str(c) != f else c
                    for c, f in zip(counts, formulas, strict=True)
                ),
            )
        )
    return table(("block", *WHAT), rows)


WHAT = ("variables", "binaries", "rows")


def count(b: Any) -> tuple[int, int, int]:
    """Count variables, binary ones and rows of a Pyomo block."""
    from pyomo.core import Constraint, Var

    variables = list(b.component_data_objects(Var))
    rows = sum(1 for _ in b.component_data_objects(Constraint, active=True))
    return len(variables), sum(v.is_binary() for v in variables), rows


def symbols() -> str:
    """Return what the letters of the formulas stand for."""
    from mlmio.sizes import SYMBOLS

    return f"{SYMBOLS}."


def members(slot: str) -> list[tuple[str, Any]]:
    """Return the registered blocks of a slot, terms by their order."""
    from mlmio.registry import blocks

    found = [(name, blocks.get(name)) for name in blocks.names()]
    inside = [(name, cls) for name, cls in found if cls.slot == slot]
    return sorted(inside, key=lambda one: getattr(one[1](), "order", 0))


def summary(cls: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(cls) or "").split("\n")[0]


def link(name: str) -> str:
    """Return a link to the page of a block."""
    return f":doc:`/blocks/{name}`"


def listed(names: list[str]) -> str:
    """Return names as literals."""
    return ", ".join(f"``{name}``" for name in names)
