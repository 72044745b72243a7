"""Docstrings may write |x| for an absolute value: reStructuredText would take it for a name."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# Literals and roles stay as they are, and so does a bar that is escaped already.
KEPT = re.compile(r"(``.*?``|:\w+:`.*?`|\\\|)")
OPENS = re.compile(r"\.\. (math|code-block)::|>>> |.*::$")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    # After napoleon, which has a priority of 500.
    app.connect("autodoc-process-docstring", escape, priority=600)
    return {"parallel_read_safe": True}


def escape(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape bars in running text, not in formulas and code."""
    inside: int | None = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if inside is not None and line.strip() and indent <= inside:
            inside = None
        if inside is None and OPENS.match(line.strip()):
            inside = indent
        if inside is None and "|" in line:
            parts = KEPT.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[number] = "".join(parts)
