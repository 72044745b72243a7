"""Registries of blocks, solvers and strategies, filled by entry points and by decorator."""

from __future__ import annotations

import difflib
from contextlib import suppress
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from mlmio.errors import FAILURES, CompositionError, MlmioError, SolverError

T = TypeVar("T")


class Registry(Generic[T]):
    """Named classes of one kind.

    Classes come from the entry-point group of every installed package, loaded when first asked
    for, and from the decorator, for those written in a script or a notebook.

    Parameters
    ----------
    kind : str
        What is registered, for messages: ``"block"``.
    group : str
        Entry-point group: ``"mlmio.blocks"``.
    error : type of MlmioError
        Raised for an unknown or clashing name.
    """

    def __init__(self, kind: str, group: str, error: type[MlmioError]) -> None:
        self.kind = kind
        self.group = group
        self._error = error
        self._loaded: dict[str, type[T]] = {}
        self._found: dict[str, list[EntryPoint]] = {}
        for point in entry_points(group=group):
            self._found.setdefault(point.name, []).append(point)

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._found

    def names(self) -> list[str]:
        """Every registered name, sorted."""
        return sorted({*self._loaded, *self._found})

    def register(self, cls: type[T]) -> type[T]:
        """Class decorator: register `cls` under its ``name``.

        Defining the same class again, as a notebook cell does, replaces it.

        Raises
        ------
        CompositionError or SolverError
            If another class has that name already.
        """
        name: str = cls.name  # type: ignore[attr-defined]
        owner = self._owner(name)
        if owner not in (None, _path(cls)):
            raise self._error(
                f"the {self.kind} name {name!r} is taken by {owner}: give {_path(cls)} another name"
            )
        self._loaded[name] = cls
        return cls

    def get(self, name: str) -> type[T]:
        """Return the class registered as `name`.

        Raises
        ------
        CompositionError or SolverError
            If the name is unknown or no text, claimed by two packages, or its package cannot be
            imported.
        """
        if not isinstance(name, str):
            # What users type may be anything.
            raise self._error(
                f"{name!r} is not the name of a {self.kind}: the known ones are "
                f"{', '.join(self.names())}"
            )
        if name not in self._loaded:
            self._loaded[name] = self._load(name)
        return self._loaded[name]

    def available(self) -> dict[str, type[T]]:
        """Every class that can be imported, by name."""
        found = {}
        for name in self.names():
            # A broken package must not take the others with it; asked for, it says what is wrong.
            with suppress(self._error):
                found[name] = self.get(name)
        return found

    def _owner(self, name: str) -> str | None:
        """Return the path of the class that holds `name`, without importing it."""
        if name in self._loaded:
            return _path(self._loaded[name])
        points = self._found.get(name)
        return points[0].value if points else None

    def _load(self, name: str) -> type[T]:
        points = self._found.get(name, [])
        if not points:
            raise self._error(self._unknown(name))
        if len({point.value for point in points}) > 1:
            packages = " and ".join(sorted(point.dist.name for point in points if point.dist))
            raise self._error(
                f"the {self.kind} {name!r} is claimed by {packages}: uninstall one of them"
            )
        try:
            loaded: Any = points[0].load()
        except FAILURES as error:
            raise self._error(
                f"the {self.kind} {name!r} ({points[0].value}) cannot be imported: "
                f"{type(error).__name__}: {error}"
            ) from error
        return loaded

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, self.names(), n=1)
        hint = f", did you mean {close[0]!r}?" if close else ":"
        return (
            f"there is no {self.kind} {name!r}{hint} the known ones are {', '.join(self.names())}"
        )


def _path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


blocks: Registry[Any] = Registry("block", "mlmio.blocks", CompositionError)
solvers: Registry[Any] = Registry("solver", "mlmio.solvers", SolverError)
strategies: Registry[Any] = Registry("strategy", "mlmio.strategies", SolverError)
