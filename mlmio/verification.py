"""Verification: a claim is held to the data, never to the model that made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from mlmio.assembly import evaluate
from mlmio.blocks import Block
from mlmio.evaluation import Evaluation, Violation
from mlmio.tables import number

if TYPE_CHECKING:
    from mlmio.data import Dataset
    from mlmio.metric import Metric

TOLERANCE = 1e-6

# Reasons shown of why a claim does not hold.
MOST_REASONS = 4


@dataclass(frozen=True)
class Certificate:
    """What θ, z and the data say of a claim.

    Parameters
    ----------
    objective : float
        Objective of (θ, z), recomputed.
    value : float or None
        What the neighbours maximise (λ), recomputed.
    violations : tuple of Violation
        Statements violated by more than the tolerance.
    contradictions : tuple of str
        Claims that the recomputed numbers contradict.
    worst : float
        Largest violation of any statement, however small.
    facts : mapping of str to float
        Numbers worth knowing, such as the smallest eigenvalue of B under a cone.
    remarks : tuple of str
        What a user should know of the solution.
    neighbors : (N, k) array of int
        Points that serve each point, −1 where none does.
    """

    objective: float
    value: float | None
    violations: tuple[Violation, ...]
    contradictions: tuple[str, ...]
    worst: float
    facts: Mapping[str, float]
    remarks: tuple[str, ...]
    neighbors: NDArray[np.intp]

    @property
    def valid(self) -> bool:
        """Whether nothing is violated or contradicted."""
        return not self.violations and not self.contradictions

    def __str__(self) -> str:
        if self.valid:
            facts = "".join(f", {name} {number(value)}" for name, value in self.facts.items())
            return (
                f"verified: objective {number(self.objective, 9)}, "
                f"largest violation {number(self.worst, 2)}{facts}"
            )
        reasons = [*self.contradictions, *(str(violation) for violation in self.violations)]
        more = f" and {len(reasons) - MOST_REASONS} more" if len(reasons) > MOST_REASONS else ""
        return "unverified: " + "; ".join(reasons[:MOST_REASONS]) + more


def certify(
    parts: Sequence[Block],
    data: Dataset,
    metric: Metric,
    outliers: NDArray[np.bool_],
    objective: float | None = None,
    bound: float | None = None,
) -> Certificate:
    """Recompute everything from θ, z and the data, and compare it with what is claimed.

    Parameters
    ----------
    parts : sequence of Block
        Blocks of the resolved composition, in the order of building.
    data : Dataset
        The points that the model is about.
    metric : Metric
        θ.
    outliers : (N,) array of bool
        z.
    objective, bound : float, optional
        The objective and the dual bound that are claimed.
    """
    evaluation = evaluate(parts, data, metric, outliers)
    for part in parts:
        if type(part).check is Block.check:
            evaluation.remark(f"'{part}' has no check: its rows are not certified")
    worst = max((violation.amount for violation in evaluation.violations), default=0.0)
    return Certificate(
        objective=evaluation.objective,
        value=evaluation.value,
        violations=broken(evaluation),
        contradictions=_contradictions(evaluation.objective, objective, bound),
        worst=worst,
        facts=dict(evaluation.facts),
        remarks=tuple(evaluation.remarks),
        neighbors=evaluation.chosen,
    )


def _contradictions(
    recomputed: float, objective: float | None, bound: float | None
) -> tuple[str, ...]:
    found = []
    # Written so that a NaN contradicts everything.
    if objective is not None and not abs(recomputed - objective) <= tolerance_of(objective):
        found.append(f"objective {objective:.9g} is claimed, the data give {recomputed:.9g}")
    if bound is not None and not recomputed <= bound + tolerance_of(bound):
        found.append(f"bound {bound:.9g} is claimed, the data give the objective {recomputed:.9g}")
    return tuple(found)


def broken(evaluation: Evaluation) -> tuple[Violation, ...]:
    """Return the statements that a point violates by more than the tolerance."""
    # Written so that a NaN counts.
    return tuple(v for v in evaluation.violations if not v.amount <= TOLERANCE)


def tolerance_of(value: float) -> float:
    """Return how far two computations of `value` may differ: 1e-6, relative above one."""
    return TOLERANCE * max(1.0, abs(value))
