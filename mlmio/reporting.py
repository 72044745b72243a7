"""A page on what was learned: the solve, its certificate, pictures and tables."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mlmio import pictures
from mlmio.diagnostics import PARTS
from mlmio.neighbors import is_linear_map
from mlmio.pages import check_folder, figure, write_page
from mlmio.recommending import recommend
from mlmio.risk import leave_one_out
from mlmio.structure import significance
from mlmio.tables import NOTHING, html_table, number

if TYPE_CHECKING:
    from mlmio.learning import Learned

Rows = Iterator[tuple[str, ...]]

# A formulation with all its numbers is one long word on a narrow screen.
STYLE = ".facts td + td { overflow-wrap: anywhere; }"

# Outliers and recommendations in the tables.
MOST_OUTLIERS, MOST_RECOMMENDED = 50, 20


def write_report(learned: Learned, folder: str | Path, n_neighbors: int = 1) -> Path:
    """Write a page on what was learned: one HTML file with all that it needs in it.

    Parameters
    ----------
    learned : Learned
    folder : str or Path
        Made if it is not there.
    n_neighbors : int, default 1
        How many neighbours vote in the leave-one-out error.

    Returns
    -------
    Path
        The page, ``index.html`` in the folder.

    Raises
    ------
    MlmioError
        If it cannot be written, or matplotlib is not installed.
    """
    place = check_folder(folder)
    name = learned.data.name
    sections = {
        "Solve": _table((), _solve(learned, n_neighbors)),
        "Classes": _table(("class", "points", *PARTS, "R*"), _classes(learned)),
        "Pictures": f'<div class="pictures">{"".join(_figures(learned, n_neighbors))}</div>',
        f"Outliers, by falling R{_most(len(learned.diagnosis.outliers), MOST_OUTLIERS)}": _table(
            ("id", "label", "R"), _outliers(learned)
        ),
        "Where to look next": _recommendations(learned),
    }
    body = "\n".join(f"<h2>{escape(head)}</h2>\n{text}" for head, text in sections.items())
    title = f"<h1>{escape(name)}: {escape(_shortened(str(learned.result.composition)))}</h1>"
    return write_page(place, name, f"{title}\n{body}", STYLE)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls by itself where the screen is narrow; one of facts wraps."""
    cells = list(rows)
    kind = "wide" if heads else "facts"
    return f'<div class="{kind}">{html_table(heads, cells)}</div>' if cells else "<p>None.</p>"


def _most(number: int, shown: int) -> str:
    return f" (the first {shown} of {number})" if number > shown else ""


def _solve(learned: Learned, n_neighbors: int) -> Rows:
    """Yield what is to be known of the solve and the metric."""
    result, data = learned.result, learned.data
    found = leave_one_out(learned.metric, data, n_neighbors, learned.serves)
    yield (
        "data",
        f"{data.N} points, {data.D} features, {data.n_classes} classes, {data.scaling.kind}",
    )
    yield "formulation, with all defaults", _shortened(str(result.resolved))
    yield "solver", f"{result.solver} {result.version}, strategy {result.strategy}"
    yield "status", f"{result.status}{f' ({result.message})' if result.message else ''}"
    if result.metric is None:
        yield "metric", "none was found: the Euclidean distance of scaled features stands in for it"
    yield "objective", number(result.objective)
    yield "bound", number(result.bound)
    yield "gap", NOTHING if result.gap is None else f"{result.gap:.2%}"
    yield "time", result.times
    yield "certificate", NOTHING if result.certificate is None else str(result.certificate)
    yield f"leave-one-out error, K = {n_neighbors}", f"{found.error:.2%} at full coverage"


def _shortened(text: str) -> str:
    """Write the numbers in a text with six significant digits, to be read and not to be solved."""
    return re.sub(r"\d+\.\d+(e[-+]?\d+)?", lambda found: number(float(found[0])), text)


def _classes(learned: Learned) -> Rows:
    diagnosis, data = learned.diagnosis, learned.data
    for c, label in enumerate(data.classes):
        counts = (str(count) for count in diagnosis.counts[c])
        yield str(label), str(data.class_sizes[c]), *counts, number(diagnosis.knees[c], 4)


def _outliers(learned: Learned) -> Rows:
    diagnosis, data = learned.diagnosis, learned.data
    for i in diagnosis.outliers[:MOST_OUTLIERS]:
        yield str(data.ids[i]), str(data.labels[i]), number(diagnosis.ratios[i], 4)


def _recommendations(learned: Learned) -> str:
    frame = recommend(learned.diagnosis, MOST_RECOMMENDED).to_frame().reset_index()
    said = (
        "<p>Check the label of the point, or sample around the centre, which is halfway to the "
        "opposing point. The radius is in the learned metric.</p>"
    )
    cells = [[_cell(value) for value in row] for row in frame.itertuples(index=False)]
    heads = [*frame.columns[:7], *(f"centre: {name}" for name in frame.columns[7:])]
    return said + _table(heads, cells)


def _cell(value: Any) -> str:
    return number(float(value), 4) if isinstance(value, float | np.floating) else str(value)


def _figures(learned: Learned, n_neighbors: int) -> Iterator[str]:
    """Yield the pictures that this metric and these data allow."""
    metric, data, diagnosis = learned.metric, learned.data, learned.diagnosis
    weights = significance(metric)
    if data.D > 1:
        first, second = np.argsort(-_weights(learned), kind="stable")[:2].tolist()
        pair = (first, second)
        yield figure(
            "Points over the two features that count most: interior pale, outliers ringed.",
            lambda ax: pictures.plot_parts(diagnosis, ax, pair),
        )
        yield figure(
            "Points at one distance from a centre; a long axis counts little.",
            lambda ax: pictures.plot_ellipses(metric, ax, pair),
        )
    yield figure(
        "Survival curves with chord and knee R*, up to which points are interior.",
        lambda ax: pictures.plot_survival(diagnosis, ax),
    )
    curve = leave_one_out(metric, data, n_neighbors, learned.serves).risk_coverage
    yield figure(
        "Leave-one-out error against coverage under abstention.",
        lambda ax: pictures.plot_risk_coverage(curve, ax),
    )
    if metric.B.any():
        yield figure(
            "Significance of the features in the quadratic term.",
            lambda ax: pictures.plot_significance(weights, ax),
        )
    if is_linear_map(metric):
        yield figure(
            "Every point as a row of metric coordinates; streaks are a class's signature.",
            lambda ax: pictures.plot_signatures(metric, data, ax),
        )
    if is_linear_map(metric) and data.D > 1:
        yield figure(
            "Points in metric coordinates.",
            lambda ax: pictures.plot_coordinates(metric, data, ax),
        )


def _weights(learned: Learned) -> Any:
    """What each feature alone contributes to the distance over the spread of the data."""
    D = learned.data.D
    steps = np.diag(np.ptp(learned.data.X, axis=0))
    return learned.metric.scaled_distance(steps, np.zeros((1, D)))[:, 0]
