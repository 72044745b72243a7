"""The build context: where blocks publish what others build upon."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.series import pair_features

if TYPE_CHECKING:
    from mlmio.blocks import Block
    from mlmio.data import Dataset
    from mlmio.metric import Metric
    from mlmio.outline import Region
    from mlmio.served import Served


@dataclass(frozen=True)
class Margin:
    """Interval of the margin λ; a single value where it is a constant.

    Parameters
    ----------
    lower, upper : float
        Least and greatest value that λ may take.
    """

    lower: float
    upper: float

    @property
    def fixed(self) -> bool:
        """Whether λ is a constant."""
        return self.lower == self.upper


@dataclass(frozen=True)
class Choice:
    """The disjunctions that an encoding is to write: which co-class points serve each point.

    Parameters
    ----------
    y : Pyomo variable
        Binary, indexed by (i, j).
    candidates : list of lists of int
        For every point, the points that may serve it.
    k : int
        How many serve each kept point.
    """

    y: Any
    candidates: list[list[int]]
    k: int


@dataclass(frozen=True)
class Fences:
    """The separation rows of a model that is not whole, for a strategy to write on demand.

    Parameters
    ----------
    need : callable (i) -> expression
        What every d_ik must reach where no relief is given: s_i + λ.
    excess : callable (i, k) -> expression
        By how much row (i, k) is violated: the row is ``excess(i, k) <= 0``.
    """

    need: Callable[[int], Any]
    excess: Callable[[int, int], Any]


class Context:
    """What the blocks of one model publish for one another.

    Blocks read and set these attributes and never look for each other. The defaults stand for an
    empty ``loss`` slot: a free margin, no relief, every point kept.

    Parameters
    ----------
    data : Dataset
        The points that the model is about.
    model : Pyomo model
        The model under construction.
    whole : bool
        Whether the model is to hold the rows of the pairs of points; if not, a strategy does.

    Attributes
    ----------
    terms : dict of int to Pyomo variable
        Published by ``terms``: the parameters θ of each order.
    polyhedral : bool
        Published by ``cone``: whether linear rows state all of it. Where they do not, it is one
        of positive semidefinite matrices that holds every nonnegative diagonal one.
    distance : callable (i, j) -> expression
        Published by ``region``: d_ij.
    bounds : callable (i, j) -> (float, float)
        Published by ``region``: least and greatest value of d_ij.
    region : Region or None
        Published by ``region``: rows and columns of the parameters, without those of pairs.
    dmin, dmax : float
        Published by ``region``: least distance between classes, greatest of any pair.
    conflicting : array of int
        Published by ``region``: points that the loss must give up.
    margin : Margin
        Published by ``loss``: interval of λ.
    relief : callable (i, k, big_m) -> expression
        Published by ``loss``: by how much the separation row (i, k) is relaxed, where `big_m`
        switches it off.
    fenced : bool
        Published by ``loss``: whether every kept point has a separation row that is not relaxed
        (if it has any), so that s_i + λ is at most the greatest distance.
    kept : callable (i) -> expression
        Published by ``loss``: 1 where point i must be served, 0 where it is given up.
    couple : callable (y) -> None
        Published by ``loss``: called by ``neighbors`` with its choices, indexed by (i, j).
    outliers : mapping of int to variable, or None
        Published by ``loss``: z_i.
    surplus : float
        Published by ``loss``: weight of what points have beyond the worst one, where the
        neighbours count it.
    encode : callable (Choice) -> mapping of int to expression
        Published by ``encoding``: s_i, the distance to the farthest point that serves i.
    choice : Choice
        Published by ``neighbors`` that provide ``choice``: y and who may serve.
    value : expression
        Published by the same: λ.
    served : Served
        Published by whoever builds the model: bounds on λ by who serves whom, for ``cuts``.
    fences : Fences
        Published by ``neighbors`` that provide ``rows on demand``, where the model is not whole.
    threshold : Pyomo variable
        Published by ``side``: τ, which similar points do not exceed and dissimilar ones reach.
    exempt : (M, 2) array of int
        Published by ``region``: pairs i < k of different classes that need not be apart.
    neighbors : object
        Published by the outline of ``neighbors``, see :mod:`mlmio.outline`.
    loss : object or None
        Published by the outline of ``loss``; None where the slot is empty.
    resolved : dict of Block to Block
        Blocks whose parameters depended on the data, with the values found.
    """

    def __init__(self, data: Dataset, model: Any, whole: bool = True) -> None:
        self.data = data
        self.model = model
        self.whole = whole
        self.terms: dict[int, Any] = {}
        self.polyhedral = True
        self.distance: Callable[[int, int], Any]
        self.bounds: Callable[[int, int], tuple[float, float]]
        self.region: Region | None = None
        self.dmin: float = 0.0
        self.dmax: float = 1.0
        self.conflicting: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self.margin = Margin(-np.inf, np.inf)
        self.relief: Callable[[int, int, float], Any] = lambda i, k, big_m: 0
        self.fenced = False
        self.kept: Callable[[int], Any] = lambda i: 1
        self.couple: Callable[[Any], None] = lambda y: None
        self.outliers: Mapping[int, Any] | None = None
        self.surplus: float = 0.0
        self.encode: Callable[[Choice], Mapping[int, Any]]
        self.choice: Choice
        self.value: Any
        self.served: Served
        self.fences: Fences
        self.threshold: Any
        self.exempt: NDArray[np.intp] = np.empty((0, 2), dtype=np.intp)
        self.neighbors: Any = None
        self.loss: Any = None
        self.resolved: dict[Block, Block] = {}

    def publish_term(self, order: int, theta: Any) -> None:
        """Publish the parameters of one order."""
        self.terms[order] = theta

    @property
    def orders(self) -> list[int]:
        """Orders of the terms, in the order of :attr:`theta`."""
        return sorted(self.terms)

    @property
    def theta(self) -> list[Any]:
        """All parameters θ, order by order."""
        return [theta for order in self.orders for theta in self.terms[order].values()]

    @property
    def may_give_up(self) -> bool:
        """Whether the loss may give points up."""
        from pyomo.core import is_potentially_variable

        return bool(is_potentially_variable(self.kept(0)))

    def features(self, pairs: NDArray[np.intp]) -> Iterator[tuple[slice, NDArray[np.float64]]]:
        """Features φ of many pairs, in blocks: d_ij = φ_ij · θ."""
        return pair_features(self.data.X, pairs, self.orders)

    def read_metric(self) -> Metric:
        """Return the metric of the values that the variables have now."""
        from mlmio.metric import Metric

        entries = {
            order: np.array([_number(theta) for theta in self.terms[order].values()])
            for order in self.orders
        }
        return Metric.from_entries(
            entries,
            D=self.data.D,
            scaling=self.data.scaling,
            feature_names=self.data.feature_names,
        )

    def read_outliers(self) -> NDArray[np.bool_]:
        """Return the outliers of the values that the variables have now, as a mask."""
        mask = np.zeros(self.data.N, dtype=bool)
        for i, z in (self.outliers or {}).items():
            mask[i] = _number(z) > 0.5
        return mask


def _number(variable: Any) -> float:
    """Value of a variable; one that occurs in no row is never set by a solver and is zero."""
    return 0.0 if variable.value is None else float(variable.value)
