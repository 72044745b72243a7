"""What an experiment leaves: figures, tables, metrics with their certificates, and claims."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from mlmio import Metric, Result
from mlmio.bench.machine import describe

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Of the PNG files, dots an inch.
RESOLUTION = 110


@dataclass
class Record:
    """The folder of one experiment, and what it claims.

    Parameters
    ----------
    folder : Path
        Where everything is written; it is there already.
    fast : bool
        Whether this is the small run, on data that needs no download.
    data_dir : str or None
        The folder of data sets that the user named.
    """

    folder: Path
    fast: bool = False
    data_dir: str | None = None
    claims: list[dict[str, Any]] = field(default_factory=list)

    def figure(self, name: str, figure: Figure) -> None:
        """Write a figure as PNG and PDF, and close it."""
        from matplotlib import pyplot as plt

        figure.savefig(self.folder / f"{name}.png", dpi=RESOLUTION, bbox_inches="tight")
        # No date, so that the same figure is the same file.
        figure.savefig(
            self.folder / f"{name}.pdf", bbox_inches="tight", metadata={"CreationDate": None}
        )
        plt.close(figure)

    def table(self, name: str, rows: pd.DataFrame | list[dict[str, Any]]) -> None:
        """Write numbers as CSV, to six significant digits."""
        pd.DataFrame(rows).to_csv(self.folder / f"{name}.csv", index=False, float_format="%.6g")

    def result(self, name: str, result: Result) -> None:
        """Write what a solve gave: metric, certificate and all."""
        self.write(f"{name}.json", certified(result))

    def metric(self, name: str, metric: Metric) -> None:
        """Write a metric that no solve gave, as one of another learner."""
        metric.to_json(self.folder / f"{name}.json")

    def claim(self, what: str, measured: object, holds: object) -> None:
        """Note something that the experiment must show, with the figures that show it."""
        self.claims.append({"claim": what, "measured": str(measured), "holds": bool(holds)})

    def say(self, text: str) -> None:
        """Tell the user what has been done."""
        print(f"  {text}", flush=True)

    @property
    def holds(self) -> bool:
        """Whether every claim holds."""
        return all(claim["holds"] for claim in self.claims)

    def finish(self, parameters: Any, seconds: float) -> None:
        """Write the claims, and the parameters beside the machine and the date."""
        self.table("claims", self.claims)
        facts = {
            "fast": self.fast,
            "parameters": asdict(parameters),
            "seconds": round(seconds, 1),
            "machine": describe(),
        }
        self.write("facts.json", facts)

    def write(self, name: str, content: Any) -> None:
        """Write anything else as JSON."""
        text = json.dumps(content, indent=1, default=str)
        (self.folder / name).write_text(text + "\n", encoding="utf-8")


def certified(result: Result) -> dict[str, Any]:
    """Return what a solve gave as plain values, with its metric and its certificate in full."""
    content = result.to_dict()
    if result.metric is not None:
        content["metric"] = json.loads(result.metric.to_json())
    content["given up"] = [str(name) for name in result.outliers]
    certificate = result.certificate
    # Where there is no metric there is nothing to certify.
    content["certificate"] = None
    if certificate is not None:
        content["certificate"] = {
            "valid": certificate.valid,
            "objective": certificate.objective,
            "value by the solver": certificate.value,
            "largest violation": certificate.worst,
            "violations": [str(one) for one in certificate.violations],
            "contradictions": list(certificate.contradictions),
            "facts": dict(certificate.facts),
            "remarks": list(certificate.remarks),
        }
    return content
