"""The parts that solving consists of, one by one, by number of points N and of features D.

    python -m pytest benchmarks/test_parts.py --benchmark-enable --benchmark-group-by=group

Outline, standard form, rows of pairs, oracle, linear program of a node, certificate and blocks of
distances: each on overlapping Gaussian classes and under the Euclidean metric, on one thread.
"""

from __future__ import annotations

import numpy as np
import pytest
from synthetic import gaussian_classes

from mlmio import Metric, compose
from mlmio.assembly import assemble, prepare
from mlmio.evaluation import Evaluation
from mlmio.kernels.simplex import OPTIMAL, Program, begin, new_scratch, new_vertex, simplex
from mlmio.oracle import Oracle
from mlmio.outline import outline, region_of
from mlmio.pair_rows import PairRows
from mlmio.series import features
from mlmio.verification import certify

SPEC = "linear + quadratic + bounded(dmin=0.0001) + nearest + bigm"
FEW = [(60, 4), (60, 8), (150, 4), (150, 8)]
MANY = [(300, 4), (300, 8), (1000, 4), (1000, 8)]
BOX, TINY = 1e4, 1e-8
ROUNDS = {"rounds": 7, "warmup_rounds": 1}


@pytest.fixture(autouse=True)
def _one_thread():
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


def euclidean(data):
    """The Euclidean metric squared, over D, so that no distance is above 1."""
    return Metric({2: np.eye(data.D) / data.D}, data.D, data.scaling)


def theta_of(data):
    """θ of the same metric, with a linear term that is zero."""
    B = np.eye(data.D)[np.triu_indices(data.D)]
    return np.concatenate([np.zeros(data.D), B / data.D])


@pytest.mark.parametrize(("N", "D"), FEW)
def test_outline(benchmark, N, D):
    data = gaussian_classes(N, D)
    benchmark.group = "outline: what the strategies build"
    sketch = benchmark.pedantic(outline, (compose(SPEC), data), **ROUNDS)
    assert sketch.region.P == D + D * (D + 1) // 2


@pytest.mark.parametrize(("N", "D"), [(60, 4), (60, 8), (60, 16)])
def test_standard_form(benchmark, N, D):
    sketch = outline(compose(f"{SPEC} + gershgorin"), gaussian_classes(N, D))
    benchmark.group = "standard form of a region, with the rows of gershgorin"
    region = benchmark.pedantic(region_of, (sketch.context,), **ROUNDS)
    assert region.A.shape == (D**2, len(region.columns))


@pytest.mark.parametrize(("N", "D"), FEW)
def test_rows_of_pairs(benchmark, N, D):
    data = gaussian_classes(N, D)
    composition = compose(SPEC)
    metric = euclidean(data)
    benchmark.group = "rows of pairs"

    def bare():
        return (PairRows(assemble(composition, composition.ordered, data, whole=False)), metric), {}

    benchmark.pedantic(PairRows.begin, setup=bare, **ROUNDS)


@pytest.mark.parametrize(("N", "D"), [*MANY, (1000, 30)])
@pytest.mark.parametrize("question", ["nearest", "violated"])
def test_oracle(benchmark, question, N, D):
    data = gaussian_classes(N, D)
    oracle, theta = Oracle(data, (1, 2)), theta_of(data)
    benchmark.group = f"oracle, {question}"
    if question == "nearest":
        found = benchmark.pedantic(oracle.nearest, (theta,), **ROUNDS)
        assert (found.served_by >= 0).all()
    else:
        (pairs, _), _ = benchmark.pedantic(oracle.violated, (theta, 0.0, 0.0), **ROUNDS)
        assert len(pairs) >= N // 2


@pytest.mark.parametrize(("N", "D"), [*FEW, (60, 12)])
def test_node_program(benchmark, N, D):
    program = node_program(gaussian_classes(N, D))
    m, R = program.A.shape
    vertex, scratch = new_vertex(m), new_scratch(m, R)
    benchmark.group = "linear program of a node"

    def run():
        begin(program, vertex, scratch)
        return simplex(program, R, vertex, scratch, -np.inf, 100_000)

    status, steps = benchmark.pedantic(run, **ROUNDS)
    assert status == OPTIMAL
    benchmark.extra_info.update(rows=R, columns=m, steps=steps)


def node_program(data):
    """max λ: every point nearer to its nearest than to five of other classes; 0 ≤ some d ≤ 1."""
    near = Oracle(data, (1, 2)).nearest(theta_of(data), q=5)
    points = np.arange(data.N)
    served = features_of(data, points, near.served_by[:, 0])
    fenced = [features_of(data, points, near.fenced_by[:, q]) for q in range(5)]
    far = features_of(data, points, (points + data.N // 2) % data.N)
    rows = np.concatenate([np.concatenate([served - other for other in fenced]), far, -served])
    count = data.N * np.array([5, 1, 1])
    A = np.column_stack([rows, np.repeat([1.0, 0.0, 0.0], count)])
    b = np.repeat([0.0, 1.0, 0.0], count)
    m = A.shape[1]
    # As in the search, an average of distances breaks ties.
    cost = np.append(-TINY * far.mean(axis=0), 1.0)
    upper = np.append(np.full(m - 1, BOX), 1.0)
    scale = 1.0 / np.sqrt((A**2).sum(axis=1) + 1e-12)
    own = np.zeros((2, m), dtype=bool)
    return Program(cost, -upper, upper, own, np.ascontiguousarray(A.T), b, scale)


def features_of(data, i, j):
    """φ_ij of the linear and the quadratic term."""
    delta = data.X[i] - data.X[j]
    return np.hstack([features(delta, order) for order in (1, 2)])


@pytest.mark.parametrize(("N", "D"), MANY)
@pytest.mark.parametrize("loss", ["", " + outliers"])
def test_certificate(benchmark, loss, N, D):
    parts = compose(SPEC + loss).ordered
    data = prepare(parts, gaussian_classes(N, D))
    nobody = np.zeros(N, dtype=bool)
    benchmark.group = f"certificate{loss}"
    certificate = benchmark.pedantic(certify, (parts, data, euclidean(data), nobody), **ROUNDS)
    assert certificate.neighbors.shape == (N, 1)


@pytest.mark.parametrize(("N", "D"), MANY)
def test_blocks_of_distances(benchmark, N, D):
    data = gaussian_classes(N, D)
    evaluation = Evaluation(data, euclidean(data), np.zeros(N, dtype=bool))
    benchmark.group = "blocks of distances"

    def largest():
        return max(float(distances.max()) for _, distances in evaluation.blocks())

    assert benchmark.pedantic(largest, **ROUNDS) <= 1.0
