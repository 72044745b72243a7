"""Active learning: pool and oracle, its history, its stops, and wrong calls."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier

import mlmio.active
from mlmio import ActiveLearner, DataError, MIOMetricClassifier


def classifier(**parameters: object) -> MIOMetricClassifier:
    return MIOMetricClassifier("linear + nearest", strategy="direct", time_limit=5, **parameters)


def truth(X: np.ndarray) -> np.ndarray:
    """A class on either side of the diagonal."""
    return np.where(np.asarray(X).sum(axis=1) > 1.0, "above", "below")


def points(n: int, seed: int) -> np.ndarray:
    """Points with a gap between the classes, so that every one of them can be learned from."""
    X = np.random.default_rng(seed).uniform(size=(4 * n, 2))
    return X[np.abs(X.sum(axis=1) - 1.0) > 0.05][:n]


@pytest.fixture
def started() -> ActiveLearner:
    X = points(8, 0)
    return ActiveLearner(classifier(), batch=2, max_rounds=3, patience=9).fit(X, truth(X))


def test_the_pool_is_asked_in_the_regions(started: ActiveLearner) -> None:
    pool = points(40, 1)
    rows = started.select(pool)
    assert len(rows) == 2
    assert started.recommend().contains(pool)[:, rows[0]].any()


def test_a_share_of_a_batch_is_explored(started: ActiveLearner) -> None:
    pool = np.concatenate([points(40, 1), [[5.0, 5.0], [5.1, 5.0], [-5.0, 5.0]]])
    rows = started.set_params(batch=5).select(pool)
    assert rows[3:].tolist() == [42, 41]
    assert (rows[:3] < 40).all()
    assert (started.set_params(explore=0.0).select(pool) < 40).all()


def test_islands_are_found(started: ActiveLearner) -> None:
    island = np.array([[0.1, 3.0], [0.2, 3.1], [0.15, 3.05]])
    pool = np.concatenate([points(40, 1), island])
    started.set_params(batch=5, max_rounds=1).run(
        lambda X: np.where(X[:, 1] > 2.0, "below", truth(X)), pool
    )
    assert (started.history_[0].X[:, 1] > 2.0).any()


def test_run_with_a_pool(started: ActiveLearner) -> None:
    pool = points(40, 1)
    asked: list[np.ndarray] = []

    def oracle(X: np.ndarray) -> np.ndarray:
        asked.append(X)
        return truth(X)

    assert started.run(oracle, pool) is started
    assert started.stopped_ == "no more rounds"
    assert [done.size for done in started.history_] == [10, 12, 14]
    given = np.concatenate(asked)
    assert len(np.unique(given, axis=0)) == 6
    assert all((pool == x).all(axis=1).any() for x in given)
    for done, X in zip(started.history_, asked, strict=True):
        assert done.X.tolist() == X.tolist()
        assert done.labels.tolist() == truth(X).tolist()
        assert done.surprise == np.mean(done.predicted != done.labels)
    assert started.classifier_.data_.N == 14
    assert started.predict(pool).shape == (40,)
    assert started.score(pool, truth(pool)) > 0.8


def test_run_with_an_oracle_asks_at_the_centres(started: ActiveLearner) -> None:
    first = started.recommend().centres
    started.run(truth)
    assert started.history_[0].X.tolist() == first.tolist()
    assert started.X_.shape[0] == started.history_[-1].size


def test_every_solve_starts_from_the_last_metric(
    started: ActiveLearner, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []
    fit = MIOMetricClassifier.fit

    def watched(self: MIOMetricClassifier, X: object, y: object, **options: object) -> object:
        given.append(options.get("start"))
        return fit(self, X, y, **options)

    monkeypatch.setattr(MIOMetricClassifier, "fit", watched)
    before = started.classifier_.result_
    started.update([[0.9, 0.8]], ["above"])
    assert given == [before]


def test_the_loop_ends_when_the_pool_does(started: ActiveLearner) -> None:
    assert started.run(truth, points(3, 1)).stopped_ == "the pool is empty"
    assert [done.size for done in started.history_] == [10, 11]
    assert started.run(truth, np.empty((0, 2))).stopped_ == "the pool is empty"


def test_the_loop_ends_when_nothing_surprises() -> None:
    X = points(8, 0)
    active = ActiveLearner(classifier(), batch=1, max_rounds=20, patience=1).fit(X, truth(X))
    # Far from the boundary nothing can be mistaken.
    pool = np.array([[0.95, 0.95], [0.05, 0.05], [0.9, 0.97]])
    assert active.run(truth, pool).stopped_ == "as predicted"
    assert len(active.history_) == 1
    assert active.history_[0].surprise == 0.0


def test_new_classes(started: ActiveLearner) -> None:
    started.update([[3.0, 3.0], [3.1, 3.0]], ["beyond all", "beyond all"])
    assert started.classifier_.classes_.tolist() == ["above", "below", "beyond all"]
    assert started.history_[0].surprise == 1.0


def test_a_wrong_update_takes_nothing_in(started: ActiveLearner) -> None:
    with pytest.raises(ValueError, match="NaN"):
        started.update([[np.nan, 1.0]], ["above"])
    assert (len(started.X_), started.history_) == (8, [])


def test_names_of_features_stay() -> None:
    X = pd.DataFrame(points(8, 0), columns=["u", "v"])
    active = ActiveLearner(classifier(), batch=1).fit(X, truth(X.to_numpy()))
    pool = pd.DataFrame(points(9, 1), columns=["u", "v"])
    rows = active.select(pool)
    active.update(pool.iloc[rows], truth(pool.to_numpy()[rows]))
    assert active.classifier_.feature_names_in_.tolist() == ["u", "v"]


def test_parameters_and_refit(started: ActiveLearner) -> None:
    copy = clone(started)
    assert copy.batch == 2
    assert not hasattr(copy, "classifier_")
    started.update([[0.9, 0.8]], ["above"])
    X = points(8, 0)
    assert started.fit(X, truth(X)).history_ == []
    assert len(started.X_) == 8


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("batch", 0, "batch is 0: give a whole number of at least 1"),
        ("batch", 2.5, "batch is 2.5: give a whole number"),
        ("max_rounds", 0, "max_rounds is 0: give a whole number"),
        ("patience", -1, "patience is -1: give a whole number"),
        ("explore", 1.5, "explore is 1.5: give the share of a batch, from 0 to 1"),
        ("explore", np.nan, "explore is nan"),
    ],
)
def test_wrong_parameters_are_told_before_any_work(
    started: ActiveLearner, name: str, value: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    started.set_params(**{name: value})
    monkeypatch.delattr(MIOMetricClassifier, "fit")
    X = points(8, 0)
    asked: list[np.ndarray] = []
    for call in (
        lambda: started.fit(X, truth(X)),
        lambda: started.run(asked.append),
        lambda: started.select(X),
        lambda: started.recommend(3),
    ):
        with pytest.raises(DataError, match=message):
            call()
    assert asked == []


@pytest.mark.parametrize(
    ("pool", "message"),
    [
        (np.ones((3, 5)), "the pool has 5 features and the first points 2: give"),
        ([0.5, 0.5], "X has shape \\(2,\\)"),
        ([["a", "b"]], "which is not a number"),
        ([[0.5, np.inf]], "missing or infinite"),
    ],
)
def test_wrong_pools(started: ActiveLearner, pool: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        started.run(truth, pool)
    with pytest.raises(DataError, match=message):
        started.select(pool)
    assert started.history_ == []


def test_an_oracle_that_is_no_function(started: ActiveLearner) -> None:
    with pytest.raises(DataError, match="the oracle is a list: give a function"):
        started.run(["above", "below"])


def test_wrong_oracles_and_learners(started: ActiveLearner) -> None:
    with pytest.raises(DataError, match="the oracle was asked for the labels of"):
        started.run(lambda X: ["above"], points(9, 1))
    with pytest.raises(TypeError, match="KNeighborsClassifier cannot recommend"):
        ActiveLearner(KNeighborsClassifier()).fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(ValueError, match="not fitted"):
        ActiveLearner(classifier()).recommend()
    assert mlmio.active.ActiveLearner is ActiveLearner
