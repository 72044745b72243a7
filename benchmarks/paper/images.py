"""Images of digits as data sets: by their pixels, or by the features of an auto-encoder."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.paper.record import Record
from mlmio import DataError, Dataset, MlmioWarning, Scaling, load_dataset

if TYPE_CHECKING:
    from numpy.typing import NDArray

# So many are drawn where there are more.
MOST = 10_000


@dataclass(frozen=True, eq=False)
class Images:
    """Images with values from 0 to 1, their digits and features, and which are for training."""

    pixels: NDArray[np.float64]
    labels: NDArray[np.intp]
    features: NDArray[np.float64]
    train: NDArray[np.bool_]

    def by_features(self, which: NDArray[np.bool_]) -> Dataset:
        """Return some images by their features, all in the scaling of those for training."""
        scaling = Scaling.fit("minmax", self.features[self.train])
        return Dataset(self.features[which], self.labels[which], scale=scaling, name="digits")

    def by_pixels(self, which: NDArray[np.bool_]) -> Dataset:
        """Return some images by their pixels, not scaled."""
        with warnings.catch_warnings():
            # Pixels at the rim are white in all images.
            warnings.simplefilter("ignore", MlmioWarning)
            X = self.pixels[which].reshape(which.sum(), -1)
            return Dataset(X, self.labels[which], scale="none", name="digits by pixels")


def load_images(
    record: Record, names: tuple[str, ...]
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """Return (N, side, side) images with values from 0 to 1 and their digits.

    Raises
    ------
    DataError
        If there is a data set of none of the names.
    """
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MlmioWarning)
                data = load_dataset(name, scale="none", data_dir=record.data_dir)
                data = _drawn(data) if data.N > MOST else data
        except DataError as error:
            missing = error
            continue
        side = round(data.D**0.5)
        record.say(f"{name}: {data.N:,} images")
        return data.X.reshape(-1, side, side) / data.X.max(), data.labels.astype(int)
    raise DataError(f"the images are looked for as {' or '.join(names)}: {missing}")


def _drawn(data: Dataset) -> Dataset:
    return data.take(np.sort(np.random.default_rng(0).choice(data.N, MOST, replace=False)))
