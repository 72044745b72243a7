"""What machine and what versions a result was measured with."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import subprocess
from collections.abc import Iterable
from datetime import date
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from mlmio import __version__
from mlmio.registry import solvers

#: Packages whose version may change what a case gives.
PACKAGES = ("pyomo", "numpy", "scipy", "numba", "highspy", "scikit-learn")

# Folders of mlmio that take no part in a solve: an edit there makes no case another.
NO_PART = ("bench", "commands", "pictures")


def describe() -> dict[str, Any]:
    """Processor, memory, Python, versions of packages and solvers, and the date.

    Not the name of the machine, which says nothing of speed: results are passed on.
    """
    return {
        "date": date.today().isoformat(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "usable_cores": len(usable_cores()),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
        "system": platform.platform(terse=True),
        "python": platform.python_version(),
        "mlmio": __version__,
        "packages": package_versions(),
        "solvers": {name: cls().version() for name, cls in solvers.available().items()},
    }


def package_versions() -> dict[str, str]:
    """Versions of the packages that take part in a solve."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            # Found on the path without its metadata.
            found[name] = "unknown"
    return found


def usable_cores() -> list[int]:
    """Numbers of the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def fingerprint(packages: Iterable[str], solver_names: Iterable[str]) -> dict[str, Any]:
    """Everything of an installation that may change what its cases give.

    Parameters
    ----------
    packages : iterable of str
        Packages whose sources count, besides the versions of the libraries.
    solver_names : iterable of str
        Solvers whose versions count.
    """
    return {
        "python": platform.python_version(),
        "packages": package_versions(),
        "sources": {name: sources(name) for name in sorted(packages)},
        "solvers": {name: solvers.get(name)().version() for name in sorted(solver_names)},
    }


@cache
def sources(package: str) -> str:
    """Hash of the Python files of a package, so that an edit counts before it has a version.

    Nothing where the package has no files, as a script that defines a block itself.
    """
    try:
        spec = importlib.util.find_spec(package)
    except ValueError:
        spec = None
    if spec is None:
        return ""
    folders = [Path(folder) for folder in spec.submodule_search_locations or ()]
    found = {
        file.relative_to(folder).as_posix(): file
        for folder in folders
        for file in folder.rglob("*.py")
    }
    if not folders and spec.origin:
        found = {Path(spec.origin).name: Path(spec.origin)}
    digest = hashlib.sha256()
    for name, file in sorted(found.items()):
        if package != "mlmio" or name.split("/")[0] not in NO_PART:
            digest.update(f"{name}\0".encode() + file.read_bytes() + b"\0")
    return digest.hexdigest()


@cache
def revision() -> str:
    """Revision of mlmio in version control, with a mark where files differ from it; or nothing."""
    folder = Path(__file__).parent
    try:
        said = subprocess.run(
            ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=10.0,
            check=False,
        )
        tracked = subprocess.run(
            ["git", "-C", str(folder), "ls-files", "--error-unmatch", "machine.py"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=10.0,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    # Installed into an environment below another project, mlmio has no revision of its own.
    return said.stdout.strip() if said.returncode == tracked.returncode == 0 else ""


def _processor() -> str:
    """Model of the processor, where the system tells."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor()
