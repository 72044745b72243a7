"""Bounds on the margin by who serves each point, from linear programs in the metric alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.errors import CompositionError
from mlmio.outline import GivingUp, Outline
from mlmio.starts import STARTS, starts

if TYPE_CHECKING:
    from mlmio.blocks import Block
    from mlmio.kernels.node import Node, Solution
    from mlmio.kernels.programs import Work
    from mlmio.metric import Metric
    from mlmio.parametric import Parametric

Array = NDArray[np.float64]

# Added to every bound, in units of d_max: more than the rounding of a linear program whose steps
# are all dual feasible, and less than the gap to which a solver proves an optimum.
SAFE = 2e-8


class Served:
    r"""What the choice of the points that serve allows λ to be, for blocks of slot ``cuts``.

    The programs know the region and the separation rows of the points whose server is decided;
    without a loss they know λ ≤ d_ik for every pair of different classes as well, which follows
    from d ≥ 0. They are relaxations of the model, so that their optima are upper bounds; a safe
    tolerance is added to each. Where a point is given up under the semantics ``excuse`` its own
    rows are relieved and no others: what a point that is kept allows does not depend on z.

    Parameters
    ----------
    sketch : callable () -> Outline
        Makes the outline of the composition; called when it is needed.

    Attributes
    ----------
    found : (Metric, (N,) array of bool) or None
        The best solution of a search tree, and who is given up in it.
    """

    def __init__(self, sketch: Callable[[], Outline]) -> None:
        self._sketch = sketch
        self.found: tuple[Metric, NDArray[np.bool_]] | None = None

    @cached_property
    def outline(self) -> Outline:
        """The composition without the rows of its pairs."""
        return self._sketch()

    def require(self, block: Block) -> None:
        """Refuse losses under which the bounds do not hold.

        Raises
        ------
        CompositionError
            Naming the blocks.
        """
        if not _relieves_own_rows(self.outline.context.loss):
            other = next(part for part in self.outline.blocks if part.slot == "loss")
            raise CompositionError(
                f"'{block}' is not valid beside '{other}', whose rows are not relieved by their "
                f"own point alone: drop it, or use no loss or outliers(semantics='excuse')"
            )

    @cached_property
    def margins(self) -> Array:
        """Upper bounds β_ij of λ where j serves i, an (N, N) array."""
        from mlmio.kernels.serving import solve_choices

        problem, work, root, counts = self._begun
        bounds = np.full((self.outline.data.N,) * 2, -np.inf)
        solve_choices(problem.instance, root, work, bounds, counts)
        return self._safe(bounds)

    @property
    def point_margins(self) -> Array:
        """Upper bounds β_i of λ where point i is kept: the k-th largest β_ij, an (N,) array."""
        k = self.outline.context.neighbors.k
        return np.sort(self.margins, axis=1)[:, -k]

    @property
    def most(self) -> float:
        """Upper bound of λ whoever is given up, as long as enough of every class are kept."""
        context, data = self.outline.context, self.outline.data
        margins, keep = self.point_margins, data.class_sizes
        if context.loss is not None:
            margins[context.conflicting] = -np.inf
            keep = np.full(data.n_classes, context.loss.keep)
        most = context.dmax
        for c in np.flatnonzero(keep):
            # The least of the kept is no larger than if the points that allow most are kept.
            most = min(most, np.sort(margins[data.y == c])[-keep[c]])
        return float(most)

    def worths(self, nodes: int) -> Array:
        """Bound λ − ρ Σ z by the leaves of a search tree.

        Parameters
        ----------
        nodes : int
            How many nodes of the branch and bound over who serves each point are expanded.

        Returns
        -------
        (N, N + 1) array
            Upper bounds of λ − ρ Σ z if j serves i and, in the last column, if i is given up. None
            is below the best solution found, which closes the other branches of the tree.
        """
        from mlmio.kernels.node import new_closing
        from mlmio.kernels.serving import bound_choices
        from mlmio.search import Search

        problem = _margin_problem(self.outline)
        work, root, counts = _begin(problem)
        search = Search(problem, root, _best_of_starts(problem, root, work))
        search.run(lambda: search.nodes >= nodes, lambda progress: None)
        bounds = np.full((self.outline.data.N, self.outline.data.N + 1), search.closed)
        # The best first, so that the programs of the others are cut off early.
        rules = problem.instance.rules
        closing = new_closing(self.outline.data.N, rules.k, len(root.lower))
        for leaf in sorted(search.leaves(), key=lambda leaf: -leaf.bound):
            bound_choices(problem.instance, leaf, work, bounds, closing, counts)
        if np.isfinite(search.solution.value[0]):
            metric = self.outline.metric(problem.theta(search.solution.x))
            self.found = (metric, problem.given_up(search.solution))
        return self._safe(bounds)

    def conflicts(self) -> NDArray[np.bool_]:
        """Find the pairs of points that no metric serves both with a margin that is not negative.

        Returns
        -------
        (N, N) array of bool
            Symmetric; on the diagonal, the points that no metric serves.
        """
        from mlmio.kernels.serving import find_conflicts

        problem, work, root, counts = self._begun
        compatible = np.zeros_like(problem.instance.classes.together)
        least = -SAFE * self.outline.context.dmax
        find_conflicts(problem.instance, root, work, self.margins, least, compatible, counts)
        found = ~compatible
        np.fill_diagonal(found, self.point_margins < 0)
        return found

    @cached_property
    def _begun(self) -> tuple[Parametric, Work, Node, NDArray[np.int64]]:
        """The problem of λ alone, which no point relieves, and its root."""
        problem = _margin_problem(self.outline)
        instance = problem.instance
        rules = instance.rules._replace(price=0.0)
        lower = instance.columns.lower.copy()
        # λ < 0 is allowed, so that a bound says by how much a choice is impossible.
        lower[-1] = -instance.table.dmax
        columns = instance.columns._replace(lower=lower)
        free = replace(problem, instance=instance._replace(rules=rules, columns=columns))
        return free, *_begin(free)

    def _safe(self, bounds: Array) -> Array:
        """Bounds that rounding does not break, within the interval of λ."""
        dmax = self.outline.context.dmax
        return np.clip(bounds + SAFE * dmax, -dmax, dmax)


def _relieves_own_rows(loss: object) -> bool:
    """Whether a point that is given up relieves its own rows and changes nothing else."""
    if isinstance(loss, GivingUp):
        return loss.own and loss.serving and not loss.others
    return loss is None


def _margin_problem(outline: Outline) -> Parametric:
    """The problem with λ and the prices as its objective, whatever else contributes to it."""
    from mlmio.parametric import parametric

    region = replace(outline.region, cost=np.zeros_like(outline.region.cost))
    problem = parametric(replace(outline, region=region))
    # Without a loss no point is relieved: λ ≤ d_ik for all of them, since d_ij ≥ 0.
    rules = problem.instance.rules._replace(bare=True)
    return replace(problem, instance=problem.instance._replace(rules=rules))


def _begin(problem: Parametric) -> tuple[Work, Node, NDArray[np.int64]]:
    """Memory for the programs, the root of the problem, and counters."""
    from mlmio.kernels.programs import new_counts, new_work
    from mlmio.parametric import root_of

    work, counts = new_work(problem.instance), new_counts()
    return work, root_of(problem, work, counts)[1], counts


def _best_of_starts(problem: Parametric, root: Node, work: Work) -> Solution:
    """The best solution of alternations from several metrics."""
    from mlmio.kernels.alternate import ROUNDS, alternate
    from mlmio.kernels.programs import new_counts

    solution, counts = problem.nothing_found(), new_counts()
    if problem.instance.columns.integer.any():
        # Alternation would keep the whole numbers at the values of the root.
        return solution
    for theta in starts(problem.outline, STARTS, seed=0):
        problem.distances(theta, work)
        alternate(problem.instance, root, work, solution, ROUNDS, counts)
    return solution
