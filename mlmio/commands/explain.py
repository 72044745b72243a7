"""``mlmio explain``: what a formulation assembles."""

from __future__ import annotations

from typing import Annotated

import typer

from mlmio.commands.loading import composed, load
from mlmio.commands.shell import DataDir, Label, PerClass, Scale, Seed, Side, Spec


def explain(
    spec: Spec,
    data: Annotated[
        str | None,
        typer.Argument(metavar="DATA", help="Gives the sizes as numbers.", show_default=False),
    ] = None,
    per_class: PerClass = None,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
) -> None:
    """Show what a formulation assembles.

    Example: mlmio explain "linear + quadratic + nearest + outliers(rho=0.1)" iris
    """
    composition = composed(spec)
    points = None if data is None else load(data, per_class, seed, scale, label, side, data_dir)
    composition.explain(points)
