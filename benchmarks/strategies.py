"""Proof times of strategies, beside whole models in every installed solver.

    python benchmarks/strategies.py OUT [--repeat 3] [--time-limit 600] [--direct 60] [--quick]

Terms linear + quadratic, d_min 0.01, min-max scaled Iris. Writes OUT.csv, with every run, OUT.json,
with the machine, OUT.svg, time against the number of points, and prints the medians. ``--quick``
leaves out what takes more than a minute.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter

import matplotlib
import pandas as pd
from memory import peak_mib

from mlmio import Result, SolverError, load_dataset, solve
from mlmio.bench.machine import describe
from mlmio.registry import solvers

BASE = "linear + quadratic + bounded(dmin=0.01) + nearest"
PROOFS = [5, 8, 12, 16, 20, 30, 40]
LONG_PROOFS = [50]
OUTLIERS = {
    "excuse, rho 0.1": "outliers(rho=0.1, semantics='excuse')",
    "printed, rho 0.1": "outliers(rho=0.1, semantics='printed')",
    "remove, rho 0.1": "outliers(rho=0.1)",
}
SOFT = "linear + quadratic + bounded(dmin=0.01) + nearest(k=5) + hinge(margin=0.01)"


def main() -> None:
    """Run all cases and write what came of them."""
    arguments = _arguments()
    solve(f"{BASE} + outliers", load_dataset("iris", per_class=3), strategy="auto")
    rows: list[dict[str, object]] = []
    for label, formulation, per_class, strategy, solver, limit in _cases(arguments):
        data = load_dataset("iris", per_class=per_class, seed=0)
        for _ in range(arguments.repeat if limit <= 120 else 1):
            start = perf_counter()
            try:
                result = solve(
                    formulation,
                    data,
                    solver,
                    strategy,
                    time_limit=limit,
                    threads=1 if solver else 2,
                )
            except SolverError as error:
                print(f"{label:18} N = {data.N:3} {solver}: {error}", flush=True)
                break
            rows.append(_row(label, data.N, strategy, solver, result, perf_counter() - start))
            print("  ".join(f"{value}" for value in rows[-1].values()), flush=True)
            if result.reason == "time_limit":
                # Once more would end at the limit as well.
                break
    _write(pd.DataFrame(rows), arguments.out)


def _cases(arguments: argparse.Namespace) -> list[tuple[str, str, int, str, str | None, float]]:
    limit = arguments.time_limit
    sizes = PROOFS if arguments.quick else PROOFS + LONG_PROOFS
    cases: list[tuple[str, str, int, str, str | None, float]] = [
        ("no loss", BASE, n, "disjunctive", None, 120.0 if n < 50 else limit) for n in sizes
    ]
    for label, loss in OUTLIERS.items():
        cases += [(label, f"{BASE} + {loss}", n, "disjunctive", None, 60.0) for n in (12, 20, 30)]
    excuse = "outliers(rho=0.02, semantics='excuse')"
    cases.append(("excuse, rho 0.02", f"{BASE} + {excuse}", 20, "disjunctive", None, 60.0))
    cases += [("hinge, k = 5", SOFT, n, "alternating", None, 60.0) for n in (20, 50)]
    installed = [name for name, cls in solvers.available().items() if cls().version()]
    cases += [("no loss", BASE, 12, "direct", name, arguments.direct) for name in installed]
    return cases


def _row(
    label: str, N: int, strategy: str, solver: str | None, result: Result, seconds: float
) -> dict[str, object]:
    return {
        "case": label,
        "N": N,
        "method": f"{strategy} {solver or ''}".strip(),
        "status": result.status,
        "objective": result.objective,
        "bound": result.bound,
        "nodes": result.nodes,
        "seconds": round(seconds, 3),
        "verified": result.verified,
        "peak_mib": round(peak_mib()),
    }


def _write(frame: pd.DataFrame, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    frame.to_csv(out.with_suffix(".csv"), index=False)
    out.with_suffix(".json").write_text(json.dumps({"machine": describe()}, indent=1) + "\n")
    keys = ["case", "method", "N"]
    medians = frame.groupby(keys, sort=False).agg(
        status=("status", "last"),
        objective=("objective", "last"),
        bound=("bound", "last"),
        nodes=("nodes", "last"),
        seconds=("seconds", "median"),
    )
    print(medians.to_string())
    _draw(medians.reset_index(), out.with_suffix(".svg"))


def _draw(medians: pd.DataFrame, file: Path) -> None:
    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
    proven = medians[medians.status == "optimal"]
    for marker, ((case, method), part) in zip(
        "osD^vPX<>*", proven.groupby(["case", "method"]), strict=False
    ):
        ax.plot(part.N, part.seconds, marker=marker, label=f"{case}, {method}")
    open_ended = medians[(medians.status != "optimal") & (medians.method != "alternating")]
    for case, part in open_ended.groupby("case"):
        # They end at one limit: one mark for all.
        label = f"{case}, not proven: {', '.join(part.method.unique())}"
        ax.plot(part.N, part.seconds, "o", color="grey", markerfacecolor="none", label=label)
    ax.set(xscale="log", yscale="log", xlabel="points", ylabel="seconds to proof")
    ticks = sorted(proven.N.unique())
    ax.set_xticks(ticks, [str(n) for n in ticks])
    ax.minorticks_off()
    ax.grid(alpha=0.3)
    figure.legend(fontsize=8, loc="outside lower center", ncols=2)
    figure.savefig(file)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=600.0)
    parser.add_argument("--direct", type=float, default=60.0)
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
