"""What machine a result was measured on."""

from __future__ import annotations

import os
import platform
from datetime import date
from importlib.metadata import version
from pathlib import Path

import psutil

from mlmio import __version__
from mlmio.registry import solvers

PACKAGES = ("pyomo", "numpy", "scipy", "highspy")


def describe() -> dict[str, object]:
    """Processor, memory, Python, versions of packages and solvers, and the date."""
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "mlmio": __version__,
        "packages": {name: version(name) for name in PACKAGES},
        "solvers": {name: cls().version() for name, cls in solvers.available().items()},
    }


def _processor() -> str:
    """Model of the processor, where the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
