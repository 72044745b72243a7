"""Every installed solver keeps to its limits and options, and can be interrupted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pyomo.environ as pyo
import pytest
from programs import installed, limited, market_split, small, those, values

import mlmio
from mlmio import SolverError
from mlmio.registry import solvers as registry
from mlmio.solvers.adapter import Found
from mlmio.solvers.base import Options, get_solver

# Limits


def test_time_limit_with_incumbent(solver):
    model = market_split(slack=True)
    answer = limited(solver, model, Options(time_limit=1.0))
    assert (answer.status, answer.reason) == ("feasible", "time_limit")
    assert answer.objective == pytest.approx(pyo.value(model.goal))
    assert answer.bound is None or answer.bound <= answer.objective
    assert "time limit" in answer.message


def test_time_limit_without_incumbent(solver):
    answer = limited(solver, market_split(slack=False), Options(time_limit=1.0))
    assert (answer.status, answer.reason) == ("no_incumbent", "time_limit")
    assert answer.objective is None


def test_time_limit_below_a_second(solver):
    answer = limited(solver, market_split(slack=True), Options(time_limit=0.2))
    assert answer.status in ("feasible", "no_incumbent")
    assert answer.reason == "time_limit"


@those("node_limit")
def test_node_limit(solver):
    options = Options(node_limit=3, time_limit=20)
    answer = solver.solve(market_split(slack=True), options)
    assert (answer.status, answer.reason) == ("feasible", "node_limit")


def test_relative_gap(solver, little_iris, known):
    model = mlmio.compose("linear + quadratic + nearest + mccormick").build(little_iris)
    answer = solver.solve(model, Options(rel_gap=0.4))
    assert answer.status == "optimal"
    assert answer.objective <= known.objective + 1e-6 <= answer.bound + 2e-6
    assert answer.bound - answer.objective <= 0.4 * answer.objective + 1e-6


@those("abs_gap")
def test_absolute_gap(solver, little_iris, known):
    model = mlmio.compose("linear + quadratic + nearest + mccormick").build(little_iris)
    answer = solver.solve(model, Options(abs_gap=0.2))
    assert answer.status == "optimal"
    assert known.objective - 0.2 <= answer.objective <= known.objective + 1e-6


# Options


def test_seed_repeats_exactly(solver, little_iris):
    seed = 3 if "seed" in solver.features else 0
    composition = mlmio.compose("linear + quadratic + nearest + mccormick")
    runs = []
    for _ in range(2):
        model = composition.build(little_iris)
        answer = solver.solve(model, Options(seed=seed))
        runs.append((answer.objective, answer.bound, answer.nodes, values(model)))
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("name", "value"), [("seed", 1), ("threads", 2), ("abs_gap", 0.1), ("node_limit", 5)]
)
def test_option_is_honoured_or_refused_with_names(solver, name, value):
    options = Options(**{name: value})
    if name in solver.features:
        assert solver.solve(small(), options).objective == pytest.approx(11.5)
        return
    with pytest.raises(SolverError, match=rf"{solver.name} cannot honour {name}=.*: use .*highs"):
        get_solver(solver.name, "MILP", options)


@those("threads")
def test_threads_change_between_solves(solver):
    for threads in (2, 1, 2):
        answer = solver.solve(small(), Options(threads=threads))
        assert answer.objective == pytest.approx(11.5)


OWN = {
    "cbc": {"cuts": "off"},
    "glpk": {"cuts": True},
    "gurobi": {"MIPFocus": 1},
    "highs": {"presolve": "off"},
    "scip": {"presolving/maxrounds": 0},
}


def test_own_options_are_passed_on(solver):
    answer = solver.solve(small(), Options(options=OWN[solver.name]))
    assert answer.objective == pytest.approx(11.5)


def test_unknown_option_is_an_error(solver):
    with pytest.raises(SolverError, match=f"{solver.name} does not take the option no_such='7'"):
        solver.solve(small(), Options(options={"no_such": "7"}))


def test_impossible_value_of_an_option_is_an_error(solver):
    wrong = {"cbc": "maxNodes", "glpk": "mipgap", "gurobi": "MIPFocus", "highs": "mip_max_nodes"}
    name = wrong.get(solver.name, "limits/gap")
    with pytest.raises(SolverError, match=f"{solver.name} does not take the option {name}='x'"):
        solver.solve(small(), Options(options={name: "x"}))


def test_log_file(solver, tmp_path, capfd):
    log = tmp_path / "solve.log"
    log.write_text("of an earlier solve")
    solver.solve(small(), Options(log=log))
    said = log.read_text()
    assert solver.name.upper() in said.upper() or "GLPSOL" in said
    assert "earlier" not in said
    assert capfd.readouterr().out == ""


def test_live_log(solver, capfd):
    solver.solve(small(), Options(log=True))
    assert len(capfd.readouterr().out.splitlines()) > 3


def test_silence(solver, capfd):
    solver.solve(small(), Options())
    assert capfd.readouterr() == ("", "")


def test_log_that_cannot_be_written(solver, tmp_path):
    options = Options(log=tmp_path / "solve.log")
    (tmp_path / "solve.log").mkdir()
    with pytest.raises(SolverError, match="log cannot be written"):
        solver.solve(small(), options)


# Interruption


INTERRUPTED = """
    import json, os, signal, sys, threading
    sys.path[:0] = {path!r}
    from mlmio.registry import solvers
    from mlmio.solvers.base import Options
    import programs
    solver = solvers.get({name!r})()
    solver.solve(programs.small(), Options())
    model = programs.market_split(slack=True)
    threading.Timer(0.6, os.kill, (os.getpid(), signal.SIGINT)).start()
    answer = solver.solve(model, Options(time_limit=20))
    print(json.dumps([answer.status, answer.reason, answer.objective]))
"""


def test_interrupted(solver):
    script = textwrap.dedent(INTERRUPTED).format(
        path=[str(Path(__file__).parents[1])], name=solver.name
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=False
    )
    assert "Traceback" not in done.stderr
    status, reason, objective = json.loads(done.stdout.splitlines()[-1])
    assert reason == "interrupted"
    if "interrupt" in solver.features:
        assert status == "feasible"
        assert objective > 0
    else:
        assert status == "no_incumbent"


def test_interrupted_relaxation_ends_the_solve(monkeypatch, little_iris):
    calls = []

    def interrupted(self, program, options, start):
        calls.append(program)
        return Found("interrupted")

    monkeypatch.setattr(registry.get("highs"), "run", interrupted)
    result = mlmio.solve("linear + nearest", little_iris, "highs")
    assert (result.status, result.reason, len(calls)) == ("no_incumbent", "interrupted", 1)


def test_interrupts_are_raised_again_after_a_solve(solver):
    handler = signal.getsignal(signal.SIGINT)
    solver.solve(small(), Options())
    assert signal.getsignal(signal.SIGINT) is handler


# CBC on several threads


@pytest.fixture(scope="session")
def optimum():
    return 0.3945861527


@pytest.mark.parametrize("options", [Options(threads=2), Options(options={"threads": 2})])
def test_cbc_on_several_threads_claims_nothing(options, iris, optimum):
    solver = installed("cbc")
    model = mlmio.compose("linear + quadratic + nearest + mccormick").build(iris)
    answer = solver.solve(model, options)
    assert (answer.status, answer.bound, answer.reason) == ("feasible", None, "unproven")
    assert answer.objective <= optimum + 1e-6
    assert "several threads" in answer.message


def test_cbc_on_several_threads_does_not_claim_infeasible():
    solver = installed("cbc")
    model = small()
    model.more = pyo.Constraint(expr=model.x + model.y >= 8)
    answer = solver.solve(model, Options(threads=2))
    assert (answer.status, answer.reason) == ("no_incumbent", "unproven")
