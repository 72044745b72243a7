"""Who runs when, what is written, and what is run again: with a crew that only pretends."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from suites import suite_text

from mlmio import MlmioError
from mlmio.bench.cases import Case, plan
from mlmio.bench.crew import Found, Place, Tell, WorkerLostError
from mlmio.bench.folder import SUPERSEDED, RunFolder
from mlmio.bench.live import LiveTable
from mlmio.bench.records import Record, path_of, read_all
from mlmio.bench.runner import Summary, run_cases
from mlmio.bench.suite import Suite, parse_suite

DONE = {"outcome": "done", "result": {"status": "optimal", "objective": 1.0}, "wall_s": 0.01}


class Pretending:
    """Places that hold their cases until no more are started, and then end the first."""

    def __init__(self, places: Mapping[str, Place]) -> None:
        self._places = dict(places)
        self.held: list[tuple[str, Case, Tell]] = []
        self.most = 0
        self.started: list[str] = []
        self.closed = False
        self.answers: dict[str, Found] = {}

    def open(self, cases: Sequence[Case]) -> None:
        self._seen = 0

    def places(self) -> Mapping[str, Place]:
        if self.held and self._seen == len(self.started):
            self.end()
        self._seen = len(self.started)
        return self._places

    def start(self, place: str, case: Case, tell: Tell) -> None:
        self.held.append((place, case, tell))
        self.started.append(case.key)
        self.most = max(self.most, sum(case.threads for _, case, _ in self.held))

    def end(self) -> None:
        _, case, tell = self.held.pop(0)
        tell(self.answers.get(case.key, DONE))

    def close(self) -> None:
        self.closed = True


def suite_of(text: str) -> Suite:
    return parse_suite(text, "toy.yaml")


def run(
    cases: Sequence[Case], out: Path, crew: Any, contended: bool = False, before: Any = ()
) -> Summary:
    folder = RunFolder(out)
    with folder.locked(), LiveTable(len(cases), [record.outcome for record in before]) as live:
        return run_cases(cases, before, out, crew, live, contended)


def toy(threads: str = "1", repetitions: int = 6) -> list[Case]:
    text = suite_text("highs", repetitions=repetitions) + f"threads: {threads}\n"
    return plan(suite_of(text))


def places(number: int, cores: int, host: str = "here") -> dict[str, Place]:
    return {f"{host} {n}": Place(host, cores) for n in range(number)}


@pytest.mark.parametrize(("number", "cores", "threads", "most"), [
    (4, 2, "1", 2), (4, 4, "2", 4), (4, 3, "2", 2), (1, 8, "1", 1), (3, 4, "[1, 2]", 4),
])  # fmt: skip
def test_never_more_threads_than_cores(
    number: int, cores: int, threads: str, most: int, tmp_path: Path
) -> None:
    crew = Pretending(places(number, cores))
    cases = toy(threads)
    summary = run(cases, tmp_path, crew)
    assert summary.outcomes == {"done": len(cases)}
    assert crew.most == most
    assert not any(record.contended for record in read_all(tmp_path))
    assert crew.closed


def test_contention_is_asked_for_and_marked(tmp_path: Path) -> None:
    crew = Pretending(places(3, 2))
    run(toy(repetitions=4), tmp_path, crew, contended=True)
    assert crew.most == 3
    marks = [record.contended for record in read_all(tmp_path)]
    assert marks == [True] * 4
    calm = Pretending(places(2, 2))
    run(toy(repetitions=4), tmp_path / "calm", calm, contended=True)
    assert not any(record.contended for record in read_all(tmp_path / "calm"))


def test_machines_have_their_own_cores(tmp_path: Path) -> None:
    crew = Pretending({**places(2, 2, "a"), **places(2, 1, "b")})
    run(toy(), tmp_path, crew)
    assert crew.most == 3
    assert not any(record.contended for record in read_all(tmp_path))


def test_more_threads_than_any_worker_has(tmp_path: Path) -> None:
    crew = Pretending(places(2, 2))
    with pytest.raises(MlmioError, match="asks for 8 threads and no worker has more than 2"):
        run(toy("8"), tmp_path, crew)
    assert crew.closed
    summary = run(toy("8"), tmp_path, Pretending(places(2, 2)), contended=True)
    assert summary.outcomes == {"done": 6}
    assert all(record.contended for record in read_all(tmp_path))


def test_a_lost_worker_is_no_lost_case(tmp_path: Path) -> None:
    cases = toy(repetitions=2)
    crew = Pretending(places(2, 2))
    crew.answers[cases[0].key] = WorkerLostError("it is gone")
    summary = run(cases, tmp_path, crew)
    assert Counter(crew.started) == {cases[0].key: 3, cases[1].key: 1}
    assert summary.outcomes == {"done": 1, "crashed": 1}
    message = "its worker was lost 3 times: it is gone"
    assert summary.failures == (("crashed", message, 1),)


def test_a_worker_that_leaves_and_one_that_joins(tmp_path: Path) -> None:
    class Changing(Pretending):
        def places(self) -> Mapping[str, Place]:
            if self.held and len(self.started) == 1:
                self._places = {}
                self.late = self.held.pop()
                return {}
            if not self._places:
                self._places = places(1, 1, "new")
                # It was given up: what comes of it now does not count.
                self.late[2]({**DONE, "message": "late"})
            return super().places()

    cases = toy(repetitions=2)
    crew = Changing(places(1, 1))
    summary = run(cases, tmp_path, crew)
    assert summary.outcomes == {"done": 2}
    assert crew.started == [cases[0].key, cases[1].key, cases[0].key]
    assert {record.message for record in read_all(tmp_path)} == {""}


def test_a_crew_that_fails_ends_the_run(tmp_path: Path) -> None:
    cases = toy(repetitions=3)
    crew = Pretending(places(1, 1))
    crew.answers[cases[1].key] = MlmioError("it did not start")
    with pytest.raises(MlmioError, match="did not start"):
        run(cases, tmp_path, crew)
    assert crew.closed
    assert [record.key for record in read_all(tmp_path)] == [cases[0].key]


def test_what_is_done_is_not_run_again(tmp_path: Path) -> None:
    cases = toy()
    run(cases[:2], tmp_path, Pretending(places(1, 1)))
    folder = RunFolder(tmp_path)
    # What a crash of the machine may leave: half a record, and half a draft.
    path_of(tmp_path, cases[0].key).write_text('{"format": "mlmio.bench.case", "ver')
    draft = path_of(tmp_path, cases[2].key).with_name(f".77.{cases[2].key}.json")
    draft.write_text("{")
    keys = [case.key for case in cases]
    before = folder.finished(keys)
    assert [record.key for record in before] == [cases[1].key]
    assert not draft.exists()
    crew = Pretending(places(1, 1))
    summary = run(cases, tmp_path, crew, before=before)
    assert crew.started == [keys[0], *keys[2:]]
    assert (summary.total, summary.before, summary.outcomes) == (6, 1, {"done": 6})
    again = Pretending(places(1, 1))
    run(cases, tmp_path, again, before=folder.finished(keys))
    assert again.started == []


def test_records_of_other_versions_are_set_aside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mlmio.solvers.highs import Highs

    old = toy(repetitions=2)
    run(old, tmp_path, Pretending(places(1, 1)))
    monkeypatch.setattr(Highs, "version", lambda self: "99")
    new = toy(repetitions=2)
    assert RunFolder(tmp_path).finished(case.key for case in new) == []
    assert list(read_all(tmp_path)) == []
    aside = {path.stem for path in (tmp_path / SUPERSEDED).iterdir()}
    assert aside == {case.key for case in old}


def test_one_suite_a_folder(tmp_path: Path) -> None:
    folder, text = RunFolder(tmp_path), suite_text("highs")
    with folder.locked():
        folder.begin(suite_of(text), text, {"revision": "r"})
        folder.end()
        folder.begin(suite_of("# the same\n" + text), text, {})
        with pytest.raises(MlmioError, match="holds a run of another suite, 'toy'"):
            folder.begin(suite_of(suite_text("glpk")), "", {})
    content = json.loads((tmp_path / "run.json").read_text())
    assert content["suite"] == text
    assert len(content["starts"]) == 2
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(MlmioError, match="is not of mlmio bench run"):
        folder.begin(suite_of(text), text, {})
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(MlmioError, match="cannot be read"):
        folder.begin(suite_of(text), text, {})


def test_one_runner_a_folder(tmp_path: Path) -> None:
    script = (
        "import sys, time; from pathlib import Path; from mlmio.bench.folder import RunFolder\n"
        "with RunFolder(Path(sys.argv[1])).locked(): print('in', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with (
            pytest.raises(MlmioError, match=rf"\(process {other.pid}\) is at work in"),
            RunFolder(tmp_path).locked(),
        ):
            pass
        other.kill()
    # A lock that nobody holds any more is none.
    with RunFolder(tmp_path).locked():
        pass
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(MlmioError, match="a file is in its place or above it"),
        RunFolder(tmp_path / "file").locked(),
    ):
        pass


class Hasty(Pretending):
    """Ends every case after a few milliseconds, from a thread, and keeps a log of the starts."""

    def __init__(self, out: Path) -> None:
        super().__init__(places(2, 2))
        self.out = out

    def places(self) -> Mapping[str, Place]:
        return self._places

    def start(self, place: str, case: Case, tell: Tell) -> None:
        there = path_of(self.out, case.key).exists()
        with (self.out / "log").open("a") as log:
            log.write(f"{case.key} {there}\n")
        # Long enough that a kill in the midst of writing is likely.
        found = {**DONE, "metric": {"entries": [0.5] * 5_000}}
        threading.Timer(0.002, tell, [found]).start()


def _one_round(cases: Sequence[Case], out: Path) -> Summary:
    folder = RunFolder(out)
    with folder.locked():
        before = folder.finished(case.key for case in cases)
        with LiveTable(len(cases), []) as live:
            return run_cases(cases, before, out, Hasty(out), live)


def test_killed_at_random_moments(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases, rng = toy(repetitions=40), random.Random(7)
    (tmp_path / "cases").mkdir()

    def written() -> int:
        return len(list((tmp_path / "cases").glob("[0-9a-f]*.json")))

    for _ in range(8):
        enough, late = written() + rng.randrange(4), time.monotonic() + 5.0
        pid = os.fork()
        if pid == 0:
            try:
                _one_round(cases, tmp_path)
            finally:
                os._exit(0)
        while written() < enough and time.monotonic() < late:
            time.sleep(0.001)
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    before = written()
    summary = _one_round(cases, tmp_path)
    capfd.readouterr()
    assert summary.outcomes == {"done": 40}
    assert {record.key for record in read_all(tmp_path)} == {case.key for case in cases}
    log = [line.split() for line in (tmp_path / "log").read_text().splitlines()]
    assert {there for _, there in log} == {"False"}
    assert 0 < before < 40
    assert not list(tmp_path.rglob(".*.json"))


def test_half_a_record_is_none(tmp_path: Path) -> None:
    record = Record(key="k", case={}, outcome="done")
    (tmp_path / "cases").mkdir()
    record.write(tmp_path)
    whole = path_of(tmp_path, "k").read_text()
    assert Record.read(path_of(tmp_path, "k")) == record
    for end in range(0, len(whole) - 2, 7):
        path_of(tmp_path, "k").write_text(whole[:end])
        with pytest.raises(MlmioError, match="is no record"):
            Record.read(path_of(tmp_path, "k"))
