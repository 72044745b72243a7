"""Fixtures that several test files use."""

import pytest
from hypothesis import settings

from mlmio.registry import blocks, solvers

# What these assert says what it compared, as a test does.
pytest.register_assert_rewrite("instances", "programs")

# A package of its own, installed by a test: importing it here would register its block.
collect_ignore = ["plugin_package"]


@pytest.fixture
def registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and solvers that a test registers are forgotten after it."""
    for known in (blocks, solvers):
        monkeypatch.setattr(known, "_loaded", dict(known._loaded))
        monkeypatch.setattr(known, "_found", dict(known._found))


# Times of single examples say nothing on a shared machine.
settings.register_profile("mlmio", deadline=None)
settings.load_profile("mlmio")
