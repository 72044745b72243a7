"""One file for every case: what was asked, what came of it, on what machine."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from mlmio.errors import MlmioError
from mlmio.writing import write_text

#: How a case can end. Only ``done`` has a result; its status may still be ``error``.
OUTCOMES = ("done", "refused", "failed", "crashed", "out of memory", "timed out")

FORMAT = "mlmio.bench.case"
VERSION = 1
FOLDER = "cases"


@dataclass(frozen=True)
class Record:
    """What came of a case.

    Parameters
    ----------
    key : str
        Hash of everything that determines the case.
    case : mapping
        What was asked: ``dataset`` (name, as ``"iris"``), ``sampling`` (how it was drawn),
        ``N``, ``D``, ``classes``, ``composition``, ``solver`` (None where the strategy has none),
        ``strategy``, ``time_limit``, ``threads``, ``seed``, ``repetition``, ``rel_gap``.
    outcome : str
        One of :data:`OUTCOMES`.
    message : str
        Why, where there is no result.
    result : mapping or None
        :meth:`mlmio.Result.to_dict`, with None for what is not finite.
    metric : mapping or None
        The learned metric.
    outliers : list
        Identifiers of the points that are given up.
    trajectory : list of (seconds, incumbent or None, bound or None)
        Incumbent and dual bound over time, in rising order of time; seconds of the solve.
    neighbors : list of (point, points)
        Identifiers of the points that serve each point.
    certificate : mapping or None
        What the data say of the claim, see :class:`~mlmio.verification.Certificate`.
    peak_mib : float or None
        Peak memory of the process, in MiB.
    wall_s : float
        Seconds from the start of the process to its end.
    started : str
        ISO 8601.
    contended : bool
        Whether more threads than the machine has cores were at work beside it.
    machine : mapping
        Processor, memory, versions of packages and solvers.
    revision : str
        Revision of mlmio in version control, or nothing.
    """

    key: str
    case: Mapping[str, Any]
    outcome: str
    message: str = ""
    result: Mapping[str, Any] | None = None
    metric: Mapping[str, Any] | None = None
    outliers: list[Any] = field(default_factory=list)
    trajectory: list[tuple[float, float | None, float | None]] = field(default_factory=list)
    neighbors: list[Any] = field(default_factory=list)
    certificate: Mapping[str, Any] | None = None
    peak_mib: float | None = None
    wall_s: float = 0.0
    started: str = ""
    contended: bool = False
    machine: Mapping[str, Any] = field(default_factory=dict)
    revision: str = ""

    def write(self, out: Path) -> None:
        """Write the record below the folder of the run, whole or not at all.

        Raises
        ------
        MlmioError
            If it cannot be written.
        """
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        text = json.dumps(content, indent=1, default=str, allow_nan=False, ensure_ascii=False)
        write_text(path_of(out, self.key), text + "\n")

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a record.

        Raises
        ------
        MlmioError
            If the file cannot be read, or is no whole record.
        """
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            if content.pop("format") != FORMAT or content.pop("version") != VERSION:
                raise ValueError("it is of another kind or version")
            if set(content) != {known.name for known in fields(cls)}:
                raise ValueError("it has other fields than a record")
            content["trajectory"] = [tuple(moment) for moment in content["trajectory"]]
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise MlmioError(f"{path} is no record of a case: {error}") from error
        return cls(**content)


def path_of(out: Path, key: str) -> Path:
    """Path of a record below the folder of a run."""
    return out / FOLDER / f"{key}.json"


def paths_in(out: Path) -> list[Path]:
    """Paths of the records of a run, in the order of their keys.

    Raises
    ------
    MlmioError
        If the folder is no folder of a run, or cannot be read.
    """
    try:
        # Not glob, which takes a folder that may not be read for an empty one.
        names = [path.name for path in (out / FOLDER).iterdir()]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MlmioError(
            f"{out} holds no run: give the folder that mlmio bench run wrote"
        ) from error
    except OSError as error:
        raise MlmioError(f"cannot read {str(out / FOLDER)!r}: {error.strerror}") from error
    # A draft, which a runner that was killed may leave, begins with a dot.
    return [
        out / FOLDER / name
        for name in sorted(names)
        if name.endswith(".json") and not name.startswith(".")
    ]


def read_all(out: Path) -> Iterator[Record]:
    """Read the records of a run, in the order of their keys.

    Raises
    ------
    MlmioError
        If the folder is no folder of a run, or a file in it is no whole record.
    """
    for path in paths_in(out):
        yield Record.read(path)
