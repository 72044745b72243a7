"""Suites: what they say, and what is said of those that are wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from suites import suite_text

from mlmio import DataError, MlmioError
from mlmio.bench import suite as suite_module
from mlmio.bench.cases import plan
from mlmio.bench.faults import SuiteError
from mlmio.bench.suite import description, find_suite, load_suite, parse_suite
from mlmio.data import catalogue

ROOT = Path(__file__).parents[3]

GOOD = """\
name: good
datasets:
  - name: iris
    per_class: [2, 3]
    seeds: [0, 1]
  - name: wine
    per_class: 2
    features: [2, 4]
    classes: 2
    scale: standard
compositions:
  - linear + nearest + bigm
  - variants: quadratic + nearest
    encoding: [bigm, mccormick]
    cone: [null, gershgorin]
solvers: [highs, glpk]
strategies: [direct, disjunctive]
limits:
  time_limit: 3
threads: [1, 2]
seeds: 7
repetitions: 2
"""


def test_a_suite_is_every_combination_of_its_parts() -> None:
    cases = plan(parse_suite(GOOD, "good.yaml"))
    drawings, formulations, ways, threads, repetitions = 4 + 2, 1 + 4, 3, 2, 2
    assert len(cases) == drawings * formulations * ways * threads * repetitions
    assert len({case.key for case in cases}) == len(cases)
    described = [case.described for case in cases]
    assert {d["solver"] for d in described if d["strategy"] == "direct"} == {"highs", "glpk"}
    assert {d["solver"] for d in described if d["strategy"] == "disjunctive"} == {None}
    assert {(d["dataset"], d["N"], d["D"], d["classes"]) for d in described} == {
        ("iris", 6, 4, 3),
        ("iris", 9, 4, 3),
        ("wine", 4, 2, 2),
        ("wine", 4, 4, 2),
    }
    assert {d["seed"] for d in described} == {7}
    # Draws, sizes, threads and repetitions are told apart where the run gets on.
    assert len({case.name for case in cases}) == len(cases)
    assert sum("iris N=6 seed=1 ·" in case.name for case in cases) == len(cases) // 6
    assert {d["sampling"] for d in described if d["dataset"] == "wine"} == {
        "per_class=2, features=2, classes=2, seed=0, scale=standard",
        "per_class=2, features=4, classes=2, seed=0, scale=standard",
    }


@pytest.mark.parametrize("name", sorted(p.stem for p in ROOT.glob("benchmarks/suites/*.yaml")))
def test_shipped_suites_are_good(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_network(*args: object) -> None:
        raise DataError("there is no network")

    monkeypatch.setattr(catalogue, "_from_openml", without_network)
    monkeypatch.delenv("MLMIO_DATA", raising=False)
    monkeypatch.chdir(ROOT)
    suite = load_suite(find_suite(name))
    assert suite.name == name
    assert suite.title
    cases = plan(suite)
    assert cases
    assert len({case.name for case in cases}) == len(cases)
    hours = sum(case.asked["time_limit"] for case in cases) / 3600
    told = description(find_suite(name).read_text(encoding="utf-8"))
    assert f"{len(cases)} cases, at most {hours:.1f} hours with one worker" in told
    missing = {case.asked["dataset"] for case in cases if case.facts["N"] is None}
    assert missing == ({"cod_rna", "diabetes"} if name == "paper" else set())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seeds: 7", "seeds: -1", "line 21, seeds: give at least 0, not -1"),
        ("seeds: 7", "sedes: 7", "line 21, sedes: there is no such key, did you mean 'seeds'?"),
        ("    seeds: [0", "    sedes: [0", "datasets[0].sedes: there is no such key, did you mean"),
        ("seeds: 7", "x: 7", "x: there is no such key: the keys are name, title, datasets, comp"),
        ("per_class: 2\n", "per_class: two\n", "line 7, datasets[1].per_class: give a whole numb"),
        ("per_class: [2, 3]", "per_class: [2, 0]", "line 4, datasets[0].per_class[1]: give at lea"),
        ("per_class: 2\n", "per_class: 2\n    n: 5\n", "line 6, datasets[1]: per_class and n are"),
        (
            "    classes: 2",
            "    label: 1.5",
            "datasets[1].label: give a text or a whole number, no",
        ),
        ("scale: standard", "scale: log", "line 10, datasets[1].scale: Unknown scaling 'log'"),
        ("linear + nearest + bigm", "linear + narest", "line 12, compositions[0]: there is no bl"),
        ("encoding: [", "encodign: [", "'encodign', did you mean 'encoding'?"),
        ("encoding: [bigm, m", "encoding: [linear, m", "line 13, compositions[1]: 'linear' fills"),
        ("variants:", "varaints:", "compositions[1].variants: it is missing, did you mean 'varai"),
        ("linear + nearest + bigm", "7", "line 12, compositions[0]: give keys with values"),
        ("glpk]", "glpx]", "line 16, solvers[1]: there is no solver 'glpx', did you mean 'glpk'?"),
        ("disjunctive]", "joint]", "line 17, strategies[1]: there is no strategy 'joint'"),
        ("time_limit: 3", "time_limit: .inf", "line 19, limits.time_limit: give a finite number"),
        ("time_limit: 3", "time_limit: '3'", "line 19, limits.time_limit: give a number, not '3'"),
        ("time_limit: 3", "time_limit: 0", "line 19, limits.time_limit: give more than 0, not 0"),
        ("seeds: 7", "seeds: 2147483648", "seeds: give at most 2147483647, not 2147483648"),
        ("time_limit: 3", "grace: 3", "line 18, limits.time_limit: it is missing"),
        ("name: good\n", "", "line 1, name: it is missing"),
        ("name: good\n", "name: ''\n", "line 1, name: it is empty"),
        ("[highs, glpk]", "[]", "line 16, solvers: it is empty: give at least one"),
        ("repetitions: 2", "repetitions: 2\nname: again", "line 23, name: it is said twice"),
        ("repetitions: 2", "repetitions: [2", "line 23: "),
        ("threads: [1, 2]", "threads: [1, 0x1000]", "line 20, threads[1]: give at most 256, not"),
        ("seeds: 7", "seeds: 7\n5: 6", "line 22, [5]: the key 5 is no text: put it into quotes"),
        (GOOD, "", "my.yaml is empty: a suite has name, datasets, compositions, limits"),
        (GOOD, "# a comment", "my.yaml is empty"),
        (GOOD, "- name: x", "line 1: a suite has keys with values: name, datasets, compositions"),
        (GOOD, "a: \x00", "cannot be read as YAML"),
        (GOOD, "!!python/object/apply:os.system ['true']", "line 1: it is no YAML: could not"),
    ],
)
def test_what_is_wrong_is_named_with_file_line_and_key(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(MlmioError) as caught:
        parse_suite(GOOD.replace(old, new, 1), "my.yaml")
    said = str(caught.value)
    assert said.startswith("my.yaml")
    assert message in said
    assert "\n" not in said


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = (
        GOOD.replace("per_class: [2, 3]", "per_calss: [2, 3]")
        .replace("linear + nearest + bigm", "linear + narest")
        .replace("[highs, glpk]", "[hihgs, glpx]")
        .replace("time_limit: 3", "time_limit: soon")
        .replace("threads: [1, 2]", "threads: 1\nthreads: 2")
    )
    with pytest.raises(SuiteError) as caught:
        parse_suite(wrong, "my.yaml")
    said = [problem.removeprefix("my.yaml, ").split("?")[0] for problem in caught.value.problems]
    assert said == [
        "line 21, threads: it is said twice",
        "line 4, datasets[0].per_calss: there is no such key, did you mean 'per_class'",
        "line 12, compositions[0]: there is no block 'narest', did you mean 'nearest'",
        "line 16, solvers[0]: there is no solver 'hihgs', did you mean 'highs'",
        "line 16, solvers[1]: there is no solver 'glpx', did you mean 'glpk'",
        "line 19, limits.time_limit: give a number, not 'soon'",
    ]


def test_one_value_may_stand_for_a_list_of_one() -> None:
    one = GOOD.replace("encoding: [bigm, mccormick]", "encoding: bigm")
    listed = GOOD.replace("encoding: [bigm, mccormick]", "encoding: [bigm]")
    assert parse_suite(one, "a").canonical() == parse_suite(listed, "b").canonical()


def test_where_suites_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = "encodings, paper, scaling, smoke, solvers, strategies"
    # In the source tree that mlmio runs from, wherever one is.
    assert find_suite("smoke") == ROOT / "benchmarks/suites/smoke.yaml"
    with pytest.raises(MlmioError, match=f"no suite 'xyz': the shipped suites are {names}"):
        find_suite("xyz")
    with pytest.raises(MlmioError, match=f"did you mean 'smoke'.* suites are {names}"):
        find_suite("smok.yaml")
    (tmp_path / "benchmarks/suites").mkdir(parents=True)
    file = tmp_path / "benchmarks/suites/mine.yaml"
    file.write_text(suite_text("highs"))
    assert find_suite("mine").resolve() == file
    assert find_suite(str(file)) == file
    with pytest.raises(MlmioError, match="is a folder: give the YAML file of a suite"):
        find_suite(str(tmp_path))
    with pytest.raises(MlmioError, match=r"cannot read the suite .*Is a directory"):
        load_suite(tmp_path)
    file.write_bytes(b"name: \xff")
    with pytest.raises(MlmioError, match="it is no text in UTF-8"):
        load_suite(file)


def test_without_a_source_tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(suite_module, "SOURCES", tmp_path)
    with pytest.raises(MlmioError, match="benchmarks/suites of mlmio's source tree"):
        find_suite("smoke")
