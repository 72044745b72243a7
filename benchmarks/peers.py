"""mlmio beside its peers in one run: other modelling interfaces, and other learners of metrics.

    python benchmarks/peers.py OUT [--only models learners] [--repeat 3] [--seeds 2]
        [--time-limit 10]

*Models*: the same model (linear + quadratic + bounded(dmin=0.01) + nearest + bigm on min-max scaled
Iris), by mlmio and by hand in Pyomo, linopy, PySCIPOpt and gurobipy, the same solver underneath
with the same options. `build_s` is from points to the library's own model, `seconds` is the call
that solves it, handing over included: the median of some builds, and one solve. 150 points are
built and not solved. Optima that differ stop the run.

*Learners*: test error of the nearest neighbour and seconds of fitting, on a third of scikit-learn's
sets held out, for MIOMetricClassifier as it is but for its time limit, and for the learners of
metric-learn and scikit-learn with their own defaults on standardised features. What mlmio refuses
is a row that says why.

Writes OUT.csv, a row for every model and for every learner, set and seed, and OUT.json with the
options, the machine and its load, and prints the tables. `pip install .[peers,solvers]` brings the
peers.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable, Iterator
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from time import perf_counter
from typing import Any

import by_hand
import by_peers
import numpy as np
import pandas as pd
import pyomo.environ as pyo
from metric_learn_shim import LMNN, ITML_Supervised
from pyomo.contrib.solver.common.factory import SolverFactory
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from mlmio import Dataset, MIOMetricClassifier, MlmioError, MlmioWarning, compose, load_dataset
from mlmio.bench.machine import describe
from mlmio.solvers.base import Options, get_solver

DMIN = 0.01
SPEC = f"linear + quadratic + bounded(dmin={DMIN}) + nearest + bigm"
SOLVED, BUILT = (5, 8), 50
LIMIT = 60.0
TOLERANCE = 1e-9
GAP = 1e-6
AGREEMENT = 1e-6

HIGHS = {
    "primal_feasibility_tolerance": TOLERANCE,
    "dual_feasibility_tolerance": TOLERANCE,
    "mip_feasibility_tolerance": TOLERANCE,
    "mip_abs_gap": 1e-9,
    # The step of presolve that mlmio leaves out.
    "presolve_rule_off": 1 << 14,
}
SCIP = {"limits/gap": GAP, "limits/absgap": 1e-9, "numerics/feastol": TOLERANCE}
GUROBI = {
    "MIPGap": GAP,
    "MIPGapAbs": 1e-9,
    "FeasibilityTol": TOLERANCE,
    "IntFeasTol": TOLERANCE,
    "OptimalityTol": TOLERANCE,
    "Threads": 1,
}

Build = Callable[[Dataset], Any]
Solve = Callable[[Any], tuple[str, float]]


def main() -> None:
    """Run both parts and write what came of them."""
    arguments = _arguments()
    load = os.getloadavg()[0]
    rows: list[dict[str, object]] = []
    out: Path = arguments.out
    out.parent.mkdir(parents=True, exist_ok=True)
    parts = {"models": _models, "learners": _learners}
    for row in chain.from_iterable(parts[name](arguments) for name in arguments.only):
        rows.append(row)
        print("  ".join(f"{value}" for value in row.values()), flush=True)
        # After every row, so that a run that is stopped is not lost.
        pd.DataFrame(rows).round(6).to_csv(out.with_suffix(".csv"), index=False)
    options = {key: value for key, value in vars(arguments).items() if key != "out"}
    packages = ("linopy", "pyscipopt", "gurobipy", "metric-learn", "scikit-learn")
    facts = {
        "options": options,
        "machine": describe(),
        "load_before": round(load, 2),
        "peers": {name: version(name) for name in packages},
    }
    out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    _print(pd.DataFrame(rows))


# Models


def _by_mlmio(data: Dataset) -> Any:
    return compose(SPEC).build(data)


def _by_pyomo(data: Dataset) -> Any:
    return by_hand.nearest(data, mccormick=False, rho=None, dmin=DMIN)


def _with_adapter(solver: str) -> Solve:
    def solve(model: Any) -> tuple[str, float]:
        answer = get_solver(solver, "MILP").solve(model, Options(time_limit=LIMIT))
        return answer.status, answer.objective or np.nan

    return solve


def _with_pyomo(model: Any) -> tuple[str, float]:
    found = SolverFactory("highs").solve(
        model,
        time_limit=LIMIT,
        rel_gap=GAP,
        threads=1,
        solver_options=HIGHS,
        raise_exception_on_nonoptimal_result=False,
    )
    proven = found.termination_condition.name == "convergenceCriteriaSatisfied"
    return _status(proven), pyo.value(model.objective)


def _with_linopy(model: Any) -> tuple[str, float]:
    words = {"time_limit": LIMIT, "mip_rel_gap": GAP, "threads": 1, "log_to_console": False}
    _, condition = model.solve("highs", io_api="direct", progress=False, **words, **HIGHS)
    return _status(condition == "optimal"), model.objective.value


def _with_scip(model: Any) -> tuple[str, float]:
    model.hideOutput()
    model.setParams(SCIP | {"limits/time": LIMIT})
    model.optimize()
    return _status(model.getStatus() in ("optimal", "gaplimit")), model.getObjVal()


def _with_gurobi(model: Any) -> tuple[str, float]:
    from gurobipy import GRB

    for name, value in (GUROBI | {"TimeLimit": LIMIT}).items():
        model.setParam(name, value)
    model.optimize()
    return _status(model.Status == GRB.OPTIMAL), model.ObjVal


def _status(proven: bool) -> str:
    return "optimal" if proven else "feasible"


#: Who writes the model, with which solver underneath, and how.
WRITERS: list[tuple[str, str, Build, Solve]] = [
    ("mlmio", "highs", _by_mlmio, _with_adapter("highs")),
    ("Pyomo", "highs", _by_pyomo, _with_pyomo),
    ("linopy", "highs", lambda data: by_peers.in_linopy(data, DMIN), _with_linopy),
    ("mlmio", "scip", _by_mlmio, _with_adapter("scip")),
    ("PySCIPOpt", "scip", lambda data: by_peers.in_pyscipopt(data, DMIN), _with_scip),
    ("mlmio", "gurobi", _by_mlmio, _with_adapter("gurobi")),
    ("gurobipy", "gurobi", lambda data: by_peers.in_gurobipy(data, DMIN), _with_gurobi),
]


def _models(arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield one row for each size and writer."""
    warm = load_dataset("iris", per_class=3, seed=0)
    for per_class in (*SOLVED, BUILT):
        data = load_dataset("iris", per_class=per_class, seed=0)
        best: float | None = None
        for method, solver, build, solve in WRITERS:
            # Imports and first calls are nobody's time.
            solve(build(warm))
            row = {"part": "models", "set": "iris", "N": data.N, "D": data.D, "method": method}
            row |= {"solver": solver, "status": "built"}
            row |= _timed(data, build, solve if per_class != BUILT else None, arguments.repeat)
            yield row
            if row["status"] == "optimal":
                best = row["objective"] if best is None else best
                assert abs(row["objective"] - best) <= AGREEMENT, "the optima differ"


def _timed(data: Dataset, build: Build, solve: Solve | None, repeat: int) -> dict[str, Any]:
    """Return the median time of some builds, and what came of one solve."""
    times = []
    for _ in range(repeat):
        began = perf_counter()
        model = build(data)
        times.append(perf_counter() - began)
    found: dict[str, Any] = {"build_s": float(np.median(times))}
    if solve is None:
        return found
    began = perf_counter()
    status, objective = solve(model)
    return found | {
        "seconds": perf_counter() - began,
        "status": status,
        "objective": objective,
    }


# Learners


def _mapped(learner: Callable[[int], Any] | None) -> Callable[[int, argparse.Namespace], Any]:
    """One nearest neighbour after a learner that maps points, on standardised features."""

    def make(seed: int, _: argparse.Namespace) -> Any:
        steps = [StandardScaler(), *([] if learner is None else [learner(seed)])]
        return make_pipeline(*steps, KNeighborsClassifier(1))

    return make


LEARNERS: dict[str, Callable[[int, argparse.Namespace], Any]] = {
    "mlmio": lambda seed, arguments: MIOMetricClassifier(
        time_limit=arguments.time_limit, random_state=seed
    ),
    "Euclidean": _mapped(None),
    "LDA": _mapped(lambda seed: LinearDiscriminantAnalysis()),
    "NCA": _mapped(lambda seed: NeighborhoodComponentsAnalysis(random_state=seed)),
    "LMNN": _mapped(lambda seed: LMNN(random_state=seed)),
    "ITML": _mapped(lambda seed: ITML_Supervised(random_state=seed)),
}


def _learners(arguments: argparse.Namespace) -> Iterator[dict[str, object]]:
    """Yield one row for each set, seed and learner."""
    warm = load_dataset("iris", per_class=5, seed=0)
    MIOMetricClassifier(time_limit=5).fit(warm.X, warm.y)
    for name in ("iris", "wine", "breast_cancer", "digits"):
        per_class = 30 if name == "digits" else None
        for seed in range(arguments.seeds):
            with warnings.catch_warnings():
                # Some pixels of digits are always white.
                warnings.simplefilter("ignore", MlmioWarning)
                data = load_dataset(name, per_class=per_class, seed=seed, scale="none")
            split = train_test_split(
                data.X, data.y, test_size=1 / 3, random_state=seed, stratify=data.y
            )
            facts = {"part": "learners", "set": name, "N": len(split[0]), "D": data.D, "seed": seed}
            for method, make in LEARNERS.items():
                yield facts | {"method": method} | _fitted(make(seed, arguments), *split)


def _fitted(learner: Any, X: Any, X_test: Any, y: Any, y_test: Any) -> dict[str, object]:
    with warnings.catch_warnings():
        # The number of steps and the seconds are the learner's own.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", MlmioWarning)
        began = perf_counter()
        try:
            learner.fit(X, y)
        except MlmioError as error:
            return {"status": str(error), "seconds": perf_counter() - began}
        seconds = perf_counter() - began
    return {"status": "fitted", "seconds": seconds, "error": 1.0 - learner.score(X_test, y_test)}


def _print(frame: pd.DataFrame) -> None:
    for part, of_part in frame.groupby("part", sort=False):
        if part == "models":
            keys = ["N", "method", "solver", "status", "objective", "build_s", "seconds"]
            print(of_part[keys].to_string(index=False, float_format="{:.4f}".format), "\n")
        else:
            by = of_part.groupby(["set", "N", "D", "method"], sort=False)[["error", "seconds"]]
            print(by.agg(["mean", "std"]).to_string(float_format="{:.4f}".format))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parts = ("models", "learners")
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--time-limit", type=float, default=10.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
