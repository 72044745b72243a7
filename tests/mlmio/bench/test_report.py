"""The report of a run: complete, self-contained, what is wrong first; and in a real browser."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from bench_records import record, write_run

from mlmio import MlmioError
from mlmio.bench.records import path_of
from mlmio.bench.report import write_report

MCCORMICK = "linear + nearest + mccormick"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


def some_records() -> list[Any]:
    """Two formulations, three solvers, three sizes; one crash, one refusal, one false claim."""
    records = []
    for n, N in enumerate((15, 24, 36)):
        for solver, factor in (("highs", 1.0), ("scip", 2.0), ("cbc", 0.5)):
            for composition in ("linear + nearest + bigm", MCCORMICK):
                key = f"{N}-{solver}-{composition[-4:]}"
                changes = {"N": N, "solver": solver, "composition": composition}
                solve_s = factor * (n + 1)
                trajectory = [(0.2 * solve_s, 0.3, 0.9), (solve_s, 0.5, 0.5)]
                records.append(record(key, **changes, solve_s=solve_s, trajectory=trajectory))
    bilinear = {"composition": "linear + nearest + bilinear"}
    return [
        *records,
        record("r", "refused", "highs takes no <products>", **bilinear),
        record("s", "crashed", "signal 11 & more", solver="gurobi", machine={"processor": "<A>"}),
        record("t", N=24, solver="gurobi", contended=True, message="x" * 300),
        record("u", N=36, solver="gurobi", objective=0.3, bound=0.3),
    ]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("runs") / "nightly", *some_records())


@pytest.fixture(scope="module")
def page(run: Path) -> Path:
    return write_report(run)


def test_the_page_has_all_in_it_and_what_is_wrong_first(run: Path, page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert page == run / "report" / "index.html"
    heads = re.findall(r"<h[123][^>]*>([^<]*)", text)
    assert heads == [
        "Benchmark: nightly",
        "What is wrong",
        "Disagreements and unverified results: 1",
        "Failures: 1",
        "Refused: 1",
        "linear + nearest",
        "Solved of all, by data set and N",
        "Figures",
        "Fits of time to a power of N",
        "What the lattice confirms",
        "Cases",
        "Machine",
    ]
    assert "22 cases of 8 contestants on 3 instances, 2026-01-02: 19 solved" in text
    # Profile with its note, times, gaps, and one data set over N.
    assert text.count("<figure>") == text.count("data:image/svg+xml;base64,") == 4
    assert "Gould and Scott 2016" in text
    assert re.search(r'<td class="n" data-v="[\d.]+">[\d.]+†</td>', text)


def test_the_page_fetches_nothing_and_escapes_everything(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert not re.search(r'(src|href)="(?!data:|#)', text)
    assert "url(" not in text
    assert 'name="viewport"' in text
    assert "<products>" not in text
    assert "&lt;products&gt;" in text
    assert "signal 11 &amp; more" in text


def test_the_tables_are_there_as_csv_and_latex(page: Path) -> None:
    def lines(name: str) -> list[dict[str, str]]:
        with (page.parent / name).open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    assert len(lines("cases.csv")) == 22
    assert [line["kind"] for line in lines("findings.csv")] == ["breach"]
    assert [line["status"] for line in lines("failures.csv")] == ["crashed", "refused"]
    summary = lines("summary.csv")
    assert [line["contestant"] for line in summary][:2] == ["bigm · cbc", "mccormick · cbc"]
    # (1.5 · 2 · 2.5)^⅓ − 1 for 0.5, 1 and 1.5 s.
    assert float(summary[0]["time_s"]) == pytest.approx(7.5 ** (1 / 3) - 1)
    assert lines("solved.csv")[0]["iris 15"] == "1/1"
    assert len(lines("scaling.csv")) == 6
    assert {line["kind"] for line in lines("verdicts.csv")} == {"agree", "lp"}
    latex = (page.parent / "summary.tex").read_text(encoding="utf-8")
    assert latex.startswith("% Needs \\usepackage{booktabs}.")
    assert "geometric means shifted by 1 s, unsolved at the limit" in latex
    assert r"bigm $\cdot$ cbc & 3 & 3 & 0 & 0 & 3 & 0.96 &" in latex
    for name in ("solved.tex", "scaling.tex"):
        assert r"\toprule" in (page.parent / name).read_text(encoding="utf-8")


def test_a_damaged_file_is_named_first_and_stops_nothing(tmp_path: Path) -> None:
    run = write_run(tmp_path, record("a"), record("c"))
    path_of(run, "b").write_text('{"format": "mlmio.bench.case", "vers', encoding="utf-8")
    text = path_of(run, "c").read_text(encoding="utf-8").replace('"solve_s"', '"solved_s"')
    path_of(run, "c").write_text(text, encoding="utf-8")
    shown = write_report(run, tmp_path / "elsewhere").read_text(encoding="utf-8")
    heads = re.findall(r"<h[123][^>]*>([^<]*)", shown)
    assert heads[:3] == [f"Benchmark: {tmp_path.name}", "What is wrong", "Damaged files: 2"]
    assert "b.json is no record of a case" in shown
    assert "c.json is no record of a case: it lacks &#x27;solve_s&#x27;" in shown
    assert "1 case of 1 contestant on 1 instance" in shown


def test_cases_that_were_not_run_are_counted(tmp_path: Path) -> None:
    run = write_run(tmp_path, record("a"), record("b"))
    about = {"format": "mlmio.bench.run", "version": 1, "cases": 5}
    (run / "run.json").write_text(json.dumps(about), encoding="utf-8")
    shown = write_report(run, tmp_path / "elsewhere").read_text(encoding="utf-8")
    assert "Cases that were not run yet: 3" in shown
    assert "Nothing: every file" not in shown
    (run / "run.json").write_text("{", encoding="utf-8")
    shown = write_report(run, tmp_path / "elsewhere").read_text(encoding="utf-8")
    assert "run.json cannot be read" in shown


def test_the_suite_is_told_at_the_top_in_its_own_words(tmp_path: Path) -> None:
    run = write_run(tmp_path, record("a"))
    suite = "# Whether 1 < 2,\n# on one thread.\nname: mine\n# not this\n"
    about = {"format": "mlmio.bench.run", "version": 1, "title": "All <solvers>", "suite": suite}
    (run / "run.json").write_text(json.dumps(about), encoding="utf-8")
    shown = write_report(run).read_text(encoding="utf-8")
    top = shown[shown.index("<h1>") : shown.index("<h2>")]
    assert "<b>All &lt;solvers&gt;</b>" in top
    assert "<p>Whether 1 &lt; 2, on one thread.</p>" in top
    assert "not this" not in top


def test_sizes_are_in_their_order_and_not_that_of_their_digits(tmp_path: Path) -> None:
    sizes = (120, 15, 24, 9)
    found = [record(f"{N}", N=N, D=D) for N, D in zip(sizes, (8, 11, 8, 9), strict=True)]
    failed = [record(f"x{N}", "crashed", "signal 11", N=N, solver="cbc") for N in sizes]
    shown = write_report(write_run(tmp_path, *found, *failed)).read_text(encoding="utf-8")
    failures = shown[: shown.index("How to read")]
    assert re.findall(r"iris N=(\d+)", failures)[:3] == ["9", "15", "24"]
    cases = shown[shown.index("<h2>Cases") :]
    assert re.findall(r"iris N=(\d+)", cases) == ["9", "15", "24", "120"] * 2
    heads = re.findall(r'button">iris D=(\d+ \d+)<', shown)
    assert heads == ["4 9", "4 15", "4 24", "4 120", "8 24", "8 120", "9 9", "11 15"]


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([record("a"), record("b", N=18), record("c", solver="scip")], '<td class="w">–</td>'),
        ([], "There is no case to report."),
        ([record("a")], "Nothing: every file could be read"),
        ([record("a", "crashed", "signal 11")], "Failures: 1"),
        ([record("a", "refused", "no"), record("b", "refused", "no", seed=1)], "Refused: 2"),
        ([record("a", time_limit=None, status="no_incumbent", objective=None)], "0/1"),
        ([record("a", seed=0), record("b", seed=1, solver="scip")], "nothing to compare"),
        ([record("a", composition="strange + nearest")], "cannot be held to the others"),
        ([record("a", "refused", "no data", N=None, D=None, classes=None)], "Refused: 1"),
        ([record("a", "refused", "no", N=None, D=None, classes=None), record("b")], "Refused: 1"),
        ([record("a", solve_s=0.0, objective=0.0, bound=0.0, lp_bound=0.0)], "1/1"),
    ],
)
def test_any_run_gives_a_page(tmp_path: Path, records: list[Any], said: str) -> None:
    page = write_report(write_run(tmp_path, *records))
    assert said in page.read_text(encoding="utf-8")
    assert len(list(page.parent.glob("*.csv"))) == 7
    assert "nan" not in re.sub(r'data-v="nan"|base64,[^"]*', "", page.read_text(encoding="utf-8"))


def test_no_run(tmp_path: Path) -> None:
    with pytest.raises(MlmioError, match="holds no run: give the folder"):
        write_report(tmp_path)


# What a reader would do, and what the page is then, written into its title.
CLICKS = """
<script>
const table = document.querySelectorAll("table.sortable")[ORDER_OF];
const head = [...table.tHead.rows[0].cells].find(cell => cell.textContent === "HEAD");
const column = [...table.tHead.rows[0].cells].indexOf(head);
const texts = () => [...table.tBodies[0].rows].map(row => row.cells[column].textContent).join(" ");
const seen = [];
for (let click = 0; click < 2; click++) {
  head.querySelector("button").click();
  seen.push(head.getAttribute("aria-sort") + ": " + texts());
}
addEventListener("load", () => {
  const images = [...document.images].filter(image => image.complete && image.naturalWidth > 0);
  const wide = document.documentElement.scrollWidth > innerWidth;
  const cut = [...document.querySelectorAll("table")].filter(table => {
    const box = table.parentElement, inside = box.getBoundingClientRect().right <= innerWidth;
    return !inside || (table.offsetWidth > box.clientWidth
      && getComputedStyle(box).overflowX !== "auto");
  });
  const lines = [...seen, `images: ${images.length}`, `wide: ${wide}`, `cut: ${cut.length}`];
  document.body.innerHTML = `<pre>${lines.join("\\n")}</pre>`;
});
</script>
"""


def opened(page: Path, folder: Path, table: int, head: str, width: int) -> tuple[list[str], str]:
    """Open a copy of the page in a browser, click a heading twice, and return what is seen."""
    clicks = CLICKS.replace("ORDER_OF", str(table)).replace("HEAD", head)
    text = page.read_text(encoding="utf-8").replace("</body>", f"{clicks}</body>")
    copy = folder / "copy.html"
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run(
        [
            *(str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu"),
            *("--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}"),
            *(f"--window-size={width},900", "--dump-dom", copy.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    found = re.search(r"<pre>(.*)</pre>", done.stdout, re.DOTALL)
    assert found, done.stdout[-2000:]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return found[1].split("\n"), "\n".join(console)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed to open the page in")
def test_in_a_browser_tables_sort_figures_show_and_nothing_is_on_the_console(
    page: Path, tmp_path: Path
) -> None:
    # The summary, after the tables of what is wrong.
    seen, console = opened(page, tmp_path, 3, "time,\u00a0s", 1280)
    rising = ["0.96", "0.96", "1.88", "1.88", "3.72", "3.72", "5.23†"]
    times = seen[0].removeprefix("ascending: ").split()
    assert times == rising
    assert seen[1].removeprefix("descending: ").split() == rising[::-1]
    assert seen[2:] == ["images: 4", "wide: false", "cut: 0"]
    assert not console


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed to open the page in")
def test_on_a_phone_the_page_is_no_wider_than_it(page: Path, tmp_path: Path) -> None:
    seen, console = opened(page, tmp_path, 3, "contestant", 500)
    names = seen[0].removeprefix("ascending: ")
    assert names.startswith("bigm · cbc bigm · gurobi bigm · highs")
    assert seen[2:] == ["images: 4", "wide: false", "cut: 0"]
    assert not console
