"""What the example of "Write your own block" prints, run apart so that its block stays there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages import write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

STATEMENTS = (
    "import mlmio",
    "import mlmio_nonnegative",
    'data = mlmio.load_dataset("iris", per_class=5)',
    'composition = mlmio.compose("linear + nearest + nonnegative(least=0.1)")',
    "result = mlmio.solve(composition, data)",
    "print(result.status, round(result.objective, 6), result.verified)",
    'print(mlmio.relation(composition, composition - "nonnegative"))',
)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", make_session)
    return {"parallel_read_safe": True}


def make_session(app: Sphinx) -> None:
    """Run the example, and write down what it shows."""
    here = Path(app.srcdir)
    paths = [here / "_ext", here.parent / "tests" / "plugin_package"]
    run = subprocess.run(
        [sys.executable, "-c", f"from pages import session; print(session({STATEMENTS!r}))"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    write(here / "_generated" / "own_block.inc", run.stdout)
