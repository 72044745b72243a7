"""Strength of relaxations: shares of the root gap, what they are measured to, the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mlmio
from mlmio import Strength, strength
from mlmio.cli import app
from mlmio.comparison import Run
from mlmio.pictures import plot_strength

BIGM = "linear + quadratic + nearest + bigm"
MCCORMICK = "linear + quadratic + nearest + mccormick"
GIVING_UP = "linear + nearest + outliers(rho=0.1) + bigm"


@pytest.fixture(scope="module")
def data() -> mlmio.Dataset:
    return mlmio.load_dataset("iris", per_class=4)


@pytest.fixture(scope="module")
def found(data: mlmio.Dataset) -> Strength:
    return strength([BIGM, GIVING_UP, MCCORMICK], data)


def test_shares_are_of_the_gap_between_the_weakest_bound_and_the_optimum(
    found: Strength, data: mlmio.Dataset
) -> None:
    bigm, mccormick, giving_up = found.relaxations
    optimum = mlmio.solve(BIGM, data, strategy="disjunctive").objective
    assert optimum is not None
    assert bigm.proven
    assert bigm.optimum == pytest.approx(optimum, abs=1e-6)
    weakest = max(bigm.run.result.lp_bound, mccormick.run.result.lp_bound)
    for each in (bigm, mccormick):
        share = 100 * (weakest - each.run.result.lp_bound) / (weakest - optimum)
        assert each.lp_closed == pytest.approx(share, abs=1e-3)
        assert each.lp_closed - 1e-6 <= each.root_closed <= 100 + 1e-3
    # With outliers the optimum is another, and there is but one formulation of it.
    assert giving_up.core != bigm.core
    assert giving_up.lp_closed == 0.0


def test_every_proof_starts_from_the_optimum(found: Strength) -> None:
    assert {each.run.result.start for each in found.relaxations} == {"accepted"}
    assert {each.run.result.strategy for each in found.relaxations} == {"direct"}


def test_an_optimum_that_is_not_proven_is_said_to_be_a_lower_bound(data: mlmio.Dataset) -> None:
    found = strength(BIGM, mlmio.load_dataset("iris", per_class=30), time_limit=0.5)
    (each,) = found.relaxations
    assert not each.proven
    assert "not proven" in str(found) or each.optimum is None


def test_what_is_refused_has_a_row_that_says_why(data: mlmio.Dataset) -> None:
    found = strength(["linear + nearest + bilinear", "linear + nearest + bigm"], data)
    refused = next(each for each in found.relaxations if each.run.status == "refused")
    assert refused.lp_closed is None
    assert "bilinear" in str(found)


def test_ctrl_c_keeps_what_was_found(data: mlmio.Dataset) -> None:
    def stop(position: int, total: int, run: Run) -> None:
        if (
            run.status == "running"
            and run.solver == "highs"
            and "mccormick" in str(run.composition)
        ):
            raise KeyboardInterrupt

    found = strength([BIGM, MCCORMICK, GIVING_UP], data, progress=stop)
    assert [each.run.status for each in found.relaxations] == ["optimal", "not run", "not run"]
    assert found.comparison.interrupted


def test_frame_and_csv_have_every_number(found: Strength, tmp_path: Path) -> None:
    frame = found.to_frame()
    assert {"lp_bound", "root_bound", "lp_closed", "root_closed", "optimum", "proven"} <= set(frame)
    assert frame["lp_closed"].tolist() == [each.lp_closed for each in found.relaxations]
    found.to_csv(tmp_path / "strength.csv")
    assert (tmp_path / "strength.csv").read_text().count("\n") == 1 + len(found.relaxations)


def test_the_picture_has_a_point_for_every_relaxation(found: Strength) -> None:
    pytest.importorskip("matplotlib")
    ax = plot_strength(found)
    points = [line.get_xydata()[0] for line in ax.get_lines()]
    for (time, closed), each in zip(points, found.relaxations, strict=True):
        result = each.run.result
        assert np.allclose([time, closed], [result.build_s + result.lp_s, each.lp_closed])


def test_the_command_writes_table_file_and_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    out, picture = tmp_path / "out.csv", tmp_path / "out.png"
    call = ["strength", "iris", "--per-class", "3", "-f", BIGM, "-f", MCCORMICK]
    ended = CliRunner().invoke(app, [*call, "--csv", str(out), "--plot", str(picture)])
    assert ended.exit_code == 0, ended.output
    assert "closed" in ended.stdout
    assert "optimum" in ended.stdout
    assert out.exists()
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--plot", "strength.txt"], "give a name that ends in .png or .pdf or .svg"),
        (["-f", "linear + nowhere"], "nowhere"),
        (["-s", "nothing"], "nothing"),
        (["--time-limit", "-1"], "time_limit"),
    ],
)
def test_a_wrong_call_is_refused_before_anything_is_solved(more: list[str], message: str) -> None:
    pytest.importorskip("matplotlib")
    ended = CliRunner().invoke(app, ["strength", "iris", *more])
    assert ended.exit_code == 2
    assert message in ended.stderr
