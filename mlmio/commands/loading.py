"""From the words of a call to compositions and data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mlmio.commands.shell import PER_CLASS
from mlmio.errors import MlmioError

if TYPE_CHECKING:
    from mlmio.composition import Composition
    from mlmio.data import Dataset


def composed(spec: str) -> Composition:
    """Compose, and refuse what is not complete."""
    from mlmio.composition import compose

    composition = compose(spec)
    _ = composition.ordered
    return composition


def load(
    name: str,
    per_class: int | None,
    seed: int,
    scale: str,
    label: str | None,
    side: list[str] | None,
    data_dir: str | None,
) -> Dataset:
    """Load a data set and draw points from it; by default no more than its smallest class has."""
    from mlmio.data import load_dataset

    check_per_class(per_class)
    files = _side_files(side or [])
    whole = load_dataset(name, seed=seed, scale=scale, label=label, side=files, data_dir=data_dir)
    if per_class is None:
        # One point a class has no neighbour.
        whole.require_class_size(2, "--per-class")
        per_class = min(PER_CLASS, int(whole.class_sizes.min()))
    return whole if per_class == 0 else whole.draw(per_class, seed)


def check_per_class(per_class: int | None) -> None:
    """Refuse a number of points of every class that is below 0."""
    if per_class is not None and per_class < 0:
        raise MlmioError(
            f"--per-class is {per_class}: give how many points to draw of every class, or 0 for "
            f"all points"
        )


def _side_files(given: list[str]) -> dict[str, str]:
    """Read NAME=FILE pairs."""
    from mlmio.registry import blocks as known

    sides = [name for name, cls in known.available().items() if cls.slot == "side"] if given else []
    files: dict[str, str] = {}
    for text in given:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise MlmioError(f"--side is {text!r}: give NAME=FILE, as must_link=pairs.csv")
        if name not in sides:
            raise MlmioError(
                f"--side is {text!r}, and no block {name!r} takes side information: those that do "
                f"are {', '.join(sides)}"
            )
        if name in files:
            raise MlmioError(f"--side names {name!r} twice: put its tuples into one file")
        files[name] = path
    return files


def describe(data: Dataset, seed: int) -> str:
    """Say which points were drawn of which data set."""
    if data.source_size == data.N:
        return f"{data.name}: all {data.N} points"
    return (
        f"{data.name}: {data.N} of {data.source_size} points, {data.class_sizes[0]} per class, "
        f"seed {seed}; --per-class 0 takes all points"
    )
