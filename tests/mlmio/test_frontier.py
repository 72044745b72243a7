"""Open nodes are taken best bound first, and the last of those that have one bound."""

from __future__ import annotations

import numpy as np

from mlmio.frontier import Frontier


def filled() -> Frontier[str]:
    frontier: Frontier[str] = Frontier()
    for bound, name in ((1.0, "a"), (3.0, "b"), (2.0, "c"), (3.0, "d")):
        frontier.add(bound, name)
    return frontier


def names(frontier: Frontier[str], most: int = 9, wanted: float = -np.inf) -> str:
    return "".join(entry.node for entry in frontier.take(most, wanted))


def test_the_best_come_first() -> None:
    frontier = filled()
    assert frontier.bound == 3.0
    assert names(frontier, 2) == "db"
    assert frontier.bound == 2.0
    assert names(frontier) == "ca"
    assert frontier.bound == -np.inf


def test_what_is_put_back_has_its_place_again() -> None:
    frontier = filled()
    frontier.put_back(frontier.take(3, -np.inf))
    assert names(frontier) == "dbca"


def test_what_is_not_wanted_is_gone() -> None:
    frontier = filled()
    assert names(frontier, wanted=2.0) == "db"
    assert len(frontier) == 0
