"""What cases say of one another: every breach found, none invented."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from bench_records import record, write_run

from mlmio.bench.evidence import read_run
from mlmio.bench.findings import Findings, families, find

BIGM, MCCORMICK = "linear + nearest + bigm", "linear + nearest + mccormick"


def found(folder: Path, *records: Any) -> Findings:
    return find(read_run(write_run(folder, *records)))


def test_optima_that_differ_are_a_breach(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        record("a", composition=BIGM),
        record("b", composition=MCCORMICK, objective=0.4, bound=0.4),
    )
    (wrong,) = findings.wrong.to_dict("records")
    assert wrong["kind"] == "breach"
    assert wrong["instance"] == "iris N=15 (per_class=5, seed=0, scale=minmax) seed 0"
    assert "mccormick + nearest · highs · direct claims the" in wrong["text"]
    assert "has a verified solution of 0.5" in wrong["text"]


def test_an_incumbent_above_a_bound_is_a_breach_and_nothing_across_instances(
    tmp_path: Path,
) -> None:
    low = {"status": "feasible", "objective": 0.3, "bound": 0.45}
    assert len(found(tmp_path / "one", record("a"), record("b", solver="cbc", **low)).wrong) == 1
    other = record("b", solver="cbc", N=18, **low)
    assert not len(found(tmp_path / "other", record("a"), other).wrong)
    apart = record("b", solver="cbc", sampling="per_class=5, seed=1, scale=minmax", **low)
    assert not len(found(tmp_path / "apart", record("a"), apart).wrong)


def test_what_agrees_is_a_verdict_and_repetitions_are_one_run(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        record("a"),
        record("b", solver="scip"),
        record("c", solver="scip", repetition=1),
    )
    assert not len(findings.wrong)
    (agree,) = findings.verdicts.to_dict("records")
    assert agree["kind"] == "agree"
    assert "0.5 by 2 runs (highs · direct, scip · direct)" in agree["text"]


def test_unverified_results_are_all_there(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        record("a", status="unverified", verified=False, message="unverified: λ is 0.1"),
        record("b", solver="scip", verified=False),
    )
    assert findings.wrong["kind"].tolist() == ["breach", "unverified"]
    assert findings.wrong["text"][0].endswith("does not hold in the data: λ is 0.1")
    assert "scip · direct claims to be optimal" in findings.wrong["text"][1]


def test_infeasible_beside_a_verified_solution_is_a_breach(tmp_path: Path) -> None:
    none = {"status": "infeasible", "verified": False, "objective": None, "bound": None}
    findings = found(
        tmp_path,
        record("a", status="feasible", bound=0.8, composition=BIGM),
        record("b", composition=MCCORMICK, lp_bound=None, **none),
        record("c", composition="linear + quadratic + nearest + bigm", lp_bound=None, **none),
    )
    # The third is a relaxation of the first: its linear terms alone are a solution of it too.
    assert findings.contradicted == {"b", "c"}
    assert findings.wrong["kind"].tolist() == ["breach", "breach"]
    assert all("is said to be infeasible, but" in text for text in findings.wrong["text"])
    assert all("has a verified solution of 0.5" in text for text in findings.wrong["text"])


def test_bounds_of_different_strategies_are_not_held_to_one_another(tmp_path: Path) -> None:
    disjunctive = {"solver": None, "strategy": "disjunctive", "lp_bound": 5.0}
    findings = found(
        tmp_path,
        record("a", composition=BIGM, lp_bound=1.0),
        record("b", composition=MCCORMICK, lp_bound=0.8),
        record("c", composition=BIGM, **disjunctive),
        record("d", composition=MCCORMICK, **disjunctive),
    )
    assert not len(findings.wrong)
    assert findings.closed == pytest.approx({"a": 0.0, "b": 40.0, "c": 0.0, "d": 0.0})
    # Of one strategy they are.
    wrong = found(
        tmp_path / "wrong",
        record("a", composition=BIGM, lp_bound=0.8),
        record("b", composition=MCCORMICK, lp_bound=1.0),
    ).wrong
    assert ["the LP bound" in text for text in wrong["text"]] == [True]


def test_a_formulation_that_is_not_known_here_is_said_and_stops_nothing(tmp_path: Path) -> None:
    findings = found(
        tmp_path, record("a", composition="linear + nearest + strange"), record("b"), record("c")
    )
    (wrong,) = findings.wrong.to_dict("records")
    assert wrong["kind"] == "not judged"
    assert "strange" in wrong["text"]


def test_the_same_failure_is_one_row_and_refusals_are_last(tmp_path: Path) -> None:
    findings = found(
        tmp_path,
        record("a", "refused", "no products"),
        record("b", "crashed", "signal 11", solver="cbc"),
        record("c", "crashed", "signal 11", solver="cbc", seed=1),
        record("d", "timed out", "killed after 70 s", solver="cbc", seed=2),
        record("e", status="error", verified=False, message="licence", solver="gurobi"),
    )
    assert findings.failures[["status", "cases"]].to_numpy().tolist() == [
        ["crashed", 2],
        ["error", 1],
        ["timed out", 1],
        ["refused", 1],
    ]
    assert findings.failures["instances"][0].count("iris") == 2


def test_families_have_one_optimum_and_names_of_their_own() -> None:
    names = families(
        [BIGM, MCCORMICK, "linear + nearest", "linear + quadratic + nearest", "unknown(x=1)"]
    )
    assert names[BIGM] == names[MCCORMICK] == names["linear + nearest"] == "linear + nearest"
    assert names["linear + quadratic + nearest"] == "linear + quadratic + nearest"
    assert names["unknown(x=1)"] == "unknown(x=1)"
