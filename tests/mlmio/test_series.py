"""Features of pairs against explicit tensors."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mlmio.series
from mlmio.series import (
    entries_of_tensor,
    features,
    multisets,
    pair_features,
    parameter_count,
    tensor_from_entries,
)

ORDERS = [1, 2, 3, 4]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("D", [1, 2, 4])
def test_features_times_entries_are_the_tensor_contracted(D: int, order: int) -> None:
    rng = np.random.default_rng(D + order)
    delta = rng.normal(size=(6, D))
    entries = rng.normal(size=comb(D + order - 1, order))
    tensor = tensor_from_entries(entries, D, order)
    u = delta if order == 2 else abs(delta)
    wanted = [
        sum(tensor[p] * np.prod(row[list(p)]) for p in product(range(D), repeat=order)) for row in u
    ]
    np.testing.assert_allclose(features(delta, order) @ entries, wanted, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("order", ORDERS)
def test_features_do_not_depend_on_the_direction(order: int) -> None:
    delta = np.random.default_rng(0).normal(size=(5, 3))
    np.testing.assert_array_equal(features(delta, order), features(-delta, order))


def test_the_quadratic_term_alone_is_signed() -> None:
    delta = np.array([[1.0, -1.0]])
    assert features(delta, 2).tolist() == [[1.0, -2.0, 1.0]]
    assert features(delta, 3).tolist() == [[1.0, 3.0, 3.0, 1.0]]


@given(D=st.integers(1, 5), order=st.integers(1, 4), seed=st.integers(0, 99))
def test_entries_and_tensor_are_inverse(D: int, order: int, seed: int) -> None:
    entries = np.random.default_rng(seed).normal(size=parameter_count(D, order))
    tensor = tensor_from_entries(entries, D, order)
    assert tensor.shape == (D,) * order
    assert (entries_of_tensor(tensor) == entries).all()
    for axes in ([*range(1, order), 0], [*reversed(range(order))]):
        assert (tensor.transpose(axes) == tensor).all()


@pytest.mark.parametrize("order", ORDERS)
def test_there_is_one_parameter_for_each_multiset(order: int) -> None:
    rows = multisets(3, order)
    assert len(rows) == parameter_count(3, order) == comb(3 + order - 1, order)
    assert len({tuple(sorted(row)) for row in rows.tolist()}) == len(rows)


def test_blocks_of_pairs_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.random.default_rng(1).normal(size=(9, 2))
    pairs = np.column_stack(np.triu_indices(9, 1))
    [(everything, whole)] = pair_features(X, pairs, [1, 2, 3])
    assert everything == slice(0, 36)
    monkeypatch.setattr(mlmio.series, "BLOCK_BYTES", 8 * 9 * 5)
    parts = list(pair_features(X, pairs, [1, 2, 3]))
    assert len(parts) == 8
    np.testing.assert_array_equal(np.vstack([phi for _, phi in parts]), whole)
    assert [part.start for part, _ in parts] == list(range(0, 36, 5))
