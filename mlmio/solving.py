"""Solving: one way in, from a composition and data to a verified result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlmio.blocks import Block
from mlmio.composition import Composition, compose
from mlmio.data import Dataset, require_dataset
from mlmio.metric import Metric
from mlmio.refining import run
from mlmio.registry import strategies
from mlmio.result import Result
from mlmio.result import verify as hold_to_data
from mlmio.solvers.base import Moment, Options, get_solver
from mlmio.solvers.starts import start_from
from mlmio.solvers.trajectory import concluded
from mlmio.strategies.base import Outcome, Strategy

# Two computations of an objective of about one may differ by this.
ROUNDING = 1e-12


def solve(
    composition: Composition | Block | str,
    data: Dataset,
    solver: str | None = None,
    strategy: str | None = None,
    *,
    time_limit: float | None = None,
    threads: int = 1,
    seed: int = 0,
    rel_gap: float = 1e-6,
    abs_gap: float = 1e-9,
    node_limit: int | None = None,
    log: str | Path | bool = False,
    options: Mapping[str, Any] | None = None,
    start: Metric | Result | None = None,
    verify: str = "standard",
) -> Result:
    """Solve a composition on data, and verify what comes back.

    Parameters
    ----------
    composition : Composition, Block or str
        What to solve.
    data : Dataset
        The points.
    solver : str, optional
        Registered name, see ``mlmio solvers``; HiGHS by default, where the strategy needs one.
    strategy : str, optional
        ``"direct"``, ``"rows"``, ``"alternating"``, ``"disjunctive"`` or ``"auto"``. By default
        ``"auto"``, and ``"direct"`` where a solver is asked for.
    time_limit : float, optional
        Wall-clock seconds for solving. Building the model does not count, nor does finding the rows
        of blocks of slot ``cuts``, which is part of it: ``result.build_s`` has its seconds.
    threads, seed, rel_gap, abs_gap, node_limit, log
        See :class:`~mlmio.solvers.base.Options`.
    options : mapping, optional
        Further options under the solver's own names.
    start : Metric or Result, optional
        Point to start from. One that violates the model is refused, and the result says so.
    verify : {"standard", "full"}
        Every result is held to the data; ``"full"`` also has HiGHS solve a sample of the branches
        again that strategy ``disjunctive`` closed.

    Returns
    -------
    Result
        With status ``unverified`` where the claim of the solver does not hold in the data.

    Raises
    ------
    CompositionError
        If the composition is not complete.
    DataError
        If the data do not allow it.
    SolverError
        If the solver or strategy is unknown, absent, or cannot take this class of problem or an
        option.

    Examples
    --------
    >>> import mlmio
    >>> data = mlmio.load_dataset("iris", per_class=3)
    >>> result = mlmio.solve("quadratic + nearest", data)
    >>> result.status, result.verified
    ('optimal', True)
    """
    composition = compose(composition)
    require_dataset(data)
    asked = Options(
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        rel_gap=rel_gap,
        abs_gap=abs_gap,
        node_limit=node_limit,
        log=log,
        options=dict(options or {}),
        start=None if start is None else start_from(start),
        verify=verify,
    )
    if strategy is None:
        strategy = "auto" if solver is None else "direct"
    chosen: Strategy = strategies.get(strategy)()
    adapter = None
    if chosen.needs_solver:
        needs = composition.solver_needs
        adapter = get_solver(solver or "highs", composition.problem_class, asked, needs)
    outcome = run(chosen, composition, data, adapter, asked)
    return _result(composition, outcome, strategy, asked)


def _result(composition: Composition, outcome: Outcome, strategy: str, options: Options) -> Result:
    answer, solver = outcome.answer, outcome.solver
    result = Result(
        composition=composition,
        resolved=outcome.resolved,
        data_name=outcome.data.name,
        solver="mlmio" if solver is None else solver.name,
        version=_own_version() if solver is None else solver.version() or "",
        strategy=strategy,
        status=answer.status,
        message=answer.message,
        reason=answer.reason,
        start=answer.start,
        objective=answer.objective,
        bound=answer.bound,
        lp_bound=outcome.lp_bound,
        root_bound=answer.root_bound,
        nodes=answer.nodes,
        build_s=outcome.build_s,
        lp_s=outcome.lp_s,
        solve_s=outcome.solve_s,
        size=outcome.size,
        problem_class=composition.problem_class,
        options=options.to_dict(),
        metric=outcome.metric,
        outliers=outcome.data.ids[outcome.outliers],
    )
    verified = _verified(result, outcome.data)
    end = Moment(verified.solve_s, verified.objective, verified.bound)
    return replace(verified, trajectory=concluded(answer.trajectory, end))


def _verified(result: Result, data: Dataset) -> Result:
    """The result held to the data, with the better objective where the solver understated it."""
    verified = hold_to_data(result, data)
    if result.status == "feasible" and _understated(verified):
        # The solver's choice of neighbours was not yet the best for its own metric.
        assert verified.certificate is not None
        return hold_to_data(replace(result, objective=verified.certificate.objective), data)
    return verified


def _own_version() -> str:
    from mlmio import __version__

    return __version__


def _understated(result: Result) -> bool:
    """Whether an incumbent is better than the solver said, and nothing else is wrong with it."""
    certificate, objective = result.certificate, result.objective
    if certificate is None or objective is None or certificate.violations:
        return False
    # Not by rounding alone, for which a second look at all pairs would be a waste.
    return certificate.objective > objective + ROUNDING * max(1.0, abs(objective))
