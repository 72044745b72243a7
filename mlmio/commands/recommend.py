"""``mlmio recommend``: which points to check, and where to sample next."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlmio.commands.points import Features, read_points
from mlmio.commands.shell import DataDir, DataName, KeptLabel
from mlmio.errors import DataError

if TYPE_CHECKING:
    from mlmio.metric import Metric
    from mlmio.recommending import Recommendations

# A midpoint of values with few digits has few digits, but for rounding.
FORMAT = "%.10g"


def recommend(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="File that mlmio fit wrote with --output.")
    ],
    data: DataName,
    number: Annotated[
        int, typer.Option("--number", "-n", metavar="N", help="How many at most.")
    ] = 10,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="For the recommendations, as CSV. [default: stdout]",
        ),
    ] = None,
    label: KeptLabel = None,
    data_dir: DataDir = None,
) -> None:
    """Recommend points to check, and regions to sample, under a learned metric.

    One line a recommendation, by falling priority: the row of the point with its label, part and
    R-ratio; the nearest point of another class; the radius of the region between the two, in the
    metric; and its centre. The data must have labels.

    Example: mlmio recommend metric.json mine.csv -n 20
    """
    from mlmio.data.validation import whole_number
    from mlmio.model import NeighborModel
    from mlmio.tables import console
    from mlmio.writing import check_writable, write_text

    whole_number(number, "--number")
    known = NeighborModel.from_json(model)
    if output is not None:
        check_writable(output)
    features = Features(known.metric.feature_names, model)
    points, labels = read_points(data, label, data_dir, features)
    if labels is None:
        raise DataError(f"{data} has no labels: name their column with --label")
    found = _recommended(known.metric, data, points, labels, number)
    text = found.to_frame().rename_axis("row").to_csv(float_format=FORMAT)
    if output is None:
        # As it is, not wrapped to the width of a terminal.
        sys.stdout.write(text)
    else:
        write_text(output, text)
    out = console(sys.stderr if output is None else sys.stdout)
    out.print(_summary(found), soft_wrap=True)


def _recommended(
    metric: Metric, name: str, points: Any, labels: Any, number: int
) -> Recommendations:
    """Hold the metric to the data, and recommend."""
    from mlmio.data import Dataset
    from mlmio.data.label_column import check_label_column
    from mlmio.diagnostics import diagnose
    from mlmio.recommending import recommend

    if hasattr(labels, "value_counts"):
        check_label_column(labels, name)
    data = Dataset(
        points, labels, scale=metric.scaling, feature_names=metric.feature_names, name=name
    )
    return recommend(diagnose(metric, data), number)


def _summary(found: Recommendations) -> str:
    from mlmio.diagnostics import PARTS

    counts = found.diagnosis.counts.sum(axis=0)
    parts = ", ".join(f"{count} {part}" for count, part in zip(counts, PARTS, strict=True))
    return f"{found.diagnosis.data.N} points: {parts}; {len(found)} recommended"
