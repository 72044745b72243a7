"""What results claim of an optimum: from below by a verified solution, from above by bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from mlmio.composition import Composition
from mlmio.tables import number

if TYPE_CHECKING:
    from mlmio.comparison import Run


class Claim(Protocol):
    """What is claimed of an optimum: a :class:`~mlmio.Result`, or what was kept of one."""

    @property
    def resolved(self) -> Composition:
        """The composition, with parameters that depended on the data as values."""

    @property
    def solver(self) -> str:
        """What solved it."""

    @property
    def strategy(self) -> str:
        """In what way."""

    @property
    def status(self) -> str:
        """How it ended."""

    @property
    def message(self) -> str:
        """Why, where the status alone does not say it."""

    @property
    def verified(self) -> bool:
        """Whether there is an incumbent and everything claimed of it holds."""

    @property
    def objective(self) -> float | None:
        """Objective of the incumbent."""

    @property
    def bound(self) -> float | None:
        """Dual bound."""

    @property
    def lp_bound(self) -> float | None:
        """Bound of the LP relaxation."""

    @property
    def seconds(self) -> float:
        """Time of the whole run."""


@dataclass(frozen=True)
class Finding:
    """A result and what it claims of the optimum, from below and from above.

    Parameters
    ----------
    composition : Composition
        What was asked for.
    result : Claim
        What was found.
    rel_gap : float
        Relative gap at which the solver calls a solution optimal.
    """

    composition: Composition
    result: Claim
    rel_gap: float

    @property
    def name(self) -> str:
        """Formulation and solver."""
        return f"{self.composition} · {self.result.solver}"

    @cached_property
    def lower(self) -> float:
        """What the optimum reaches: the verified objective."""
        if self.result.status == "unbounded":
            return math.inf
        if self.result.verified and self.result.objective is not None:
            return self.result.objective
        return -math.inf

    @cached_property
    def upper(self) -> tuple[float, str]:
        """What is claimed that nothing exceeds, and in what words."""
        result = self.result
        if result.status == "infeasible":
            return -math.inf, "is said to be infeasible"
        claims = [(result.bound, "bound"), (result.lp_bound, "LP bound")]
        if self.proven:
            claims.append((self.optimum_at_most, "optimum"))
        value, what = min(
            ((value, what) for value, what in claims if value is not None),
            default=(math.inf, ""),
        )
        return value, f"claims the {what} {number(value, 9)}"

    @property
    def proven(self) -> bool:
        """Whether the optimum is known."""
        return self.result.status == "optimal" and math.isfinite(self.lower)

    @property
    def optimum_at_most(self) -> float:
        """What the optimum is at most, where it is known."""
        return self.lower + self.rel_gap * abs(self.lower)

    @property
    def proven_at_most(self) -> float:
        """What no solution exceeds if the proof is right; infinite where there is none."""
        if self.result.status == "infeasible":
            return -math.inf
        return self.optimum_at_most if self.proven else math.inf


def findings(runs: Sequence[Run], rel_gap: float) -> list[Finding]:
    """Runs that have a result."""
    return [Finding(run.composition, run.result, rel_gap) for run in runs if run.result is not None]
