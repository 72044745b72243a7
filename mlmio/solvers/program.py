"""A Pyomo model as arrays: what every adapter hands to its solver."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from mlmio.errors import SolverError

Array = NDArray[np.float64]

# A row of constants only, and a point to start from, may be wrong by as much as this.
TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False)
class Quadratic:
    """The products Σ_m coefficients[m] x[first[m]] x[second[m]] of one row.

    Parameters
    ----------
    first, second : array of int
        Positions of the factors among the columns.
    coefficients : array
        What each product is multiplied by.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    coefficients: Array

    def value(self, x: Array) -> float:
        """Value at a point."""
        return float(self.coefficients @ (x[self.first] * x[self.second]))


@dataclass(frozen=True, eq=False)
class Program:
    """Optimise c x + offset over lower ≤ x ≤ upper, row_lower ≤ A x + products ≤ row_upper.

    Parameters
    ----------
    columns : list of Pyomo variables
        The variables that are not fixed.
    lower, upper : array
        Their bounds, infinite where there is none.
    integer : array of bool
        Which of them are integer.
    cost : array
        c.
    offset : float
        Constant of the objective.
    maximize : bool
        Sense of the objective.
    rows : list of Pyomo constraints
        The rows that hold a variable.
    matrix : sparse array
        A.
    row_lower, row_upper : array
        Bounds of the rows, infinite where there is none.
    quadratic : dict of int to Quadratic
        The products of the rows that have any.
    exclusive : list of arrays of int
        Sets of columns of which at most one is not zero (SOS1).
    contradiction : str
        What cannot hold whatever the columns are, or nothing.
    """

    columns: list[Any]
    lower: Array
    upper: Array
    integer: NDArray[np.bool_]
    cost: Array
    offset: float
    maximize: bool
    rows: list[Any]
    matrix: csr_array
    row_lower: Array
    row_upper: Array
    quadratic: dict[int, Quadratic] = field(default_factory=dict)
    exclusive: list[NDArray[np.int32]] = field(default_factory=list)
    contradiction: str = ""

    @property
    def discrete(self) -> bool:
        """Whether there is something to branch on: an integer variable, a product or a set."""
        return bool(self.integer.any() or self.quadratic or self.exclusive)

    @property
    def sign(self) -> float:
        """−1 for a maximisation: what makes a minimisation of it."""
        return -1.0 if self.maximize else 1.0

    def objective(self, x: Array) -> float:
        """Objective at a point."""
        return float(self.cost @ x) + self.offset

    def without_objective(self) -> Program:
        """The same with nothing to optimise."""
        return replace(self, cost=np.zeros_like(self.cost), offset=0.0)

    def row(self, index: int) -> tuple[NDArray[np.int32], Array]:
        """Columns and coefficients of the linear part of a row."""
        part = slice(self.matrix.indptr[index], self.matrix.indptr[index + 1])
        return self.matrix.indices[part], self.matrix.data[part]

    def complaint(self, x: Array, tolerance: float) -> str:
        """Say what a point violates most, relative to sizes above one; nothing if it is within.

        Parameters
        ----------
        x : array
            The point.
        tolerance : float
            What is allowed.
        """
        activity = self.matrix @ x
        for index, products in self.quadratic.items():
            activity[index] += products.value(x)
        fraction = np.where(self.integer, np.abs(x - np.round(x)), 0.0)
        kinds = (
            (_outside(x, self.lower, self.upper), self.columns, "the bounds of {}"),
            (fraction, self.columns, "the integrality of {}"),
            (_outside(activity, self.row_lower, self.row_upper), self.rows, "row {}"),
        )
        for amount, components, words in kinds:
            worst = int(np.argmax(amount)) if len(amount) else -1
            # Not a number is worse than any.
            if worst >= 0 and not amount[worst] <= tolerance:
                what = words.format(components[worst].name)
                return f"{what} violated by {amount[worst]:.2g}"
        for columns in self.exclusive:
            second = float(np.sort(np.abs(x[columns]))[-2])
            if not second <= tolerance:
                names = " and ".join(self.columns[column].name for column in columns)
                return f"two of {names}, one of which is to be zero, differ from it by {second:.2g}"
        return ""

    def values(self) -> Array | None:
        """Values that the variables have now, or None if one has none."""
        values = [column.value for column in self.columns]
        return None if None in values else np.array(values, dtype=float)

    def load(self, x: Array) -> None:
        """Set the variables, integers to whole numbers."""
        # Zero is added for the sake of −0.
        whole = np.where(self.integer, np.round(x), x) + 0.0
        for column, value in zip(self.columns, whole.tolist(), strict=True):
            column.set_value(value, skip_validation=True)


def _outside(values: Array, lower: Array, upper: Array) -> Array:
    """How far each value is outside its interval, relative to the size of the bound."""
    with np.errstate(invalid="ignore"):
        below = (lower - values) / np.maximum(1.0, np.abs(lower))
        above = (values - upper) / np.maximum(1.0, np.abs(upper))
    # A bound that is infinite is never passed, but by what is not a number.
    below = np.where(np.isfinite(lower), below, 0.0 * values)
    above = np.where(np.isfinite(upper), above, 0.0 * values)
    return np.maximum(below, above)


def compile_program(model: Any) -> Program:
    """Read a Pyomo model into arrays.

    Parameters
    ----------
    model : Pyomo model
        Linear or quadratic rows, sets of type SOS1, and a linear objective or none.

    Raises
    ------
    SolverError
        If it has something else; the message names it.
    """
    reader = _Reader(model)
    reader.read_rows()
    reader.read_sets()
    objective, maximize = reader.read_objective()
    columns = list(reader.found.values())
    position = {key: index for index, key in enumerate(reader.found)}
    bounds = [column.bounds for column in columns]
    limits = np.array(reader.limits, dtype=float).reshape(-1, 2)
    cost = np.zeros(len(columns))
    cost[[position[key] for key in objective.linear]] = list(objective.linear.values())
    lower = np.array([-math.inf if low is None else low for low, _ in bounds], dtype=float)
    upper = np.array([math.inf if high is None else high for _, high in bounds], dtype=float)
    return Program(
        columns=columns,
        lower=lower,
        upper=upper,
        integer=np.array([not column.is_continuous() for column in columns], dtype=bool),
        cost=cost,
        offset=objective.constant,
        maximize=maximize,
        rows=reader.rows,
        matrix=_matrix(reader.forms, position),
        row_lower=limits[:, 0].copy(),
        row_upper=limits[:, 1].copy(),
        quadratic={
            index: _quadratic(form.products, position)
            for index, form in enumerate(reader.forms)
            if form.products
        },
        exclusive=[
            np.array([position[key] for key in keys], dtype=np.int32) for keys in reader.sets
        ],
        contradiction=reader.contradiction
        or _crossing(lower, upper, columns, "the bounds of {} exclude each other")
        or _crossing(
            limits[:, 0], limits[:, 1], reader.rows, "the sides of row {} exclude each other"
        ),
    )


def _crossing(lower: Array, upper: Array, components: list[Any], words: str) -> str:
    """Say where a lower bound is above the upper one; solvers read that in ways of their own."""
    crossing = np.flatnonzero(lower > upper)
    return words.format(components[crossing[0]].name) if len(crossing) else ""


@dataclass(frozen=True)
class _Form:
    """An expression: its coefficients by the ids of variables, and its constant."""

    linear: dict[int, float]
    products: dict[tuple[int, int], float]
    constant: float


class _Reader:
    """Walks over a model, and collects its variables and rows."""

    def __init__(self, model: Any) -> None:
        from pyomo.core import Var
        from pyomo.repn.quadratic import QuadraticRepnVisitor
        from pyomo.repn.util import OrderedVarRecorder

        self.model = model
        # Every variable, also those that no row holds: each is to be given a value.
        self.found: dict[int, Any] = {
            id(variable): variable
            for variable in model.component_data_objects(Var, active=True)
            if not variable.fixed
        }
        order = {key: index for index, key in enumerate(self.found)}
        recorder = OrderedVarRecorder(self.found, order, None)
        self._walk = QuadraticRepnVisitor({}, var_recorder=recorder).walk_expression
        self.rows: list[Any] = []
        self.forms: list[_Form] = []
        self.limits: list[tuple[float, float]] = []
        self.sets: list[list[int]] = []
        self.contradiction = ""

    def read_rows(self) -> None:
        """Read every active constraint."""
        from pyomo.core import Constraint

        for row in self.model.component_data_objects(Constraint, active=True):
            lower, body, upper = row.to_bounded_expression(evaluate_bounds=True)
            form = self._form(body, row)
            low = -math.inf if lower is None else lower - form.constant
            high = math.inf if upper is None else upper - form.constant
            if form.linear or form.products:
                self.rows.append(row)
                self.forms.append(form)
                self.limits.append((low, high))
            elif max(low, -high) > TOLERANCE * max(1.0, abs(form.constant)):
                self.contradiction = f"row {row.name} holds no variable and is never satisfied"

    def read_sets(self) -> None:
        """Read every active set of which at most one variable is not zero."""
        from pyomo.core import SOSConstraint

        for members in self.model.component_data_objects(SOSConstraint, active=True):
            variables = list(members.get_variables())
            if members.level != 1 or any(variable.fixed for variable in variables):
                raise SolverError(
                    f"{members.name} is an ordered set of level {members.level}, or one with fixed "
                    f"variables, and no adapter takes it: write it with level 1 and none fixed"
                )
            for variable in variables:
                self.found.setdefault(id(variable), variable)
            # A set of one excludes nothing.
            if len(variables) > 1:
                self.sets.append([id(variable) for variable in variables])

    def read_objective(self) -> tuple[_Form, bool]:
        """The active objective and whether it is maximised; zero where there is none."""
        from pyomo.core import Objective, maximize

        objectives = list(self.model.component_data_objects(Objective, active=True))
        if not objectives:
            return _Form({}, {}, 0.0), False
        if len(objectives) > 1:
            raise SolverError(f"the model has {len(objectives)} active objectives: keep one")
        form = self._form(objectives[0].expr, objectives[0])
        if form.products:
            raise SolverError(
                f"{objectives[0].name} has products of variables: optimise one variable instead, "
                f"and hold it to them by a row"
            )
        return form, objectives[0].sense == maximize

    def _form(self, expression: Any, component: Any) -> _Form:
        form = self._walk(expression)
        if form.nonlinear is not None:
            raise SolverError(
                f"{component.name} is neither linear nor quadratic, and no adapter takes it: "
                f"write it with products of two variables"
            )
        linear = {key: float(value) for key, value in form.linear.items() if value}
        products = {key: float(value) for key, value in (form.quadratic or {}).items() if value}
        return _Form(linear, products, float(form.constant))


def _matrix(forms: list[_Form], position: dict[int, int]) -> csr_array:
    """Coefficients of the rows, a row after another."""
    starts = np.cumsum([0, *(len(form.linear) for form in forms)], dtype=np.int32)
    indices = [position[key] for form in forms for key in form.linear]
    data = [value for form in forms for value in form.linear.values()]
    return csr_array(
        (np.array(data, dtype=float), np.array(indices, dtype=np.int32), starts),
        shape=(len(forms), len(position)),
    )


def _quadratic(products: dict[tuple[int, int], float], position: dict[int, int]) -> Quadratic:
    return Quadratic(
        np.array([position[first] for first, _ in products], dtype=np.int32),
        np.array([position[second] for _, second in products], dtype=np.int32),
        np.array(list(products.values())),
    )
