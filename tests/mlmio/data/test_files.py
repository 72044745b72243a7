"""Files: every format, how the label is found, and files that are not what they say."""

import bz2
import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mlmio.data import Dataset, read_table
from mlmio.errors import DataError, MlmioWarning

FRAME = pd.DataFrame({"u": [1.5, 2.0, 0.1 + 0.2], "v": [1, 2, 3], "kind": ["red", "blue", "red"]})
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\xff\xfe"
SVMLIGHT = b"1 1:1.5 2:1\n-1 1:2.0 2:2\n1 2:3\n"
ARFF = b"""@relation r
@attribute u numeric
@attribute colour {red, blue}
@attribute kind {yes, no}
@data
1.5,red,yes
2,blue,no
?,?,yes
"""


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".CSV", ".tsv", ".tsv.gz"])
def test_separated_values(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a{ending}"
    FRAME.to_csv(path, index=False, sep="\t" if "tsv" in ending else ",")
    features, labels = read_table(path)
    pd.testing.assert_frame_equal(features, FRAME[["u", "v"]])
    assert labels.tolist() == ["red", "blue", "red"]


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = tmp_path / "a.parquet"
    FRAME.to_parquet(path)
    features, labels = read_table(str(path))
    pd.testing.assert_frame_equal(features, FRAME[["u", "v"]])
    assert labels.tolist() == ["red", "blue", "red"]


@pytest.mark.parametrize("name", ["libsvm", "svm", "svmlight"])
@pytest.mark.parametrize(
    ("ending", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)]
)
def test_libsvm(tmp_path: Path, name: str, ending: str, pack: Any) -> None:
    path = tmp_path / f"a.{name}{ending}"
    path.write_bytes(pack(SVMLIGHT))
    features, labels = read_table(path)
    assert features.to_numpy().tolist() == [[1.5, 1.0], [2.0, 2.0], [0.0, 3.0]]
    assert [type(label) for label in labels.tolist()] == [int, int, int]
    assert labels.tolist() == [1, -1, 1]


def test_libsvm_keeps_labels_that_are_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.svm"
    path.write_bytes(b"0.5 1:1\n2 1:3\n")
    assert read_table(path)[1].tolist() == [0.5, 2.0]


def test_arff_has_text_labels_and_missing_values(tmp_path: Path) -> None:
    path = tmp_path / "a.arff"
    path.write_bytes(ARFF)
    features, labels = read_table(path)
    assert labels.tolist() == ["yes", "no", "yes"]
    assert features["colour"].tolist()[:2] == ["red", "blue"]
    assert features.isna().to_numpy().tolist() == [[False] * 2, [False] * 2, [True] * 2]


def test_npz_flattens_images(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    images = np.arange(12, dtype=np.uint8).reshape(3, 2, 2)
    np.savez(path, images=images, labels=[4, 5, 4])
    for label in (None, "labels", -1):
        features, labels = read_table(path, label)
        assert np.array_equal(features, images.reshape(3, 4))
        assert labels.tolist() == [4, 5, 4]


@pytest.mark.parametrize(
    ("header", "label", "expected"),
    [
        ("a,b,c", None, "c"),
        ("a,Class,c", None, "Class"),
        ("Y,b,c", None, "Y"),
        ("label,target,c", None, "c"),
        ("a,b,c", "b", "b"),
        ("a,b,c", 0, "a"),
        ("a,b,c", -2, "b"),
        ("a,b,c", "1", "b"),
        ("a,b,1", "1", "1"),
        ("a,b,c", "-3", "a"),
    ],
)
def test_which_column_is_the_label(tmp_path: Path, header: str, label: Any, expected: str) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,2,3\n4,5,6\n")
    features, labels = read_table(path, label)
    assert labels.name == expected
    assert sorted([*features.columns, expected]) == sorted(header.split(","))
    assert features.shape == (2, 2)


@pytest.mark.parametrize(
    ("header", "warned"),
    [
        ("5.1,3.5,setosa", True),
        ("5.1,5.1,3", True),
        ("a,b,c", False),
        ("0,1,2", False),
        ("1,2,label", False),
    ],
)
def test_a_line_of_data_taken_for_names(
    tmp_path: Path, header: str, warned: bool, recwarn: pytest.WarningsRecorder
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"{header}\n1,2,a\n4,5,b\n")
    read_table(path)
    messages = [str(w.message) for w in recwarn if issubclass(w.category, MlmioWarning)]
    assert ["looks like data" in message for message in messages] == [True] * warned


def test_columns_of_one_name_are_told_apart_and_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("u,u,label\n1,2,a\n4,5,b\n")
    with pytest.warns(MlmioWarning, match=r"called 'u': the later ones are taken as 'u\.1';"):
        features, _ = read_table(path)
    assert list(features.columns) == ["u", "u.1"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "is empty"),
        ("a.csv.gz", gzip.compress(b"", mtime=0), r"cannot be read as \.csv\.gz"),
        ("a.csv", b"u,v\n", "has no rows"),
        ("a.csv", b"u\n1\n2\n", "one column only, 'u'"),
        ("a.csv", b"u;v\n1;2\n", "one column only, 'u;v'"),
        ("a.csv", PNG, r"cannot be read as \.csv"),
        ("a.csv", b"u,v\n1,2\n1,2,3\n", "line 3"),
        ("a.csv", b"u,v\n1,2,3\n4,5,6\n", r"cannot be read as \.csv"),
        ("a.csv.gz", b"u,v\n1,2\n", r"cannot be read as \.csv\.gz"),
        ("a.csv.gz", gzip.compress(b"u,v\n1,2\n", mtime=0)[:-9], r"cannot be read as \.csv\.gz"),
        ("a.parquet", b"u,v\n1,2\n", r"cannot be read as \.parquet"),
        ("a.libsvm", b"u,v\n1,2\n", r"cannot be read as \.libsvm"),
        ("a.libsvm", PNG, r"cannot be read as \.libsvm"),
        ("a.svm.bz2", SVMLIGHT, r"cannot be read as \.svm\.bz2"),
        ("a.arff", b"u,v\n1,2\n", "a.arff"),
        ("a.arff", PNG, r"cannot be read as \.arff"),
        ("a.arff", b"@relation r\n@attribute u string\n@data\nx\n", r"cannot be read as \.arff"),
        ("a.npz", b"u,v\n1,2\n", r"cannot be read as \.npz"),
        ("a.npz", pickle.dumps([1]), r"cannot be read as \.npz"),
        ("a.xlsx", b"PK", r"ends with none of \.csv, .*\.npz"),
        ("a", b"u,v\n1,2\n", "ends with none of"),
    ],
)
def test_files_that_are_not_what_they_say(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message) as caught:
        read_table(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(2), y=np.array([{}, "a"], dtype=object))
    with pytest.raises(DataError, match=r"cannot be read as \.npz.*allow_pickle"):
        read_table(path)


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.eye(3)},
        {"y": np.arange(3)},
        {"X": np.eye(3), "y": np.arange(2)},
        {"X": np.eye(3), "y": np.arange(3), "z": np.arange(3)},
    ],
)
def test_npz_needs_points_and_labels(tmp_path: Path, arrays: dict) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(DataError, match=r"holds the arrays [Xy] \(3.*one of labels"):
        read_table(tmp_path / "a.npz")


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"There is no file .*a\.csv"):
        read_table(tmp_path / "a.csv")


def test_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="is a directory"):
        read_table(tmp_path)


@pytest.mark.parametrize("method", ["stat", "open"])
def test_a_forbidden_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    path = tmp_path / "a.csv"
    FRAME.to_csv(path, index=False)

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(13, "Permission denied")

    target = {"stat": (Path, "stat"), "open": (pd, "read_csv")}[method]
    monkeypatch.setattr(*target, refuse)
    with pytest.raises(DataError, match="may not be read by this user"):
        read_table(path)


def test_a_reader_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> None:
        raise ImportError("Missing optional dependency 'pyarrow'.")

    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    monkeypatch.setattr(pd, "read_parquet", refuse)
    with pytest.raises(DataError, match=r"not installed: .*'pyarrow'"):
        read_table(path)


def test_an_unknown_label_lists_ten_columns(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(",".join(f"c{k}" for k in range(12)) + "\n" + ",".join("1" * 12) + "\n")
    with pytest.raises(DataError, match=r"no label column 'kind'.* c0, .*, c9 and 2 more"):
        read_table(path, "kind")


def test_a_cell_that_is_not_a_number_is_found_by_the_data_set(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("u,v,kind\n1,2,a\n3,oops,b\n")
    with pytest.raises(DataError, match="'oops' in row 1, feature 'v'"):
        Dataset(*read_table(path))
