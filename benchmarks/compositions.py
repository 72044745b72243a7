"""Which composition suits a classifier best, by cross-validation on the training points alone.

    python benchmarks/compositions.py OUT [--data-dir DIR] [--seeds 1] [--time-limit 8]

The training points of ``learners.py``, 300 of cod_rna and of diabetes for every seed, and once all
of iris and wine, each in three folds. The default of the estimators is chosen by this. Writes
OUT.csv, a row for each fold, and OUT.json, and prints the mean errors.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from learners import TEST, TRAIN, keep_facts, solved, subset, tested
from sklearn.model_selection import StratifiedKFold, train_test_split

from mlmio import Dataset, load_dataset

FOLDS = 3
SANITY = ("iris", "wine")

SOFT = "nearest(k=5) + hinge(margin=0.01)"
CANDIDATES = (
    f"quadratic + {SOFT}",
    f"linear + {SOFT}",
    f"linear + quadratic + {SOFT}",
    f"quadratic + diagonal + {SOFT}",
    f"quadratic + gershgorin + {SOFT}",
    f"linear + quadratic + gershgorin + {SOFT}",
    "quadratic + nearest + hinge(margin=0.01)",
    "quadratic + nearest(k=5) + hinge(margin=0.03)",
    "quadratic + nearest + outliers(rho=0.01, semantics='excuse')",
)


def main() -> None:
    """Run every set, seed, fold and candidate, and write what came of them."""
    arguments = _arguments()
    rows: list[dict[str, object]] = []
    for seed in range(arguments.seeds):
        for name in (*TEST, *SANITY) if seed == 0 else TEST:
            whole = load_dataset(name, scale="none", data_dir=arguments.data_dir)
            rows += _validated(_drawn(whole, seed), seed, arguments.time_limit)
            print(f"{name}, seed {seed}: done", flush=True)
            pd.DataFrame(rows).round(6).to_csv(arguments.out.with_suffix(".csv"), index=False)
    keep_facts(arguments)
    frame = pd.DataFrame(rows)
    means = frame.pivot_table("error", "composition", ["neighbors", "set"], sort=False)
    print(means.to_string(float_format="{:.4f}".format))


def _drawn(whole: Dataset, seed: int) -> Dataset:
    """Return the training points of a seed, as ``learners.py`` draws them."""
    if whole.N <= TRAIN:
        return whole
    rows, _ = train_test_split(
        np.arange(whole.N), train_size=TRAIN, test_size=TEST.get(whole.name), random_state=seed,
        stratify=whole.y,
    )  # fmt: skip
    return subset(whole, rows, "none")


def _validated(drawn: Dataset, seed: int, time_limit: float) -> list[dict[str, object]]:
    """Return one row for each fold, candidate and number of neighbours."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    rows = []
    for fold, (train, left) in enumerate(folds.split(drawn.X, drawn.y)):
        data = subset(drawn, train)
        for composition in CANDIDATES:
            metric = solved(data, composition, time_limit)
            facts = {"set": drawn.name, "seed": seed, "fold": fold, "composition": composition}
            rows += [facts | row for row in tested(metric, data, drawn.X[left], drawn.y[left])]
    return rows


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--data-dir")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--time-limit", type=float, default=8.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
