"""Turn the JSON of pytest-benchmark into a table that can be committed.

    python benchmarks/summarise.py IN.json OUT

Writes OUT.csv, one row a benchmark in seconds, and OUT.json, with the machine.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd

from mlmio.bench.machine import describe


def main(source: Path, out: Path) -> None:
    """Write the table and the machine."""
    benchmarks = json.loads(source.read_text(encoding="utf-8"))["benchmarks"]
    rows = [
        {
            "group": benchmark["group"],
            "name": benchmark["name"],
            "rounds": benchmark["stats"]["rounds"],
            **{key: round(benchmark["stats"][key], 4) for key in ("min", "median", "max")},
        }
        for benchmark in benchmarks
    ]
    pd.DataFrame(rows).to_csv(out.with_suffix(".csv"), index=False)
    out.with_suffix(".json").write_text(json.dumps({"machine": describe()}, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
