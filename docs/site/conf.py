"""How Sphinx builds the site: `make docs`, then build/site/index.html. Pages are the Markdown files of docs/."""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from weft.version import VERSION

HERE = Path(__file__).parent

project, author = "weft", "the weft developers"
version = release = VERSION
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
root_doc = "index"
templates_path = [str(HERE / "templates")]
exclude_patterns = ["README.md", "site/*"]  # README.md is shown by index.md

# The same Markdown as on a code host: headings are anchors, and notebooks are shown as they were saved.
myst_heading_anchors = 3
nb_execution_mode = "off"
highlight_language = "none"

html_theme = "pydata_sphinx_theme"
html_title = f"weft {VERSION}"
html_static_path = [str(HERE / "style.css")]
html_css_files = ["style.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # it is fetched page by page, which browsers refuse to pages on a disk
html_theme_options = {
    "navbar_start": ["navbar-logo"],
    "navbar_center": [],
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": [],
    "footer_end": [],
    "show_prev_next": False,
    "pygments_light_style": "a11y-light",
    "pygments_dark_style": "a11y-dark",
}
html_sidebars = {"**": ["pages.html"]}
html_context = {"default_mode": "auto"}  # light or dark, as the system is

autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_inherit_docstrings = False  # those of torch.nn.Module say nothing of a part
autodoc_member_order = "groupwise"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_maximum_signature_line_length = 100
add_module_names = False
default_role = "code"


def as_rst(lines: list[str]) -> list[str]:
    """A docstring as Sphinx reads it: indented lines are shown as they stand, and no sign but ` has a meaning."""
    out: list[str] = []
    for block in re.split(r"\n(?:[ ]*\n)+", "\n".join(lines).strip("\n")):
        rows = block.split("\n")
        table = all(line.startswith("    ") for line in rows) or any(re.search(r"\S {2,}\S", line) for line in rows)
        out += ["::", "", *(f"    {line}" for line in rows), ""] if table else [*map(plain, rows), ""]
    return out


def plain(line: str) -> str:
    """A line of text in which only what stands between backticks is marked."""
    parts = re.split(r"(`[^`]+`)", line.strip())
    return "".join(f"`{one}`" if one.startswith("`") else re.sub(r"([*_|\\])", r"\\\1", one) for one in parts)


def process(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Docstrings are rewritten in place, which is how Sphinx asks for it."""
    lines[:] = as_rst(lines)


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", process)
