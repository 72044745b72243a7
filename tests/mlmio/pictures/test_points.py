"""Pictures of points: what is drawn where, not its pixels."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

import mlmio
from mlmio import DataError, Dataset, Diagnosis, Metric, MlmioError
from mlmio.pictures import (
    plot_coordinates,
    plot_image_rows,
    plot_parts,
    plot_points,
    plot_recommendations,
    plot_signatures,
)


def offsets(ax: plt.Axes) -> np.ndarray:
    return np.concatenate([np.asarray(c.get_offsets()) for c in ax.collections])


def test_every_point_is_drawn_once_and_outliers_are_ringed(found: Diagnosis) -> None:
    _, ax = plt.subplots()
    assert plot_parts(found, ax) is ax
    data = found.data
    original = data.X * data.scaling.factor + data.scaling.shift
    ring = np.asarray(ax.collections[-1].get_offsets())
    np.testing.assert_allclose(ring, original[found.parts == "outlier"])
    drawn = offsets(ax)[: data.N]
    assert sorted(map(tuple, drawn.round(9))) == sorted(map(tuple, original.round(9)))
    interior, boundary, outlier = found.counts.sum(axis=0)
    assert ax.get_title() == (f"{interior} interior (pale), {boundary} boundary, {outlier} outlier")
    # Ten classes in a legend of their own beside the axes.
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *map(str, range(10)), "outlier",
    ]  # fmt: skip


def test_interior_points_are_pale_with_a_rim_of_their_colour(found: Diagnosis) -> None:
    ax = plot_parts(found)
    first, last = ax.collections[0], ax.collections[found.data.n_classes]
    full = last.get_facecolors()[0][:3]
    np.testing.assert_allclose(first.get_edgecolors()[0][:3], full)
    np.testing.assert_allclose(first.get_facecolors()[0], [*(1 - 0.35 * (1 - full)), 1.0])
    # Those that count are drawn above those that do not.
    parts = [found.parts == "interior", found.parts != "interior"]
    sizes = [len(np.asarray(c.get_offsets())) for c in ax.collections[:20]]
    classes = [(part & (found.data.y == c)).sum() for part in parts for c in range(10)]
    assert sizes == classes


def test_chosen_features_and_wrong_ones() -> None:
    data = mlmio.load_dataset("iris", per_class=10)
    found = mlmio.diagnose(Metric({2: np.eye(4)}, 4, data.scaling), data)
    ax = plot_parts(found, features=(3, 1))
    assert ax.get_xlabel() == data.feature_names[3]
    assert ax.get_ylabel() == data.feature_names[1]
    with pytest.raises(DataError, match="there are 4 coordinates"):
        plot_parts(found, features=(0, 4))


def test_names_are_no_formulas() -> None:
    data = Dataset([[0.0, 1.0], [1.0, 0.0]], ["$\\a$", "b"], feature_names=["$^$", "cost ($)"])
    ax = plot_parts(mlmio.diagnose(Metric({2: np.eye(2)}, 2, data.scaling), data))
    ax.figure.canvas.draw()


def test_recommendations_are_numbered_between_their_ends(found: Diagnosis) -> None:
    given = mlmio.recommend(found, 4)
    ax = plot_recommendations(given)
    assert [text.get_text() for text in ax.texts] == ["1", "2", "3", "4"]
    np.testing.assert_allclose([text.xy for text in ax.texts], given.centres)
    pairs = [line.get_xydata() for line in ax.lines if len(line.get_xydata()) == 2]
    np.testing.assert_allclose([pair.mean(axis=0) for pair in pairs], given.centres)


def test_coordinates_are_those_of_the_metric() -> None:
    data = mlmio.load_dataset("iris", per_class=10)
    metric = Metric({2: np.diag([1.0, 4.0, 9.0, 16.0])}, 4, data.scaling)
    ax = plot_coordinates(metric, data)
    expected = data.X[:, [3, 2]] * [4.0, 3.0]
    np.testing.assert_allclose(np.abs(offsets(ax)), expected, atol=1e-12)


def test_signatures_are_rows_by_class() -> None:
    data = Dataset([[0.0, 5.0], [1.0, 9.0], [0.0, 6.0]], ["b", "a", "b"], scale="none")
    ax = plot_signatures(Metric({2: np.diag([1.0, 4.0])}, 2), data)
    drawn = np.asarray(ax.images[0].get_array())
    expected = (data.X - data.X.mean(axis=0))[[1, 0, 2]][:, [1, 0]] * [2.0, 1.0]
    np.testing.assert_allclose(drawn, expected)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a", "b"]
    bar = ax.images[0].colorbar
    assert bar.ax.get_ylabel() == "coordinate less its mean over all points"
    assert bar.vmax == -bar.vmin == np.abs(expected).max()


@pytest.mark.parametrize("draw", [plot_coordinates, plot_signatures])
def test_without_a_linear_map_there_are_no_coordinates(draw: object) -> None:
    data = mlmio.load_dataset("two_lines", n=10)
    with pytest.raises(DataError, match="no linear map gives this metric"):
        draw(Metric({1: [1.0, 1.0]}, 2), data)


@pytest.mark.filterwarnings("ignore:.*have the same value")
def test_image_rows() -> None:
    data = mlmio.load_dataset("digits", per_class=8)
    found = mlmio.diagnose(Metric({2: np.eye(64)}, 64, data.scaling), data)
    images = np.arange(80)[:, None, None] + np.zeros((1, 8, 8))
    ax = plot_image_rows(found, images, n=3)
    drawn = [int(np.asarray(image.get_array())[0, 0]) for image in ax.images]
    inside, outliers = found.rows("interior")[::-1], found.outliers
    opposing = drawn[-len(outliers[:3]) :]
    expected = [*inside[:3], *found.rows("boundary")[:3], *outliers[:3]]
    assert drawn[: len(expected)] == expected
    for i, k in zip(outliers[:3], opposing, strict=True):
        others = np.flatnonzero(data.y != data.y[i])
        assert k == others[found.metric.scaled_distance(data.X[[i]], data.X[others]).argmin()]
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        "interior", "boundary", "outlier", "opposing",
    ]  # fmt: skip
    with pytest.raises(DataError, match=r"the images have shape \(3, 8, 8\)"):
        plot_image_rows(found, images[:3])


def test_image_rows_of_some_classes() -> None:
    data = mlmio.load_dataset("digits", per_class=8)
    found = mlmio.diagnose(Metric({2: np.eye(64)}, 64, data.scaling), data)
    images = np.arange(80)[:, None, None] + np.zeros((1, 8, 8))
    ax = plot_image_rows(found, images, n=8, labels=[9, 1])
    drawn = [int(np.asarray(image.get_array())[0, 0]) for image in ax.images]
    chosen = np.isin(data.labels, [1, 9])
    expected = [
        *found.rows("interior")[::-1], *found.rows("boundary"), *found.outliers,
    ]  # fmt: skip
    wanted = [
        row
        for part in ("interior", "boundary", "outlier")
        for row in [i for i in expected if chosen[i] and found.parts[i] == part][:8]
    ]
    assert drawn[: len(wanted)] == wanted
    with pytest.raises(DataError, match="there is no class 10"):
        plot_image_rows(found, images, labels=[10])


def test_points_are_drawn_by_class_and_shrink_where_they_are_many() -> None:
    sizes = []
    for n in (400, 2000):
        data = mlmio.load_dataset("ten_classes", n=n)
        ax = plot_points(data)
        original = data.X * data.scaling.factor + data.scaling.shift
        for c, drawn in enumerate(ax.collections):
            np.testing.assert_allclose(drawn.get_offsets(), original[data.y == c])
        assert [text.get_text() for text in ax.get_legend().get_texts()] == list("0123456789")
        assert len({tuple(drawn.get_facecolors()[0]) for drawn in ax.collections}) == 10
        sizes.append(ax.collections[0].get_sizes()[0])
    assert sizes[1] == sizes[0] / 2


def test_without_matplotlib(found: Diagnosis, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlmio.plotting.importlib.util.find_spec", lambda name: None)
    with pytest.raises(MlmioError, match="figures need matplotlib"):
        plot_parts(found)
