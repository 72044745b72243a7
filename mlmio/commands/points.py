"""Points for a metric that was kept: columns found by the names of its features."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlmio.errors import DataError, MlmioWarning

if TYPE_CHECKING:
    import pandas as pd


def read_points(
    name: str, label: str | None, data_dir: str | None, features: Sequence[str]
) -> tuple[Any, Any]:
    """Load points in original units, and their labels where they have some."""
    from mlmio.data import load_dataset, read_table
    from mlmio.data.files import NO_LABEL

    path = Path(name).expanduser()
    if not path.is_file():
        data = load_dataset(name, scale="none", label=label, data_dir=data_dir)
        if len(features) != data.D:
            raise DataError(
                f"the points have {data.D} features and the metric {len(features)}: give the data "
                f"that it is for"
            )
        return data.X, data.labels
    table, labels = read_table(path, label)
    if label is None and not _fits(table, features):
        # Without labels the last feature was taken for them.
        table, labels = read_table(path, NO_LABEL)
    if set(features) <= set(map(str, table.columns)):
        return table[list(features)], labels
    if table.shape[1] == len(features):
        warnings.warn(
            f"the columns of {name} have other names than the features of the metric: they are "
            f"taken in their order",
            MlmioWarning,
            stacklevel=2,
        )
        return table, labels
    missing = [feature for feature in features if feature not in table.columns]
    raise DataError(
        f"{name} has {table.shape[1]} columns besides the labels, and the metric needs "
        f"{len(features)}: there is no column {missing[0]!r}"
    )


def _fits(table: pd.DataFrame, features: Sequence[str]) -> bool:
    names = set(map(str, table.columns))
    return set(features) <= names or table.shape[1] == len(features)
