"""Who runs the cases: places that take one case at a time, on this machine or on others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from mlmio.bench.cases import Case
from mlmio.bench.guard import Keepers
from mlmio.bench.machine import usable_cores
from mlmio.comparison import describe_failure
from mlmio.errors import FAILURES, MlmioError

#: What came of a case, or why nothing did.
Found = Mapping[str, Any] | MlmioError
Tell = Callable[[Found], None]


class WorkerLostError(MlmioError):
    """The worker that ran a case is gone, and the case with it."""


@dataclass(frozen=True)
class Place:
    """Where one case runs at a time.

    Parameters
    ----------
    host : str
        The machine; places of the same have its cores together.
    cores : int
        How many those are.
    """

    host: str
    cores: int


class Crew(Protocol):
    """Places that run cases."""

    def open(self, cases: Sequence[Case]) -> None:
        """Get ready to run these cases; raises MlmioError where that cannot be."""

    def places(self) -> Mapping[str, Place]:
        """Return the places that there are now, by name."""

    def start(self, place: str, case: Case, tell: Tell) -> None:
        """Start a case; `tell` is called with what came of it, from any thread."""

    def close(self) -> None:
        """End whatever runs."""


class LocalCrew:
    """Cases on this machine, each in a process of its own.

    Parameters
    ----------
    workers : int
        How many run at once, at most.
    data_dir : str or None
        Folder of data files.
    """

    def __init__(self, workers: int, data_dir: str | None) -> None:
        self._data_dir = data_dir
        self._keepers = Keepers()
        self._threads = ThreadPoolExecutor(workers)
        place = Place("", len(usable_cores()))
        self._places = {f"worker {n + 1}": place for n in range(workers)}

    def open(self, cases: Sequence[Case]) -> None:
        """Start the processes that run the cases, no more than there are cases."""
        self._keepers.open(min(len(self._places), len(cases)))

    def places(self) -> Mapping[str, Place]:
        """Return the places."""
        return self._places

    def start(self, place: str, case: Case, tell: Tell) -> None:
        """Start a case."""
        future = self._threads.submit(self._keepers.run, case.asked, self._data_dir)
        future.add_done_callback(partial(_pass_on, tell))

    def close(self) -> None:
        """End whatever runs."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._keepers.close()
        self._threads.shutdown()


def _pass_on(tell: Tell, future: Future[dict[str, Any]]) -> None:
    if future.cancelled():
        return
    try:
        tell(future.result())
    except MlmioError as error:
        tell(error)
    except FAILURES as error:
        # Whatever it is, the run must hear of it, or it would wait for ever.
        tell(MlmioError(f"a case could not be run: {describe_failure(error)}"))
