"""The outline of a composition on data: what a strategy needs to hold the rows of pairs itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.blocks import Block
from mlmio.errors import CompositionError, SolverError

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.context import Context
    from mlmio.data import Dataset
    from mlmio.metric import Metric

Array = NDArray[np.float64]

# Slots whose rows and variables are as many as the points or their pairs.
OUTLINED = ("neighbors", "loss")

# Classes of problem whose rows are linear.
LINEAR = ("LP", "MILP")


@dataclass(frozen=True)
class Serving:
    """Neighbours that serve: the k nearest co-class points are nearer than any non-class point.

    Parameters
    ----------
    k : int
        How many serve each kept point.
    """

    k: int


@dataclass(frozen=True)
class Majority:
    """Neighbours that are counted: κ, the least number of co-class points among K.

    Parameters
    ----------
    K : int
        Number of neighbours.
    eps : float
        By how much the neighbours left out are farther.
    """

    K: int
    eps: float


@dataclass(frozen=True)
class GivingUp:
    """A loss that gives points up.

    Parameters
    ----------
    price : float
        Of a point that is given up.
    own, others : bool
        Whether its own rows (i, k) are relieved, and those of others in which it is k.
    serving : bool
        Whether it may serve others.
    keep : int
        Least number of kept points in every class.
    """

    price: float
    own: bool
    others: bool
    serving: bool
    keep: int


@dataclass(frozen=True)
class Softening:
    """A loss that lets points lack a constant margin.

    Parameters
    ----------
    margin : float
        The margin.
    price : float
        Of a unit of what a point lacks.
    """

    margin: float
    price: float


@dataclass(frozen=True)
class Region:
    """The rows A x ≤ b and columns of everything but the pairs' own rows.

    Parameters
    ----------
    columns : list
        The Pyomo variables, the parameters θ first.
    P : int
        How many parameters.
    cost : (m,) array
        Contribution of each column to the objective, which is maximised.
    A : (R, m) sparse array
    b : (R,) array
    lower, upper : (m,) arrays
        Bounds of the columns, infinite where there is none.
    integer : (m,) array of bool
        Which columns are integer.
    """

    columns: list[Any]
    P: int
    cost: Array
    A: Any
    b: Array
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]


@dataclass(frozen=True)
class Outline:
    """A composition on data without the rows of its pairs.

    Parameters
    ----------
    composition : Composition
        What was asked for.
    blocks : tuple of Block
        Its blocks in the order of building, with parameters that depended on the data as values.
    context : Context
        What they published; ``context.neighbors`` and ``context.loss`` are of the classes above.
    region : Region
        Cones, sparsity, side information and bounds of the parameters.
    """

    composition: Composition
    blocks: tuple[Block, ...]
    context: Context
    region: Region

    @property
    def data(self) -> Dataset:
        """The points that the model is about."""
        return self.context.data

    @property
    def resolved(self) -> Composition:
        """The completed composition, with values for what depended on the data."""
        from mlmio.composition import Composition

        return Composition(self.blocks)

    def metric(self, theta: Array) -> Metric:
        """Return the metric of the parameters, order by order."""
        from mlmio.metric import Metric

        entries, start = {}, 0
        for order in self.context.orders:
            stop = start + len(self.context.terms[order])
            entries[order] = np.array(theta[start:stop], dtype=float)
            start = stop
        data = self.data
        return Metric.from_entries(
            entries, D=data.D, scaling=data.scaling, feature_names=data.feature_names
        )

    def theta(self, metric: Metric) -> Array:
        """Return the parameters of a metric, order by order; the inverse of the above."""
        return np.concatenate([metric.entries(order) for order in self.context.orders])

    def require(self, strategy: str, neighbors: tuple[type, ...], loss: tuple[type, ...]) -> None:
        """Refuse blocks that a strategy cannot take.

        Raises
        ------
        SolverError
            Naming the block.
        """
        for slot, taken in (("neighbors", neighbors), ("loss", loss)):
            if not isinstance(getattr(self.context, slot), taken):
                part = next(part for part in self.blocks if part.slot == slot)
                raise SolverError(
                    f"strategy {strategy!r} does not take the block '{part}': use strategy 'auto', "
                    f"which does, or replace that block"
                )


def outline(composition: Composition, data: Dataset, relaxed: bool = False) -> Outline:
    """Build everything of a composition but what is as large as the pairs of points.

    Rows that are not linear, as of some cones, are left out where it may be `relaxed`.

    Raises
    ------
    CompositionError
        If the composition is not complete.
    SolverError
        If a block of the slots ``neighbors`` and ``loss`` does not state its outline, or the rows
        of another are not linear and it may not be relaxed.
    DataError
        If the data do not allow it.
    """
    import pyomo.environ as pyo

    from mlmio.assembly import prepare
    from mlmio.context import Context

    parts = composition.ordered
    if not relaxed:
        _refuse_curved(parts)
    model = pyo.ConcreteModel()
    context = Context(prepare(parts, data), model, whole=False)
    objective: Any = 0
    for part in parts:
        if part.slot in OUTLINED:
            _outline_of(part, context)
        elif part.slot not in ("encoding", "cuts"):
            # All encodings of a choice have the same optimum, and cuts change nothing in it.
            b = pyo.Block(concrete=True)
            model.add_component(part.label, b)
            contribution = part.build(context, b)
            objective = objective if contribution is None else objective + contribution
    blocks = tuple(context.resolved.get(part, part) for part in parts)
    return Outline(composition, blocks, context, region_of(context, objective))


def _refuse_curved(parts: Sequence[Block]) -> None:
    """Refuse blocks whose rows are not linear; all encodings of a choice have the same optimum."""
    for part in parts:
        if part.slot != "encoding" and part.problem_class not in LINEAR:
            raise SolverError(
                f"the rows of the block '{part}' are not linear, and only the strategies 'direct' "
                f"and 'rows' take it: use one of them, or replace that block"
            )


def curved_rows(model: Any) -> list[Any]:
    """Return the rows of a Pyomo model that are not linear."""
    from pyomo.core import Constraint

    rows = model.component_data_objects(Constraint, active=True)
    return [row for row in rows if row.body.polynomial_degree() not in (0, 1)]


@contextmanager
def _linear_rows(context: Context) -> Iterator[None]:
    """Leave the rows that are not linear out meanwhile, where a cone has any."""
    curved = [] if context.polyhedral else curved_rows(context.model)
    for row in curved:
        row.deactivate()
    try:
        yield
    finally:
        for row in curved:
            row.activate()


def _outline_of(part: Block, context: Context) -> None:
    if type(part).outline is Block.outline:
        raise SolverError(
            f"block '{part}' states no outline, which every strategy but 'direct' needs: use "
            f"strategy='direct'"
        )
    part.outline(context)


def region_of(context: Context, objective: Any = 0) -> Region:
    """Return what is built so far as arrays, by Pyomo's standard form; rows of cones left out.

    Raises
    ------
    CompositionError
        If the objective is not linear.
    """
    from pyomo.common.errors import InfeasibleConstraintException
    from pyomo.core import Constraint, Var
    from pyomo.repn import generate_standard_repn
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
    from scipy.sparse import csr_array

    columns = list(context.theta)
    known = {id(column): n for n, column in enumerate(columns)}
    for variable in context.model.component_data_objects(Var, active=True):
        if id(variable) not in known:
            known[id(variable)] = len(columns)
            columns.append(variable)
    m = len(columns)
    A, b = csr_array((0, m)), np.empty(0)
    if next(context.model.component_data_objects(Constraint, active=True), None) is not None:
        try:
            with _linear_rows(context):
                form = LinearStandardFormCompiler().write(context.model)
        except InfeasibleConstraintException:
            # A row without columns that does not hold: 0 ≤ −1 stands for all.
            A, b = csr_array((1, m)), np.array([-1.0])
        else:
            entries = form.A.tocoo()
            where = np.array([known[id(column)] for column in form.columns], dtype=np.int32)
            shape = (entries.shape[0], m)
            A = csr_array((entries.data, (entries.row, where[entries.col])), shape=shape)
            b = np.asarray(form.rhs, dtype=float)
    cost = np.zeros(m)
    repn = generate_standard_repn(objective)
    if not repn.is_linear():
        raise CompositionError("the objective of a block is not linear: use strategy='direct'")
    for variable, coefficient in zip(repn.linear_vars, repn.linear_coefs, strict=True):
        cost[known[id(variable)]] += coefficient
    lower = np.array([-np.inf if v.lb is None else v.lb for v in columns], dtype=float)
    upper = np.array([np.inf if v.ub is None else v.ub for v in columns], dtype=float)
    integer = np.array([v.is_integer() for v in columns], dtype=bool)
    return Region(columns, len(context.theta), cost, A, b, lower, upper, integer)
