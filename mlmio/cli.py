"""The command line: ``mlmio compare iris`` and the rest."""

from __future__ import annotations

import sys

from mlmio.commands.bench import bench, run
from mlmio.commands.bench_report import diff, report
from mlmio.commands.compare import compare
from mlmio.commands.explain import explain
from mlmio.commands.export import export
from mlmio.commands.fit import fit
from mlmio.commands.lists import blocks, solvers
from mlmio.commands.predict import predict
from mlmio.commands.recommend import recommend
from mlmio.commands.shell import add_command, app
from mlmio.commands.strength import strength

# In the order of the help.
for function in (compare, strength, fit, predict, recommend, explain, blocks, solvers, export):
    add_command(function)
for part in (run, report, diff):
    add_command(part, bench)
app.add_typer(bench)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # What a terminal cannot show is no reason to fail.
            stream.reconfigure(errors="replace")
    app()
