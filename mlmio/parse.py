"""Reading a composition's string: literals only, nothing is evaluated."""

from __future__ import annotations

import ast
import warnings

from mlmio.blocks import Block, block
from mlmio.errors import CompositionError


def parse_blocks(spec: str) -> list[Block]:
    """Read blocks joined by ``+``, each a name with literal parameters.

    Parameters
    ----------
    spec : str
        Such as ``"quadratic + nearest + outliers(rho=0.1)"``.

    Raises
    ------
    CompositionError
        If the string is not of this form, or a block or parameter is unknown.
    """
    if not spec.strip():
        raise CompositionError(
            "the composition is empty: give blocks such as 'quadratic + nearest'"
        )
    try:
        with warnings.catch_warnings():
            # Python has its doubts about "1or 2"; the reader below is stricter.
            warnings.simplefilter("ignore", SyntaxWarning)
            tree = ast.parse(spec.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CompositionError(
            f"cannot read {_short(spec)} as a composition: write blocks joined by +, "
            f"such as 'quadratic + nearest + outliers(rho=0.1)'"
        ) from error
    return [_block(node, spec) for node in _summands(tree)]


def _summands(node: ast.expr) -> list[ast.expr]:
    """Flatten a sum; a loop, since long sums are deep on the left."""
    parts: list[ast.expr] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        parts.append(node.right)
        node = node.left
    return [node, *reversed(parts)]


def _block(node: ast.expr, spec: str) -> Block:
    if isinstance(node, ast.Name):
        return block(node.id)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        part = ast.get_source_segment(spec.strip(), node) or spec
        raise CompositionError(
            f"cannot read {_short(part)} in {_short(spec)}: a composition is names of blocks "
            f"joined by +, each with parameters such as rho=0.1"
        )
    name = node.func.id
    if node.args:
        raise CompositionError(
            f"the parameters of {name!r} need names: write {name}(parameter=value)"
        )
    parameters = {}
    for keyword in node.keywords:
        if keyword.arg is None or keyword.arg in parameters:
            raise CompositionError(f"the parameters of {name!r} must each be named once")
        parameters[keyword.arg] = _literal(keyword, name)
    return block(name, **parameters)


def _literal(keyword: ast.keyword, name: str) -> object:
    try:
        value: object = ast.literal_eval(keyword.value)
    except (ValueError, TypeError, RecursionError) as error:
        hint = ""
        if isinstance(keyword.value, ast.Name):
            hint = f", such as '{keyword.value.id}' in quotes"
        raise CompositionError(
            f"parameter {keyword.arg!r} of {name!r} is not a literal: "
            f"give a number, a text{hint}, True, False, None or a tuple of these"
        ) from error
    return value


def _short(text: str, limit: int = 60) -> str:
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")
