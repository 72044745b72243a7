import os
import signal
import time
from pathlib import Path

import pytest

from mlmio.solvers.base import Options
from mlmio.solvers.command import UNKNOWN_VERSION, find_executable, run_command, version_of


def script(folder, text, name="tool"):
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def run(path, folder, allowed=None, options=None, stop=signal.SIGINT):
    return run_command([path], folder, options or Options(), {}, stop, allowed)


def test_the_path_wins_over_what_is_bundled(tmp_path, monkeypatch):
    bundled = script(tmp_path, "", "bundled")
    monkeypatch.setenv("PATH", "")
    assert find_executable("tool", bundled) == bundled
    assert find_executable("tool", tmp_path / "missing") is None
    assert find_executable("tool", None) is None
    own = script(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_executable("tool", bundled) == own


def test_wrappers_of_the_environment_are_passed_over(tmp_path, monkeypatch):
    script(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    assert find_executable("tool", None) is None


def test_version(tmp_path):
    path = script(tmp_path, 'echo "tool $1 $MARK"')
    assert version_of(path, "4.2", r"tool (\S+) here", {"MARK": "here"}) == "4.2"
    assert version_of(path, "4.2", r"tool (\S+) there", {"MARK": "here"}) == UNKNOWN_VERSION


def test_version_is_asked_again_when_the_file_changes(tmp_path):
    path = script(tmp_path, "echo 1.0")
    assert version_of(path, "-v", r"(\d\.\d)", {}) == "1.0"
    path = script(tmp_path, "echo 2.0")
    os.utime(path, ns=(0, 0))
    assert version_of(path, "-v", r"(\d\.\d)", {}) == "2.0"


def test_version_of_what_cannot_be_run(tmp_path):
    path = tmp_path / "tool"
    path.write_bytes(b"\x7fELF nonsense")
    path.chmod(0o755)
    assert version_of(path, "-v", r"(.*)", {}) == UNKNOWN_VERSION


def test_log_and_exit_code(tmp_path):
    log = tmp_path / "log"
    ended = run(
        script(tmp_path, "echo one; echo two >&2; exit 3"), tmp_path, options=Options(log=log)
    )
    assert (ended.code, ended.log, ended.stopped) == (3, "one\ntwo\n", "")
    assert log.read_text() == "one\ntwo\n"


def test_bytes_that_are_not_text(tmp_path):
    assert "�" in run(script(tmp_path, r"printf '\377\n'"), tmp_path).log


def test_told_to_stop(tmp_path):
    path = script(tmp_path, 'trap "echo stopping; exit 0" INT\nwhile true; do sleep 0.05; done')
    ended = run(path, tmp_path, allowed=0.3)
    assert (ended.code, ended.log, ended.stopped) == (0, "stopping\n", "time_limit")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_children_are_ended_too(tmp_path, stop):
    path = script(tmp_path, "trap '' INT\nsleep 30 & echo $!\nwait")
    began = time.perf_counter()
    ended = run(path, tmp_path, allowed=0.2, stop=stop)
    assert time.perf_counter() - began < 2
    assert ended.stopped == "time_limit"
    while running(int(ended.log)):
        assert time.perf_counter() - began < 5
        time.sleep(0.01)


def running(pid):
    """Whether a process is there and not just waiting to be buried."""
    status = Path(f"/proc/{pid}/stat")
    return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
