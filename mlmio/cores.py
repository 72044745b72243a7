"""Cores that are known: sets of points of which one at least must be given up."""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, order=True)
class Core:
    """While all of these points are kept no objective, but for prices, exceeds a level.

    Parameters
    ----------
    size : int
        How many points they are.
    members : int
        The points, as bits.
    level : float
        The level.
    """

    size: int
    members: int
    level: float


class Cores:
    """Cores, the smallest first.

    Cores that share no point are hit by one point each: with h points given up, of h + 1 such cores
    one is left.
    """

    def __init__(self, found: Iterable[Core] = ()) -> None:
        self._found = sorted(set(found))
        self._by_level = sorted(self._found, key=_level_first)

    def copy(self) -> Cores:
        """Return the same cores, to be added to."""
        return Cores(self._found)

    def merge(self, others: Cores) -> None:
        """Take in the cores that others have."""
        both = Cores([*self._found, *others._found])
        self._found, self._by_level = both._found, both._by_level

    def add(self, members: NDArray[np.bool_], level: float) -> None:
        """Take in a core: an (N,) array of bool, and its level."""
        bits = bits_of(members)
        insort(self._found, core := Core(bits.bit_count(), bits, level))
        insort(self._by_level, core, key=_level_first)

    def of_level(self, level: float, N: int) -> NDArray[np.bool_]:
        """Return the cores of a level at most, as a (C, N) array of bool."""
        found = [points_of(core.members, N) for core in self._found if core.level <= level]
        return np.array(found, dtype=bool).reshape(-1, N)

    def apart(self, given_up: int, kept: int, level: float, count: int) -> list[int]:
        """Choose cores of a level at most that share no point which may still be given up.

        Parameters
        ----------
        given_up, kept : int
            Points that are decided, as bits.
        level : float
            The level.
        count : int
            How many are enough.

        Returns
        -------
        list of int
            Of each core the points that may still be given up, as bits.
        """
        chosen: list[int] = []
        used = 0
        for core in self._found:
            free = core.members & ~kept
            if core.level <= level and not core.members & given_up and not free & used:
                chosen.append(free)
                used |= free
                # Where nobody of it may be given up it cannot be hit at all.
                if len(chosen) == count or not free:
                    break
        return chosen

    def smallest(self, given_up: int, kept: int, level: float) -> int | None:
        """Choose the core of a level at most with the fewest points that may still be given up.

        Returns
        -------
        int or None
            Those points, as bits; None if no core is left.
        """
        left = (
            core.members & ~kept
            for core in self._found
            if core.level <= level and not core.members & given_up
        )
        return min(left, key=lambda free: (free.bit_count(), free), default=None)

    def bound(self, given_up: int, kept: int, price: float, most: float, first: int) -> float:
        """Bound the objective with further points given up, but for the prices of the first ones.

        Parameters
        ----------
        given_up, kept : int
            Points that are decided, as bits.
        price : float
            Of each further point that is given up.
        most : float
            What the objective, but for prices, never exceeds.
        first : int
            The least number of further points, whose price counts.
        """
        bound, used, hit = -np.inf, 0, 0
        for core in self._by_level:
            free = core.members & ~kept
            if core.members & given_up or free & used:
                continue
            if hit >= first:
                bound = max(bound, core.level - price * hit)
            if not free:
                return float(max(bound, core.level - price * max(hit, first)))
            used |= free
            hit += 1
        return float(max(bound, most - price * max(hit, first)))


def _level_first(core: Core) -> tuple[float, Core]:
    return core.level, core


def bits_of(points: NDArray[np.bool_]) -> int:
    """Return a set of points as the bits of a number."""
    return int.from_bytes(np.packbits(points, bitorder="little").tobytes(), "little")


def points_of(bits: int, N: int) -> NDArray[np.bool_]:
    """Return a set of points, given as bits, as an (N,) array of bool."""
    packed = np.frombuffer(bits.to_bytes(-(-N // 8), "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=N, bitorder="little").astype(bool)
