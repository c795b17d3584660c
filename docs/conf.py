"""Settings of the documentation site: `make docs` builds it into `build/site`."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import calib  # noqa: E402
from calib.base.version import __version__  # noqa: E402

project = "calib"
author = "the authors of calib"
project_copyright = author
version = release = __version__

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["generated"]

# Markdown: a heading has an address up to the third rank, formulas stand between dollars.
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath", "colon_fence"]

# Notebooks are stored without outputs; each build executes them, and a cell that raises ends the build. Their
# figures stay interactive, with a copy of plotly.js in the page.
os.environ["PLOTLY_RENDERER"] = "notebook"
nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_timeout = 120
nb_execution_raise_on_error = True

# The docstrings of what `__all__` names, in the order of the page.
autodoc_default_options = {"members": True, "imported-members": True}
autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"calib {release}"
html_logo = html_favicon = "../assets/icon.svg"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": html_title, "alt_text": ""},
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "header_links_before_dropdown": 6,
}
html_sidebars = {"index": [], "tour": []}
html_show_sourcelink = False

#: Files of the repository's root, by the page that includes each: GitHub shows the file, the site the page.
INCLUDED = {"CHANGELOG": "changes", "CONTRIBUTING": "contributing", "SECURITY": "security"}


def link_pages(app: Any, name: str, source: list[str]) -> None:
    """Lead links to files of the root to the pages that include them."""
    names = "|".join(INCLUDED)
    source[0] = re.sub(rf"\((?:\.\./)+({names})\.md", lambda match: f"(/{INCLUDED[match[1]]}.md", source[0])


def leave_out_formulas(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Take away the script for formulas that plotly loads from elsewhere: no figure has one."""
    body = context.get("body", "")
    context["body"] = re.sub(r'<script src="https://[^"]*mathjax[^"]*"></script>', "", body)


def skip_inherited(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out the methods that scikit-learn makes for metadata routing."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def write_lesson(app: Any, error: Exception | None) -> None:
    """Add the lesson, which docs/how/teach.md links to, to the site."""
    if error is None and app.builder.name == "html":
        calib.lesson().save(Path(app.outdir) / "lesson.html")


def setup(app: Any) -> None:
    """Connect them."""
    app.connect("build-finished", write_lesson)
    app.connect("source-read", link_pages)
    app.connect("html-page-context", leave_out_formulas)
    app.connect("autodoc-skip-member", skip_inherited)
