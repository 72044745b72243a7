"""Strategies on cod_rna, whose classes overlap: 300 points, as the paper has, up to all 59,535.

    python benchmarks/cod_rna.py OUT --data-dir DIR [--repeat 3] [--limit 600] [--only WORDS]

Terms linear + quadratic, 44 parameters. Alternation from eight starts and from one; what HiGHS has
after ten minutes with the whole model; and how far the exact search comes in ten minutes where
points may be given up. Runs of more than a minute are made once.

Writes OUT.csv, with every run, and OUT.json, with the machine. The peak of memory is that of the
process so far, so that the small cases come first.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import pandas as pd
from memory import peak_mib

from mlmio import DataError, Dataset, Result, load_dataset, solve
from mlmio.bench.machine import describe

BASE = "linear + quadratic + bounded(duplicates='drop')"
MARGIN = f"{BASE} + nearest"
SOFT = f"{BASE} + nearest(k=5) + hinge(margin=0.01)"
EXCUSE = f"{MARGIN} + outliers(rho=0.01, semantics='excuse')"


@dataclass(frozen=True)
class Case:
    """One formulation, strategy and number of points; without a number all."""

    label: str
    formulation: str
    N: int | None = 300
    strategy: str = "alternating"
    starts: int | None = None
    solver: str | None = None
    time_limit: float | None = None
    repeated: bool = True

    def run(self, data: Dataset) -> Result:
        """Solve it on `data`."""
        return solve(
            self.formulation,
            data,
            self.solver,
            self.strategy,
            options={"starts": self.starts} if self.starts else {},
            time_limit=self.time_limit,
            threads=1 if self.solver else 2,
        )


CASES = [
    Case("nearest", MARGIN, starts=8),
    Case("hinge, k = 5", SOFT, starts=1),
    Case("hinge, k = 5", SOFT, starts=8),
    Case("excuse, rho 0.01", EXCUSE, starts=8),
    Case("excuse, rho 0.01", EXCUSE, strategy="disjunctive", time_limit=600, repeated=False),
    Case("hinge, k = 5", SOFT, N=5000, starts=1),
    Case("hinge, k = 5", SOFT, N=None, starts=1, repeated=False),
    Case("nearest", MARGIN, strategy="direct", solver="highs", time_limit=600, repeated=False),
]


def main() -> None:
    """Run all cases and write what came of them."""
    arguments = _arguments()
    # Loads what is compiled.
    for strategy in ("disjunctive", "alternating"):
        solve(EXCUSE, load_dataset("iris", per_class=3), strategy=strategy)
    rows: list[dict[str, Any]] = []
    for case in CASES:
        if arguments.only and arguments.only not in f"{case.label} {case.strategy} {case.N}":
            continue
        if case.time_limit is not None:
            case = replace(case, time_limit=min(case.time_limit, arguments.limit))
        data = _data(case.N, arguments.data_dir)
        for _ in range(arguments.repeat if case.repeated else 1):
            start = perf_counter()
            result = case.run(data)
            rows.append(_row(case, data.N, result, perf_counter() - start))
            print("  ".join(f"{value}" for value in rows[-1].values()), flush=True)
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(rows).to_csv(arguments.out.with_suffix(".csv"), index=False)
    machine = json.dumps({"machine": describe()}, indent=1)
    arguments.out.with_suffix(".json").write_text(f"{machine}\n", encoding="utf-8")


def _data(N: int | None, data_dir: Path | None) -> Dataset:
    try:
        return load_dataset("cod_rna", n=N, seed=0, data_dir=data_dir)
    except DataError as error:
        raise SystemExit(str(error)) from None


def _row(case: Case, N: int, result: Result, seconds: float) -> dict[str, Any]:
    return {
        "case": case.label,
        "N": N,
        "method": f"{case.strategy} {case.solver or ''}".strip(),
        "starts": case.starts,
        "time_limit": case.time_limit,
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "nodes": result.nodes,
        "seconds": round(seconds, 3),
        "verified": result.verified,
        "peak_mib": round(peak_mib()),
    }


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--limit", type=float, default=600.0)
    parser.add_argument("--only", help="leave out the cases whose name has not these words")
    return parser.parse_args()


if __name__ == "__main__":
    main()
