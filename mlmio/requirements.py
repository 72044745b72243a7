"""What blocks need of one another: clashes, defaults, and the order of building."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx

from mlmio.blocks import Block, block
from mlmio.errors import CompositionError
from mlmio.registry import blocks
from mlmio.slots import SLOT_ORDER, SLOTS


def refuse_clashes(parts: Sequence[Block]) -> None:
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


def defaults(parts: Sequence[Block]) -> list[Block]:
    """Return the default block of every slot that needs one and is empty.

    Raises
    ------
    CompositionError
        If a required slot is empty and has no default.
    """
    added = []
    filled = {part.slot for part in parts}
    needs = set().union(*(part.needs for part in parts))
    for slot in SLOTS.values():
        if slot.name in filled:
            continue
        if slot.default and (slot.required or slot.name in needs):
            added.append(block(slot.default))
        elif slot.required:
            spec = " + ".join(map(str, parts))
            raise CompositionError(
                f"'{spec}' has no block in slot {slot.name!r}: "
                f"add {' or '.join(_names_in(slot.name))}"
            )
    return added


def build_order(parts: Sequence[Block]) -> tuple[Block, ...]:
    """Return the blocks each after all that it needs, in the order of the slots where free.

    Raises
    ------
    CompositionError
        If a block needs what none provides or refuses what one does, blocks need one another in a
        circle, or an encoding is given that none asks for.
    """
    providers = {token: part for part in parts for token in part.provides}
    graph = nx.DiGraph()
    graph.add_nodes_from(parts)
    for part in parts:
        missing = sorted((part.needs | part.requires) - providers.keys())
        if missing:
            raise CompositionError(f"'{part}' needs {'; and '.join(map(_missing, missing))}")
        for token in sorted(part.refuses & providers.keys()):
            raise CompositionError(
                f"'{part}' cannot stand beside '{providers[token]}': drop one of them"
            )
        graph.add_edges_from((providers[token], part) for token in part.needs)
    if not nx.is_directed_acyclic_graph(graph):
        circle = " and ".join(f"'{part}'" for part, _ in nx.find_cycle(graph))
        raise CompositionError(f"{circle} each need what the other provides: drop one of them")
    _refuse_idle_encoding(parts)
    return tuple(nx.lexicographical_topological_sort(graph, key=_slot_position))


def _refuse_idle_encoding(parts: Sequence[Block]) -> None:
    asked = any("encoding" in part.needs for part in parts)
    for part in parts:
        if part.slot == "encoding" and not asked:
            neighbors = next(other for other in parts if other.slot == "neighbors")
            raise CompositionError(
                f"'{part}' has nothing to encode, since '{neighbors}' takes no encoding: "
                f"drop it, or use {' or '.join(_names_needing('encoding'))}"
            )


def _slot_position(part: Block) -> tuple[int, str]:
    return SLOT_ORDER[part.slot], str(part)


def _missing(token: str) -> str:
    suppliers = [name for name, cls in blocks.available().items() if token in cls().provides]
    would_do = f"add {' or '.join(suppliers)}" if suppliers else "no registered block provides it"
    return f"{token!r}, which no block here provides: {would_do}"


def _names_in(slot: str) -> list[str]:
    return [name for name, cls in blocks.available().items() if cls.slot == slot]


def _names_needing(token: str) -> list[str]:
    return [name for name, cls in blocks.available().items() if token in cls().needs]
