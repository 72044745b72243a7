"""Data sets by name: where they are looked for, how they are drawn, and what is said if absent."""

import socket
import subprocess
import sys
from http.client import IncompleteRead
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets

from mlmio.data import dataset_names, load_dataset
from mlmio.data.generators import GENERATORS
from mlmio.errors import DataError, MlmioWarning

FRAME = pd.DataFrame({"u": [1.0, 2.0, 3.0, 4.0], "kind": list("abab"), "v": [4, 3, 2, 0]})


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave no way to OpenML and no data folder."""

    def offline(*args: Any, **kwargs: Any) -> None:
        raise URLError("no network")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    monkeypatch.delenv("MLMIO_DATA", raising=False)


def test_importing_the_package_is_light() -> None:
    code = "import sys, mlmio.data; print({'pandas', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), ["setosa", "versicolor", "virginica"]),
        ("wine", (178, 13), ["class_0", "class_1", "class_2"]),
        ("breast_cancer", (569, 30), ["benign", "malignant"]),
        pytest.param(
            "digits",
            (1797, 64),
            list(range(10)),
            marks=pytest.mark.filterwarnings("ignore::mlmio.errors.MlmioWarning"),
        ),
    ],
)
def test_sets_of_scikit_learn(name: str, shape: tuple, classes: list) -> None:
    data = load_dataset(name)
    bunch = getattr(sklearn.datasets, f"load_{name}")()
    assert data.X.shape == shape
    assert data.classes.tolist() == classes
    assert data.feature_names == tuple(bunch.feature_names)
    assert data.labels.tolist() == bunch.target_names[bunch.target].tolist()
    assert data.name == name


def test_digits_have_constant_pixels() -> None:
    with pytest.warns(MlmioWarning, match="3 of 64 features of digits"):
        load_dataset("digits")


@pytest.mark.parametrize("name", GENERATORS)
def test_generated_sets(name: str) -> None:
    data = load_dataset(name, n=40, seed=3, scale="none")
    X, labels = GENERATORS[name](40, 3)
    assert np.array_equal(data.X, X)
    assert np.array_equal(data.labels, labels)
    assert len(GENERATORS[name]()[0]) == load_dataset(name).N


def test_all_built_in_names_load() -> None:
    assert set(dataset_names()) == {"iris", "wine", "breast_cancer", "digits", *GENERATORS}


def test_the_iris_points_of_the_first_experiments() -> None:
    X, y = sklearn.datasets.load_iris(return_X_y=True)
    X = (X - X.min(0)) / (X.max(0) - X.min(0))
    rng = np.random.RandomState(0)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == c), 5, replace=False) for c in range(3)])
    data = load_dataset("iris", per_class=5)
    assert np.array_equal(data.X, X[rows])
    assert np.array_equal(data.y, y[rows])
    assert data.source_size == 150


def test_a_generated_set_can_be_drawn_from() -> None:
    data = load_dataset("two_lines", n=40, per_class=3, seed=1)
    assert (data.N, data.source_size) == (6, 40)


def test_drawing_without_regard_to_class() -> None:
    data = load_dataset("iris", n=50, seed=5)
    assert data.ids.tolist() == np.random.RandomState(5).choice(150, 50, replace=False).tolist()
    assert data.scaling.factor.tolist() == load_dataset("iris").scaling.factor.tolist()


@pytest.mark.parametrize("as_path", [str, Path])
def test_a_file_by_its_path(tmp_path: Path, as_path: type) -> None:
    FRAME.to_csv(tmp_path / "mine.CSV.gz", index=False, compression="gzip")
    data = load_dataset(as_path(tmp_path / "mine.CSV.gz"), label="kind")
    assert data.name == "mine"
    assert data.feature_names == ("u", "v")


def test_a_file_in_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("mine.csv", index=False)
    assert load_dataset("mine.csv", label=1).classes.tolist() == ["a", "b"]


@pytest.mark.parametrize("by_variable", [True, False])
def test_a_name_in_the_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by_variable: bool
) -> None:
    FRAME[["u", "v", "kind"]].to_csv(tmp_path / "mine.csv", index=False)
    if by_variable:
        monkeypatch.setenv("MLMIO_DATA", str(tmp_path))
    data = load_dataset("mine", data_dir=None if by_variable else tmp_path, per_class=1)
    assert (data.name, data.N, data.source_size) == ("mine", 2, 4)


def test_the_given_folder_and_the_compressed_file_come_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    FRAME.assign(label=list("yzyz")).to_csv(other / "mine.csv", index=False)
    FRAME[["u", "kind"]].to_csv(tmp_path / "mine.csv", index=False)
    FRAME[["v", "kind"]].to_csv(tmp_path / "mine.csv.gz", index=False)
    monkeypatch.setenv("MLMIO_DATA", str(other))
    assert load_dataset("mine", data_dir=tmp_path).feature_names == ("v",)


@pytest.mark.parametrize("label", [None, "kind"])
def test_openml_is_asked_last_and_not_for_long(
    monkeypatch: pytest.MonkeyPatch, label: str | None
) -> None:
    asked: dict = {}

    def fetch(name: str, **options: Any) -> SimpleNamespace:
        asked.update(options, name=name, timeout=socket.getdefaulttimeout())
        return SimpleNamespace(frame=FRAME, data=FRAME[["u", "v"]], target=FRAME["kind"])

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
    before = socket.getdefaulttimeout()
    data = load_dataset("far", label=label)
    assert (data.name, data.feature_names) == ("far", ("u", "v"))
    assert data.labels.tolist() == list("abab")
    assert asked["name"] == "far"
    assert 0 < asked["timeout"] <= 10
    assert socket.getdefaulttimeout() == before


def test_openml_without_a_label(monkeypatch: pytest.MonkeyPatch) -> None:
    bunch = SimpleNamespace(frame=FRAME, data=FRAME, target=None)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda *args, **options: bunch)
    with pytest.raises(DataError, match="no default label column"):
        load_dataset("far")


@pytest.mark.parametrize(
    "error",
    [URLError("offline"), ValueError("No known dataset."), TimeoutError(), IncompleteRead(b"")],
)
def test_an_unknown_name_says_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    before = socket.getdefaulttimeout()
    with pytest.raises(DataError) as caught:
        load_dataset("irris", data_dir=tmp_path)
    message = str(caught.value)
    for part in ("'irris'", "close to it: iris", str(tmp_path), ".csv.gz", "OpenML", "--data-dir"):
        assert part in message
    assert "\n" not in message
    assert socket.getdefaulttimeout() == before


def test_an_unknown_name_without_a_folder_lists_the_names() -> None:
    with pytest.raises(DataError, match=r"digits, two_lines.*no folder .* MLMIO_DATA"):
        load_dataset("qqqq")


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("iris", {"n": 5, "per_class": 2}, "two ways to draw"),
        ("iris", {"n": 151}, "iris has 150 points"),
        ("iris", {"n": 1}, "n is 1"),
        ("iris", {"per_class": 51}, "has only 50 points"),
        ("iris", {"label": "kind"}, "iris is built in"),
        ("iris", {"scale": "odd"}, "Unknown scaling 'odd'"),
        ("six_d", {"n": 2}, "n is 2"),
        ("islands", {"label": 0}, "islands is built in"),
        ("absent.csv", {}, "There is no file absent.csv"),
        ("absent/file", {}, "There is no file absent/file"),
        ("absent", {"data_dir": "no/such"}, "The data directory no/such is not a folder"),
    ],
)
def test_load_dataset_refuses(name: str, options: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_dataset(name, **options)
