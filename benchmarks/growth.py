"""How time and memory of strategies grow with points, features and classes.

    python benchmarks/growth.py OUT [--time-limit 60] [--seeds 1] [--quick]

Gaussian classes drawn by scikit-learn, terms linear + quadratic; one of N, D and C is varied at a
time. ``disjunctive``, ``rows`` and ``direct`` (both with HiGHS) prove an optimum without a loss,
d_min 0.01. ``alternating`` has nearest(k=3) + hinge(margin=0.01), classes that overlap more, and
one start, as it has by itself above 3,000 points; eight, its usual number, take several times as
long.

Every case runs on one thread in a process of its own, after a tiny one that loads what is compiled
and whose peak is `start_mib`. A series of N ends with the first size at which the limit ends a run.

Writes OUT.csv, with every run, OUT.json, with the machine, and OUT.svg, medians over the seeds, and
prints them. The figure shows by how much a case exceeds the peak of the tiny one, which is that of
the imports, and at least 1 MiB. ``--quick`` takes few sizes, and at most five seconds a case.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

# Nothing large here: the peak of a process begins with what the one that started it had.
from memory import peak_mib

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

PROOF = "linear + quadratic + bounded(dmin=0.01) + nearest"
SOFT = "linear + quadratic + nearest(k=3) + hinge(margin=0.01)"

D, C = 4, 3
AXES = {"N": "points N", "D": "features D", "C": "classes C"}
TICKS = {"D": [2, 4, 8, 16, 32], "C": [2, 3, 5, 10, 20]}
MEASURES = {"seconds": "seconds", "more_mib": "peak MiB beyond the imports"}
COLUMNS = ["strategy", "solver", "N", "D", "C", "seed", "parameters", "status", "reason"]
COLUMNS += ["objective", "bound", "nodes", "seconds", "start_mib", "peak_mib", "verified"]


@dataclass(frozen=True)
class Case:
    """One run."""

    strategy: str
    solver: str | None
    N: int
    D: int = D
    C: int = C
    seed: int = 0


@dataclass(frozen=True)
class Plan:
    """What is measured of a strategy.

    Parameters
    ----------
    solver : str or None
        Underneath.
    formulation : str
        What is solved.
    spread : float
        Of the classes; see :func:`synthetic.blobs`.
    points : int
        While D or C is varied.
    sizes : dict
        Values of what is varied.
    quick : dict
        The same for ``--quick``.
    options : dict
        Of the strategy.
    """

    solver: str | None
    formulation: str
    spread: float
    points: int
    sizes: dict[str, list[int]]
    quick: dict[str, list[int]]
    options: dict[str, int]


PLANS = {
    "alternating": Plan(
        None,
        SOFT,
        0.2,
        300,
        {"N": [100, 300, 1000, 3000, 10_000], "D": [2, 4, 8, 16, 32], "C": [2, 3, 5, 10, 20]},
        {"N": [100, 300, 1000], "D": [2, 4], "C": [3, 20]},
        {"starts": 1},
    ),
    "disjunctive": Plan(
        None,
        PROOF,
        0.06,
        60,
        {"N": [20, 30, 45, 60, 90, 120], "D": [2, 3, 4, 6, 8], "C": [2, 3, 5, 10, 20]},
        {"N": [20, 60], "D": [2, 4], "C": [3, 10]},
        {},
    ),
    "rows": Plan(
        "highs",
        PROOF,
        0.06,
        12,
        {"N": [9, 12, 18, 24], "D": [2, 4, 8, 16, 32], "C": [2, 3, 4]},
        {"N": [9, 12], "D": [2, 4], "C": [3]},
        {},
    ),
    "direct": Plan(
        "highs",
        PROOF,
        0.06,
        12,
        {"N": [9, 12, 18, 24], "D": [2, 4, 8, 16, 32], "C": [2, 3, 4]},
        {"N": [9, 12], "D": [2, 4], "C": [3]},
        {},
    ),
}


def main() -> None:
    """Run all cases and write what came of them."""
    arguments = _arguments()
    if arguments.case is not None:
        print(json.dumps(_measured(Case(**json.loads(arguments.case)), arguments.time_limit)))
        return
    if arguments.compile:
        for strategy in PLANS:
            _tiny(strategy)
        return
    limit = min(arguments.time_limit, 5.0) if arguments.quick else arguments.time_limit
    # What is compiled once for an installation takes memory, which is nobody's.
    _script("--compile")
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    file = arguments.out.with_suffix(".csv")
    with file.open("w", newline="", encoding="utf-8") as table:
        writer = csv.DictWriter(table, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in _series(arguments, limit):
            print("  ".join(f"{value}" for value in row.values()), flush=True)
            writer.writerow(row)
            # So that a run that is stopped is not lost.
            table.flush()
    _conclude(file)


def _series(arguments: argparse.Namespace, limit: float) -> Iterator[dict[str, Any]]:
    """Yield a row for each case; the size that several series share is measured once."""
    known: dict[Case, dict[str, Any]] = {}
    for strategy, plan in PLANS.items():
        for axis, sizes in (plan.quick if arguments.quick else plan.sizes).items():
            for size in sizes:
                base = replace(Case(strategy, plan.solver, plan.points), **{axis: size})
                cases = [replace(base, seed=seed) for seed in range(arguments.seeds)]
                for case in cases:
                    if case not in known:
                        known[case] = _run(case, limit)
                        yield known[case]
                if axis == "N" and any(known[case]["reason"] == "time_limit" for case in cases):
                    # More points would end there as well; with more features memory grows on.
                    break


def _run(case: Case, limit: float) -> dict[str, Any]:
    """Measure a case in a process of its own."""
    said = _script("--case", json.dumps(asdict(case)), "--time-limit", str(limit))
    return dict(json.loads(said.splitlines()[-1]))


def _script(*words: str) -> str:
    """Run this script in a process of its own, and return what it prints."""
    command = [sys.executable, __file__, "unused", *words]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def _tiny(strategy: str) -> None:
    from synthetic import blobs

    from mlmio import solve

    plan = PLANS[strategy]
    solve(plan.formulation, blobs(12, 2, 2, 0.06), plan.solver, strategy, options=plan.options)


def _measured(case: Case, limit: float) -> dict[str, Any]:
    """Solve a tiny case and this one in this process, and return what this one took."""
    from synthetic import blobs

    from mlmio import solve

    plan = PLANS[case.strategy]
    data = blobs(case.N, case.D, case.C, plan.spread, case.seed)
    _tiny(case.strategy)
    before = peak_mib()
    start = perf_counter()
    result = solve(
        plan.formulation,
        data,
        case.solver,
        case.strategy,
        time_limit=limit,
        seed=case.seed,
        options=plan.options,
    )
    seconds = perf_counter() - start
    return asdict(case) | {
        "parameters": case.D + case.D * (case.D + 1) // 2,
        "status": result.status,
        "reason": result.reason,
        "objective": result.objective,
        "bound": result.bound,
        "nodes": result.nodes,
        "seconds": round(seconds, 3),
        "start_mib": round(before),
        "peak_mib": round(peak_mib()),
        "verified": result.verified,
    }


def _conclude(file: Path) -> None:
    """Write the machine and the figure beside a table, and print its medians."""
    import pandas as pd

    from mlmio.bench.machine import describe

    file.with_suffix(".json").write_text(json.dumps({"machine": describe()}, indent=1) + "\n")
    frame = pd.read_csv(file)
    frame["ended"] = frame.reason == "time_limit"
    frame["more_mib"] = (frame.peak_mib - frame.start_mib).clip(lower=1)
    medians = frame.groupby(["strategy", "N", "D", "C"], sort=False).agg(
        seconds=("seconds", "median"),
        peak_mib=("peak_mib", "median"),
        more_mib=("more_mib", "median"),
        ended=("ended", "any"),
    )
    print(medians.to_string())
    _draw(medians.reset_index(), file.with_suffix(".svg"))


def _draw(medians: pd.DataFrame, file: Path) -> None:
    """Draw two rows, seconds and memory, and a column for each of N, D and C."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        2, 3, figsize=(9, 5.4), sharex="col", sharey="row", layout="constrained"
    )
    for row, measure in zip(panels, MEASURES, strict=True):
        for ax, axis in zip(row, AXES, strict=True):
            _panel(ax, medians, axis, measure)
    for ax, words in zip(panels[:, 0], MEASURES.values(), strict=True):
        ax.set_ylabel(words)
    for ax, words in zip(panels[1], AXES.values(), strict=True):
        ax.set_xlabel(words)
    figure.legend(*panels[1, 0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    figure.savefig(file)


def _panel(ax: Axes, medians: pd.DataFrame, axis: str, measure: str) -> None:
    from matplotlib.ticker import NullFormatter

    from mlmio.plotting import BLUE, GREEN, GREY, VERMILION

    ax.set(xscale="log", yscale="log")
    styles = zip((VERMILION, BLUE, GREEN, GREY), "osD^", strict=True)
    for (strategy, plan), (color, marker) in zip(PLANS.items(), styles, strict=True):
        fixed = {"N": plan.points, "D": D, "C": C}
        del fixed[axis]
        part = medians[medians.strategy == strategy]
        for name, value in fixed.items():
            part = part[part[name] == value]
        part = part.sort_values(axis)
        label = f"{strategy} (N = {plan.points} as D and C vary)"
        ax.plot(part[axis], part[measure], color=color, marker=marker, label=label)
        ended = part[part.ended]
        style = {"color": color, "marker": marker, "markerfacecolor": "white", "linestyle": "none"}
        ax.plot(ended[axis], ended[measure], **style)
    ax.plot([], [], color="black", marker="o", markerfacecolor="white", linestyle="none")
    ax.lines[-1].set_label("ended by the limit of time")
    if axis in TICKS:
        ax.set_xticks(TICKS[axis], [str(tick) for tick in TICKS[axis]])
        ax.set_xlim(0.85 * TICKS[axis][0], TICKS[axis][-1] / 0.85)
    for scale in (ax.xaxis, ax.yaxis):
        # Less than a decade has labels between its powers otherwise, one above the other.
        scale.set_minor_formatter(NullFormatter())
        scale.set_major_formatter("{x:g}")
    ax.grid(alpha=0.3)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--time-limit", type=float, default=60.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    # For processes that are started by this script.
    parser.add_argument("--case", help=argparse.SUPPRESS)
    parser.add_argument("--compile", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
