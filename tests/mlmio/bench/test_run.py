"""``mlmio bench run`` with solvers that misbehave, on workers, on a cluster, and interrupted."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import monotonic, sleep

import psutil
import pytest
from suites import suite_text
from typer.testing import CliRunner

from mlmio.bench.records import Record, read_all
from mlmio.cli import app

SOLVERS = ("highs", "crashes", "hangs", "eats", "lies", "halfanswer", "glpk", "raises")
OUTCOMES = {
    "highs": "done", "crashes": "crashed", "hangs": "timed out", "eats": "out of memory",
    "lies": "done", "halfanswer": "crashed", "glpk": "done", "raises": "failed",
}  # fmt: skip


def call(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["bench", "run", *words], prog_name="mlmio")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert "Traceback" not in result.output
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("MLMIO_DATA", raising=False)


def written(text: str) -> str:
    Path("toy.yaml").write_text(text)
    return "toy.yaml"


def essence(record: Record) -> tuple[object, ...]:
    result = record.result or {}
    return (record.outcome, result.get("status"), result.get("objective"), result.get("nodes"))


def test_every_outcome_is_recorded_however_it_is_run(bad_solvers: Path) -> None:
    pytest.importorskip("distributed")
    from distributed import LocalCluster

    text = suite_text(*SOLVERS, time_limit=1, grace=3, memory_mib=500)
    suite = written(text)
    code, out, err = call(suite, "--out", "one")
    assert code == 0
    assert out.splitlines()[0] == "toy: 8 cases"
    counts = "3 done, 1 failed, 2 crashed, 1 out of memory, 1 timed out"
    assert out.splitlines()[1].endswith(counts)
    assert "failed, 1 case: ValueError: nobody foresaw this" in out
    lines = err.splitlines()
    assert len(lines) == 8
    assert lines[-1].startswith(
        "8/8 iris N=6 seed=0 · linear + bigm + nearest · raises direct · failed:"
    )
    assert " left" in lines[0]
    one = {record.key: record for record in read_all(Path("one"))}
    assert {record.case["solver"]: record.outcome for record in one.values()} == OUTCOMES
    lie = next(r for r in one.values() if r.case["solver"] == "lies")
    assert lie.result is not None
    assert lie.result["status"] == "unverified"
    assert all(record.revision is not None and record.machine for record in one.values())

    assert call(suite, "--out", "two", "--workers", "2")[0] == 0
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        code, out, err = call(suite, "--out", "cluster", "--scheduler", address)
    assert code == 0, err
    for other in ("two", "cluster"):
        found = {record.key: record for record in read_all(Path(other))}
        assert {k: essence(r) for k, r in found.items()} == {k: essence(r) for k, r in one.items()}
        assert not any(record.contended for record in found.values())

    # Nothing is left to do, and so nothing is started.
    code, out, err = call(suite, "--out", "one")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "toy: 8 cases, 8 of them done before"
    assert out.splitlines()[1].endswith(counts)


def waited(what: Callable[[], bool], seconds: float = 60.0) -> bool:
    end = monotonic() + seconds
    while monotonic() < end:
        if what():
            return True
        sleep(0.02)
    return False


def records() -> int:
    return len(list(Path("out/cases").glob("[0-9a-f]*.json")))


def running(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def started(suite: str, plugin: Path) -> subprocess.Popen[str]:
    path = os.pathsep.join([str(plugin), *filter(None, sys.path)])
    return subprocess.Popen(
        [sys.executable, "-m", "mlmio", "bench", "run", suite, "--out", "out"],
        env={**os.environ, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def all_gone(family: list[psutil.Process]) -> bool:
    return not [p for p in family if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]


def test_killed_and_interrupted(bad_solvers: Path) -> None:
    suite = written(suite_text("highs", "glpk", "hangs", time_limit=50))
    with started(suite, bad_solvers) as runner:
        # The keeper, the case that hangs, and what that started.
        assert waited(lambda: records() == 2 and len(running(runner)) == 3)
        family = running(runner)
        runner.kill()
        assert waited(lambda: all_gone(family), 10.0)
    before = {path.name: path.stat().st_mtime_ns for path in Path("out/cases").iterdir()}

    with started(suite, bad_solvers) as runner:
        assert waited(lambda: len(running(runner)) == 3)
        family = running(runner)
        runner.send_signal(signal.SIGINT)
        out, err = runner.communicate(timeout=30)
        assert all_gone(family)
    assert runner.returncode == 1
    assert out.splitlines() == ["toy: 3 cases, 2 of them done before"]
    assert err == (
        "mlmio: interrupted: 2 of 3 cases are done; the same command goes on with the rest\n"
    )
    assert {path.name: path.stat().st_mtime_ns for path in Path("out/cases").iterdir()} == before


def test_points_that_are_missing_are_an_outcome() -> None:
    suite = written(suite_text("highs").replace("iris", "nowhere/none.csv"))
    code, out, err = call(suite, "--out", "out")
    assert code == 1
    (record,) = read_all(Path("out"))
    assert record.outcome == "refused"
    assert "none.csv" in record.message
    assert "refused, 1 case: " in out
    assert "note: nowhere/none.csv cannot be loaded: 1 case will be refused" in err
    done = CliRunner().invoke(app, ["bench", "report", "out"])
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("xyz", "--out", "out"), "there is no file and no suite 'xyz'"),
        (("", "--out", "out"), "the suite has no name: give the path of a YAML file"),
        ((".", "--out", "out"), "'.' is a folder: give the YAML file of a suite"),
        (("empty.yaml", "--out", "out"), "empty.yaml is empty: a suite has name, datasets"),
        (("toy.yaml", "--out", ""), "--out is empty: give a folder for the run"),
        (("toy.yaml", "--out", "file"), "cannot make the folder 'file/cases', since a file"),
        (("toy.yaml", "--out", "file/out"), "since a file is in its place or above it: give ano"),
        (("toy.yaml", "--out", "strange"), "strange/run.json is not of mlmio bench run"),
        (("toy.yaml", "--out", "out", "--data-dir", "gone"), "gone' is none, or cannot be read"),
        (("toy.yaml", "--out", "out", "--scheduler", "here"), "'here' is no address of a sched"),
        (("toy.yaml", "--out", "out", "--workers", "2", "--scheduler", "x"), "give one of them"),
    ],
)
def test_wrong_calls(words: tuple[str, ...], said: str) -> None:
    written(suite_text("highs"))
    Path("file").write_text("")
    Path("empty.yaml").write_text("")
    Path("strange").mkdir()
    Path("strange/run.json").write_text("{}")
    code, _, err = call(*words)
    assert code == 2
    assert said in err
    assert err.count("\n") == 1


def test_all_that_is_wrong_with_a_suite_is_told_a_line_each() -> None:
    code, _, err = call(written("title: x\nlimits: {time_limits: 3}\n"), "--out", "out")
    assert code == 2
    assert err.splitlines() == [
        "mlmio: toy.yaml, line 1, name: it is missing",
        "mlmio: toy.yaml, line 1, datasets: it is missing",
        "mlmio: toy.yaml, line 1, compositions: it is missing",
        "mlmio: toy.yaml, line 2, limits.time_limit: it is missing, did you mean 'time_limits'?",
        "mlmio: toy.yaml, line 2, limits.time_limits: there is no such key, did you mean "
        "'time_limit'? the keys are time_limit, grace, memory_mib, rel_gap",
    ]
    assert not Path("out").exists()


@pytest.mark.parametrize("number", ["0", "-1", "many"])
def test_a_wrong_number_of_workers(number: str) -> None:
    words = (written(suite_text("highs")), "--out", "out", "--workers", number)
    result = CliRunner().invoke(app, ["bench", "run", *words])
    assert result.exit_code == 2
    assert "Invalid value for '--workers'" in result.output


def test_folders_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    # To root nothing is forbidden: what the system would say is said for it.
    def refuse(path: Path, *_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    suite = written(suite_text("highs"))
    for method, said in (
        ("is_file", "cannot read the suite 'toy.yaml': Permission denied"),
        ("read_text", "cannot read the suite 'toy.yaml': Permission denied"),
        ("mkdir", "cannot write to 'out': Permission denied"),
        ("iterdir", "cannot read 'out/cases': Permission denied"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(Path, method, refuse)
            code, _, err = call(suite, "--out", "out")
        assert (code, err) == (2, f"mlmio: {said}\n")


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    from mlmio.bench import cluster

    monkeypatch.setattr(cluster, "CONNECT", 0.5)
    code, _, err = call(
        written(suite_text("highs")), "--out", "out", "--scheduler", "tcp://127.0.0.1:9"
    )
    assert code == 1
    assert "no dask scheduler answers at 'tcp://127.0.0.1:9'" in err
