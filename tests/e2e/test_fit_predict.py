"""``mlmio fit`` and ``mlmio predict`` as a user types them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from mlmio import Metric, NeighborModel, load_dataset
from mlmio.cli import app
from mlmio.solvers.base import Answer, Options, register_solver
from mlmio.solvers.highs import Highs

DIRECT = ("--strategy", "direct")
SMALL = ("--per-class", "4", "-f", "quadratic + diagonal + nearest", *DIRECT)


@dataclass
class Called:
    code: int
    out: str
    err: str


def call(*words: str) -> Called:
    result = CliRunner().invoke(app, list(words), prog_name="mlmio")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return Called(result.exit_code, result.stdout, " ".join(result.stderr.split()))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test in an empty folder, with a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("MLMIO_DATA", raising=False)
    return tmp_path


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def write_points(path: Path, labelled: bool = True) -> None:
    """Two classes on a line, and one point of each that strayed."""
    points = [*np.linspace(0.0, 0.3, 7), *np.linspace(0.7, 1.0, 7), 1.2]
    labels = ["left"] * 7 + ["right"] * 7 + ["left"]
    lines = [
        f"{x:.3f},{i % 3},{label}" for i, (x, label) in enumerate(zip(points, labels, strict=True))
    ]
    if labelled:
        path.write_text("\n".join(["u,v,label", *lines]))
    else:
        path.write_text("\n".join(["u,v", *(line.rpartition(",")[0] for line in lines)]))


def test_fit_then_predict(folder: Path) -> None:
    fitted = call("fit", "iris", *SMALL, "-o", "metric.json", "--neighbors", "3")
    assert fitted.code == 0
    lines = fitted.out.splitlines()
    assert lines[0] == "iris: 12 of 150 points, 4 per class, seed 0; --per-class 0 takes all points"
    assert any(line.startswith("  status     optimal") for line in lines)
    assert "leave-one-out error, 3 neighbours:" in fitted.out
    assert lines[-1] == "metric.json: the metric, and the points that classify by it"
    told = call("predict", "metric.json", "iris")
    assert told.code == 0
    rows = rows_of(told.out)
    model = NeighborModel.from_json("metric.json")
    iris = load_dataset("iris", scale="none")
    assert [row["label"] for row in rows] == model.predict(iris.X).tolist()
    assert [float(row["ratio"]) for row in rows] == model.abstention_ratios(iris.X).tolist()
    error = np.mean(model.predict(iris.X) != iris.labels)
    said, _, note = told.err.partition(" note: ")
    assert said == f"150 points: error {error:.2%} at full coverage"
    known = sum(float(row["ratio"]) == 0.0 for row in rows)
    assert known >= 12
    assert note.startswith(f"{known} of them coincide with points that the metric knows")


def test_the_table_of_classes_and_the_names_of_outliers(folder: Path) -> None:
    write_points(folder / "line.csv")
    called = call("fit", "line.csv", "-f", "linear + nearest + outliers(rho=0.3)", *DIRECT)
    assert called.code == 0
    table = [line.split() for line in called.out.splitlines()]
    head = next(i for i, words in enumerate(table) if words[:1] == ["class"])
    assert table[head] == ["class", "points", "interior", "boundary", "outlier", "R*"]
    left, right = table[head + 1], table[head + 2]
    assert left[0] == "left"
    assert int(left[1]) == 8 == sum(map(int, left[2:5]))
    assert int(left[4]) == 1
    assert right[:2] == ["right", "7"]
    assert "outliers, by falling R: 14 (left, R " in called.out
    assert "leave-one-out error, 1 neighbour: 6.67% at full coverage" in called.out


def test_many_outliers_are_counted_not_named(folder: Path) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{x:.4f},{'ab'[i % 2]}" for i, x in enumerate(rng.uniform(size=60))]
    (folder / "noise.csv").write_text("\n".join(["u,label", *lines]))
    called = call(
        "fit", "noise.csv", "-f", "linear + nearest", *DIRECT, "--per-class", "25",
        "--time-limit", "2",
    )  # fmt: skip
    assert " and " in called.out.split("outliers, by falling R:")[1]
    assert called.out.split("outliers, by falling R:")[1].count("(") == 20


def test_abstention_is_told_with_coverage(folder: Path) -> None:
    fitted = call("fit", "iris", *SMALL, "-o", "m.json", "--abstain", "0.2", "--threads", "2")
    assert "with a ratio of at most 0.2" in fitted.out
    told = call("predict", "m.json", "iris", "-o", "p.csv")
    assert told.code == 0
    assert told.err == ""
    rows = rows_of((folder / "p.csv").read_text())
    clear = [row for row in rows if row["unclear"] == "False"]
    assert 0 < len(clear) < 150
    labels = load_dataset("iris").labels
    wrong = np.mean([row["label"] != labels[int(row["row"])] for row in clear])
    wanted = f"coverage {len(clear) / 150:.2%} with a ratio of at most 0.2, error {wrong:.2%}"
    assert told.out.splitlines()[1] == wanted


def test_the_default_takes_all_points_and_fits_the_formulation(folder: Path) -> None:
    write_points(folder / "line.csv")
    called = call("fit", "line.csv", *DIRECT, "--time-limit", "5")
    assert called.out.startswith("line: all 15 points")
    assert "quadratic + hinge + nearest(k=5)" in called.out


def test_points_without_labels(folder: Path) -> None:
    write_points(folder / "line.csv")
    write_points(folder / "bare.csv", labelled=False)
    assert call("fit", "line.csv", "-f", "linear + nearest", *DIRECT, "-o", "m.json").code == 0
    labelled, bare = call("predict", "m.json", "line.csv"), call("predict", "m.json", "bare.csv")
    assert bare.code == 0
    assert bare.out == labelled.out
    assert labelled.err.partition(" note: ")[0] == "15 points: error 0.00% at full coverage"
    assert bare.err == "15 points, without labels that the metric knows"


def test_columns_go_by_name_and_others_are_left(folder: Path) -> None:
    write_points(folder / "line.csv")
    call("fit", "line.csv", "-f", "linear + nearest", *DIRECT, "-o", "m.json")
    rows = rows_of((folder / "line.csv").read_text())
    lines = [f"{row['v']},7,{row['label']},{row['u']}" for row in rows]
    (folder / "other.csv").write_text("\n".join(["v,w,label,u", *lines]))
    assert call("predict", "m.json", "other.csv").out == call("predict", "m.json", "line.csv").out


def test_columns_of_other_names_are_taken_in_their_order(folder: Path) -> None:
    write_points(folder / "line.csv")
    call("fit", "line.csv", "-f", "linear + nearest", *DIRECT, "-o", "m.json")
    text = (folder / "line.csv").read_text()
    (folder / "other.csv").write_text(text.replace("u,v,label", "a,b,what"))
    called = call("predict", "m.json", "other.csv")
    assert called.code == 0
    assert called.out == call("predict", "m.json", "line.csv").out
    note = (
        "mlmio: note: the columns of other.csv, 'a', 'b', have other names than the features of "
        "the metric in m.json, 'u', 'v': they are taken in their order"
    )
    assert note in called.err


def test_columns_are_found_by_names_that_are_numbers(folder: Path) -> None:
    pytest.importorskip("pyarrow")
    write_points(folder / "line.csv")
    table = pd.read_csv("line.csv")
    table.set_axis(["0", "1", "label"], axis=1).to_csv("named.csv", index=False)
    call("fit", "named.csv", "-f", "linear + nearest", *DIRECT, "-o", "m.json")
    wanted = call("predict", "m.json", "named.csv").out
    table.set_axis(["0", "1", "label"], axis=1)[["1", "0", "label"]].to_parquet("turned.parquet")
    assert call("predict", "m.json", "turned.parquet").out == wanted


@pytest.mark.parametrize("command", ["predict", "recommend"])
def test_help_says_nothing_of_options_that_are_not_there(command: str) -> None:
    assert "--side" not in call(command, "--help").out
    assert "none if there are none" in " ".join(call(command, "--help").out.split())


def test_help_says_what_the_time_limit_is_of() -> None:
    for command in ("fit", "compare"):
        told = " ".join(call(command, "--help").out.split())
        assert "for the LP relaxation and the search together" in told
        assert "reading, building, and compiling at the first use come on top" in told


def test_points_of_one_class_and_of_unknown_ones(folder: Path) -> None:
    write_points(folder / "line.csv")
    call("fit", "line.csv", "-f", "linear + nearest", *DIRECT, "-o", "m.json")
    (folder / "one.csv").write_text("u,v,label\n0.1,0,left\n0.2,1,left\n")
    one = call("predict", "m.json", "one.csv").err
    assert one.partition(" note: ")[0] == "2 points: error 0.00% at full coverage"
    (folder / "new.csv").write_text("u,v,label\n0.1,0,centre\n0.2,1,left\n")
    new = call("predict", "m.json", "new.csv").err
    assert new.partition(" note: ")[0] == "2 points: error 50.00% at full coverage"


def test_the_file_is_a_metric_and_says_how_it_was_found(folder: Path) -> None:
    call("fit", "iris", *SMALL, "-o", "m.json")
    assert Metric.from_json("m.json").D == 4
    solved = json.loads((folder / "m.json").read_text())["solved"]
    assert solved["status"] == "optimal"
    assert solved["verified"] is True
    assert solved["formulation"] == "quadratic + diagonal + nearest"


def test_links_stand_for_labels(folder: Path) -> None:
    (folder / "points.csv").write_text("a,b\n0,0\n0,1\n1,0\n5,5\n5,6\n6,5\n9,9\n")
    (folder / "must.csv").write_text("0,1\n1,2\n3,4\n4,5\n")
    (folder / "cannot.csv").write_text("0,3\n")
    called = call(
        "fit", "points.csv", "--label", "none", "--side", "must_link=must.csv",
        "--side", "cannot_link=cannot.csv", "-f", "quadratic + nearest", *DIRECT, "-o", "m.json",
    )  # fmt: skip
    assert called.code == 0
    told = call("predict", "m.json", "points.csv", "--label", "none")
    assert {row["label"] for row in rows_of(told.out)} == {"group of 0", "group of 3"}


def test_without_a_metric_nothing_is_written(registry: None, folder: Path) -> None:
    @register_solver
    class Starved(Highs):
        name: ClassVar[str] = "starved"

        def solve(self, model: Any, options: Options) -> Answer:
            return Answer("no_incumbent", message="stopped at the time limit")

    (folder / "m.json").write_text("old")
    called = call("fit", "iris", *SMALL, "-s", "starved", "-o", "m.json")
    assert called.code == 1
    assert "no metric was found (stopped at the time limit): the Euclidean" in called.err
    assert "m.json is not written, since no metric was learned" in called.err
    assert (folder / "m.json").read_text() == "old"
    assert "no_incumbent" in called.out


def test_a_liar_is_told_loudly(registry: None) -> None:
    @register_solver
    class Liar(Highs):
        name: ClassVar[str] = "liar"

        def solve(self, model: Any, options: Options) -> Answer:
            return replace(super().solve(model, options), objective=0.9, bound=0.9)

    called = call("fit", "iris", *SMALL, "-s", "liar")
    assert called.code == 1
    assert "does not do what the solver claims" in called.err
    assert "status     unverified" in called.out


def test_ctrl_c_is_one_line(registry: None) -> None:
    @register_solver
    class Interrupted(Highs):
        name: ClassVar[str] = "interrupted"

        def solve(self, model: Any, options: Options) -> Answer:
            raise KeyboardInterrupt

    called = call("fit", "iris", *SMALL, "-s", "interrupted")
    assert called.code == 1
    assert called.err == "mlmio: interrupted"


def test_data_that_the_formulation_does_not_allow_fail(folder: Path) -> None:
    called = call("fit", "iris", "--per-class", "2", "-f", "linear + nearest(k=5)", *DIRECT)
    assert called.code == 1
    assert "class 'setosa' has 2 point(s)" in called.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fit"], "Usage: mlmio fit"),
        (["fit", "nope.csv"], "There is no file nope.csv"),
        (["fit", "iris", "-f", "linear"], "no block in slot 'neighbors'"),
        (["fit", "iris", "-f", "linear + nerest"], "did you mean 'nearest'?"),
        (["fit", "iris", "-s", "nope"], "no solver 'nope'"),
        (["fit", "iris", "--strategy", "nope"], "no strategy 'nope'"),
        (["fit", "iris", "--time-limit", "0"], "time_limit is 0"),
        (["fit", "iris", "--seed", "-1"], "seed is -1"),
        (["fit", "iris", "--scale", "huge"], "Unknown scaling 'huge'"),
        (["fit", "iris", "--neighbors", "0"], "n_neighbors is 0"),
        (["fit", "iris", "--neighbors", "151"], "there are 150 points"),
        (["fit", "iris", "--abstain", "-1"], "abstain is -1.0"),
        (["fit", "iris", "--per-class", "-1"], "--per-class is -1: give how many points to draw"),
        (["fit", "iris", "-o", "absent/m.json"], "there is no folder"),
        (["fit", "iris", "-o", "."], "it is a folder"),
        (["predict", "m.json"], "Missing argument"),
        (["predict", "absent.json", "iris"], "cannot read a metric from absent.json"),
        (
            ["predict", "absent.json", "iris"],
            "mlmio: cannot read a metric from absent.json (No such file or directory): give a file "
            "that 'mlmio fit' wrote with --output, or that to_json wrote",
        ),
        (
            ["predict", ".", "iris"],
            "mlmio: cannot read a metric from . (Is a directory): give a file",
        ),
        (["predict", "bad.json", "iris"], "bad.json is not a metric written by mlmio: give a file"),
        (["predict", "list.json", "iris"], "list.json is not a metric written by mlmio: give"),
        (
            ["predict", "good.csv", "iris"],
            "good.csv is not a metric written by mlmio, since it is not JSON (",
        ),
        (
            ["predict", "junk.json", "iris"],
            "mlmio: cannot read a metric from junk.json (",
        ),
        (
            ["predict", "deep.json", "iris"],
            "deep.json is not a metric written by mlmio, since it is not JSON (",
        ),
        (["predict", "plain.json", "iris"], "plain.json has a metric without points"),
        (["predict", "m.json", "nope.csv"], "There is no file nope.csv"),
        (["predict", "m.json", f"{'x' * 5000}.csv"], "There is no file xxx"),
        (["predict", "m.json", "~nobody-at-all/x.csv"], "There is no file ~nobody-at-all/x.csv"),
        (["fit", "iris", "--report", "a\0b"], "cannot make the folder 'a\\x00b': embedded null"),
        (
            ["predict", "m.json", "wine"],
            "wine has 13 features and the metric in m.json is for 2, 'u', 'v': give data that",
        ),
        (
            ["predict", "m.json", "short.csv"],
            "short.csv has 3 columns besides the labels, 'u', 'w', 'q', and the metric in m.json "
            "is for 2, 'u', 'v': there is no column 'v', give data that have it",
        ),
        (["predict", "m.json", "half.csv"], "half.csv has 2 columns besides the labels, 'v', 'w'"),
        (["predict", "m.json", "good.csv", "--label", "v"], "there is no column 'v'"),
        (["predict", "m.json", "holes.csv"], "missing or infinite"),
        (["predict", "m.json", "words.csv"], "not a number"),
        (["predict", "m.json", "good.csv", "-o", "absent/p.csv"], "there is no folder"),
        (["predict", "m.json", "good.csv", "--label", "x"], "no label column 'x'"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_calls(words: list[str], message: str, folder: Path) -> None:
    metric = Metric({2: np.eye(2)}, 2, feature_names=["u", "v"])
    metric.to_json(folder / "plain.json")
    model = NeighborModel(metric, np.eye(2), np.array([0, 1]), np.array(["a", "b"]))
    model.to_json(folder / "m.json")
    (folder / "bad.json").write_text("{}")
    (folder / "good.csv").write_text("u,v,label\n1,2,a\n2,3,b\n")
    (folder / "short.csv").write_text("u,w,q,label\n1,2,4,a\n2,3,4,b\n")
    (folder / "half.csv").write_text("v,w,label\n1,2,a\n2,3,b\n")
    (folder / "list.json").write_text("[1, 2]")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "junk.json").write_bytes(bytes(range(128, 256)))
    (folder / "holes.csv").write_text("u,v,label\n1,,a\n2,3,b\n")
    (folder / "words.csv").write_text("u,v,label\n1,x,a\n2,3,b\n")
    called = call(*words)
    assert called.code == 2
    assert message in called.err + called.out
