"""Solvers that are executables: finding, running and stopping them."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sysconfig
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from time import perf_counter

from mlmio.solvers.base import Options
from mlmio.solvers.interrupts import noting_interrupts

# Seconds that an executable has to say its version, and to end after it was told to.
VERSION_LIMIT = 5.0
GRACE = 1.0
POLL = 0.05

#: What :func:`version_of` says where an executable does not tell.
UNKNOWN_VERSION = "unknown"


@dataclass(frozen=True)
class Ended:
    """How an executable ended.

    Parameters
    ----------
    code : int
        Its exit code, negative where a signal ended it.
    lines : list of (float, str)
        All that it printed, a line after another, each with the seconds since the beginning.
    stopped : str
        ``"time_limit"`` or ``"interrupted"`` where it was told to stop, or nothing.
    """

    code: int
    lines: list[tuple[float, str]]
    stopped: str

    @cached_property
    def log(self) -> str:
        """All that it printed."""
        return "".join(line for _, line in self.lines)


def find_executable(name: str, bundled: Path | None) -> Path | None:
    """Find an executable: one on the PATH wins over the one that a package brings.

    What pip puts on the PATH of its own environment is a wrapper of the bundled one, and is passed
    over: ending the wrapper would not end the solver.
    """
    scripts = Path(sysconfig.get_path("scripts")).resolve()
    folders = [
        folder
        for folder in os.environ.get("PATH", os.defpath).split(os.pathsep)
        if folder and Path(folder).resolve() != scripts
    ]
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found:
        return Path(found)
    return bundled if bundled is not None and os.access(bundled, os.X_OK) else None


def version_of(path: Path, argument: str, pattern: str, environment: Mapping[str, str]) -> str:
    """Ask an executable for its version; :data:`UNKNOWN_VERSION` where it does not tell."""
    changed = path.stat().st_mtime_ns
    return _version(path, changed, argument, pattern, tuple(environment.items()))


@lru_cache
def _version(
    path: Path,
    _changed: int,
    argument: str,
    pattern: str,
    environment: tuple[tuple[str, str], ...],
) -> str:
    try:
        said = subprocess.run(
            [path, argument],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=VERSION_LIMIT,
            env={**os.environ, **dict(environment)},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return UNKNOWN_VERSION
    match = re.search(pattern, said.stdout.decode(errors="replace"))
    return match.group(1) if match else UNKNOWN_VERSION


def run_command(
    command: Sequence[str | Path],
    folder: Path,
    options: Options,
    environment: Mapping[str, str],
    stop_signal: signal.Signals,
    allowed: float | None,
) -> Ended:
    """Run an executable until it ends, its time is over, or Ctrl-C.

    Parameters
    ----------
    command : sequence of str or Path
        The executable and its arguments.
    folder : Path
        Where it runs.
    options : Options
        For the log.
    environment : mapping
        Variables to set.
    stop_signal : signal
        What tells it to stop; it is killed if it goes on.
    allowed : float or None
        Seconds after which it is told.
    """
    # A session of its own: Ctrl-C in a terminal reaches Python alone, which then tells the solver.
    process = subprocess.Popen(
        [os.fspath(part) for part in command],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    lines: list[tuple[float, str]] = []
    reader = threading.Thread(target=_read_log, args=(process, lines, options), daemon=True)
    reader.start()
    try:
        stopped = _wait(process, stop_signal, allowed)
    finally:
        _kill(process)
    reader.join(GRACE)
    return Ended(process.returncode, lines, stopped)


def _wait(
    process: subprocess.Popen[bytes], stop_signal: signal.Signals, allowed: float | None
) -> str:
    """Wait for the end; say why it was told to stop, if it was."""
    began = perf_counter()
    with noting_interrupts() as interrupted:
        while not _ends(process, POLL):
            late = allowed is not None and perf_counter() - began > allowed
            if late or interrupted():
                process.send_signal(stop_signal)
                _ends(process, GRACE)
                return "interrupted" if interrupted() else "time_limit"
        return "interrupted" if interrupted() else ""


def _ends(process: subprocess.Popen[bytes], seconds: float) -> bool:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End what is left of a process and its children."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _read_log(
    process: subprocess.Popen[bytes], lines: list[tuple[float, str]], options: Options
) -> None:
    """Collect what is printed and when, and pass it on to the log."""
    assert process.stdout is not None
    began = perf_counter()
    with open(options.log_file or os.devnull, "a", encoding="utf-8") as file:
        for raw in process.stdout:
            line = raw.decode(errors="replace")
            lines.append((perf_counter() - began, line))
            file.write(line)
            file.flush()
            if options.log is True:
                print(line, end="", flush=True)
