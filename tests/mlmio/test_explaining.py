"""Explanations: what is assembled, and how large it is."""

import pytest

import mlmio
from mlmio import CompositionError, DataError, compose
from mlmio.explaining import HEADS, explain, show_size
from mlmio.sizes import Dimensions

FULL = "linear + quadratic + nearest + mccormick + outliers(rho=0.05, semantics='printed')"


@pytest.fixture(scope="module")
def data() -> mlmio.Dataset:
    return mlmio.load_dataset("iris", per_class=3)


def column(rows: tuple[tuple[str, ...], ...], head: str) -> list[str]:
    return [row[HEADS.index(head)] for row in rows]


def test_each_block_has_its_row() -> None:
    explanation = explain(compose(FULL))
    assert column(explanation.rows, "slot") == [
        "terms",
        "terms",
        "region",
        "loss",
        "encoding",
        "neighbors",
    ]
    blocks = column(explanation.rows, "block")
    assert "outliers(rho=0.05, semantics='printed')" in blocks
    assert "model:minlp, set:feasible_region_YZ" in column(explanation.rows, "source")
    assert "D(D+1)/2" in column(explanation.rows, "variables")


def test_defaults_are_marked() -> None:
    blocks = column(explain(compose("quadratic + nearest")).rows, "block")
    assert blocks == ["quadratic", "bounded (default)", "bigm (default)", "nearest"]


def test_symbols_are_explained_unless_there_are_data(data: mlmio.Dataset) -> None:
    composition = compose("quadratic + nearest")
    assert any("Q classes" in remark for remark in explain(composition).remarks)
    assert not any("Q classes" in remark for remark in explain(composition, data).remarks)
    assert any("MILP, made so by bigm, nearest" in r for r in explain(composition).remarks)


@pytest.mark.parametrize(
    "spec", ["linear + nearest", FULL, "quadratic + nearest(k=2) + mccormick + outliers"]
)
def test_sizes_are_those_of_the_model(spec: str, data: mlmio.Dataset) -> None:
    from pyomo.core import Constraint, Var

    composition = compose(spec)
    model = composition.build(data)
    variables = list(model.component_data_objects(Var))
    rows = len(list(model.component_data_objects(Constraint)))
    binaries = sum(v.is_binary() for v in variables)
    total = f"Total: variables {len(variables)}, binaries {binaries}, rows {rows}."
    assert explain(composition, data).remarks[0] == total


@pytest.mark.parametrize("width", [70, 80, 120])
@pytest.mark.parametrize("with_data", [False, True])
def test_printed_table_fits(
    width: int,
    with_data: bool,
    data: mlmio.Dataset,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    compose(FULL).explain(data if with_data else None)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    words = " ".join(lines).split()
    for word in ("variables", "binaries", "rows", "class", "eq:w_mccormick_1", "neighbors"):
        assert word in words
    assert "…" not in " ".join(lines)


def test_html_has_the_same_and_is_escaped() -> None:
    html = compose(FULL)._repr_html_()
    assert html.startswith("<table>")
    assert "D(D+1)/2" in html
    assert "semantics=&#x27;printed&#x27;" in html


def test_incomplete_compositions_are_refused() -> None:
    with pytest.raises(CompositionError, match="no block in slot 'neighbors'"):
        compose("linear").explain()
    with pytest.raises(CompositionError, match="no block in slot 'terms'"):
        compose("nearest")._repr_html_()


def test_data_that_do_not_allow_it_are_refused(data: mlmio.Dataset) -> None:
    with pytest.raises(DataError, match="class 'setosa' has 3"):
        compose("linear + nearest(k=3)").explain(data)


def test_sizes_are_written_as_by_hand() -> None:
    n = Dimensions.symbols()
    assert show_size([]) == "0"
    assert show_size([0, n.N]) == "N"
    assert show_size([2 * n.N, n.co + n.N + 1, 3]) == "3N + C + 4"
    assert show_size([n.D * (n.D + 1) * (n.D + 2) / 6, 1]) == "D(D+1)(D+2)/6 + 1"
    assert show_size([10**7, 1]) == "10000001"
