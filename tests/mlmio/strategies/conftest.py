"""Strategies that catch interrupts give them back; few points can count as many."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

import mlmio.hitting
import mlmio.search


@pytest.fixture(autouse=True)
def interrupts_are_left_as_they_were() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def over_who_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are given up in the search over who serves, as where they are many."""
    for module in (mlmio.hitting, mlmio.search):
        monkeypatch.setattr(module, "MANY", 0)
