import pickle

import pytest

import mlmio
from mlmio import SolverError
from mlmio.registry import solvers as registry
from mlmio.solvers.base import LEAST_TIME, Options, Solver, get_solver
from mlmio.solvers.starts import Start


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("time_limit", 0),
        ("time_limit", float("inf")),
        ("time_limit", float("nan")),
        ("threads", 0),
        ("threads", 1.5),
        ("threads", True),
        ("seed", -1),
        ("seed", 2**31),
        ("rel_gap", 1.0),
        ("rel_gap", -0.1),
        ("abs_gap", -1.0),
        ("abs_gap", float("nan")),
        ("node_limit", 0),
        ("log", "/no/such/folder/solve.log"),
        ("log", "/"),
    ],
)
def test_options_that_make_no_sense(name, value):
    with pytest.raises(SolverError, match=rf"{name} is .*: give "):
        Options(**{name: value})


def test_options_as_plain_values(tmp_path):
    options = Options(
        time_limit=3, log=tmp_path / "a.log", options={"x": 1}, start=Start(mlmio.Metric({}, D=1))
    )
    record = options.to_dict()
    assert record["log"] == str(tmp_path / "a.log")
    assert record["options"] == {"x": 1}
    assert record["start"] is True
    assert (record["threads"], record["seed"]) == (1, 0)
    assert pickle.loads(pickle.dumps(record)) == record


def test_time_that_is_left():
    assert Options().after(5) == Options()
    assert Options(time_limit=3).after(1).time_limit == 2
    assert Options(time_limit=3).after(9).time_limit == LEAST_TIME


def test_every_registered_solver_takes_the_defaults():
    for name in registry.names():
        if registry.get(name)().version() is not None:
            assert get_solver(name, "MILP", Options()).name == name


def test_unknown_solver():
    with pytest.raises(SolverError, match="no solver 'hihgs', did you mean 'highs'"):
        get_solver("hihgs", "LP")


def test_class_that_no_solver_takes():
    with pytest.raises(SolverError, match=r"does not solve ODD.*: no registered solver does"):
        get_solver("highs", "ODD")


def test_the_base_class_solves_nothing():
    with pytest.raises(NotImplementedError, match="states no version"):
        Solver().version()
    with pytest.raises(NotImplementedError, match="solves nothing"):
        Solver().solve(None, Options())
    assert Solver().location() is None
