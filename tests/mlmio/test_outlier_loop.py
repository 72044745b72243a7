"""The outlier loop: planted outliers, its history, and any learner."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from mlmio import MIOMetricClassifier, OutlierLoop
from mlmio.diagnostics import r_ratios

PLANTED = [3, 11]


def planted() -> tuple[np.ndarray, np.ndarray]:
    """Two tight clusters, and two points of each other's label in the midst of them."""
    rng = np.random.default_rng(5)
    X = np.concatenate([rng.uniform(0.0, 0.3, (8, 2)), rng.uniform(0.7, 1.0, (8, 2))])
    y = np.repeat(["a", "b"], 8)
    # In the corners of their clusters, where no other point is nearest to them alone.
    X[3], X[11] = [1.05, 1.05], [-0.05, -0.05]
    return X, y


def learner(**parameters: object) -> MIOMetricClassifier:
    return MIOMetricClassifier(
        "quadratic + diagonal + nearest + outliers(rho=0.05)", strategy="direct", **parameters
    )


@pytest.mark.parametrize(
    "one",
    [learner(), NeighborhoodComponentsAnalysis(random_state=0), StandardScaler()],
    ids=["mio", "nca", "scaled"],
)
def test_planted_outliers_are_recovered(one: object) -> None:
    X, y = planted()
    loop = OutlierLoop(one).fit(X, y)
    assert sorted(loop.outliers_) == PLANTED
    assert loop.converged_
    assert loop.rows_.tolist() == [i for i in range(16) if i not in PLANTED]
    first, last = loop.history_[0], loop.history_[-1]
    assert first.rows.tolist() == list(range(16))
    assert last.rows.tolist() == loop.rows_.tolist()
    assert sorted(first.outliers) == PLANTED
    assert (first.ratios[PLANTED] >= 1).all()
    assert (last.ratios < 1).all()
    assert not len(last.outliers)


def test_the_history_tells_what_each_round_learned_from() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.integers(0, 2, size=60)
    loop = OutlierLoop(NeighborhoodComponentsAnalysis(random_state=0), keep=5).fit(X, y)
    assert len(loop.history_) > 2
    rows = np.arange(60)
    for done in loop.history_:
        assert done.rows.tolist() == rows.tolist()
        ratio = dict(zip(done.rows, done.ratios, strict=True))
        assert all(ratio[row] >= 1 for row in done.outliers)
        rows = np.array([row for row in rows if row not in done.outliers])
    assert sorted([*loop.rows_, *loop.outliers_]) == list(range(60))


def test_a_limit_of_rounds() -> None:
    X, y = planted()
    loop = OutlierLoop(learner(), max_rounds=1).fit(X, y)
    assert len(loop.history_) == 1
    assert sorted(loop.history_[0].outliers) == PLANTED
    assert loop.outliers_.tolist() == []
    assert len(loop.rows_) == 16
    assert not loop.converged_


def test_some_points_of_every_class_stay() -> None:
    X = np.array([[0.0], [0.2], [0.4], [0.6], [0.1], [0.3], [0.5], [0.7]])
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    loop = OutlierLoop(StandardScaler(), keep=3).fit(X, y)
    assert np.bincount(np.array(y)[loop.rows_]).tolist() == [3, 3]
    assert loop.converged_
    first = loop.history_[0]
    # Of the points that may go, that of the largest ratio goes.
    for c in (0, 1):
        worst = max((i for i in range(8) if y[i] == c), key=lambda i: first.ratios[i])
        gone = [row for row in first.outliers if y[row] == c]
        assert [first.ratios[row] for row in gone] == [first.ratios[worst]]


@pytest.mark.parametrize(("third", "dropped"), [(2.02, []), (2.0, [1])])
def test_a_ratio_of_one_is_the_limit(third: float, dropped: list[int]) -> None:
    asis = StandardScaler(with_mean=False, with_std=False)
    loop = OutlierLoop(asis, keep=1).fit([[0.0], [1.0], [third], [2.5]], [0, 0, 1, 1])
    assert loop.history_[0].ratios[1] == pytest.approx(1 / (third - 1) ** 2)
    assert loop.outliers_.tolist() == dropped


def test_in_turn_points_beside_an_outlier_stay() -> None:
    X = [[0.0], [0.3], [0.5], [0.9], [2.0], [2.1], [2.2], [0.38]]
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    asis = StandardScaler(with_mean=False, with_std=False)
    together = OutlierLoop(asis).fit(X, y)
    assert together.history_[0].outliers.tolist() == [7, 1, 2]
    in_turn = OutlierLoop(asis, in_turn=True).fit(X, y)
    assert in_turn.outliers_.tolist() == [7]
    assert in_turn.converged_


@pytest.mark.parametrize("seed", range(5))
def test_in_turn_every_point_that_stays_has_a_ratio_below_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, size=40)
    asis = StandardScaler(with_mean=False, with_std=False)
    loop = OutlierLoop(asis, in_turn=True).fit(X, y)
    assert loop.converged_
    assert len(loop.history_) == 2
    assert (loop.history_[-1].ratios < 1).all()


def test_in_turn_some_points_of_every_class_stay() -> None:
    X = np.array([[0.0], [0.2], [0.4], [0.6], [0.1], [0.3], [0.5], [0.7]])
    y = [0, 0, 0, 0, 1, 1, 1, 1]
    loop = OutlierLoop(StandardScaler(), keep=3, in_turn=True).fit(X, y)
    assert np.bincount(np.array(y)[loop.rows_]).tolist() == [3, 3]


def test_it_is_an_estimator() -> None:
    X, y = planted()
    loop = OutlierLoop(learner(), max_rounds=3)
    assert is_classifier(loop)
    assert clone(loop).get_params()["learner__strategy"] == "direct"
    assert not hasattr(loop, "transform")
    assert not hasattr(OutlierLoop(StandardScaler()), "predict")
    loop.fit(X, y)
    wrong = loop.predict(X) != y
    assert np.flatnonzero(wrong).tolist() == PLANTED
    assert loop.score(X, y) == 14 / 16
    assert loop.predict_proba(X).shape == (16, 2)
    assert loop.classes_.tolist() == ["a", "b"]
    assert loop.n_features_in_ == 2
    found = loop.learner_.diagnosis_
    wanted = r_ratios(loop.learner_.metric_, loop.learner_.data_, found.serves)
    assert loop.history_[-1].ratios == pytest.approx(wanted)


def test_it_transforms_as_its_learner_does() -> None:
    X, y = planted()
    loop = OutlierLoop(LinearDiscriminantAnalysis()).fit(X, y)
    np.testing.assert_array_equal(loop.transform(X), loop.learner_.transform(X))


def test_data_frames_and_cross_validation() -> None:
    pd = pytest.importorskip("pandas")
    X, y = planted()
    frame = pd.DataFrame(X, columns=["u", "v"], index=range(100, 116))
    loop = OutlierLoop(learner()).fit(frame, pd.Series(y, index=frame.index))
    assert sorted(loop.outliers_) == PLANTED
    assert loop.learner_.feature_names_in_.tolist() == ["u", "v"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cross_val_score(OutlierLoop(LinearDiscriminantAnalysis()), X, y, cv=2)
    assert scores.shape == (2,)


def test_what_gives_no_metric_is_refused() -> None:
    X, y = planted()
    with pytest.raises(TypeError, match="LogisticRegression gives no metric"):
        OutlierLoop(LogisticRegression()).fit(X, y)


@pytest.mark.parametrize("parameters", [{"max_rounds": 0}, {"max_rounds": 1.5}, {"keep": 0}])
def test_wrong_parameters(parameters: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(parameters))):
        OutlierLoop(StandardScaler(), **parameters).fit(*planted())


def test_bad_data_are_refused_as_the_learner_does() -> None:
    with pytest.raises(ValueError, match="NaN"):
        OutlierLoop(learner()).fit([[np.nan, 1.0]] * 4, [0, 0, 1, 1])
    with pytest.raises(ValueError, match="at least two classes"):
        OutlierLoop(learner()).fit(np.eye(4), [0, 0, 0, 0])
