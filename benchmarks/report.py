"""Time and peak memory of reporting a run of many cases.

    python benchmarks/report.py [CASES]

The limits are 60 s and 2 GiB for 10,000 cases, in a process of its own, imports included.
"""

from __future__ import annotations

import random
import resource
import subprocess
import sys
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from mlmio.bench.records import FOLDER, Record

COMPOSITIONS = (
    "linear + nearest + bigm",
    "linear + nearest + mccormick",
    "linear + quadratic + nearest + bigm",
    "linear + quadratic + nearest + mccormick",
    "linear + quadratic + nearest + bigm + outliers(rho=0.1)",
)
SOLVERS = ("highs", "scip", "gurobi", "cbc")
SIZES = (15, 24, 36, 48, 60)
LIMIT = 60.0
MOMENTS = 200
REPORT = "import sys; from mlmio.bench.report import write_report; write_report(sys.argv[1])"


def main(cases: int) -> None:
    """Write records, report them in a process of its own, and print what it took."""
    with TemporaryDirectory() as folder:
        run = Path(folder)
        (run / FOLDER).mkdir()
        write_records(run, cases)
        start = perf_counter()
        subprocess.run([sys.executable, "-c", REPORT, folder], check=True)
        seconds = perf_counter() - start
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        page = (run / "report" / "index.html").stat().st_size / 2**20
    work = used.ru_utime + used.ru_stime
    print(
        f"{cases} cases: {seconds:.1f} s ({work:.1f} s of processor time), "
        f"{used.ru_maxrss / 1024:.0f} MiB at the peak, a page of {page:.1f} MiB"
    )


def write_records(run: Path, cases: int) -> None:
    """Write so many records: as many instances as it takes, every contestant on each."""
    rng = random.Random(0)
    contestants = list(product(COMPOSITIONS, SOLVERS))
    for n in range(cases):
        instance, contestant = divmod(n, len(contestants))
        record(f"{n:06d}", instance, *contestants[contestant], rng).write(run)


def record(key: str, instance: int, composition: str, solver: str, rng: random.Random) -> Record:
    """Return one case: solved within the limit or not, one in a hundred crashed."""
    N, seed = SIZES[instance % len(SIZES)], instance // len(SIZES)
    case: dict[str, Any] = {
        **{"dataset": "iris", "sampling": f"per_class={N // 3}, seed={seed}, scale=minmax"},
        **{"N": N, "D": 4, "classes": 3, "composition": composition, "solver": solver},
        **{"strategy": "direct", "time_limit": LIMIT, "threads": 1, "seed": 0, "repetition": 0},
        **{"rel_gap": 1e-6, "memory_mib": 4096, "grace": 60.0},
    }
    if rng.random() < 0.01:
        return Record(key, case, "crashed", "the process ended with signal 11", wall_s=1.0)
    solve_s = min(LIMIT, 0.002 * N**2 * rng.lognormvariate(0.0, 1.0))
    solved = solve_s < LIMIT
    best = 0.1 * (1 + COMPOSITIONS.index(composition) // 2)
    objective, bound = (best, best) if solved else (0.9 * best, 1.5 * best)
    steps = [(i + 1) / MOMENTS for i in range(MOMENTS)]
    result = {
        **{"status": "optimal" if solved else "feasible", "message": "", "verified": True},
        **{"resolved": f"{composition} + bounded(dmin={0.01 + 1e-5 * instance:.6g})"},
        **{"objective": objective, "bound": bound, "lp_bound": 2 * best, "root_bound": None},
        **{"nodes": int(100 * solve_s), "build_s": 0.1, "lp_s": 0.05, "solve_s": solve_s},
        **{"rows": N**2, "columns": N**2, "binaries": 4 * N, "nonzeros": 9 * N**2, "outliers": 0},
    }
    trajectory: list[Any] = [(s * solve_s, s * objective, (2 - s) * bound) for s in steps]
    own: dict[str, Any] = {"metric": {"a": [0.1] * 4}, "peak_mib": 300.0, "wall_s": solve_s + 2}
    started = "2026-01-01T00:00:00"
    return Record(key, case, "done", result=result, trajectory=trajectory, started=started, **own)


if __name__ == "__main__":
    main(*(int(value) for value in sys.argv[1:] or (10_000,)))
