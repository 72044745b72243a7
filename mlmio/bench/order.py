"""The order of names in which numbers count as numbers: N=24 before N=120."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def natural(text: object) -> tuple[tuple[str, int], ...]:
    """Return a key to sort by, in which runs of digits are whole numbers.

    Examples
    --------
    >>> sorted(["iris N=120", "iris N=24", "digits"], key=natural)
    ['digits', 'iris N=24', 'iris N=120']
    """
    parts = re.findall(r"([^0-9]*)([0-9]*)", str(text))
    return tuple((words, int(number or -1)) for words, number in parts)


def natural_places(values: pd.Series) -> pd.Series:
    """Return the place of each value among all, as a key for ``sort_values``."""
    texts = values.astype(str)
    places = {text: place for place, text in enumerate(sorted(set(texts), key=natural))}
    return texts.map(places)
