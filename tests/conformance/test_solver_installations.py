"""What every solver says it can do, and solvers that are missing, broken, limited or foreign."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import numpy as np
import pyomo.environ as pyo
import pytest
from programs import NAMES, installed, limited, small

import mlmio
from mlmio import SolverError
from mlmio.blocks import PROBLEM_CLASSES
from mlmio.registry import solvers as registry
from mlmio.solvers import command
from mlmio.solvers.adapter import Found
from mlmio.solvers.base import FEATURES, STATUSES, Options, Solver, get_solver, register_solver

PACKAGES = {
    "cbc": "pulp",
    "glpk": "cmeel",
    "gurobi": "gurobipy",
    "highs": "highspy",
    "scip": "pyscipopt",
}
EXECUTABLES = {"cbc": "cbc", "glpk": "glpsol"}


@pytest.fixture(params=sorted(EXECUTABLES))
def executable(request):
    return installed(request.param)


# What there is


def test_capabilities_are_of_the_vocabulary(solver):
    assert solver.features <= set(FEATURES)
    assert solver.classes <= set(PROBLEM_CLASSES)
    assert re.match(r"\d+\.\d", solver.version())
    assert Path(solver.location()).exists()


def test_all_five_are_registered():
    assert set(PACKAGES) <= set(NAMES)


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


# Executables


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


# Answers that are wrong, licences, and a stranger's adapter


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
