"""Configuration of Sphinx: ``make docs`` builds the documentation."""

import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

import featly
from featly.learners import LEARNERS
from featly.measures.classification import METRICS
from featly.measures.scores import SCORE_METRICS
from featly.measures.sizes import CURVE_RULES, SIZE_RULES

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from calibration_pages import write_how_often_wrong  # noqa: E402
from markdown_tables import table  # noqa: E402
from method_pages import give_pages, write_list, write_methods  # noqa: E402
from scale_pages import write_scale  # noqa: E402
from verdict_pages import write_reproduced  # noqa: E402

project = "featly"
author = "The featly developers"
copyright = "2026, the featly developers"
version = release = featly.__version__

extensions = [
    "formulas",
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
]
exclude_patterns = ["_build", "_templates", "gallery", "methods_list.rst"]
templates_path = ["_templates"]
default_role = "code"

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

write_list(HERE)  # before autosummary looks for what has a page
autosummary_generate = ["api.md", "methods_list.rst"]
autosummary_context = {"method_pages": {}}
autodoc_typehints = "none"  # the docstrings have the types
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the templates choose the members
numpydoc_class_members_toctree = False

# the pages must read without a network: no font, style or script comes from one
html_math_renderer = "drawn"
html_theme = "furo"
pygments_dark_style = "github-dark"  # the usual one underlines imports as if they were links
html_title = f"featly {version}"
html_static_path = ["_static"]
html_css_files = ["featly.css"]
html_copy_source = False
html_show_sphinx = False

# every script of the gallery is run; one that fails, or warns, fails the build
if (HERE / "gallery").is_dir():
    extensions.append("sphinx_gallery.gen_gallery")
    sphinx_gallery_conf = {
        "examples_dirs": "gallery",
        "gallery_dirs": "generated/gallery",
        "filename_pattern": "/plot_",
        "abort_on_example_error": True,
        "min_reported_time": 5,
        "show_memory": False,
        "show_signature": False,
        "download_all_examples": False,
        "remove_config_comments": True,
        "write_computation_times": False,  # a page that loads scripts from the network
        "within_subsection_order": "FileNameSortKey",
    }


def write_names(app):
    """Turn the rules, metrics and learners into the tables of the guide to evaluation."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)

    def needs(rule):
        if rule in CURVE_RULES:
            return "a study"
        return "the number of columns" if rule == "rule-of-thumb" else "the scores of a ranking"

    tables = {
        "size_rules": table(
            ("rule", "size", "needs"),
            [(f"`{name}`", meaning, needs(name)) for name, meaning in SIZE_RULES.items()]
            + [("a number", "that size", "that it was tried")],
        ),
        "metrics": table(
            ("metric", "meaning"),
            [(f"`{m.name}`", m.description) for m in (*METRICS.values(), *SCORE_METRICS.values())],
        ),
        "learners": table(
            ("learner", "what it is"),
            [(f"`{name}`", meaning) for name, (meaning, _) in LEARNERS.items()],
        ),
    }
    for name, text in tables.items():
        (folder / f"{name}.inc").write_text(text, encoding="utf-8")


def tidy_signature(app, what, name, obj, options, signature, returns):
    """Show the empty default of a dataclass field as what it is, and no private fields."""
    if signature:
        signature = re.sub(r", _\w+=\w+", "", signature).replace("notes=<factory>", "notes=[]")
        signature = signature.replace("<factory>", "{}")
    return signature, returns


def anchor_by_every_name(app, doctree):
    """Let an object be found by all modules that offer it: the pages of source link to any."""
    taken = {anchor for node in doctree.findall(nodes.Element) for anchor in node.get("ids", ())}
    for signature in doctree.findall(addnodes.desc_signature):
        module, name = signature.get("module"), signature.get("fullname")
        if not module or not name:
            continue
        thing = getattr(sys.modules.get(module), name.partition(".")[0], None)
        parts = (getattr(thing, "__module__", None) or module).split(".")
        names = [".".join((*parts[:end], name)) for end in range(1, len(parts) + 1)]
        signature["ids"] += [anchor for anchor in names if anchor not in taken]
        taken.update(names)


def shorten_sidebar(app, pagename, templatename, context, doctree):
    """Open only the branch of the sidebar that the page is on: it is made anew for every page."""
    if "toctree" in context:
        whole = context["toctree"]
        context["toctree"] = lambda **options: whole(**options | {"collapse": True})


def setup(app):
    """Connect the writers of generated pages to Sphinx."""
    app.connect("doctree-read", anchor_by_every_name)
    app.connect("html-page-context", shorten_sidebar, priority=400)  # before the theme's
    app.connect("autodoc-process-signature", tidy_signature)
    app.connect("config-inited", give_pages)
    for write in (write_methods, write_names, write_reproduced, write_scale, write_how_often_wrong):
        app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
