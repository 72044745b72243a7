"""Pictures of curves: their points are those of the diagnosis."""

from __future__ import annotations

import numpy as np
import pytest

from mlmio import DataError, Diagnosis
from mlmio.diagnostics import survival
from mlmio.pictures import plot_risk_coverage, plot_survival
from mlmio.risk import risk_coverage


def test_curve_chord_and_knee_of_one_class(found: Diagnosis) -> None:
    c = int(np.argmax(found.knees))
    ax = plot_survival(found, labels=[c])
    R, S = survival(found.of_class(c))
    curve, chord, knee, *_ = (line.get_xydata() for line in ax.lines)
    np.testing.assert_allclose(curve, np.column_stack([R, S]))
    np.testing.assert_allclose(chord, [[R[0], S[0]], [R[-1], S[-1]]])
    assert knee[0] == pytest.approx([found.knees[c], S[found.knees[c] == R][0]])
    assert ax.get_legend().get_texts()[0].get_text() == f"{c}: R* = {found.knees[c]:.3g}"


def test_all_classes_by_default_and_unknown_ones(found: Diagnosis) -> None:
    assert len(plot_survival(found).get_legend().get_texts()) == 10
    with pytest.raises(DataError, match="no class 'rose'"):
        plot_survival(found, labels=["rose"])


def test_error_against_coverage() -> None:
    curve = risk_coverage([False, True, False, True], [0.1, 0.9, 0.4, 0.9])
    ax = plot_risk_coverage({"one": curve, "two": curve})
    np.testing.assert_allclose(
        ax.lines[0].get_xydata(), np.column_stack([curve.coverage, curve.error])
    )
    assert ax.lines[1].get_xydata().tolist() == [[1.0, 0.5]]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "one: 50.00% at full coverage", "two: 50.00% at full coverage",
    ]  # fmt: skip
    assert plot_risk_coverage(curve).get_legend().get_texts()[0].get_text().startswith("50.00%")
