"""``mlmio bench report``: the page and the tables of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mlmio.bench.evidence import Evidence, read_run
from mlmio.bench.findings import Findings, find
from mlmio.bench.page import CONTENDED, SCALING, SUMMARY, body, sized
from mlmio.bench.shown import SCRIPT, STYLE, latex
from mlmio.bench.tables import SHIFT_NODES, SHIFT_S, Contest, contests
from mlmio.pages import check_folder, write_page
from mlmio.writing import write_text

if TYPE_CHECKING:
    import pandas as pd

FOLDER = "report"
TIMED = (
    f"Times are geometric means shifted by {SHIFT_S:g} s, unsolved at the limit, and nodes are "
    f"shifted by {SHIFT_NODES:g}; {CONTENDED} has contended timings:"
)
LOOKS = """
body { max-width: 70rem; }
.wrong { border-left: 4px solid #D55E00; padding-left: 0.8rem; }
.right { border-left: 4px solid #007D5A; padding-left: 0.8rem; }
h3 { font-size: 1rem; margin: 1.4rem 0 0.4rem; overflow-wrap: anywhere; }
h2 { overflow-wrap: anywhere; } figure { max-width: 34rem; }
.quiet { font-size: 0.9rem; opacity: 0.85; }
code { overflow-wrap: anywhere; }
"""


def write_report(run: str | Path, folder: str | Path | None = None) -> Path:
    """Write the report of a run: a page with all that it needs in it, CSV and LaTeX tables.

    Parameters
    ----------
    run : str or Path
        The folder that ``mlmio bench run`` wrote.
    folder : str or Path, optional
        For the report, made if it is not there; ``report`` in the folder of the run by default.

    Returns
    -------
    Path
        The page, ``index.html``.

    Raises
    ------
    MlmioError
        If the folder holds no run, the report cannot be written, or matplotlib is not installed.
    """
    out = Path(run).expanduser()
    evidence = read_run(out)
    place = check_folder(out / FOLDER if folder is None else folder)
    findings = find(evidence)
    evidence = evidence.without(findings.contradicted)
    parts = contests(evidence, findings.closed)
    for name, frame in _tables(evidence, findings, parts):
        write_text(place / f"{name}.csv", frame.to_csv(index=False))
    for name, text in _papers(parts):
        write_text(place / f"{name}.tex", text)
    name = out.resolve().name
    return write_page(place, name, body(name, evidence, findings, parts), STYLE + LOOKS, SCRIPT)


def _tables(
    evidence: Evidence, findings: Findings, parts: list[Contest]
) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield every table in full precision."""
    yield "cases", evidence.cases
    yield "findings", findings.wrong
    yield "verdicts", findings.verdicts
    yield "failures", findings.failures
    yield "summary", _stacked(parts, [part.summary for part in parts])
    yield "solved", _stacked(parts, [part.by_size for part in parts])
    yield "scaling", _stacked(parts, [part.scaling for part in parts])


def _stacked(parts: list[Contest], frames: list[pd.DataFrame]) -> pd.DataFrame:
    """The tables of all contests one below the other."""
    import pandas as pd

    named = [
        pd.concat(
            [pd.DataFrame({"setting": part.setting, "family": part.family}, frame.index), frame],
            axis=1,
        )
        for part, frame in zip(parts, frames, strict=True)
    ]
    return pd.concat(named) if named else pd.DataFrame(columns=["setting", "family"])


def _papers(parts: list[Contest]) -> Iterator[tuple[str, str]]:
    """Yield LaTeX tables, one for each contest in a file of each kind."""
    texts: dict[str, list[str]] = {"summary": [], "solved": [], "scaling": []}
    for part in parts:
        of = f"{part.family}; {part.setting}."
        texts["summary"].append(latex(part.summary, SUMMARY, f"{TIMED} {of}"))
        texts["solved"].append(latex(part.by_size, sized(part.by_size), f"Solved of all: {of}"))
        if len(part.scaling):
            texts["scaling"].append(
                latex(part.scaling, SCALING, f"Fits of t to a power of N: {of}")
            )
    for name, tables in texts.items():
        yield name, "\n\n".join(["% Needs \\usepackage{booktabs}.", *tables]) + "\n"
