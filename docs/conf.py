"""Configuration of the documentation."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import mlmio

project = "mlmio"
author = "the mlmio developers"
project_copyright = "the mlmio developers"
version = release = mlmio.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.mathjax",
    "sphinx.ext.napoleon",
    # The project's own, in _ext.
    "bars",
    "blocks",
    "command_line",
    "lattice",
    "own_block",
    "peers",
    "pictures_page",
    "public_names",
    "relaxations",
    "solvers",
]
# Pages of paper/ are parts of paper.rst.
exclude_patterns = ["_build", "_generated", "paper"]
default_role = "literal"
# Dashes, but no quotes that cannot be pasted.
smartquotes_action = "D"
keep_warnings = True

autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
# Types are words: N in "an array of shape (N, D)" is no reference.
napoleon_use_param = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

html_theme = "furo"
html_title = "mlmio"
html_static_path = ["_static"]
html_css_files = ["mlmio.css"]
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00588c", "color-brand-content": "#00588c"},
    "dark_css_variables": {"color-brand-primary": "#7cc4f0", "color-brand-content": "#7cc4f0"},
}
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"
