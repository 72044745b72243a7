"""``mlmio predict``: new points classified by a metric that was kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mlmio.commands.points import Features, read_points
from mlmio.commands.shell import DataDir, DataName, KeptLabel

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from mlmio.model import NeighborModel
    from mlmio.risk import RiskCoverage


def predict(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="File that mlmio fit wrote with --output.")
    ],
    data: DataName,
    output: Annotated[
        str | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="For the predictions, as CSV. [default: stdout]"
        ),
    ] = None,
    label: KeptLabel = None,
    data_dir: DataDir = None,
) -> None:
    """Classify points by their nearest neighbours under a learned metric.

    One line a point: its row, the label that is predicted, and the ratio of the distance to that
    class to the distance to the nearest other, the surer the smaller. Where the data have labels,
    the error is told too.

    Example: mlmio predict metric.json new.csv -o predicted.csv
    """
    from mlmio.model import NeighborModel
    from mlmio.tables import console
    from mlmio.writing import check_writable, write_text

    found = NeighborModel.from_json(model)
    if output is not None:
        check_writable(output)
    features = Features(found.metric.feature_names, model)
    points, labels = read_points(data, label, data_dir, features)
    predictions = _predictions(found, points)
    text = predictions.to_csv(index=False)
    if output is None:
        # As it is, not wrapped to the width of a terminal.
        sys.stdout.write(text)
    else:
        write_text(output, text)
    out = console(sys.stderr if output is None else sys.stdout)
    for line in _summary(found, predictions, labels):
        out.print(line, soft_wrap=True)


def _predictions(model: NeighborModel, points: Any) -> pd.DataFrame:
    """One row a point."""
    import pandas as pd

    labels, ratios = model.decide(points)
    table = pd.DataFrame({"row": range(len(labels)), "label": labels, "ratio": ratios})
    if model.abstain is not None:
        table["unclear"] = ratios > model.abstain
    return table


def _summary(model: NeighborModel, predictions: pd.DataFrame, labels: Any) -> Iterator[str]:
    """Yield what is known of the predictions as a whole."""
    curve = _curve(model, predictions, labels)
    if curve is not None:
        yield f"{len(predictions)} points: error {curve.full_error:.2%} at full coverage"
    else:
        yield f"{len(predictions)} points, without labels that the metric knows"
    if model.abstain is not None:
        coverage = 1.0 - predictions["unclear"].mean()
        error = "" if curve is None or not coverage else f", error {curve.at(model.abstain)[1]:.2%}"
        yield f"coverage {coverage:.2%} with a ratio of at most {model.abstain:g}{error}"
    known = int((predictions["ratio"] == 0.0).sum())
    if known and curve is not None:
        yield (
            f"note: {known} of them coincide with points that the metric knows, and are their own "
            f"neighbours: the error says little of new points"
        )


def _curve(model: NeighborModel, predictions: pd.DataFrame, labels: Any) -> RiskCoverage | None:
    """Error against coverage, where the data have labels and the metric knows one of them."""
    from mlmio.data.validation import label_array
    from mlmio.model import unequal
    from mlmio.risk import risk_coverage

    if labels is None:
        return None
    given = label_array(labels, predictions["row"].to_numpy())
    if not set(given.tolist()) & set(model.classes.tolist()):
        return None
    return risk_coverage(unequal(predictions["label"].to_numpy(), given), predictions["ratio"])
