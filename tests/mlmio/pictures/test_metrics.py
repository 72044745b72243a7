"""Pictures of metrics: outlines by hand, regions against a vote, bars against W."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.neighbors import KNeighborsClassifier

import mlmio
from mlmio import DataError, Dataset, Metric
from mlmio.pictures import plot_ellipses, plot_regions, plot_significance
from mlmio.structure import significance


def outline(metric: Metric) -> np.ndarray:
    return np.asarray(plot_ellipses(metric).lines[0].get_xydata())


def test_outline_of_an_ellipse() -> None:
    points = outline(Metric({2: np.diag([1.0, 4.0])}, 2))
    # One distance all along, the short half-axis 1 and the long one 2.
    np.testing.assert_allclose(points[:, 0] ** 2 + 4.0 * points[:, 1] ** 2, 4.0)
    assert np.abs(points).max(axis=0) == pytest.approx([2.0, 1.0])


def test_outline_of_a_diamond() -> None:
    points = outline(Metric({1: [1.0, 1.0]}, 2))
    np.testing.assert_allclose(np.abs(points).sum(axis=1), np.sqrt(2.0))


def test_outline_of_mixed_terms_is_at_one_distance() -> None:
    metric = Metric({1: [0.3, 0.1], 2: [[1.0, 0.5], [0.5, 1.0]], 3: np.ones((2, 2, 2))}, 2)
    points = outline(metric)
    distances = metric.scaled_distance(points, np.zeros((1, 2)))[:, 0]
    np.testing.assert_allclose(distances, distances[0])


def test_a_direction_that_is_not_seen_is_cut_off() -> None:
    points = outline(Metric({2: np.diag([0.0, 1.0])}, 2))
    assert np.linalg.norm(points, axis=1).max() == pytest.approx(8.0)
    with pytest.raises(DataError, match="zero in these features"):
        plot_ellipses(Metric({2: np.diag([0.0, 0.0, 1.0])}, 3))


def test_several_metrics_are_named() -> None:
    matrices = {"learned": np.diag([1.0, 2.0]), "Euclidean": np.eye(2)}
    ax = plot_ellipses({name: Metric({2: B}, 2) for name, B in matrices.items()})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["learned", "Euclidean"]


def test_regions_are_the_vote_of_the_neighbours() -> None:
    data = mlmio.load_dataset("islands", n=45)
    euclidean = Metric({2: np.eye(2)}, 2, data.scaling)
    learned, named = (
        plot_regions(euclidean, data, n_neighbors=3),
        plot_regions("euclidean", data, n_neighbors=3),
    )
    first, second = (np.asarray(ax.collections[0].get_array()) for ax in (learned, named))
    assert (first == second).mean() > 0.999
    assert set(first.ravel()) == {0, 1, 2}
    assert (learned.get_title(), named.get_title()) == ("learned", "euclidean")


def test_other_distances_divide_otherwise_and_wrong_calls() -> None:
    data = mlmio.load_dataset("two_lines", n=20)
    one, other = (plot_regions(name, data) for name in ("manhattan", "chebyshev"))
    assert (one.collections[0].get_array() != other.collections[0].get_array()).any()
    with pytest.raises(DataError, match="no distance 'cosine': give a Metric"):
        plot_regions("cosine", data)
    with pytest.raises(DataError, match="iris has 4 features"):
        plot_regions("euclidean", mlmio.load_dataset("iris", per_class=5))


def test_regions_of_a_classifier() -> None:
    whole = mlmio.load_dataset("islands", n=45, scale="none")
    data = Dataset(whole.X, np.array(["c", "a", "b"])[whole.y])
    model = KNeighborsClassifier(1).fit(whole.X, data.labels)
    ax = plot_regions(model, data)
    mesh = ax.collections[0]
    corners = np.asarray(mesh.get_coordinates())
    assert ax.get_title() == "predicted"
    # Every cell has the class that is predicted in its middle.
    middle = (corners[:-1, :-1] + corners[1:, 1:]) / 2
    expected = np.searchsorted(data.classes, model.predict(middle.reshape(-1, 2)))
    assert (np.asarray(mesh.get_array()).ravel() == expected).all()
    with pytest.raises(DataError, match="there is no class 'c': the classes are 'a', 'b'"):
        plot_regions(model, data.take(np.flatnonzero(data.labels != "c")))


def test_bars_are_shares_the_largest_on_top() -> None:
    metric = Metric({2: np.diag([1.0, 3.0, -4.0])}, 3, feature_names=["u", "v", "w"])
    ax = plot_significance(significance(metric), most=2)
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.375]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["w", "v"]
    assert ax.yaxis_inverted()
    assert "B is indefinite" in ax.get_xlabel()
