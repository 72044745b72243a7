"""What the process of a case does: load, solve, and say what came of it as plain values."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from mlmio.bench.points import load_points
from mlmio.comparison import describe_failure
from mlmio.errors import FAILURES, MlmioError
from mlmio.result import Result
from mlmio.solving import solve


def answer(asked: Mapping[str, Any], data_dir: str | None) -> dict[str, Any]:
    """Run a case in this process.

    Returns
    -------
    dict
        ``outcome`` and ``message`` of a :class:`~mlmio.bench.records.Record`, and where it is
        ``done`` the fields that come from the result.
    """
    import numba

    numba.set_num_threads(min(asked["threads"], numba.config.NUMBA_NUM_THREADS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = solve(
                asked["composition"],
                load_points(asked, data_dir),
                asked["solver"],
                asked["strategy"],
                time_limit=asked["time_limit"],
                threads=asked["threads"],
                seed=asked["seed"],
                rel_gap=asked["rel_gap"],
            )
            return {"outcome": "done", "message": result.message, **_fields(result)}
    except MlmioError as error:
        return {"outcome": "refused", "message": str(error)}
    except MemoryError as error:
        return {"outcome": "out of memory", "message": describe_failure(error)}
    except (*FAILURES, AssertionError) as error:
        return {"outcome": "failed", "message": describe_failure(error)}


def _fields(result: Result) -> dict[str, Any]:
    """Everything of a result, as plain values."""
    return {
        "result": plain(result.to_dict()),
        "metric": None if result.metric is None else _metric(result.metric),
        "outliers": plain(result.outliers),
        "neighbors": plain([(point, served) for point, served in result.neighbors.items()]),
        "certificate": _certificate(result),
        "trajectory": plain([(m.seconds, m.incumbent, m.bound) for m in result.trajectory]),
    }


def _metric(metric: Any) -> Any:
    return json.loads(metric.to_json())


def _certificate(result: Result) -> Any:
    certificate = result.certificate
    if certificate is None:
        return None
    return plain(
        {
            "valid": certificate.valid,
            "objective": certificate.objective,
            "value": certificate.value,
            "worst": certificate.worst,
            "violations": [str(violation) for violation in certificate.violations],
            "contradictions": list(certificate.contradictions),
            "facts": dict(certificate.facts),
            "remarks": list(certificate.remarks),
        }
    )


def plain(value: Any) -> Any:
    """Make a value plain for JSON: no arrays, and None for what is not finite."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
