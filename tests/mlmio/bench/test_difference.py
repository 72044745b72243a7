"""Two runs case by case: what is worse, what is noise, what is said, and the exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from bench_records import record, write_run
from typer.testing import CliRunner

from mlmio import MlmioError
from mlmio.bench import difference as module
from mlmio.bench.difference import Difference, difference
from mlmio.bench.records import path_of
from mlmio.cli import app
from mlmio.commands import bench_report
from mlmio.tables import plain

NOTHING = {"verified": False, "objective": None, "bound": None, "lp_bound": None}
SOLVED = ("newly solved", False)


def runs(folder: Path, before: list[Any], after: list[Any]) -> tuple[Path, Path]:
    return write_run(folder / "a", *before), write_run(folder / "b", *after)


def compared(folder: Path, before: Any, after: Any, noise: float = 0.3) -> Difference:
    one, other = (part if isinstance(part, list) else [part] for part in (before, after))
    return difference(*runs(folder, one, other), noise)


@pytest.mark.parametrize(
    ("before", "after", "what", "worse"),
    [
        # A factor of 1.3 either way, and half a second.
        ({"solve_s": 4.0}, {"solve_s": 5.3}, "slower", True),
        ({"solve_s": 4.0}, {"solve_s": 5.1}, None, None),
        ({"solve_s": 5.3}, {"solve_s": 4.0}, "faster", False),
        ({"solve_s": 5.1}, {"solve_s": 4.0}, None, None),
        ({"solve_s": 0.2}, {"solve_s": 0.69}, None, None),
        ({"solve_s": 0.2}, {"solve_s": 0.71}, "slower", True),
        ({"solve_s": 4.0}, {"solve_s": 9.0, "contended": True}, "slower (contended)", False),
        ({}, {"status": "feasible", "bound": 0.6}, "no longer solved", True),
        ({"status": "feasible"}, {}, "newly solved", False),
        ({}, {"status": "unverified", "verified": False}, "newly unverified", True),
        ({}, {"outcome": "crashed"}, "newly crashed", True),
        ({"status": "no_incumbent", **NOTHING}, {"outcome": "refused"}, "newly refused", True),
        ({"outcome": "refused"}, {"status": "feasible"}, "no longer refused", False),
        ({"outcome": "refused"}, {"outcome": "crashed"}, "newly crashed", True),
        ({"outcome": "crashed"}, {"status": "feasible"}, "no longer crashed", False),
        ({"outcome": "crashed"}, {"outcome": "timed out"}, "ends differently", False),
        ({}, {"objective": 0.51, "bound": 0.51}, "another optimum", True),
        ({}, {"status": "infeasible", **NOTHING}, "another proof", True),
        ({"status": "no_incumbent", **NOTHING}, {"status": "infeasible", **NOTHING}, *SOLVED),
        ({}, {"objective": 0.5 + 1e-6, "bound": 0.5 + 1e-6}, None, None),
    ],
)
def test_changes(
    tmp_path: Path, before: Any, after: Any, what: str | None, worse: bool | None
) -> None:
    found = compared(tmp_path, record("a", **before), record("b", **after))
    assert [(change.what, change.worse) for change in found.changes] == (
        [] if what is None else [(what, worse)]
    )
    assert found.regressions == bool(worse)


def test_incumbents_may_differ_within_the_noise(tmp_path: Path) -> None:
    open_ = {"status": "feasible", "bound": 1.0}
    cases = {"a": 0.40, "b": 0.30, "c": 0.70}
    found = compared(
        tmp_path,
        [record(key, seed=n, **open_) for n, key in enumerate(cases)],
        [record(k, seed=n, objective=v, **open_) for n, (k, v) in enumerate(cases.items())],
    )
    assert [(change.what, change.numbers, change.worse) for change in found.changes] == [
        ("worse incumbent", "0.500000 → 0.300000", True),
        ("better incumbent", "0.500000 → 0.700000", False),
    ]


def test_repetitions_widen_the_band_and_their_median_is_compared(tmp_path: Path) -> None:
    def repeated(*seconds: float) -> list[Any]:
        return [record(f"{n}", repetition=n, solve_s=s) for n, s in enumerate(seconds)]

    # From 1 s to 3 s apart in one run: 2 s are noise.
    assert not compared(tmp_path / "wide", repeated(1, 2, 3), repeated(3, 3.5, 4)).changes
    (change,) = compared(tmp_path / "narrow", repeated(2, 2, 2), repeated(3, 3.5, 4)).changes
    assert change.numbers == "2.00 → 3.50 s (× 1.75)"


def test_the_noise_is_what_is_asked_for(tmp_path: Path) -> None:
    one, other = runs(tmp_path, [record("a", solve_s=4.0)], [record("a", solve_s=5.3)])
    assert difference(one, other).regressions == 1
    assert difference(one, other, noise=0.5).regressions == 0
    assert bench_report.NOISE == module.NOISE
    for noise in (-0.1, float("nan"), float("inf")):
        with pytest.raises(MlmioError, match="give a share from 0 on"):
            difference(one, other, noise)


def test_all_is_told_worse_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    before = [
        record("a", solve_s=4.0),
        record("b", seed=1, solve_s=1.0),
        record("c", seed=2),
        record("d", seed=3, contended=True),
    ]
    after = [
        record("x", solve_s=1.0, machine={"processor": "new"}),
        record("y", seed=1, solve_s=4.0, machine={"processor": "new"}),
        record("z", seed=9),
        record("w", seed=3),
    ]
    one, other = runs(tmp_path, before, after)
    path_of(one, "e").write_text("{", encoding="utf-8")
    found = difference(one, other)
    assert [change.what for change in found.changes] == ["slower", "lost", "faster"]
    # 1/4 and 4: the contended one does not count.
    assert found.ratio == pytest.approx(1.0)
    assert found.solved_by_both == 2
    lines = plain(found).split("\n")
    assert lines[1].split()[:6] == ["worse", "slower", "1.00", "→", "4.00", "s"]
    assert lines[2].split()[:6] == ["worse", "lost", "optimal", "→", "no", "record"]
    said = "iris N=15 (per_class=5, seed=0, scale=minmax) seed 9 · linear + nearest + bigm · highs"
    assert f"only in the second: {said} · direct" in lines
    assert any("e.json is no record of a case" in line for line in lines)
    assert "note: the times are of different machines: none and new" in lines
    assert lines[-2] == (
        "times within a factor of 1.3, within 0.5 s, or within the spread of repetitions count as "
        "the same"
    )
    assert lines[-1] == (
        "3 cases compared; 2 regressions; 1 other change; "
        "time × 1 (geometric mean over 2 solved by both, uncontended)"
    )


def test_limits_are_part_of_the_case_and_named_where_there_are_several(tmp_path: Path) -> None:
    found = compared(
        tmp_path,
        [record("a", solve_s=1.0), record("b", time_limit=99.0)],
        [record("a", solve_s=3.0), record("b", time_limit=99.0)],
    )
    (change,) = found.changes
    limits = "time limit 10 s, relative gap 1e-06, memory limit 4096 MiB"
    assert change.contestant.endswith(f"direct · {limits}")


@pytest.mark.parametrize("way", ["lost", "damaged", "unfinished", "fewer repetitions"])
def test_what_the_second_run_lacks_is_worse(tmp_path: Path, way: str) -> None:
    kept, gone = record("a"), record("b", seed=1)
    if way == "fewer repetitions":
        gone = record("b", repetition=1)
    one, other = runs(tmp_path, [kept, gone], [kept])
    if way == "damaged":
        gone.write(other)
        path_of(other, "c").write_text("{", encoding="utf-8")
    if way == "unfinished":
        about = {"format": "mlmio.bench.run", "version": 1, "cases": 2}
        (other / "run.json").write_text(json.dumps(about), encoding="utf-8")
    done = CliRunner().invoke(app, ["bench", "diff", str(one), str(other)])
    assert done.exit_code == 1, done.output
    assert "; 1 regression; 0 other changes" in done.output
    assert ("the second run is not finished: 1 case to go" in done.output) == (way == "unfinished")
    # What the second run has beyond the first, and damage in the first, are told and not worse.
    assert CliRunner().invoke(app, ["bench", "diff", str(other), str(one)]).exit_code == 0


@pytest.mark.parametrize(("seconds", "code"), [(1.0, 0), (5.0, 1)])
def test_exit_codes(tmp_path: Path, seconds: float, code: int) -> None:
    one, other = runs(tmp_path, [record("a")], [record("a", solve_s=seconds)])
    done = CliRunner().invoke(app, ["bench", "diff", str(one), str(other)])
    assert done.exit_code == code, done.output
    assert f"{code} regression" in done.output


@pytest.mark.parametrize("way", ["no run", "nothing in common", "noise"])
def test_a_wrong_call_ends_with_2(tmp_path: Path, way: str) -> None:
    one, other = runs(tmp_path, [record("a")], [record("a", seed=1)])
    arguments = {
        "no run": [str(one), str(tmp_path)],
        "nothing in common": [str(one), str(other)],
        "noise": [str(one), str(one), "--noise", "-1"],
    }
    done = CliRunner().invoke(app, ["bench", "diff", *arguments[way]])
    assert done.exit_code == 2, done.output
    assert done.output.count("\n") == 1


def test_report_says_where_the_page_is(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", record("a"))
    done = CliRunner().invoke(app, ["bench", "report", str(run), "-o", str(tmp_path / "new" / "x")])
    assert done.exit_code == 0, done.output
    assert done.output.strip() == str(tmp_path / "new" / "x" / "index.html")
    assert CliRunner().invoke(app, ["bench", "report", str(tmp_path)]).exit_code == 2
