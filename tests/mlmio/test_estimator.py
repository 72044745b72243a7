"""The estimators: metric-learn's conventions, scikit-learn's tools, bad input, early ends."""

from __future__ import annotations

import pickle
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mlmio
from mlmio import DataError, MIOMetricClassifier, MIOMetricLearner, MlmioWarning, Scaling
from mlmio.registry import strategies
from mlmio.strategies.direct import Direct

X, Y = (part[::10] for part in load_iris(return_X_y=True))
N = len(X)
NAMES = np.array(["setosa", "versicolor", "virginica"])[Y]
PSD = "quadratic + diagonal + nearest"
MIXED = "linear + quadratic + nearest"


def learner(formulation: str = PSD, **parameters: Any) -> MIOMetricLearner:
    return MIOMetricLearner(formulation, strategy="direct", **parameters)


def classifier(formulation: str = PSD, **parameters: Any) -> MIOMetricClassifier:
    return MIOMetricClassifier(formulation, strategy="direct", **parameters)


@pytest.fixture(scope="module")
def fitted() -> MIOMetricLearner:
    return learner().fit(X, Y)


@pytest.fixture(scope="module")
def mixed() -> MIOMetricClassifier:
    return classifier(MIXED, n_neighbors=3).fit(X, NAMES)


# ---- metric-learn's vocabulary


def test_the_linear_map_in_original_units(fitted: MIOMetricLearner) -> None:
    L, M = fitted.components_, fitted.get_mahalanobis_matrix()
    np.testing.assert_allclose(M, L.T @ L)
    np.testing.assert_array_equal(fitted.transform(X), X @ L.T)
    factor = fitted.metric_.scaling.factor
    np.testing.assert_allclose(M, fitted.metric_.B / np.outer(factor, factor), atol=1e-12)


def test_pair_distance_is_that_of_the_mahalanobis_matrix(fitted: MIOMetricLearner) -> None:
    pairs = np.random.default_rng(0).normal(size=(12, 2, 4))
    M = fitted.get_mahalanobis_matrix()
    wanted = [np.sqrt((u - v) @ M @ (u - v)) for u, v in pairs]
    found = fitted.pair_distance(pairs)
    np.testing.assert_allclose(found, wanted, atol=1e-12)
    np.testing.assert_array_equal(fitted.pair_score(pairs), -found)
    mapped = fitted.transform(pairs.reshape(-1, 4)).reshape(12, 2, 4)
    np.testing.assert_allclose(np.linalg.norm(mapped[:, 0] - mapped[:, 1], axis=1), wanted)


def test_the_metric_as_a_function(fitted: MIOMetricLearner) -> None:
    metric = fitted.get_metric()
    distance = metric(X[0], X[9])
    assert distance == fitted.pair_distance([[X[0], X[9]]])[0]
    assert metric(X[0], X[9], squared=True) == distance**2
    assert metric(X[3], X[3]) == 0.0
    direct = KNeighborsClassifier(1, metric=metric, algorithm="brute").fit(X, Y)
    other = classifier().fit(X, Y)
    queries = load_iris().data[4::16]
    assert direct.predict(queries).tolist() == other.predict(queries).tolist()


def test_other_metrics_give_the_power_series(mixed: MIOMetricClassifier) -> None:
    pairs = np.random.default_rng(0).normal(size=(6, 2, 4))
    wanted = [mixed.metric_.distance([u], [v]).item() for u, v in pairs]
    np.testing.assert_allclose(mixed.pair_distance(pairs), wanted)
    assert mixed.get_metric()(*pairs[0], squared=True) == pytest.approx(wanted[0] ** 2)


@pytest.mark.parametrize(
    ("formulation", "why"),
    [(MIXED, "a term of order 1"), ("quadratic + nearest", "the negative eigenvalue")],
)
def test_a_metric_that_is_no_linear_map_says_so(formulation: str, why: str) -> None:
    one = learner(formulation).fit(X, Y)
    for ask in (lambda: one.transform(X), one.get_mahalanobis_matrix, lambda: one.components_):
        with pytest.raises(DataError, match=f"{why}.*use pair_distance, or learn with"):
            ask()
    assert not hasattr(one, "components_")
    assert len(one.pair_distance(X[:4].reshape(2, 2, 4))) == 2


@pytest.mark.parametrize(
    "pairs", [X, X[:2], [[[1.0, 2.0]]], np.full((1, 2, 4), np.nan), np.zeros((2, 3, 4))]
)
def test_wrong_pairs(fitted: MIOMetricLearner, pairs: Any) -> None:
    with pytest.raises(DataError, match="give finite numbers of shape"):
        fitted.pair_distance(pairs)


# ---- what fit leaves


def test_what_fit_leaves(mixed: MIOMetricClassifier) -> None:
    assert mixed.result_.verified
    assert mixed.metric_ == mixed.result_.metric
    assert mixed.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert mixed.r_ratio_.shape == (N,)
    np.testing.assert_array_equal(mixed.r_ratio_, mixed.diagnosis_.ratios)
    assert mixed.data_.labels.tolist() == NAMES.tolist()
    assert set(mixed.outliers_) == set(np.flatnonzero(mixed.r_ratio_ >= 1))


def test_outliers_are_named_by_row_and_do_not_vote() -> None:
    points = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1], [1.3]]
    one = classifier("linear + nearest + outliers(rho=0.3)")
    one.fit(points, ["a", "a", "a", "b", "b", "b", "a"])
    assert one.outliers_.tolist() == [6]
    assert one.predict([[1.3]]).tolist() == ["b"]
    assert len(one.model_.points) == 6


def test_neighbours_vote(mixed: MIOMetricClassifier) -> None:
    queries = load_iris().data[3::25]
    d = mixed.metric_.distance(queries, X)
    for i, row in enumerate(d):
        votes = NAMES[np.argsort(row)[:3]].tolist()
        shares = [votes.count(label) / 3 for label in mixed.classes_]
        assert mixed.predict_proba(queries)[i].tolist() == shares
        assert mixed.predict(queries)[i] == mixed.classes_[int(np.argmax(shares))]


def test_coverage_and_error() -> None:
    whole = load_iris()
    one = classifier(MIXED, abstain=0.5).fit(X, Y)
    curve = one.risk_coverage(whole.data, whole.target)
    assert curve.full_error == pytest.approx(1 - one.score(whole.data, whole.target))
    unclear = one.abstains(whole.data)
    np.testing.assert_array_equal(unclear, one.abstention_ratios(whole.data) > 0.5)
    wrong = one.predict(whole.data) != whole.target
    assert curve.at(0.5) == (
        pytest.approx(1 - unclear.mean()),
        pytest.approx(wrong[~unclear].mean()),
    )


def test_the_model_file_predicts_the_same(mixed: MIOMetricClassifier) -> None:
    again = mlmio.NeighborModel.from_json(mixed.model_.to_json())
    queries = load_iris().data
    assert again.predict(queries).tolist() == mixed.predict(queries).tolist()


def test_a_seed_and_a_start(fitted: MIOMetricLearner) -> None:
    assert learner(random_state=7).fit(X, Y).result_.options["seed"] == 7
    assert fitted.result_.options["seed"] == 0
    drawn = [
        learner(random_state=np.random.RandomState(3)).fit(X, Y).result_.options["seed"]
        for _ in range(2)
    ]
    assert drawn[0] == drawn[1] > 0
    warm = learner().fit(X, Y, start=fitted.result_)
    assert warm.result_.start is not None
    assert warm.result_.objective == pytest.approx(fitted.result_.objective)


def test_the_scaling_can_be_given() -> None:
    scaling = Scaling.fit("standard", load_iris().data)
    one = learner(scale=scaling).fit(X, Y)
    assert one.metric_.scaling is scaling
    assert clone(one).scale.to_dict() == scaling.to_dict()


# ---- scikit-learn's tools


def test_pipeline_grid_search_and_cross_validation() -> None:
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    scores = cross_val_score(classifier("linear + nearest"), X, NAMES, cv=folds)
    assert scores.min() > 0.5
    pipeline = make_pipeline(StandardScaler(), learner(scale="none"), KNeighborsClassifier(1))
    assert pipeline.fit(X, NAMES).score(X, NAMES) == 1.0
    search = GridSearchCV(classifier(), {"formulation": [PSD, "linear + nearest"]}, cv=folds)
    search.fit(X, NAMES)
    assert search.best_score_ == max(search.cv_results_["mean_test_score"])
    assert is_classifier(search)


@pytest.mark.parametrize("formulation", [PSD, MIXED])
def test_pickle_and_clone(formulation: str) -> None:
    one = classifier(formulation, n_neighbors=2).fit(X, NAMES)
    again = pickle.loads(pickle.dumps(one))
    assert again.predict(X).tolist() == one.predict(X).tolist()
    assert again.result_.objective == one.result_.objective
    fresh = clone(one)
    assert fresh.get_params() == one.get_params()
    with pytest.raises(NotFittedError):
        fresh.predict(X)


def test_pandas_in_and_out(fitted: MIOMetricLearner) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"], index=range(50, 50 + N))
    one = learner().set_output(transform="pandas").fit(frame, pd.Series(NAMES, index=frame.index))
    out = one.transform(frame)
    assert out.columns.tolist() == [f"miometriclearner{p}" for p in range(4)]
    assert out.index.tolist() == frame.index.tolist()
    np.testing.assert_allclose(out.to_numpy(), fitted.transform(X))
    assert one.metric_.feature_names == ("a", "b", "c", "d")
    with pytest.raises(ValueError, match="feature names"):
        one.transform(frame[["b", "a", "c", "d"]])


@pytest.mark.parametrize(
    "labels",
    [NAMES, NAMES.astype(object), Y, Y.astype(float), Y == 1, Y - 7, pd.Categorical(NAMES)],
    ids=["str", "object", "int", "float", "bool", "negative", "categorical"],
)
def test_labels_of_any_type(labels: Any) -> None:
    one = classifier("linear + nearest").fit(X, labels)
    predicted = one.predict(X)
    assert predicted.tolist() == np.asarray(labels).tolist()
    assert set(one.classes_.tolist()) == set(np.asarray(labels).tolist())


# ---- what cannot be used


@pytest.mark.parametrize("one", [learner(), classifier()], ids=["learner", "classifier"])
@pytest.mark.parametrize(
    ("points", "labels", "message"),
    [
        (np.where(X > 7.0, np.nan, X), Y, "contains NaN"),
        (np.where(X > 7.0, np.inf, X), Y, "contains infinity"),
        (X[:0], Y[:0], "0 sample"),
        (X[:1], Y[:1], "minimum of 2 is required"),
        (X[:, 0], Y, "Reshape your data"),
        (X[:, :0], Y, "0 feature"),
        (X, Y[:5], "inconsistent numbers of samples"),
        (X, np.zeros(N), "at least two classes"),
        (X, [*Y[:-1], 9], "class 9 has 1 point"),
        (X, np.linspace(0, 1, N), "Unknown label type"),
        (X, [None] * N, "Input y contains NaN|Unknown label type"),
        ([["a", "b"]] * 4, [0, 0, 1, 1], "could not convert|Unable to convert"),
        ([[0.0], [0.0], [1.0], [1.0]], [0, 1, 0, 1], "coincide but differ in class"),
        (np.eye(4) * 1e200, [0, 0, 1, 1], "larger than 1e"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_data(one: Any, points: Any, labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        clone(one).fit(points, labels)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors is 0"),
        ({"n_neighbors": 2.5}, "n_neighbors is 2.5"),
        ({"n_neighbors": 16}, "there are 15 points"),
        ({"abstain": 0}, "abstain is 0"),
        ({"abstain": "often"}, "abstain is 'often'"),
        ({"scale": "log"}, "Unknown scaling 'log'"),
        ({"formulation": "quadratic + nerest"}, "did you mean 'nearest'"),
        ({"formulation": "quadratic"}, "no block in slot 'neighbors'"),
        ({"solver": "oracle"}, "no solver 'oracle'"),
        ({"strategy": "guess"}, "no strategy 'guess'"),
        ({"time_limit": -1}, "time_limit is -1"),
        ({"random_state": -1}, "seed is -1"),
    ],
    ids=str,
)
def test_bad_parameters(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((ValueError, mlmio.SolverError), match=message):
        classifier().set_params(**parameters).fit(X, Y)


def test_other_features_than_fitted(fitted: MIOMetricLearner, mixed: MIOMetricClassifier) -> None:
    for ask in (fitted.transform, mixed.predict, mixed.predict_proba, mixed.abstains):
        with pytest.raises(ValueError, match="X has 3 features"):
            ask(X[:, :3])
        with pytest.raises(ValueError, match="NaN"):
            ask(np.full((1, 4), np.nan))


def test_constant_features_and_huge_scales() -> None:
    wide = np.column_stack([X * [1e12, 1e-12, 1.0, 1.0], np.full(N, 3.0)])
    with pytest.warns(MlmioWarning, match="1 of 5 features"):
        one = classifier().fit(wide, Y)
    assert one.score(wide, Y) == 1.0
    plain = classifier().fit(X, Y)
    assert one.result_.objective == pytest.approx(plain.result_.objective)


def test_coinciding_points_of_one_class_are_no_matter() -> None:
    twice = np.repeat(X, 2, axis=0)
    one = classifier("linear + nearest").fit(twice, np.repeat(Y, 2))
    assert (one.r_ratio_ == 0).all()
    assert one.score(X, Y) == 1.0


# ---- a solve that ends early


def ends_early(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    """Let the strategy ``direct`` end with other words."""

    class Early(Direct):
        def run(self, *args: Any) -> Any:
            outcome = super().run(*args)
            metric = outcome.metric if changes.get("objective", 1.0) is not None else None
            return replace(outcome, answer=replace(outcome.answer, **changes), metric=metric)

    monkeypatch.setitem(strategies._loaded, "direct", Early)


def test_a_limit_without_a_metric_leaves_a_usable_honest_estimator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ends_early(
        monkeypatch, status="no_incumbent", objective=None, message="stopped at the time limit"
    )
    with pytest.warns(MlmioWarning, match="the Euclidean distance of the scaled features stands"):
        one = classifier().fit(X, Y)
    assert one.result_.metric is None
    assert one.result_.status == "no_incumbent"
    scaled = one.metric_.scaling.apply(X)
    euclidean = KNeighborsClassifier(1).fit(scaled, Y)
    queries = load_iris().data
    wanted = euclidean.predict(one.metric_.scaling.apply(queries))
    assert one.predict(queries).tolist() == wanted.tolist()
    with pytest.warns(MlmioWarning):
        assert learner().fit(X, Y).transform(X).shape == X.shape


def test_ctrl_c_leaves_the_best_until_then(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_early(monkeypatch, status="feasible", bound=1.0, reason="interrupted")
    with pytest.warns(MlmioWarning, match="interrupted"):
        one = classifier().fit(X, Y)
    assert one.result_.status == "feasible"
    assert one.result_.gap > 0
    assert one.score(X, Y) == 1.0


def test_a_short_limit_is_kept_and_told() -> None:
    whole = load_iris()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MlmioWarning)
        one = classifier("quadratic + nearest", time_limit=0.02).fit(
            whole.data[::3], whole.target[::3]
        )
    assert one.result_.status in ("no_incumbent", "feasible")
    assert one.predict(whole.data).shape == (150,)


def test_what_fails_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    ends_early(monkeypatch, status="infeasible", objective=None)
    with pytest.raises(mlmio.SolverError, match="gave no metric on data: infeasible"):
        classifier().fit(X, Y)


@pytest.mark.parametrize("kind", [MIOMetricLearner, MIOMetricClassifier])
def test_the_defaults_fit(kind: Any) -> None:
    one = kind(time_limit=3).fit(X, NAMES)
    assert one.result_.verified
    assert one.result_.composition.slot("neighbors")[0].k == 4
    assert one.result_.strategy == one.get_params()["strategy"] == "auto"
