"""The tables of the solvers, made from the registry."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages import table, write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

YES = "✓"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", make_tables)
    return {"parallel_read_safe": True}


def make_tables(app: Sphinx) -> None:
    """Write which solver solves what, what else it can do, and how to install it."""
    from mlmio.blocks import PROBLEM_CLASSES
    from mlmio.registry import solvers, strategies
    from mlmio.solvers.base import FEATURES

    folder = Path(app.srcdir) / "_generated"
    names = solvers.names()
    adapters = [solvers.get(name) for name in names]
    heads = [f"``{name}``" for name in names]
    write(
        folder / "solver_list.inc",
        table(
            ("solver", "what it is", "to install it"),
            [(f"``{a.name}``", summary(a), a.install) for a in adapters],
            "15 40 45",
        ),
    )
    write(
        folder / "solver_classes.inc",
        table(
            ("class", *heads),
            [(c, *(YES if c in a.classes else "" for a in adapters)) for c in PROBLEM_CLASSES],
        ),
    )
    write(
        folder / "solver_features.inc",
        table(
            ("feature", "meaning", *heads),
            [
                (f"``{f}``", meaning, *(YES if f in a.features else "" for a in adapters))
                for f, meaning in FEATURES.items()
            ],
        ),
    )
    write(
        folder / "strategies.inc",
        table(
            ("strategy", "what it does"),
            [(f"``{name}``", summary(strategies.get(name))) for name in strategies.names()],
            "20 80",
        ),
    )


def summary(cls: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(cls) or "").split("\n")[0]
