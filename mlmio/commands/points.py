"""Points for a metric that was kept: columns found by the names of its features."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlmio.errors import DataError, MlmioWarning

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Features:
    """The features that a metric is for.

    Parameters
    ----------
    names : sequence of str
        In the order of the metric.
    file : str
        Where the metric is from, for messages.
    """

    names: Sequence[str]
    file: str

    def __len__(self) -> int:
        return len(self.names)

    def __str__(self) -> str:
        return _listed(self.names)

    def among(self, columns: Sequence[str]) -> bool:
        """Whether there is a column for every feature."""
        return set(self.names) <= set(columns)

    def fit(self, columns: Sequence[str]) -> bool:
        """Whether the columns can be taken for the features, by their names or in their order."""
        strangers = set(self.names).isdisjoint(columns)
        return self.among(columns) or (strangers and len(columns) == len(self))


def read_points(
    name: str, label: str | None, data_dir: str | None, features: Features
) -> tuple[Any, Any]:
    """Load points in original units, and their labels where they have some."""
    from mlmio.data import load_dataset, read_table
    from mlmio.data.files import NO_LABEL

    # Unlike the methods of Path, these answer for names of any length.
    path = Path(os.path.expanduser(name))
    if not os.path.isfile(path):
        data = load_dataset(name, scale="none", label=label, data_dir=data_dir)
        if len(features) != data.D:
            raise DataError(
                f"{name} has {data.D} features and the metric in {features.file} is for "
                f"{len(features)}, {features}: give data that have these"
            )
        return data.X, data.labels
    table, labels = read_table(path, label)
    if label is None and not features.fit(_names(table)):
        # Without labels the last feature was taken for them.
        whole = read_table(path, NO_LABEL)
        table, labels = whole if features.fit(_names(whole[0])) else (table, labels)
    return _columns(table, name, features), labels


def _columns(table: pd.DataFrame, name: str, features: Features) -> pd.DataFrame:
    """Choose the columns of a table that are the features of a metric."""
    columns = _names(table)
    if features.among(columns):
        return table.set_axis(columns, axis=1)[list(features.names)]
    if not features.fit(columns):
        absent = next(feature for feature in features.names if feature not in columns)
        raise DataError(
            f"{name} has {len(columns)} columns besides the labels, {_listed(columns)}, and the "
            f"metric in {features.file} is for {len(features)}, {features}: there is no column "
            f"{absent!r}, give data that have it"
        )
    warnings.warn(
        f"the columns of {name}, {_listed(columns)}, have other names than the features of the "
        f"metric in {features.file}, {features}: they are taken in their order",
        MlmioWarning,
        stacklevel=3,
    )
    return table


def _names(table: pd.DataFrame) -> list[str]:
    return [str(column) for column in table.columns]


def _listed(names: Sequence[str], most: int = 6) -> str:
    """Some names for a message."""
    return f"{', '.join(map(repr, names[:most]))}{', …' if len(names) > most else ''}"
