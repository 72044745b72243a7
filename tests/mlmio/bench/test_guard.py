"""Whatever a case does, what comes back says so, and nothing is left running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import psutil
import pytest
from suites import suite_text

from mlmio import MlmioError
from mlmio.bench import guard
from mlmio.bench.cases import Case, plan
from mlmio.bench.guard import Keeper, Keepers
from mlmio.bench.suite import parse_suite


def case(solver: str, **limits: Any) -> Case:
    (only,) = plan(parse_suite(suite_text(solver, **limits), "toy.yaml"))
    return only


@pytest.fixture(scope="module")
def keepers(bad_solvers: Path) -> Iterator[Keepers]:
    keepers = Keepers()
    keepers.open(1)
    yield keepers
    keepers.close()
    with pytest.raises(MlmioError, match="were ended"):
        keepers.take()


def the_one(keepers: Keepers) -> Keeper:
    (keeper,) = keepers._all
    return keeper


def gone(process: psutil.Process, seconds: float = 10.0) -> bool:
    """Whether a process ends in time."""
    end = monotonic() + seconds
    while monotonic() < end:
        if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
            return True
        sleep(0.05)
    return False


@pytest.mark.parametrize(
    ("solver", "outcome", "message"),
    [
        ("crashes", "crashed", "ended by SIGSEGV: the last words of a solver"),
        ("killed", "crashed", "ended by SIGKILL"),
        ("halfanswer", "crashed", "ended without a whole answer"),
        ("raises", "failed", "ValueError: nobody foresaw this (bad_solvers.py, line "),
        ("exits", "crashed", "ended with exit code 1: SystemExit: out of licences"),
    ],
)
def test_bad_ends(keepers: Keepers, solver: str, outcome: str, message: str) -> None:
    before = the_one(keepers)
    found = keepers.run(case(solver).asked, None)
    assert (found["outcome"], found["message"][: len(message)]) == (outcome, message)
    assert "result" not in found
    assert found["peak_mib"] > 50
    assert found["wall_s"] > 0
    assert the_one(keepers) is before


def test_a_hang_is_killed_with_what_it_started(keepers: Keepers) -> None:
    asked = case("hangs", time_limit=0.5, grace=1.5).asked
    found: dict[str, Any] = {}
    thread = threading.Thread(target=lambda: found.update(keepers.run(asked, None)))
    thread.start()
    family: list[psutil.Process] = []
    while len(family) < 2 and thread.is_alive():
        family = psutil.Process(the_one(keepers).pid).children(recursive=True)
        sleep(0.02)
    thread.join()
    assert found["outcome"] == "timed out"
    assert found["message"].endswith("allowed are 2 with grace")
    assert 2.0 < found["wall_s"] < 10.0
    assert len(family) == 2
    assert all(gone(process) for process in family)


def test_memory_is_held(keepers: Keepers) -> None:
    found = keepers.run(case("eats", memory_mib=600).asked, None)
    assert found["outcome"] == "out of memory"
    assert found["message"].endswith("MiB, allowed are 600")
    assert 600 < found["peak_mib"] < 4000


def test_a_lie_is_found(keepers: Keepers) -> None:
    found = keepers.run(case("lies").asked, None)
    assert found["outcome"] == "done"
    assert found["result"]["status"] == "unverified"
    assert not found["certificate"]["valid"]


def test_a_good_case_after_all_the_bad_ones(keepers: Keepers) -> None:
    found = keepers.run(case("fine").asked, None)
    assert found["outcome"] == "done"
    result = found["result"]
    assert result["status"] == "optimal"
    assert result["verified"]
    assert result["lp_bound"] >= result["objective"] - 1e-6
    assert found["trajectory"][-1][1:] == [result["objective"], result["bound"]]
    assert found["metric"]["tensors"]
    assert len(found["neighbors"]) == 6
    assert found["machine"]["packages"]["pyomo"]
    # What the process takes beyond the solve; half of it is for a machine that others use as well.
    solve_s = result["build_s"] + result["lp_s"] + result["solve_s"]
    assert found["wall_s"] - solve_s < 1.0


def test_points_that_are_not_there_are_refused(keepers: Keepers) -> None:
    asked = {**case("fine").asked, "dataset": "nowhere/none.csv"}
    found = keepers.run(asked, None)
    assert found["outcome"] == "refused"
    assert "none.csv" in found["message"]


def test_a_keeper_that_is_killed_takes_the_case_with_it(keepers: Keepers) -> None:
    keeper = the_one(keepers)
    found: dict[str, Any] = {}
    asked = case("hangs").asked
    thread = threading.Thread(target=lambda: found.update(keepers.run(asked, None)))
    thread.start()
    family: list[psutil.Process] = []
    while not family:
        family = psutil.Process(keeper.pid).children()
        sleep(0.02)
    os.kill(keeper.pid, signal.SIGKILL)
    thread.join(20.0)
    assert found["outcome"] == "crashed"
    assert found["message"] == "the process that watched it ended"
    assert gone(family[0])
    # The next case would get another.
    assert keepers._all == []


def test_a_keeper_ends_with_its_runner_before_it_is_ready() -> None:
    script = (
        "from mlmio.bench.guard import Keeper; print((k := Keeper()).pid, flush=True); k.ready()"
    )
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as runner:
        assert runner.stdout is not None
        keeper = psutil.Process(int(runner.stdout.readline()))
        runner.kill()
    assert gone(keeper)


def test_a_keeper_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard.sys, "executable", "/bin/false")
    with pytest.raises(MlmioError, match="did not start"):
        Keeper().ready()
