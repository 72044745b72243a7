"""Run one experiment of the paper, or all."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from time import perf_counter
from types import ModuleType

import matplotlib as mpl

from benchmarks.paper.record import Record
from mlmio import MlmioError

EXPERIMENTS = (
    "boundary-points",
    "lines",
    "six-d",
    "iris",
    "mnist",
    "table",
    "boundaries",
    "outliers",
    "network",
    "trap",
)


def main(words: list[str] | None = None) -> int:
    """Run what the command line asks for; 1 if a claim does not hold or something cannot run."""
    asked = _arguments(words)
    mpl.use("Agg")
    names = EXPERIMENTS if asked.name == "all" else (asked.name,)
    try:
        failed = [name for name in names if not _ran(name, asked)]
    except KeyboardInterrupt:
        print(f"stopped: what was found so far is in {asked.out}", file=sys.stderr)
        return 130
    if failed:
        print(f"not shown: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


def _ran(name: str, asked: argparse.Namespace) -> bool:
    """Run one experiment, and return whether all that it claims holds."""
    module = _module(name)
    print(f"{name}: {title(module)}", flush=True)
    parameters = module.FAST if asked.fast else module.Parameters()
    try:
        folder = asked.out / name
        folder.mkdir(parents=True, exist_ok=True)
        record = Record(folder, asked.fast, asked.data_dir)
        began = perf_counter()
        module.run(record, parameters)
        record.finish(parameters, perf_counter() - began)
    except (MlmioError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    for claim in record.claims:
        mark = "holds" if claim["holds"] else "FAILS"
        print(f"  {mark}: {claim['claim']}: {claim['measured']}")
    print(f"  {perf_counter() - began:.1f} s, in {record.folder}", flush=True)
    return record.holds


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"benchmarks.paper.{name.replace('-', '_')}")


def title(module: ModuleType) -> str:
    """Return the first line of what a module says of itself."""
    return (module.__doc__ or "").splitlines()[0]


def _arguments(words: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description="Remake the figures and tables of the paper: PNG and PDF, CSV, certificates.",
    )
    parser.add_argument(
        "name", choices=(*EXPERIMENTS, "all"), metavar="NAME", help=", ".join((*EXPERIMENTS, "all"))
    )
    parser.add_argument(
        "--fast", action="store_true", help="small runs on data that needs no download"
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", help="where data sets are (else MLMIO_DATA, else OpenML)"
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="a folder for each experiment"
    )
    return parser.parse_args(words)


if __name__ == "__main__":
    sys.exit(main())
