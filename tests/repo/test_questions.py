"""Answers to questions for every kind of table: in the code, and in the documentation."""

import ast
import re
import runpy
from importlib import import_module
from pathlib import Path

import pytest

from featly import method_facts
from featly.core.runtime.question import DISK, GPU, MEMORY
from featly.registry import METHODS, method_class, methods_that
from tests.repo.method_facts import derive

ROOT = Path(__file__).parents[2]
PLACES = (MEMORY, DISK, GPU)
KINDS_OF_TARGET = ("classes", "numbers", "survival")
ROOMS_OF_KINDS = ("core/sources/", "core/counts/")


@pytest.fixture
def pages(monkeypatch):
    """The module that makes the tables of the documentation, run as Sphinx would."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    return runpy.run_path(str(ROOT / "docs" / "method_pages.py"))


def answer_at(asked, place):
    """Return how a question is answered at a place: by default, or by kinds of table there."""
    kinds = sorted(kind.__name__ for kind in asked.kinds if kind.lies == place)
    return ", ".join(kinds) or ("default" if place in asked.places else "-")


def test_the_table_of_questions_is_that_of_the_code(pages, capsys):
    """Print the answers to every question by place, and compare them with the documentation."""
    rows = {row[0].strip("`"): row for row in pages["question_rows"]()}
    assert len(rows) > 25
    lines = [("", *PLACES)]
    for asked in pages["questions"]():
        if asked.gpu_module is not None:
            import_module(asked.gpu_module)
        lines.append((asked.__name__, *(answer_at(asked, place) for place in PLACES)))
        _, meaning, *shown, asked_by = rows[asked.__name__]
        assert meaning
        assert shown == ["yes" if place in asked.places else "–" for place in PLACES]
        assert MEMORY in asked.places, "a table in memory has an answer to every question"
        own = {kind.lies for kind in asked.kinds}
        assert own <= asked.places, f"{asked.__name__} has an answer where it says there is none"
        if asked.gpu_module is not None:
            assert GPU in own, f"{asked.gpu_module} has no answer to {asked.__name__}"
        for name in [] if asked_by == "variants" else asked_by.split(", "):
            assert asked in {q for t in KINDS_OF_TARGET for q in method_class(name)()._asks(t)}
    with capsys.disabled():
        print()
        for name, *answers in lines:
            print(f"{name:26}" + "".join(f"{answer:28}" for answer in answers))


def test_every_question_that_a_method_asks_is_in_the_table(pages):
    known = set(pages["questions"]())
    for name, method in METHODS.items():
        for target in method.targets:
            asked = method_class(name)()._asks(target)
            assert asked
            assert set(asked) <= known, name
            assert all(MEMORY in one.places for one in asked)


def test_the_facts_that_are_written_down_are_those_of_the_classes():
    written = Path(method_facts.__file__).read_text("utf8")
    advice = "run python -m tests.repo.method_facts"
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(derive())), advice


@pytest.mark.parametrize("name", METHODS)
def test_a_method_takes_the_parameters_of_where_it_runs(name):
    method, parameters = METHODS[name], method_class(name)().get_params()
    if name != "pairwise":  # which has those of its ranker
        assert ("memory_limit" in parameters) == method.streams
        assert ("device" in parameters) == method.on_device
    assert (method.class_name in methods_that(streams=True)) == method.streams


def test_nobody_looks_where_a_table_lies():
    """No type of a source or of codes is tested outside the rooms that define them."""
    for path in sorted((ROOT / "src" / "featly").rglob("*.py")):
        name = path.relative_to(ROOT / "src" / "featly").as_posix()
        if name.startswith(ROOMS_OF_KINDS) or name.endswith("_cuda.py"):
            continue
        tree = ast.parse(path.read_text("utf8"))
        for node in ast.walk(tree):
            is_test = isinstance(node, ast.Call) and ast.unparse(node.func) in (
                "isinstance",
                "issubclass",
            )
            if is_test:
                kinds = re.findall(r"\w+", ast.unparse(node.args[1]))
                assert not [k for k in kinds if k.endswith(("Source", "Codes"))], (
                    f"{name}:{node.lineno}"
                )
            if isinstance(node, ast.Attribute | ast.Name):
                word = node.attr if isinstance(node, ast.Attribute) else node.id
                assert word not in ("_streams", "_on_device", "_device_form"), (
                    f"{name}:{node.lineno}"
                )
