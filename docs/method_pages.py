"""The page of every method, and the tables of them, from the registry and the docstrings.

The page is autosummary's: its template takes what is made here, and lets autodoc write the rest. So
a class is described once, and a new method has its page without further text.
"""

import pkgutil
import sys
from importlib import import_module
from pathlib import Path

from markdown_tables import table

import featly.core
from featly.basics.kinds import KINDS, TARGET_KINDS
from featly.core.runtime.question import DISK, GPU, MEMORY, Question
from featly.registry import METHODS, method_class

OTHER_TARGETS = TARGET_KINDS[1:]
# methods that use the numbers themselves; all others count rows in groups
BY_NUMBER = {
    "FTest": "as they are",
    "RedundancyFilter": 'as they are; in groups with `relevance="information"`',
    "MRMR": 'in groups; as they are with `measure="f"`, by their ranks with `measure="rank"`',
}
SCHEMA_PARTS = ("keep", "prior", "costs", "column_groups")

FAMILIES = {
    "filter": "scores columns without training anything",
    "elimination": "drops the worst columns round by round",
    "embedded": "reads the worth of columns off one model",
    "ensemble": "makes one ranking of several",
    "wrapper": "tries sets of columns with a learner",
}
TIERS = {
    "stable": "agrees with an independent program or a proof, on real data",
    "historical": "built from its description; no independent check exists",
}

# similar methods, and the page of the guide about them; a method in no group has its family
GROUPS = (
    ("guide/f_test", ("FTest", "UnivariateTest", "SignalToNoise")),
    ("guide/univariate_test", ("UnivariateTest", "FTest")),
    (
        "guide/filters",
        ("SignalToNoise", "ChiSquared", "InformationGain", "GainRatio", "SymmetricUncertainty",
         "GiniIndex"),
    ),
    (
        "guide/filters",
        ("MIM", "MIFS", "MRMR", "JMI", "JMIM", "CMI", "CMIM", "ICAP", "DISR",
         "InformationCriterion", "MonotoneDependence"),
    ),
    ("guide/filters", ("Relief", "ReliefF", "MultiSURF")),
    ("guide/filters", ("CFS", "FCBF", "Interact", "Consistency")),
    ("guide/redundancy", ("RedundancyFilter", "FCBF", "MRMR")),
    ("guide/svm_rfe", ("SVMRFE", "MKLRFE", "MulticlassSVMRFE")),
    ("guide/mixed", ("MKLRFE", "SVMRFE", "ForestRanker", "HybridForward", "UnivariateTest")),
    ("guide/multiclass", ("PairwiseRanker", "MulticlassSVMRFE")),
    ("guide/prior", ("AROM", "SVMRFE", "MKLRFE")),
    ("guide/wrappers", ("Wrapper", "HybridForward")),
)  # fmt: skip


def write_methods(app):
    """Turn the registry into the tables of the methods page."""
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)

    def link(method):
        return f"{{py:class}}`{method.class_name} <featly.{method.class_name}>`"

    def mark(answer):
        return "yes" if answer else "–"

    tables = {
        "does": table(
            ("method and its name", "what it does", "family, tier", "operations"),
            [
                (f"{link(m)} `{name}`", m.summary, f"{m.family}, {m.tier}", m.cost)
                for name, m in METHODS.items()
            ],
        ),
        "takes": table(
            ("method", *KINDS, "missing values", "sparse", "many classes", *OTHER_TARGETS),
            [
                (
                    link(m),
                    *(mark(kind in m.kinds) for kind in KINDS),
                    mark(m.missing),
                    mark(m.sparse),
                    mark(m.many_classes),
                    *(mark(kind in m.targets) for kind in OTHER_TARGETS),
                )
                for m in METHODS.values()
            ],
        ),
        "targets": table(
            ("method", *TARGET_KINDS, "how it sees numbers and survival times"),
            [
                (
                    link(m),
                    *(mark(kind in m.targets) for kind in TARGET_KINDS),
                    BY_NUMBER.get(m.class_name, "in groups"),
                )
                for m in METHODS.values()
                if m.targets != ("classes",)
            ],
        ),
        "where": table(
            ("method", "from disk, by blocks of columns", "on a GPU", "sparse"),
            [
                (link(m), mark(m.streams), mark(m.on_device), mark(m.sparse))
                for m in METHODS.values()
            ],
        ),
        "uses": table(
            ("method", *(f"`{part}`" for part in SCHEMA_PARTS)),
            [(link(m), *(mark(part in m.uses) for part in SCHEMA_PARTS)) for m in METHODS.values()],
        ),
    }
    (folder / "questions.inc").write_text(table(QUESTION_HEAD, question_rows()), encoding="utf-8")
    for name, text in tables.items():
        (folder / f"methods_{name}.inc").write_text(text, encoding="utf-8")
    stable = sum(m.tier == "stable" for m in METHODS.values())
    count = f"There are {len(METHODS)} methods; {stable} of them are stable.\n"
    (folder / "methods_count.inc").write_text(count, encoding="utf-8")


def write_list(folder):
    """Write the list of all methods, each of which autosummary gives a page.

    The paths in it are relative to its own place, so it lies beside the page that includes it.
    """
    names = "".join(f"   {method.class_name}\n" for method in METHODS.values())
    head = ".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n"
    text = f".. currentmodule:: featly\n\n{head}{names}"
    (folder / "methods_list.rst").write_text(text, encoding="utf-8")


QUESTION_HEAD = ("question", "answer", "in memory", "on disk, by blocks", "on a GPU", "asked by")


def question_rows():
    """Return a row for every question that a method asks: where it is answered, and by whom asked.

    The methods are those of the registry with their default parameters.
    """
    asked_by = {}
    for method in METHODS.values():
        estimator = method_class(method.class_name)()
        for target in method.targets:
            for asked in estimator._asks(target):
                asked_by.setdefault(asked.__name__, {})[method.class_name] = None
    return [
        (
            f"`{asked.__name__}`",
            asked.__doc__.partition("\n")[0].rstrip(".").removeprefix("Return ").replace("``", "`"),
            *("yes" if place in asked.places else "–" for place in (MEMORY, DISK, GPU)),
            ", ".join(asked_by.get(asked.__name__, ())) or "variants",
        )
        for asked in questions()
    ]


def questions():
    """Return all questions of the core that have an answer for a table or its codes, by name."""
    by_name = {}
    for module in pkgutil.walk_packages(featly.core.__path__, "featly.core."):
        if not module.name.endswith("_cuda"):
            for name, value in vars(import_module(module.name)).items():
                if isinstance(value, Question) and not name.startswith("_"):
                    by_name[name] = value
    return [by_name[name] for name in sorted(by_name)]


def give_pages(app, config):
    """Pass the facts about every method to autosummary's template."""
    config.autosummary_context = config.autosummary_context | {"method_pages": method_pages()}


def method_pages():
    """Return the parts of every method's page, as reStructuredText by name."""
    pages = {}
    for name, method in METHODS.items():
        first, criterion = _summary_and_criterion(method)
        pages[f"featly.{method.class_name}"] = {
            "summary": first,
            "facts": _facts(name, method),
            "criterion": criterion,
            "related": _related_links(method),
        }
    return pages


def _summary_and_criterion(method):
    """Return the first sentence about a method, and its formula with what belongs to it."""
    module = sys.modules[method_class(method.class_name).__module__]
    first, _, body = (module.__doc__ or "").strip().partition("\n\n")
    return " ".join(first.split()), body


def _facts(name, method):
    """Return facts about a method as rows of a list-table."""
    parts = ", ".join(f"``{part}``" for part in SCHEMA_PARTS if part in method.uses)
    rows = (
        ("Command line", f"``featly rank FILE --target COLUMN --method {name}``"),
        ("Family", f"{method.family}: {FAMILIES[method.family]}"),
        ("Tier", f"{method.tier}: {TIERS[method.tier]}"),
        ("Columns", ", ".join(kind for kind in KINDS if kind in method.kinds)),
        ("Target", ", ".join(method.targets)),
        ("Missing values", "taken as they are" if method.missing else "refused; fill them first"),
        ("Sparse tables", "yes" if method.sparse else "no"),
        ("Tables on disk", "read by blocks of columns" if method.streams else "read whole"),
        ("Computes on", "CPU or GPU" if method.on_device else "CPU"),
        ("Classes", "any number" if method.many_classes else "two"),
        ("Parts of the schema", parts or "none but the kinds"),
        ("Operations", f"{method.cost} (n rows, p columns)"),
    )
    lines = [".. list-table::", "   :class: facts", "   :stub-columns: 1", "   :widths: auto", ""]
    for label, value in rows:
        lines += [f"   * - {label}", f"     - {value}"]
    return "\n".join(lines)


def _related_links(method):
    """Return links to the guide and to similar methods."""
    groups = [(page, names) for page, names in GROUPS if method.class_name in names]
    known = {m.class_name for m in METHODS.values()}
    if not groups:
        alike = [m.class_name for m in METHODS.values() if m.family == method.family]
        groups = [("methods", alike)]
    pages = dict.fromkeys(page for page, _ in groups)
    names = dict.fromkeys(name for _, names in groups for name in names if name in known)
    names.pop(method.class_name, None)
    lines = ["- In the guide: " + ", ".join(f":doc:`/{page}`" for page in pages)]
    if names:
        links = (f":class:`{name} <featly.{name}>`" for name in names)
        lines.append("- Alike: " + ", ".join(links))
    lines.append("- :doc:`/methods` compares all; :doc:`/guide/how_sure` measures how good one is")
    return "\n".join(lines)
