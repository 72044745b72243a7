"""What the adapters of executables share: a model file in, a solution file out."""

from __future__ import annotations

import re
import signal
import tempfile
from abc import abstractmethod
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import ClassVar

from mlmio.solvers.adapter import FAILED, Adapter, Array, Found
from mlmio.solvers.base import Moment, Options
from mlmio.solvers.command import (
    UNKNOWN_VERSION,
    Ended,
    find_executable,
    run_command,
    version_of,
)
from mlmio.solvers.mps import write_mps
from mlmio.solvers.program import Program
from mlmio.solvers.trajectory import Recorder

# A time in the log itself is better than when the line came: CBC writes to a pipe in large pieces.
OWN_TIME = r"\((\d+(?:\.\d+)?) seconds\)$"


class ExecutableAdapter(Adapter):
    """Base of the adapters of executables.

    Attributes
    ----------
    executable : str
        Name of the executable.
    version_argument, version_pattern : str
        What makes it print its version, and where in that the version is.
    stop_signal : signal
        What tells it to stop.
    incumbent_pattern, bound_pattern : str
        What its log says of an objective found and of a dual bound, as of a minimisation; the first
        group is the number.
    """

    executable: ClassVar[str]
    version_argument: ClassVar[str]
    version_pattern: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]
    incumbent_pattern: ClassVar[str]
    bound_pattern: ClassVar[str]

    @abstractmethod
    def bundled(self) -> Path | None:
        """The executable that a package brings, which need not exist."""

    def environment(self, path: Path) -> dict[str, str]:
        """Environment variables that an executable needs."""
        return {}

    @abstractmethod
    def arguments(
        self, program: Program, options: Options, start: Array | None, folder: Path
    ) -> list[str]:
        """Arguments that solve ``model.mps``; further files may be written to the folder."""

    @abstractmethod
    def allowed(self, limit: float) -> float:
        """Seconds after which it is told to stop, for a time limit that it was given."""

    @abstractmethod
    def read(self, program: Program, options: Options, folder: Path, ended: Ended) -> Found:
        """Read what it left in the folder."""

    def location(self) -> str | None:
        """The executable."""
        path = self._path()
        return None if path is None else str(path)

    def version(self) -> str | None:
        """Version that the executable tells, or None where there is none."""
        path = self._path()
        if path is None:
            return None
        environment = self.environment(path)
        return version_of(path, self.version_argument, self.version_pattern, environment)

    def run(self, program: Program, options: Options, start: Array | None) -> Found:
        """Solve a linear or mixed-integer linear program."""
        path = self._path()
        if path is None or self.version() == UNKNOWN_VERSION:
            message = f"{path} does not tell a version of {self.name}: repair it, or remove it"
            return Found(FAILED, message=message, reason="executable")
        if program.quadratic:
            return Found(FAILED, message=f"{self.name} takes no rows with products of variables")
        with tempfile.TemporaryDirectory(prefix=f"mlmio-{self.name}-") as name:
            folder = Path(name)
            began = perf_counter()
            write_mps(program, folder / "model.mps")
            handed_over = perf_counter() - began
            options = options.after(handed_over)
            ended = run_command(
                [path, *self.arguments(program, options, start, folder)],
                folder,
                options,
                self.environment(path),
                self.stop_signal,
                None if options.time_limit is None else self.allowed(options.time_limit),
            )
            found = self.read(program, options, folder, ended)
            return replace(found, trajectory=self._trajectory(program, ended, handed_over))

    def nothing(self, ended: Ended) -> Found:
        """What is said where it left nothing to read."""
        if ended.stopped:
            return Found(ended.stopped)
        last = ended.log.strip().rpartition("\n")[2][:200]
        message = f"{self.executable} ended with exit code {ended.code} and no solution: {last}"
        return Found(FAILED, message=message, reason="executable")

    def _trajectory(self, program: Program, ended: Ended, after: float) -> list[Moment]:
        """Incumbents and bounds as its log told them, where it started after some seconds."""
        record = Recorder(program.maximize)
        patterns = (self.incumbent_pattern, self.bound_pattern)
        for printed, line in ended.lines:
            incumbent, bound = (
                program.sign * float(told.group(1)) + program.offset if told else None
                for told in (re.search(pattern, line) for pattern in patterns)
            )
            own = re.search(OWN_TIME, line)
            seconds = min(float(own.group(1)), printed) if own else printed
            record.note(incumbent, bound, after + seconds)
        return record.moments

    def _path(self) -> Path | None:
        return find_executable(self.executable, self.bundled())
