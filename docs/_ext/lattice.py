"""The figure of the lattice, drawn from the registry."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", draw)
    return {"parallel_read_safe": True}


def draw(app: Sphinx) -> None:
    """Draw the figure."""
    import matplotlib as mpl

    mpl.use("Agg")
    # The same names and no date, so that a figure that has not changed is the same file.
    mpl.rcParams["svg.hashsalt"] = "mlmio"
    import matplotlib.pyplot as plt

    from mlmio.plotting import plot_lattice

    path = Path(app.srcdir) / "_generated" / "lattice.svg"
    path.parent.mkdir(exist_ok=True)
    figure = plot_lattice().figure
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
