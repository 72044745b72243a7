"""The base of the blocks of slot ``cone``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from mlmio.blocks import Block
from mlmio.series import multisets

if TYPE_CHECKING:
    from mlmio.context import Context
    from mlmio.evaluation import Evaluation


@dataclass(frozen=True)
class Cone(Block):
    """Holds the matrix B of the quadratic term in a cone."""

    slot: ClassVar[str] = "cone"

    @property
    def provides(self) -> frozenset[str]:
        """A cone."""
        return frozenset({"cone"})

    @property
    def needs(self) -> frozenset[str]:
        """The matrix B."""
        return frozenset({"B"})

    @staticmethod
    def matrix(context: Context) -> Callable[[int, int], Any]:
        """Return the entries B_pq as a function of p and q."""
        sets = multisets(context.data.D, 2).tolist()
        entries = {tuple(pair): context.terms[2][n] for n, pair in enumerate(sets)}
        return lambda p, q: entries[min(p, q), max(p, q)]

    @staticmethod
    def report_eigenvalue(evaluation: Evaluation) -> None:
        """Put the smallest eigenvalue of B on the certificate."""
        smallest = float(np.linalg.eigvalsh(evaluation.metric.B)[0])
        evaluation.facts["smallest eigenvalue of B"] = smallest
