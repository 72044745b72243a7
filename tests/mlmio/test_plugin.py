"""A block of a separate package, installed with pip, works exactly as a built-in one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "plugin_package"
ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
import mlmio
from mlmio.registry import blocks

assert "nonnegative" in blocks.names()
data = mlmio.load_dataset("iris", per_class=3)
composition = mlmio.compose("nonnegative(least=0.05) + linear + quadratic + nearest")
assert "mlmio_nonnegative" in sys.modules
assert str(composition) == "linear + quadratic + nearest + nonnegative(least=0.05)"
assert mlmio.compose(str(composition)) == composition
assert mlmio.relation(composition, composition - "nonnegative").kind == "restriction"

result = mlmio.solve(composition, data)
assert result.status == "optimal", result
assert result.metric.a.min() >= 0.05 - 1e-6
free = mlmio.solve(composition - "nonnegative", data)
assert free.metric.a.min() < 0.05
assert result.objective <= free.objective + 1e-6

try:
    mlmio.compose("quadratic + nearest + nonnegative").build(data)
except mlmio.CompositionError as error:
    assert "'nonnegative' needs 'a'" in str(error) and "linear" in str(error), error
else:
    raise AssertionError("built without the linear term")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the package is installed, beside this one."""
    folder = tmp_path_factory.mktemp("plugin")
    source, target = folder / "source", folder / "installed"
    shutil.copytree(PACKAGE, source, ignore=shutil.ignore_patterns("__pycache__"))
    options = ["--no-build-isolation", "--no-deps", "--no-index", "--quiet"]
    subprocess.run(
        [sys.executable, "-m", "pip", "install", *options, "--target", target, source], check=True
    )
    return {**os.environ, "COLUMNS": "250", "PYTHONPATH": os.pathsep.join([str(target), str(ROOT)])}


def run(environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_composes_prints_solves_and_refuses(environment: dict[str, str]) -> None:
    run(environment, "-c", SCRIPT)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["blocks"], "by a least weight"),
        (["explain", "linear + nearest + nonnegative"], "a stranger's package"),
    ],
)
def test_the_command_line_knows_it(
    environment: dict[str, str], arguments: list[str], said: str
) -> None:
    printed = run(environment, "-c", "from mlmio.cli import main; main()", *arguments)
    assert "nonnegative" in printed
    assert said in " ".join(printed.split())


def test_without_the_package_there_is_no_such_block() -> None:
    from mlmio.registry import blocks

    assert "nonnegative" not in blocks.names()
