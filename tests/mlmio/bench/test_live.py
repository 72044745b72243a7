"""What is shown while a run gets on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from suites import suite_text

from mlmio.bench import live as live_module
from mlmio.bench.cases import Case, plan
from mlmio.bench.cluster import _difference
from mlmio.bench.live import LiveTable
from mlmio.bench.machine import fingerprint, usable_cores
from mlmio.bench.records import Record
from mlmio.bench.suite import parse_suite
from mlmio.commands.bench import _crew


def cases() -> list[Case]:
    return plan(parse_suite(suite_text("highs", repetitions=4), "toy.yaml"))


def record(case: Case, outcome: str, message: str = "") -> Record:
    result = {"status": "optimal", "objective": 0.25} if outcome == "done" else None
    return Record(case.key, case.described, outcome, message, result, wall_s=1.5)


def test_a_line_for_each_case(capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third, _ = cases()
    with LiveTable(4, ["done"]) as live:
        live.waiting()
        live.waiting()
        for case in (first, second, third):
            live.started(case, "worker 1")
        live.ended(first, record(first, "done"))
        live.ended(second, None)
        live.ended(second, record(second, "crashed", "ended by SIGSEGV"))
        live.ended(third, record(third, "refused"))
    name = "iris N=6 seed=0 · linear + bigm + nearest · highs direct"
    assert capsys.readouterr().err.splitlines() == [
        "waiting for workers to join the scheduler",
        f"2/4 {name} · optimal 0.25 · 1.5 s · 0 s left",
        f"{name} repetition=1: its worker is gone, it will be run again",
        f"3/4 {name} repetition=1 · crashed: ended by SIGSEGV · 0 s left",
        f"4/4 {name} repetition=2 · refused",
    ]
    assert live.done == 4


def test_a_live_table_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    terminal = Console(file=screen, force_terminal=True, width=100, color_system=None)
    monkeypatch.setattr(live_module, "console", lambda stream: terminal)
    first, second, *_ = cases()
    with LiveTable(4, []) as live:
        terminal.print(live.drawn())
        assert "starting; after an installation" in screen.getvalue()
        live.started(first, "worker 1")
        live.started(second, "worker 2")
        live.ended(first, record(first, "done"))
        terminal.print(live.drawn())
        assert "1/4 cases · 1 done · 0 s passed · 0 s left" in screen.getvalue()
        assert "worker 2" in screen.getvalue()
        # On a terminal what went well is in the counts alone.
        assert "optimal" not in screen.getvalue()


def test_no_more_workers_than_cores_unless_asked(capsys: pytest.CaptureFixture[str]) -> None:
    cores = len(usable_cores())
    for contended, left, number in ((False, 999, cores), (True, 999, cores + 3), (False, 1, 1)):
        crew = _crew(cores + 3, None, None, contended, left)
        assert len(crew.places()) == number
        crew.close()
        said = "".join(capsys.readouterr().err.split())
        assert ("--contendedruns" in said) == (not contended)


def test_where_installations_differ() -> None:
    ours = fingerprint(["mlmio"], ["highs"])
    for part, name, said in (
        ("packages", "pyomo", "pyomo 1.0, and not "),
        ("sources", "mlmio", "other sources of mlmio"),
        ("solvers", "highs", "highs 1.0, and not "),
    ):
        theirs = {**ours, part: {**ours[part], name: "1.0"}}
        assert _difference(ours, theirs).startswith(said)
    assert _difference(ours, {**ours, "python": "2.7"}).startswith("python 2.7, and not 3.")
