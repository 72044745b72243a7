"""The figures of pictures.rst, drawn by the code that the page shows."""

from __future__ import annotations

import doctest
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What each figure is called, in the order in which the page makes them.
NAMES = ("parts", "ellipses", "regions", "signatures")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}


def draw(app: Sphinx) -> None:
    """Run the examples of the page, and keep the figures that they make."""
    import matplotlib as mpl

    mpl.use("Agg")
    # The same names and no date, so that a figure that has not changed is the same file.
    mpl.rcParams["svg.hashsalt"] = "mlmio"
    import matplotlib.pyplot as plt

    text = (Path(app.srcdir) / "pictures.rst").read_text(encoding="utf-8")
    plt.close("all")
    scope: dict[str, Any] = {}
    for example in doctest.DocTestParser().get_examples(text):
        if example.source.startswith("plt.close"):
            break
        if doctest.OPTIONFLAGS_BY_NAME["SKIP"] not in example.options:
            exec(compile(example.source, "pictures.rst", "exec"), scope)
    folder = Path(app.srcdir) / "_generated"
    folder.mkdir(exist_ok=True)
    for name, number in zip(NAMES, plt.get_fignums(), strict=True):
        path = folder / f"picture_{name}.svg"
        plt.figure(number).savefig(path, metadata={"Date": None})
    plt.close("all")
