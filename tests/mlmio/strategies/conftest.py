"""Strategies that catch interrupts give them back; few points can count as many."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

import mlmio.hitting
from mlmio.strategies.loops import load_loops


@pytest.fixture(scope="session", autouse=True)
def loops_are_loaded() -> None:
    """Before a clock starts or a search is listened to: loading them is one, on another thread."""
    load_loops()


@pytest.fixture(autouse=True)
def interrupts_are_left_as_they_were() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


@pytest.fixture
def by_intervals(monkeypatch: pytest.MonkeyPatch) -> None:
    """The root is bounded by intervals first, as where points are many."""
    monkeypatch.setattr(mlmio.hitting, "MANY", 0)
