"""Solve times over encodings and solvers, on the instances with known optima.

    python benchmarks/solve_times.py OUT [--per-class 5 8] [--time-limit 60]

Terms linear + quadratic, d_min 0.01, min-max scaled Iris, empty loss, one thread. Writes OUT.csv,
with every number, and OUT.json, with the machine, and prints the tables.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pandas as pd

from mlmio import compare, load_dataset, variants
from mlmio.bench.machine import describe
from mlmio.comparison import Run
from mlmio.registry import solvers

BASE = "linear + quadratic + bounded(dmin=0.01) + nearest"
ENCODINGS = ["bigm", "mccormick", "bilinear"]


def main() -> None:
    """Run every encoding with every installed solver that takes it."""
    arguments = _arguments()
    frames = []
    for per_class in arguments.per_class:
        data = load_dataset("iris", per_class=per_class, seed=0)
        installed = [name for name, cls in solvers.available().items() if cls().version()]
        comparison = compare(
            variants(BASE, encoding=ENCODINGS),
            data,
            installed,
            time_limit=arguments.time_limit,
            progress=_tell,
        )
        print(comparison, "\n")
        frames.append(comparison.to_frame().assign(N=data.N))
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    pd.concat(frames).to_csv(arguments.out.with_suffix(".csv"), index=False)
    record = {"machine": describe(), "time_limit": arguments.time_limit, "base": BASE}
    arguments.out.with_suffix(".json").write_text(json.dumps(record, indent=1) + "\n")


def _tell(position: int, total: int, run: Run) -> None:
    print(f"{position}/{total} {run.name} {run.status}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--per-class", type=int, nargs="+", default=[5, 8])
    parser.add_argument("--time-limit", type=float, default=60.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
