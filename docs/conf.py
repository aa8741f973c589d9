"""How the documentation is built: ``make docs``."""

import re
from pathlib import Path

import featly
from featly.kinds import KINDS
from featly.registry import METHODS

project = "featly"
author = "The featly developers"
copyright = "2026, the featly developers"
version = release = featly.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",
    "numpydoc",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"  # the docstrings say it in words
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates choose the members
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"featly {version}"
html_static_path = ["_static"]
html_css_files = ["featly.css"]
html_copy_source = False
html_show_sphinx = False


def write_methods(app):
    """Turn the registry into the tables of the methods page."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    parts = ("keep", "prior", "costs", "column_groups")

    def link(method):
        return f"{{py:class}}`{method.class_name} <featly.{method.class_name}>`"

    def yes(answer):
        return "yes" if answer else "–"

    does = _table(
        ("method", "name", "family", "tier", "what it does", "operations"),
        [
            (link(m), f"`{name}`", m.family, m.tier, m.summary, m.cost)
            for name, m in METHODS.items()
        ],
    )
    takes = _table(
        ("method", *KINDS, "missing values", "sparse", "many classes"),
        [
            (
                link(m),
                *(yes(kind in m.kinds) for kind in KINDS),
                yes(m.missing),
                yes(m.sparse),
                yes(m.many_classes),
            )
            for m in METHODS.values()
        ],
    )
    uses = _table(
        ("method", *(f"`{part}`" for part in parts)),
        [(link(m), *(yes(part in m.uses) for part in parts)) for m in METHODS.values()],
    )
    for name, text in (("does", does), ("takes", takes), ("uses", uses)):
        (folder / f"methods_{name}.inc").write_text(text, encoding="utf-8")


def _table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def tidy_signature(app, what, name, obj, options, signature, returns):
    """Show the empty default of a dataclass field as what it is, and no private fields."""
    if signature:
        signature = re.sub(r", _\w+=\w+", "", signature).replace("notes=<factory>", "notes=[]")
        signature = signature.replace("<factory>", "{}")
    return signature, returns


def setup(app):
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", tidy_signature)
    app.connect("builder-inited", write_methods)
    return {"parallel_read_safe": True}
