"""The points of a case."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from mlmio.data import Dataset, load_dataset
from mlmio.data.generators import GENERATORS
from mlmio.errors import DataError, MlmioWarning


def load_points(asked: Mapping[str, Any], data_dir: str | None = None) -> Dataset:
    """Load and draw the points that a case asks for.

    Where features or classes are left out, the scaling is fitted to what is left, and the points
    are drawn after that.

    Parameters
    ----------
    asked : mapping
        ``dataset``, ``per_class``, ``n``, ``features``, ``classes``, ``data_seed``, ``scale`` and
        ``label``, as in a :class:`~mlmio.bench.suite.DatasetEntry`.
    data_dir : str, optional
        Folder of data files, see :func:`mlmio.load_dataset`.

    Raises
    ------
    DataError
        If there is no such data set, or it has too few points, features or classes.
    """
    drawn = {"per_class": asked["per_class"], "n": asked["n"]}
    common = {"seed": asked["data_seed"], "label": asked["label"], "data_dir": data_dir}
    with warnings.catch_warnings():
        # Features without a spread are no news in a drawing.
        warnings.simplefilter("ignore", MlmioWarning)
        if asked["features"] is None and asked["classes"] is None:
            return load_dataset(asked["dataset"], scale=asked["scale"], **drawn, **common)
        # A generator makes n points; of other sets they are drawn when the rest is left out.
        made = {"n": drawn.pop("n")} if asked["dataset"] in GENERATORS else {}
        whole = load_dataset(asked["dataset"], scale="none", **made, **common)
        return _draw(_narrowed(whole, asked), asked["data_seed"], **drawn)


def _narrowed(whole: Dataset, asked: Mapping[str, Any]) -> Dataset:
    """The first features and classes only, scaled."""
    features, classes = asked["features"] or whole.D, asked["classes"] or whole.n_classes
    for wanted, there, what in (
        (features, whole.D, "features"),
        (classes, whole.n_classes, "classes"),
    ):
        if wanted > there:
            raise DataError(f"{whole.name} has {there} {what}: take at most as many, not {wanted}")
    rows = np.flatnonzero(whole.y < classes)
    return Dataset(
        whole.X[rows][:, :features],
        whole.labels[rows],
        scale=asked["scale"],
        ids=whole.ids[rows],
        feature_names=whole.feature_names[:features],
        name=whole.name,
    )


def _draw(data: Dataset, seed: int, per_class: int | None = None, n: int | None = None) -> Dataset:
    if per_class is not None:
        return data.draw(per_class, seed)
    if n is None:
        return data
    if n > data.N:
        raise DataError(f"{data.name} has {data.N} points: draw at most as many, not {n}")
    return data.take(np.random.default_rng(seed).choice(data.N, n, replace=False))


def hash_of(data: Dataset) -> str:
    """Hash of the points and labels."""
    digest = hashlib.sha256(np.ascontiguousarray(data.X).tobytes())
    digest.update(repr([str(label) for label in data.labels]).encode())
    digest.update(repr([str(i) for i in data.ids]).encode())
    return digest.hexdigest()
