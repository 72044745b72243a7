"""The tables of a report against values computed by hand."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from bench_records import record, write_run

from mlmio.bench.evidence import gap_of, read_run
from mlmio.bench.findings import find
from mlmio.bench.tables import Contest, commonly_solved, contests

BIGM, MCCORMICK = "linear + nearest + bigm", "linear + nearest + mccormick"


def held(folder: Path, *records: Any) -> list[Contest]:
    evidence = read_run(write_run(folder, *records))
    findings = find(evidence)
    return contests(evidence.without(findings.contradicted), findings.closed)


def rows(contest: Contest) -> dict[str, dict[str, Any]]:
    return {row["contestant"]: row for row in contest.summary.to_dict("records")}


def test_summary_by_hand(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path,
        record("a", composition=BIGM, seed=0, build_s=1, lp_s=1, solve_s=1, nodes=2, lp_bound=1.0),
        record("b", composition=BIGM, seed=1, status="feasible", solve_s=12.0, bound=0.8),
        record("c", composition=MCCORMICK, seed=0, solve_s=1, nodes=6, lp_bound=0.8),
        record("d", composition=MCCORMICK, seed=1, solve_s=7, nodes=9, lp_bound=0.8),
    )
    assert contest.family == "linear + nearest"
    found = rows(contest)
    assert list(found) == ["mccormick", "bigm"]
    bigm, mccormick = found["bigm"], found["mccormick"]
    assert (bigm["solved"], bigm["instances"], bigm["compared"]) == (1, 2, 2)
    assert (mccormick["solved"], mccormick["instances"]) == (2, 2)
    # 3 s in all; 12 s, above the limit of 10 s: (4 · 13)^½ − 1.
    assert bigm["time_s"] == pytest.approx(52**0.5 - 1)
    assert mccormick["time_s"] == pytest.approx((2 * 8) ** 0.5 - 1)
    # Both solve the first instance only: the means are of one value.
    assert (bigm["nodes"], mccormick["nodes"]) == (pytest.approx(2), pytest.approx(6))
    assert bigm["nodes_over"] == 1
    # From the weakest bound 1 to the optimum 0.5: 0.8 closes 40 %.
    assert bigm["root_gap_closed"] == pytest.approx(0)
    assert mccormick["root_gap_closed"] == pytest.approx(40)


def test_an_unsolved_instance_counts_as_the_limit_however_soon_it_crashed(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path, record("a", "crashed", "signal 11", wall_s=0.5), record("b", solver="scip")
    )
    found = rows(contest)
    assert found["highs"]["time_s"] == pytest.approx(10.0)
    assert found["highs"]["failed"] == 1
    assert found["scip"]["time_s"] == pytest.approx(1.0)


def test_a_claim_that_is_not_verified_is_not_solved(tmp_path: Path) -> None:
    (contest,) = held(tmp_path, record("a", status="unverified", verified=False, objective=0.9))
    (row,) = contest.summary.to_dict("records")
    assert (row["solved"], row["wrong"]) == (0, 1)
    assert math.isnan(row["primal_integral_s"])
    assert contest.matrix("gap").to_numpy().tolist() == [[math.inf]]


def test_an_optimum_that_another_exceeds_is_not_solved(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path,
        record("a", objective=0.5, bound=0.5, solve_s=1.0),
        record("b", solver="scip", objective=0.5 + 4e-7, bound=0.5 + 4e-7),
        record("c", solver="cbc", objective=0.4, bound=0.4, solve_s=1.0),
    )
    found = rows(contest)
    assert (found["cbc"]["solved"], found["cbc"]["wrong"]) == (0, 1)
    assert found["cbc"]["time_s"] == pytest.approx(10.0)
    assert (found["highs"]["solved"], found["highs"]["wrong"]) == (1, 0)


@pytest.mark.parametrize("status", ["infeasible", "unbounded"])
def test_a_proof_without_a_solution_is_solved(tmp_path: Path, status: str) -> None:
    proof = {"status": status, "verified": False, "objective": None, "bound": None}
    (contest,) = held(
        tmp_path,
        record("a", solve_s=3.0, lp_bound=None, **proof),
        record("b", solver="scip", solve_s=1.0, lp_bound=None, **proof),
        record("c", solver="cbc", **{**proof, "status": "no_incumbent"}, lp_bound=None),
    )
    found = rows(contest)
    assert [(row["solved"], row["wrong"]) for row in found.values()] == [(1, 0), (1, 0), (0, 0)]
    assert found["highs"]["time_s"] == pytest.approx(3.0)
    assert found["scip"]["time_s"] == pytest.approx(1.0)
    assert found["cbc"]["time_s"] == pytest.approx(10.0)
    # Profiles and curves: times, and no gap.
    assert contest.matrix("seconds")["linear + nearest + bigm · highs · direct"].tolist() == [3.0]
    assert contest.matrix("gap").to_numpy().tolist() == [[math.inf, 0.0, 0.0]]


def test_a_proof_that_a_verified_solution_contradicts_is_wrong(tmp_path: Path) -> None:
    none = {"verified": False, "objective": None, "bound": None, "lp_bound": None}
    (contest,) = held(
        tmp_path,
        record("a", status="feasible", bound=0.8),
        record("b", solver="scip", status="infeasible", **none),
    )
    found = rows(contest)
    assert (found["scip"]["solved"], found["scip"]["wrong"]) == (0, 1)
    assert found["scip"]["time_s"] == pytest.approx(10.0)
    assert (found["highs"]["solved"], found["highs"]["wrong"]) == (0, 0)
    assert contest.matrix("gap")["linear + nearest + bigm · scip · direct"].tolist() == [math.inf]


def test_without_bound_and_bounded_neither_counts(tmp_path: Path) -> None:
    none = {"verified": False, "objective": None, "bound": None, "lp_bound": None}
    (contest,) = held(tmp_path, record("a"), record("b", solver="scip", status="unbounded", **none))
    assert contest.summary[["solved", "wrong"]].to_numpy().tolist() == [[0, 1], [0, 1]]


def test_repetitions_are_one_instance_and_their_median_counts(tmp_path: Path) -> None:
    times = {"a": 1.0, "b": 5.0, "c": 2.0}
    (contest,) = held(
        tmp_path,
        *(record(key, repetition=n, solve_s=s) for n, (key, s) in enumerate(times.items())),
        # Half of these are solved, which is not more than half.
        record("d", solver="scip", repetition=0, solve_s=1.0),
        record("e", solver="scip", repetition=1, status="feasible", solve_s=10.0),
    )
    found = rows(contest)
    assert (found["highs"]["instances"], found["highs"]["solved"]) == (1, 1)
    assert found["highs"]["time_s"] == pytest.approx(2.0)
    assert found["scip"]["solved"] == 0
    assert found["scip"]["time_s"] == pytest.approx(10.0)


def test_primal_integrals_are_to_the_best_of_the_instance(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path,
        record("a", trajectory=[(0.5, None, 1.0), (2.0, 0.25, 0.9), (4.0, 0.5, 0.5)]),
        record("b", solver="cbc", status="feasible", solve_s=10.0, objective=0.4),
    )
    found = rows(contest)
    assert found["highs"]["primal_integral_s"] == pytest.approx(2.0 + 0.5 * 2.0)
    assert found["highs"]["incumbents_told"]
    # One moment, at the end: an upper bound.
    assert found["cbc"]["primal_integral_s"] == pytest.approx(10.0)
    assert not found["cbc"]["incumbents_told"]


def test_means_are_over_the_instances_that_all_were_given(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path,
        record("a", seed=0, solve_s=3.0),
        record("b", seed=1, solve_s=100.0),
        record("c", seed=0, solver="scip", solve_s=1.0),
    )
    found = rows(contest)
    assert contest.instances == 1
    assert (found["highs"]["instances"], found["highs"]["compared"]) == (2, 1)
    assert found["highs"]["time_s"] == pytest.approx(3.0)


def test_only_what_is_alike_is_compared(tmp_path: Path) -> None:
    parts = held(
        tmp_path,
        record("a"),
        record("b", composition="linear + quadratic + nearest + bigm"),
        record("c", time_limit=20.0),
    )
    found = [(part.family, part.setting.split(",")[0]) for part in parts]
    assert sorted(found) == [
        ("linear + bigm + nearest", "time limit 10 s"),
        ("linear + bigm + nearest", "time limit 20 s"),
        ("linear + quadratic + bigm + nearest", "time limit 10 s"),
    ]


def test_who_is_refused_everywhere_takes_no_part(tmp_path: Path) -> None:
    bilinear = "linear + nearest + bilinear"
    (contest,) = held(
        tmp_path,
        record("a"),
        record("b", "refused", "highs takes no products", composition=bilinear),
        record("c", "refused", "too large", solver="gurobi", seed=0),
        record("d", solver="gurobi", seed=1),
        record("e", seed=1),
    )
    assert sorted(contest.labels.values()) == ["gurobi", "highs"]
    assert rows(contest)["gurobi"]["refused"] == 1


def test_a_heuristic_does_not_empty_the_commonly_solved(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path,
        record("a", nodes=4),
        record("b", solver=None, strategy="alternating", status="feasible", nodes=None),
        record("c", solver="cbc", nodes=None),
    )
    assert len(commonly_solved(contest)) == 1
    found = rows(contest)
    assert found["highs · direct"]["nodes"] == pytest.approx(4.0)
    assert math.isnan(found["alternating"]["nodes"])
    assert math.isnan(found["cbc · direct"]["nodes"])


def test_contended_cases_are_counted_where_times_are_shown(tmp_path: Path) -> None:
    (contest,) = held(tmp_path, record("a", contended=True), record("b", seed=1))
    assert contest.summary["contended"].tolist() == [1]


def test_solved_counts_by_size(tmp_path: Path) -> None:
    (contest,) = held(
        tmp_path,
        record("a", N=15),
        record("b", N=15, seed=1, status="feasible"),
        record("c", N=100),
        record("d", N=None, dataset="wine"),
    )
    assert contest.by_size.to_dict("records") == [
        {"contestant": "highs", "iris 15": "1/2", "iris 100": "1/1", "wine": "1/1"}
    ]


def test_scaling_stops_at_the_first_unsolved_size(tmp_path: Path) -> None:
    solved = [record(f"{N}", N=N, solve_s=1e-4 * N**2) for N in (10, 20, 40, 160)]
    (contest,) = held(tmp_path, *solved, record("x", N=80, status="feasible"))
    (row,) = contest.scaling.to_dict("records")
    assert row["exponent"] == pytest.approx(2.0)
    assert row["factor"] == pytest.approx(1e-4)
    assert (row["N_from"], row["N_to"], row["points"]) == (10, 40, 3)


def test_gaps() -> None:
    assert gap_of(0.5, 0.6) == pytest.approx(0.2)
    assert gap_of(0.5, 0.5 + 1e-7) == 0.0
    assert gap_of(0.0, 0.3) == gap_of(math.nan, 0.3) == gap_of(0.5, math.nan) == math.inf
