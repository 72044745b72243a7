"""The dual simplex kernel gives the answers of HiGHS, and its certificates hold by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from mlmio.kernels.simplex import (
    CUT_OFF,
    INFEASIBLE,
    LEANING,
    OPTIMAL,
    STEP_LIMIT,
    UNDECIDED,
    Program,
    Scratch,
    Vertex,
    begin,
    new_scratch,
    new_vertex,
    objective,
    refactor,
    simplex,
)

MOST_STEPS = 10_000


def program(
    c: Any, A: Any, b: Any, lower: Any, upper: Any, artificial: np.ndarray | None = None
) -> Program:
    """A x ≤ b with as much room for rows as there are."""
    A = np.array(A, dtype=float).reshape(-1, len(c))
    if artificial is None:
        artificial = np.zeros((2, len(c)), dtype=bool)
    scale = 1.0 / np.sqrt((A**2).sum(axis=1) + 1e-12)
    columns = (np.array(values, dtype=float) for values in (c, lower, upper))
    return Program(*columns, artificial, np.ascontiguousarray(A.T), np.array(b, dtype=float), scale)


def run(
    given: Program, cutoff: float = -np.inf, most_steps: int = MOST_STEPS
) -> tuple[int, int, Vertex, Scratch]:
    m, R = given.A.shape
    vertex, scratch = new_vertex(m), new_scratch(m, R)
    begin(given, vertex, scratch)
    status, steps = simplex(given, R, vertex, scratch, cutoff, most_steps)
    return status, steps, vertex, scratch


def by_highs(given: Program, bounds: Any = None) -> tuple[int, float]:
    """Status of scipy (0 optimal, 2 infeasible, 3 unbounded) and the optimum, maximised."""
    bounds = np.column_stack([given.lower, given.upper]) if bounds is None else bounds
    answer = linprog(-given.c, given.A.T, given.b, bounds=bounds)
    assert answer.status in (0, 2, 3), answer.message
    return answer.status, -answer.fun if answer.status == 0 else np.nan


def row_of(given: Program, code: int) -> tuple[np.ndarray, float]:
    """Coefficients and right-hand side of a code, as the documentation of a basis has it."""
    m = len(given.c)
    if code >= 0:
        return given.A[:, code], float(given.b[code])
    unit = np.zeros(m)
    if code >= -m:
        unit[-1 - code] = 1.0
        return unit, float(given.upper[-1 - code])
    unit[-1 - m - code] = -1.0
    return unit, -float(given.lower[-1 - m - code])


def holds_as_certificate(given: Program, vertex: Vertex, scratch: Scratch) -> bool:
    """Farkas: rows with weights ≥ 0 that add up to 0 ≤ something negative."""
    assert (scratch.direction <= 1e-7 * max(1.0, np.abs(scratch.direction).max())).all()
    total, right = row_of(given, int(scratch.entering[0]))
    for weight, code in zip(-scratch.direction, vertex.basis, strict=True):
        coefficients, limit = row_of(given, int(code))
        total, right = total + max(weight, 0.0) * coefficients, right + max(weight, 0.0) * limit
    # What is left of the coefficients, where they should cancel, is paid for with the bounds.
    reach = np.abs(total) @ np.maximum(np.abs(given.lower), np.abs(given.upper))
    return bool(right + reach < 0)


def is_optimal(given: Program, vertex: Vertex, scratch: Scratch) -> None:
    """Feasible, dual feasible, and the two objectives agree: no other solver is needed."""
    x, weights = vertex.x, vertex.multipliers
    assert (given.A.T @ x - given.b).max(initial=0.0) <= 1e-6
    assert (given.lower - 1e-7 <= x).all()
    assert (x <= given.upper + 1e-7).all()
    assert (weights >= 0).all()
    rows = [row_of(given, int(code)) for code in vertex.basis]
    combined = sum(w * coefficients for w, (coefficients, _) in zip(weights, rows, strict=True))
    assert combined == pytest.approx(given.c, abs=1e-6)
    dual = sum(w * limit for w, (_, limit) in zip(weights, rows, strict=True))
    assert dual == pytest.approx(objective(given, vertex), abs=1e-6)


def random_program(seed: int) -> Program:
    """Of all kinds by turns: generic, of whole numbers, with few costs, with rows twice."""
    rng = np.random.default_rng(seed)
    m, R = int(rng.integers(1, 12)), int(rng.integers(1, 60))
    A, c = rng.normal(size=(R, m)), rng.normal(size=m)
    b = rng.uniform(-0.3 if seed % 2 else 0.0, 1.0, size=R)
    lower, upper = -rng.uniform(0, 3, size=m), rng.uniform(0, 3, size=m)
    if seed % 3 == 0:
        A, b = np.round(A), np.round(b)
    if seed % 4 == 0:
        c = np.eye(m)[-1]
    if seed % 5 == 0:
        twice = rng.integers(0, R, size=R)
        A, b = np.vstack([A, A[twice]]), np.append(b, b[twice])
    if seed % 7 == 0:
        lower, upper = np.round(lower), np.round(upper)
    return program(c, A, b, lower, upper)


def test_random_programs_have_the_optimum_of_highs() -> None:
    seen = {0: 0, 2: 0}
    for seed in range(300):
        given = random_program(seed)
        status, _, vertex, scratch = run(given)
        expected, optimum = by_highs(given)
        seen[expected] += 1
        assert status == (OPTIMAL if expected == 0 else INFEASIBLE), seed
        if expected == 0:
            assert objective(given, vertex) == pytest.approx(optimum, abs=1e-7), seed
            is_optimal(given, vertex, scratch)
        else:
            assert holds_as_certificate(given, vertex, scratch), seed
    assert min(seen.values()) >= 50


WHOLE = st.integers(-3, 3)


@st.composite
def degenerate_programs(draw: st.DrawFn) -> Program:
    """Small whole numbers everywhere: ties, parallel rows, empty rows, fixed columns, no costs."""
    m, R = draw(st.integers(1, 5)), draw(st.integers(0, 12))
    numbers = st.lists(WHOLE, min_size=m, max_size=m)
    A = draw(st.lists(numbers, min_size=R, max_size=R))
    b = draw(st.lists(st.integers(-2, 3), min_size=R, max_size=R))
    lower = draw(st.lists(st.integers(-2, 0), min_size=m, max_size=m))
    width = draw(st.lists(st.integers(0, 3), min_size=m, max_size=m))
    return program(draw(numbers), A, b, lower, np.add(lower, width))


@given(degenerate_programs())
def test_degenerate_programs_have_the_optimum_of_highs(given: Program) -> None:
    status, _, vertex, scratch = run(given)
    expected, optimum = by_highs(given)
    assert status == (OPTIMAL if expected == 0 else INFEASIBLE)
    if expected == 0:
        assert objective(given, vertex) == pytest.approx(optimum, abs=1e-7)
        is_optimal(given, vertex, scratch)
    else:
        assert holds_as_certificate(given, vertex, scratch)


@given(degenerate_programs(), st.floats(-12, 12))
def test_what_is_cut_off_is_no_better_than_the_cut_off(given: Program, cutoff: float) -> None:
    status, _, _, _ = run(given, cutoff)
    expected, optimum = by_highs(given)
    if status == CUT_OFF:
        assert expected == 2 or optimum <= cutoff + 1e-7
    elif expected == 0:
        assert status == OPTIMAL
        assert optimum > cutoff - 1e-7


def test_a_cut_off_saves_steps() -> None:
    """Half way between the objective of the first vertex and the optimum it stops."""
    stopped = 0
    for seed in range(1, 200, 2):
        given = random_program(seed)
        status, steps, _, _ = run(given)
        if status != OPTIMAL or steps < 4:
            continue
        _, optimum = by_highs(given)
        first = float(np.maximum(given.c * given.lower, given.c * given.upper).sum())
        cutoff = (first + optimum) / 2
        cut, fewer, vertex, _ = run(given, cutoff)
        assert cut == CUT_OFF
        assert fewer <= steps
        assert optimum - 1e-7 <= objective(given, vertex) <= cutoff
        stopped += fewer < steps
    assert stopped > 5


@pytest.mark.parametrize("seed", range(40))
def test_no_claim_leans_on_bounds_that_are_not_the_models_own(seed: int) -> None:
    """Against HiGHS, to which those bounds are never told."""
    rng = np.random.default_rng(seed)
    m, R = 4, int(rng.integers(1, 12))
    A, c = np.round(2 * rng.normal(size=(R, m))), np.round(2 * rng.normal(size=m))
    b = np.round(rng.uniform(-3, 4, size=R))
    artificial = rng.uniform(size=(2, m)) < 0.6
    lower, upper = np.full(m, -3.0), np.full(m, 3.0)
    given = program(c, A, b, lower, upper, artificial)
    own = np.column_stack(
        [np.where(artificial[0], -np.inf, lower), np.where(artificial[1], np.inf, upper)]
    )
    status, _, vertex, _ = run(given)
    expected, optimum = by_highs(given, own)
    if status == OPTIMAL:
        assert expected == 0
        assert objective(given, vertex) == pytest.approx(optimum, abs=1e-7)
    elif status == INFEASIBLE:
        assert expected == 2
    elif status == UNDECIDED:
        assert by_highs(given)[0] == 2
    else:
        assert status == LEANING
        assert by_highs(given)[0] == 0
    for cutoff in (-2.0, 0.0, 2.0, 8.0):
        if run(given, cutoff)[0] == CUT_OFF:
            assert expected == 2 or (expected == 0 and optimum <= cutoff + 1e-7)


def test_leaning_and_undecided_are_told_from_optimal_and_infeasible() -> None:
    held = np.ones((2, 1), dtype=bool)
    none = np.zeros((2, 1), dtype=bool)
    one = [[1.0]]
    assert run(program([1.0], one, [2.0], [-5], [5], held))[0] == OPTIMAL
    assert run(program([1.0], one, [7.0], [-5], [5], held))[0] == LEANING
    assert run(program([1.0], one, [7.0], [-5], [5], none))[0] == OPTIMAL
    assert run(program([1.0], one, [-7.0], [-5], [5], held))[0] == UNDECIDED
    assert run(program([-1.0], [[-1.0]], [-7.0], [-5], [5], held))[0] == UNDECIDED
    assert run(program([1.0], one, [-7.0], [-5], [5], none))[0] == INFEASIBLE
    assert run(program([0.0], [[1.0], [-1.0]], [-1.0, 0.0], [-5], [5], held))[0] == INFEASIBLE


def test_beale_and_kuhn_do_not_cycle() -> None:
    """Two programs on which Dantzig's rule is known to cycle."""
    beale = program(
        [0.75, -150.0, 0.02, -6.0],
        [[0.25, -60.0, -0.04, 9.0], [0.5, -90.0, -0.02, 3.0], [0.0, 0.0, 1.0, 0.0]],
        [0.0, 0.0, 1.0],
        [0.0] * 4,
        [1e4] * 4,
    )
    kuhn = program(
        [2.0, 3.0, -1.0, -12.0],
        [[-2.0, -9.0, 1.0, 9.0], [1 / 3, 1.0, -1 / 3, -2.0], [2.0, 3.0, -1.0, -12.0]],
        [0.0, 0.0, 2.0],
        [0.0] * 4,
        [1e4] * 4,
    )
    for each, optimum in ((beale, 0.05), (kuhn, 2.0)):
        status, steps, vertex, _ = run(each)
        assert status == OPTIMAL
        assert objective(each, vertex) == pytest.approx(optimum, abs=1e-7)
        assert steps < 100


@pytest.mark.parametrize("seed", range(12))
def test_a_cost_of_zero_with_many_ties_ends(seed: int) -> None:
    """Every step is dual degenerate: only Bland's rule ends such runs for certain."""
    rng = np.random.default_rng(seed)
    m, R = 10, 150
    A = rng.integers(-1, 2, size=(R, m))
    b = np.ones(R) if seed % 2 else -(rng.uniform(size=R) < 0.1).astype(float)
    given = program(np.zeros(m), A, b, [-1.0] * m, [1.0] * m)
    status, steps, vertex, scratch = run(given)
    expected, _ = by_highs(given)
    assert steps < MOST_STEPS
    assert status == (OPTIMAL if expected == 0 else INFEASIBLE)
    if expected == 2:
        assert holds_as_certificate(given, vertex, scratch)


def test_the_limit_of_steps_is_kept_and_the_run_goes_on_from_there() -> None:
    given = next(p for p in map(random_program, range(1, 99, 2)) if run(p)[:2] >= (OPTIMAL, 6))
    m, R = given.A.shape
    vertex, scratch = new_vertex(m), new_scratch(m, R)
    begin(given, vertex, scratch)
    assert simplex(given, R, vertex, scratch, -np.inf, 2) == (STEP_LIMIT, 2)
    status, steps = simplex(given, R, vertex, scratch, -np.inf, MOST_STEPS)
    assert (status, steps + 2) == run(given)[:2]


def test_rows_beyond_those_at_hand_are_not_looked_at() -> None:
    """And a further row is taken in from the vertex that was optimal without it."""
    rng = np.random.default_rng(3)
    given = program(rng.normal(size=5), rng.normal(size=(40, 5)), np.ones(40), [-2] * 5, [2] * 5)
    vertex, scratch = new_vertex(5), new_scratch(5, 40)
    begin(given, vertex, scratch)
    for n in (0, 1, 10, 40):
        status, _ = simplex(given, n, vertex, scratch, -np.inf, MOST_STEPS)
        first = given._replace(A=given.A[:, :n], b=given.b[:n])
        assert status == OPTIMAL
        assert objective(given, vertex) == pytest.approx(by_highs(first)[1], abs=1e-7)


def test_a_singular_basis_is_refused_and_the_vertex_is_as_it_was() -> None:
    given = program([1.0, 1.0], [[1.0, 1.0], [2.0, 2.0]], [1.0, 2.0], [0, 0], [1, 1])
    vertex, scratch = new_vertex(2), new_scratch(2, 2)
    begin(given, vertex, scratch)
    before = vertex.x.copy(), vertex.inverse.copy(), vertex.multipliers.copy()
    vertex.basis[:] = (0, 1)
    assert not refactor(given, vertex, scratch)
    for kept, now in zip(before, (vertex.x, vertex.inverse, vertex.multipliers), strict=True):
        np.testing.assert_array_equal(kept, now)
    vertex.basis[:] = (0, -1)
    assert refactor(given, vertex, scratch)
    assert vertex.x == pytest.approx([1.0, 0.0])


def test_many_steps_keep_the_inverse_exact() -> None:
    """Enough of them that the basis is factored anew on the way."""
    rng = np.random.default_rng(0)
    m, R = 30, 3000
    A = rng.normal(size=(R, m))
    given = program(rng.normal(size=m), A, rng.uniform(0.1, 1, size=R), [-5] * m, [5] * m)
    status, steps, vertex, scratch = run(given)
    assert status == OPTIMAL
    assert steps > 128
    assert objective(given, vertex) == pytest.approx(by_highs(given)[1], abs=1e-7)
    is_optimal(given, vertex, scratch)
