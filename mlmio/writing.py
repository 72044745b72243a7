"""Writing files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from mlmio.errors import MlmioError


def check_writable(path: str | Path) -> Path:
    """Return the path of a file that can be written, links followed.

    Raises
    ------
    MlmioError
        If it is a folder, its folder does not exist, or this user may not write there.
    """
    try:
        target = Path(path).expanduser().resolve()
        if target.is_dir():
            raise MlmioError(f"cannot write {str(path)!r}: it is a folder, name a file in it")
        if not target.parent.is_dir():
            raise MlmioError(f"cannot write {str(path)!r}: there is no folder {target.parent}")
        place = target.parent if target.is_file() or not target.exists() else target
    except (OSError, ValueError, RuntimeError) as error:
        raise _unwritable(path, error) from error
    if not os.access(place, os.W_OK):
        raise MlmioError(f"cannot write {str(path)!r}: this user may not write to {place}")
    return target


def write_whole(path: str | Path, write: Callable[[Path], object]) -> None:
    """Let `write` write a file beside `path`, and put it in its place when it is complete.

    Parameters
    ----------
    path : str or Path
        The file; one that is there already stays as it is if `write` fails.
    write : callable (Path) -> anything
        Writes the file of the name that it is given, which has the ending of `path`.

    Raises
    ------
    MlmioError
        If the file cannot be written.
    """
    target = check_writable(path)
    try:
        if target.exists() and not target.is_file():
            # A device or a pipe cannot be replaced.
            write(target)
            return
        draft = target.with_name(f".{os.getpid()}.{target.name}")
        try:
            write(draft)
            os.replace(draft, target)
        finally:
            draft.unlink(missing_ok=True)
    except (OSError, ValueError) as error:
        raise _unwritable(path, error) from error


def write_text(path: str | Path, text: str) -> None:
    """Write a text file whole or not at all."""
    write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"))


def _unwritable(path: str | Path, error: Exception) -> MlmioError:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return MlmioError(f"cannot write {str(path)!r}: {reason}")
