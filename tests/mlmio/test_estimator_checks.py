"""scikit-learn's own checks of the estimators; none is expected to fail."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from mlmio import Metric, MIOMetricClassifier, MIOMetricLearner
from mlmio.registry import strategies
from mlmio.solvers.base import Answer
from mlmio.strategies.base import ModelSize, Outcome, Strategy


class Quick(Strategy):
    """The Euclidean distance without a solve, for checks that fit some hundred times."""

    name: ClassVar[str] = "quick"

    def run(self, composition: Any, data: Any, solver: Any, options: Any) -> Outcome:
        metric = Metric({2: np.eye(data.D) / data.D}, data.D, data.scaling, data.feature_names)
        found = composition.evaluate(data, metric)
        return Outcome(
            answer=Answer("feasible", objective=found.objective, bound=1.0),
            resolved=composition.completed,
            data=data,
            size=ModelSize(0, 0, 0, None),
            metric=metric,
            outliers=np.zeros(data.N, dtype=bool),
            lp_bound=None,
            build_s=0.0,
            lp_s=0.0,
            solve_s=0.0,
        )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategy of this file is forgotten after a test."""
    monkeypatch.setitem(strategies._loaded, "quick", Quick)


CHEAP: dict[str, Any] = {
    "formulation": "quadratic + bounded(dmin=0.0) + nearest",
    "strategy": "quick",
}


@parametrize_with_checks([MIOMetricLearner(**CHEAP), MIOMetricClassifier(**CHEAP)])
def test_scikit_learns_checks(quick: None, estimator: Any, check: Any) -> None:
    check(estimator)
