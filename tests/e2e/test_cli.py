"""The command line as a user types it: good calls, bad ones, and Ctrl-C."""

import csv
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, ClassVar

import pytest
from typer.testing import CliRunner

from mlmio import Metric
from mlmio.blocks import Block, register_block
from mlmio.cli import app
from mlmio.registry import blocks
from mlmio.solvers.base import Answer, Options, register_solver
from mlmio.solvers.highs import Highs

SMALL = ("--per-class", "3", "-f", "linear + nearest")


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


def spawn(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mlmio", *words],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every test in an empty folder, with a wide terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("MLMIO_DATA", raising=False)
    return tmp_path


def test_compare_prints_table_and_verdicts_and_writes_files(folder: Path) -> None:
    called = call(
        "compare", "iris", *SMALL, "-f", "linear + nearest + mccormick",
        "--csv", "t.csv", "--json", "t.json",
    )  # fmt: skip
    assert called.code == 0
    lines = called.out.splitlines()
    assert lines[0] == "iris: 9 of 150 points, 3 per class, seed 0; --per-class 0 takes all points"
    assert "all: linear + nearest" in called.out
    assert "agree: linear + nearest: 0.0101578 by 2 runs" in called.out
    assert "1/2 linear + nearest · highs · optimal 0.0101578" in called.err
    with (folder / "t.csv").open(encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["optimal", "optimal"]
    content = json.loads((folder / "t.json").read_text(encoding="utf-8"))
    assert Metric.from_json(json.dumps(content["runs"][0]["metric"])).D == 4


def test_compare_by_another_strategy() -> None:
    """No solver is given a model then."""
    called = call("compare", "iris", *SMALL, "--strategy", "disjunctive", "--csv", "t.csv")
    assert called.code == 0
    assert "highs" not in called.out
    assert "disjunctive,optimal" in Path("t.csv").read_text(encoding="utf-8")
    unknown = call("compare", "iris", *SMALL, "--strategy", "nope")
    assert unknown.code == 2
    assert "no strategy 'nope'" in unknown.err


def test_compare_shows_a_failing_run_among_good_ones() -> None:
    called = call("compare", "iris", *SMALL, "-f", "linear + nearest + bilinear")
    assert called.code == 0
    assert "refused: linear + bilinear + nearest · highs" in called.out


def test_compare_fails_where_nothing_was_found() -> None:
    called = call("compare", "iris", "--per-class", "1", "-f", "linear + nearest")
    assert called.code == 1
    assert "class 'setosa' has 1 point(s)" in called.out


def test_compare_takes_no_more_than_the_smallest_class_has(folder: Path) -> None:
    rows = [f"{i},{i * i % 7},{'ab'[i < 3]}" for i in range(9)]
    (folder / "small.csv").write_text("\n".join(["u,v,label", *rows]))
    called = call("compare", "small.csv", "-f", "linear + nearest")
    assert called.code == 0
    assert called.out.startswith("small: 6 of 9 points, 3 per class")
    assert call("compare", "small.csv", "--per-class", "4").code == 2
    everything = call("compare", "small.csv", "-f", "linear + nearest", "--per-class", "0")
    assert everything.out.startswith("small: all 9 points")


def test_compare_reports_a_liar_loudly(registry: None) -> None:
    @register_solver
    class Liar(Highs):
        name: ClassVar[str] = "liar"

        def solve(self, model: Any, options: Options) -> Answer:
            return replace(super().solve(model, options), objective=0.9, bound=0.9)

    called = call("compare", "iris", *SMALL, "-s", "liar", "-s", "highs")
    assert called.code == 1
    assert "unverified" in called.out
    assert "BREACH: linear + nearest · liar" in called.out


def test_ctrl_c_keeps_prints_and_writes_what_was_found(registry: None, folder: Path) -> None:
    @register_solver
    class Interrupted(Highs):
        name: ClassVar[str] = "interrupted"

        def solve(self, model: Any, options: Options) -> Answer:
            raise KeyboardInterrupt

    called = call("compare", "iris", *SMALL, "-s", "highs", "-s", "interrupted", "--csv", "t.csv")
    assert called.code == 1
    assert "interrupted: 1 of 2 runs were not made" in called.out
    assert "0.010158" in called.out
    with (folder / "t.csv").open(encoding="utf-8") as file:
        assert [row["status"] for row in csv.DictReader(file)] == ["optimal", "not run"]


def test_links_stand_for_labels(folder: Path) -> None:
    (folder / "points.csv").write_text("a,b\n0,0\n0,1\n1,0\n5,5\n5,6\n6,5\n9,9\n")
    (folder / "must.csv").write_text("0,1\n1,2\n3,4\n4,5\n")
    (folder / "cannot.csv").write_text("0,3\n")
    called = call(
        "compare", "points.csv", "--label", "none", "--side", "must_link=must.csv",
        "--side", "cannot_link=cannot.csv", "-f", "quadratic + nearest",
        "-f", "quadratic + nearest + must_link + cannot_link",
    )  # fmt: skip
    assert called.code == 0
    assert called.out.startswith("points: 6 of 7 points, 3 per class")
    assert "order: quadratic + nearest + cannot_link + must_link" in called.out


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["must.csv"], "--side is 'must.csv': give NAME=FILE"),
        (["triplets="], "--side is 'triplets=': give NAME=FILE"),
        (["triplets=a.csv", "triplets=b.csv"], "--side names 'triplets' twice"),
        (["triplets=nowhere.csv"], "nowhere.csv"),
    ],
)
def test_wrong_side_information(given: list[str], message: str) -> None:
    called = call("compare", "iris", *(word for text in given for word in ("--side", text)))
    assert called.code == 2
    assert message in called.err


def test_warnings_are_one_line_notes(folder: Path) -> None:
    rows = [f"{i},{i * i % 7},5,{i % 2}" for i in range(6)]
    (folder / "constant.csv").write_text("\n".join(["u,v,w,label", *rows]))
    called = call("compare", "constant.csv", "-f", "linear + nearest")
    assert called.code == 0
    assert called.err.startswith("mlmio: note: 1 of 3 features of constant have the same value")
    assert "MlmioWarning" not in called.err
    assert ".py" not in called.err


def test_explain() -> None:
    symbols = call("explain", "quadratic + nearest")
    assert symbols.code == 0
    assert "D(D+1)/2" in symbols.out
    assert "bounded (default)" in symbols.out
    numbers = call("explain", "quadratic + nearest", "iris")
    assert "on 15 points of iris" in numbers.out
    assert "Total: variables 191, binaries 60, rows 330." in numbers.out


def test_blocks_shows_strangers_and_those_that_cannot_be_imported(registry: None) -> None:
    @register_block
    @dataclass(frozen=True)
    class Mine(Block):
        """What is mine."""

        size_of_it: int = 7
        name: ClassVar[str] = "mine"
        slot: ClassVar[str] = "sparsity"

    blocks._found["lost"] = [EntryPoint("lost", "no_such_package:Lost", blocks.group)]
    called = call("blocks")
    assert called.code == 0
    mine = next(line for line in called.out.splitlines() if "mine" in line)
    assert "size_of_it=7" in mine
    assert "What is mine." in mine
    assert "formulations" in called.out
    assert "cannot be imported" in " ".join(called.out.split())


def test_solvers_shows_what_each_can_do_or_how_to_install_it(registry: None) -> None:
    @register_solver
    class Absent(Highs):
        name: ClassVar[str] = "absent"
        install: ClassVar[str] = "pip install absent"

        def version(self) -> str | None:
            return None

    called = call("solvers")
    assert called.code == 0
    absent = next(line for line in called.out.splitlines() if line.startswith("absent"))
    assert "not installed" in absent
    assert "pip install" in absent
    assert "LP, MILP" in next(x for x in called.out.splitlines() if x.startswith("highs"))


@pytest.mark.parametrize("ending", ["lp", "mps", "nl"])
def test_export_writes_the_model(ending: str, folder: Path) -> None:
    called = call("export", "quadratic + nearest", "iris", "-o", f"model.{ending}")
    assert called.code == 0
    assert f"model.{ending}: 330 rows and 191 columns" in called.out
    text = (folder / f"model.{ending}").read_text()
    assert ("nearest_margin" in text) == (ending != "nl")
    assert [path.name for path in folder.iterdir()] == [f"model.{ending}"]


@pytest.mark.parametrize("ending", ["lp", "mps"])
def test_exported_model_has_the_same_optimum(ending: str, folder: Path) -> None:
    from mlmio.solvers.highs import silent_highs

    call("export", "linear + nearest", "iris", "--per-class", "3", "-o", f"model.{ending}")
    highs = silent_highs()
    highs.readModel(f"model.{ending}")
    highs.run()
    assert highs.getInfo().objective_function_value == pytest.approx(0.0101578, abs=1e-6)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["compare"], "Usage: mlmio compare"),
        (["compare", "nope.csv"], "There is no file nope.csv"),
        (["compare", "./"], "directory"),
        (["compare", "strings.csv"], "which is not a number"),
        (
            ["compare", "iris", "--per-class", "-1"],
            "--per-class is -1: give how many points to draw",
        ),
        (["compare", "iris", "--per-class", "10000"], "has only 50 points"),
        (["compare", "iris", "--per-class", "few"], "Invalid value for '--per-class'"),
        (["compare", "iris", "--time-limit", "0"], "time_limit is 0"),
        (["compare", "iris", "--time-limit", "nan"], "time_limit is nan"),
        (["compare", "iris", "--time-limit", "inf"], "time_limit is inf"),
        (["compare", "iris", "--seed", "-1"], "seed is -1"),
        (["compare", "iris", "--threads", "0"], "threads is 0"),
        (["compare", "iris", "--threads", "100000"], "threads is 100000"),
        (["compare", "iris", "--scale", "huge"], "Unknown scaling 'huge'"),
        (["compare", "iris", "--label", "x"], "leave out label"),
        (["compare", "good.csv", "--label", "9"], "no label column '9'"),
        (["compare", "one.csv"], "class 'p' has 1 point(s), and '--per-class' needs at least 2"),
        (["compare", ""], "The name of the data set is empty"),
        (["compare", "iris", "-s", "nope"], "no solver 'nope'"),
        (["compare", "iris", "-f", ""], "the composition is empty"),
        (["compare", "iris", "-f", "linear"], "no block in slot 'neighbors'"),
        (["compare", "iris", "-f", "linear + nearst"], "did you mean 'nearest'?"),
        (["compare", "iris", "-f", "linear + nearest(k=2**40)"], "not a literal"),
        (["compare", "iris", "-f", f"linear + nearest(k={'9' * 5000})"], "cannot read"),
        (["compare", "iris", "-f", "(" * 300 + "linear" + ")" * 300], "cannot read"),
        (["compare", "iris", "-f", "+".join(["linear"] * 20_000)], "cannot read"),
        (["compare", "iris", "-f", "🎉"], "cannot read"),
        (["compare", "iris", "-f", "linear + outliers(rho=1" + "0" * 400 + ")"], "'rho'"),
        (["compare", "iris", "--csv", "absent/t.csv"], "there is no folder"),
        (["compare", "iris", "--csv", ""], "it is a folder"),
        (["compare", "iris", "--json", "."], "it is a folder"),
        (["compare", "iris", "--nope"], "No such option"),
        (["explain", "linear + nearest(k=9)", "iris"], "class 'setosa' has 5 point(s)"),
        (["explain", "linear + knn + bigm"], "nothing to encode"),
        (["export", "linear + nearest", "iris"], "Missing option"),
        (["export", "linear + nearest", "iris", "-o", "m.gms"], ".lp or .mps or .nl"),
        (["export", "linear + nearest", "iris", "-o", "absent/m.lp"], "there is no folder"),
        (["export", "linear", "iris", "-o", "m.lp"], "no block in slot 'neighbors'"),
        (["nope"], "No such command 'nope'"),
        ([], "Usage: mlmio"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_wrong_calls(words: list[str], message: str, folder: Path) -> None:
    (folder / "strings.csv").write_text("u,v,label\n1,x,0\n2,y,1\n")
    (folder / "good.csv").write_text("u,v,label\n1,2,0\n2,3,1\n")
    (folder / "one.csv").write_text("u,v,label\n1,2,p\n2,3,q\n4,3,q\n")
    called = call(*words)
    assert called.code == 2
    assert message in called.err + called.out


@pytest.mark.parametrize(
    "words",
    [("fit",), ("compare",), ("explain", "linear + nearest"),
     ("export", "linear + nearest", "-o", "m.lp")],
    ids=lambda words: words[0],
)  # fmt: skip
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            [f"{0.1 + i / 7:.3f}" for i in range(9)],
            "the label column 'c' of t.csv is continuous, with 9 values in 9 rows: name the column "
            "of the classes with label (--label on the command line)",
        ),
        (["0.5", "0.25", "0.25", "1", "1", "1"], "is continuous, with 3 values in 6 rows"),
        (list("abcdefgg"), "'c' of t.csv has a class of its own for nearly every row, with 7 val"),
        (["7"] * 5, "the label column 'c' of t.csv has one value only, 7: give points of two"),
    ],
    ids=["a number for every row", "fractions", "names", "one value"],
)
def test_a_column_without_classes_is_a_wrong_call(
    words: tuple[str, ...], labels: list[str], message: str, folder: Path
) -> None:
    rows = [f"{i},{i * i % 7},{label}" for i, label in enumerate(labels)]
    (folder / "t.csv").write_text("\n".join(["a,b,c", *rows]))
    command, *options = words
    spec = options[:1] if command in ("explain", "export") else []
    called = call(command, *spec, "t.csv", *options[len(spec) :])
    assert called.code == 2
    assert message in called.err


def test_few_fractions_are_classes(folder: Path) -> None:
    rows = [f"{i},{i * i % 7},{0.5 * (i > 3)}" for i in range(8)]
    (folder / "t.csv").write_text("\n".join(["a,b,c", *rows]))
    assert call("explain", "linear + nearest", "t.csv").code == 0


def test_errors_are_one_line() -> None:
    result = CliRunner().invoke(app, ["explain", "nope"])
    assert result.stderr.startswith("mlmio: there is no block 'nope'")
    assert result.stderr.count("\n") == 1


def test_export_that_the_data_do_not_allow_fails(folder: Path) -> None:
    (folder / "model.lp").write_text("old")
    called = call("export", "linear + nearest(k=5)", "iris", "-o", "model.lp")
    assert called.code == 1
    assert "class 'setosa' has 5 point(s)" in called.err
    assert (folder / "model.lp").read_text() == "old"


def test_version() -> None:
    called = call("--version")
    assert called.code == 0
    assert called.out.startswith("mlmio 0.")


def test_elsewhere_than_on_a_terminal_there_are_no_control_characters() -> None:
    done = spawn("compare", "iris", *SMALL, COLUMNS="80")
    assert done.returncode == 0
    assert "\x1b" not in done.stdout + done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_help_is_fast_since_it_imports_nothing_heavy() -> None:
    program = (
        "import sys; from mlmio.cli import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "sys.exit(any(name in sys.modules for name in ('pyomo', 'sklearn', 'numpy', 'pandas')))"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 0


def test_a_pipe_that_closes_is_no_error() -> None:
    command = f"{sys.executable} -m mlmio blocks | head -n 1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert done.stdout.startswith("slot") or done.stdout.startswith("package")


def test_a_terminal_that_cannot_show_a_sign_is_no_error() -> None:
    done = spawn("explain", "linear + nearest", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "N points" in done.stdout
