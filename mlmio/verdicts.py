"""What the lattice says of a comparison: what must agree, what must be in order, what breaks it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, permutations, product

import networkx as nx

from mlmio.composition import Composition
from mlmio.finding import Claim, Finding
from mlmio.lattice import EQUIVALENT, RESTRICTION, UNRELATED, Relation, relation, tightens
from mlmio.tables import number
from mlmio.verification import tolerance_of

# More lines of one kind than these are counted.
MOST_LINES = 6

LABELS = {"breach": "BREACH", "lp": "LP bound"}


@dataclass(frozen=True)
class Verdict:
    """One statement of the lattice.

    Parameters
    ----------
    kind : {"breach", "agree", "order", "lp"}
        Something is wrong; equivalent formulations agree; a restriction is not above what it
        restricts; a tighter encoding has no larger LP bound.
    text : str
        The statement, with its numbers.
    """

    kind: str
    text: str

    def __str__(self) -> str:
        return f"{LABELS.get(self.kind, self.kind)}: {self.text}"


def judge(found: Sequence[Finding]) -> tuple[Verdict, ...]:
    """Hold results to one another by the lattice, breaches first."""
    breaches = [*_unverified(found), *_exceeded(found), *_lp_breaches(found)]
    groups = equivalent(found)
    return (
        *(Verdict("breach", text) for text in breaches),
        *(Verdict("agree", text) for text in _agreements(groups)),
        *(Verdict("order", text) for text in _limited(list(_orders(groups)), "orders")),
        *(Verdict("lp", text) for text in _limited(list(_lp_orders(found)), "orders of LP bounds")),
    )


def contradicted(found: Sequence[Finding]) -> list[Finding]:
    """Return the results whose proof others contradict.

    An optimum that a solution exceeds that must not, infeasibility where there is a verified
    solution, and unboundedness of what another result bounds.
    """
    bounded = {a for b in found for a in _beyond(b, b.upper[0], found) if a.lower == math.inf}
    return [f for f in found if f in bounded or _beyond(f, f.proven_at_most, found)]


def related(found: Sequence[Finding]) -> bool:
    """Whether the lattice leads from every formulation to every other."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(found)))
    graph.add_edges_from(
        (p, q)
        for p, q in combinations(range(len(found)), 2)
        if _relation(found[p], found[q]).kind != UNRELATED
    )
    return bool(nx.is_connected(graph))


def equivalent(found: Sequence[Finding]) -> list[list[Finding]]:
    """Group results whose formulations have the same optimum."""
    graph = nx.Graph()
    graph.add_nodes_from(f.result.resolved for f in found)
    graph.add_edges_from(
        (a, b) for a, b in combinations(graph, 2) if _cached_relation(a, b).kind == EQUIVALENT
    )
    return [
        [f for f in found if f.result.resolved in group] for group in nx.connected_components(graph)
    ]


def root_gap_closed(group: Sequence[Finding]) -> dict[Claim, float]:
    """Percentage of the weakest root gap that each formulation's LP bound closes.

    Of the bounds of one strategy, since strategies relax differently.

    Parameters
    ----------
    group : sequence of Finding
        Results of equivalent formulations.

    Returns
    -------
    dict of Claim to float
        Empty where there is one formulation only, or no gap.
    """
    best = max(f.lower for f in group)
    if not math.isfinite(best):
        return {}
    closed: dict[Claim, float] = {}
    # Strategies relax differently: bounds of one strategy are held to one another.
    for strategy in {f.result.strategy for f in group}:
        closed |= _closed([f for f in group if f.result.strategy == strategy], best)
    return closed


def _closed(group: Sequence[Finding], best: float) -> dict[Claim, float]:
    bounds = {f.result: f.result.lp_bound for f in group if f.result.lp_bound is not None}
    weakest = max(bounds.values(), default=best)
    if len(_formulations(group)) < 2 or weakest - best <= tolerance_of(best):
        return {}
    return {claim: 100 * (weakest - bound) / (weakest - best) for claim, bound in bounds.items()}


def common_blocks(compositions: Sequence[Composition]) -> Composition:
    """Blocks that all compositions have."""
    shared = set.intersection(*(set(composition.blocks) for composition in compositions))
    return Composition(shared)


def _relation(a: Finding, b: Finding) -> Relation:
    return _cached_relation(a.result.resolved, b.result.resolved)


@lru_cache(maxsize=4096)
def _cached_relation(a: Composition, b: Composition) -> Relation:
    return relation(a, b)


@lru_cache(maxsize=4096)
def _cached_tightens(a: Composition, b: Composition) -> bool:
    return tightens(a, b)


def _unverified(found: Sequence[Finding]) -> Iterator[str]:
    for f in found:
        if f.result.status == "unverified":
            why = f.result.message.removeprefix("unverified: ")
            yield f"{f.name} does not hold in the data: {why}"


def _exceeded(found: Sequence[Finding]) -> Iterator[str]:
    """For each claim from above, the verified solution that exceeds it by most."""
    for b in found:
        limit, claim = b.upper
        beyond = _beyond(b, limit, found)
        if not beyond:
            continue
        worst = max(beyond, key=lambda a: a.lower)
        more = f" ({len(beyond)} runs contradict it)" if len(beyond) > 1 else ""
        yield f"{b.name} {claim}, but {_better(worst, b)}{more}"


def _beyond(b: Finding, limit: float, found: Sequence[Finding]) -> list[Finding]:
    """Verified solutions above a limit that those of their formulation must not be above."""
    least = limit + _slack(limit)
    return [a for a in found if a.lower > least and _never_above(a, b)]


def _never_above(a: Finding, b: Finding) -> bool:
    return a is b or _relation(a, b).kind in (EQUIVALENT, RESTRICTION)


def _better(a: Finding, b: Finding) -> str:
    if a is b:
        return f"its own verified solution has {number(a.lower, 9)}"
    link = _relation(a, b)
    how = "is equivalent to it" if link.kind == EQUIVALENT else "restricts it"
    if math.isinf(a.lower):
        says = "is said to be unbounded: one of the two is wrong"
    else:
        says = f"has a verified solution of {number(a.lower, 9)}: the claim is wrong"
    return f"{a.name}, which {how} ({link.reason}), {says}"


def _slack(value: float) -> float:
    return tolerance_of(value) if math.isfinite(value) else 0.0


def _agreements(groups: Sequence[Sequence[Finding]]) -> Iterator[str]:
    for group in groups:
        proven = [f for f in group if f.proven]
        infeasible = [f for f in group if f.result.status == "infeasible"]
        if len(proven) > 1 and not infeasible and _same(proven):
            best = max(f.lower for f in proven)
            yield f"{_name(group)}: {number(best)} by {len(proven)} runs ({_distinguish(proven)})"
        if len(infeasible) > 1 and not any(math.isfinite(f.lower) for f in group):
            yield f"{_name(group)}: infeasible by {len(infeasible)} runs"


def _same(proven: Sequence[Finding]) -> bool:
    best = max(proven, key=lambda f: f.lower)
    allowed = tolerance_of(best.lower) + best.rel_gap * abs(best.lower)
    return best.lower - min(f.lower for f in proven) <= allowed


def _name(group: Sequence[Finding]) -> str:
    """What the formulations of a group have in common."""
    return str(common_blocks([f.composition for f in group]))


def _distinguish(group: Sequence[Finding]) -> str:
    """What tells the runs of a group apart: their own blocks, and the solver if they differ."""
    shared = set(common_blocks([f.composition for f in group]).blocks)
    solvers = {f.result.solver for f in group}
    names = []
    for f in group:
        own = [str(part) for part in f.composition.blocks if part not in shared]
        names.append(" · ".join([*own, *([f.result.solver] if len(solvers) > 1 else [])]))
    return ", ".join(name or "defaults" for name in names)


def _orders(groups: Sequence[Sequence[Finding]]) -> Iterator[str]:
    """Restrictions whose best solution is within the bound of what they restrict."""
    for g, h in permutations(groups, 2):
        pairs = product(_formulations(g), _formulations(h))
        links = [link for a, b in pairs if (link := _cached_relation(a, b)).kind == RESTRICTION]
        low, high = max(a.lower for a in g), min(b.upper[0] for b in h)
        if not links or not (math.isfinite(low) and math.isfinite(high)):
            continue
        if low <= high + _slack(high):
            reason = min((link.reason for link in links), key=len)
            what = "" if any(b.proven for b in h) else "bound "
            yield f"{_name(g)} {number(low)} ≤ {what}{number(_best(h))} {_name(h)} ({reason})"


def _formulations(group: Sequence[Finding]) -> list[Composition]:
    """The formulations of a group, each once."""
    return list(dict.fromkeys(f.result.resolved for f in group))


def _best(group: Sequence[Finding]) -> float:
    """The optimum of a group where it is known, else its least bound."""
    proven = [f.lower for f in group if f.proven]
    return max(proven) if proven else min(f.upper[0] for f in group)


def _lp_pairs(found: Sequence[Finding]) -> Iterator[tuple[Finding, float, Finding, float]]:
    """Pairs of which the first must not have a larger LP bound than the second."""
    groups: dict[tuple[str, Composition], list[tuple[Finding, float]]] = {}
    for f in found:
        if f.result.lp_bound is not None:
            group = groups.setdefault((f.result.strategy, f.result.resolved), [])
            group.append((f, f.result.lp_bound))
    for (strategy, first), (other, second) in product(groups, groups):
        if strategy != other or not (first == second or _cached_tightens(first, second)):
            continue
        for (a, la), (b, lb) in product(groups[strategy, first], groups[other, second]):
            if a is not b:
                yield a, la, b, lb


def _lp_breaches(found: Sequence[Finding]) -> Iterator[str]:
    for a, la, b, lb in _lp_pairs(found):
        if la > lb + tolerance_of(lb):
            yield (
                f"the LP bound {number(la, 9)} of {a.name} is above the {number(lb, 9)} of "
                f"{b.name}, "
                f"which is not tighter: one of the two is wrong"
            )


def _lp_orders(found: Sequence[Finding]) -> Iterator[str]:
    """Orders of LP bounds that hold, each pair of formulations once."""
    seen = set()
    for a, la, b, lb in _lp_pairs(found):
        pair = (a.result.resolved, b.result.resolved)
        if pair[0] != pair[1] and pair not in seen and la <= lb + tolerance_of(lb):
            seen.add(pair)
            yield f"{a.composition} {number(la)} ≤ {number(lb)} {b.composition}"


def _limited(lines: list[str], what: str) -> list[str]:
    if len(lines) <= MOST_LINES:
        return lines
    return [*lines[: MOST_LINES - 1], f"{len(lines) - MOST_LINES + 1} more {what} hold"]
