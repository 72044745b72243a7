"""mlmio: metric learning by mixed-integer optimization, composed from Pyomo blocks."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlmio.active import ActiveLearner
    from mlmio.blocks import Block, block, register_block
    from mlmio.comparison import Comparison, compare
    from mlmio.composition import Composition, compose, variants
    from mlmio.data import Dataset, Scaling, dataset_names, load_dataset
    from mlmio.diagnostics import Diagnosis, diagnose
    from mlmio.errors import (
        CompositionError,
        DataError,
        MlmioError,
        MlmioWarning,
        SolverError,
    )
    from mlmio.estimator import MIOMetricClassifier, MIOMetricLearner
    from mlmio.lattice import relation
    from mlmio.metric import Metric
    from mlmio.model import NeighborModel
    from mlmio.outlier_loop import OutlierLoop
    from mlmio.recommending import Recommendations, boundary_subset, recommend
    from mlmio.relaxations import Strength, strength
    from mlmio.result import Result, verify
    from mlmio.solving import solve

__version__ = "0.1.0"

# Where each public name lives; a module is imported when one of its names is first used.
_HOMES = {
    "mlmio.active": ("ActiveLearner",),
    "mlmio.blocks": ("Block", "block", "register_block"),
    "mlmio.comparison": ("Comparison", "compare"),
    "mlmio.composition": ("Composition", "compose", "variants"),
    "mlmio.data": ("Dataset", "Scaling", "dataset_names", "load_dataset"),
    "mlmio.diagnostics": ("Diagnosis", "diagnose"),
    "mlmio.errors": (
        "CompositionError",
        "DataError",
        "MlmioError",
        "MlmioWarning",
        "SolverError",
    ),
    "mlmio.estimator": ("MIOMetricClassifier", "MIOMetricLearner"),
    "mlmio.lattice": ("relation",),
    "mlmio.metric": ("Metric",),
    "mlmio.model": ("NeighborModel",),
    "mlmio.outlier_loop": ("OutlierLoop",),
    "mlmio.recommending": ("Recommendations", "boundary_subset", "recommend"),
    "mlmio.relaxations": ("Strength", "strength"),
    "mlmio.result": ("Result", "verify"),
    "mlmio.solving": ("solve",),
}
_MODULES = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "ActiveLearner",
    "Block",
    "Comparison",
    "Composition",
    "CompositionError",
    "DataError",
    "Dataset",
    "Diagnosis",
    "MIOMetricClassifier",
    "MIOMetricLearner",
    "Metric",
    "MlmioError",
    "MlmioWarning",
    "NeighborModel",
    "OutlierLoop",
    "Recommendations",
    "Result",
    "Scaling",
    "SolverError",
    "Strength",
    "__version__",
    "block",
    "boundary_subset",
    "compare",
    "compose",
    "dataset_names",
    "diagnose",
    "load_dataset",
    "recommend",
    "register_block",
    "relation",
    "solve",
    "strength",
    "variants",
    "verify",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'mlmio' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return __all__
