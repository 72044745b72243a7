"""What to learn from few points: error of some metrics as the training set grows.

    python benchmarks/few_points.py OUT [--data-dir DIR] [--seeds 3] [--time-limit 5]

Every set is drawn with 1/4 to 8 points (at most 300 in all) for each of its D(D + 1)/2 products of
features; the rest, at most 2,000, is for testing. The cone of the default formulation is chosen by
this. Writes OUT.csv, a row for each draw and metric, and OUT.json, and prints the mean errors.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from learners import keep_facts, solved, subset, tested
from sklearn.model_selection import train_test_split

from mlmio import Dataset, Metric, load_dataset

SETS = ("iris", "wine", "diabetes", "cod_rna")
POINTS_A_PRODUCT = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_POINTS = 300
MOST_TESTED = 2000

SOFT = "nearest(k=5) + hinge(margin=0.01)"
FORMULATIONS = ("quadratic", "quadratic + gershgorin", "quadratic + diagonal", "linear")


def main() -> None:
    """Run every set, share, seed and metric, and write what came of them."""
    arguments = _arguments()
    warnings.simplefilter("ignore")
    rows: list[dict[str, object]] = []
    for name in SETS:
        whole = load_dataset(name, scale="none", data_dir=arguments.data_dir)
        for share in POINTS_A_PRODUCT:
            points = int(share * whole.D * (whole.D + 1) / 2)
            if 2 * whole.n_classes <= points <= min(MOST_POINTS, whole.N * 3 // 4):
                for seed in range(arguments.seeds):
                    facts = {"set": name, "points a product": share, "points": points}
                    for row in _compared(whole, points, seed, arguments.time_limit):
                        rows.append(facts | {"seed": seed} | row)
        print(f"{name}: done", flush=True)
        pd.DataFrame(rows).round(6).to_csv(arguments.out.with_suffix(".csv"), index=False)
    keep_facts(arguments)
    keys = ["set", "points a product", "points", "neighbors"]
    means = pd.DataFrame(rows).pivot_table("error", keys, "metric", sort=False)
    print(means.to_string(float_format="{:.3f}".format))


def _compared(whole: Dataset, points: int, seed: int, time_limit: float) -> list[dict[str, object]]:
    """Return one row for each metric and number of neighbours."""
    train, left = train_test_split(
        np.arange(whole.N), train_size=points, random_state=seed, stratify=whole.y
    )
    left, data = left[:MOST_TESTED], subset(whole, train)
    metrics = {"Euclidean": Metric({2: np.eye(data.D)}, data.D, data.scaling)}
    for formulation in FORMULATIONS:
        metrics[formulation] = solved(data, f"{formulation} + {_soft(data)}", time_limit)
    return [
        {"metric": name} | row
        for name, metric in metrics.items()
        for row in tested(metric, data, whole.X[left], whole.y[left])
    ]


def _soft(data: Dataset) -> str:
    """Return the neighbours and the loss, with as many neighbours as every class has."""
    return SOFT.replace("k=5", f"k={max(1, min(5, data.class_sizes.min() - 1))}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-dir")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=5.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
