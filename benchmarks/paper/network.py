"""A network trained on boundary points alone (fig:dnn:boundary_vs_interior).

Ten classes in the plane. A metric is learned from a sample, all points are told apart under it, and
a network with four hidden ReLU layers and soft-max cross-entropy is trained twice: on the boundary
points and outliers, and on as many random points. Errors are measured on interior points, as the
paper does, and on fresh points, drawn anew from the whole square, which are the fairer test:
interior points are by their definition the easy ones. Points that a network was trained on never
count. All is done again for several seeds, and with fewer points, of which fewer are near a
boundary; the figure shows the seed whose share of the data is the median.

The network is trained to the end, by L-BFGS: Adam, at scikit-learn's defaults, stops while a tenth
of the boundary points are still wrong, and then random points do better.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.paper.measures import metric_of, over_seeds
from benchmarks.paper.record import Record
from mlmio import Dataset, Diagnosis, Result, boundary_subset, diagnose, load_dataset, solve

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

#: What the paper reports of interior points.
PAPER_ERROR = 0.007836


@dataclass(frozen=True)
class Parameters:
    """What is run."""

    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    # The first is the paper's, and what is claimed and shown.
    sizes: tuple[int, ...] = (10_000, 2_500)
    # The metric has three parameters, which a few hundred points determine.
    sample: int = 300
    # Without outliers it is solved to proven optimality; the cone makes it a true distance.
    formulation: str = "quadratic + gershgorin + nearest"
    time_limit: float = 120.0
    layers: tuple[int, ...] = (64, 64, 64, 64)
    steps: int = 3000
    # What is claimed of the error on interior points: less than twice the paper's.
    most_error: float = 2 * PAPER_ERROR


# All points, since with fewer the claims do not hold, but one seed, whose boundary points are few:
# the training is short.
FAST = Parameters(seeds=(1,), sizes=(10_000,), time_limit=60.0, steps=1500)


@dataclass(frozen=True, eq=False)
class _Run:
    """What came of one seed."""

    seed: int
    result: Result
    found: Diagnosis
    boundary: NDArray[np.intp]
    network: Pipeline
    rows: list[dict[str, object]]

    @property
    def share(self) -> float:
        return len(self.boundary) / self.found.data.N


def run(record: Record, parameters: Parameters) -> None:
    """Train both networks for every size and seed."""
    runs = []
    for size in parameters.sizes:
        for seed in parameters.seeds:
            one = _run(size, seed, parameters)
            runs.append(one)
            record.result(f"metric_{size}_{seed}", one.result)
            record.say(f"{size:,} points, seed {seed}: {one.share:.1%} of them are kept")
    means = _errors_of(record, runs)
    record.table("knees", [_knees(one) for one in runs])
    of_paper = runs[: len(parameters.seeds)]
    shown = sorted(of_paper, key=lambda one: one.share)[(len(of_paper) - 1) // 2]
    record.figure("network", _figure(shown))
    _claim(record, parameters, runs, means.loc[parameters.sizes[0]])


def _errors_of(record: Record, runs: list[_Run]) -> pd.DataFrame:
    """Write the errors of all runs, and return their means over the seeds."""
    errors = pd.DataFrame([row for one in runs for row in one.rows])
    record.table("errors", errors)
    keys, columns = ["points", "trained on"], ["share", "interior error", "fresh error"]
    means = over_seeds(errors, keys, columns)
    record.table("means", means)
    shown = means[keys].copy()
    for column in columns:
        numbers = zip(means[f"{column} mean"], means[f"{column} std"], strict=True)
        shown[column] = [_percent(mean, spread) for mean, spread in numbers]
    record.table("summary", shown)
    return means.set_index(keys)


def _percent(mean: float, spread: float) -> str:
    """Return a mean and its deviation over the seeds, none where there is one seed."""
    return f"{mean:.2%}" + ("" if np.isnan(spread) else f" ± {spread:.2%}")


def _run(size: int, seed: int, parameters: Parameters) -> _Run:
    data = load_dataset("ten_classes", n=size, seed=seed)
    rng = np.random.default_rng(seed)
    sample = data.take(np.sort(rng.choice(data.N, parameters.sample, replace=False)))
    result = solve(parameters.formulation, sample, time_limit=parameters.time_limit, seed=seed)
    found = diagnose(metric_of(result), data)
    boundary = boundary_subset(found)
    by_chance = rng.choice(data.N, len(boundary), replace=False)
    subsets = {"boundary points": boundary, "random points": by_chance}
    networks = {name: _trained(data, rows, seed, parameters) for name, rows in subsets.items()}
    facts = {"points": size, "seed": seed, "metric": result.status}
    rows = [
        facts | {"trained on": name} | _errors(networks[name], chosen, boundary, data, seed)
        for name, chosen in subsets.items()
    ]
    return _Run(seed, result, found, boundary, networks["boundary points"], rows)


def _errors(
    network: Pipeline,
    chosen: NDArray[np.intp],
    boundary: NDArray[np.intp],
    data: Dataset,
    seed: int,
) -> dict[str, object]:
    """Return the errors on points that the network was not trained on."""
    unseen = np.setdiff1d(np.arange(data.N), np.union1d(boundary, chosen))
    fresh = load_dataset("ten_classes", n=data.N, seed=1000 + seed, scale="none")
    return {
        "trained points": len(chosen),
        "share": len(chosen) / data.N,
        "interior error": 1.0 - network.score(_original(data)[unseen], data.y[unseen]),
        "fresh error": 1.0 - network.score(fresh.X, fresh.y),
    }


def _trained(
    data: Dataset, chosen: NDArray[np.intp], seed: int, parameters: Parameters
) -> Pipeline:
    network = MLPClassifier(
        parameters.layers, activation="relu", solver="lbfgs", max_iter=parameters.steps,
        random_state=seed,
    )  # fmt: skip
    with warnings.catch_warnings():
        # The number of steps is the budget, the same for both.
        warnings.filterwarnings("ignore", message="lbfgs failed to converge")
        scaled = make_pipeline(StandardScaler(), network)
        return scaled.fit(_original(data)[chosen], data.y[chosen])


def _original(data: Dataset) -> NDArray[np.float64]:
    """Return the points in the unit square."""
    return data.X * data.scaling.factor + data.scaling.shift


def _knees(one: _Run) -> dict[str, object]:
    """Return R* of every class, 0 where all of its points are kept."""
    knees = {f"R* of {label}": knee for label, knee in enumerate(one.found.knees)}
    facts = {"points": one.found.data.N, "seed": one.seed, "outliers": len(one.found.outliers)}
    return facts | knees


def _figure(shown: _Run) -> Figure:
    from matplotlib import pyplot as plt

    from mlmio.pictures import plot_points, plot_regions

    data = shown.found.data
    kept = data.take(shown.boundary)
    figure, axes = plt.subplots(1, 3, figsize=(12.4, 4.2), layout="constrained")
    plot_points(data, axes[0])
    plot_points(kept, axes[1])
    plot_regions(shown.network, kept, axes[2])
    handles = axes[1].get_legend_handles_labels()
    titles = (
        f"all {data.N:,} points",
        f"the {kept.N:,} boundary points and outliers",
        "classes of the network trained on these",
    )
    for ax, title in zip(axes, titles, strict=True):
        ax.set_title(title, fontsize="medium", color="black")
        if ax.get_legend():
            ax.get_legend().remove()
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), aspect="equal")
    figure.legend(*handles, loc="outside right center", title="class", frameon=False, markerscale=2)
    return figure


def _claim(record: Record, parameters: Parameters, runs: list[_Run], means: pd.DataFrame) -> None:
    boundary, by_chance = means.loc["boundary points"], means.loc["random points"]
    proven = sum(one.result.status == "optimal" and one.result.verified for one in runs)
    record.claim("every metric is proven optimal", f"{proven} of {len(runs)}", proven == len(runs))
    shares = [one.share for one in runs[: len(parameters.seeds)]]
    record.claim(
        "for every seed more than half of the points can be left out",
        ", ".join(f"{share:.1%} kept" for share in shares),
        max(shares) < 0.5,
    )
    error = boundary["interior error mean"]
    record.claim(
        f"trained on boundary points, less than {parameters.most_error:.2%} of interior points are "
        f"wrong (paper: {PAPER_ERROR:.2%})",
        f"{error:.2%}",
        error < parameters.most_error,
    )
    errors = boundary["fresh error mean"], by_chance["fresh error mean"]
    record.claim(
        "on fresh points boundary points are, in the mean, worth more than as many random ones",
        f"{errors[0]:.2%} wrong instead of {errors[1]:.2%}",
        errors[0] < errors[1],
    )
