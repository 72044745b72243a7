"""Scaling of features, kept as the affine map that it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mlmio.errors import DataError


@dataclass(frozen=True, eq=False)
class Scaling:
    """An affine map of every feature, x -> (x - shift) / factor.

    Parameters
    ----------
    kind : str
        How the map was fitted: "none", "minmax" (to [0, 1]), "standard" (mean 0, deviation 1) or
        "robust" (median 0, interquartile range 1).
    shift, factor : ndarray of shape (D,)
        The map; both are made read-only.

    Examples
    --------
    >>> scaling = Scaling.fit("minmax", [[0.0, 5.0], [4.0, 5.0]])
    >>> scaling.apply([[1.0, 5.0]])
    array([[0.25, 0.  ]])
    """

    kind: str
    shift: np.ndarray
    factor: np.ndarray

    def __post_init__(self) -> None:
        if self.kind not in _FITS:
            raise DataError(f"Unknown scaling {self.kind!r}: choose one of {', '.join(_FITS)}.")
        shift, factor = (np.array(v, dtype=np.float64) for v in (self.shift, self.factor))
        if shift.ndim != 1 or shift.shape != factor.shape:
            raise DataError(
                f"A scaling needs one shift and one factor for every feature, "
                f"but their shapes are {shift.shape} and {factor.shape}."
            )
        if not (np.isfinite(shift).all() and np.isfinite(factor).all() and factor.all()):
            raise DataError("A scaling needs finite shifts and finite factors other than 0.")
        for name, value in (("shift", shift), ("factor", factor)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @classmethod
    def fit(cls, kind: str, X: Any) -> Scaling:
        """Fit a scaling to points.

        A constant feature is mapped to 0 (its factor is 1), except by "none", which changes
        nothing.

        Parameters
        ----------
        kind : str
            "none", "minmax", "standard" or "robust".
        X : array-like of shape (N, D)
            Finite numbers.

        Returns
        -------
        Scaling
        """
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or 0 in X.shape or not np.isfinite(X).all():
            raise DataError(
                f"A scaling is fitted to a table of finite numbers, not to shape {X.shape} with "
                f"{np.count_nonzero(~np.isfinite(X))} missing or infinite values."
            )
        if kind not in _FITS:
            raise DataError(f"Unknown scaling {kind!r}: choose one of {', '.join(_FITS)}.")
        shift, factor = _FITS[kind](X)
        if kind != "none":
            # The mean of equal numbers can differ from them in the last bit: take the number.
            constant = np.ptp(X, axis=0) == 0
            shift = np.where(constant, X[0], shift)
            factor = np.where(constant, 1.0, factor)
        return cls(kind, shift, factor)

    def apply(self, X: Any) -> np.ndarray:
        """Scale points.

        Parameters
        ----------
        X : array-like of shape (N, D)

        Returns
        -------
        ndarray of shape (N, D)
        """
        try:
            X = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"The points are not numbers: {error}.") from error
        if not np.isfinite(X).all():
            raise DataError(
                "The points have missing or infinite values: drop or fill in those rows."
            )
        if X.ndim != 2 or X.shape[1] != len(self.shift):
            raise DataError(
                f"This scaling was fitted to {len(self.shift)} features and cannot be applied to "
                f"an array of shape {X.shape}: give one row per point with the same features."
            )
        return (X - self.shift) / self.factor

    def to_dict(self) -> dict[str, Any]:
        """Return the scaling as numbers and strings that JSON keeps to the last digit."""
        return {"kind": self.kind, "shift": self.shift.tolist(), "factor": self.factor.tolist()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Scaling:
        """Return the scaling that `to_dict` wrote."""
        absent = [key for key in ("kind", "shift", "factor") if key not in record]
        if absent:
            raise DataError(f"The record of a scaling lacks {', '.join(absent)}.")
        return cls(record["kind"], record["shift"], record["factor"])


def _fit_none(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(X.shape[1]), np.ones(X.shape[1])


def _fit_minmax(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.preprocessing import MinMaxScaler

    scaler = MinMaxScaler().fit(X)
    # Not scale_, which takes a feature measured in tiny units for a constant one.
    return scaler.data_min_, scaler.data_range_


def _fit_standard(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(X)
    return scaler.mean_, scaler.scale_


def _fit_robust(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.preprocessing import RobustScaler

    scaler = RobustScaler().fit(X)
    return scaler.center_, scaler.scale_


_FITS: dict[str, Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]] = {
    "none": _fit_none,
    "minmax": _fit_minmax,
    "standard": _fit_standard,
    "robust": _fit_robust,
}
