"""The key of a case is a hash of everything that determines it."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites import suite_text

from mlmio.bench import cases as cases_module
from mlmio.bench import machine
from mlmio.bench.cases import Case, packages_of, plan
from mlmio.bench.points import load_points
from mlmio.bench.suite import parse_suite
from mlmio.errors import DataError
from mlmio.solvers.highs import Highs


def planned(text: str, data_dir: str | None = None) -> list[Case]:
    return plan(parse_suite(text, "toy.yaml"), data_dir)


def key(text: str, data_dir: str | None = None) -> str:
    (case,) = planned(text, data_dir)
    return case.key


BASE = suite_text("highs")


def test_the_same_case_has_the_same_key() -> None:
    assert key(BASE) == key("# a comment\n" + BASE.replace("linear + nearest", "nearest + linear"))
    assert key(BASE) == key(BASE.replace("time_limit: 5", "time_limit: 5.0"))
    twice = BASE.replace("+ bigm]", "+ bigm, bigm + nearest + linear]")
    assert [case.key for case in planned(twice)] == [key(BASE)]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("per_class: 2", "per_class: 3"),
        ("per_class: 2", "per_class: 2\n    seeds: 1"),
        ("per_class: 2", "per_class: 2\n    scale: none"),
        ("iris", "wine"),
        ("bigm", "mccormick"),
        ("highs", "glpk"),
        ("time_limit: 5", "time_limit: 6"),
        ("memory_mib: 2048", "memory_mib: 2049"),
        ("repetitions: 1", "repetitions: 1\nthreads: 2"),
        ("repetitions: 1", "repetitions: 1\nseeds: 2"),
        ("repetitions: 1", "repetitions: 1\nstrategies: rows"),
        ("grace: 60,", "grace: 60, rel_gap: 0.01,"),
    ],
)
def test_another_case_has_another_key(old: str, new: str) -> None:
    assert old in BASE
    assert key(BASE.replace(old, new)) != key(BASE)


def test_versions_count(monkeypatch: pytest.MonkeyPatch) -> None:
    before, glpk = key(BASE), key(suite_text("glpk"))
    monkeypatch.setattr(Highs, "version", lambda self: "99")
    assert key(BASE) != before
    # That of a solver only where it is used.
    assert key(suite_text("glpk")) == glpk
    monkeypatch.undo()
    assert key(BASE) == before
    monkeypatch.setattr(machine, "sources", lambda package: f"edited {package}")
    assert key(BASE) != before
    monkeypatch.undo()
    monkeypatch.setattr(machine, "version", lambda package: "99")
    assert key(BASE) != before
    monkeypatch.undo()
    monkeypatch.setattr(cases_module, "MEANING", 99)
    assert key(BASE) != before


def test_what_is_in_a_file_counts_and_not_where_it_is(tmp_path: Path) -> None:
    text = BASE.replace("iris", "mine")
    rows = ["u,v,label", *(f"{n},{n * n % 7},{n % 2}" for n in range(8))]
    keys = []
    for name, end in (("a", ""), ("b", ""), ("c", "\n9,9,1")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mine.csv").write_text("\n".join(rows) + end)
        keys.append(key(text, str(tmp_path / name)))
    assert keys[0] == keys[1] != keys[2]


def test_a_missing_data_set_is_a_case_all_the_same(tmp_path: Path) -> None:
    (case,) = planned(BASE.replace("iris", "nowhere/none.csv"), str(tmp_path))
    assert case.facts == {"N": None, "D": None, "classes": None}
    assert "none.csv seed=0 ·" in case.name


def test_packages_of_a_case(bad_solvers: Path) -> None:
    (case,) = planned(suite_text("fine"))
    assert packages_of(case) == {"mlmio", "formulations", "bad_solvers"}
    assert machine.sources("bad_solvers")
    assert machine.sources("no_such_package") == ""


def test_edits_count_where_they_take_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "edited_package"
    package.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    hashes = []
    for text in ("y = 1\n", "y = 2\n"):
        (package / "part.py").write_text(text)
        machine.sources.cache_clear()
        hashes.append(machine.sources("edited_package"))
    assert hashes[0] != hashes[1]


def test_narrowed_points() -> None:
    asked = {
        "dataset": "wine", "per_class": None, "n": 20, "features": 3, "classes": 2,
        "data_seed": 1, "scale": "minmax", "label": None,
    }  # fmt: skip
    data = load_points(asked)
    assert (data.N, data.D, data.n_classes) == (20, 3, 2)
    assert len(load_points({**asked, "n": None}).X) == 130
    # The scaling is fitted to the points of these classes alone.
    everything = load_points({**asked, "n": None}).X
    assert everything.min() == 0.0
    assert everything.max() == 1.0
    generated = load_points({**asked, "dataset": "ten_classes", "n": 300, "features": 2})
    assert generated.n_classes == 2
    assert generated.N < 100
    for wrong in ({"features": 99}, {"classes": 9}, {"n": 999}):
        with pytest.raises(DataError, match="at most as many"):
            load_points({**asked, **wrong})
