"""A metric with the points that it classifies by, and its file."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlmio.data.validation import (
    feature_cells,
    finite_numbers,
    label_array,
    shown,
    whole_number,
)
from mlmio.errors import DataError
from mlmio.metric import Metric, read_json
from mlmio.neighbors import LabelledIndex, Rows
from mlmio.risk import RiskCoverage, classify, risk_coverage
from mlmio.writing import write_text

if TYPE_CHECKING:
    from mlmio.learning import Learned

Array = NDArray[np.float64]

# The part of a metric's file that has the points, and its version.
SECTION, VERSION = "neighbors", 1


@dataclass(frozen=True, eq=False)
class NeighborModel:
    """A metric with labelled points: classifies new points by their nearest neighbours.

    Points are given in their original units, as to :class:`~mlmio.Metric`.

    Parameters
    ----------
    metric : Metric
    points : (M, D) array
        The points that vote, in the metric's scaled coordinates.
    codes : (M,) array of int
        Class of every point as a position in `classes`.
    classes : (C,) array
        The labels, of any type.
    n_neighbors : int, default 1
        How many neighbours vote; ties go to the first class.
    abstain : float, optional
        The abstention ratio above which a point counts as unclear; none does by default.
    solved : mapping, optional
        How the metric was found, as plain numbers and strings.

    Raises
    ------
    DataError
        If the shapes do not fit, there are fewer points than `n_neighbors`, or a parameter makes
        no sense.
    """

    metric: Metric
    points: Array
    codes: Rows
    classes: NDArray[Any]
    n_neighbors: int = 1
    abstain: float | None = None
    solved: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        M = len(self.points)
        if self.points.shape != (M, self.metric.D) or self.codes.shape != (M,):
            raise DataError(
                f"points have shape {self.points.shape} and their classes {self.codes.shape}: give "
                f"one row of {self.metric.D} features and one class for each point"
            )
        if not np.isfinite(self.points).all():
            raise DataError("points have values that are not finite: give numbers")
        if not np.isin(self.codes, np.arange(len(self.classes))).all():
            raise DataError(f"a point has none of the {len(self.classes)} classes")
        check_neighbors(self.n_neighbors, M)
        check_abstain(self.abstain)

    @classmethod
    def from_learned(
        cls, learned: Learned, n_neighbors: int = 1, abstain: float | None = None
    ) -> NeighborModel:
        """Make a model of what :func:`mlmio.learning.learn` found; outliers do not vote."""
        data, serves = learned.data, learned.serves
        return cls(
            learned.metric,
            data.X[serves],
            data.y[serves],
            data.classes,
            n_neighbors,
            abstain,
            learned.result.to_dict(),
        )

    @cached_property
    def index(self) -> LabelledIndex:
        """The points, to look for neighbours among."""
        return LabelledIndex(self.metric, self.points, self.codes, len(self.classes))

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the share of every class among the nearest neighbours.

        Parameters
        ----------
        X : (n, D) array
            Points in original units.

        Returns
        -------
        (n, C) array
            Columns in the order of `classes`.

        Raises
        ------
        DataError
            If the points have another number of features, or a value is not a finite number.
        """
        return self.index.votes(self._scaled(X), self.n_neighbors)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the label of the class with most votes, whether the point is clear or not."""
        return self.classes[self.predict_proba(X).argmax(axis=1)]

    def decide(self, X: ArrayLike) -> tuple[NDArray[Any], Array]:
        """Return the predicted labels, and how unclear each point is.

        Returns
        -------
        labels : (n,) array
            As :meth:`predict` gives them.
        ratios : (n,) array
            Distance to the nearest point of the predicted class, divided by that to the nearest
            point of any other.
        """
        predicted, found = classify(self.index, self._scaled(X), self.n_neighbors)
        return self.classes[predicted], found

    def abstention_ratios(self, X: ArrayLike) -> Array:
        """Return how unclear each point is, see :meth:`decide`."""
        return self.decide(X)[1]

    def abstains(self, X: ArrayLike) -> NDArray[np.bool_]:
        """Tell which points are unclear: those whose abstention ratio exceeds `abstain`."""
        return self.abstention_ratios(X) > (np.inf if self.abstain is None else self.abstain)

    def risk_coverage(self, X: ArrayLike, y: ArrayLike) -> RiskCoverage:
        """Return error against coverage on labelled points, at every threshold.

        Parameters
        ----------
        X : (n, D) array
            Points in original units.
        y : (n,) array
            Their labels; one that the model does not know counts as an error.
        """
        predicted, found = self.decide(X)
        return risk_coverage(unequal(predicted, label_array(y, np.arange(len(found)))), found)

    def _scaled(self, X: ArrayLike) -> Array:
        cells = feature_cells(X)
        D = self.metric.D
        if cells.shape[1] != D:
            raise DataError(
                f"the points have {cells.shape[1]} features and the metric {D}: give "
                f"{', '.join(self.metric.feature_names[:5])}{', …' if D > 5 else ''}"
            )
        found = finite_numbers(cells, self.metric.feature_names, np.arange(len(cells)))
        return self.metric.scaling.apply(found)

    def to_json(self, path: str | Path | None = None) -> str:
        """Write as JSON: the metric's file with the points in it.

        :meth:`Metric.from_json <mlmio.Metric.from_json>` reads it too, without the points.

        Parameters
        ----------
        path : str or Path, optional
            File to write as well.

        Returns
        -------
        str
            The JSON text, every number in full precision.

        Raises
        ------
        DataError
            If a label is no text, number or truth value.
        MlmioError
            If the file cannot be written.
        """
        content = json.loads(self.metric.to_json()) | {
            SECTION: {
                "version": VERSION,
                "n_neighbors": self.n_neighbors,
                "abstain": self.abstain,
                "classes": [_plain_label(label) for label in self.classes],
                "codes": self.codes.tolist(),
                "points": self.points.tolist(),
            },
            "solved": {key: _plain(value) for key, value in self.solved.items()},
        }
        entries = (
            f"{json.dumps(key)}: {json.dumps(value, allow_nan=False, default=str)}"
            for key, value in content.items()
        )
        text = "{" + ",\n ".join(entries) + "}"
        if path is not None:
            write_text(path, text + "\n")
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> NeighborModel:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        source : str or Path
            The JSON text, or the path of a file.

        Raises
        ------
        DataError
            If it is not a metric of a known version, or has no points in it.
        """
        metric = Metric.from_json(source)
        content, where = read_json(source)
        section = content.get(SECTION)
        if section is None:
            raise DataError(
                f"{where} has a metric without points to classify by: write one with 'mlmio fit', "
                f"or with NeighborModel.to_json"
            )
        try:
            return cls(metric, **_read_section(section), solved=dict(content.get("solved", {})))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise DataError(f"the points of the metric in {where} are damaged: {error}") from error


def _read_section(section: Mapping[str, Any]) -> dict[str, Any]:
    if section["version"] != VERSION:
        raise DataError(f"they are of version {section['version']}, and this mlmio reads {VERSION}")
    classes = section["classes"]
    return {
        "points": np.array(section["points"], dtype=np.float64),
        "codes": np.array(section["codes"], dtype=np.intp),
        "classes": label_array(classes, np.arange(len(classes))),
        "n_neighbors": section["n_neighbors"],
        "abstain": section["abstain"],
    }


def unequal(predicted: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Compare labels of any type, one by one: a text never equals a number."""
    pairs = zip(predicted.tolist(), labels.tolist(), strict=True)
    return np.array([a != b for a, b in pairs], dtype=bool)


def check_neighbors(n_neighbors: Any, points: int) -> int:
    """Return a number of neighbours that so many points can give, or raise DataError."""
    k = whole_number(n_neighbors, "n_neighbors")
    if k > points:
        raise DataError(f"n_neighbors is {k}, and there are {points} points: give at most as many")
    return k


def check_abstain(abstain: Any) -> None:
    """Raise DataError unless it is None or a positive number."""
    number = isinstance(abstain, numbers.Real) and not isinstance(abstain, bool)
    if abstain is not None and not (number and abstain > 0):
        raise DataError(f"abstain is {abstain!r}: give a ratio above 0, or None")


def _plain_label(label: Any) -> Any:
    """Return a label as JSON keeps it."""
    value = label.item() if isinstance(label, np.generic) else label
    finite = not isinstance(value, float) or math.isfinite(value)
    if isinstance(value, str | int | float) and finite:
        return value
    raise DataError(
        f"the label {shown(label)} of type {type(value).__name__} cannot be written to JSON: make "
        f"labels texts or numbers"
    )


def _plain(value: Any) -> Any:
    """Return a number as JSON has it, which knows no infinities."""
    number = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(number, float) and not math.isfinite(number) else number
