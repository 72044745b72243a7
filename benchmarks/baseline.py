"""Strip the JSON of pytest-benchmark to what a later run is compared with.

    python -m pytest benchmarks --benchmark-enable --benchmark-json=RUN.json
    python benchmarks/baseline.py RUN.json OUT.json

pytest-benchmark reads what is left as it reads its own files; every single time, what git says and
most of the description of the machine are left out.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

BENCHMARK = ("group", "name", "fullname", "params", "param", "extra_info", "stats")
STATS = ("min", "max", "mean", "stddev", "median", "iqr", "q1", "q3", "rounds", "iterations")
STATS += ("ops", "total", "ld15iqr", "hd15iqr", "outliers", "stddev_outliers", "iqr_outliers")
CPU = ("brand_raw", "count", "hz_actual_friendly")


def main(source: Path, out: Path) -> None:
    """Read a run of all benchmarks and write the baseline, one line a benchmark."""
    run = json.loads(source.read_text(encoding="utf-8"))
    lacking = _files() - {
        Path(one["fullname"].partition("::")[0]).name for one in run["benchmarks"]
    }
    if lacking:
        raise SystemExit(
            f"{source} has nothing of {', '.join(sorted(lacking))}: run pytest on the whole folder "
            f"of benchmarks, with every solver installed"
        )
    machine = run["machine_info"]
    keys = ("machine", "python_implementation", "python_version", "system")
    head = {
        "machine_info": {
            **{key: machine[key] for key in keys},
            "cpu": {key: machine["cpu"][key] for key in CPU if key in machine["cpu"]},
        },
        "commit_info": {},
        "datetime": run["datetime"],
        "version": run["version"],
    }
    lines = [json.dumps(_stripped(benchmark)) for benchmark in run["benchmarks"]]
    text = json.dumps(head, indent=1).removesuffix("\n}")
    benchmarks = ",\n  ".join(sorted(lines))
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(f'{text},\n "benchmarks": [\n  {benchmarks}\n ]\n}}\n', encoding="utf-8")


def _files() -> set[str]:
    """Names of the files that have benchmarks in them."""
    return {file.name for file in Path(__file__).parent.glob("test_*.py")}


def _stripped(benchmark: dict[str, Any]) -> dict[str, Any]:
    kept = {key: benchmark[key] for key in BENCHMARK}
    kept["stats"] = {key: _short(benchmark["stats"][key]) for key in STATS}
    return kept


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
