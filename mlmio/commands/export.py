"""``mlmio export``: the model of a formulation as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from mlmio.commands.loading import composed, describe, load
from mlmio.commands.shell import (
    FAILED,
    DataDir,
    DataName,
    Label,
    PerClass,
    Scale,
    Seed,
    Side,
    Spec,
    errors,
)
from mlmio.errors import MlmioError

ENDINGS = (".lp", ".mps", ".nl")


def export(
    spec: Spec,
    data: DataName,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="File ending in .lp, .mps or .nl.")
    ],
    per_class: PerClass = None,
    seed: Seed = 0,
    scale: Scale = "minmax",
    label: Label = None,
    side: Side = None,
    data_dir: DataDir = None,
) -> None:
    """Write the model of a formulation to a file.

    Example: mlmio export "quadratic + nearest" iris -o model.lp
    """
    from pyomo.opt.base.formats import guess_format

    from mlmio.tables import console
    from mlmio.writing import check_writable, write_whole

    composition = composed(spec)
    ending = Path(output).suffix.lower()
    if ending not in ENDINGS:
        raise MlmioError(f"cannot write {output!r}: its ending must be {' or '.join(ENDINGS)}")
    check_writable(output)
    points = load(data, per_class, seed, scale, label, side, data_dir)
    out = console()
    out.print(describe(points, seed), soft_wrap=True)
    with errors(FAILED):
        model = composition.build(points)
        # The names of an .nl file would go into files beside it.
        named = {"symbolic_solver_labels": True} if ending != ".nl" else {}
        kind = guess_format(ending)
        write_whole(output, lambda draft: model.write(str(draft), format=kind, io_options=named))
        out.print(f"{output}: {_count(model)}, to be maximised", soft_wrap=True)


def _count(model: Any) -> str:
    from pyomo.core import Constraint, Var

    rows = sum(1 for _ in model.component_data_objects(Constraint, active=True))
    columns = sum(not v.fixed for v in model.component_data_objects(Var, active=True))
    return f"{rows} rows and {columns} columns"
