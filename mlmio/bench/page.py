"""The page of a report: what is wrong first, then who won, then everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from mlmio.bench.evidence import Evidence
from mlmio.bench.figures import figures
from mlmio.bench.findings import FAILED, Findings
from mlmio.bench.order import natural_places
from mlmio.bench.shown import Row, Shown, count, decimals, html, words
from mlmio.bench.tables import SHIFT_NODES, SHIFT_S, Contest
from mlmio.tables import NOTHING, counted
from mlmio.verdicts import LABELS

if TYPE_CHECKING:
    import pandas as pd

# Rows of the table of all cases, and of the verdicts that hold; what is wrong is all there.
MOST_CASES, MOST_VERDICTS, MOST_NAMES = 1000, 200, 3
CONTENDED = "†"


def _time(name: str) -> Any:
    """Show a time, marked where others were at work beside it."""
    plain = decimals(name, 2)

    def show(row: Row) -> str:
        text = plain(row)
        return text + CONTENDED * (bool(row["contended"]) and text != NOTHING)

    return show


def _integral(row: Row) -> str:
    """Show a primal integral; one without the moments of its incumbents is an upper bound."""
    text = decimals("primal_integral_s", 2)(row)
    return text if row["incumbents_told"] or text == NOTHING else f"≤ {text}"


def _status(row: Row) -> str:
    return f"{row['status']}{', contradicted' if row['contradicted'] else ''}"


SUMMARY = (
    words("contestant", "contestant"),
    count("solved", "solved"),
    count("instances", "of"),
    count("wrong", "wrong"),
    count("failed", "failed"),
    count("compared", "compared"),
    Shown("time_s", "time,\u00a0s", _time("time_s")),
    Shown("root_gap_closed", "root gap closed", decimals("root_gap_closed", 1, "%")),
    Shown("nodes", "nodes", decimals("nodes", 1)),
    Shown("primal_integral_s", "primal integral,\u00a0s", _integral),
    Shown("peak_mib", "peak\u00a0MiB", decimals("peak_mib", 0)),
)
SCALING = (
    words("contestant", "contestant"),
    words("dataset", "data"),
    count("N_from", "from N"),
    count("N_to", "to N"),
    count("points", "points"),
    Shown(
        "exponent",
        "exponent",
        lambda row: decimals("exponent", 2)(row) + CONTENDED * bool(row["contended"]),
    ),
    Shown("low", "95% from", decimals("low", 2)),
    Shown("high", "95% to", decimals("high", 2)),
    Shown("r2", "R²", decimals("r2", 3)),
)
CASES = (
    words("instance", "instance", narrow=True),
    words("contestant", "contestant", narrow=True),
    count("repetition", "rep."),
    Shown("status", "status", _status, number=False),
    Shown("seconds", "time,\u00a0s", _time("seconds")),
    Shown("objective", "objective", decimals("objective", 6)),
    Shown("bound", "bound", decimals("bound", 6)),
    Shown("gap", "gap", decimals("gap", 2, "%", 100.0)),
    Shown("lp_bound", "LP bound", decimals("lp_bound", 6)),
    count("nodes", "nodes"),
    count("rows", "rows"),
    count("binaries", "binaries"),
    Shown("peak_mib", "peak\u00a0MiB", decimals("peak_mib", 0)),
    words("message", "message", narrow=True),
)
WRONG = (
    words("kind", "kind"),
    words("instance", "instance", narrow=True),
    words("text", "what is wrong", narrow=True),
)
HOLDS = (
    Shown("kind", "kind", lambda row: LABELS.get(row["kind"], str(row["kind"])), number=False),
    words("instance", "instance", narrow=True),
    words("text", "statement", narrow=True),
)
FAILURES = (
    words("status", "how"),
    words("contestant", "contestant", narrow=True),
    count("cases", "cases"),
    Shown("instances", "instances", lambda row: _some(row["instances"]), False, True),
    words("message", "why", narrow=True),
)

HOW_TO_READ = f"""
<details><summary>How to read this</summary><ul>
<li><b>Solved</b> means proven: an optimum that is verified from the data alone, or a proof that
there is no solution or no bound. What is claimed and not verified counts as unsolved, and so do
crashes and solves that were refused.</li>
<li><b>Wrong</b> are results that do not hold in the data, and proofs that equivalent formulations
or restrictions contradict: optima that a verified solution exceeds, infeasibility where there is a
verified solution, no bound where there is one. They count as unsolved.</li>
<li><b>Time</b> is what one waits for: building the model, the LP bound and the solve, in wall-clock
seconds. The mean is the geometric one shifted by {SHIFT_S:g} s. An unsolved instance counts as its
time limit, or as long as it took if that is more.</li>
<li><b>Repetitions</b> of a case are one instance: their median, an unsolved one being without
end.</li>
<li><b>Compared</b> are only formulations of the same optimum, under the same limits, on the
instances that every contestant was given. Their number is in the column “compared”; means, nodes,
gaps and figures are over them. A contestant that is refused everywhere takes no part.</li>
<li><b>{CONTENDED}</b> marks times among which are contended ones: more threads than the machine has
cores were at work beside them.</li>
<li><b>Root gap closed</b> is measured from the weakest LP bound of equivalent formulations (0%) to
their best verified objective (100%), among the bounds of one strategy.</li>
<li><b>Nodes</b> are a geometric mean shifted by {SHIFT_NODES:g}, over the instances that every
contestant solves; one that proves nothing anywhere, as a heuristic, does not count here.</li>
<li><b>Primal integral</b> (Berthold 2013) is the mean over instances of the integral of the gap to
the best known objective, from the start of the solve to the time limit: the smaller, the sooner
good solutions were there. With ≤ it is an upper bound, where a solver does not tell when it found
them.</li>
</ul></details>
"""


def body(name: str, evidence: Evidence, findings: Findings, parts: Sequence[Contest]) -> str:
    """Return what the page says, as HTML."""
    sections = [
        f"<h1>Benchmark: {escape(name)}</h1>\n{_about(evidence)}{_lead(evidence)}",
        *_wrong(evidence, findings),
        HOW_TO_READ if parts else "",
        *_contents(parts),
        *(_contest(number, part) for number, part in enumerate(parts)),
        *_verdicts(findings),
        *_cases(evidence.cases),
        *_machines(evidence),
    ]
    return "\n".join(sections)


def sized(frame: pd.DataFrame) -> list[Shown]:
    """Return the columns of a table of solved counts by data set and size."""
    return [words(name, str(name)) for name in frame.columns]


def _about(evidence: Evidence) -> str:
    """What the suite is for, in its own words."""
    title = f"<p><b>{escape(evidence.title)}</b></p>\n" if evidence.title else ""
    more = f"<p>{escape(evidence.description)}</p>\n" if evidence.description else ""
    return title + more


def _lead(evidence: Evidence) -> str:
    cases = evidence.cases
    if not len(cases):
        return "<p>There is no case to report.</p>"
    days = sorted({str(started)[:10] for started in cases["started"] if started})
    when = f", {' to '.join(dict.fromkeys([days[0], days[-1]]))}" if days else ""
    contended = int(cases["contended"].sum())
    contestants = counted(cases["contestant"].nunique(), "contestant")
    said = (
        f"{counted(len(cases), 'case')} of {contestants} on "
        f"{counted(cases['instance'].nunique(), 'instance')}{when}: "
        f"{int(cases['solved'].sum())} solved"
    )
    if contended:
        said += f"; {counted(contended, 'timing')} contended ({CONTENDED})"
    return f"<p>{escape(said)}.</p>"


def _wrong(evidence: Evidence, findings: Findings) -> Iterator[str]:
    """What is wrong, all of it, before anything else."""
    failed = findings.failures[findings.failures["status"].isin(FAILED)]
    refused = findings.failures[findings.failures["status"] == "refused"]
    yield "<h2>What is wrong</h2>"
    if evidence.damaged:
        files = "".join(f"<li><code>{escape(said)}</code></li>" for said in evidence.damaged)
        yield f"{_box('Damaged files', len(evidence.damaged))}<ul>{files}</ul></div>"
    if len(findings.wrong):
        yield _box("Disagreements and unverified results", len(findings.wrong))
        yield f"{html(findings.wrong, WRONG)}</div>"
    if len(failed):
        yield _box("Failures", int(failed["cases"].sum()))
        yield f"{html(failed, FAILURES)}</div>"
    if evidence.missing:
        yield _box("Cases that were not run yet", evidence.missing)
        yield "<p>The run was interrupted: the same command goes on with them.</p></div>"
    if not (evidence.damaged or evidence.missing or len(findings.wrong) or len(failed)):
        but = ", but see the cases that were refused" if len(refused) else ""
        yield (
            '<p class="right">Nothing: every file could be read, every solution is verified, no '
            f"case failed, and the results agree as far as the lattice relates them{but}.</p>"
        )
    if len(refused):
        yield f"<h3>Refused: {int(refused['cases'].sum())}</h3>"
        yield html(refused, FAILURES)


def _box(head: str, number: int) -> str:
    return f'<div class="wrong"><h3>{escape(head)}: {number}</h3>'


def _contents(parts: Sequence[Contest]) -> Iterator[str]:
    """Where each contest is, if there are several."""
    if len(parts) < 2:
        return
    yield "<nav><ul>"
    for number, part in enumerate(parts):
        solved, cells = int(part.cells["solved"].sum()), len(part.cells)
        yield (
            f'<li><a href="#contest-{number}">{escape(part.family)}</a> '
            f'<span class="quiet">{escape(part.setting)}: {solved} of {cells} solved</span></li>'
        )
    yield "</ul></nav>"


def _contest(number: int, contest: Contest) -> str:
    """One family under one setting: its tables and figures."""
    table = contest.summary
    parts = [
        f'<h2 id="contest-{number}">{escape(contest.family)}</h2>',
        f'<p class="quiet">{escape(contest.setting)}. Compared on '
        f"{counted(contest.instances, 'instance')}; nodes on the {table['nodes_over'].max()} that "
        f"every contestant solves. "
        f"Time: geometric mean shifted by {SHIFT_S:g} s, unsolved at the limit.</p>",
        html(table, SUMMARY),
    ]
    if not contest.instances:
        parts.append(
            "<p>No instance was given to every contestant: there is nothing to compare.</p>"
        )
    sizes = html(contest.by_size, sized(contest.by_size))
    parts += ["<h3>Solved of all, by data set and N</h3>", sizes]
    drawn = figures(contest, table["contestant"].tolist())
    if drawn:
        parts.append(f'<h3>Figures</h3><div class="pictures">{"".join(drawn)}</div>')
    if len(contest.scaling):
        parts += ["<h3>Fits of time to a power of N</h3>", html(contest.scaling, SCALING)]
    return "\n".join(parts)


def _verdicts(findings: Findings) -> Iterator[str]:
    if not len(findings.verdicts):
        return
    total = len(findings.verdicts)
    kinds = findings.verdicts["kind"].value_counts()
    counts = ", ".join(f"{number} {LABELS.get(kind, kind)}" for kind, number in kinds.items())
    yield (
        f"<h2>What the lattice confirms</h2><p>{counted(total, 'statement')}: {escape(counts)}"
        f"{_rest(total, MOST_VERDICTS, 'verdicts.csv')}.</p>"
    )
    yield f"<details><summary>Statements</summary>{html(findings.verdicts[:MOST_VERDICTS], HOLDS)}"
    yield "</details>"


def _cases(cases: pd.DataFrame) -> Iterator[str]:
    """All cases, those that are not solved first."""
    if not len(cases):
        return
    by = ["solved", "instance", "contestant", "repetition"]
    order = cases.sort_values(by, kind="stable", key=natural_places)
    rest = _rest(len(order), MOST_CASES, "cases.csv")
    yield f"<h2>Cases</h2>\n<p>{counted(len(order), 'case')}, the unsolved first{rest}.</p>"
    yield html(order[:MOST_CASES], CASES)


def _rest(total: int, shown: int, file: str) -> str:
    return f"; the first {shown:,} are here, all in {file}" if total > shown else ""


def _machines(evidence: Evidence) -> Iterator[str]:
    if not evidence.machines:
        return
    yield f"<h2>Machine{'s' * (len(evidence.machines) > 1)}</h2><ul>"
    for machine in evidence.machines:
        parts = [f"{name.replace('_', ' ')}: {_plain(value)}" for name, value in machine.items()]
        yield f"<li>{escape('; '.join(parts))}</li>"
    yield "</ul>"
    revisions = sorted({str(revision) for revision in evidence.cases["revision"] if revision})
    if revisions:
        yield f'<p class="quiet">mlmio revision {escape(", ".join(revisions))}</p>'


def _plain(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {what}" for name, what in value.items() if what)
    return str(value)


def _some(instances: str) -> str:
    names = instances.split("; ")
    more = len(names) - MOST_NAMES
    return "; ".join(names[:MOST_NAMES]) + (f"; and {more} more" if more > 0 else "")
