"""The open nodes of a search, best bound first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Generic, TypeVar

import numpy as np

Held = TypeVar("Held")


@dataclass(order=True)
class Open(Generic[Held]):
    """An open node, and the bound that it has; of equal bounds the last comes first."""

    priority: tuple[float, int]
    node: Held = field(compare=False)

    @property
    def bound(self) -> float:
        """Bound of what the node holds."""
        return -self.priority[0]


class Frontier(Generic[Held]):
    """A heap of open nodes."""

    def __init__(self) -> None:
        self._heap: list[Open[Held]] = []
        self._serial = count()

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[Open[Held]]:
        return iter(self._heap)

    @property
    def bound(self) -> float:
        """The best bound, −inf where no node is open."""
        return self._heap[0].bound if self._heap else -np.inf

    def add(self, bound: float, node: Held) -> None:
        """Take in a node."""
        heapq.heappush(self._heap, Open((-bound, -next(self._serial)), node))

    def put_back(self, entries: Iterable[Open[Held]]) -> None:
        """Take nodes in again, in the places that they had."""
        for entry in entries:
            heapq.heappush(self._heap, entry)

    def take(self, most: int, wanted: float) -> list[Open[Held]]:
        """Take out the best nodes, at most so many; those whose bounds are not wanted are gone."""
        taken: list[Open[Held]] = []
        while self._heap and len(taken) < most:
            if self.bound > wanted:
                taken.append(heapq.heappop(self._heap))
            else:
                self._heap.clear()
        return taken
