"""A label column that holds no classes: a number for every row, a name for every row, one value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from mlmio.data.validation import shown
from mlmio.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

ADVICE = "name the column of the classes with label (--label on the command line)"


def check_label_column(labels: pd.Series, where: str) -> None:
    """Raise DataError where a column has one value only, or none that rows have in common.

    Parameters
    ----------
    labels : Series
        What was taken for the labels; a missing one is left to other checks.
    where : str
        File or data set that it is from.

    Raises
    ------
    DataError
        If all rows have the same value. With more than two values, if most rows have one that no
        other row has; or if some row has, and the values are numbers with fractions.
    """
    counts = labels.value_counts()
    column = f"the label column {str(labels.name)!r} of {where}"
    if labels.isna().any() or not len(labels):
        return
    if len(counts) == 1:
        value = shown(counts.index[0])
        raise DataError(
            f"{column} has one value only, {value}: give points of two classes at least, or "
            f"{ADVICE}"
        )
    alone = int((counts == 1).sum())
    continuous = _has_fractions(labels)
    if len(counts) > 2 and (2 * alone > len(labels) or (alone and continuous)):
        looks = "is continuous" if continuous else "has a class of its own for nearly every row"
        raise DataError(
            f"{column} {looks}, with {len(counts)} values in {len(labels)} rows: {ADVICE}, or "
            f"put the values into few classes"
        )


def _has_fractions(labels: pd.Series) -> bool:
    """Whether the values are numbers, and not all whole."""
    values = labels.to_numpy()
    return values.dtype.kind == "f" and bool((values != np.rint(values)).any())
