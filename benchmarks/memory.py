"""Peak memory of building each kind of model, one process each.

    python benchmarks/memory.py [N] [D]

The limit is 2 GiB at N = 300, D = 8.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from time import perf_counter

COMPOSITIONS = (
    "linear + quadratic + nearest + bigm",
    "linear + quadratic + nearest + bigm + bounded(distances='substituted')",
    "linear + quadratic + nearest + mccormick + outliers",
    "linear + quadratic + nearest + bilinear + outliers",
    "linear + quadratic + cubic + nearest + bigm + outliers",
    "quadratic + nearest(k=5) + bigm + hinge",
    "quadratic + knn(K=3) + outliers",
    "quadratic + lmnn(k=3) + unbounded + gershgorin",
    "quadratic + nearest + gershgorin + lasso + cardinality(U=5)",
)


def main(N: int, D: int) -> None:
    """Print one line for each composition."""
    print(f"{'peak MiB':>9} {'build s':>8} {'rows':>8} {'columns':>8}  composition (N={N}, D={D})")
    for spec in COMPOSITIONS:
        subprocess.run([sys.executable, __file__, spec, str(N), str(D)], check=True)


def build(spec: str, N: int, D: int) -> None:
    """Build one model in this process and print what it took."""
    from pyomo.core import Constraint, Var
    from synthetic import gaussian_classes

    from mlmio import compose

    data = gaussian_classes(N, D)
    start = perf_counter()
    model = compose(spec).build(data)
    seconds = perf_counter() - start
    peak = peak_mib()
    rows, columns = (
        sum(1 for _ in model.component_data_objects(kind, active=True))
        for kind in (Constraint, Var)
    )
    print(f"{peak:9.0f} {seconds:8.1f} {rows:8} {columns:8}  {spec}", flush=True)


def peak_mib() -> float:
    """Most memory that this process has had, or had its parent when it was started."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    if len(sys.argv) == 4:
        build(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    else:
        main(*(int(value) for value in sys.argv[1:] or (300, 8)))
