"""Building the distances of all pairs, for the blocks of slot ``region``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from mlmio.context import Context

DISTANCES = ("variables", "substituted")


def add_distances(context: Context, b: Any, distances: str) -> None:
    """Add d_ij for every pair i < j within ``context.bounds``, and publish it.

    Where the model is not whole nothing is added: d_ij is made where a block asks for it.

    Parameters
    ----------
    context : Context
        With ``bounds`` published.
    b : Pyomo block
        Where they are added.
    distances : {"variables", "substituted"}
        Whether d_ij is a variable with a defining row, or an expression with a row that bounds
        it.
    """
    if not context.whole:
        context.distance = lambda i, j: _expression(context, i, j)
        return
    pairs = list(map(tuple, context.data.pairs().tolist()))
    d = (_variables if distances == "variables" else _expressions)(context, b, pairs)
    context.distance = lambda i, j: d[i, j] if i < j else d[j, i]


def _variables(context: Context, b: Any, pairs: list[tuple[int, int]]) -> Any:
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    theta = context.theta
    b.d = pyo.Var(pairs, bounds=lambda _, i, j: _pyomo_bounds(context, i, j))
    b.define = pyo.Constraint(pairs)
    d = b.d
    for m, phi in _rows(context):
        body = LinearExpression(
            constant=0, linear_coefs=[*phi, -1.0], linear_vars=[*theta, d[pairs[m]]]
        )
        b.define.add(pairs[m], (0.0, body, 0.0))
    return d


def _expression(context: Context, i: int, j: int) -> Any:
    """d_ij as an expression of the parameters."""
    from pyomo.core.expr import LinearExpression

    ((_, phi),) = context.features(np.array([[i, j]]))
    return LinearExpression(constant=0, linear_coefs=phi[0].tolist(), linear_vars=context.theta)


def _expressions(context: Context, b: Any, pairs: list[tuple[int, int]]) -> Any:
    import pyomo.environ as pyo
    from pyomo.core.expr import LinearExpression

    theta = context.theta
    d = {
        pairs[m]: LinearExpression(constant=0, linear_coefs=phi, linear_vars=theta)
        for m, phi in _rows(context)
    }
    bounded = [pair for pair in pairs if _pyomo_bounds(context, *pair) != (None, None)]
    b.within = pyo.Constraint(bounded)
    for pair in bounded:
        lower, upper = context.bounds(*pair)
        b.within.add(pair, (lower, d[pair], upper))
    return d


def _pyomo_bounds(context: Context, i: int, j: int) -> tuple[float | None, float | None]:
    """Bounds of d_ij, None where there is none."""
    lower, upper = context.bounds(i, j)
    return (None if math.isinf(lower) else lower, None if math.isinf(upper) else upper)


def _rows(context: Context) -> Iterator[tuple[int, list[float]]]:
    """Position and features of every pair, one at a time."""
    for part, phi in context.features(context.data.pairs()):
        yield from zip(range(part.start, part.stop), phi.tolist(), strict=True)


def complete_distances(b: Any, evaluation: Any) -> None:
    """Set the distances to those of the metric, where they are variables."""
    if b.component("d") is None:
        return
    for rows, distances in evaluation.blocks():
        for row, i in enumerate(rows.tolist()):
            for j in range(i + 1, evaluation.data.N):
                b.d[i, j].set_value(float(distances[row, j]))
