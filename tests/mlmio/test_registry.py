"""Registration: by decorator, by entry point, and every way in which it is refused."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest

from mlmio import Block, CompositionError, SolverError, block, compose, register_block
from mlmio.registry import Registry, blocks, solvers, strategies


def make(block_name: str, block_slot: str = "side") -> type[Any]:
    @dataclass(frozen=True)
    class Made(Block):
        name: ClassVar[str] = block_name
        slot: ClassVar[str] = block_slot

    return Made


@pytest.mark.usefixtures("registry")
def test_a_block_of_a_script_is_used_like_any_other() -> None:
    register_block(make("mine"))
    assert "mine" in blocks
    assert "mine" in blocks.names()
    assert str(compose("linear + nearest + mine")) == "linear + nearest + mine"


@pytest.mark.usefixtures("registry")
def test_defining_a_block_again_replaces_it() -> None:
    register_block(make("mine"))
    second = register_block(make("mine"))
    assert type(block("mine")) is second


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (make("nearest"), "name 'nearest' is taken by formulations.neighbors.nearest:Nearest"),
        (make("mine", "colour"), "its slot is 'colour': the slots are terms"),
    ],
)
def test_a_taken_name_and_an_unknown_slot_are_refused(cls: type[Any], message: str) -> None:
    with pytest.raises(CompositionError, match=message):
        register_block(cls)


@pytest.mark.parametrize(
    ("registry", "name", "error", "message"),
    [
        (blocks, "quadratc", CompositionError, "no block 'quadratc', did you mean 'quadratic'"),
        (blocks, "zzzz", CompositionError, "no block 'zzzz': the known ones are basic_steps,"),
        (solvers, "hihgs", SolverError, "no solver 'hihgs', did you mean 'highs'"),
        (strategies, "dirct", SolverError, "no strategy 'dirct', did you mean 'direct'"),
        (strategies, 5, SolverError, "5 is not the name of a strategy: the known ones are altern"),
    ],
)
def test_an_unknown_name_is_answered_with_known_ones(
    registry: Registry, name: Any, error: type[Exception], message: str
) -> None:
    assert name not in registry
    with pytest.raises(error, match=message):
        registry.get(name)


def registry_of(monkeypatch: pytest.MonkeyPatch, *points: tuple[str, str]) -> Registry:
    made = [EntryPoint(name, value, "some.group") for name, value in points]
    monkeypatch.setattr("mlmio.registry.entry_points", lambda group: made)
    return Registry("block", "some.group", CompositionError)


def test_a_plugin_is_imported_only_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "lazy_plugin.py").write_text("class Lazy:\n    name = 'lazy'\n")
    monkeypatch.syspath_prepend(tmp_path)
    registry = registry_of(monkeypatch, ("lazy", "lazy_plugin:Lazy"))
    assert registry.names() == ["lazy"]
    assert "lazy_plugin" not in sys.modules
    assert registry.get("lazy").name == "lazy"
    monkeypatch.delitem(sys.modules, "lazy_plugin")


@pytest.mark.parametrize("value", ["no_such_package:Thing", "mlmio.slots:Thing"])
def test_a_broken_plugin_is_named_and_leaves_the_others_alone(
    monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    registry = registry_of(monkeypatch, ("broken", value), ("slot", "mlmio.slots:Slot"))
    with pytest.raises(CompositionError, match=f"block 'broken' \\({value}\\) cannot be imported"):
        registry.get("broken")
    assert registry.get("slot").__name__ == "Slot"


def test_a_name_that_two_packages_claim_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = registry_of(
        monkeypatch, ("slot", "mlmio.slots:Slot"), ("slot", "mlmio.data:Dataset")
    )
    with pytest.raises(CompositionError, match="'slot' is claimed by"):
        registry.get("slot")
