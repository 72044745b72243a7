"""Cases on the workers of a dask scheduler, each in a process of its own beside the worker."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mlmio.bench.cases import Case, packages_of
from mlmio.bench.crew import Place, Tell, WorkerLostError
from mlmio.bench.guard import Keeper, Keepers
from mlmio.comparison import describe_failure
from mlmio.errors import FAILURES, MlmioError

# Seconds for the first answer of a scheduler, and between two looks whether a case is wanted.
CONNECT, WANTED = 10.0, 1.0

# Of the worker process that this module is imported in.
_keepers = Keepers()


def check_address(address: str) -> None:
    """Refuse what is no address, of which dask's client would leave threads and a trace behind.

    Raises
    ------
    MlmioError
        If it is none.
    """
    if not re.fullmatch(r"(\w+://)?[^/\s]+:\d+", address):
        raise MlmioError(f"{address!r} is no address of a scheduler: give one as tcp://node:8786")


class DaskCrew:
    """The workers of a scheduler, those that join later included.

    Parameters
    ----------
    address : str
        Address of the scheduler, as ``tcp://node:8786``.
    data_dir : str or None
        Folder of data files, which the workers must see as well.

    Raises
    ------
    MlmioError
        If dask.distributed is not installed, or no scheduler answers.
    """

    def __init__(self, address: str, data_dir: str | None) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise MlmioError(
                "--scheduler needs dask.distributed: pip install 'mlmio[cluster]'"
            ) from error
        self._data_dir = data_dir
        self._places: dict[str, Place] = {}
        self._seen: dict[str, tuple[Place, int]] = {}
        self._wanted: tuple[list[str], list[str]] = ([], [])
        self._ours: dict[str, Any] = {}
        # What is in flight, so that dask does not forget it.
        self._futures: dict[str, Any] = {}
        try:
            self._client = Client(address, timeout=CONNECT, set_as_default=False)
        except (TimeoutError, OSError, ValueError) as error:
            raise MlmioError(f"no dask scheduler answers at {address!r}: {error}") from error

    def open(self, cases: Sequence[Case]) -> None:
        """Note what the workers must have installed exactly as this process has it."""
        from mlmio.bench.machine import fingerprint

        packages = sorted(set().union(*map(packages_of, cases)))
        solvers = sorted({case.asked["solver"] for case in cases} - {None})
        self._wanted = packages, solvers
        self._ours = fingerprint(packages, solvers)

    def places(self) -> Mapping[str, Place]:
        """Return a place for every thread of every worker."""
        known = self._client.scheduler_info(n_workers=-1)["workers"]
        new = [address for address in known if address not in self._seen]
        if new:
            self._look(new, known)
        self._places = {
            f"{address} {slot}": self._seen[address][0]
            for address in known
            if address in self._seen
            for slot in range(self._seen[address][1])
        }
        return self._places

    def start(self, place: str, case: Case, tell: Tell) -> None:
        """Start a case on the worker of a place, and on no other."""
        future = self._client.submit(
            run_there,
            dict(case.asked),
            self._data_dir,
            workers=[place.split(" ")[0]],
            allow_other_workers=False,
            pure=False,
            retries=0,
        )
        self._futures[place] = future
        future.add_done_callback(partial(_pass_on, tell))

    def close(self) -> None:
        """Give up whatever runs; the workers end it when they learn of that."""
        self._client.cancel(list(self._futures.values()), force=True)
        self._client.close()

    def _look(self, addresses: list[str], known: Mapping[str, Any]) -> None:
        """Learn what new workers are, and refuse those that would give other results."""
        answers = self._client.run(look_there, *self._wanted, workers=addresses, on_error="return")
        for address, answer in answers.items():
            if isinstance(answer, BaseException):
                raise MlmioError(f"the worker {address} cannot run cases: {answer!r}")
            host, cores, theirs = answer
            if theirs != self._ours:
                raise MlmioError(
                    f"the worker {address} has {_difference(self._ours, theirs)}: install the same "
                    f"there as here"
                )
            self._seen[address] = (Place(host, cores), known[address]["nthreads"])


def look_there(packages: list[str], solvers: list[str]) -> tuple[str, int, dict[str, Any]]:
    """Say what a worker is: its machine and cores, their number, and what is installed."""
    import platform

    from mlmio.bench.machine import fingerprint, usable_cores

    cores = usable_cores()
    # Jobs of a batch system share a machine, but not its cores.
    return f"{platform.node()} {cores}", len(cores), fingerprint(packages, solvers)


def run_there(asked: Mapping[str, Any], data_dir: str | None) -> dict[str, Any]:
    """Run a case beside the worker that this is called in, for as long as someone wants it."""
    from distributed import get_worker

    worker = get_worker()
    over = threading.Event()
    keeper = _keepers.take()
    watcher = threading.Thread(
        target=_end_unwanted, args=(worker, worker.get_current_task(), keeper, over), daemon=True
    )
    watcher.start()
    try:
        return keeper.run(asked, data_dir)
    finally:
        over.set()
        _keepers.give_back(keeper)


def _end_unwanted(worker: Any, task: Any, keeper: Keeper, over: threading.Event) -> None:
    """End a case whose runner is gone: dask itself cannot stop what has begun."""
    while not over.wait(WANTED):
        state = worker.state.tasks.get(task)
        if state is None or state.state == "cancelled":
            keeper.close()
            return


def _difference(ours: Any, theirs: Any) -> str:
    """Say where two installations differ first."""
    for part, values in ours.items():
        if values == theirs.get(part):
            continue
        if not isinstance(values, dict):
            return f"{part} {theirs.get(part)}, and not {values}"
        for name, value in values.items():
            other = theirs[part].get(name)
            if value != other:
                what = f"{name} {other}, and not {value}"
                return f"other sources of {name}" if part == "sources" else what
    return "another installation"


def _pass_on(tell: Tell, future: Any) -> None:
    from distributed.scheduler import KilledWorker

    if future.cancelled():
        tell(WorkerLostError("it was cancelled"))
        return
    try:
        tell(future.result())
    except (KilledWorker, asyncio.CancelledError) as error:
        tell(WorkerLostError(str(error)))
    except MlmioError as error:
        tell(error)
    except FAILURES as error:
        tell(MlmioError(f"a case could not be run: {describe_failure(error)}"))
