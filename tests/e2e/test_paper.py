"""The command of the paper's experiments, as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).parents[2]

#: Runs the command with another experiment in the place of `lines`.
STAND_IN = """
import sys, types
from dataclasses import dataclass
from benchmarks.paper.__main__ import main
from mlmio import MlmioError

@dataclass(frozen=True)
class Parameters:
    points: int = 5

stand_in = types.ModuleType("benchmarks.paper.lines", "A stand-in.")
stand_in.Parameters, stand_in.FAST = Parameters, Parameters(2)
def run(record, parameters):
    {body}
stand_in.run = run
sys.modules["benchmarks.paper.lines"] = stand_in
sys.exit(main(["lines", "--out", {out!r}, *{more!r}]))
"""


def python(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, timeout=300
    )


def stand_in(body: str, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return python("-c", STAND_IN.format(body=body, out=str(out), more=list(more)))


def test_a_name_that_is_unknown_is_refused() -> None:
    refused = python("-m", "benchmarks.paper", "line", "--out", "x")
    assert refused.returncode == 2
    assert "boundary-points" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_claim_that_holds(tmp_path: Path) -> None:
    ran = stand_in("record.claim('all is well', parameters.points, True)", tmp_path, "--fast")
    assert ran.returncode == 0, ran.stderr
    claims = pd.read_csv(tmp_path / "lines" / "claims.csv")
    assert claims.to_dict("records") == [{"claim": "all is well", "measured": 2, "holds": True}]
    facts = json.loads((tmp_path / "lines" / "facts.json").read_text())
    assert facts["parameters"] == {"points": 2}
    assert facts["fast"] is True
    assert facts["machine"]["cores"] > 0


def test_a_claim_that_fails_is_told(tmp_path: Path) -> None:
    body = "record.claim('good', 1, True); record.claim('small enough', '7 %', 7 < 6)"
    ran = stand_in(body, tmp_path)
    assert ran.returncode == 1
    assert "FAILS: small enough: 7 %" in ran.stdout
    assert "not shown: lines" in ran.stderr


def test_data_that_are_missing_are_told_without_a_traceback(tmp_path: Path) -> None:
    ran = stand_in("raise MlmioError('there is no data set here')", tmp_path)
    assert ran.returncode == 1
    assert "lines: there is no data set here" in ran.stderr
    assert "Traceback" not in ran.stderr


def test_one_experiment_in_small(tmp_path: Path) -> None:
    """Figures, numbers, certificates and claims are all there."""
    ran = python("-m", "benchmarks.paper", "trap", "--fast", "--out", str(tmp_path))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    written = {path.suffix for path in (tmp_path / "trap").iterdir()}
    assert written == {".png", ".pdf", ".csv", ".json"}
    assert pd.read_csv(tmp_path / "trap" / "claims.csv")["holds"].all()
    solves = [
        solve
        for path in (tmp_path / "trap").glob("*.json")
        if "certificate" in (solve := json.loads(path.read_text()))
    ]
    assert any(solve["certificate"] for solve in solves)
    for solve in solves:
        if solve["status"] == "infeasible":
            assert solve["certificate"] is None
        else:
            assert solve["certificate"]["valid"]
            assert solve["metric"]["format"] == "mlmio.metric"
