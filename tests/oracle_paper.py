"""A brute-force oracle for what the paper has besides the single nearest neighbour.

Cones, lasso, cardinality, the hinge, K nearest neighbours and LMNN, on very small data. Like
`oracle`, of which it has the features of pairs, it knows nothing of Pyomo nor of any code of
mlmio, and states things in other ways than the blocks do: an absolute value is the largest over
all signs, a sparse tensor one choice of its entries, a radius the interval that it may lie in.
Choices are enumerated depth first, with one LP each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, product

import numpy as np
from oracle import TINY, pair_features
from scipy.optimize import linprog


@dataclass(frozen=True)
class Setting:
    """Points, and where the parameters θ of their distances may lie.

    `cone` is "diagonal" or "gershgorin"; `mu` the price of the entries of B; `sparse` the most
    entries of the tensors of some orders, their greatest magnitude, and those orders.
    """

    X: np.ndarray
    y: np.ndarray
    orders: tuple[int, ...] = (1, 2)
    dmin: float = 0.01
    dmax: float | None = 1.0
    cone: str | None = None
    mu: float = 0.0
    sparse: tuple[int, float, tuple[int, ...]] | None = None

    @property
    def N(self) -> int:
        return len(self.y)

    @property
    def across(self) -> np.ndarray:
        return self.y[:, None] != self.y[None, :]

    @property
    def entries(self) -> list[tuple[int, ...]]:
        """Multiset of coordinates of each parameter, in the order of the features."""
        D = self.X.shape[1]
        return [s for n in sorted(self.orders) for s in combinations_with_replacement(range(D), n)]


class Region:
    """Rows A θ ≤ b of a setting, and the bounds of θ for one choice of entries."""

    def __init__(self, setting: Setting, bounds: list[tuple[float | None, float | None]]) -> None:
        self.setting, self.bounds = setting, bounds
        self.phi = pair_features(setting.X, setting.orders)
        self.P = self.phi.shape[2]
        self.A: list[np.ndarray] = []
        self.b: list[float] = []
        if setting.dmax is not None:
            for i, j in combinations(range(setting.N), 2):
                self._add(self.phi[i, j], setting.dmax)
                self._add(-self.phi[i, j], -setting.dmin if setting.across[i, j] else 0.0)
        for row in _cone_rows(setting):
            self._add(row, 0.0)

    def _add(self, row: np.ndarray, limit: float) -> None:
        self.A.append(row)
        self.b.append(limit)

    def maximise(
        self, gain: np.ndarray, rows: list[np.ndarray], limits: list[float], bounds: list
    ) -> tuple[np.ndarray, float] | None:
        """Largest gain · (θ, further columns) − μ Σ|B| under further rows; None if infeasible."""
        more = len(bounds)
        signs = self._signs() if self.setting.mu else np.empty((0, self.P))
        # The last column is Σ|B|: no less than its entries summed with any signs.
        own = np.hstack([np.reshape(self.A, (-1, self.P)), np.zeros((len(self.A), more + 1))])
        given = np.hstack([np.reshape(rows, (-1, self.P + more)), np.zeros((len(rows), 1))])
        total = np.hstack([signs, np.zeros((len(signs), more)), -np.ones((len(signs), 1))])
        answer = linprog(
            -np.append(gain, -self.setting.mu),
            np.vstack([own, given, total]),
            [*self.b, *limits, *np.zeros(len(signs))],
            bounds=[*self.bounds, *bounds, (0.0, None)],
        )
        if answer.status == 2:
            return None
        assert answer.status == 0, answer.message
        return answer.x[: self.P], float(-answer.fun)

    def _signs(self) -> np.ndarray:
        """Every choice of signs of the entries of B, 0 for those of other tensors."""
        quadratic = [len(entry) == 2 for entry in self.setting.entries]
        choices = np.array(list(product((-1.0, 1.0), repeat=sum(quadratic))))
        signs = np.zeros((len(choices), self.P))
        signs[:, quadratic] = choices
        return signs

    def price(self, theta: np.ndarray) -> float:
        """μ Σ|B|."""
        return self.setting.mu * float(np.abs(self._signs() * theta)[0].sum())


def _cone_rows(setting: Setting) -> Iterator[np.ndarray]:
    """Rows ≤ 0: the radius of Gershgorin's circle, in all signs, is no larger than B_pp."""
    if setting.cone is None:
        return
    D = setting.X.shape[1]
    place = {entry: n for n, entry in enumerate(setting.entries)}
    for p in range(D):
        others = [place[min(p, q), max(p, q)] for q in range(D) if q != p]
        for signs in product((-1.0, 1.0), repeat=len(others)):
            row = np.zeros(len(place))
            row[place[p, p]] = -1.0
            row[others] = 0.0 if setting.cone == "diagonal" else signs
            yield row


def regions(setting: Setting) -> Iterator[Region]:
    """The region; of a sparse setting one for every choice of entries that may differ from 0."""
    free = [(None, None)] * len(setting.entries)
    if setting.cone == "diagonal":
        off = [len(entry) == 2 and len(set(entry)) == 2 for entry in setting.entries]
        free = [(0.0, 0.0) if zero else bound for zero, bound in zip(off, free, strict=True)]
    if setting.sparse is None:
        yield Region(setting, free)
        return
    most, bmax, orders = setting.sparse
    counted = [n for n, entry in enumerate(setting.entries) if len(entry) in orders]
    for chosen in combinations(counted, min(most, len(counted))):
        bounds = list(free)
        for n in counted:
            held = bounds[n] == (0.0, 0.0) or n not in chosen
            bounds[n] = (0.0, 0.0) if held else (-bmax, bmax)
        yield Region(setting, bounds)


def nearest(setting: Setting, k: int = 1, hinge: float | None = None) -> float | None:
    """Optimum of S0, or with the hinge of that margin; None where nothing is feasible."""
    best = -np.inf
    for region in regions(setting):
        best = _Nearest(region, k, hinge).run(best)
    return None if np.isinf(best) else float(best)


class _Nearest:
    """Depth-first enumeration of the k points that serve each point."""

    def __init__(self, region: Region, k: int, hinge: float | None) -> None:
        self.region, self.k, self.hinge = region, k, hinge
        self.N, self.across = region.setting.N, region.setting.across
        self.options = [
            list(combinations([j for j in range(self.N) if j != i and not self.across[i, j]], k))
            for i in range(self.N)
        ]

    def run(self, best: float) -> float:
        self.best = best
        self._descend({})
        return self.best

    def _descend(self, chosen: dict[int, tuple[int, ...]]) -> None:
        found = self._relaxation(chosen)
        if found is None or found[1] <= self.best + TINY:
            return
        theta, bound = found
        d = self.region.phi @ theta
        separation = np.array([self._separation(d, i) for i in range(self.N)])
        self.best = max(self.best, self._value(separation) - self.region.price(theta))
        left = [i for i in range(self.N) if i not in chosen]
        if not left or bound <= self.best + TINY:
            return
        i = min(left, key=lambda point: separation[point])
        for choice in sorted(self.options[i], key=lambda js: max(d[i, j] for j in js)):
            self._descend({**chosen, i: choice})

    def _separation(self, d: np.ndarray, i: int) -> float:
        reach = min(max(d[i, j] for j in choice) for choice in self.options[i])
        return float(d[i, self.across[i]].min() - reach)

    def _value(self, separation: np.ndarray) -> float:
        if self.hinge is None:
            return float(separation.min())
        return -float(np.maximum(0.0, self.hinge - separation).mean())

    def _relaxation(self, chosen: dict[int, tuple[int, ...]]) -> tuple[np.ndarray, float] | None:
        """The LP with the rows of the choices made; the distances of the others are taken as 0."""
        P, N, phi = self.region.P, self.N, self.region.phi
        more = 1 if self.hinge is None else N
        rows, limits = [], []
        for i in range(N):
            for j in chosen.get(i, (i,)):
                for k in np.flatnonzero(self.across[i]):
                    row = np.append(phi[i, j] - phi[i, k], np.zeros(more))
                    row[P + (0 if self.hinge is None else i)] = 1.0 if self.hinge is None else -1.0
                    rows.append(row)
                    limits.append(0.0 if self.hinge is None else -self.hinge)
        gain = np.zeros(P + more)
        gain[P:] = 1.0 if self.hinge is None else -1.0 / N
        bounds = [(None, None)] if self.hinge is None else [(0.0, None)] * N
        return self.region.maximise(gain, rows, limits, bounds)


def lmnn(setting: Setting, targets: list[tuple[int, int]], mu: float) -> float | None:
    """Optimum of LMNN with these target neighbours: the greatest of minus its loss."""
    [region] = regions(setting)
    triplets = [(i, j, k) for i, j in targets for k in np.flatnonzero(setting.across[i])]
    rows = []
    for n, (i, j, k) in enumerate(triplets):
        row = np.append(region.phi[i, j] - region.phi[i, k], np.zeros(len(triplets)))
        row[region.P + n] = -1.0
        rows.append(row)
    pull = sum(region.phi[i, j] for i, j in targets)
    gain = np.append(-(1 - mu) * pull, np.full(len(triplets), -mu))
    bounds = [(0.0, None)] * len(triplets)
    found = region.maximise(gain, rows, [-1.0] * len(triplets), bounds)
    return found and found[1]


@dataclass(frozen=True)
class GivenUp:
    """Outliers at the price `rho`, `keep` kept in each class, and who relieves which row."""

    semantics: str = "remove"
    rho: float = 0.1
    keep: int = 2


def knn(
    setting: Setting,
    K: int,
    eps: float,
    loss: GivenUp | None = None,
    W: float | None = None,
    printed: bool = False,
) -> float | None:
    """Optimum of K0, or of K1 with a loss, in the settled form; None where nothing is feasible.

    `W` is 1/(NK+1) by default. With `printed`, κ is held by the outliers as well, and `W` is
    2/(NK) by default.
    """
    auto = 2 / (setting.N * K) if printed else 1 / (setting.N * K + 1)
    weight = 0.0 if loss is None else auto if W is None else W
    [region] = regions(setting)
    possible = _Possible(region, eps)
    best = -np.inf
    for z in _outliers(setting, loss):
        price = loss.rho * z.sum() if loss else 0.0

        def value(counts: list[int], z: np.ndarray = z, price: float = price) -> float:
            least = 0 if printed and z.any() else min(counts, default=K)
            return least + weight * sum(counts) - price

        best = _Neighbours(possible, K, z, loss.semantics if loss else "remove").run(value, best)
    return None if np.isinf(best) else float(best)


def _outliers(setting: Setting, loss: GivenUp | None) -> Iterator[np.ndarray]:
    """Every z that keeps enough of each class, the fewest outliers first."""
    for size in range(setting.N + 1 if loss else 1):
        for given_up in combinations(range(setting.N), size):
            z = np.isin(np.arange(setting.N), given_up)
            kept = [np.sum(~z[setting.y == c]) for c in np.unique(setting.y)]
            if loss is None or min(kept) >= loss.keep:
                yield z


@dataclass(frozen=True)
class _Set:
    """Neighbours of a point: `count` of its class, all of them within, the others beyond."""

    point: int
    count: int
    within: tuple[int, ...]
    beyond: tuple[int, ...]

    def holds(self, d: np.ndarray, eps: float) -> bool:
        """Whether a radius parts them under these distances."""
        reach = max((d[self.point, j] for j in self.within), default=0.0)
        return all(d[self.point, k] >= reach + eps for k in self.beyond)


class _Possible:
    """Which sets some θ and radii in [0, dmax] allow at once; remembers what it found."""

    def __init__(self, region: Region, eps: float) -> None:
        self.region, self.eps = region, eps
        self.known: dict[frozenset[_Set], bool] = {}
        self.distances: list[np.ndarray] = []

    def __call__(self, sets: Sequence[_Set]) -> bool:
        key = frozenset(sets)
        if key not in self.known:
            self.known[key] = self._seen(sets) or self._solve(sets)
        return self.known[key]

    def _seen(self, sets: Sequence[_Set]) -> bool:
        return any(all(s.holds(d, self.eps) for s in sets) for d in reversed(self.distances))

    def _solve(self, sets: Sequence[_Set]) -> bool:
        phi, more = self.region.phi, len(sets)
        rows, limits = [], []
        for radius, s in zip(np.eye(more), sets, strict=True):
            rows += [np.append(phi[s.point, j], -radius) for j in s.within]
            rows += [np.append(-phi[s.point, k], radius) for k in s.beyond]
            limits += [0.0] * len(s.within) + [-self.eps] * len(s.beyond)
        bounds = [(0.0, self.region.setting.dmax)] * more
        found = self.region.maximise(np.zeros(self.region.P + more), rows, limits, bounds)
        if found is not None:
            self.distances.append(phi @ found[0])
        return found is not None


class _Neighbours:
    """Depth-first enumeration of the neighbours of each point, for one z."""

    def __init__(self, possible: _Possible, K: int, z: np.ndarray, semantics: str) -> None:
        self.possible, self.K, self.z = possible, K, z
        across, N = possible.region.setting.across, len(z)
        relieved = np.zeros((N, N), dtype=bool)
        relieved[z, :] |= semantics in ("remove", "excuse")
        relieved[:, z] |= semantics in ("remove", "printed")
        serves = np.ones(N, dtype=bool) if semantics == "excuse" else ~z
        self.in_force = across & ~relieved
        self.same = ~across & serves & ~np.eye(N, dtype=bool)
        self.kept = [i for i in range(N) if not z[i]]

    def run(self, value: Callable[[list[int]], float], best: float) -> float:
        """Best objective where kept points have so many of their class, if above `best`."""
        self.value, self.best = value, best
        if value([min(self.K, int(self.same[i].sum())) for i in self.kept]) <= best + TINY:
            return best
        # An outlier has no neighbours: of its rows that are not relieved, d_ik ≥ ε is left.
        chosen = [_Set(i, 0, (), self._others(i)) for i in np.flatnonzero(self.z)]
        options = [list(self._options(i)) for i in self.kept]
        if self.possible(chosen) and all(options):
            self._descend(sorted(options, key=lambda sets: sets[0].count), chosen, [])
        return self.best

    def _others(self, i: int) -> tuple[int, ...]:
        return tuple(np.flatnonzero(self.in_force[i]).tolist())

    def _options(self, i: int) -> Iterator[_Set]:
        """The sets that are possible by themselves, the largest first."""
        same, other = np.flatnonzero(self.same[i]).tolist(), self._others(i)
        for count in range(min(self.K, len(same)), -1, -1):
            for size in range(min(self.K - count, len(other)) + 1):
                for S, T in product(combinations(same, count), combinations(other, size)):
                    option = _Set(i, count, (*S, *T), tuple(k for k in other if k not in T))
                    if self.possible([option]):
                        yield option

    def _descend(self, options: list[list[_Set]], chosen: list[_Set], counts: list[int]) -> None:
        if not options:
            self.best = self.value(counts)
            return
        most = [sets[0].count for sets in options[1:]]
        for option in options[0]:
            reached = [*counts, option.count]
            if self.value(reached + most) <= self.best + TINY:
                return
            pairs = ([option, other] for other in chosen)
            if all(map(self.possible, pairs)) and self.possible([*chosen, option]):
                self._descend(options[1:], [*chosen, option], reached)
