"""A brute-force oracle: every outlier set, every choice of neighbours, one LP each.

It knows nothing of Pyomo, nor of any code of mlmio: features, semantics and LPs are its own, so
that an error would have to be made twice to go unseen. Choices are enumerated depth first, and a
branch is left where the LP of the choices made so far is no better than the best found, which
loses nothing: a further choice only adds rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, combinations_with_replacement, permutations

import numpy as np
from scipy.optimize import linprog

TINY = 1e-9
SEMANTICS = ("printed", "remove", "excuse")


@dataclass(frozen=True)
class Loss:
    """Outliers at the price `rho`, at least `keep` points kept in every class."""

    semantics: str = "remove"
    rho: float = 0.1
    keep: int = 2


@dataclass(frozen=True)
class Problem:
    """One composition on one data set."""

    X: np.ndarray
    y: np.ndarray
    orders: tuple[int, ...] = (1, 2)
    k: int = 1
    loss: Loss | None = None
    dmin: float | str = "auto"
    dmax: float = 1.0


def features(delta: np.ndarray, order: int) -> list[float]:
    """What each parameter of one order is multiplied by: a sum over the orders of its indices."""
    u = delta if order == 2 else abs(delta)
    return [
        sum(float(np.prod(u[list(indices)])) for indices in set(permutations(multiset)))
        for multiset in combinations_with_replacement(range(len(delta)), order)
    ]


def pair_features(X: np.ndarray, orders: Sequence[int]) -> np.ndarray:
    """(N, N, P) features of every pair."""
    return np.array(
        [[[value for n in sorted(orders) for value in features(a - b, n)] for b in X] for a in X]
    )


def largest_separation(
    X: np.ndarray, y: np.ndarray, orders: Sequence[int], dmax: float = 1.0
) -> float:
    """δ*: the largest least distance between classes; pairs that coincide are left out."""
    phi = pair_features(X, orders)
    P = phi.shape[2]
    rows, right = [], []
    for i, j in combinations(range(len(y)), 2):
        across = y[i] != y[j] and not np.array_equal(X[i], X[j])
        rows += [np.append(phi[i, j], 0.0), np.append(-phi[i, j], float(across))]
        right += [dmax, 0.0]
    answer = linprog(
        [0.0] * P + [-1.0], np.array(rows), right, bounds=[(None, None)] * P + [(None, dmax)]
    )
    assert answer.status == 0, answer.message
    return float(answer.x[-1])


def solve(problem: Problem) -> float | None:
    """Optimum over every outlier set and every choice; None where nothing is feasible."""
    search = _Search(problem)
    best = -np.inf
    for z in _outlier_sets(problem):
        price = problem.loss.rho * z.sum() if problem.loss else 0.0
        if problem.loss and problem.dmax - price <= best:
            continue
        best = max(best, search.run(z, best + price) - price)
    return None if np.isinf(best) else float(best)


def largest_margin(problem: Problem) -> Callable[[np.ndarray, dict[int, tuple[int, ...]]], float]:
    """Largest λ where z and some choices are given, −inf where there is none."""
    search = _Search(problem)

    def margin(z: np.ndarray, chosen: dict[int, tuple[int, ...]]) -> float:
        search.decide(z)
        return search.relaxation(chosen)[1]

    return margin


def largest_margin_keeping(problem: Problem, kept: np.ndarray) -> float:
    """Largest λ, whatever it costs, with some points kept and any others given up."""
    search, best = _Search(problem), -np.inf
    for z in _outlier_sets(problem):
        if not z[kept].any():
            best = max(best, search.run(z, best))
    return best


def _outlier_sets(problem: Problem) -> Iterator[np.ndarray]:
    """Every z that keeps enough of each class and gives up the points that coincide."""
    N, y = len(problem.y), problem.y
    if problem.loss is None:
        yield np.zeros(N, dtype=bool)
        return
    coincide = [
        any(y[i] != y[k] and np.array_equal(problem.X[i], problem.X[k]) for k in range(N))
        for i in range(N)
    ]
    for size in range(N + 1):
        for given_up in combinations(range(N), size):
            z = np.zeros(N, dtype=bool)
            z[list(given_up)] = True
            kept = [np.sum(~z[y == c]) for c in np.unique(y)]
            if min(kept) >= problem.loss.keep and z[coincide].all():
                yield z


class _Search:
    """Depth-first enumeration of the choices for one z after another."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.N = len(problem.y)
        self.across = problem.y[:, None] != problem.y[None, :]
        self.phi = pair_features(problem.X, problem.orders)
        self.P = self.phi.shape[2]
        dmin = problem.dmin
        if dmin == "auto":
            delta = largest_separation(problem.X, problem.y, problem.orders, problem.dmax)
            dmin = min(0.01 * problem.dmax, delta / 2)
        self.region, self.limits = self._region(float(dmin))

    def _region(self, dmin: float) -> tuple[list[np.ndarray], list[float]]:
        rows, right = [], []
        for i, j in combinations(range(self.N), 2):
            apart = self.across[i, j] and not np.array_equal(self.problem.X[i], self.problem.X[j])
            rows += [np.append(self.phi[i, j], 0.0), np.append(-self.phi[i, j], 0.0)]
            right += [self.problem.dmax, -dmin if apart else 0.0]
        return rows, right

    def decide(self, z: np.ndarray) -> np.ndarray:
        """Set the rows in force and the interval of λ; returns who may serve."""
        loss = self.problem.loss
        semantics = loss.semantics if loss else "excuse"
        in_force = self.across.copy()
        if semantics in ("remove", "excuse"):
            in_force[z, :] = False
        if semantics in ("remove", "printed"):
            in_force[:, z] = False
        server = np.ones(self.N, dtype=bool) if semantics == "excuse" else ~z
        self.in_force = in_force
        self.interval = (0.0, self.problem.dmax) if loss else (-np.inf, np.inf)
        return server

    def run(self, z: np.ndarray, best: float) -> float:
        """Largest λ for this z, or −inf where it is not above `best`."""
        server = self.decide(z)
        self.options: list[list[tuple[int, ...]]] = []
        for i in range(self.N):
            may_serve = np.flatnonzero(~self.across[i] & server & (np.arange(self.N) != i))
            choices = list(combinations(may_serve.tolist(), self.problem.k))
            self.options.append([()] if z[i] else choices)
        if not all(self.options):
            return -np.inf
        self.best = best
        self.found = -np.inf
        self._descend(dict.fromkeys(np.flatnonzero(z).tolist(), ()))
        return self.found

    def _descend(self, chosen: dict[int, tuple[int, ...]]) -> None:
        theta, bound = self.relaxation(chosen)
        if bound <= self.best + TINY:
            return
        d = self.phi @ theta
        separation = np.array([self._separation(d, i) for i in range(self.N)])
        lower, upper = self.interval
        value = min(float(separation.min()), upper)
        if value > self.best and value >= lower - TINY:
            self.best = self.found = value
        open_points = [i for i in range(self.N) if i not in chosen]
        if not open_points or bound <= self.best + TINY:
            return
        i = min(open_points, key=lambda point: separation[point])
        for choice in sorted(self.options[i], key=lambda js: max(d[i, j] for j in js)):
            self._descend({**chosen, i: choice})

    def _separation(self, d: np.ndarray, i: int) -> float:
        """What point i allows λ to be under distances d, with its best choice."""
        reach = min(max((d[i, j] for j in choice), default=0.0) for choice in self.options[i])
        return float(np.min(d[i, self.in_force[i]], initial=np.inf) - reach)

    def relaxation(self, chosen: dict[int, tuple[int, ...]]) -> tuple[np.ndarray, float]:
        """The LP in (θ, λ) with the rows of the choices made; λ ≤ d_ik for the other points."""
        rows, right = list(self.region), list(self.limits)
        for i in range(self.N):
            for j in chosen.get(i, ()) or (i,):
                for k in np.flatnonzero(self.in_force[i]):
                    rows.append(np.append(self.phi[i, j] - self.phi[i, k], 1.0))
                    right.append(0.0)
        bounds = [(None, None)] * self.P + [self.interval]
        answer = linprog([0.0] * self.P + [-1.0], np.array(rows), right, bounds=bounds)
        if answer.status == 2:
            return np.zeros(self.P), -np.inf
        assert answer.status == 0, answer.message
        return answer.x[:-1], float(answer.x[-1])
