"""What is said of a machine: what its speed depends on, and not whose it is."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any

import pytest

from mlmio.bench.machine import describe

RESULTS = Path(__file__).parents[3] / "benchmarks" / "results"


def test_a_machine_is_described_without_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "node", lambda: "host-of-somebody")
    told = describe()
    assert "host-of-somebody" not in json.dumps(told)
    assert {"processor", "cores", "memory_gib", "system", "python"} <= set(told)


@pytest.mark.parametrize("file", sorted(RESULTS.rglob("*.json")), ids=lambda file: file.stem)
def test_committed_results_do_not_name_their_machine(file: Path) -> None:
    def names(content: Any) -> bool:
        if isinstance(content, dict):
            return "node" in content or any(map(names, content.values()))
        return isinstance(content, list) and any(map(names, content))

    assert not names(json.loads(file.read_text(encoding="utf-8")))
