"""Helpers of the extensions: text in reStructuredText, sessions, and files."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any


def write(path: Path, text: str) -> None:
    """Write a page if it has changed, so that the build reads only what is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def title(text: str, line: str = "=") -> str:
    """Return a heading."""
    return f"{text}\n{line * len(text)}\n"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], widths: str = "auto") -> str:
    """Return a table whose cells are reStructuredText of one line each."""
    lines = [
        ".. list-table::",
        f"   :header-rows: {int(any(heads))}",
        f"   :widths: {widths}",
        "   :align: left",
        "",
    ]
    for row in [heads, *rows] if any(heads) else rows:
        for position, cell in enumerate(row):
            lines.append(f"   {'* -' if position == 0 else '  -'} {cell}".rstrip())
    return "\n".join([*lines, ""])


def session(statements: Sequence[str]) -> str:
    """Run statements, and return what an interactive session shows of it."""
    namespace: dict[str, Any] = {}
    lines = []
    for statement in statements:
        first, *rest = statement.split("\n")
        lines += [f">>> {first}", *(f"... {line}" for line in rest)]
        printed = io.StringIO()
        with redirect_stdout(printed):
            exec(compile(statement + "\n", "<docs>", "single"), namespace)
        lines += printed.getvalue().rstrip("\n").split("\n") if printed.getvalue() else []
    return "\n".join([".. code-block:: pycon", "", *(f"   {line}".rstrip() for line in lines), ""])
