"""A network trained on boundary points only (Kumaran et al. 2018, fig:dnn:boundary_vs_interior).

    python benchmarks/data_economy.py OUT [--seeds 5] [--points 10000] [--learn 300]
        [--time-limit 5]

Ten classes in the plane. A metric is learned from a sample, all points are told apart under it,
and an MLP of scikit-learn with four hidden ReLU layers is trained on boundary points and outliers,
and on as many random points. The paper reports an error of 0.78 % on interior points; fresh points,
drawn anew from the whole square, are the fairer test, since interior points are by their definition
the easy ones. Points that were trained on never count. Writes OUT.csv and OUT.json, and prints the
means.

The solver is L-BFGS: Adam, at scikit-learn's defaults, stops while a tenth of the boundary points
are still wrong, and then random points do better.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from mlmio import Dataset, boundary_subset, diagnose, load_dataset
from mlmio.bench.machine import describe
from mlmio.learning import learn

LAYERS = (64, 64, 64, 64)


def main() -> None:
    """Run every seed, and write what came of them."""
    arguments = _arguments()
    rows: list[dict[str, object]] = []
    for seed in range(arguments.seeds):
        rows += _run(seed, arguments)
    frame = pd.DataFrame(rows)
    out: Path = arguments.out
    out.parent.mkdir(parents=True, exist_ok=True)
    frame.round(6).to_csv(out.with_suffix(".csv"), index=False)
    options = {key: value for key, value in vars(arguments).items() if key != "out"}
    facts = {"options": options, "layers": LAYERS, "machine": describe()}
    out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    means = (
        frame.drop(columns=["seed", "metric"])
        .groupby("trained on", sort=False)
        .agg(["mean", "std"])
    )
    print(means.to_string(float_format="{:.4f}".format))


def _run(seed: int, arguments: argparse.Namespace) -> list[dict[str, object]]:
    data = load_dataset("ten_classes", n=arguments.points, seed=seed)
    fresh = load_dataset("ten_classes", n=arguments.points, seed=1000 + seed, scale="none")
    rng = np.random.default_rng(seed)
    sample = data.take(np.sort(rng.choice(data.N, arguments.learn, replace=False)))
    learned = learn(sample, time_limit=arguments.time_limit)
    boundary = boundary_subset(diagnose(learned.metric, data))
    interior = np.setdiff1d(np.arange(data.N), boundary)
    subsets = {
        "boundary": boundary,
        "random": rng.choice(data.N, len(boundary), replace=False),
    }
    X_fresh = data.scaling.apply(fresh.X)
    facts = {"seed": seed, "metric": learned.result.status}
    rows = []
    for name, chosen in subsets.items():
        start = perf_counter()
        network = _trained(data, chosen, seed)
        seconds = perf_counter() - start
        unseen = np.setdiff1d(interior, chosen)
        rows.append(
            facts
            | {
                "trained on": name,
                "share": len(chosen) / data.N,
                "interior error": 1.0 - network.score(data.X[unseen], data.y[unseen]),
                "fresh error": 1.0 - network.score(X_fresh, fresh.y),
                "seconds": round(seconds, 2),
            }
        )
        print("  ".join(f"{value}" for value in rows[-1].values()), flush=True)
    return rows


def _trained(data: Dataset, chosen: np.ndarray, seed: int) -> Pipeline:
    network = MLPClassifier(
        LAYERS, activation="relu", solver="lbfgs", max_iter=3000, random_state=seed
    )
    with warnings.catch_warnings():
        # The number of steps is the budget, the same for both.
        warnings.filterwarnings("ignore", message="lbfgs failed to converge")
        return make_pipeline(StandardScaler(), network).fit(data.X[chosen], data.y[chosen])


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--learn", type=int, default=300)
    parser.add_argument("--time-limit", type=float, default=5.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
