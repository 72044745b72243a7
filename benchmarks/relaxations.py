"""How strong encodings and cuts are: the strength study of the documentation.

    python benchmarks/relaxations.py OUT [--time-limit 5] [--solver highs] [--quick]

For every instance the optimum is found beforehand, then every formulation is solved as a whole,
with it to start from. Writes OUT.csv, a row for each instance and formulation, OUT.json, options
and the machine, and OUT.svg, the share of the root gap that the LP closes against its time, and
prints the shares. ``--quick`` takes the smallest instance of each set.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib
import pandas as pd

from mlmio import Dataset, Strength, load_dataset, strength
from mlmio.bench.machine import describe

FULL, DIAGONAL = "linear + quadratic", "quadratic + diagonal"
# Name, points of each class, terms: 13 and more features have more products than there are points.
SETS = (
    ("iris", (5, 8, 12, 16, 20), FULL),
    ("wine", (5, 12), DIAGONAL),
    ("breast_cancer", (8, 20), "linear"),
    ("islands", (5, 8), FULL),
    ("two_lines", (8, 20), FULL),
)
REGION = "bounded(dmin=0.001)"
LOSSES = ("", " + outliers(rho=0.05, semantics='excuse')")
ENCODINGS = ("bigm", "bigm(tighten='box')", "mccormick", "gdp(method='hull')")
# One linear program for every two candidates of a point: for the smaller instances.
DEAR, FEW = "gdp(method='mbigm')", 24
CUTS = ("disjunction_bounds", "basic_steps(nodes=10)", "basic_steps")
CUTS_FOR_OUTLIERS = (
    "quantile_cuts",
    "conflict_cuts",
    "quantile_cuts + conflict_cuts + basic_steps",
)


def main() -> None:
    """Measure every instance, and write what came of them."""
    arguments = _arguments()
    frames = []
    for name, sizes, terms in SETS:
        for per_class in sizes[:1] if arguments.quick else sizes:
            data = load_dataset(name, per_class=per_class, seed=0)
            for loss in LOSSES:
                found = _measured(data, terms, loss, arguments)
                print(f"{name}, N = {data.N}{loss}\n{found}\n", flush=True)
                facts = {"set": name, "N": data.N, "loss": loss.removeprefix(" + ")}
                frame = found.to_frame().assign(**facts)
                frames.append(frame.assign(own=_own(frame)))
                _write(pd.concat(frames, ignore_index=True), arguments)


def _measured(data: Dataset, terms: str, loss: str, arguments: argparse.Namespace) -> Strength:
    base = f"{terms} + {REGION} + nearest{loss}"
    cuts = CUTS + CUTS_FOR_OUTLIERS if loss else CUTS
    encodings = ENCODINGS + (DEAR,) * (data.N <= FEW)
    formulations = [f"{base} + {encoding}" for encoding in encodings]
    formulations += [f"{base} + bigm + {cut}" for cut in cuts]
    return strength(
        formulations, data, arguments.solver, time_limit=arguments.time_limit, threads=1
    )


def _write(frame: pd.DataFrame, arguments: argparse.Namespace) -> None:
    out: Path = arguments.out
    kept = frame.loc[:, ["set", "N", "loss", "own", *COLUMNS]].round(6)
    kept.to_csv(out.with_suffix(".csv"), index=False)
    options = {name: value for name, value in vars(arguments).items() if name != "out"}
    facts = {"options": options, "machine": describe()}
    out.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    _draw(frame, out.with_suffix(".svg"))


COLUMNS = (
    "rows", "nonzeros", "lp_bound", "lp_closed", "root_bound", "root_closed", "optimum", "proven",
    "build_s", "lp_s", "solve_s", "nodes", "status",
)  # fmt: skip


def _draw(frame: pd.DataFrame, file: Path) -> None:
    """Draw the share of the gap against the time, with and without a loss."""
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "mlmio"
    import matplotlib.pyplot as plt

    from mlmio.pictures.drawing import color, legend, marker

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
    names = list(dict.fromkeys(frame["own"]))
    for ax, (loss, part) in zip(axes, frame.groupby("loss", sort=True), strict=False):
        for n, name in enumerate(names):
            rows = part[part["own"] == name]
            times = rows["build_s"] + rows["lp_s"]
            look = {"color": color(n), "marker": marker(n), "linewidth": 0, "markersize": 5}
            ax.plot(times, rows["lp_closed"].astype(float), label=name, **look)
        ax.set(xscale="log", xlabel="build and LP, s", title=loss or "no loss")
    axes[0].set_ylabel("root gap closed by the LP, %")
    legend(ax)
    figure.savefig(file)
    plt.close(figure)


def _own(frame: pd.DataFrame) -> pd.Series:
    """Return what of each formulation is its own: encoding and cuts."""
    blocks = (*ENCODINGS, DEAR, *CUTS, *CUTS_FOR_OUTLIERS[:2])

    def own(formulation: str) -> str:
        parts = [part.strip() for part in formulation.split(" + ")]
        found = [part for part in parts if part in blocks]
        return " + ".join(part for part in found if part != "bigm") or "bigm"

    return frame["formulation"].map(own)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--time-limit", type=float, default=5.0)
    parser.add_argument("--solver", default="highs")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    main()
