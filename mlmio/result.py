"""The result of a solve, in one vocabulary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from mlmio.assembly import prepare
from mlmio.claims import false_claims, without_metric
from mlmio.data import require_dataset
from mlmio.errors import DataError
from mlmio.solvers.base import relative_gap
from mlmio.tables import NOTHING, number, relative
from mlmio.verification import Certificate, certify

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset
    from mlmio.metric import Metric
    from mlmio.solvers.base import Moment
    from mlmio.strategies.base import ModelSize


@dataclass(frozen=True, eq=False)
class Result:
    """What a solve found, and how it was verified.

    Parameters
    ----------
    composition : Composition
        What was asked for.
    resolved : Composition
        The same, completed, with parameters that depended on the data as values.
    data_name, solver, version, strategy : str
        What was solved, with what; the solver is ``mlmio`` where none was given a model.
    status : str
        ``optimal``, ``feasible`` (a limit was reached), ``no_incumbent``, ``infeasible``,
        ``unbounded``, ``unverified`` (the claim does not hold), or ``error``.
    message : str
        Why, where the status alone does not say it.
    objective : float or None
        Objective of the incumbent; maximised.
    bound : float or None
        Dual bound, never below the optimum.
    lp_bound : float or None
        Bound of the LP relaxation of what the strategy solves: ``disjunctive`` relaxes who serves
        whom altogether, so that its bound is weaker than that of a whole model.
    nodes : int or None
        Nodes of branch and bound.
    build_s, lp_s, solve_s : float
        Seconds of building, of the LP relaxation, and of the solve.
    size : ModelSize
        Size of the model.
    problem_class : str
        Class of the problem.
    options : mapping
        Every option as passed.
    metric : Metric or None
        The learned metric.
    outliers : (n,) array
        Identifiers of the points that are given up.
    neighbors : dict
        For each point's identifier, those of the points that serve it.
    certificate : Certificate or None
        What the data say of the claim; None where there is no incumbent.
    root_bound : float or None
        Dual bound at the root after cuts, where the solver tells.
    reason : str
        What ended the solve early, see :class:`~mlmio.solvers.base.Answer`; or nothing.
    start : str or None
        ``accepted``, ``rejected``, ``not supported``, or ``replaced`` by a better point that came
        with cuts; None where no start was given.
    trajectory : tuple of Moment
        Incumbent and bound over time, in seconds of ``solve_s``, in rising order: the incumbent
        never falls and the bound never rises. The last moment has ``objective`` and ``bound``.
        Where a solver does not tell, it is the only one.
    """

    composition: Composition
    resolved: Composition
    data_name: str
    solver: str
    version: str
    strategy: str
    status: str
    message: str
    objective: float | None
    bound: float | None
    lp_bound: float | None
    nodes: int | None
    build_s: float
    lp_s: float
    solve_s: float
    size: ModelSize
    problem_class: str
    options: Mapping[str, Any]
    metric: Metric | None = None
    outliers: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    neighbors: Mapping[Any, tuple[Any, ...]] = field(default_factory=dict)
    certificate: Certificate | None = None
    root_bound: float | None = None
    reason: str = ""
    start: str | None = None
    trajectory: tuple[Moment, ...] = ()

    @property
    def gap(self) -> float | None:
        """Relative gap |bound − objective| / |objective|; None where either is missing."""
        return relative_gap(self.bound, self.objective)

    @property
    def root_gap(self) -> float | None:
        """Relative gap between the LP bound and the objective; None where either is missing."""
        return relative_gap(self.lp_bound, self.objective)

    @property
    def seconds(self) -> float:
        """Seconds of building, of the LP relaxation and of the solve together."""
        return self.build_s + self.lp_s + self.solve_s

    @property
    def times(self) -> str:
        """Seconds of each part, in words; the time limit is of the last two."""
        return f"build {self.build_s:.2f} s, LP {self.lp_s:.2f} s, solve {self.solve_s:.2f} s"

    @property
    def verified(self) -> bool:
        """Whether there is an incumbent and everything claimed of it holds."""
        return self.certificate is not None and self.certificate.valid

    def to_dict(self) -> dict[str, Any]:
        """All but metric and trajectory as plain numbers and strings, for CSV and JSON."""
        certificate = self.certificate
        return {
            "formulation": str(self.composition),
            "resolved": str(self.resolved),
            "data": self.data_name,
            "solver": self.solver,
            "version": self.version,
            "strategy": self.strategy,
            "status": self.status,
            "message": self.message,
            "reason": self.reason,
            "start": self.start,
            "class": self.problem_class,
            "rows": self.size.rows,
            "columns": self.size.columns,
            "binaries": self.size.binaries,
            "nonzeros": self.size.nonzeros,
            "lp_bound": self.lp_bound,
            "root_bound": self.root_bound,
            "objective": self.objective,
            "bound": self.bound,
            "gap": self.gap,
            "root_gap": self.root_gap,
            "nodes": self.nodes,
            "build_s": self.build_s,
            "lp_s": self.lp_s,
            "solve_s": self.solve_s,
            "outliers": len(self.outliers),
            "verified": self.verified,
            "certificate": "" if certificate is None else str(certificate),
            **{f"option_{name}": value for name, value in self.options.items()},
        }

    def __str__(self) -> str:
        lines = [
            f"{self.composition}",
            f"  {self.data_name}, {self.solver} {self.version}, strategy {self.strategy}",
            f"  status     {self.status}{f' ({self.message})' if self.message else ''}",
            f"  objective  {number(self.objective)}   bound {number(self.bound)}   "
            f"gap {relative(self.gap)}   LP bound {number(self.lp_bound)}",
            f"  time       {self.times}, {NOTHING if self.nodes is None else self.nodes} nodes",
        ]
        if self.certificate is not None:
            lines.append(f"  {self.certificate}")
            lines.extend(f"  note: {remark}" for remark in self.certificate.remarks)
        return "\n".join(lines)

    __repr__ = __str__


def verify(result: Result, data: Dataset) -> Result:
    """Hold a result to the data again.

    Parameters
    ----------
    result : Result
        What is claimed: its metric, outliers, objective and bound.
    data : Dataset
        The data set that was solved.

    Returns
    -------
    Result
        The same with a new certificate, and with status ``unverified`` if a claim does not hold.

    Raises
    ------
    DataError
        If the metric is of another number of features than the data.
    """
    require_dataset(data)
    if result.metric is None:
        wrong = without_metric(result)
        return (
            replace(result, certificate=None, status="unverified", message=wrong)
            if wrong
            else result
        )
    if result.metric.D != data.D:
        raise DataError(
            f"the metric is of {result.metric.D} features and {data.name} has {data.D}: give the "
            f"data set that was solved"
        )
    parts = result.resolved.ordered
    data = prepare(parts, data)
    outliers = np.isin(data.ids, result.outliers)
    certificate = certify(parts, data, result.metric, outliers, result.objective, result.bound)
    neighbors = named_neighbors(data, certificate)
    false = tuple(false_claims(result, data, certificate, neighbors))
    certificate = replace(certificate, contradictions=(*certificate.contradictions, *false))
    return replace(
        result,
        certificate=certificate,
        neighbors=neighbors,
        status=result.status if certificate.valid else "unverified",
        message=result.message if certificate.valid else str(certificate),
    )


def named_neighbors(data: Dataset, certificate: Certificate) -> dict[Any, tuple[Any, ...]]:
    """Points that serve each point, by identifier; points that none serves are left out."""
    return {
        data.ids[i]: tuple(data.ids[j] for j in served if j >= 0)
        for i, served in enumerate(certificate.neighbors)
        if (served >= 0).any()
    }
