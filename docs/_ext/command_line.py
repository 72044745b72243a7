"""The reference of the command line, made from the commands, and what some of them print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pages import table, title, write

if TYPE_CHECKING:
    from sphinx.application import Sphinx

# What is shown in the pages, each as it was printed when they were made.
RUNS = {
    "compare": ("compare", "iris"),
    "strength": ("strength", "iris"),
    "explain": ("explain", "linear + quadratic + nearest + outliers(rho=0.1)", "iris"),
}
COLUMNS = "92"


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("builder-inited", make_reference)
    return {"parallel_read_safe": True}


def make_reference(app: Sphinx) -> None:
    """Write a section for every command."""
    import typer

    from mlmio.cli import app as cli

    group: Any = typer.main.get_command(cli)
    sections = [section(name, command) for name, command in commands_of(group)]
    folder = Path(app.srcdir) / "_generated"
    write(folder / "command_line.inc", "\n".join(sections))
    for name, arguments in RUNS.items():
        write(folder / f"run_{name}.inc", printed(arguments))


def commands_of(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every command with its name, those of groups after the group's name."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def printed(arguments: tuple[str, ...]) -> str:
    """Run a command, and return what a terminal shows of it."""
    run = subprocess.run(
        [sys.executable, "-m", "mlmio.cli", *arguments],
        env={**os.environ, "COLUMNS": COLUMNS, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    call = " ".join(f'"{a}"' if " " in a else a for a in ("mlmio", *arguments))
    lines = [f"$ {call}", *run.stdout.rstrip().split("\n")]
    return "\n".join([".. code-block:: text", "", *(f"   {line}".rstrip() for line in lines), ""])


def section(name: str, command: Any) -> str:
    """Return the section of one command."""
    shown = [p for p in command.params if not getattr(p, "hidden", False) and p.name != "help"]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option"]
    usage = " ".join(["mlmio", name, *map(written, arguments), *(["[OPTIONS]"] if options else [])])
    parts = [title(f"mlmio {name}", "-"), *code(usage), *description(command.help or "")]
    rows = [(f"``{written(p)}``", prose(p.help or ""), "") for p in arguments]
    rows += [(names(p), *told(p)) for p in options]
    if rows:
        parts.append(table(("", "", "default"), rows, "30 50 20"))
    return "\n".join(parts)


def description(text: str) -> list[str]:
    """Return the help of a command, its example as code."""
    parts = []
    for paragraph in text.strip().split("\n\n"):
        line = " ".join(paragraph.split())
        before, is_example, example = line.partition("Example: ")
        parts += code(example) if is_example and not before else [line, ""]
    return parts


def code(line: str) -> list[str]:
    """Return a line as typed into a shell."""
    return [".. code-block:: console", "", f"   $ {line}", ""]


def written(argument: Any) -> str:
    """Return an argument as it stands in a call."""
    metavar = str(argument.metavar or argument.name.upper()).strip("[]")
    return metavar if argument.required else f"[{metavar}]"


def names(option: Any) -> str:
    """Return the names of an option and what it takes."""
    takes = "" if getattr(option, "is_flag", False) else f" {option.metavar or 'VALUE'}"
    return ", ".join(f"``{name}{takes if name.startswith('--') else ''}``" for name in option.opts)


def told(option: Any) -> tuple[str, str]:
    """Return the help of an option, and its default, which the help may have in brackets."""
    text, _, rest = (option.help or "").partition(" [default: ")
    value = rest.removesuffix("]") or option.default
    plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    return prose(text), f"``{value}``" if plain else ""


def prose(text: str) -> str:
    """Return a help text with the options in it as literals."""
    return re.sub(r"(?<!\S)(--[\w-]+)", r"``\1``", text)
