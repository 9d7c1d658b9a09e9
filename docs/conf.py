"""The documentation site: `make docs`."""

import importlib.metadata
from typing import Any

project = "Derivable"
copyright = "the Derivable authors"
release = importlib.metadata.version("derivable")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinxcontrib.mermaid"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = "Derivable"

# Docstrings are Markdown in their backticks: single ones are code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_ivar = True
myst_heading_anchors = 4
# Links out of the documentation lead to files of the repository.
suppress_warnings = ["myst.xref_missing"]
myst_fence_as_directive = ["mermaid"]


def with_literal_blocks(app: Any, what: str, name: str, of: Any, options: Any, lines: list[str]) -> None:
    """Docstrings have drawings between fences, which reStructuredText knows as literal blocks."""
    found: list[str] = []
    inside = False
    for line in lines:
        if line.strip() == "```":
            inside = not inside
            found += ["", "::", ""] if inside else [""]
        else:
            found.append("    " + line if inside else line)
    lines[:] = found


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", with_literal_blocks, priority=400)
