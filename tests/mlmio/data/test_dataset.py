"""Data sets: what they keep, their pairs and subsets, and every way to refuse bad data."""

import datetime
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from mlmio.data import Dataset, Scaling
from mlmio.errors import DataError, MlmioWarning

X = np.array([[0.0, 1.0], [4.0, 3.0], [2.0, 2.0], [1.0, 5.0], [3.0, 1.0]])
Y = ["b", "a", "b", "c", "a"]


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Data sets on a coarse grid, so that equal points are common."""
    n = draw(st.integers(2, 14))
    points = draw(st.lists(st.tuples(*2 * [st.integers(0, 2)]), min_size=n, max_size=n))
    labels = draw(
        st.lists(st.integers(0, 3), min_size=n, max_size=n).filter(lambda y: len(set(y)) > 1)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MlmioWarning)
        return Dataset(np.array(points, dtype=float), labels)


def test_it_keeps_points_labels_and_names() -> None:
    data = Dataset(X, Y, feature_names=["u", "v"], ids=list("pqrst"), name="five")
    assert np.array_equal(data.X, (X - [0.0, 1.0]) / 4.0)
    assert data.classes.tolist() == ["a", "b", "c"]
    assert data.y.tolist() == [1, 0, 1, 2, 0]
    assert data.y.dtype == np.intp
    assert data.labels.tolist() == Y
    assert data.feature_names == ("u", "v")
    assert data.ids.tolist() == list("pqrst")
    assert (data.N, data.D, data.n_classes, data.source_size) == (5, 2, 3, 5)
    assert len(data) == 5
    assert data.class_sizes.tolist() == [2, 2, 1]
    assert repr(data) == "Dataset(five: 5 points, 2 features, 3 classes, minmax)"


def test_defaults_number_rows_and_features() -> None:
    data = Dataset(X, Y)
    assert data.ids.tolist() == [0, 1, 2, 3, 4]
    assert data.feature_names == ("x0", "x1")
    assert data.name == "data"


def test_points_are_contiguous_and_nothing_can_be_changed() -> None:
    labels, ids = np.array(Y), np.arange(5)
    data = Dataset(np.asfortranarray(X), labels, ids=ids, scale="none")
    assert data.X.flags.c_contiguous
    for array in (data.X, data.y, data.labels, data.classes, data.ids):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        data.name = "other"  # type: ignore[misc]
    labels[0], ids[0] = "z", 99
    assert (data.labels[0], data.ids[0]) == ("b", 0)


def test_a_fitted_scaling_is_applied() -> None:
    scaling = Scaling("minmax", np.zeros(2), np.full(2, 10.0))
    data = Dataset(X, Y, scale=scaling)
    assert data.scaling is scaling
    assert np.array_equal(data.X, X / 10.0)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2, 1, 2, 10, 1], [1, 2, 10]),
        ([0.5, -1.0, 0.5, 2, 2], [-1.0, 0.5, 2.0]),
        ([True, False, True, True, False], [False, True]),
        ([1, "a", True, 1, "b"], [True, 1, "a", "b"]),
        (["b", 2, 10, "a", "b"], [10, 2, "a", "b"]),
        (np.array([3, 1, 1, 1, 3], dtype=np.uint8), [1, 3]),
        (np.array(["x", "y", "x", "x", "x"], dtype=object), ["x", "y"]),
        (np.array(["x", "y", "x", "x", "x"], dtype=np.dtypes.StringDType()), ["x", "y"]),
        (pd.Series(["x", "y", "x", "x", "x"]), ["x", "y"]),
        (pd.Categorical(["x", "y", "x", "x", "x"], categories=["y", "x", "w"]), ["x", "y"]),
        (pd.array([5, 4, 5, 5, 5], dtype="Int64"), [4, 5]),
        (pd.array([True, False, True, True, True], dtype="boolean"), [False, True]),
        (
            [datetime.date(2020, 1, d) for d in (2, 1, 1, 1, 1)],
            [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        ),
    ],
)
def test_labels_of_any_type(labels: Any, classes: list) -> None:
    data = Dataset(X, labels)
    assert data.classes.tolist() == classes
    assert data.labels.tolist() == list(labels)
    assert data.classes[data.y].tolist() == list(labels)


@pytest.mark.parametrize("label", ["kind", 1, -2, "1"])
def test_the_label_column_of_a_frame(label: Any) -> None:
    frame = pd.DataFrame({"u": X[:, 0], "kind": Y, "v": X[:, 1]})
    data = Dataset(frame, label)
    assert data.feature_names == ("u", "v")
    assert data.labels.tolist() == Y
    assert np.array_equal(data.X, Dataset(X, Y).X)


def test_a_frame_with_nullable_and_boolean_columns() -> None:
    frame = pd.DataFrame({"u": pd.array([1, 2, 3], dtype="Int64"), "v": [True, False, True]})
    data = Dataset(frame, [0, 1, 1], scale="none")
    assert data.X.tolist() == [[1.0, 1.0], [2.0, 0.0], [3.0, 1.0]]


def test_numbers_in_strings_are_numbers() -> None:
    assert Dataset([["1", 2], ["3", 4]], [0, 1], scale="none").X.tolist() == [[1, 2], [3, 4]]


def test_constant_features_are_named_once() -> None:
    with pytest.warns(MlmioWarning, match=r"2 of 3 features of trio .*\(b, c\)") as caught:
        data = Dataset(
            [[0, 7, 0.1], [1, 7, 0.1]], [0, 1], feature_names=["a", "b", "c"], name="trio"
        )
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert data.constant_features == ("b", "c")


def test_a_subset_knows_its_own_constant_features_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = Dataset(X, Y).take([0, 4])
    assert data.constant_features == ("x1",)


def test_neighbours_and_pairs() -> None:
    data = Dataset(X, Y)
    assert data.co_class(0).tolist() == [2]
    assert data.co_class(3).tolist() == []
    assert data.non_class(0).tolist() == [1, 3, 4]
    assert data.co_pairs().tolist() == [[0, 2], [1, 4], [2, 0], [4, 1]]
    assert data.pairs()[:5].tolist() == [[0, 1], [0, 2], [0, 3], [0, 4], [1, 2]]


@given(datasets())
def test_pairs_follow_from_the_classes(data: Dataset) -> None:
    rows = range(data.N)
    y = data.y
    expected = [[i, j] for i in rows for j in rows if i != j and y[i] == y[j]]
    assert data.co_pairs().tolist() == expected
    assert data.non_pairs().tolist() == [[i, k] for i in rows for k in rows if y[i] != y[k]]
    assert data.pairs().tolist() == [[i, j] for i in rows for j in rows if i < j]
    assert len(data.co_pairs()) == sum(m * (m - 1) for m in data.class_sizes)
    for i in rows:
        assert sorted([i, *data.co_class(i), *data.non_class(i)]) == list(rows)


@given(datasets())
def test_conflicts_against_comparing_all_pairs(data: Dataset) -> None:
    expected = [
        [i, j]
        for i, j in data.pairs().tolist()
        if data.y[i] != data.y[j] and np.array_equal(data.X[i], data.X[j])
    ]
    assert data.conflicts().tolist() == expected


def test_zero_and_minus_zero_conflict() -> None:
    data = Dataset([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]], [0, 1, 1], scale="none")
    assert data.conflicts().tolist() == [[0, 1]]


def test_conflicts_of_many_points_do_not_compare_all_pairs() -> None:
    n = 200_000  # all pairs would be 2e10
    points = np.arange(n, dtype=float)[:, None]
    points[-1] = points[0]
    assert Dataset(points, np.arange(n) % 2).conflicts().tolist() == [[0, n - 1]]


@given(datasets(), st.data())
def test_take_keeps_points_and_codes_classes_anew(data: Dataset, choice: st.DataObject) -> None:
    rows = choice.draw(
        st.lists(st.integers(0, data.N - 1), min_size=2, unique=True).filter(
            lambda rows: len(set(data.y[rows])) > 1
        )
    )
    subset = data.take(rows)
    assert np.array_equal(subset.X, data.X[rows])
    assert np.array_equal(subset.labels, data.labels[rows])
    assert np.array_equal(subset.classes[subset.y], subset.labels)
    assert set(subset.y) == set(range(subset.n_classes))
    assert subset.ids.tolist() == data.ids[rows].tolist()
    assert subset.scaling is data.scaling
    assert subset.source_size == data.N


@given(datasets(), st.integers(0, 1000), st.data())
def test_draw_takes_as_many_of_every_class(data: Dataset, seed: int, choice: st.DataObject) -> None:
    per_class = choice.draw(st.integers(1, int(data.class_sizes.min())))
    drawn = data.draw(per_class, seed)
    assert drawn.y.tolist() == [c for c in range(data.n_classes) for _ in range(per_class)]
    assert len(set(drawn.ids.tolist())) == drawn.N
    assert np.array_equal(drawn.X, data.X[drawn.ids])
    assert np.array_equal(drawn.ids, data.draw(per_class, seed).ids)


def test_draw_is_the_documented_sequence_of_random_numbers() -> None:
    y = np.arange(60) % 3
    rng = np.random.RandomState(7)
    expected = [rng.choice(np.flatnonzero(y == c), 4, replace=False) for c in range(3)]
    drawn = Dataset(np.arange(120.0).reshape(60, 2), y).draw(4, seed=7)
    assert drawn.ids.tolist() == np.concatenate(expected).tolist()
    assert repr(drawn) == "Dataset(data: 12 of 60 points, 2 features, 3 classes, minmax)"


def test_a_subset_of_a_subset_counts_from_the_first_set() -> None:
    assert Dataset(X, Y).take([0, 1, 2, 4]).take([0, 1]).source_size == 5


def test_take_by_booleans() -> None:
    assert Dataset(X, Y).take(np.array(Y) != "a").ids.tolist() == [0, 2, 3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "shape \\(0,\\)"),
        ([[0, 1]], "shape \\(1, 2\\)"),
        ([0, 9], "which has 5"),
        ([0.0, 1.0], "which has 5"),
        ([True, False], "which has 5"),
        ([0, 1, 0], "taken twice"),
        ([0, 1, -5], "taken twice"),
        ([0, 2], "All 2 points of data have the label 'b'"),
    ],
)
def test_take_refuses(rows: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(X, Y).take(rows)


@pytest.mark.parametrize(
    ("per_class", "seed", "message"),
    [
        (2, 0, "Class 'c' of data has only 1 points"),
        (0, 0, "per_class is 0"),
        (1.5, 0, "per_class is 1.5"),
        (True, 0, "per_class is True"),
        (1, -1, "seed is -1"),
        (1, 2**32, "seed is 4294967296"),
        (1, "x", "seed is 'x'"),
    ],
)
def test_draw_refuses(per_class: Any, seed: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(X, Y).draw(per_class, seed)


BAD_POINTS = {
    "one dimension": ([1.0, 2.0], r"shape \(2,\).*reshape"),
    "three dimensions": (np.zeros((2, 2, 2)), r"shape \(2, 2, 2\)"),
    "a number": (3.0, r"shape \(\)"),
    "no rows": (np.empty((0, 2)), "X is empty"),
    "an empty list": ([], "X is empty"),
    "no features": (np.empty((2, 0)), "2 rows but no features"),
    "nan": ([[0, 1], [np.nan, np.nan]], "first of 2 being nan in row 'q', feature 'u'"),
    "infinity": ([[0, -np.inf], [1, 1]], "first of 1 being -inf in row 'p', feature 'v'"),
    "none": ([[0, 1], [1, None]], "first of 1 being nan in row 'q', feature 'v'"),
    "not available": (
        pd.DataFrame({"a": pd.array([1, None], dtype="Int64"), "b": [1, 2]}),
        "first of 1 being nan in row 'q', feature 'u'",
    ),
    "masked": (np.ma.array(np.eye(2), mask=np.eye(2)), "first of 2 being nan in row 'p'"),
    "too large": ([[0, 1], [1, 2e150]], r"larger than 1e\+150.*2e\+150 in row 'q', feature 'v'"),
    "text": ([[0, 1], ["red", 1]], "'red' in row 'q', feature 'u', which is not a number"),
    "text in a frame": (
        pd.DataFrame({"a": [1, 2], "b": ["1.5", "red"]}),
        "'red' in row 'q', feature 'v'",
    ),
    "a date": (
        np.array([["2020-01-01"] * 2] * 2, dtype="datetime64[ns]"),
        "row 'p', feature 'u', which is not a number",
    ),
    "a list in a cell": ([[0, 1], [{}, 1]], "{} in row 'q', feature 'u'"),
    "complex": (np.eye(2) * 1j, "X is complex"),
    "a complex cell": (np.array([[0, 1], [1j, 1]], dtype=object), "1j in row 'q', feature 'u'"),
    "a huge integer": ([[0, 1], [10**400, 1]], "in row 'q', feature 'u', which is not a number"),
    "ragged": ([[0, 1], [1]], "Row 1 of X has 1 values but row 0 has 2"),
    "nested unevenly": ([[0, [1]], [1, 1]], "nested unevenly"),
    "sparse": (scipy.sparse.eye(2), "toarray"),
}


@pytest.mark.parametrize(("points", "message"), BAD_POINTS.values(), ids=BAD_POINTS)
def test_bad_points_are_refused_in_one_sentence(points: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        Dataset(points, [0, 1], feature_names=["u", "v"], ids=["p", "q"])
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(".")


BAD_LABELS = {
    "too few": ([0, 1], "X has 3 rows but y has 2 labels"),
    "too many": ([0, 1, 0, 1], "X has 3 rows but y has 4 labels"),
    "none": (["a", None, None], "no label in row 1, the first of 2"),
    "nan": ([0.0, 1.0, np.nan], "no label in row 2, the first of 1"),
    "not available": (pd.array([None, 1, 2], dtype="Int64"), "no label in row 0"),
    "no category": (pd.Categorical(["a", None, "b"]), "no label in row 1"),
    "no date": (np.array(["2020", "NaT", "2021"], dtype="datetime64[D]"), "no label in row 1"),
    "masked": (np.ma.array([0, 1, 2], mask=[0, 1, 0]), "no label in row 1"),
    "one class": (["a", "a", "a"], "All 3 points of data have the label 'a'"),
    "one class of numbers": (np.ones(3), "All 3 points of data have the label 1.0"),
    "a column": (np.array([[0], [1], [0]]), r"y has shape \(3, 1\)"),
    "a list of lists": ([[0], [1], [0]], "y is a list of lists"),
    "a frame": (pd.DataFrame({"a": [0, 1, 0]}), r"y has shape \(3, 1\)"),
    "a name without a frame": ("kind", "y is 'kind'"),
    "a position without a frame": (2, "y is 2"),
}


@pytest.mark.parametrize(("labels", "message"), BAD_LABELS.values(), ids=BAD_LABELS)
def test_bad_labels_are_refused(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset([[0.0], [1.0], [2.0]], labels)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ids": [1, 2]}, "ids has 2 entries but X has 5 rows"),
        ({"ids": [1, 2, 3, 2, 4]}, "The id 2 is given to 2 rows"),
        ({"ids": ["a", 1, "b", "c", "a"]}, "The id 'a' is given to 2 rows"),
        ({"ids": "abcde"}, "ids is 'abcde'"),
        ({"feature_names": ["u"]}, "feature_names has 1 names but X has 2 columns"),
        ({"scale": "zscore"}, "Unknown scaling 'zscore'"),
        ({"scale": Scaling.fit("none", [[1.0]])}, "fitted to 1 features"),
    ],
)
def test_bad_options_are_refused(options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(X, Y, **options)


@pytest.mark.parametrize(
    ("frame", "label", "message"),
    [
        (
            pd.DataFrame({"u": [1, 2], "v": [0, 1]}),
            "w",
            "no label column 'w': the columns are u, v",
        ),
        (pd.DataFrame({"u": [1, 2], "v": [0, 1]}), 2, "no label column 2"),
        (
            pd.DataFrame([[1, 2, 0], [1, 3, 1]], columns=["u", "c", "c"]),
            "c",
            "2 columns are called",
        ),
        (pd.DataFrame({"v": [0, 1]}), "v", "no features"),
    ],
)
def test_a_bad_label_column_is_refused(frame: pd.DataFrame, label: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(frame, label)
