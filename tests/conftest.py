"""Fixtures that several test files use."""

import pytest
from hypothesis import settings

from mlmio.registry import blocks

# What these assert says what it compared, as a test does.
pytest.register_assert_rewrite("instances", "programs")

# A package of its own, installed by a test: importing it here would register its block.
collect_ignore = ["plugin_package"]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks that a test registers are forgotten after it."""
    monkeypatch.setattr(blocks, "_loaded", dict(blocks._loaded))


# Times of single examples say nothing on a shared machine.
settings.register_profile("mlmio", deadline=None)
settings.load_profile("mlmio")
