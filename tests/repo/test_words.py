"""Words that a machine can hold: names, first lines of docstrings, shared parameters."""

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "tests", "benchmarks", "studies", "docs", "examples")
FILES = sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py"))
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
BINDING = (ast.Name, ast.arg, ast.Attribute, ast.alias, ast.ExceptHandler, ast.MatchAs)
NO_OPENING = re.compile(r"(What|How|Which|Where|Whether|Who)\b")
NO_VARIABLES = {"found", "told"}
# participles that do not end in "ed" and have been function names
IRREGULAR = {
    "begun", "bought", "built", "chosen", "drawn", "found", "given", "grown", "held", "kept",
    "known", "laid", "learnt", "made", "met", "read_out", "said", "seen", "sent", "shown", "sought",
    "spent", "spoken", "taken", "thought", "told", "understood", "won", "worn", "written",
}  # fmt: skip
# names of the public interface, and words that end in "ed" and are no participle of a verb here
ALLOWED = {
    "biased", "coded", "embed", "favoured", "feed", "need", "nested", "scaled", "seed", "shifted",
    "shuffled", "speed", "weighted",
}  # fmt: skip
# the first line of a parameter that many functions share; what is special to one follows below it
SHARED = {
    "ax": "Where to draw; None makes a new figure.",
    "cache": "Folder for packed columns and unfinished searches; the next fit goes on from there.",
    "device": 'Where to compute; "auto" takes a GPU if there is one and the table is large.',
    "discretizer": "How numbers become levels: a name, an instance, None; "
    '"mdlp" is MDLP(encoding="distinct").',
    "max_steps": "Columns that the search chooses one by one; the others follow by the last step.",
    "memory_limit": 'Memory for a table on disk, such as "2GB"; None: a quarter of what is free.',
    "n_features_to_select": "How many columns ``transform`` keeps: a count, a fraction or a rule.",
    "n_jobs": "Threads; None means all cores. The result does not depend on it.",
    "random_state": "Seed of the random numbers.",
    "schema": "What is known about the columns, see :class:`featly.Schema`.",
    "verbose": "True shows a progress bar; a function is called with (done, total).",
}
# a parameter of the same name that means something else
OWN = {
    ("src/featly/wrappers/wrapper.py", "n_features_to_select"),
    ("src/featly/diagnostics/redundancy.py", "discretizer"),  # without classes, so without "mdlp"
}
SECTION = re.compile(r"^Parameters\n-+\n(.*?)(?=\n\n[^\n]+\n-+\n|\Z)", re.DOTALL | re.MULTILINE)
PARAMETER = re.compile(r"^(\w+) : [^\n]*\n    ([^\n]+)", re.MULTILINE)


@functools.cache
def all_nodes():
    """Return the documented nodes and those that bind a name, of all files, with their places."""
    kinds = (*DOCUMENTED, *BINDING)
    return [
        (f"{file.relative_to(ROOT).as_posix()}:{getattr(node, 'lineno', 1)}", node)
        for file in FILES
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, kinds)
    ]


def nodes(*kinds):
    """Yield the nodes of some kinds."""
    return ((place, node) for place, node in all_nodes() if isinstance(node, kinds))


def functions():
    return nodes(ast.FunctionDef, ast.AsyncFunctionDef)


@functools.cache
def docstrings():
    """Return every docstring with its place."""
    texts = ((place, ast.get_docstring(node)) for place, node in nodes(*DOCUMENTED))
    return [(place, text) for place, text in texts if text]


def is_lone_participle(name):
    word = name.strip("_")
    if word in ALLOWED or "_" in word:
        return False
    return word in IRREGULAR or (word.endswith("ed") and not word.startswith("test"))


def test_docstrings_open_with_a_command_or_a_noun():
    riddles = [f"{place} {text[:40]}" for place, text in docstrings() if NO_OPENING.match(text)]
    assert riddles == []


def test_no_variable_is_called_found_or_told():
    names = [
        place
        for place, node in nodes(*BINDING)
        for field in ("id", "arg", "attr", "asname", "name")
        if str(getattr(node, field, None)).strip("_") in NO_VARIABLES
    ]
    assert names == []
    scripts = list((ROOT / "src").rglob("*.js"))
    pattern = re.compile(rf"\b(var|let|const) ({'|'.join(NO_VARIABLES)})\b")
    assert scripts
    assert [file.name for file in scripts if pattern.search(file.read_text("utf-8"))] == []


def test_no_function_is_a_lone_participle():
    assert [place for place, node in functions() if is_lone_participle(node.name)] == []


def test_constructors_say_from_what():
    places = [place.partition(":")[0] for place, node in functions() if node.name == "of"]
    assert sorted(places) == ["src/featly/study/dataset.py", "src/featly/table/schema.py"]


@pytest.mark.parametrize("name", SHARED)
def test_shared_parameters_are_described_by_the_same_line(name):
    others = []
    for place, text in docstrings():
        if not place.startswith("src/") or not (section := SECTION.search(text)):
            continue
        others += [
            f"{place} {line}"
            for parameter, line in PARAMETER.findall(section[1])
            if parameter == name
            and line != SHARED[name]
            and (place.rpartition(":")[0], name) not in OWN
        ]
    assert others == []
