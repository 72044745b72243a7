"""Must-links and cannot-links: closure, propagation, contradictions, and the classes they imply."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlmio.data import Dataset
from mlmio.data.links import Links
from mlmio.errors import DataError

N = 8
PAIRS = st.lists(
    st.sampled_from([(i, j) for i in range(N) for j in range(N) if i != j]), min_size=1, max_size=8
)


def links(must: list, cannot: list, ids: object = None) -> Links:
    named = np.arange(N) if ids is None else np.array(ids)
    as_rows = [np.array(pairs, dtype=np.intp).reshape(-1, 2) for pairs in (must, cannot)]
    return Links(*as_rows, named)


def reached(must: list) -> np.ndarray:
    """(N, N) mask of points that must be of one class, by Warshall's algorithm."""
    same = np.eye(N, dtype=bool)
    for i, j in must:
        same[i, j] = same[j, i] = True
    for m in range(N):
        same |= same[:, [m]] & same[[m], :]
    return same


@settings(deadline=None, max_examples=50)
@given(PAIRS, PAIRS)
def test_closure_and_propagation_against_their_definition(must: list, cannot: list) -> None:
    same = reached(must)
    if any(same[k, other] for k, other in cannot):
        with pytest.raises(DataError, match="must be one class, but"):
            links(must, cannot)
        return
    apart = np.zeros((N, N), dtype=bool)
    for k, other in cannot:
        apart |= np.outer(same[k], same[other]) | np.outer(same[other], same[k])
    found = links(must, cannot)
    linked = {point for pair in must + cannot for point in pair}
    assert set(found.group) == linked
    pairs = list(combinations(range(N), 2))
    assert found.similar.tolist() == [[i, j] for i, j in pairs if same[i, j]]
    assert found.dissimilar.tolist() == [[i, k] for i, k in pairs if apart[i, k]]


@settings(deadline=None, max_examples=50)
@given(PAIRS, PAIRS)
def test_classes_of_unlabelled_points(must: list, cannot: list) -> None:
    same = reached(must)
    if any(same[k, other] for k, other in cannot):
        return
    X = np.random.default_rng(0).normal(size=(N, 2))
    data = Dataset(X, None, side={"must_link": must, "cannot_link": cannot})
    found = links(must, cannot)
    assert data.ids.tolist() == sorted(found.group)
    assert (data.N, data.source_size) == (len(found.group), N)
    rows = np.arange(data.N)
    assert np.array_equal(data.y[:, None] == data.y, same[np.ix_(data.ids, data.ids)])
    apart = np.zeros((N, N), dtype=bool)
    i, k = found.dissimilar.T
    apart[i, k] = apart[k, i] = True
    assert np.array_equal(data.apart_rows(rows), apart[np.ix_(data.ids, data.ids)])
    assert data.non_pair_count == len(data.non_pairs()) == 2 * len(found.dissimilar)
    assert len(data.co_pairs()) == 2 * len(found.similar)


@pytest.mark.parametrize(
    ("must", "cannot", "message"),
    [
        ([(0, 1), (1, 2)], [(0, 2)], "a – b – c must be one class, but a and c cannot: drop"),
        ([(1, 0)], [(0, 1)], "a – b must be one class, but a and b cannot: drop"),
        (
            [(0, 1), (1, 2), (2, 3), (0, 3)],
            [(5, 6), (4, 5), (2, 0)],
            "c – b – a must be one class, but c and a cannot: drop",
        ),
    ],
)
def test_a_contradiction_names_a_shortest_chain(must: list, cannot: list, message: str) -> None:
    with pytest.raises(DataError) as error:
        links(must, cannot, list("abcdefgh"))
    assert str(error.value).startswith(message)


def test_classes_are_named_after_their_first_point_and_sorted() -> None:
    rows, labels, apart = links([(7, 1), (2, 3)], [(7, 2), (3, 5)], [*range(2, 10)]).classes()
    assert rows.tolist() == [1, 2, 3, 5, 7]
    names = ["group of 3", "group of 4", "group of 4", "group of 7", "group of 3"]
    assert labels.tolist() == names
    assert apart.astype(int).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


def test_apart_follows_the_order_of_the_class_names() -> None:
    # As text "group of 10" comes before "group of 2".
    ids = [2, 10, 11, 30, 31, 40, 41, 50]
    data = Dataset(
        np.arange(8.0)[:, None],
        None,
        ids=ids,
        side={"must_link": [(2, 30), (10, 11), (40, 41)], "cannot_link": [(2, 41)]},
    )
    assert data.classes.tolist() == ["group of 10", "group of 2", "group of 40"]
    assert data.ids[data.non_class(0)].tolist() == [40, 41]
    assert data.non_class(1).tolist() == []
    assert data.ids[data.co_class(1)].tolist() == [11]


def test_importing_data_does_not_import_networkx() -> None:
    code = "import sys, mlmio.data; print('networkx' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
