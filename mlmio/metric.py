"""The learned metric: a power series in the differences of coordinates."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mlmio.data import Scaling
from mlmio.errors import DataError
from mlmio.series import (
    entries_of_tensor,
    features,
    multisets,
    parameter_count,
    tensor_from_entries,
)
from mlmio.writing import write_text

Array = NDArray[np.float64]

FORMAT = "mlmio.metric"
FORMAT_VERSION = 1
GIVE = "give a file that 'mlmio fit' wrote with --output, or that to_json wrote"

# Temporary arrays of distances are kept to about this size.
BLOCK_BYTES = 32 * 2**20


class Metric:
    """A distance d(x, y) = a·|δ| + δᵀBδ + Σ C_pqr |δ_p||δ_q||δ_r| + …, with δ = x − y.

    Points are given in their original units: the scaling of the training data is part of the
    metric and is applied to them first (Kumaran et al. 2018, eq:metric-definition).

    Parameters
    ----------
    tensors : mapping of int to array
        For each order n, the fully symmetric tensor of shape (D,)·n, in scaled coordinates.
    D : int
        Number of features.
    scaling : Scaling, optional
        Applied to points before the distance is taken; none by default.
    feature_names : sequence of str, optional
        Names of the features.

    Raises
    ------
    DataError
        If a tensor has the wrong shape, is not symmetric or not finite, or names or scaling are
        of another number of features.

    Examples
    --------
    >>> metric = Metric({2: np.diag([0.0, 1.0])}, D=2)
    >>> metric.distance([[0, 0]], [[5, 0], [0, 3]]).tolist()
    [[0.0, 9.0]]
    """

    def __init__(
        self,
        tensors: Mapping[int, ArrayLike],
        D: int,
        scaling: Scaling | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        self.D = D
        self.scaling = scaling or Scaling("none", np.zeros(D), np.ones(D))
        self.feature_names = tuple(feature_names or (f"x{p}" for p in range(D)))
        for what, count in (("names", self.feature_names), ("shifts", self.scaling.shift)):
            if len(count) != D:
                raise DataError(
                    f"the metric is of {D} features and is given {len(count)} {what}: give one for "
                    f"each feature"
                )
        self._entries = {order: _entries(tensors[order], order, D) for order in sorted(tensors)}

    @classmethod
    def from_entries(
        cls,
        entries: Mapping[int, Array],
        D: int,
        scaling: Scaling | None = None,
        feature_names: Sequence[str] | None = None,
    ) -> Metric:
        """Make a metric from one entry a multiset {p ≤ q ≤ …} for each order."""
        metric = cls({}, D, scaling, feature_names)
        metric._entries = {n: _finite(entries[n], n) for n in sorted(entries)}
        return metric

    @property
    def orders(self) -> tuple[int, ...]:
        """Orders of the terms that it has."""
        return tuple(self._entries)

    @property
    def a(self) -> Array:
        """(D,) coefficients of the linear term, zero where there is none."""
        return self.tensor(1)

    @property
    def B(self) -> Array:
        """(D, D) matrix of the quadratic term, zero where there is none."""
        return self.tensor(2)

    @property
    def C(self) -> Array:
        """(D, D, D) tensor of the cubic term, zero where there is none."""
        return self.tensor(3)

    def tensor(self, order: int) -> Array:
        """Fully symmetric tensor of one order, zero where there is no such term."""
        tensor = tensor_from_entries(self.entries(order), self.D, order)
        tensor.setflags(write=False)
        return tensor

    def entries(self, order: int) -> Array:
        """One entry a multiset {p ≤ q ≤ …} of the tensor of one order."""
        if order in self._entries:
            return self._entries[order]
        return np.zeros(parameter_count(self.D, order))

    def times(self, factor: float) -> Metric:
        """Return the metric with all its distances multiplied."""
        entries = {order: factor * self.entries(order) for order in self.orders}
        return Metric.from_entries(entries, self.D, self.scaling, self.feature_names)

    def distance(self, X: ArrayLike, Y: ArrayLike | None = None) -> Array:
        """Distances between points in original units.

        Parameters
        ----------
        X : (n, D) array
            Points.
        Y : (m, D) array, optional
            Other points; `X` itself where left out.

        Returns
        -------
        (n, m) array
            Distances; 1 is the largest between training points under the region ``bounded``.

        Raises
        ------
        DataError
            If the points have another number of features.
        """
        scaled = self.scaling.apply(X)
        return self.scaled_distance(scaled, scaled if Y is None else self.scaling.apply(Y))

    def scaled_distance(self, X: Array, Y: Array) -> Array:
        """Distances between points that are already in the metric's scaled coordinates."""
        return self.scaled_distance_to(Y)(X)

    def scaled_distance_to(self, Y: Array) -> Callable[[Array], Array]:
        """Return the function of X that gives :meth:`scaled_distance` for this Y.

        Where it is called for few points at a time, what is done for all of Y is done once.
        """
        from scipy.spatial.distance import cdist

        mapped = [(sign, root, Y @ root, kind) for sign, root, kind in self._parts]
        higher = [order for order in self.orders if order > 2]
        width = max([1, *(parameter_count(self.D, order) for order in higher)])
        step = max(1, BLOCK_BYTES // (8 * max(1, len(Y)) * width))

        def distance(X: Array) -> Array:
            result = np.zeros((len(X), len(Y)))
            for start in range(0, len(X), step):
                rows = slice(start, start + step)
                for sign, root, right, kind in mapped:
                    part = cdist(X[rows] @ root, right, kind)
                    part *= sign
                    result[rows] += part
                    # As large as the result: gone before there is another.
                    del part
                for order in higher:
                    delta = X[rows, None, :] - Y[None, :, :]
                    phi = features(delta.reshape(-1, self.D), order)
                    result[rows] += (phi @ self.entries(order)).reshape(result[rows].shape)
            return result

        return distance

    @cached_property
    def _parts(self) -> list[tuple[float, Array, str]]:
        """Signs, linear maps and SciPy's distances after them that add up to orders one and two.

        An indefinite B is the difference of two squared Euclidean distances, and a coefficient
        of the linear term below zero counts against those above.
        """
        values, vectors = np.linalg.eigh(self.B)
        parts = []
        for sign in (1.0, -1.0):
            chosen, weighted = sign * values > 0, sign * self.a > 0
            root = vectors[:, chosen] * np.sqrt(sign * values[chosen])
            parts.append((sign, root, "sqeuclidean"))
            parts.append((sign, np.diag(sign * self.a)[:, weighted], "cityblock"))
        return [part for part in parts if part[1].size]

    @cached_property
    def is_psd(self) -> bool:
        """Whether B is positive semidefinite, up to rounding."""
        values = np.linalg.eigvalsh(self.B)
        return bool(values[0] >= -1e-12 * max(1.0, abs(values[-1])))

    def transform(self, X: ArrayLike) -> Array:
        """Map points to coordinates in which the metric is the squared Euclidean distance.

        Parameters
        ----------
        X : (n, D) array
            Points in original units.

        Returns
        -------
        (n, D) array
            L x for B = LᵀL.

        Raises
        ------
        DataError
            If there are other terms than the quadratic one, or B is not positive semidefinite.
        """
        if any(np.any(self.entries(order)) for order in self.orders if order != 2):
            raise DataError(
                "no linear map gives this metric, since it has terms besides the quadratic one: "
                "use distance(X, Y)"
            )
        if not self.is_psd:
            raise DataError(
                f"no linear map gives this metric, since B has the negative eigenvalue "
                f"{np.linalg.eigvalsh(self.B)[0]:.3g}: use distance(X, Y), or learn with a cone "
                f"such as gershgorin"
            )
        values, vectors = np.linalg.eigh(self.B)
        return self.scaling.apply(X) @ (vectors * np.sqrt(np.clip(values, 0.0, None)))

    def to_json(self, path: str | Path | None = None) -> str:
        """Write as JSON, every number in full precision.

        Parameters
        ----------
        path : str or Path, optional
            File to write as well.

        Returns
        -------
        str
            The JSON text.

        Raises
        ------
        MlmioError
            If the file cannot be written.
        """
        text = json.dumps(
            {
                "format": FORMAT,
                "version": FORMAT_VERSION,
                "features": list(self.feature_names),
                "scaling": self.scaling.to_dict(),
                "tensors": {str(n): self.entries(n).tolist() for n in self.orders},
            },
            indent=1,
        )
        if path is not None:
            write_text(path, text + "\n")
        return text

    @classmethod
    def from_json(cls, source: str | Path) -> Metric:
        """Read what :meth:`to_json` wrote.

        Parameters
        ----------
        source : str or Path
            The JSON text, or the path of a file.

        Raises
        ------
        DataError
            If it is not a metric of a known version.
        """
        content, where = read_json(source)
        if content.get("version") != FORMAT_VERSION:
            raise DataError(
                f"{where} has a metric of version {content.get('version')!r}: this mlmio reads "
                f"version {FORMAT_VERSION}"
            )
        try:
            return cls._from_content(content)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise DataError(f"the metric in {where} is damaged: {error}") from error

    @classmethod
    def _from_content(cls, content: Mapping[str, Any]) -> Metric:
        names = [str(name) for name in content["features"]]
        entries = {int(n): np.array(v, dtype=float) for n, v in content["tensors"].items()}
        for order, values in entries.items():
            count = parameter_count(len(names), order)
            if not names or values.shape != (count,):
                raise ValueError(
                    f"the tensor of order {order} has {values.size} entries, not {count}"
                )
        return cls.from_entries(entries, len(names), Scaling.from_dict(content["scaling"]), names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Metric):
            return NotImplemented
        return self.to_json() == other.to_json()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        terms = ", ".join(f"order {n}: {len(multisets(self.D, n))} parameters" for n in self.orders)
        return f"Metric(D={self.D}, {terms}, scaling={self.scaling.kind})"


def require_metric(metric: Any) -> None:
    """Raise DataError unless `metric` is a Metric."""
    if not isinstance(metric, Metric):
        raise DataError(
            f"metric is a {type(metric).__name__}: give a Metric, as the metric of a result"
        )


def _entries(values: ArrayLike, order: int, D: int) -> Array:
    """Check a tensor, and return one entry a multiset."""
    tensor = np.array(values, dtype=float)
    if tensor.shape != (D,) * order:
        raise DataError(
            f"the tensor of order {order} has shape {tensor.shape}: give shape {(D,) * order}"
        )
    entries = _finite(entries_of_tensor(tensor), order)
    # Of the largest entry: rounding, as in an inverse, leaves the small ones no digit alike.
    slack = 1e-9 * np.abs(tensor).max(initial=0.0)
    if not np.allclose(tensor, tensor_from_entries(entries, D, order), rtol=0.0, atol=slack):
        raise DataError(f"the tensor of order {order} is not symmetric: give T + Tᵀ over 2")
    return entries


def _finite(entries: Array, order: int) -> Array:
    """Return read-only entries, if they are finite."""
    if not np.isfinite(entries).all():
        raise DataError(f"the tensor of order {order} has entries that are not finite")
    kept = np.array(entries, dtype=float)
    kept.setflags(write=False)
    return kept


def read_json(source: str | Path) -> tuple[dict[str, Any], str]:
    """Read the JSON of a metric, and what is in the same file.

    Parameters
    ----------
    source : str or Path
        The JSON text, or the path of a file.

    Returns
    -------
    dict
        The content.
    str
        How to call the source in a message.

    Raises
    ------
    DataError
        If it cannot be read, or is no metric.
    """
    if not str(source).strip():
        raise DataError("cannot read a metric from an empty text: give JSON, or the path of a file")
    is_text = isinstance(source, str) and source.lstrip().startswith("{")
    where = "this text" if is_text else str(source)
    text = str(source) if is_text else _text_of(source)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:120]
        raise DataError(
            f"{where} is not a metric written by mlmio, since it is not JSON ({reason}): {GIVE}"
        ) from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise DataError(f"{where} is not a metric written by mlmio: {GIVE}")
    return content, where


def _text_of(path: str | Path) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise DataError(f"cannot read a metric from {path} ({reason}): {GIVE}") from error
