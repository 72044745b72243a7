"""The page on what was learned: complete, self-contained, escaped."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mlmio import Dataset, MlmioError
from mlmio.learning import learn
from mlmio.reporting import write_report


def test_the_page_has_all_in_it(tmp_path: Path) -> None:
    X = np.r_[np.linspace(0.0, 0.3, 6), np.linspace(0.7, 1.0, 6), 1.2]
    labels = ["<a>"] * 6 + ["b"] * 6 + ["<a>"]
    data = Dataset(
        np.column_stack([X, X[::-1] ** 2]), labels, feature_names=["u & v", "w"], name="<set>"
    )
    learned = learn(data, "quadratic + diagonal + nearest + outliers(rho=0.3)", strategy="direct")
    page = write_report(learned, tmp_path / "new" / "folder")
    text = page.read_text(encoding="utf-8")
    assert page == tmp_path / "new" / "folder" / "index.html"
    assert text.count("<figure>") == text.count("data:image/png;base64,") == 7
    # Nothing is fetched from anywhere.
    assert not re.search(r'(src|href)="(?!data:)', text)
    assert 'name="viewport"' in text
    assert "<a>" not in text
    assert "&lt;a&gt;" in text
    assert "<h1>&lt;set&gt;: quadratic + diagonal + outliers(rho=0.3) + nearest</h1>" in text
    for head in ("Solve", "Classes", "Pictures", "Outliers, by falling R", "Where to look next"):
        assert f"<h2>{head}</h2>" in text
    assert f"<td>{learned.result.certificate}</td>" in text
    assert "centre: u &amp; v" in text


def test_numbers_are_to_be_read(tmp_path: Path) -> None:
    data = Dataset([[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1])
    formulation = "linear + nearest + bounded(dmin=0.001234567890123)"
    learned = learn(data, formulation, strategy="direct")
    result = replace(learned.result, bound=-0.0, build_s=1.0, lp_s=0.25, solve_s=0.5)
    text = write_report(replace(learned, result=result), tmp_path).read_text(encoding="utf-8")
    assert "bounded(dmin=0.00123457)" in text
    assert "0.0012345678" not in text
    assert "<td>bound</td><td>0</td>" in text
    assert "<td>time</td><td>build 1.00 s, LP 0.25 s, solve 0.50 s</td>" in text


@pytest.mark.parametrize("formulation", ["linear + nearest", "quadratic + nearest"])
def test_what_a_metric_does_not_allow_is_left_out(tmp_path: Path, formulation: str) -> None:
    data = Dataset([[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1])
    learned = learn(data, formulation, strategy="direct")
    text = write_report(learned, tmp_path).read_text(encoding="utf-8")
    # One feature: no plane to draw in; without a matrix no eigenvalues.
    assert text.count("<figure>") == (2 if formulation.startswith("linear") else 4)
    assert "<p>None.</p>" in text


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    data = Dataset([[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1])
    learned = learn(data, "linear + nearest", strategy="direct")
    with pytest.raises(MlmioError, match="is or lies below a file: give a folder"):
        write_report(learned, tmp_path / "file" / "below")


def test_a_metric_that_stands_in_is_called_so(tmp_path: Path) -> None:
    data = Dataset([[0.0], [0.1], [0.9], [1.0]], [0, 0, 1, 1])
    learned = learn(data, "linear + nearest", strategy="direct")
    found = replace(learned, result=replace(learned.result, metric=None, certificate=None))
    text = write_report(found, tmp_path).read_text(encoding="utf-8")
    assert "none was found: the Euclidean distance of scaled features stands in" in text
