"""Solving: one way in, from a composition and data to a verified result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlmio.blocks import Block
from mlmio.composition import Composition, compose
from mlmio.data import Dataset
from mlmio.errors import DataError
from mlmio.metric import Metric
from mlmio.registry import strategies
from mlmio.result import Result, verify
from mlmio.solvers.base import Options, Solver, get_solver
from mlmio.solvers.starts import start_from
from mlmio.strategies.base import Outcome, Strategy


def solve(
    composition: Composition | Block | str,
    data: Dataset,
    solver: str = "highs",
    strategy: str = "direct",
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
) -> Result:
    """Solve a composition on data, and verify what comes back.

    Parameters
    ----------
    composition : Composition, Block or str
        What to solve.
    data : Dataset
        The points.
    solver, strategy : str
        Registered names, see ``mlmio solvers``.
    time_limit : float, optional
        Wall-clock seconds for the solver.
    threads, seed, rel_gap, abs_gap, node_limit, log
        See :class:`~mlmio.solvers.base.Options`.
    options : mapping, optional
        Further options under the solver's own names.
    start : Metric or Result, optional
        Point to start from. One that violates the model is refused, and the result says so.

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
    if not isinstance(data, Dataset):
        raise DataError(f"data is a {type(data).__name__}: give a Dataset, as Dataset(X, y)")
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
    )
    chosen: Strategy = strategies.get(strategy)()
    adapter = get_solver(solver, composition.problem_class, asked)
    outcome = chosen.run(composition, data, adapter, asked)
    return _result(composition, outcome, adapter, strategy, asked)


def _result(
    composition: Composition, outcome: Outcome, solver: Solver, strategy: str, options: Options
) -> Result:
    answer = outcome.answer
    result = Result(
        composition=composition,
        resolved=outcome.resolved,
        data_name=outcome.data.name,
        solver=solver.name,
        version=solver.version() or "",
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
    verified = verify(result, outcome.data)
    if result.status == "feasible" and _understated(verified):
        # The solver's choice of neighbours was not yet the best for its own metric.
        assert verified.certificate is not None
        return verify(replace(result, objective=verified.certificate.objective), outcome.data)
    return verified


def _understated(result: Result) -> bool:
    """Whether an incumbent is better than the solver said, and nothing else is wrong with it."""
    certificate, objective = result.certificate, result.objective
    if certificate is None or objective is None or certificate.violations:
        return False
    return certificate.objective > objective
