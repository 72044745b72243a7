"""Scalings: what they map to, that they are affine, and their records."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mlmio.data import Scaling
from mlmio.errors import DataError

KINDS = ["none", "minmax", "standard", "robust"]
X = np.array([[1.0, 10.0, 3.0], [2.0, 30.0, 3.0], [4.0, 20.0, 3.0], [9.0, 80.0, 3.0]])


def test_none_changes_nothing() -> None:
    assert np.array_equal(Scaling.fit("none", X).apply(X), X)


def test_minmax_reaches_zero_and_one() -> None:
    scaled = Scaling.fit("minmax", X).apply(X)[:, :2]
    assert scaled.min(axis=0).tolist() == [0.0, 0.0]
    assert scaled.max(axis=0).tolist() == [1.0, 1.0]


def test_standard_has_mean_zero_and_deviation_one() -> None:
    scaled = Scaling.fit("standard", X).apply(X)[:, :2]
    np.testing.assert_allclose(scaled.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(scaled.std(axis=0), 1.0)


def test_robust_has_median_zero_and_quartiles_one_apart() -> None:
    scaled = Scaling.fit("robust", X).apply(X)[:, :2]
    low, median, high = np.quantile(scaled, [0.25, 0.5, 0.75], axis=0)
    np.testing.assert_allclose(median, 0.0, atol=1e-15)
    np.testing.assert_allclose(high - low, 1.0)


@pytest.mark.parametrize("kind", KINDS[1:])
@pytest.mark.parametrize("value", [3.0, 0.1, -1e20])
def test_a_constant_feature_becomes_exactly_zero(kind: str, value: float) -> None:
    scaling = Scaling.fit(kind, np.full((7, 1), value))
    assert scaling.apply([[value]]).tolist() == [[0.0]]
    assert scaling.factor.tolist() == [1.0]


def test_minmax_takes_a_tiny_unit_for_what_it_is() -> None:
    tiny = X[:, :1] * 1e-30
    np.testing.assert_allclose(Scaling.fit("minmax", tiny).apply(tiny).max(), 1.0)


@given(
    arrays(np.float64, (6, 3), elements=st.floats(-1e6, 1e6)),
    st.sampled_from(KINDS),
)
def test_the_record_is_exact_and_the_map_can_be_undone(points: np.ndarray, kind: str) -> None:
    scaling = Scaling.fit(kind, points)
    again = Scaling.from_dict(json.loads(json.dumps(scaling.to_dict())))
    scaled = scaling.apply(points)
    assert again.kind == kind
    assert np.array_equal(again.apply(points), scaled)
    np.testing.assert_allclose(scaled * scaling.factor + scaling.shift, points, atol=1e-9)


def test_it_is_frozen() -> None:
    scaling = Scaling.fit("minmax", X)
    with pytest.raises(AttributeError):
        scaling.kind = "none"  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        scaling.shift[0] = 7.0


@pytest.mark.parametrize("points", [np.zeros((2, 4)), np.zeros(3), np.zeros((1, 3, 1))])
def test_apply_names_both_shapes(points: np.ndarray) -> None:
    with pytest.raises(DataError, match="3 features") as caught:
        Scaling.fit("minmax", X).apply(points)
    assert str(points.shape) in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_apply_refuses_what_is_not_finite(value: float) -> None:
    with pytest.raises(DataError, match="missing or infinite values: drop or fill in those rows"):
        Scaling.fit("minmax", X).apply([[0.0, value, 1.0]])


def test_an_unknown_kind_lists_the_kinds() -> None:
    with pytest.raises(DataError, match=r"'zscore'.*none, minmax, standard, robust"):
        Scaling.fit("zscore", X)


@pytest.mark.parametrize("points", [[1.0, 2.0], [[np.nan]], [[1.0, np.inf]], np.empty((0, 2))])
def test_fit_refuses_what_is_not_a_table_of_numbers(points: object) -> None:
    with pytest.raises(DataError, match="table of finite numbers"):
        Scaling.fit("minmax", points)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"kind": "none"}, "lacks shift, factor"),
        ({"kind": "odd", "shift": [0], "factor": [1]}, "Unknown scaling 'odd'"),
        ({"kind": "none", "shift": [0, 0], "factor": [1]}, "one shift and one factor"),
        ({"kind": "none", "shift": [0], "factor": [0]}, "other than 0"),
        ({"kind": "none", "shift": [np.nan], "factor": [1]}, "finite"),
    ],
)
def test_a_wrong_record_is_refused(record: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Scaling.from_dict(record)
