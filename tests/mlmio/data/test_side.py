"""Side information of a data set: by identifier, from files, through subsets; no labels."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mlmio
from mlmio.data import Dataset, load_dataset, read_table
from mlmio.errors import DataError

X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [5.0, 5.0], [6.0, 5.0], [5.0, 6.0], [99.0, 9.0]])
Y = [0, 0, 0, 1, 1, 1, 1]
IDS = list("abcdefg")
LINKS = {"must_link": [(0, 1), (1, 2), (3, 4), (4, 5)], "cannot_link": [(0, 3)]}


def test_tuples_are_given_by_row_number_or_identifier() -> None:
    by_row = Dataset(X, Y, side={"triplets": [(0, 1, 3)]})
    by_id = Dataset(X, Y, ids=IDS, side={"triplets": np.array([["a", "b", "d"]])})
    by_text = Dataset(X, Y, side={"triplets": [["0", "1", np.int64(3)]]})
    for data in (by_row, by_id, by_text):
        assert data.side_rows("triplets", 3).tolist() == [[0, 1, 3]]
    assert by_id.positions(["c", "a"]) == [2, 0]


def test_any_name_is_taken_and_duplicates_are_ignored() -> None:
    data = Dataset(X, Y, side={"my_block": [(0, 1, 2, 3), (0, 1, 2, 3), (1, 0, 2, 3)]})
    assert data.side_rows("my_block", 4).tolist() == [[0, 1, 2, 3], [1, 0, 2, 3]]


def test_a_file_may_have_a_header_blank_lines_spaces_and_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text("﻿first,second\n a , b\n\n,\nb,c\n", encoding="utf-8")
    data = Dataset(X, Y, ids=IDS, side={"must_link": path})
    assert data.side_rows("must_link", 2).tolist() == [[0, 1], [1, 2]]
    path.write_text("0,1\n1,2")
    data = Dataset(X, Y, side={"must_link": str(path)})
    assert data.side_rows("must_link", 2).tolist() == [[0, 1], [1, 2]]


BAD = {
    "unknown": ([("a", "b"), ("a", "z")], r"must_link\[1\] names 'z', .*the 7 ids are a, b, c, …"),
    "unequal": ([("a", "b"), ("a", "b", "c")], r"must_link\[1\] has 3 point\(s\): give 2, as "),
    "one": ([("a",)], r"must_link\[0\] has 1 point\(s\): give two at least"),
    "none": ([()], r"must_link\[0\] has 0 point\(s\)"),
    "twice": ([("a", "a")], r"must_link\[0\] names 'a' twice"),
    "flat": (["a", "b"], r"must_link\[0\] is 'a': give a tuple of ids"),
    "number": (5, "must_link is 5: give tuples of ids"),
    "nested": ([("a", ["b"])], r"must_link\[0\] names \['b'\]"),
    "no file": ("nowhere.csv", "no file nowhere.csv"),
}


@pytest.mark.parametrize(("given", "message"), BAD.values(), ids=BAD)
def test_bad_tuples_are_refused(given: Any, message: str) -> None:
    with pytest.raises(DataError, match=message) as error:
        Dataset(X, Y, ids=IDS, side={"must_link": given})
    assert "\n" not in str(error.value)


BAD_FILES = {
    "unknown": (b"a,b\nc,x", "line 2 of .*links.csv names 'x'"),
    "half a header": (b"a,second\nc,x", "line 1 of .*links.csv names 'second'"),
    "unequal": (b"a,b\na,b,c", r"line 2 of .*links.csv has 3 point\(s\): give 2, as line 1"),
    "twice": (b"i,j\na,b\n\nc,c", "line 4 of .*links.csv names 'c' twice"),
    "semicolons": (b"a;b\nc;d", r"line 2 of .*links.csv has 1 point\(s\): give two at least"),
    "header only": (b"i,j\n", "links.csv names no id of a point"),
    "blank": (b"\n \n", "links.csv names no id of a point"),
    "empty": (b"", "links.csv is empty"),
    "binary": (b"\xff\xfe\x00", "links.csv cannot be read as a CSV file in UTF-8"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_bad_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Dataset(X, Y, ids=IDS, side={"must_link": path})


def test_side_must_be_a_mapping_and_ids_must_differ_as_text() -> None:
    with pytest.raises(DataError, match=r"side is .*: give a dict"):
        Dataset(X, Y, side=[(0, 1)])  # type: ignore[arg-type]
    with pytest.raises(DataError, match="Two ids read '1'"):
        Dataset(X, Y, ids=[0, 1, "1", 3, 4, 5, 6], side={"must_link": [(0, 3)]})


def test_asking_for_what_is_absent_or_of_another_width_is_refused() -> None:
    data = Dataset(X, Y, side={"triplets": [(0, 1, 3)], "must_link": []})
    with pytest.raises(DataError, match="no side information 'must_link' on the points of data"):
        data.side_rows("must_link", 2)
    with pytest.raises(DataError, match="no side information 'cannot_link'"):
        data.side_rows("cannot_link", 2)
    with pytest.raises(DataError, match="'triplets' of data have 3 points: give 2 in each"):
        data.side_rows("triplets", 2)
    with pytest.raises(DataError, match="data names 9, which is not the id"):
        data.positions([9])


def test_subsets_keep_the_tuples_whose_points_are_all_there() -> None:
    data = Dataset(X, Y, side={"must_link": [(0, 1), (1, 2), (3, 5)], "triplets": [(0, 2, 3)]})
    part = data.take([5, 2, 1, 3])
    assert part.side_rows("must_link", 2).tolist() == [[2, 1], [3, 0]]
    assert part.ids[part.side["must_link"]].tolist() == [[1, 2], [3, 5]]
    with pytest.raises(DataError, match="no side information 'triplets'"):
        part.side_rows("triplets", 3)
    drawn = data.draw(2, seed=1)
    kept = [pair for pair in [[0, 1], [1, 2], [3, 5]] if set(pair) <= set(drawn.ids.tolist())]
    assert drawn.ids[drawn.side["must_link"]].tolist() == kept


def test_with_side_leaves_the_data_set_as_it_is() -> None:
    data = Dataset(X, Y)
    told = data.with_side("must_link", [(0, 1)])
    assert told.side_rows("must_link", 2).tolist() == [[0, 1]]
    assert data.side == {}
    assert told.X is data.X
    for rows in (told.side["must_link"], told.take([0, 1, 3]).side["must_link"]):
        assert not rows.flags.writeable


def test_a_data_set_with_side_information_can_be_pickled() -> None:
    data = pickle.loads(pickle.dumps(Dataset(X, None, side=LINKS)))
    assert data.side_rows("must_link", 2).tolist() == [list(pair) for pair in LINKS["must_link"]]
    assert data.apart(0, 3)


def test_links_that_contradict_labels_are_refused() -> None:
    data = Dataset(X, Y, ids=IDS, side={"must_link": [("a", "b"), ("b", "d")]})
    with pytest.raises(DataError, match="a – b – d must be one class, but a is of class 0 and d"):
        data.with_side("cannot_link", [("a", "e")]).links()
    data = Dataset(X, Y, ids=IDS, side={"must_link": [("a", "b")], "cannot_link": [("e", "f")]})
    with pytest.raises(DataError, match="e and f cannot be of one class, but both are of class 1"):
        data.links()


def test_points_without_labels_are_scaled_before_those_in_no_link_are_left_out() -> None:
    data = Dataset(X, None, side=LINKS)
    assert repr(data) == "Dataset(data: 6 of 7 points, 2 features, 2 classes, minmax)"
    assert np.array_equal(data.X, X[:6] / [99.0, 9.0])
    assert data.classes.tolist() == ["group of 0", "group of 3"]
    assert data.class_sizes.tolist() == [3, 3]
    assert data.links().similar.tolist() == [[0, 1], [0, 2], [1, 2], [3, 4], [3, 5], [4, 5]]


def test_classes_stay_when_the_point_that_connects_them_is_left_out() -> None:
    data = Dataset(X, None, side=LINKS).take([0, 2, 3])
    assert data.co_class(0).tolist() == [1]
    assert data.non_class(0).tolist() == [2]
    assert data.side["must_link"].tolist() == []


def test_classes_that_no_cannot_link_tells_apart_are_neither() -> None:
    links = {"must_link": [(0, 1), (2, 3), (4, 5)], "cannot_link": [(0, 2)]}
    points = X.copy()
    points[5] = points[0]
    data = Dataset(points, None, side=links)
    assert data.apart(0, np.arange(6)).tolist() == [False, False, True, True, False, False]
    assert data.non_class(4).tolist() == []
    assert data.conflicts().tolist() == []  # 0 and 5 coincide but are not apart
    assert data.non_pair_count == 8
    with pytest.raises(DataError, match="No cannot-link is left between the 4 points"):
        data.take([0, 1, 4, 5])


def test_a_class_of_one_is_kept_and_refused_where_neighbours_are_needed() -> None:
    data = Dataset(X, None, side={"must_link": [(0, 1)], "cannot_link": [(0, 3)]})
    assert data.class_sizes.tolist() == [2, 1]
    with pytest.raises(DataError, match=r"class 'group of 3' has 1 point\(s\), and 'nearest'"):
        mlmio.compose("quadratic + nearest").build(data)


@pytest.mark.parametrize(
    ("side", "message"),
    [
        (None, "data has no labels: give y, or must-links and cannot-links"),
        ({"must_link": [(0, 1)]}, "data has no labels"),
        ({"cannot_link": [(0, 1)]}, "data has no labels"),
        ({"must_link": [], "cannot_link": [(0, 1)]}, "no side information 'must_link'"),
        ({"must_link": [(0, 1, 2)], "cannot_link": [(0, 3)]}, "have 3 points: give 2"),
        ({"must_link": [(0, 1), (1, 2)], "cannot_link": [(2, 0)]}, "2 – 1 – 0 must be one class"),
    ],
)
def test_points_without_labels_need_consistent_links(side: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        Dataset(X, None, side=side)


def test_points_without_labels_are_solved_and_verified() -> None:
    result = mlmio.solve("quadratic + nearest", Dataset(X, None, side=LINKS))
    assert (result.status, result.verified) == ("optimal", True)
    labelled = mlmio.solve("quadratic + nearest", Dataset(X[:6], Y[:6]))
    assert result.objective == pytest.approx(labelled.objective, rel=1e-6)


def test_loading_passes_side_information_on(tmp_path: Path) -> None:
    path = tmp_path / "links.csv"
    path.write_text("0,1\n0,2")
    data = load_dataset("iris", side={"must_link": path})
    assert len(data.side_rows("must_link", 2)) == 2
    assert len(load_dataset("two_lines", n=9, side={"must_link": [(0, 1)]}).side["must_link"]) == 1


def test_loading_a_file_without_labels(tmp_path: Path) -> None:
    table, must, cannot = (tmp_path / name for name in ("table.csv", "must.csv", "cannot.csv"))
    pd.DataFrame(X, columns=["u", "class"]).to_csv(table, index=False)
    must.write_text("i,j\n0,1\n3,4\n")
    cannot.write_text("1,3\n")
    data = load_dataset(table, label="none", side={"must_link": must, "cannot_link": cannot})
    assert data.feature_names == ("u", "class")
    assert (data.N, data.n_classes, data.source_size) == (4, 2, 7)
    with pytest.raises(DataError, match="table has no labels"):
        load_dataset(table, label="none")


def test_no_label_column(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("u\n1\n2\n")
    features, labels = read_table(path, "none")
    assert labels is None
    assert features["u"].tolist() == [1, 2]
    path.write_text("u,none\n1,a\n2,b\n")
    assert read_table(path, "none")[1].tolist() == ["a", "b"]
    np.savez(tmp_path / "table.npz", X=X, y=Y)
    features, labels = read_table(tmp_path / "table.npz", "none")
    assert labels is None
    assert np.array_equal(features, X)
