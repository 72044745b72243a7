"""YAML whose every value knows the line that it stands on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from mlmio.errors import MlmioError


@dataclass(frozen=True)
class Marked:
    """A YAML document, and where its values stand.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    content : anything
        The document as plain values.
    root : yaml.Node or None
        The same as nodes with their lines.
    twice : tuple of str
        Each key that stands twice in one mapping, with file and line.
    """

    source: str
    content: Any
    root: Any
    twice: tuple[str, ...]

    @classmethod
    def read(cls, text: str, source: str) -> Marked:
        """Read one document, as data only.

        Raises
        ------
        MlmioError
            If it is no YAML; with file and line.
        """
        try:
            root = yaml.compose(text, yaml.SafeLoader)
            twice = tuple(_said_twice(root, source, set()))
            return cls(source, yaml.safe_load(text), root, twice)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = 1 if mark is None else mark.line + 1
            what = error.problem or error.context
            raise MlmioError(f"{source}, line {line}: it is no YAML: {what}") from error
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            what = " ".join(str(error).split())
            raise MlmioError(f"{source} cannot be read as YAML: {what}") from error

    def place(self, path: Sequence[str | int]) -> str:
        """Say where the value of a path stands, as ``file, line 3, datasets[0].name``."""
        line, key = self._found(path)
        return f"{self.source}, line {line}{f', {key}' if key else ''}"

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line on which the value of a path stands."""
        return self._found(path)[0]

    def _found(self, path: Sequence[str | int]) -> tuple[int, str]:
        node, line, key = self.root, 1, ""
        for part in path:
            found = _step(node, part)
            if found is None:
                # What is missing is named as well; what was put into a list by us is not.
                key = _joined(key, part) if isinstance(part, str) else key
                break
            node, line = found
            key = _joined(key, part)
        return line, key


def _joined(key: str, part: str | int) -> str:
    if isinstance(part, int):
        return f"{key}[{part}]"
    return f"{key}.{part}" if key else part


def _step(node: Any, part: str | int) -> tuple[Any, int] | None:
    """Return the node below `node`, and the line of its key."""
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            if name.value == str(part):
                return value, name.start_mark.line + 1
    if isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
        return node.value[part], node.value[part].start_mark.line + 1
    return None


def _said_twice(node: Any, source: str, seen: set[int]) -> Iterator[str]:
    """Tell the keys that stand twice: YAML would silently take the last."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        for value in node.value:
            yield from _said_twice(value, source, seen)
    if isinstance(node, yaml.MappingNode):
        names: set[str] = set()
        for name, value in node.value:
            if isinstance(name.value, str) and name.value in names:
                yield f"{source}, line {name.start_mark.line + 1}, {name.value}: it is said twice"
            names.add(str(name.value))
            yield from _said_twice(value, source, seen)
