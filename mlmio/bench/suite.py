"""Suites: what a benchmark runs, as YAML."""

from __future__ import annotations

import json
from itertools import product, takewhile
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from mlmio.bench.faults import SuiteError, close, told
from mlmio.bench.marks import Marked
from mlmio.composition import Composition, variants
from mlmio.data.scaling import Scaling
from mlmio.errors import MlmioError
from mlmio.registry import Registry, solvers, strategies
from mlmio.solvers.base import MOST_THREADS

#: Where the shipped suites are, below the top of a source tree.
SHIPPED = Path("benchmarks", "suites")
# That of this installation, if it is one from sources.
SOURCES = Path(__file__).parents[2]

T = TypeVar("T")


def _several(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Several = Annotated[list[T], BeforeValidator(_several), Field(min_length=1)]
Least1 = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, le=2**31 - 1)]
Name = Annotated[str, Field(min_length=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _registered_in(registry: Registry[Any]) -> AfterValidator:
    def known(name: str) -> str:
        _foreseen(registry.get, name)
        return name

    return AfterValidator(known)


# Outside of the class, whose fields have the names of the registries.
SolverName = Annotated[str, _registered_in(solvers)]
StrategyName = Annotated[str, _registered_in(strategies)]


class _Strict(BaseModel):
    """A mapping that takes its own keys only, and values of their own type only."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class DatasetEntry(_Strict):
    """One data set, in every size and drawing that is asked for.

    Parameters
    ----------
    name : str
        As :func:`mlmio.load_dataset` takes it.
    per_class, n : int or list of int, optional
        Sizes: points of every class, or points in all (generated, for a synthetic set).
    features : int or list of int, optional
        The first so many features only.
    classes : int or list of int, optional
        The points of the first so many classes only.
    seeds : int or list of int
        Seeds of the drawing.
    scale : str
        Scaling, fitted to all points of the data set.
    label : str or int, optional
        Label column of a file.
    """

    name: Name
    per_class: Several[Least1 | None] = [None]
    n: Several[Least1 | None] = [None]
    features: Several[Least1 | None] = [None]
    classes: Several[Annotated[int, Field(ge=2)] | None] = [None]
    seeds: Several[Seed] = [0]
    scale: str = "minmax"
    label: str | int | None = None

    @field_validator("scale")
    @classmethod
    def _known_scale(cls, scale: str) -> str:
        _foreseen(Scaling.fit, scale, [[0.0], [1.0]])
        return scale

    @model_validator(mode="after")
    def _one_size(self) -> DatasetEntry:
        if self.per_class != [None] and self.n != [None]:
            raise ValueError("per_class and n are two ways to draw: give one of them")
        return self

    def drawings(self) -> list[dict[str, Any]]:
        """Every size and seed, as mappings of what determines the points."""
        grid = product(self.per_class, self.n, self.features, self.classes, self.seeds)
        names = ("per_class", "n", "features", "classes", "data_seed")
        common = {"dataset": self.name, "scale": self.scale, "label": self.label}
        return [{**common, **dict(zip(names, values, strict=True))} for values in grid]


class CompositionEntry(BaseModel):
    """A formulation, or a grid of them: ``variants`` and, for slots, lists of fillings."""

    model_config = ConfigDict(extra="allow", strict=True, frozen=True)
    __pydantic_extra__: dict[str, Several[str | None]] = Field(init=False)

    variants: str

    @model_validator(mode="before")
    @classmethod
    def _grid_of_one(cls, value: Any) -> Any:
        return {"variants": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _can_be_built(self) -> CompositionEntry:
        for composition in _foreseen(self.compositions):
            _foreseen(lambda composed: composed.ordered, composition)
        return self

    def compositions(self) -> list[Composition]:
        """Every formulation of the grid."""
        return variants(self.variants, **(self.__pydantic_extra__ or {}))


class Limits(_Strict):
    """What a case may take, and when it counts as solved.

    Parameters
    ----------
    time_limit : float
        Seconds for the solver.
    grace : float
        Seconds that the process has beyond that, for points, building, verification and a solver
        that stops late; after them it is killed.
    memory_mib : int
        Memory of the process and its children, in MiB; at more they are killed.
    rel_gap : float
        Relative gap at which a solution counts as optimal.
    """

    time_limit: Positive
    grace: Positive = 60.0
    memory_mib: Annotated[int, Field(ge=64)] = 4096
    rel_gap: Annotated[float, Field(ge=0, lt=1)] = 1e-6


class Suite(_Strict):
    """What a benchmark runs: every combination of its parts.

    Parameters
    ----------
    name, title : str
        What it is called, and what it is for.
    datasets : list of DatasetEntry
        The points.
    compositions : list of CompositionEntry
        The formulations.
    solvers, strategies : list of str
        Registered names; a strategy without a solver runs once for all solvers.
    limits : Limits
        Time, memory, gap.
    threads, seeds : list of int
        Of the solver.
    repetitions : int
        How often each case is run.
    """

    name: Name
    title: str = ""
    datasets: Annotated[list[DatasetEntry], Field(min_length=1)]
    compositions: Annotated[list[CompositionEntry], Field(min_length=1)]
    solvers: Several[SolverName] = ["highs"]
    strategies: Several[StrategyName] = ["direct"]
    limits: Limits
    threads: Several[Annotated[int, Field(ge=1, le=MOST_THREADS)]] = [1]
    seeds: Several[Seed] = [0]
    repetitions: Least1 = 1

    def canonical(self) -> str:
        """The suite as text in which comments and layout do not count."""
        return json.dumps(self.model_dump(mode="json"), sort_keys=True)


#: For the path of each mapping of a suite the keys that it may have.
KEYS = {
    (): list(Suite.model_fields),
    ("datasets",): list(DatasetEntry.model_fields),
    ("limits",): list(Limits.model_fields),
}


def _foreseen(call: Any, *args: Any, **kwargs: Any) -> Any:
    """Call; what mlmio says is wrong is told as pydantic wants it told."""
    try:
        return call(*args, **kwargs)
    except MlmioError as error:
        raise ValueError(str(error)) from error


# What no suite can be without.
REQUIRED = [name for name, field in Suite.model_fields.items() if field.is_required()]


def description(text: str) -> str:
    r"""Return the comment at the top of a suite, in one line.

    Examples
    --------
    >>> description("# Whether all\n# works.\nname: smoke\n")
    'Whether all works.'
    """
    comment = takewhile(lambda line: line.startswith("#"), text.splitlines())
    return " ".join(" ".join(line.lstrip("#") for line in comment).split())


def find_suite(name: str) -> Path:
    """Return the file of a suite: a path, or the name of a shipped one.

    Shipped suites are looked for below the working folder, and in the source tree that mlmio runs
    from.

    Raises
    ------
    MlmioError
        If there is neither.
    """
    if not name:
        raise MlmioError("the suite has no name: give the path of a YAML file, or a name as smoke")
    path, shipped = Path(name).expanduser(), _shipped()
    try:
        if path.is_file():
            return path
    except OSError as error:
        raise MlmioError(f"cannot read the suite {name!r}: {error.strerror}") from error
    if name in shipped:
        return shipped[name]
    known = sorted(shipped)
    if path.is_dir():
        raise MlmioError(f"{name!r} is a folder: give the YAML file of a suite")
    if not known:
        raise MlmioError(
            f"there is no suite {name!r}: give the path of a file; the shipped suites are in "
            f"{SHIPPED} of mlmio's source tree"
        )
    hint = close(path.stem, known) or ":"
    raise MlmioError(
        f"there is no file and no suite {name!r}{hint} the shipped suites are {', '.join(known)}"
    )


def _shipped() -> dict[str, Path]:
    """Files of the shipped suites by name."""
    folders = [SOURCES / SHIPPED, SHIPPED]
    return {file.stem: file for folder in folders for file in folder.glob("*.yaml")}


def load_suite(path: str | Path) -> Suite:
    """Read and check a suite.

    Parameters
    ----------
    path : str or Path
        A YAML file.

    Raises
    ------
    MlmioError
        If it cannot be read or something in it is wrong; with file, line and key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise MlmioError(f"cannot read the suite {str(path)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise MlmioError(f"cannot read the suite {str(path)!r}: it is no text in UTF-8") from error
    return parse_suite(text, str(path))


def parse_suite(text: str, source: str) -> Suite:
    """Check the text of a suite; `source` is its name in messages.

    Raises
    ------
    MlmioError
        If something in it is wrong; with file, line and key.
    """
    marked = Marked.read(text, source)
    if marked.content is None:
        raise MlmioError(f"{source} is empty: a suite has {', '.join(REQUIRED)}")
    if not isinstance(marked.content, dict):
        raise MlmioError(f"{source}, line 1: a suite has keys with values: {', '.join(REQUIRED)}")
    try:
        suite = Suite.model_validate(marked.content)
    except ValidationError as error:
        wrong = told(marked, error.errors(include_url=False), KEYS)
        raise SuiteError([*marked.twice, *wrong]) from error
    if marked.twice:
        raise SuiteError(marked.twice)
    return suite
