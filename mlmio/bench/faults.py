"""What is wrong with a suite, in plain words: all of it, each with file, line and key."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Any

from mlmio.bench.marks import Marked
from mlmio.errors import MlmioError

Path = tuple[str | int, ...]

# What pydantic calls values of the wrong type, and what is wanted instead.
WANTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "string_type": "a text",
    "list_type": "a list",
    "model_type": "keys with values, as 'name: iris'",
    "dict_type": "keys with values",
}
# Values that are out of bounds.
BOUNDS = {
    "greater_than": "more than {gt:.12g}",
    "greater_than_equal": "at least {ge:.12g}",
    "less_than": "less than {lt:.12g}",
    "less_than_equal": "at most {le:.12g}",
    "finite_number": "a finite number",
}
EMPTY = {"too_short": "it is empty: give at least one", "string_too_short": "it is empty"}
# Branches of a union, which pydantic adds to the path of an error.
BRANCHES = ("int", "str", "constrained-int")


class SuiteError(MlmioError):
    """A suite is wrong.

    Parameters
    ----------
    problems : sequence of str
        Everything that is wrong with it, each with file, line and key.
    """

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def told(
    marked: Marked, errors: Sequence[Any], keys: Mapping[tuple[str, ...], Sequence[str]]
) -> list[str]:
    """Tell errors of pydantic in plain words, in the order of their lines.

    Parameters
    ----------
    marked : Marked
        The suite.
    errors : sequence of mapping
        As :meth:`pydantic.ValidationError.errors` gives them.
    keys : mapping
        For the path of a mapping, without places in lists, the keys that it may have.
    """
    at: dict[Path, list[Any]] = {}
    for error in errors:
        path = tuple(part for part in error["loc"] if part not in BRANCHES)
        at.setdefault(path, []).append(error)
    lines = {path: marked.line(path) for path in at}
    return [
        f"{marked.place(path)}: {_said(path, at[path], keys)}"
        for path in sorted(at, key=lambda path: lines[path])
    ]


def close(name: object, known: Sequence[str]) -> str:
    """Ask whether a known name was meant; nothing where none is close.

    Examples
    --------
    >>> close("sedes", ["seeds", "threads"])
    ", did you mean 'seeds'?"
    """
    found = difflib.get_close_matches(str(name), known, n=1)
    return f", did you mean {found[0]!r}?" if found else ""


def _said(path: Path, errors: Sequence[Any], keys: Mapping[tuple[str, ...], Sequence[str]]) -> str:
    """Say what is wrong in one place; a union has an error for each of its branches."""
    kinds = [error["type"] for error in errors]
    first = errors[0]
    if kinds[0] == "extra_forbidden":
        known = keys[tuple(part for part in path[:-1] if isinstance(part, str))]
        hint = close(path[-1], known) or ":"
        return f"there is no such key{hint} the keys are {', '.join(known)}"
    if kinds[0] == "missing":
        return f"it is missing{close(path[-1], list(map(str, first['input'])))}"
    if all(kind in WANTED for kind in kinds):
        wanted = " or ".join(dict.fromkeys(WANTED[kind] for kind in kinds))
        return f"give {wanted}, not {first['input']!r}"
    if kinds[0] in BOUNDS:
        return f"give {BOUNDS[kinds[0]].format(**first.get('ctx', {}))}, not {first['input']!r}"
    if kinds[0] == "invalid_key":
        return f"the key {path[-1]} is no text: put it into quotes"
    return EMPTY.get(kinds[0]) or str(first["msg"]).removeprefix("Value error, ")
