"""Cases: what a suite comes to, one solve each, and the key of each."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from mlmio.bench.machine import fingerprint
from mlmio.bench.points import hash_of, load_points
from mlmio.bench.suite import Suite
from mlmio.composition import Composition, compose
from mlmio.errors import DataError
from mlmio.registry import solvers, strategies

# To be raised whenever the same case comes to mean something else.
MEANING = 1


@dataclass(frozen=True)
class Case:
    """One solve, with everything that determines it.

    Parameters
    ----------
    key : str
        Hash of all the rest, and of the points and versions.
    asked : mapping
        What is run, as plain values: what determines the points, ``composition``, ``solver``
        (None where the strategy has none), ``strategy``, ``time_limit``, ``grace``,
        ``memory_mib``, ``rel_gap``, ``threads``, ``seed``, ``repetition``.
    facts : mapping
        ``N``, ``D`` and ``classes`` of the points; None where there are none.
    """

    key: str
    asked: Mapping[str, Any]
    facts: Mapping[str, int | None]

    @property
    def threads(self) -> int:
        """Threads of the solver."""
        threads: int = self.asked["threads"]
        return threads

    @property
    def described(self) -> dict[str, Any]:
        """What a record says of it, see :class:`mlmio.bench.records.Record`."""
        left_out = ("per_class", "n", "features", "classes", "data_seed", "scale", "label")
        rest = {name: value for name, value in self.asked.items() if name not in left_out}
        return {**rest, **self.facts, "sampling": self._sampling}

    @property
    def _sampling(self) -> str:
        asked = self.asked
        sizes = [
            f"{name}={asked[name]}"
            for name in ("per_class", "n", "features", "classes", "label")
            if asked[name] is not None
        ]
        return ", ".join([*sizes, f"seed={asked['data_seed']}", f"scale={asked['scale']}"])

    @property
    def name(self) -> str:
        """Points, formulation and what solves it, with what tells draws and repetitions apart."""
        asked = self.asked
        sizes = {"N": self.facts["N"], **{name: asked[name] for name in ("features", "classes")}}
        drawn = [f"{name}={size}" for name, size in sizes.items() if size is not None]
        points = " ".join([asked["dataset"], *drawn, f"seed={asked['data_seed']}"])
        solver = "" if asked["solver"] is None else f"{asked['solver']} "
        repeated = {"threads": 1, "seed": 0, "repetition": 0}
        how = [f"{name}={asked[name]}" for name, usual in repeated.items() if asked[name] != usual]
        return " · ".join(
            [points, asked["composition"], " ".join([f"{solver}{asked['strategy']}", *how])]
        )


def plan(suite: Suite, data_dir: str | None = None) -> list[Case]:
    """Return every case of a suite, each once, in the order of running.

    The points are loaded, since they are part of what determines a case.
    """
    cases = {}
    known = cache(fingerprint)
    for entry in suite.datasets:
        for drawing in entry.drawings():
            points = _known_points(drawing, data_dir)
            for way in _ways(suite):
                case = _case({**drawing, **way}, points, known)
                cases[case.key] = case
    return list(cases.values())


def packages_of(case: Case) -> set[str]:
    """Names of the packages whose code a case runs."""
    return _packages(compose(case.asked["composition"]), case.asked)


def _known_points(drawing: Mapping[str, Any], data_dir: str | None) -> dict[str, Any]:
    """Size and hash of the points; those that cannot be loaded have none, which is no news yet."""
    try:
        data = load_points(drawing, data_dir)
    except DataError:
        return {"N": None, "D": None, "classes": None, "points": None}
    return {"N": data.N, "D": data.D, "classes": data.n_classes, "points": hash_of(data)}


def _ways(suite: Suite) -> Iterator[dict[str, Any]]:
    """Every formulation with every strategy, solver, number of threads, seed and repetition."""
    formulations = [c for entry in suite.compositions for c in entry.compositions()]
    limits = _plain_limits(suite.limits)
    grid = product(
        dict.fromkeys(map(str, formulations)),
        dict.fromkeys(_solved_by(suite)),
        suite.threads,
        suite.seeds,
        range(suite.repetitions),
    )
    for composition, (strategy, solver), threads, seed, repetition in grid:
        yield {
            "composition": composition,
            "strategy": strategy,
            "solver": solver,
            "threads": threads,
            "seed": seed,
            "repetition": repetition,
            **limits,
        }


def _plain_limits(limits: Any) -> dict[str, Any]:
    """Limits as plain values, numbers of seconds as floats."""
    values = limits.model_dump()
    return {**values, "time_limit": float(values["time_limit"]), "grace": float(values["grace"])}


def _solved_by(suite: Suite) -> Iterator[tuple[str, str | None]]:
    for strategy in suite.strategies:
        if not strategies.get(strategy).needs_solver:
            yield strategy, None
            continue
        for solver in suite.solvers:
            yield strategy, solver


def _case(
    asked: dict[str, Any], points: Mapping[str, Any], known: Callable[..., dict[str, Any]]
) -> Case:
    facts = {name: points[name] for name in ("N", "D", "classes")}
    composition = compose(asked["composition"])
    names = [] if asked["solver"] is None else [asked["solver"]]
    determined = {
        "meaning": MEANING,
        "asked": asked,
        "points": points["points"],
        "versions": known(frozenset(_packages(composition, asked)), tuple(names)),
    }
    text = json.dumps(determined, sort_keys=True, ensure_ascii=False)
    return Case(hashlib.sha256(text.encode()).hexdigest(), asked, facts)


def _packages(composition: Composition, asked: Mapping[str, Any]) -> set[str]:
    used = [type(part) for part in composition.completed.blocks]
    used.append(strategies.get(asked["strategy"]))
    if asked["solver"] is not None:
        used.append(solvers.get(asked["solver"]))
    return {"mlmio", *(cls.__module__.partition(".")[0] for cls in used)}
