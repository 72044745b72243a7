"""Comparisons: the table, the files, the verdicts, and what happens when runs fail."""

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

import mlmio
from mlmio import CompositionError, DataError, Metric, MlmioError, SolverError
from mlmio.comparison import Comparison, Run, compare
from mlmio.finding import findings
from mlmio.registry import solvers
from mlmio.solvers.base import Answer, Options, register_solver
from mlmio.solvers.highs import Highs
from mlmio.verdicts import Verdict, judge
from mlmio.writing import write_whole

LINEAR = "linear + nearest + bigm"
LINEAR_MCCORMICK = "linear + nearest + mccormick"
QUADRATIC = "linear + quadratic + nearest + bigm"
BILINEAR = "linear + nearest + bilinear"


@pytest.fixture(scope="module")
def data() -> mlmio.Dataset:
    return mlmio.load_dataset("iris", per_class=3)


@pytest.fixture(scope="module")
def compared(data: mlmio.Dataset) -> Comparison:
    return compare([LINEAR, LINEAR_MCCORMICK, QUADRATIC], data)


@pytest.fixture
def adapter(monkeypatch: pytest.MonkeyPatch) -> Callable[[type], None]:
    """Register a solver adapter for one test."""
    monkeypatch.setattr(solvers, "_loaded", dict(solvers._loaded))
    return register_solver


def kinds(verdicts: tuple[Verdict, ...]) -> list[str]:
    return [verdict.kind for verdict in verdicts]


def judged(*runs: Run) -> tuple[Verdict, ...]:
    return judge(findings(runs, rel_gap=1e-6))


def changed(run: Run, **changes: Any) -> Run:
    assert run.result is not None
    result = replace(run.result, **changes)
    return replace(run, result=result, status=result.status)


def test_every_formulation_meets_every_solver(compared: Comparison) -> None:
    assert [str(run.composition) for run in compared.rows] == [
        "linear + bigm + nearest",
        "linear + mccormick + nearest",
        "linear + quadratic + bigm + nearest",
    ]
    assert all(run.status == "optimal" and run.verified for run in compared.rows)
    assert compared.best is compared.rows[2]
    assert not compared.interrupted


def test_verdicts_of_results_in_order(compared: Comparison) -> None:
    assert kinds(compared.verdicts) == ["agree", "order", "lp"]
    agree, order, lp = map(str, compared.verdicts)
    assert agree.startswith("agree: linear + nearest: 0.0101578 by 2 runs (bigm, mccormick)")
    assert "≤ 0.372102 linear + quadratic" in order
    assert "without quadratic" in order
    assert lp.startswith("LP bound: linear + mccormick + nearest")
    assert not compared.breaches


def test_root_gap_closed_is_measured_among_equivalents(compared: Comparison) -> None:
    bigm, mccormick, alone = compared.root_gaps_closed
    assert bigm == pytest.approx(0, abs=1e-3)
    assert mccormick is not None and -1e-3 <= mccormick <= 100  # noqa: PT018
    assert alone is None
    first, second = compared.rows[:2]
    assert first.result is not None
    best, weakest = first.result.objective, first.result.lp_bound
    assert best is not None and weakest is not None  # noqa: PT018
    halfway = changed(second, lp_bound=(best + weakest) / 2)
    closed = replace(compared, rows=(first, halfway)).root_gaps_closed
    assert closed == [pytest.approx(0), pytest.approx(50)]


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_table_fits_its_width(
    compared: Comparison, width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    lines = str(compared).splitlines()
    assert max(map(len, lines)) <= width
    assert lines[0].startswith("all: linear + nearest")
    assert ("No room for" in str(compared)) == (width < 120)
    assert "\x1b" not in str(compared)


def test_wide_table_has_every_column(compared: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    heads = " ".join(str(compared).splitlines()[2:4]).split()
    for head in ("formulation", "solver", "class", "rows", "bound", "gap", "nodes", "verified"):
        assert head in heads


def test_html_is_a_table_with_everything_escaped(compared: Comparison) -> None:
    run = Run(mlmio.compose(LINEAR), "highs", "refused", error="<script>")
    html = replace(compared, rows=(*compared.rows, run))._repr_html_()
    assert html.startswith("<table>")
    assert "root gap closed" in html
    assert "quadratic" in html
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_a_failing_run_leaves_a_reasoned_row(data: mlmio.Dataset) -> None:
    comparison = compare([LINEAR, BILINEAR, "linear + nearest(k=3)", "linear"], data)
    assert [run.status for run in comparison.rows] == ["optimal", *["refused"] * 3]
    text = " ".join(str(comparison).split())
    assert "highs does not solve MINLP" in text
    assert "class 'setosa' has 3 point(s)" in text
    assert "'linear' has no block in slot 'neighbors'" in text
    assert comparison.best is comparison.rows[0]


def test_one_reason_of_several_runs_is_said_once(data: mlmio.Dataset) -> None:
    comparison = compare(["linear + nearest(k=3)", "quadratic + nearest(k=3)"], data)
    assert [note.split(":")[:2] for note in comparison.notes] == [["refused", " 2 runs"]]
    assert comparison.best is None


def test_a_solver_that_breaks_does_not_end_the_comparison(
    data: mlmio.Dataset, adapter: Callable[[type], None]
) -> None:
    class Broken(Highs):
        name: ClassVar[str] = "broken"

        def solve(self, model: Any, options: Options) -> Answer:
            raise ZeroDivisionError("by zero")

    adapter(Broken)
    comparison = compare(LINEAR, data, ["broken", "highs"])
    assert [run.status for run in comparison.rows] == ["error", "optimal"]
    assert "ZeroDivisionError: by zero (test_comparison.py, line" in comparison.rows[0].error


def test_ctrl_c_keeps_what_was_found(
    data: mlmio.Dataset, adapter: Callable[[type], None], tmp_path: Path
) -> None:
    class Interrupted(Highs):
        name: ClassVar[str] = "interrupted"

        def solve(self, model: Any, options: Options) -> Answer:
            raise KeyboardInterrupt

    adapter(Interrupted)
    comparison = compare([LINEAR, QUADRATIC], data, ["highs", "interrupted"])
    assert comparison.interrupted
    assert [run.status for run in comparison.rows] == ["optimal", *["not run"] * 3]
    assert "interrupted: 3 of 4 runs were not made" in str(comparison)
    comparison.to_json(tmp_path / "kept.json")
    kept = json.loads((tmp_path / "kept.json").read_text())
    assert kept["interrupted"]
    assert kept["runs"][0]["verified"]


def test_ctrl_c_that_a_solver_answers_with_its_incumbent(
    data: mlmio.Dataset, adapter: Callable[[type], None]
) -> None:
    class Stopped(Highs):
        name: ClassVar[str] = "stopped"

        def solve(self, model: Any, options: Options) -> Answer:
            answer = super().solve(model, options)
            return replace(answer, status="feasible", reason="interrupted")

    adapter(Stopped)
    comparison = compare([LINEAR, QUADRATIC], data, "stopped")
    assert comparison.interrupted
    assert [run.status for run in comparison.rows][1:] == ["not run"]


def test_a_lying_solver_is_unverified_and_a_breach(
    data: mlmio.Dataset, adapter: Callable[[type], None]
) -> None:
    class Liar(Highs):
        name: ClassVar[str] = "liar"

        def solve(self, model: Any, options: Options) -> Answer:
            return replace(super().solve(model, options), objective=0.9, bound=0.9)

    adapter(Liar)
    comparison = compare(LINEAR, data, ["liar", "highs"])
    assert [run.status for run in comparison.rows] == ["unverified", "optimal"]
    breach = comparison.verdicts[0]
    assert str(breach).startswith("BREACH: linear + bigm + nearest · liar does not hold")
    assert "0.9 is claimed, the data give 0.01015778" in breach.text
    assert comparison.best is comparison.rows[1]


def test_a_bound_below_a_verified_solution_is_a_breach(compared: Comparison) -> None:
    good, other = compared.rows[:2]
    (breach,) = (v for v in judged(good, changed(other, bound=-0.5)) if v.kind == "breach")
    assert "mccormick + nearest · highs claims the bound -0.5" in breach.text
    assert "0.0101577" in breach.text
    assert "the claim is wrong" in breach.text


def test_optima_of_equivalents_that_differ_are_a_breach(compared: Comparison) -> None:
    good, other = compared.rows[:2]
    assert other.result is not None
    assert other.result.objective is not None
    worse = other.result.objective - 1e-3
    verdicts = judged(good, changed(other, objective=worse, lp_bound=None))
    assert kinds(verdicts).count("breach") == 1
    assert "claims the optimum" in verdicts[0].text
    assert "agree" not in kinds(verdicts)


def test_a_restriction_above_a_bound_is_a_breach(compared: Comparison) -> None:
    linear, _, quadratic = compared.rows
    lower = changed(quadratic, bound=0.001, objective=0.001, lp_bound=None)
    verdicts = judged(linear, lower)
    assert kinds(verdicts).count("breach") == 1
    assert "which restricts it (without quadratic)" in verdicts[0].text


@pytest.mark.parametrize("status", ["infeasible", "unbounded"])
def test_statuses_that_contradict_a_solution_are_breaches(
    compared: Comparison, status: str
) -> None:
    linear, mccormick, quadratic = compared.rows
    nothing = {"status": status, "objective": None, "bound": None, "certificate": None}
    claimed = changed(mccormick, **nothing, lp_bound=None)
    assert "breach" in kinds(judged(linear, claimed))
    assert f"is said to be {status}" in judged(linear, claimed)[0].text
    # Nothing is wrong where the other only relaxes it: it may be infeasible, not unbounded.
    assert ("breach" in kinds(judged(quadratic, claimed))) == (status == "unbounded")


def test_agreement_on_infeasibility(compared: Comparison) -> None:
    nothing = {"objective": None, "bound": None, "lp_bound": None, "certificate": None}
    runs = [changed(run, status="infeasible", **nothing) for run in compared.rows[:2]]
    assert [str(v) for v in judged(*runs)] == ["agree: linear + nearest: infeasible by 2 runs"]


def test_a_larger_lp_bound_of_the_tighter_encoding_is_a_breach(compared: Comparison) -> None:
    bigm, mccormick = compared.rows[:2]
    verdicts = judged(bigm, changed(mccormick, lp_bound=0.9))
    assert kinds(verdicts)[0] == "breach"
    assert "the LP bound 0.9" in verdicts[0].text


def test_runs_at_a_limit_break_nothing(compared: Comparison) -> None:
    bigm, mccormick = compared.rows[:2]
    stopped = changed(mccormick, status="feasible", objective=-0.5, bound=0.2)
    assert "breach" not in kinds(judged(bigm, stopped))


def test_csv_has_every_run(compared: Comparison, tmp_path: Path) -> None:
    compared.to_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["formulation"] for row in rows] == [str(r.composition) for r in compared.rows]
    assert rows[0]["verified"] == "True"
    assert rows[0]["rows"] == "117"
    assert float(rows[2]["objective"]) == compared.to_frame()["objective"][2]
    assert list(tmp_path.iterdir()) == [tmp_path / "table.csv"]


def test_json_has_metrics_and_verdicts(compared: Comparison, tmp_path: Path) -> None:
    text = compared.to_json(tmp_path / "table.json")
    content = json.loads((tmp_path / "table.json").read_text(encoding="utf-8"))
    assert content == json.loads(text)
    assert content["format"] == "mlmio.comparison"
    result = compared.rows[2].result
    assert result is not None
    assert Metric.from_json(json.dumps(content["runs"][2]["metric"])) == result.metric
    assert content["runs"][2]["outliers"] == []
    assert [v["kind"] for v in content["verdicts"]] == kinds(compared.verdicts)


def test_json_and_csv_of_runs_without_result(data: mlmio.Dataset, tmp_path: Path) -> None:
    comparison = compare(BILINEAR, data)
    (run,) = json.loads(comparison.to_json())["runs"]
    assert run["status"] == "refused"
    assert run["metric"] is None
    comparison.to_csv(tmp_path / "table.csv")
    assert "does not solve MINLP" in (tmp_path / "table.csv").read_text()


def test_json_knows_no_infinity(compared: Comparison) -> None:
    run = changed(compared.rows[0], objective=0.0)
    comparison = replace(compared, rows=(run,))
    assert math.isinf(comparison.to_dicts()[0]["gap"])
    assert json.loads(comparison.to_json())["runs"][0]["gap"] is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [(".", "it is a folder"), ("absent/table.csv", "no folder"), ("x" * 300, "too long")],
)
def test_unwritable_paths(
    compared: Comparison,
    path: str,
    reason: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MlmioError, match=reason):
        compared.to_csv(path)


def test_a_file_that_is_there_survives_a_failing_write(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("old")

    def fail(draft: Path) -> None:
        draft.write_text("half")
        raise OSError("disk full")

    with pytest.raises(MlmioError, match="disk full"):
        write_whole(path, fail)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_progress_is_told_before_and_after_each_run(data: mlmio.Dataset) -> None:
    told: list[tuple[int, int, str]] = []
    compare(
        [LINEAR, BILINEAR],
        data,
        progress=lambda position, total, run: told.append((position, total, run.status)),
    )
    assert told == [(1, 2, "running"), (1, 2, "optimal"), (2, 2, "running"), (2, 2, "refused")]


def test_the_same_formulation_is_run_once(data: mlmio.Dataset) -> None:
    comparison = compare([LINEAR, "bigm + nearest + linear"], data, ["highs", "highs"])
    assert len(comparison.rows) == 1


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        ({"compositions": []}, CompositionError, "nothing to compare"),
        ({"compositions": "linear + nope"}, CompositionError, "no block 'nope'"),
        ({"solvers": []}, SolverError, "at least one solver"),
        ({"solvers": "nope"}, SolverError, "no solver 'nope'"),
        ({"strategy": "nope"}, SolverError, "no strategy 'nope'"),
        ({"time_limit": 0}, SolverError, "time_limit is 0"),
        ({"threads": 0}, SolverError, "threads is 0"),
        ({"rel_gap": 1}, SolverError, "rel_gap is 1"),
        ({"data": [[1, 2]]}, DataError, "give a Dataset"),
    ],
)
def test_wrong_calls_are_refused_at_once(
    data: mlmio.Dataset, wrong: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        compare(**{"compositions": LINEAR, "data": data, **wrong})
