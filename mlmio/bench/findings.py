"""What the cases of a run say of one another: disagreements, orders, root gaps."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import networkx as nx

from mlmio.bench.evidence import Evidence
from mlmio.bench.order import natural
from mlmio.composition import Composition, compose
from mlmio.errors import CompositionError
from mlmio.finding import Finding
from mlmio.lattice import EQUIVALENT, relation
from mlmio.verdicts import (
    common_blocks,
    contradicted,
    equivalent,
    judge,
    root_gap_closed,
)

if TYPE_CHECKING:
    import pandas as pd

# Kind, instance, text.
Statement = tuple[str, str, str]

# Columns that a claim is made of.
CLAIM = (
    *("key", "instance", "composition", "contestant", "resolved", "strategy_run", "status"),
    *("message", "verified", "objective", "bound", "lp_bound", "rel_gap", "seconds"),
)

#: Outcomes and statuses that are failures, not limits that were reached.
FAILED = ("failed", "crashed", "out of memory", "timed out", "error")


@dataclass(frozen=True, eq=False)
class Kept:
    """What was kept of a result, for :func:`mlmio.verdicts.judge`; see :class:`mlmio.Result`.

    ``solver`` is everything that solved it: solver, strategy and threads.
    """

    resolved: Composition
    solver: str
    strategy: str
    status: str
    message: str
    verified: bool
    objective: float | None
    bound: float | None
    lp_bound: float | None
    seconds: float


@dataclass(frozen=True, eq=False)
class Findings:
    """What is to be said of a run as a whole.

    Parameters
    ----------
    wrong : pandas.DataFrame
        Every breach of the lattice, every unverified result, every formulation that cannot be
        judged: columns ``kind``, ``instance``, ``text``.
    verdicts : pandas.DataFrame
        The lattice's other statements, with the same columns.
    failures : pandas.DataFrame
        Cases without a result, those of one contestant and one message in one row.
    contradicted : set of str
        Keys of the cases whose optimum a verified solution exceeds.
    closed : dict of str to float
        For the key of a case the percentage of the root gap that its LP bound closes.
    """

    wrong: pd.DataFrame
    verdicts: pd.DataFrame
    failures: pd.DataFrame
    contradicted: set[str]
    closed: dict[str, float]


def find(evidence: Evidence) -> Findings:
    """Hold the cases of each instance to one another."""
    statements: list[Statement] = []
    exceeded: set[str] = set()
    closed: dict[str, float] = {}
    done = evidence.cases.loc[evidence.cases["outcome"] == "done", list(CLAIM)]
    for instance, cases in sorted(done.groupby("instance"), key=lambda part: natural(part[0])):
        keys = _found(cases)
        found = list(keys)
        statements += [(verdict.kind, str(instance), verdict.text) for verdict in judge(found)]
        exceeded.update(key for finding in contradicted(found) for key in keys[finding])
        closed |= _closed(keys)
    breaches = [statement for statement in statements if statement[0] == "breach"]
    return Findings(
        wrong=_frame([*breaches, *_unverified(evidence.cases), *_unknown(evidence.cases)]),
        verdicts=_frame([statement for statement in statements if statement[0] != "breach"]),
        failures=_failures(evidence.cases),
        contradicted=exceeded,
        closed=closed,
    )


def _frame(statements: Sequence[Statement]) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(statements, columns=["kind", "instance", "text"])


def _closed(keys: Mapping[Finding, Sequence[str]]) -> dict[str, float]:
    """For the keys of the cases of one instance the percentage of the root gap they close."""
    of_claim = {finding.result: names for finding, names in keys.items()}
    return {
        key: percent
        for group in equivalent(list(keys))
        for claim, percent in root_gap_closed(group).items()
        for key in of_claim[claim]
    }


def families(compositions: Sequence[str]) -> dict[str, str]:
    """Name for each formulation what it and those of the same optimum have in common.

    Parameters
    ----------
    compositions : sequence of str
        One that this installation cannot read is alone.

    Examples
    --------
    >>> names = families(["linear + nearest + bigm", "linear + nearest + mccormick"])
    >>> set(names.values())
    {'linear + nearest'}
    """
    composed = {text: made for text in compositions if (made := composed_or_none(text))}
    graph = nx.Graph()
    graph.add_nodes_from(composed)
    known = list(composed)
    for place, first in enumerate(known):
        graph.add_edges_from(
            (first, other)
            for other in known[place + 1 :]
            if relation(composed[first], composed[other]).kind == EQUIVALENT
        )
    names = {text: text for text in compositions}
    taken: set[str] = set()
    for group in sorted(map(sorted, nx.connected_components(graph))):
        name = str(common_blocks([composed[text] for text in group])) or group[0]
        # Two families may have the same blocks in common: each has a name of its own.
        name = group[0] if name in taken else name
        taken.add(name)
        names |= dict.fromkeys(group, name)
    return names


@lru_cache(maxsize=65536)
def composed_or_none(text: str) -> Composition | None:
    """Read a composition; None where this installation does not have its blocks."""
    try:
        composition = compose(text)
        # What cannot be completed is in no relation to anything.
        return composition if composition.completed else None
    except CompositionError:
        return None


def _found(cases: pd.DataFrame) -> dict[Finding, list[str]]:
    """The claims of one instance, each once, with the keys of the cases that make it."""
    made: dict[tuple[Any, ...], Finding] = {}
    keys: dict[Finding, list[str]] = {}
    for case in cases.itertuples():
        numbers = (case.objective, case.bound, case.lp_bound, case.rel_gap)
        said = (case.contestant, case.resolved, case.status, case.message, case.verified)
        claim = (*said, *map(_known, numbers))
        if claim not in made:
            finding = _finding(case)
            if finding is None:
                continue
            made[claim] = finding
        keys.setdefault(made[claim], []).append(case.key)
    return keys


def _finding(case: Any) -> Finding | None:
    """What a case claims; None where this installation cannot read its formulation."""
    asked, resolved = composed_or_none(case.composition), composed_or_none(case.resolved)
    if asked is None or resolved is None:
        return None
    kept = Kept(
        resolved=resolved,
        solver=case.contestant.removeprefix(f"{case.composition} · "),
        strategy=case.strategy_run,
        status=case.status,
        message=case.message,
        verified=case.verified,
        objective=_known(case.objective),
        bound=_known(case.bound),
        lp_bound=_known(case.lp_bound),
        seconds=case.seconds,
    )
    return Finding(asked, kept, _known(case.rel_gap) or 0.0)


def _known(value: Any) -> float | None:
    return None if math.isnan(value) else float(value)


def _unverified(cases: pd.DataFrame) -> Iterator[Statement]:
    """Solutions without a certificate; those whose certificate says no are breaches."""
    claimed = cases["status"].isin(["optimal", "feasible"]) & ~cases["verified"]
    for case in cases[claimed].itertuples():
        text = f"{case.contestant} claims to be {case.status}, and nothing verifies it"
        yield "unverified", case.instance, text


def _unknown(cases: pd.DataFrame) -> Iterator[Statement]:
    """Formulations that cannot be judged."""
    done = cases[cases["outcome"] == "done"]
    texts = {*done["composition"], *done["resolved"]}
    for text in sorted(text for text in texts if composed_or_none(text) is None):
        said = (
            f"{text} cannot be held to the others: this installation does not know all its blocks"
        )
        yield "not judged", "all", said


def _failures(cases: pd.DataFrame) -> pd.DataFrame:
    """Cases without a result, the same failure of one contestant in one row."""
    failed = cases[cases["status"].isin([*FAILED, "refused"])]
    grouped = failed.groupby(["status", "contestant", "message"], sort=False)
    table = grouped["instance"].agg(cases="size", instances=_several).reset_index()
    # Refusals last: nothing went wrong there.
    table["refused"] = table["status"] == "refused"
    table = table.sort_values(["refused", "status", "contestant"], kind="stable")
    return table.drop(columns="refused").reset_index(drop=True)


def _several(instances: pd.Series) -> str:
    return "; ".join(sorted(set(instances), key=natural))
