"""The folder of a run: one runner at a time, one suite, one file for every case."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from mlmio.bench.records import FOLDER, Record, path_of, paths_in
from mlmio.bench.suite import Suite, description
from mlmio.errors import MlmioError
from mlmio.writing import write_text

FORMAT = "mlmio.bench.run"
VERSION = 1
FILE = "run.json"
LOCK = ".lock"
#: Where records go whose cases the suite does not have any more, with these versions.
SUPERSEDED = "superseded"


@dataclass(frozen=True)
class About:
    """What the folder of a run says of its suite; nothing where it does not.

    Parameters
    ----------
    cases : int
        How many there are.
    title, description : str
        What it is for; the second is the comment at its top.
    """

    cases: int = 0
    title: str = ""
    description: str = ""


class RunFolder:
    """The folder of a run.

    Parameters
    ----------
    out : Path
        The folder; made where there is none.
    """

    def __init__(self, out: Path) -> None:
        self.out = out

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runners out; the system lets go of it when this process ends, however it does.

        Raises
        ------
        MlmioError
            If another runner is at work here, or the folder cannot be made.
        """
        try:
            (self.out / FOLDER).mkdir(parents=True, exist_ok=True)
            file = open(self.out / LOCK, "a+", encoding="utf-8")  # noqa: SIM115, closed below
        except (FileExistsError, NotADirectoryError) as error:
            raise MlmioError(
                f"cannot make the folder {str(error.filename)!r}, since a file is in its place or "
                f"above it: give another --out"
            ) from error
        except OSError as error:
            raise MlmioError(f"cannot write to {str(self.out)!r}: {error.strerror}") from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                file.seek(0)
                who = file.read().strip() or "unknown"
                raise MlmioError(
                    f"another mlmio bench run (process {who}) is at work in {self.out}: wait for "
                    f"it, or give another --out"
                ) from error
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            yield

    def begin(self, suite: Suite, text: str, facts: Mapping[str, Any]) -> None:
        """Write down what is run; what is there already stays, with another start.

        Raises
        ------
        MlmioError
            If the folder holds a run of another suite.
        """
        earlier = self._read()
        if earlier is not None and earlier.get("canonical") != suite.canonical():
            raise MlmioError(
                f"{self.out} holds a run of another suite, {earlier.get('name')!r} as it was: give "
                f"another --out, or run that suite unchanged"
            )
        starts = [] if earlier is None else earlier.get("starts", [])
        self._write(
            {
                "format": FORMAT,
                "version": VERSION,
                "name": suite.name,
                "title": suite.title,
                "suite": text,
                "canonical": suite.canonical(),
                **facts,
                "starts": [*starts, _now()],
                "ended": None,
            }
        )

    def end(self) -> None:
        """Write down that every case is done."""
        self._write({**(self._read() or {}), "ended": _now()})

    def finished(self, keys: Iterable[str]) -> list[Record]:
        """Return the records that count, and tidy up what does not.

        Drafts, as a crash may leave them, are removed. What cannot be read, and records of other
        cases, as with other versions, are set aside.

        Parameters
        ----------
        keys : iterable of str
            Keys of the cases of this run.
        """
        for draft in [*self.out.glob(".*.json"), *(self.out / FOLDER).glob(".*.json")]:
            draft.unlink(missing_ok=True)
        wanted, found = set(keys), []
        for path in paths_in(self.out):
            record = None
            with suppress(MlmioError):
                record = Record.read(path)
            if record and record.key in wanted and path == path_of(self.out, record.key):
                found.append(record)
            else:
                (self.out / SUPERSEDED).mkdir(exist_ok=True)
                os.replace(path, self.out / SUPERSEDED / path.name)
        return found

    def about(self) -> About:
        """Return what is written down of the suite.

        Raises
        ------
        MlmioError
            If the file that says so cannot be read.
        """
        content = self._read() or {}
        cases, title, text = (content.get(name) for name in ("cases", "title", "suite"))
        return About(
            cases if isinstance(cases, int) else 0,
            title if isinstance(title, str) else "",
            description(text) if isinstance(text, str) else "",
        )

    def _read(self) -> dict[str, Any] | None:
        path = self.out / FILE
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise MlmioError(f"{path} cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise MlmioError(f"{path} cannot be read: {error}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise MlmioError(f"{path} is not of mlmio bench run: give another --out")
        return content

    def _write(self, content: Mapping[str, Any]) -> None:
        write_text(self.out / FILE, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
