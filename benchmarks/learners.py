"""What learned metrics are worth in classification, beside those of other learners.

    python benchmarks/learners.py OUT [--data-dir DIR] [--seeds 5] [--time-limit 60]

300 training points of cod_rna (8,000 to test) and of diabetes (468 to test), drawn anew for every
seed; the data sets are in DIR, or in the folder that MLMIO_DATA names. Every learner gives a
metric, and all metrics are tested alike: by 1 and 3 nearest neighbours among the training points,
at full coverage, and without the tenth of the test points whose abstention ratio is largest.
Learners that are not mlmio's are run at their defaults, on features scaled to mean 0 and deviation
1. Needs the extra ``peers``. Writes OUT.csv and OUT.json, and prints the means over the seeds.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from metric_learn_shim import LMNN, ITML_Supervised
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis

from mlmio import Dataset, Metric, MlmioWarning, load_dataset
from mlmio.bench.machine import describe
from mlmio.learning import learn, learnable
from mlmio.neighbors import training_index
from mlmio.risk import classify, risk_coverage

TRAIN = 300
TEST = {"cod_rna": 8000, "diabetes": 468}
NEIGHBORS = (1, 3)
COVERAGE = 0.9

#: What is solved; the first is what the estimators do without a formulation.
COMPOSITIONS = (
    "auto",
    "linear + nearest(k=5) + hinge(margin=0.01)",
    "quadratic + diagonal + nearest(k=5) + hinge(margin=0.01)",
)

#: Makes a map of points from a seed.
PEERS: dict[str, Callable[[int], object]] = {
    "NCA": lambda seed: NeighborhoodComponentsAnalysis(random_state=seed),
    "LDA": lambda seed: LinearDiscriminantAnalysis(),
    "LMNN": lambda seed: LMNN(random_state=seed),
    "ITML": lambda seed: ITML_Supervised(random_state=seed),
}


def main() -> None:
    """Run every set, seed and learner, and write what came of them."""
    arguments = _arguments()
    rows: list[dict[str, object]] = []
    for name, size in TEST.items():
        whole = load_dataset(name, scale="none", data_dir=arguments.data_dir)
        for seed in range(arguments.seeds):
            train, test = train_test_split(
                np.arange(whole.N), train_size=TRAIN, test_size=size, random_state=seed,
                stratify=whole.y,
            )  # fmt: skip
            facts = {"set": name, "seed": seed}
            rows += [facts | row for row in _compared(whole, train, test, seed, arguments)]
            print(f"{name}, seed {seed}: done", flush=True)
            pd.DataFrame(rows).round(6).to_csv(arguments.out.with_suffix(".csv"), index=False)
    keep_facts(arguments)
    frame = pd.DataFrame(rows)
    keys = ["set", "neighbors", "learner"]
    means = frame.groupby(keys, sort=False)[["error", "error covered", "seconds"]]
    print(means.agg(["mean", "std"]).to_string(float_format="{:.4f}".format))


def _compared(
    whole: Dataset, train: np.ndarray, test: np.ndarray, seed: int, arguments: argparse.Namespace
) -> list[dict[str, object]]:
    """Return one row for each learner and number of neighbours."""
    rows = []
    for learner in (*COMPOSITIONS, "Euclidean", *PEERS):
        ours = learner in COMPOSITIONS
        data = subset(whole, train, "minmax" if ours else "standard")
        began = perf_counter()
        if ours:
            metric = solved(data, learner, arguments.time_limit)
        else:
            metric = _mapped(data, learner, seed)
        facts = {"learner": learner, "seconds": round(perf_counter() - began, 2)}
        found = tested(metric, data, whole.X[test], whole.y[test])
        rows += [facts | row for row in found]
    return rows


def subset(whole: Dataset, rows: np.ndarray, scale: str = "minmax") -> Dataset:
    """Return some points, scaled by themselves; `whole` is not scaled."""
    return Dataset(whole.X[rows], whole.y[rows], scale=scale, name=whole.name)


def solved(data: Dataset, formulation: str, time_limit: float) -> Metric:
    """Return the metric that a formulation gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MlmioWarning)
        points = data.take(learnable(data))
        return learn(points, formulation, strategy="alternating", time_limit=time_limit).metric


def _mapped(data: Dataset, learner: str, seed: int) -> Metric:
    """Return the metric of a learner that maps points."""
    unit = np.eye(data.D)
    if learner != "Euclidean":
        with warnings.catch_warnings():
            # The number of steps is the learner's own.
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = PEERS[learner](seed).fit(data.X, data.y)
        unit = fitted.transform(unit) - fitted.transform(np.zeros((1, data.D)))
    return Metric({2: unit @ unit.T}, data.D, data.scaling)


def tested(metric: Metric, data: Dataset, X: np.ndarray, y: np.ndarray) -> list[dict[str, object]]:
    """Return the errors on points in original units, a row for each number of neighbours."""
    index, _ = training_index(metric, data)
    rows = []
    for k in NEIGHBORS:
        predicted, ratios = classify(index, data.scaling.apply(X), k)
        curve = risk_coverage(data.classes[predicted] != y, ratios)
        coverage, error = curve.at(float(np.quantile(ratios, COVERAGE)))
        row = {"neighbors": k, "error": curve.full_error, "coverage": coverage}
        rows.append(row | {"error covered": error})
    return rows


def keep_facts(arguments: argparse.Namespace) -> None:
    """Write the options and the machine beside the table."""
    options = {k: v for k, v in vars(arguments).items() if k not in ("out", "data_dir")}
    facts = {"options": options, "machine": describe()}
    arguments.out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-dir")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
