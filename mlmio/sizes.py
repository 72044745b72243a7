"""Dimensions of a problem, as numbers or as symbols, for the sizes that blocks state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mlmio.data import Dataset


@dataclass
class Dimensions:
    """What the size of a model depends on.

    Parameters
    ----------
    N, D : int or symbol
        Points and features.
    pairs : int or symbol
        Unordered pairs of points, N(N−1)/2.
    co : int or symbol
        Ordered pairs of points of one class, Σ_i |C_i|.
    non : int or symbol
        Ordered pairs of points of different classes, Σ_i |N_i|.
    classes : int or symbol
        Number of classes.
    choices : int or symbol
        Binary choices of neighbours, set by the block in slot ``neighbors``.
    k : int
        How many of them serve each point, set by the same.
    margin : int
        1 where the margin λ is a variable, 0 where the loss fixes it.
    given_up : int or symbol
        N where the loss may give points up, else 0, set by the loss.
    substituted : int
        1 where distances are no variables, set by the region.
    data : Dataset or None
        The points, for blocks whose size depends on which of them they are told of.
    """

    N: Any
    D: Any
    pairs: Any
    co: Any
    non: Any
    classes: Any
    choices: Any = 0
    k: int = 1
    margin: int = 1
    given_up: Any = 0
    substituted: int = 0
    data: Dataset | None = None

    @classmethod
    def of(cls, data: Dataset) -> Dimensions:
        """Dimensions of a data set."""
        N = data.N
        co = int((data.class_sizes * (data.class_sizes - 1)).sum())
        return cls(N, data.D, N * (N - 1) // 2, co, data.non_pair_count, data.n_classes, data=data)

    @classmethod
    def symbols(cls) -> Dimensions:
        """Symbols N, D, E (pairs), C (co-class), S (non-class) and Q (classes)."""
        import pyomo.environ as pyo

        symbols = pyo.ConcreteModel()
        for name in "NDECSQ":
            symbols.add_component(name, pyo.Var())
        return cls(symbols.N, symbols.D, symbols.E, symbols.C, symbols.S, symbols.Q)


SYMBOLS = (
    "N points, D features, E = N(N−1)/2 pairs, C ordered pairs of one class, "
    "S ordered pairs of different classes, Q classes, T rows of the side information of a block"
)
