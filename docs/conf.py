"""How Sphinx builds the documentation: `make docs`."""

from importlib.metadata import version as version_of

project = "pragmatic-ddd"
author = "The pragmatic-ddd contributors"
copyright = f"2026, {author}"
release = version_of("pragmatic-ddd")
version = ".".join(release.split(".")[:2])

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.doctest",
    "sphinx.ext.napoleon",
]
exclude_patterns = ["adr/template.md"]

myst_enable_extensions = ["colon_fence", "deflist", "fieldlist"]
myst_heading_anchors = 3

autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"{project} {release}"
