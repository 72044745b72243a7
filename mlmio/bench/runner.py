"""The runner: hands out cases, writes down what came of each, and goes on where it stopped."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from time import perf_counter
from typing import Any, Protocol

from mlmio.bench.cases import Case
from mlmio.bench.crew import Crew, Found, Place, WorkerLostError
from mlmio.bench.records import Record
from mlmio.errors import MlmioError

# Seconds after which the runner looks for workers that came or went.
TICK = 0.1
# How often the worker of a case may be lost before that is what came of the case.
MOST_LOST = 3


class Progress(Protocol):
    """Who is told how a run gets on."""

    def started(self, case: Case, place: str) -> None:
        """Tell that a case has begun."""

    def ended(self, case: Case, record: Record | None) -> None:
        """Tell what came of a case; None where it was lost and will be run again."""

    def waiting(self) -> None:
        """Tell that there is no worker at all."""


@dataclass(frozen=True)
class Summary:
    """What a run came to.

    Parameters
    ----------
    total, before : int
        Cases of the suite, and those that were done before.
    outcomes : Counter
        How many cases ended how, those from before included.
    failures : tuple of (outcome, message, int)
        What went wrong, and how often.
    seconds : float
        How long it took.
    """

    total: int
    before: int
    outcomes: Counter[str]
    failures: tuple[tuple[str, str, int], ...]
    seconds: float


def run_cases(
    cases: Sequence[Case],
    finished: Sequence[Record],
    out: Path,
    crew: Crew,
    progress: Progress,
    contended: bool = False,
) -> Summary:
    """Run the cases that are not finished, and write a record of each as soon as it ends.

    Parameters
    ----------
    cases : sequence of Case
        All cases of the run.
    finished : sequence of Record
        Those that were done before.
    out : Path
        Folder of the run.
    crew : Crew
        Who runs them; it is ended, whatever happens.
    progress : Progress
        Who is told.
    contended : bool
        Whether more threads than cores may be at work on a machine; cases of which that is true
        are marked.

    Raises
    ------
    MlmioError
        If a record cannot be written, the crew cannot start, or a case asks for more threads than
        any worker has cores.
    KeyboardInterrupt
        On Ctrl-C; what was done until then is written.
    """
    done = {record.key for record in finished}
    left = [case for case in cases if case.key not in done]
    began = perf_counter()
    try:
        made = _Runner(left, out, crew, progress, contended).run() if left else []
    finally:
        crew.close()
    ends = [(record.outcome, record.message) for record in finished]
    ends += [(ended.outcome, ended.message) for ended in made]
    failures = Counter(end for end in ends if end[0] != "done")
    return Summary(
        total=len(cases),
        before=len(cases) - len(left),
        outcomes=Counter(outcome for outcome, _ in ends),
        failures=tuple((*end, count) for end, count in failures.most_common()),
        seconds=perf_counter() - began,
    )


@dataclass(frozen=True)
class _Running:
    ticket: int
    case: Case
    place: Place


@dataclass(frozen=True)
class _Ended:
    """A record without the result, which for thousands of cases would fill the memory."""

    outcome: str
    message: str


class _Runner:
    def __init__(
        self, cases: Sequence[Case], out: Path, crew: Crew, progress: Progress, contended: bool
    ) -> None:
        self._waiting = deque(cases)
        self._out = out
        self._crew = crew
        self._progress = progress
        self._may_contend = contended
        self._running: dict[str, _Running] = {}
        self._contended: set[str] = set()
        self._lost: Counter[str] = Counter()
        self._ended: SimpleQueue[tuple[str, int, Found]] = SimpleQueue()
        self._tickets = 0
        self._made: list[_Ended] = []

    def run(self) -> list[_Ended]:
        self._crew.open(list(self._waiting))
        while self._waiting or self._running:
            places = self._crew.places()
            for name in [name for name in self._running if name not in places]:
                self._take(name, WorkerLostError(f"{name} is gone"))
            self._start_all(places)
            try:
                name, ticket, found = self._ended.get(timeout=TICK)
            except Empty:
                continue
            running = self._running.get(name)
            # What comes late from a worker that was given up is of no interest.
            if running is not None and running.ticket == ticket:
                self._take(name, found)
        return self._made

    def _start_all(self, places: Mapping[str, Place]) -> None:
        for name, place in places.items():
            if name not in self._running:
                self._start_one(name, place)
        if self._running or not self._waiting:
            return
        if not places:
            self._progress.waiting()
            return
        most, asked = max(p.cores for p in places.values()), self._waiting[0].threads
        raise MlmioError(
            f"a case asks for {asked} threads and no worker has more than {most} cores: run it "
            f"where there are as many, or with --contended, and its times are marked"
        )

    def _start_one(self, name: str, place: Place) -> None:
        """Start the first case that fits beside what runs on the same machine, if there is one."""
        beside = [other for other in self._running.values() if other.place.host == place.host]
        used = sum(other.case.threads for other in beside)
        for case in self._waiting:
            if self._may_contend or used + case.threads <= place.cores:
                break
        else:
            return
        self._waiting.remove(case)
        self._tickets += 1
        self._running[name] = _Running(self._tickets, case, place)
        if used + case.threads > place.cores:
            self._contended.update(case.key for case in (case, *(o.case for o in beside)))
        self._progress.started(case, name)
        self._crew.start(name, case, partial(self._tell, name, self._tickets))

    def _tell(self, name: str, ticket: int, found: Found) -> None:
        self._ended.put((name, ticket, found))

    def _take(self, name: str, found: Found) -> None:
        """Take what came of the case at a place."""
        case = self._running.pop(name).case
        if isinstance(found, WorkerLostError):
            self._lost[case.key] += 1
            if self._lost[case.key] < MOST_LOST:
                self._contended.discard(case.key)
                self._waiting.append(case)
                self._progress.ended(case, None)
                return
            message = f"its worker was lost {MOST_LOST} times: {found}"
            found = {"outcome": "crashed", "message": message}
        if isinstance(found, MlmioError):
            raise found
        self._write(case, found)

    def _write(self, case: Case, found: Mapping[str, Any]) -> None:
        record = Record(
            key=case.key,
            case=case.described,
            contended=case.key in self._contended,
            **found,
        )
        record.write(self._out)
        self._made.append(_Ended(record.outcome, record.message))
        self._progress.ended(case, record)
