"""A package of bad solvers, found by entry points as a stranger's would be."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlmio.registry import solvers

FAKES = Path(__file__).parent / "fakes" / "bad_solvers.py"

# Importing it here would register its solvers for all tests.
collect_ignore = ["fakes"]


@pytest.fixture(scope="session")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package is installed."""
    folder = tmp_path_factory.mktemp("plugin")
    (folder / "bad_solvers.py").write_text(FAKES.read_text(encoding="utf-8"), encoding="utf-8")
    metadata = folder / "bad_solvers-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-solvers\nVersion: 1.0\n")
    names = ["Crashes", "Killed", "Hangs", "Eats", "Lies", "HalfAnswer", "Raises", "Exits", "Fine"]
    points = [f"{name.lower()} = bad_solvers:{name}" for name in names]
    (metadata / "entry_points.txt").write_text("\n".join(["[mlmio.solvers]", *points, ""]))
    return folder


@pytest.fixture(scope="module")
def bad_solvers(plugin: Path) -> Iterator[Path]:
    """The package is known here and to every process that is started."""
    known = dict(solvers._loaded)
    sys.path.insert(0, str(plugin))
    importlib.import_module("bad_solvers")
    yield plugin
    sys.path.remove(str(plugin))
    del sys.modules["bad_solvers"]
    solvers._loaded = known
