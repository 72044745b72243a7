"""What recommended points buy: test error against labels, beside random and margin sampling.

    python benchmarks/active_learning.py OUT [--sets …] [--seeds 10] [--rounds 6] [--batch 5]
        [--start 3] [--time-limit 10]

Every method starts from the same few points of each class and learns with the same classifier; only
the choice of the next points from the pool differs. ``recommend`` is what ``ActiveLearner`` does,
and ``refine`` the same without a share of each batch for points far from all that are known.
``margin`` takes those whose nearest points of two classes are most alike in distance under the
metric learned until then. A third of each data set is held out for the error. Writes OUT.csv (every
round), OUT.json (the machine) and OUT.svg, the mean error with its standard deviation over the
seeds, and prints the errors of the last round and their means over all rounds.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from mlmio import ActiveLearner, MIOMetricClassifier, MlmioWarning, load_dataset
from mlmio.bench.machine import describe

SETS = ("islands", "two_lines", "six_d", "target_trap", "iris", "wine")
SIZES = {"two_lines": 200, "islands": 270, "six_d": 240, "target_trap": 180}

Choice = Callable[[ActiveLearner, np.ndarray, np.random.Generator], np.ndarray]


def main() -> None:
    """Run every set, seed and method, and write what came of them."""
    arguments = _arguments()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    rows: list[dict[str, object]] = []
    for name in arguments.sets:
        for seed in range(arguments.seeds):
            for method, choose in METHODS.items():
                rows += _run(name, seed, method, choose, arguments)
            print(f"{name}, seed {seed}: done", flush=True)
            # After every seed, so that a long run that is stopped is not lost.
            pd.DataFrame(rows).round(6).to_csv(arguments.out.with_suffix(".csv"), index=False)
    _write(pd.DataFrame(rows), arguments)


def _recommended(active: ActiveLearner, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return active.select(pool)


def _refined(active: ActiveLearner, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    chosen = active.recommend().select(pool, active.batch)
    # Where nothing is recommended the rest is drawn, so that all have as many labels.
    missing = min(active.batch, len(pool)) - len(chosen)
    left = np.setdiff1d(np.arange(len(pool)), chosen)
    return np.concatenate([chosen, rng.choice(left, missing, replace=False)])


def _random(active: ActiveLearner, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rng.choice(len(pool), min(active.batch, len(pool)), replace=False)


def _margin(active: ActiveLearner, pool: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    ratios = active.classifier_.abstention_ratios(pool)
    return np.argsort(-ratios, kind="stable")[: active.batch]


METHODS: dict[str, Choice] = {
    "recommend": _recommended,
    "refine": _refined,
    "random": _random,
    "margin": _margin,
}


def _run(
    name: str, seed: int, method: str, choose: Choice, arguments: argparse.Namespace
) -> list[dict[str, object]]:
    """Return one row for each number of labels."""
    data = load_dataset(name, n=SIZES.get(name), seed=seed, scale="none")
    X, X_test, y, y_test = train_test_split(
        data.X, data.y, test_size=1 / 3, random_state=seed, stratify=data.y
    )
    rng = np.random.default_rng(seed)
    first = np.concatenate(
        [rng.choice(np.flatnonzero(y == c), arguments.start, replace=False) for c in np.unique(y)]
    )
    pool, hidden = np.delete(X, first, axis=0), np.delete(y, first)
    # An exact search would take the whole time limit for each of the many solves.
    classifier = MIOMetricClassifier(strategy="alternating", time_limit=arguments.time_limit)
    active = ActiveLearner(classifier, batch=arguments.batch)
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MlmioWarning)
        active.fit(X[first], y[first])
        for done in range(arguments.rounds + 1):
            error = 1.0 - active.score(X_test, y_test)
            row = {"set": name, "seed": seed, "method": method, "labels": len(active.X_)}
            rows.append(row | {"error": error})
            if done == arguments.rounds or not len(pool):
                break
            chosen = choose(active, pool, rng)
            active.update(pool[chosen], hidden[chosen])
            pool, hidden = np.delete(pool, chosen, axis=0), np.delete(hidden, chosen)
    return rows


def _write(frame: pd.DataFrame, arguments: argparse.Namespace) -> None:
    out: Path = arguments.out
    options = {key: value for key, value in vars(arguments).items() if key != "out"}
    facts = {"options": options, "machine": describe()}
    out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    keys = ["set", "method", "labels"]
    spread = frame.groupby(keys, sort=False)["error"].agg(["mean", "std", "count"]).reset_index()
    last = spread[spread["labels"] == spread.groupby("set")["labels"].transform("max")]
    print(last.to_string(index=False, float_format="{:.4f}".format))
    means = frame.pivot_table("error", "set", "method", sort=False)
    print(means.to_string(float_format="{:.4f}".format))
    _draw(spread, out.with_suffix(".svg"))


def _draw(spread: pd.DataFrame, file: Path) -> None:
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "mlmio"
    import matplotlib.pyplot as plt

    from mlmio.pictures.drawing import color, line, marker

    names = spread["set"].unique()
    columns = min(4, len(names))
    figure, axes = plt.subplots(
        -(-len(names) // columns), columns, squeeze=False, layout="constrained",
        figsize=(3.0 * columns, 2.6 * -(-len(names) // columns)),
    )  # fmt: skip
    for ax, name in zip(axes.flat, names, strict=False):
        for n, method in enumerate(METHODS):
            part = spread[(spread["set"] == name) & (spread["method"] == method)]
            style = {"color": color(n), "linestyle": line(n), "marker": marker(n)}
            ax.errorbar(part["labels"], part["mean"], part["std"], label=method, **style, ms=4)
        ax.set(title=name, xlabel="labels", ylabel="test error")
        ax.set_ylim(bottom=0.0)
    for ax in axes.flat[len(names) :]:
        ax.set_axis_off()
    axes.flat[0].legend(fontsize="small")
    figure.savefig(file, metadata={"Date": None})


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--batch", type=int, default=5)
    parser.add_argument("--start", type=int, default=3)
    parser.add_argument("--time-limit", type=float, default=10.0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
