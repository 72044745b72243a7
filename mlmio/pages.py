"""HTML pages with all that they need in them: the frame, its looks, tables and pictures."""

from __future__ import annotations

import base64
import os
from collections.abc import Callable
from html import escape
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlmio.errors import MlmioError
from mlmio.plotting import require_matplotlib
from mlmio.writing import check_writable, write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAGE = "index.html"

STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; } h2 { font-size: 1.15rem; margin-top: 2rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 0.25rem 0.9rem 0.25rem 0; vertical-align: top; }
tr { border-bottom: 1px solid #8884; }
.pictures { display: grid; gap: 1.2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); }
figure { margin: 0; } img { width: 100%; height: auto; background: white; }
figcaption { font-size: 0.9rem; }
"""

MEDIA = {"png": "image/png", "svg": "image/svg+xml"}


def check_folder(folder: str | Path) -> Path:
    """Return a folder for a page, made if it is not there.

    Raises
    ------
    MlmioError
        If it cannot be made or written to, or matplotlib is not installed.
    """
    require_matplotlib()
    path = Path(os.path.expanduser(folder))
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as error:
        raise MlmioError(f"{str(folder)!r} is or lies below a file: give a folder") from error
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or str(error)
        raise MlmioError(f"cannot make the folder {str(folder)!r}: {reason}") from error
    check_writable(path / PAGE)
    return path


def write_page(folder: Path, title: str, body: str, style: str = "", script: str = "") -> Path:
    """Write a page into a folder.

    Parameters
    ----------
    folder : Path
    title : str
        Plain text.
    body : str
        HTML.
    style, script : str
        What the page needs beyond :data:`STYLE`.

    Raises
    ------
    MlmioError
        If it cannot be written.
    """
    path = folder / PAGE
    code = f"<script>{script}</script>\n" if script else ""
    write_text(
        path,
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>mlmio: {escape(title)}</title><style>{STYLE}{style}</style></head>\n"
        f"<body>{body}\n{code}</body></html>\n",
    )
    return path


def figure(
    caption: str,
    draw: Callable[[Axes], Any],
    kind: str = "png",
    size: tuple[float, float] = (5.2, 3.9),
) -> str:
    """Draw a picture into the page itself.

    Parameters
    ----------
    caption : str
        Plain text.
    draw : callable (Axes) -> anything
    kind : {"png", "svg"}
    size : (float, float)
        Width and height in inches.
    """
    # Without pyplot: no window, and nothing of the caller's figures is touched.
    from matplotlib.figure import Figure

    drawn = Figure(figsize=size, layout="constrained")
    draw(drawn.add_subplot())
    image = BytesIO()
    drawn.savefig(image, format=kind, dpi=150)
    data = base64.b64encode(image.getvalue()).decode("ascii")
    return (
        f'<figure><img alt="{escape(caption)}" src="data:{MEDIA[kind]};base64,{data}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )
