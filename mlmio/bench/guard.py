"""The other side of a keeper: one is started, given a case after another, and ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from mlmio.errors import MlmioError

# Seconds that a keeper has to end after its input did.
PATIENCE = 10.0

ENVIRONMENT = {
    # Linear algebra on one thread: a case uses the threads that it asks for, and no more.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # The threads of numba that a fork survives: GNU's OpenMP ends the process instead.
    "NUMBA_THREADING_LAYER": "workqueue",
}


class Keeper:
    """A process that runs cases, each in a process of its own; see :mod:`mlmio.bench.keeper`.

    One case at a time; for several there are several keepers.
    """

    def __init__(self) -> None:
        self._said = tempfile.TemporaryFile()  # noqa: SIM115, closed with the keeper
        paths = [path or os.getcwd() for path in sys.path]
        environment = {**os.environ, **ENVIRONMENT, "PYTHONPATH": os.pathsep.join(paths)}
        # A session of its own: Ctrl-C in a terminal reaches the runner alone, which ends the rest.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "mlmio.bench.keeper"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            env=environment,
            start_new_session=True,
        )
        self._machine: dict[str, Any] | None = None

    @property
    def pid(self) -> int:
        """Number of the process."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether it takes further cases."""
        return self._process.poll() is None

    def ready(self) -> None:
        """Wait until it has imported everything.

        Raises
        ------
        MlmioError
            If it could not start.
        """
        if self._machine is None:
            self._machine = self._read()
        if self._machine is None:
            self.close()
            raise MlmioError(f"the process that runs the cases did not start{self._last_words()}")

    def run(self, asked: Mapping[str, Any], data_dir: str | None) -> dict[str, Any]:
        """Run a case; whatever it does, what comes back says so.

        Parameters
        ----------
        asked : mapping
            As in a :class:`~mlmio.bench.cases.Case`.
        data_dir : str or None
            Folder of data files.

        Returns
        -------
        dict
            The fields of a :class:`~mlmio.bench.records.Record` that the process knows.

        Raises
        ------
        MlmioError
            If the keeper could not start.
        """
        self.ready()
        request = json.dumps({"asked": dict(asked), "data_dir": data_dir}) + "\n"
        found = None
        with suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.write(request.encode())
            self._process.stdin.flush()
            found = self._read()
        if found is None:
            self.close()
            message = f"the process that watched it ended{self._last_words()}"
            found = {"outcome": "crashed", "message": message}
        assert self._machine is not None
        return {**found, **self._machine}

    def close(self) -> None:
        """End it, and whatever it runs; waits for that."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        if self._machine is None:
            # It runs nothing yet, and would first finish its imports.
            self._process.kill()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _read(self) -> dict[str, Any] | None:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def _last_words(self) -> str:
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""


class Keepers:
    """As many keepers as cases run at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._closed = False
        self._idle: list[Keeper] = []
        self._all: list[Keeper] = []

    def open(self, number: int) -> None:
        """Start so many, all at once, and wait until they can run cases.

        Raises
        ------
        MlmioError
            If one could not start.
        """
        started = [self.take() for _ in range(number)]
        for keeper in started:
            keeper.ready()
            self.give_back(keeper)

    def take(self) -> Keeper:
        """Return an idle keeper, or a new one.

        Raises
        ------
        MlmioError
            If all were ended.
        """
        with self._lock:
            if self._closed:
                raise MlmioError("the processes that run the cases were ended")
            if self._idle:
                return self._idle.pop()
            keeper = Keeper()
            self._all.append(keeper)
            return keeper

    def give_back(self, keeper: Keeper) -> None:
        """Make a keeper idle, if it still lives."""
        with self._lock:
            if self._closed:
                return
            if keeper.alive:
                self._idle.append(keeper)
            else:
                self._all.remove(keeper)

    def run(self, asked: Mapping[str, Any], data_dir: str | None) -> dict[str, Any]:
        """Run a case; see :meth:`Keeper.run`."""
        keeper = self.take()
        try:
            return keeper.run(asked, data_dir)
        finally:
            self.give_back(keeper)

    def close(self) -> None:
        """End all, and whatever they run."""
        with self._lock:
            self._closed = True
            everyone, self._all, self._idle = self._all, [], []
        for keeper in everyone:
            keeper.close()
