"""metric-learn's LMNN and ITML, so that they run with scikit-learn 1.8 and later.

metric-learn 0.7.0 calls scikit-learn's checks of arrays with ``force_all_finite``, which
scikit-learn 1.6 renamed to ``ensure_all_finite`` and 1.8 dropped. Importing the learners from here
gives them checks that know both names. Where metric-learn is missing, the import raises an
MlmioError that says how to install it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from mlmio import MlmioError

try:
    import metric_learn._util
    from metric_learn import LMNN, ITML_Supervised
except ImportError as missing:
    raise MlmioError(
        "LMNN and ITML beside ours need metric-learn: install mlmio's extra 'peers', "
        'pip install -e ".[peers]"'
    ) from missing

__all__ = ["LMNN", "ITML_Supervised"]


def _renamed(check: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(check)
    def checked(*arrays: Any, **options: Any) -> Any:
        if "force_all_finite" in options:
            options["ensure_all_finite"] = options.pop("force_all_finite")
        return check(*arrays, **options)

    return checked


for _name in ("check_array", "check_X_y"):
    setattr(metric_learn._util, _name, _renamed(getattr(metric_learn._util, _name)))
