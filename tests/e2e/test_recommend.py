"""``mlmio recommend`` and ``mlmio fit --report`` as a user types them."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import mlmio
from mlmio import Dataset, Metric, NeighborModel
from mlmio.cli import app

LINE = "u,v,label\n0,0,a\n3,0,a\n4,0,b\n10,0.001,b\n"


def call(*words: str) -> Any:
    result = CliRunner().invoke(app, list(words), prog_name="mlmio")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test in an empty folder with a model and points."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("MLMIO_DATA", raising=False)
    data = Dataset([[0.0, 0.0], [10.0, 2.0]], ["a", "b"])
    metric = Metric({2: np.eye(2)}, 2, data.scaling, ["u", "v"])
    NeighborModel(metric, data.X, data.y, data.classes).to_json("m.json")
    metric.to_json("plain.json")
    (tmp_path / "line.csv").write_text(LINE)
    (tmp_path / "numbers.csv").write_text("u,v,what\n1,2,0.5\n3,4,0.7\n3,4,0.9\n")
    (tmp_path / "one.csv").write_text("u,v,label\n1,2,a\n3,4,a\n")
    (tmp_path / "bare.csv").write_text("u,v\n1,2\n3,4\n")
    return tmp_path


def test_recommend_writes_one_line_each(folder: Path) -> None:
    told = call("recommend", "m.json", "line.csv")
    assert told.exit_code == 0
    rows = list(csv.DictReader(io.StringIO(told.stdout)))
    assert len(rows) == 1
    assert [rows[0][key] for key in ("row", "label", "part", "opposing", "opposing label")] == [
        "2", "b", "outlier", "1", "a",
    ]  # fmt: skip
    assert float(rows[0]["u"]) == 3.5
    # Scaled by 10, the ball from 3 to 4 has the radius 0.05 squared.
    assert float(rows[0]["radius"]) == pytest.approx(0.05**2)
    counts = "4 points: 0 interior, 2 boundary, 2 outlier; 1 recommended"
    assert " ".join(told.stderr.split()) == counts


def test_recommend_is_what_python_says(folder: Path) -> None:
    data = mlmio.load_dataset("iris")
    metric = Metric({2: np.eye(4)}, 4, data.scaling, data.feature_names)
    NeighborModel(metric, data.X, data.y, data.classes).to_json("iris.json")
    told = call("recommend", "iris.json", "iris", "-n", "5", "-o", "next.csv")
    assert told.exit_code == 0
    assert "5 recommended" in told.stdout
    rows = list(csv.DictReader(io.StringIO((folder / "next.csv").read_text())))
    expected = mlmio.recommend(mlmio.diagnose(metric, data), 5)
    assert [int(row["row"]) for row in rows] == expected.rows.tolist()


def test_fit_writes_a_report(folder: Path) -> None:
    (folder / "points.csv").write_text(LINE + "0.5,1,a\n9,1,b\n")
    words = ("fit", "points.csv", "-f", "linear + nearest", "--strategy", "direct")
    told = call(*words, "--report", "page", "-o", "kept.json")
    assert told.exit_code == 0
    assert told.stdout.rstrip().endswith("index.html: a page on what was learned")
    assert "<h2>Where to look next</h2>" in (folder / "page" / "index.html").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["recommend"], "Usage: mlmio recommend"),
        (["recommend", "m.json"], "Missing argument"),
        (["recommend", "absent.json", "iris"], "cannot read a metric from absent.json"),
        (["recommend", "plain.json", "line.csv"], "a metric without points"),
        (["recommend", "m.json", "nope.csv"], "There is no file nope.csv"),
        (["recommend", "m.json", "bare.csv"], "bare.csv has no labels: name their column"),
        (["recommend", "m.json", "wine"], "wine has 13 features and the metric in m.json is for 2"),
        (["recommend", "m.json", "numbers.csv"], "'what' of numbers.csv is continuous, with 3 val"),
        (["recommend", "m.json", "one.csv"], "'label' of one.csv has one value only, 'a'"),
        (["recommend", "m.json", "line.csv", "-n", "0"], "--number is 0"),
        (["recommend", "m.json", "line.csv", "-o", "absent/r.csv"], "there is no folder"),
        (
            ["fit", "iris", "--report", "line.csv"],
            "'line.csv' is or lies below a file",
        ),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_calls(words: list[str], message: str) -> None:
    told = call(*words)
    assert told.exit_code == 2
    assert message in " ".join(told.output.split())
