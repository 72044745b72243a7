"""The baseline of the micro-benchmarks: of all of them, and short."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import baseline
import pytest

STATS = dict.fromkeys(baseline.STATS, 0.123456789)
MACHINE = {
    **{name: name for name in ("machine", "python_implementation", "python_version", "system")},
    "node": "host-of-somebody",
    "cpu": {"brand_raw": "processor", "flags": ["a", "b"]},
}
FILES = sorted(file.name for file in Path(baseline.__file__).parent.glob("test_*.py"))


def benchmark(file: str) -> dict[str, Any]:
    known = dict.fromkeys(baseline.BENCHMARK)
    return {**known, "fullname": f"benchmarks/{file}::test", "stats": {**STATS, "data": [1.0]}}


def run_of(folder: Path, files: list[str]) -> Path:
    content = {
        "machine_info": MACHINE,
        "commit_info": {"author": "somebody"},
        "datetime": "2026-01-02",
        "version": "5",
        "benchmarks": [benchmark(file) for file in files],
    }
    source = folder / "run.json"
    source.write_text(json.dumps(content), encoding="utf-8")
    return source


def test_a_baseline_has_every_benchmark_and_not_whose_machine_it_was(tmp_path: Path) -> None:
    out = tmp_path / "new" / "out.json"
    baseline.main(run_of(tmp_path, FILES), out)
    text = out.read_text(encoding="utf-8")
    assert "somebody" not in text
    made = json.loads(text)
    assert made["machine_info"]["cpu"] == {"brand_raw": "processor"}
    assert [one["fullname"] for one in made["benchmarks"]] == [
        f"benchmarks/{f}::test" for f in FILES
    ]
    assert made["benchmarks"][0]["stats"]["min"] == 0.1235
    assert "data" not in made["benchmarks"][0]["stats"]


@pytest.mark.parametrize("file", FILES)
def test_a_run_that_lacks_a_file_is_no_baseline(tmp_path: Path, file: str) -> None:
    source = run_of(tmp_path, [other for other in FILES if other != file])
    with pytest.raises(SystemExit, match=f"has nothing of {file}: run pytest on the whole folder"):
        baseline.main(source, tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()
