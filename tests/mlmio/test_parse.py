"""Strings are read as literals: what is not one is refused, and nothing is ever evaluated."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlmio import CompositionError, compose

BAD = [
    "",
    "   ",
    "+",
    "+ linear",
    "linear +",
    "linear + + ",
    "linear + + nearest",
    "linear nearest",
    "linear, nearest",
    "linear - nearest",
    "linear | nearest",
    "linear * 2",
    "-linear",
    "(linear",
    "linear)",
    "linear\nnearest",
    "3",
    "'linear'",
    "None",
    "[linear]",
    "a.b",
    "linear.order",
    "linear[0]",
    "linear()()",
    "linear().build()",
    "lambda: linear",
    "linear if True else nearest",
    "x := linear",
    "linear; import os",
    "import os",
    "__import__('os')",
    "__import__('os').system('true')",
    "print(1)",
    "open('/etc/passwd')",
    "exec('1')",
    "nearest(k=1+1)",
    "nearest(k=-(-1)) + f(1)",
    "nearest(k=k)",
    "nearest(k=len('a'))",
    "nearest(k=__import__('os').getpid())",
    "nearest(k=[x for x in (1,)][0])",
    "nearest(k=f'{1}')",
    "nearest(1)",
    "nearest(*(1,))",
    "nearest(**{'k': 1})",
    "nearest(k=1, k=2)",
    "nearest(k=1, 2)",
    "nearest(k)",
    "nearest(k=)",
    "nearest(k=1",
    "nearest(K=1)",
    "nearest(k='1')",
    "nearest(k=None)",
    "nearest(k={})",
    "outliers(semantics=remove)",
    "outliers(rho=1e999)",
    "outliers(rho=nan)",
    "outliers(rho=1j)",
    "nearst",
    "Nearest",
    "né(k=1)",
    "linear + \x00",
    "linear # nothing\n + nearest",
    "(" * 500 + "linear" + ")" * 500,
    "linear + " * 3 + "(" * 5000 + "linear" + ")" * 5000,
    "nearest(k=" + "[" * 5000 + "]" * 5000 + ")",
    "nearest(k=" + "-" * 50000 + "1)",
    "9" * 10000,
    "nearest(k=" + "9" * 10000 + ")",
]


@pytest.mark.parametrize("spec", BAD, ids=lambda spec: repr(spec[:40]))
def test_a_bad_string_is_one_sentence(spec: str) -> None:
    with pytest.raises(CompositionError) as caught:
        compose(spec)
    message = str(caught.value)
    assert len(message) < 600
    assert "\n" not in message


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ("nearest(1)", "parameters of 'nearest' need names"),
        ("nearest(k=1+1)", "'k' of 'nearest' is not a literal"),
        ("outliers(semantics=remove)", "such as 'remove' in quotes"),
        ("nearst", "did you mean 'nearest'"),
        ("nearest(K=1)", "no parameter 'K': it takes k"),
        ("linear(k=1)", "it takes none"),
        ("linear + a.b", "cannot read 'a.b'"),
        ("", "is empty"),
    ],
)
def test_the_message_says_what_is_wrong(spec: str, says: str) -> None:
    with pytest.raises(CompositionError) as caught:
        compose(spec)
    assert says in str(caught.value)


def test_nothing_is_evaluated(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "antigravity", raising=False)
    for spec in ("open('made', 'w')", "nearest(k=open('made', 'w'))", "__import__('antigravity')"):
        with pytest.raises(CompositionError):
            compose(spec)
    assert not list(tmp_path.iterdir())
    assert "antigravity" not in sys.modules


@pytest.mark.parametrize(
    ("spec", "same"),
    [
        ("linear+nearest", "linear + nearest"),
        ("  linear\t+  nearest  ", "linear + nearest"),
        ("linear()", "linear"),
        ("nearest(k=1)", "nearest"),
        ("(linear) + nearest", "linear + nearest"),
        ("outliers(keep=0, rho=.5,)", "outliers(rho=0.5, keep=0)"),
        ('outliers(semantics="printed")', "outliers(semantics='printed')"),
        ("bounded(dmin=1e-2)", "bounded(dmin=0.01)"),
    ],
)
def test_good_strings(spec: str, same: str) -> None:
    assert str(compose(spec)) == same


def test_a_long_sum_is_read() -> None:
    assert str(compose(" + ".join(["linear", "nearest"] * 500))) == "linear + nearest"


@settings(max_examples=50)
@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        composition = compose(text)
    except CompositionError:
        return
    assert compose(str(composition)) == composition


@settings(max_examples=50)
@given(st.text(alphabet="linearquadratic+()=,.'\"[]0123456789_ \n", max_size=40))
def test_any_text_of_the_language_is_read_or_refused(text: str) -> None:
    try:
        composition = compose(text)
    except CompositionError:
        return
    assert compose(str(composition)) == composition
