"""No windows, and no figures left over."""

from __future__ import annotations

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest

import mlmio
from mlmio import Diagnosis, Metric

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture
def found() -> Diagnosis:
    """Ten overlapping classes in the plane, with all three parts."""
    data = mlmio.load_dataset("ten_classes", n=300)
    return mlmio.diagnose(Metric({2: np.eye(2)}, 2, data.scaling), data)
