"""The keeper: a process that forks one process for each case, watches it, and buries it.

It is started with an interpreter of its own, imports everything and loads the compiled loops once,
runs no solver itself and so has no threads of one, and forks for each case in milliseconds. It
reads a case a line from its standard input and writes what came of it, a line of JSON, to its
standard output. When its input ends, because the runner is done or dead, it kills what still runs
and ends.

Memory is held by looking, not by ``RLIMIT_AS``: that counts address space, of which thread stacks
and arenas of allocators take gigabytes that are never used, and a solver that is refused a mapping
aborts, or starts fewer threads, instead of saying that it needs more memory.
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import tempfile
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import perf_counter
from typing import IO, Any

import psutil

# Seconds between two looks for the end of a case, for its memory, and for what it has started; the
# last goes through all processes of the machine.
POLL, MEMORY_POLL, FAMILY_POLL = 0.01, 0.1, 0.5
# Seconds between two looks for the runner, until cases are taken.
RUNNER_POLL = 0.5
MIB = 2**20
# ``PR_SET_PDEATHSIG`` of Linux: the signal that a process gets when its parent dies.
_PARENT_DEATH_SIGNAL = 1
# Characters of what a process said last that are worth telling.
MOST_SAID = 300


def main() -> None:
    """Serve cases until the input ends."""
    # Nothing but answers may come out of the descriptor that the runner reads.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # The threads that there are, idle ones of numba, are made anew after a fork.
    warnings.filterwarnings("ignore", ".*fork", DeprecationWarning)
    with _ending_with_runner():
        _import_all()
    from mlmio.bench.machine import describe, revision

    _say(answers, {"machine": describe(), "revision": revision()})
    pending = b""
    while chunk := os.read(0, 2**16):
        *lines, pending = (pending + chunk).split(b"\n")
        for line in lines:
            _say(answers, _run(json.loads(line), answers))


def _say(answers: IO[str], what: Mapping[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


@contextmanager
def _ending_with_runner() -> Iterator[None]:
    """End this process if the runner dies meanwhile, for nobody looks at the input yet."""
    runner, over = os.getppid(), threading.Event()

    def watch() -> None:
        while not over.wait(RUNNER_POLL):
            if os.getppid() != runner:
                os._exit(1)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        # No thread may be left when the first case is forked.
        over.set()
        watcher.join()


def _import_all() -> None:
    """Import what the cases will need, and the compiled loops, so that none pays for it."""
    import pyomo.contrib.solver.common.factory
    import pyomo.environ  # noqa: F401
    import sklearn.datasets
    import sklearn.neighbors  # noqa: F401

    import mlmio.bench.child  # noqa: F401
    from mlmio.registry import blocks, solvers, strategies
    from mlmio.strategies.loops import load_loops

    for registry in (blocks, solvers, strategies):
        registry.available()
    # A minute when mlmio is used for the first time, which is no case's.
    load_loops()


@dataclass
class Watched:
    """A process that is watched, and what was seen of it.

    Parameters
    ----------
    limit_s, limit_mib : float
        Seconds and MiB after which it is killed.
    killed : str
        The outcome, where the keeper killed it.
    status : int
        What ``wait`` said of its end.
    ended : bool
        Whether it has ended, and its number may soon be another's.
    gathered : float
        When its descendants were looked for.
    last_mib : float
        What all held at the last look.
    family : dict
        The process and the descendants that were seen, by their numbers.
    peak_mib : float
        Most memory of the process and its descendants.
    seconds : float
        From its start to its end.
    """

    limit_s: float
    limit_mib: float
    killed: str = ""
    status: int = 0
    peak_mib: float = 0.0
    began: float = field(default_factory=perf_counter)
    seconds: float = 0.0
    ended: bool = False
    gathered: float = float("-inf")
    last_mib: float = 0.0
    family: dict[int, psutil.Process] = field(default_factory=dict)


def _run(request: Mapping[str, Any], answers: IO[str]) -> dict[str, Any]:
    """Run one case in a process of its own, and say what came of it."""
    from mlmio.bench.child import answer

    asked = request["asked"]
    started = datetime.now(UTC).isoformat(timespec="seconds")
    with tempfile.TemporaryFile() as written, tempfile.TemporaryFile() as said:
        pid = os.fork()
        if pid == 0:

            def work() -> None:
                _detach(answers.fileno(), said.fileno())
                text = json.dumps(answer(asked, request["data_dir"]), allow_nan=False)
                written.write(text.encode())
                written.flush()

            _ending(work)
        with suppress(OSError):
            os.setpgid(pid, pid)
        limit_s = asked["time_limit"] + asked["grace"]
        watched = _watch(pid, Watched(limit_s, asked["memory_mib"]))
        found = _outcome(watched, _content(written), _last_words(said))
    return {
        **found,
        "peak_mib": round(watched.peak_mib, 1),
        "wall_s": watched.seconds,
        "started": started,
    }


def _ending(work: Any) -> None:
    """Do the work of a forked process, and end it whatever happens."""
    code = 1
    try:
        work()
        code = 0
    finally:
        # Neither the loop of the keeper nor what libraries do at exit is this process's.
        if sys.exc_info()[0] is not None:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(code)


def _detach(answers: int, said: int) -> None:
    """Give the process its own group, ends and streams, and leave it nothing of the keeper's."""
    keeper = os.getppid()
    with suppress(OSError):
        os.setpgid(0, 0)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != keeper:
            os._exit(1)
        # Where memory runs out for all, the system shall take the case and not the runner.
        with suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as score:
            score.write("1000")
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, answers):
        os.dup2(nothing, descriptor)
    os.dup2(said, 2)


def _watch(pid: int, watched: Watched) -> Watched:
    """Wait for the end of a process, which is killed at its limits."""
    looked = float("-inf")
    while True:
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        now = perf_counter()
        if ended:
            break
        if now - looked > MEMORY_POLL and not watched.killed:
            looked = now
            _look(pid, watched, now)
        if select.select([0], [], [], POLL)[0]:
            # Nothing is asked while a case runs: the runner is gone, or wants it ended.
            _kill(pid, watched)
            os._exit(1)
    # Kibibytes on Linux, bytes on macOS.
    largest = usage.ru_maxrss / (MIB if sys.platform == "darwin" else 2**10)
    watched.peak_mib = max(watched.peak_mib, largest)
    watched.status, watched.seconds, watched.ended = status, now - watched.began, True
    _kill(pid, watched)
    return watched


def _look(pid: int, watched: Watched, now: float) -> None:
    """See how much memory a process and its descendants hold, and kill them at a limit."""
    if now - watched.gathered > FAMILY_POLL:
        watched.gathered = now
        _gather(pid, watched)
    mib = 0.0
    for member in watched.family.values():
        with suppress(psutil.Error):
            mib += member.memory_info().rss / MIB
    # Seen twice: a process that is about to run another program seems to hold its parent's memory.
    held, watched.last_mib = min(mib, watched.last_mib), mib
    watched.peak_mib = max(watched.peak_mib, held)
    if held > watched.limit_mib:
        watched.killed = "out of memory"
    elif now - watched.began > watched.limit_s:
        watched.killed = "timed out"
    if watched.killed:
        _kill(pid, watched)


def _gather(pid: int, watched: Watched) -> None:
    """Note a process and its descendants; those whose parent has died since stay noted."""
    with suppress(psutil.Error):
        process = psutil.Process(pid)
        for member in (process, *process.children(recursive=True)):
            watched.family[member.pid] = member


def _kill(pid: int, watched: Watched) -> None:
    """Kill a process group, and descendants that made groups of their own."""
    if not watched.ended:
        _gather(pid, watched)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    for member in watched.family.values():
        # psutil knows a process by its start as well, so that no stranger is hit.
        with suppress(psutil.Error):
            member.kill()


def _content(written: IO[bytes]) -> dict[str, Any] | None:
    """Read the answer of a process; None where it is not whole."""
    written.seek(0)
    try:
        content = json.loads(written.read())
    except ValueError:
        return None
    return content if isinstance(content, dict) and "outcome" in content else None


def _last_words(said: IO[bytes]) -> str:
    """Return the last line that a process wrote to its error stream."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 2**14))
    lines = said.read().decode(errors="replace").strip().splitlines()
    return f": {' '.join(lines[-1].split())[:MOST_SAID]}" if lines else ""


def _outcome(watched: Watched, content: dict[str, Any] | None, last_words: str) -> dict[str, Any]:
    if watched.killed == "out of memory":
        limit = f"its processes held {watched.peak_mib:.0f} MiB, allowed are {watched.limit_mib}"
        return {"outcome": watched.killed, "message": limit}
    if watched.killed:
        limit = f"killed after {watched.seconds:.1f} s, allowed are {watched.limit_s:g} with grace"
        return {"outcome": watched.killed, "message": limit}
    code = os.waitstatus_to_exitcode(watched.status)
    if code < 0:
        message = f"ended by {_signal_name(-code)}{last_words}"
    elif code > 0:
        message = f"ended with exit code {code}{last_words}"
    elif content is None:
        message = f"ended without a whole answer{last_words}"
    else:
        return content
    return {"outcome": "crashed", "message": message}


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


if __name__ == "__main__":
    main()
