"""A warning for every public name that the reference leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sphinx.util import logging

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True}


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Hold the documented objects to ``mlmio.__all__``."""
    import mlmio

    documented = env.domaindata["py"]["objects"]
    for name in mlmio.__all__:
        if f"mlmio.{name}" not in documented and not name.startswith("__"):
            logger.warning("mlmio.%s is public, but reference.rst does not have it", name)
