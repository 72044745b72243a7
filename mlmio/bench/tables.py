"""The tables of a report: contests between like contestants on like instances."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from mlmio.bench.evidence import CONTESTANT, Evidence
from mlmio.bench.findings import FAILED, composed_or_none, families
from mlmio.bench.order import natural, natural_places
from mlmio.bench.statistics import Array, power_law, primal_integral, shifted_geometric_mean
from mlmio.verdicts import common_blocks

if TYPE_CHECKING:
    import pandas as pd

    from mlmio.blocks import Block
    from mlmio.composition import Composition

#: Shifts of the shifted geometric means.
SHIFT_S, SHIFT_NODES = 1.0, 10.0
LEAST_S = 1e-6


@dataclass(frozen=True, eq=False)
class Contest:
    """Formulations of one optimum, under one setting, with all that solves them.

    Parameters
    ----------
    setting : str
        The limits, in words.
    family : str
        What the formulations have in common.
    cases : pandas.DataFrame
        Their cases.
    cells : pandas.DataFrame
        One row for each contestant and instance (its index): medians over repetitions. ``seconds``
        is infinite where no more than half of the repetitions are solved.
    labels : dict of str to str
        For each contestant what tells it from the others.
    """

    setting: str
    family: str
    cases: pd.DataFrame
    cells: pd.DataFrame
    labels: dict[str, str]

    @cached_property
    def shared(self) -> pd.DataFrame:
        """The cells of the instances that every contestant was given."""
        met = self.cells.groupby(level="instance").size()
        everywhere = met.index[met == len(self.labels)]
        return self.cells[self.cells.index.get_level_values("instance").isin(everywhere)]

    @property
    def instances(self) -> int:
        """How many instances every contestant was given."""
        return int(self.shared.index.get_level_values("instance").nunique())

    def matrix(self, column: str) -> pd.DataFrame:
        """A column of the shared cells: instances down, contestants across."""
        return self.shared[column].unstack("contestant").reindex(columns=list(self.labels))

    @cached_property
    def summary(self) -> pd.DataFrame:
        """One row a contestant: what it solved, and its means over the shared instances."""
        return _summary(self)

    @cached_property
    def by_size(self) -> pd.DataFrame:
        """``solved / instances`` of each contestant for every data set and N."""
        return _by_size(self)

    @cached_property
    def scaling(self) -> pd.DataFrame:
        """Fits of time against N, one row a contestant and data set."""
        return _scaling(self)


def contests(evidence: Evidence, closed: Mapping[str, float]) -> list[Contest]:
    """Part the cases of a run into contests.

    A contestant that is refused on every instance takes no part.

    Parameters
    ----------
    evidence : Evidence
    closed : mapping of str to float
        For the key of a case the percentage of the root gap that it closes.
    """
    cases = evidence.cases.assign(root_gap_closed=evidence.cases["key"].map(closed).astype(float))
    names = families(sorted(set(cases["composition"])))
    cases["dataset"] = _told_apart(cases)
    cases["family"] = cases["composition"].map(names)
    cases["best"] = _best(cases)
    cases["primal_integral_s"] = _primal_integrals(cases, evidence.trajectories)
    cases["told"] = [len(evidence.trajectories[key]) > 1 for key in cases["key"]]
    parts = cases.groupby(["setting", "contestant", "family"], sort=False)
    takes_part = parts["status"].transform(lambda status: (status != "refused").any())
    grouped = cases[takes_part.astype(bool)].groupby(["setting", "family"])
    return [
        Contest(str(setting), str(family), part, _cells(part), labels(part))
        for (setting, family), part in sorted(grouped, key=lambda named: natural(named[0]))
    ]


def _told_apart(cases: pd.DataFrame) -> pd.Series:
    """Names of the data sets, with the numbers of features and classes where these vary."""
    names = cases["dataset"].astype(str)
    for column, sign in (("D", "D"), ("classes", "C")):
        varies = cases.groupby("dataset")[column].transform("nunique") > 1
        # Points that could not be loaded have neither.
        told = cases[column].astype(float).map("{:g}".format).astype(str)
        names = names.where(~varies, names + f" {sign}=" + told)
    return names


def _best(cases: pd.DataFrame) -> pd.Series:
    """For each case the best verified objective of its instance and family."""
    verified = cases["objective"].where(cases["verified"].astype(bool))
    return verified.groupby([cases["instance"], cases["family"]]).transform("max")


def _primal_integrals(cases: pd.DataFrame, trajectories: Mapping[str, Array]) -> list[float]:
    """One a case; NaN where there is no limit, or nobody has an incumbent."""
    return [
        _primal_integral(trajectories[case.key], case) for case in cases.itertuples(index=False)
    ]


def _primal_integral(trajectory: Array, case: Any) -> float:
    if math.isnan(case.time_limit) or math.isnan(case.best):
        return math.nan
    if case.status == "unverified":
        # What it claims to have had is not to be believed.
        return float(case.time_limit)
    return primal_integral(trajectory[:, 0], trajectory[:, 1], case.best, case.time_limit)


def _cells(cases: pd.DataFrame) -> pd.DataFrame:
    """Medians over repetitions; see :class:`Contest`."""
    solved = cases["solved"].astype(bool)
    given = cases.assign(
        finite_s=cases["seconds"].where(solved, np.inf),
        nodes=cases["nodes"].where(solved),
        unsolved_s=cases["counted_s"].where(~solved),
    )
    grouped = given.groupby(["contestant", "instance"])
    cells = grouped.agg(
        dataset=("dataset", "first"),
        N=("N", "first"),
        repetitions=("key", "size"),
        seconds=("finite_s", "median"),
        unsolved_s=("unsolved_s", "median"),
        gap=("gap", "median"),
        nodes=("nodes", "median"),
        root_gap_closed=("root_gap_closed", "median"),
        primal_integral_s=("primal_integral_s", "median"),
        told=("told", "any"),
        peak_mib=("peak_mib", "median"),
        contended=("contended", "any"),
        limit=("time_limit", "first"),
    )
    cells["solved"] = np.isfinite(cells["seconds"])
    # Ratios and logarithms have no use for a time of nothing.
    cells["seconds"] = cells["seconds"].clip(lower=LEAST_S)
    cells["counted_s"] = cells["seconds"].where(cells["solved"], cells["unsolved_s"])
    return cells


def labels(cases: pd.DataFrame) -> dict[str, str]:
    """Return for each contestant what tells it from the others of the same contest."""
    known = cases.drop_duplicates("contestant").sort_values("contestant", key=natural_places)
    composed = {text: composed_or_none(text) for text in known["composition"]}
    made = [composition for composition in composed.values() if composition is not None]
    shared = set(common_blocks(made).blocks) if len(made) == len(composed) > 1 else set()
    differs = [name for name in CONTESTANT[1:] if known[name].nunique(dropna=False) > 1]
    own = {text: _own(text, made, shared) for text, made in composed.items()}
    several = len(composed) > 1
    return {
        one.contestant: " · ".join([own[one.composition]] * several + _how(one, differs, several))
        for one in known.itertuples()
    }


def _own(text: str, composition: Composition | None, shared: set[Block]) -> str:
    """The blocks that not all formulations have."""
    if composition is None:
        return text
    return (
        " + ".join(str(block) for block in composition.blocks if block not in shared) or "defaults"
    )


def _how(contestant: Any, differs: Sequence[str], named: bool) -> list[str]:
    """Solver, strategy and threads, as far as they differ; at least one where there is no name."""
    parts = []
    if "solver" in differs or not named:
        parts.append(str(contestant.solver or contestant.strategy))
    if "strategy" in differs and str(contestant.strategy) not in parts:
        parts.append(str(contestant.strategy))
    if "threads" in differs:
        parts.append(f"{contestant.threads} thread{'s' * (contestant.threads != 1)}")
    return parts


def _summary(contest: Contest) -> pd.DataFrame:
    """The most solved first, the fastest of equals."""
    import pandas as pd

    nodes = commonly_solved(contest)
    rows = [_summary_row(contest, contestant, nodes) for contestant in contest.labels]
    order = pd.DataFrame(rows).sort_values(
        ["solved", "time_s"], ascending=[False, True], kind="stable"
    )
    return order.reset_index(drop=True)


def _summary_row(contest: Contest, contestant: str, nodes: pd.DataFrame) -> dict[str, Any]:
    own = contest.cells.loc[contestant]
    cases = contest.cases[contest.cases["contestant"] == contestant]
    shared = _of(contest.shared, contestant)
    gaps = contest.matrix("root_gap_closed")
    # Means over the same instances, of those that have any.
    telling = gaps.columns[gaps.notna().any()]
    gaps = gaps[gaps[telling].notna().all(axis=1)]
    return {
        "contestant": contest.labels[contestant],
        "instances": len(own),
        "solved": int(own["solved"].sum()),
        "wrong": int(((cases["status"] == "unverified") | cases["contradicted"]).sum()),
        "failed": int(cases["status"].isin(FAILED).sum()),
        "refused": int((cases["status"] == "refused").sum()),
        "compared": len(shared),
        "time_s": shifted_geometric_mean(shared["counted_s"], SHIFT_S),
        "contended": int(shared["contended"].sum()),
        "root_gap_closed": float(gaps[contestant].mean()),
        "nodes": shifted_geometric_mean(nodes[contestant], SHIFT_NODES),
        "nodes_over": len(nodes),
        "primal_integral_s": float(shared["primal_integral_s"].mean()),
        "incumbents_told": bool(shared["told"].any()),
        "peak_mib": float(shared["peak_mib"].median()),
    }


def _of(cells: pd.DataFrame, contestant: str) -> pd.DataFrame:
    return cells[cells.index.get_level_values("contestant") == contestant]


def commonly_solved(contest: Contest) -> pd.DataFrame:
    """Return nodes where every contestant solves and tells: instances down, contestants across.

    A contestant that solves nothing at all, as a heuristic, or never tells its nodes, is no reason
    to leave an instance out.
    """
    nodes, solved = contest.matrix("nodes"), contest.matrix("solved").astype(bool)
    solving, telling = solved.columns[solved.any()], nodes.columns[nodes.notna().any()]
    kept = solved[solving].all(axis=1) & nodes[telling].notna().all(axis=1)
    return nodes[kept & bool(len(solving))].astype(float)


def _by_size(contest: Contest) -> pd.DataFrame:
    grouped = contest.cells.groupby(["contestant", "dataset", "N"], dropna=False)["solved"]
    counts = grouped.agg(["sum", "size"]).astype(int)
    texts = counts["sum"].astype(str) + "/" + counts["size"].astype(str)
    table = texts.unstack(["dataset", "N"]).reindex(list(contest.labels))
    columns = list(table.columns)
    # Nothing is known of the size of a data set that is missing: it is the last.
    order = sorted(
        range(len(columns)),
        key=lambda place: (
            natural(columns[place][0]),
            np.nan_to_num(columns[place][1], nan=np.inf),
        ),
    )
    table = table.iloc[:, order]
    table.columns = [f"{dataset}{_size(N)}" for dataset, N in table.columns]
    table.insert(0, "contestant", [contest.labels[name] for name in table.index])
    return table.reset_index(drop=True)


def _size(N: float) -> str:
    return "" if math.isnan(N) else f" {N:g}"


def _scaling(contest: Contest) -> pd.DataFrame:
    import pandas as pd

    rows = [row for part in scaling_data(contest) if (row := _scaling_row(contest, *part))]
    columns = ["contestant", "dataset", "exponent", "low", "high", "factor", "r2"]
    return pd.DataFrame(rows, columns=[*columns, "points", "N_from", "N_to", "contended"])


def scaling_data(contest: Contest) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield contestant, data set, and its solved cells up to the first unsolved size.

    The larger instances that happen to be solved are the easy ones.
    """
    for (contestant, dataset), cells in contest.cells.groupby(["contestant", "dataset"]):
        unsolved = cells.loc[~cells["solved"], "N"].min()
        kept = cells[cells["N"].notna() & ~(cells["N"] >= unsolved)]
        yield str(contestant), str(dataset), kept.sort_values("N")


def _scaling_row(
    contest: Contest, contestant: str, dataset: str, cells: pd.DataFrame
) -> dict[str, Any] | None:
    law = power_law(cells["N"].to_numpy(float), cells["seconds"].to_numpy(float))
    if law is None:
        return None
    return {
        **vars(law),
        "contestant": contest.labels[contestant],
        "dataset": dataset,
        "N_from": int(cells["N"].min()),
        "N_to": int(cells["N"].max()),
        "contended": int(cells["contended"].sum()),
    }
