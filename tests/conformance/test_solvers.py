"""Every registered solver in every situation; skipped, with a reason, where it is not installed."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from programs import NAMES, installed, market_split, small, those

import mlmio
from mlmio import SolverError
from mlmio.blocks import PROBLEM_CLASSES
from mlmio.registry import solvers as registry
from mlmio.solvers import command
from mlmio.solvers.adapter import Found
from mlmio.solvers.base import FEATURES, STATUSES, Options, Solver, get_solver, register_solver
from mlmio.solvers.starts import Start

PACKAGES = {
    "cbc": "pulp",
    "glpk": "cmeel",
    "gurobi": "gurobipy",
    "highs": "highspy",
    "scip": "pyscipopt",
}
EXECUTABLES = {"cbc": "cbc", "glpk": "glpsol"}

# What a solver may take beyond its time limit.
LATE = 2.0


@pytest.fixture(params=NAMES)
def solver(request):
    return installed(request.param)


@pytest.fixture(params=sorted(EXECUTABLES))
def executable(request):
    return installed(request.param)


@pytest.fixture(scope="session")
def iris():
    return mlmio.load_dataset("iris", per_class=5, seed=0)


@pytest.fixture(scope="session")
def little_iris():
    return mlmio.load_dataset("iris", per_class=3, seed=0)


@pytest.fixture(scope="session")
def known(little_iris):
    return mlmio.solve("linear + quadratic + nearest + mccormick", little_iris)


def values(model):
    return [v.value for v in model.component_data_objects(pyo.Var)]


# What there is


def test_capabilities_are_of_the_vocabulary(solver):
    assert solver.features <= set(FEATURES)
    assert solver.classes <= set(PROBLEM_CLASSES)
    assert re.match(r"\d+\.\d", solver.version())
    assert Path(solver.location()).exists()


def test_all_five_are_registered():
    assert set(PACKAGES) <= set(NAMES)


# Outcomes


@pytest.mark.parametrize(("sense", "optimum"), [(pyo.maximize, 11.5), (pyo.minimize, -4.0)])
def test_optimal(solver, sense, optimum):
    model = small(sense)
    answer = solver.solve(model, Options())
    assert answer.status == "optimal"
    assert answer.objective == pytest.approx(optimum)
    assert answer.bound == pytest.approx(optimum, abs=1e-5)
    assert pyo.value(model.goal) == pytest.approx(optimum)
    assert answer.reason == answer.message == ""


def test_optimal_metric_is_verified(solver, little_iris, known):
    result = mlmio.solve("linear + quadratic + nearest + bigm", little_iris, solver=solver.name)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(known.objective, abs=1e-6)
    assert result.lp_bound >= result.objective
    assert result.bound >= result.objective - 1e-6


def test_linear_program(solver):
    model = small()
    model.y.domain = pyo.Reals
    answer = solver.solve(model, Options())
    assert answer.status == "optimal"
    assert answer.bound == pytest.approx(answer.objective)


def test_infeasible(solver):
    model = small()
    model.more = pyo.Constraint(expr=model.x + model.y >= 8)
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective, answer.bound) == ("infeasible", None, None)


def test_infeasible_for_integers_only(solver):
    model = small()
    model.parity = pyo.Constraint(expr=2 * model.y == 3)
    assert solver.solve(model, Options()).status == "infeasible"


def test_infeasible_before_it_is_solved(solver):
    model = small()
    model.x.fix(1)
    model.never = pyo.Constraint(expr=model.x == 2)
    answer = solver.solve(model, Options())
    assert answer.status == "infeasible"
    assert "never" in answer.message


def test_infeasible_bounds(solver):
    model = small()
    model.y.setub(-5)
    answer = solver.solve(model, Options())
    assert answer.status == "infeasible"
    assert "y" in answer.message


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_unbounded(solver, domain):
    answer = solver.solve(unbounded(domain), Options())
    assert (answer.status, answer.objective, answer.bound) == ("unbounded", None, None)


@pytest.mark.parametrize("domain", [pyo.Reals, pyo.Integers])
def test_infeasible_that_would_be_unbounded(solver, domain):
    model = unbounded(domain)
    model.more = pyo.Constraint(expr=model.x + 2 * model.y >= 1)
    model.less = pyo.Constraint(expr=model.x + 2 * model.y <= 0)
    assert solver.solve(model, Options()).status == "infeasible"


def unbounded(domain):
    model = pyo.ConcreteModel()
    model.x = pyo.Var()
    model.y = pyo.Var(domain=domain)
    model.row = pyo.Constraint(expr=model.x - model.y <= 4)
    model.goal = pyo.Objective(expr=model.x + model.y)
    return model


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


def limited(solver, model, options):
    began = time.perf_counter()
    answer = solver.solve(model, options)
    assert time.perf_counter() - began < options.time_limit + LATE
    return answer


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


@pytest.fixture(scope="session")
def optimum():
    return 0.3945861527


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


# Interruption and failure

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


@pytest.mark.parametrize("name", NAMES)
def test_missing(name, monkeypatch):
    find_spec = importlib.util.find_spec
    missing = PACKAGES[name]
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *rest: None if n == missing else find_spec(n, *rest)
    )
    monkeypatch.setenv("PATH", "")
    adapter = registry.get(name)()
    assert adapter.version() is None
    assert adapter.location() is None
    with pytest.raises(SolverError, match=f"{name}' is not installed: .*pip install"):
        get_solver(name, "LP")


def on_path(name, tmp_path, monkeypatch, script):
    """Put an executable of one's own first on the PATH."""
    path = tmp_path / EXECUTABLES[name]
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    return path


@pytest.mark.parametrize("script", ["exit 3", "echo garbage", "exec sleep 30", "kill -9 $$"])
def test_broken_executable(executable, tmp_path, monkeypatch, script):
    path = on_path(executable.name, tmp_path, monkeypatch, script)
    monkeypatch.setattr(command, "VERSION_LIMIT", 0.5)
    assert executable.version() == command.UNKNOWN_VERSION
    answer = executable.solve(small(), Options())
    assert (answer.status, answer.reason) == ("error", "executable")
    assert str(path) in answer.message


def good_version(executable):
    said = "Version: 9.9" if executable.name == "cbc" else "GLPSOL--GLPK LP/MIP Solver 9.9"
    return f'if [ "$1" = -stop ] || [ "$1" = --version ]; then echo "{said}"; exit 0; fi\n'


def test_executable_on_the_path_wins(executable, tmp_path, monkeypatch):
    path = on_path(executable.name, tmp_path, monkeypatch, good_version(executable))
    assert executable.location() == str(path)
    assert executable.version() == "9.9"


@pytest.mark.parametrize(
    "script",
    [
        "exit 0",
        "echo segmentation fault; exit 139",
        "echo OPTIMAL LP SOLUTION FOUND; printf 's bas 1 2 f f 1\\nj 1 b x 0\\n' > solution.txt",
        "echo Optimal - objective value 1 > solution.txt; echo garbage > solution.bin",
    ],
)
def test_executable_that_breaks_when_solving(executable, tmp_path, monkeypatch, script):
    on_path(executable.name, tmp_path, monkeypatch, good_version(executable) + script)
    answer = executable.solve(small(), Options())
    assert (answer.status, answer.reason) == ("error", "executable")
    assert answer.objective is None


def test_executable_that_hangs_is_ended(executable, tmp_path, monkeypatch):
    script = good_version(executable) + "trap '' INT\nsleep 30 & wait\nsleep 30"
    on_path(executable.name, tmp_path, monkeypatch, script)
    answer = limited(executable, small(), Options(time_limit=0.1))
    assert (answer.status, answer.reason) == ("no_incumbent", "time_limit")


def test_values_that_are_no_solution_are_an_error(solver, monkeypatch):
    def lie(self, program, options, start):
        return Found("solved", x=np.full(len(program.columns), 3.5))

    monkeypatch.setattr(type(solver), "run", lie)
    answer = solver.solve(small(), Options())
    assert (answer.status, answer.reason, answer.objective) == ("error", "solver", None)
    assert "no solution" in answer.message


def test_licence():
    solver = installed("gurobi")
    from mlmio.solvers import gurobi

    if not gurobi._restricted():
        pytest.skip("this machine has a licence of Gurobi without a limit of size")
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(2500), bounds=(0, 1))
    model.row = pyo.Constraint(expr=sum(model.x.values()) <= 7)
    model.goal = pyo.Objective(expr=sum(model.x.values()), sense=pyo.maximize)
    answer = solver.solve(model, Options())
    assert (answer.status, answer.reason) == ("error", "licence")
    assert "1 rows and 2500 columns" in answer.message
    assert "2000 rows and 2000 columns" in answer.message
    model.curved = pyo.Constraint(expr=model.x[0] * model.x[1] <= 0.5)
    assert "200 columns" in solver.solve(model, Options()).message


# Models out of the ordinary


def test_no_rows(solver):
    model = small()
    model.row.deactivate()
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective) == ("optimal", pytest.approx(18.0))


def test_no_objective(solver):
    model = small()
    model.goal.deactivate()
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective) == ("optimal", 0.0)
    assert -7 <= model.x.value + 2 * model.y.value <= 5.5


def test_all_variables_fixed(solver):
    model = small()
    model.x.fix(1)
    model.y.fix(1)
    answer = solver.solve(model, Options())
    assert (answer.status, answer.objective, answer.bound) == ("optimal", 8.5, 8.5)


def test_variable_that_no_row_holds_gets_a_value(solver):
    model = small()
    model.idle = pyo.Var(bounds=(2, 3))
    model.free = pyo.Var()
    solver.solve(model, Options())
    assert 2 <= model.idle.value <= 3
    assert model.free.value is not None


def test_names_that_need_escaping(solver):
    model = pyo.ConcreteModel(name="a model")
    model.i = pyo.Set(initialize=["a b", "ü,[]", "c:d", "\"q' #"])
    model.v = pyo.Var(model.i, domain=pyo.Binary)
    model.add_component("a row", pyo.Constraint(expr=sum(model.v.values()) <= 2))
    weights = dict(zip(model.i, (1, 2, 3, 4), strict=True))
    model.goal = pyo.Objective(expr=sum(weights[i] * model.v[i] for i in model.i), sense=-1)
    assert solver.solve(model, Options()).objective == pytest.approx(7)
    assert values(model) == [0, 0, 1, 1]


def test_more_than_quadratic_is_refused_by_name(solver):
    model = small()
    model.sine = pyo.Constraint(expr=pyo.sin(model.x) <= 1)
    with pytest.raises(SolverError, match="sine"):
        solver.solve(model, Options())


def test_several_objectives_are_refused(solver):
    model = small()
    model.other = pyo.Objective(expr=model.x)
    with pytest.raises(SolverError, match="2 active objectives"):
        solver.solve(model, Options())


# Classes of problem


def test_bilinear(solver, little_iris, known, monkeypatch):
    composition = "linear + quadratic + nearest + bilinear"
    if "MINLP" not in solver.classes:
        monkeypatch.setattr(mlmio.Composition, "assemble", lambda *_: pytest.fail("was built"))
        with pytest.raises(SolverError, match=r"does not solve MINLP.*gurobi.*scip"):
            mlmio.solve(composition, little_iris, solver=solver.name)
        return
    result = mlmio.solve(composition, little_iris, solver=solver.name, time_limit=60)
    assert (result.status, result.verified) == ("optimal", True)
    assert result.objective == pytest.approx(known.objective, abs=1e-6)


def test_bilinear_row_is_not_dropped(solver):
    model = small()
    model.product = pyo.Constraint(expr=model.x * model.y <= 1)
    answer = solver.solve(model, Options())
    if "MINLP" in solver.classes:
        assert answer.objective == pytest.approx(10.5)
        assert model.x.value * model.y.value <= 1 + 1e-6
    else:
        assert answer.status == "error"


@those(problem_class="SOCP")
def test_second_order_cone(solver):
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1])
    model.r = pyo.Var(bounds=(0, 2))
    model.cone = pyo.Constraint(expr=model.x[0] ** 2 + model.x[1] ** 2 <= model.r**2)
    model.goal = pyo.Objective(expr=model.x[0] + model.x[1], sense=pyo.maximize)
    answer = solver.solve(model, Options())
    assert answer.objective == pytest.approx(2 * 2**0.5, abs=1e-5)


@those("sos1")
@pytest.mark.parametrize("weight", [2.0, 4.0])
def test_at_most_one_of_a_set_is_not_zero(solver, weight):
    model = pyo.ConcreteModel()
    model.x = pyo.Var([0, 1, 2], bounds=(0, 1))
    model.choice = pyo.Var(domain=pyo.Binary)
    model.set = pyo.SOSConstraint(var=model.x, sos=1)
    model.pair = pyo.SOSConstraint(rule=lambda _: [model.choice, model.x[2]], sos=1)
    model.goal = pyo.Objective(
        expr=model.x[0] + model.x[1] + weight * model.x[2] + 3 * model.choice, sense=pyo.maximize
    )
    answer = solver.solve(model, Options())
    assert answer.objective == pytest.approx(4.0)
    assert answer.bound == pytest.approx(4.0)
    assert sum(abs(x.value) > 1e-9 for x in model.x.values()) <= 1


# Points to start from


def test_start_is_accepted(solver, little_iris, known):
    result = mlmio.solve(
        "linear + quadratic + nearest + bigm", little_iris, solver=solver.name, start=known
    )
    assert result.start == ("accepted" if "warm_start" in solver.features else "not supported")
    assert (result.status, result.verified) == ("optimal", True)


@those("warm_start")
def test_start_is_the_first_incumbent(solver, iris):
    model = market_split(slack=True)
    solver.solve(model, Options(time_limit=1.0))
    before = pyo.value(model.goal)
    start = Start(mlmio.Metric({}, D=1))
    answer = solver.solve(model, Options(time_limit=0.5, start=start))
    assert (answer.status, answer.start) == ("feasible", "accepted")
    assert answer.objective <= before + 1e-6


@those("warm_start")
def test_start_that_violates_the_model_is_refused_with_a_note(solver, little_iris):
    wrong = mlmio.Metric({2: 9 * np.eye(4)}, D=4, scaling=little_iris.scaling)
    result = mlmio.solve(
        "linear + quadratic + nearest + bigm", little_iris, solver=solver.name, start=wrong
    )
    assert (result.start, result.status, result.verified) == ("rejected", "optimal", True)
    assert "start was refused" in result.message


# CBC on several threads


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


# A stranger's


def test_a_strangers_adapter(little_iris, known):
    class Borrowed(Solver):
        name = "borrowed"
        classes = frozenset({"LP", "MILP"})

        def version(self):
            return "1.0"

        def solve(self, model, options):
            answer = registry.get("highs")().solve(model, Options(time_limit=options.time_limit))
            assert answer.status in STATUSES
            return answer

    register_solver(Borrowed)
    try:
        result = mlmio.solve("linear + quadratic + nearest", little_iris, solver="borrowed")
        started = mlmio.solve(
            "linear + quadratic + nearest", little_iris, solver="borrowed", start=result
        )
        with pytest.raises(SolverError, match="borrowed cannot honour threads=2"):
            mlmio.solve("linear + nearest", little_iris, solver="borrowed", threads=2)
    finally:
        del registry._loaded["borrowed"]
    assert (result.solver, result.status, result.verified) == ("borrowed", "optimal", True)
    assert result.objective == pytest.approx(known.objective, abs=1e-6)
    assert started.start == "not supported"


def test_interrupts_are_raised_again_after_a_solve(solver):
    handler = signal.getsignal(signal.SIGINT)
    solver.solve(small(), Options())
    assert signal.getsignal(signal.SIGINT) is handler
