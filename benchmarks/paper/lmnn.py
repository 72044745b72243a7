"""LMNN with Euclidean target neighbours, by mlmio's own block and by metric-learn."""

from __future__ import annotations

import mlmio
from mlmio import Dataset, Metric, Result


def by_block(data: Dataset, k: int, time_limit: float) -> Result:
    """Solve model:lmnn, convex, to its optimum over all positive semidefinite B."""
    return mlmio.solve(
        f"quadratic + unbounded + psd_cuts + lmnn(k={k})", data, time_limit=time_limit
    )


def by_peer(data: Dataset, k: int, stretch: float = 1.0) -> Metric:
    """Learn with metric-learn, which descends over a linear map, at its defaults.

    Its margin is 1, so that it matters whether the points are multiplied by `stretch` before.

    Raises
    ------
    MlmioError
        If metric-learn is not installed.
    """
    from benchmarks.metric_learn_shim import LMNN

    found = LMNN(n_neighbors=k, random_state=0).fit(stretch * data.X, data.y)
    return Metric({2: found.get_mahalanobis_matrix()}, data.D, data.scaling, data.feature_names)
