"""Alternation between who serves and the metric, on one outline."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from mlmio.assembly import evaluate
from mlmio.oracle import Neighborhood, Oracle, class_sample
from mlmio.outline import GivingUp, Majority, Outline, Serving, Softening
from mlmio.softened import Active, Softened
from mlmio.solvers.trajectory import Recorder
from mlmio.strategies.polish import Best

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROUNDS = 8
# A start is left when a round gains less than this share of the objective.
LEAST_GAIN = 1e-3
# Above this many points, a start is first improved on so many of them.
SAMPLE = 2000
# Share of the time that the sample may take: what it finds is worth nothing until all points are
# held within their bounds.
SAMPLED = 0.5
# What a point lacks is priced by the price of giving it up over what it lacked before, at least
# this: the concave count of points by its tangent.
LEAST_LACK = 0.02
# Bounds of distances are broken by no more than this: the certificate tolerates 1e-6.
ACCEPTED = 9e-7


class Alternation:
    """Alternation on one outline.

    Parameters
    ----------
    sketch : Outline
        What is solved.
    left : callable () -> float
        Seconds that are left.
    seed : int
        Of the sample that stands for many points.
    """

    def __init__(self, sketch: Outline, left: Callable[[], float], seed: int) -> None:
        context, data = sketch.context, sketch.data
        self.sketch, self.left, self.loss = sketch, left, context.loss
        self.everyone = Oracle(data, context.orders, context.exempt)
        self.sample = self.everyone
        if data.N > SAMPLE:
            rows = class_sample(data, SAMPLE, seed)
            self.sample = Oracle(data, context.orders, context.exempt, rows)
        self.best = Best(-np.inf, None, np.zeros(data.N, dtype=bool))
        self.starts = 0
        self.record = Recorder()
        self.record.note(bound=self.bound)
        # What held the last program is likely to hold the next.
        self.active = Active()
        neighbors = context.neighbors
        # A majority of the K nearest is aimed at by as many points that must be near enough.
        self.k = neighbors.k if isinstance(neighbors, Serving) else neighbors.K // 2 + 1

    @property
    def bound(self) -> float | None:
        """What no solution exceeds, from the margin and the prices alone."""
        context = self.sketch.context
        if isinstance(context.neighbors, Majority) or (self.sketch.region.cost > 0).any():
            return None
        return 0.0 if isinstance(self.loss, Softening) else float(context.dmax)

    @property
    def proven(self) -> bool:
        """Whether the best solution attains the bound: no point lacks any margin that there is."""
        return self.bound is not None and self.best.objective >= self.bound

    def improve(self, theta: Array) -> None:
        """Alternate from θ until a round gains little; where many points, on a sample first."""
        self._consider_scaled(theta)
        if self.proven:
            return
        last = -np.inf
        sampled = self.sample is not self.everyone
        deadline = perf_counter() + self.left() * (SAMPLED if sampled else 1.0)
        for _ in range(ROUNDS):
            if self.left() <= 0.0 and self.best.theta is not None:
                return
            program = self._program(theta)
            program.begin_with(self.active)
            seconds = min(self.left(), deadline - perf_counter())
            found = program.solve(theta, self.sample, seconds)
            if found is None:
                break
            self.active = program.active()
            theta = found
            value = self._consider(theta, program.cost, self.sample)
            if value <= last + LEAST_GAIN * max(abs(last), 1e-3):
                break
            last = value
        if sampled and self.left() > 0.0:
            found = program.solve(theta, self.everyone, self.left())
            if found is not None:
                self._consider(found, program.cost, self.everyone)

    def _consider_scaled(self, theta: Array) -> None:
        """Let a start be a solution itself, its distances as large as they may be."""
        region, dmax = self.sketch.region, self.sketch.context.dmax
        if len(region.columns) > region.P:
            # What the other columns would have to be is not known.
            return
        (_, longest), _ = self.everyone.violated(theta, 0.0, 0.0)
        if not len(longest):
            return
        theta = theta * (dmax / longest[0])
        held = (region.A @ theta <= region.b).all()
        if held and ((region.lower <= theta) & (theta <= region.upper)).all():
            self._consider(theta, float(region.cost @ theta), self.everyone)

    def _program(self, theta: Array) -> Softened:
        """Return the program for the neighbours that are nearest under θ."""
        context, oracle = self.sketch.context, self.sample
        outliers, near = self._choose(theta, oracle)
        served_by = near.served_by.copy()
        fencing = np.ones(len(outliers), dtype=bool)
        margin = (context.margin.lower, context.margin.upper)
        if isinstance(context.neighbors, Majority):
            margin = (context.neighbors.eps,) * 2
        margin = (max(margin[0], -context.dmax), min(margin[1], context.dmax))
        price = np.full(len(outliers), np.inf)
        if isinstance(self.loss, Softening):
            price[:] = self.loss.price
        elif isinstance(self.loss, GivingUp):
            fencing = ~(outliers & self.loss.others)
            least = float(near.separation[~outliers].min(initial=context.dmax))
            allowed = max(least, -context.dmax)
            lacking = np.maximum(allowed - near.separation, LEAST_LACK)
            price = self.loss.price / np.where(np.isfinite(lacking), lacking, 1.0)
        elif isinstance(context.neighbors, Majority):
            price[:] = 1.0 / len(price)
        if isinstance(self.loss, GivingUp):
            served_by[np.isin(oracle.rows, context.conflicting)] = -1
        return Softened(self.sketch, oracle, served_by, price, margin, fencing)

    def _choose(self, theta: Array, oracle: Oracle) -> tuple[Mask, Neighborhood]:
        """Choose who is given up under θ, and who then serves."""
        near = oracle.nearest(theta, k=self.k)
        outliers = np.zeros(len(oracle.rows), dtype=bool)
        if not isinstance(self.loss, GivingUp):
            return outliers, near
        outliers = give_up(self.sketch, oracle.rows, near.separation)
        if not self.loss.serving or self.loss.others:
            serving = np.ones_like(outliers) if self.loss.serving else ~outliers
            fencing = ~outliers if self.loss.others else np.ones_like(outliers)
            near = oracle.nearest(theta, k=self.k, serving=serving, fencing=fencing)
        return outliers, near

    def _consider(self, theta: Array, cost: float, oracle: Oracle) -> float:
        """Value θ on the points of an oracle; if on all, it may become the incumbent."""
        outliers, near = self._choose(theta, oracle)
        value = cost + self._value(theta, oracle, outliers, near)
        feasible = oracle is self.everyone and self._feasible(theta)
        if feasible:
            self.take(Best(value, theta, outliers))
        return value

    def take(self, found: Best) -> None:
        """Let a solution be the best, if it is better."""
        if found.objective > self.best.objective:
            self.best = found
            self.record.note(found.objective)

    def _value(self, theta: Array, oracle: Oracle, outliers: Mask, near: Neighborhood) -> float:
        context = self.sketch.context
        if isinstance(context.neighbors, Majority):
            return self._counted(theta, outliers, near)
        if isinstance(self.loss, Softening):
            lack = np.maximum(self.loss.margin - near.separation, 0.0)
            return -float(lack.mean())
        relieved = outliers if self.loss is not None and self.loss.own else np.zeros_like(outliers)
        least = float(near.separation[~outliers].min(initial=np.inf))
        if self.loss is None:
            return min(least, context.dmax)
        if not relieved.any() and outliers.any():
            # As printed, an outlier still holds λ below the distance to any kept point.
            least = min(least, float(near.fenced_at[outliers, 0].min()))
        if least < 0:
            return -np.inf
        return min(least, context.dmax) - self.loss.price * int(outliers.sum())

    def _counted(self, theta: Array, outliers: Mask, near: Neighborhood) -> float:
        """κ and what goes with it, by the block's own count where all points are at hand."""
        if len(outliers) < self.sketch.data.N:
            return -float(np.maximum(-near.separation, 0.0).mean())
        metric = self.sketch.metric(theta)
        return evaluate(self.sketch.blocks, self.sketch.data, metric, outliers).objective

    def _feasible(self, theta: Array) -> bool:
        context = self.sketch.context
        far, near = self.everyone.violated(theta, context.dmin, context.dmax)
        return all(amounts.max(initial=0.0) <= ACCEPTED for _, amounts in (far, near))


def give_up(sketch: Outline, rows: NDArray[np.intp], separation: Array) -> Mask:
    """Give up the points of least separation, so many that λ − ρ Σ z is largest.

    Exact for ``excuse``, with the floor of every class: λ is the separation of the first point
    that is kept.
    """
    context, data = sketch.context, sketch.data
    loss: GivingUp = context.loss
    forced = np.isin(rows, context.conflicting)
    order = np.argsort(np.where(forced, -np.inf, separation), kind="stable")
    left = np.bincount(data.y[rows], minlength=data.n_classes)
    best, count = -np.inf, 0
    for t, i in enumerate(order):
        allowed = min(separation[i], context.dmax)
        if not forced[i] and allowed >= 0 and allowed - loss.price * t > best:
            best, count = allowed - loss.price * t, t
        if not forced[i] and context.dmax - loss.price * (t + 1) <= best:
            break
        c = data.y[rows[i]]
        if left[c] <= loss.keep:
            break
        left[c] -= 1
        if best == -np.inf:
            count = t + 1
    outliers = np.zeros(len(rows), dtype=bool)
    outliers[order[:count]] = True
    return outliers
