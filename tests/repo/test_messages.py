"""Messages are written once, by who raises them: nothing edits one, or reads it to learn a fact.

The rule, for the command line and the reports: the text of an exception or a warning is taken in
the places listed below and nowhere else, so nothing can edit it; and ``re.sub``, ``re.subn``,
``.replace``, ``.translate`` and the like are not called on anything named as a message, an error or
a warning. Text of other origin, such as an SVG or a cell of a table, may be edited.
"""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "featly"
# what prints messages, and what lists the warnings on the page
SPEAKERS = {("cli/errors.py", "in_words"), ("cli/errors.py", "_run"),
            ("reports/build.py", "_record_warnings")}  # fmt: skip
EDITS = {"replace", "removeprefix", "removesuffix", "partition", "rpartition", "split", "translate",
         "startswith", "endswith"}  # fmt: skip
MESSAGES = ("message", "error", "warning", "problem", "reason", "exception")


def is_named_as_message(node):
    """Return whether an expression is called a message, or is the text of one."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "str" and node.args:
        return is_named_as_message(node.args[0])
    last = ast.unparse(node).rpartition(".")[2].strip("_").lower()
    return isinstance(node, ast.Name | ast.Attribute) and (
        last in MESSAGES or last.endswith(tuple(f"_{word}" for word in MESSAGES))
    )


def edits(tree):
    """Return the lines in which something called a message is edited or searched."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        function, owner = node.func.attr, node.func.value
        if isinstance(owner, ast.Name) and owner.id == "re":
            if any(is_named_as_message(argument) for argument in node.args):
                yield node.lineno
        elif function in EDITS and is_named_as_message(owner):
            yield node.lineno


def texts_taken(function):
    """Return the lines of a function in which the text of a caught exception is taken."""
    caught = {node.name for node in ast.walk(function) if isinstance(node, ast.ExceptHandler)}
    for node in ast.walk(function):
        value = None
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("str", "repr") and node.args:
            value = node.args[0]
        elif isinstance(node, ast.FormattedValue) or (
            isinstance(node, ast.Attribute) and node.attr == "args"
        ):
            value = node.value
        if value is None:
            continue
        if (isinstance(value, ast.Name) and value.id in caught) or (
            is_named_as_message(value) and "warning" in ast.unparse(value)
        ):
            yield node.lineno


def functions(tree):
    return [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)]


@pytest.mark.parametrize("room", ["cli", "reports"])
def test_no_message_is_edited(room):
    paths = sorted((SOURCE / room).rglob("*.py"))
    assert len(paths) > 5
    for path in paths:
        tree, name = ast.parse(path.read_text("utf-8")), path.relative_to(SOURCE).as_posix()
        assert list(edits(tree)) == [], f"{name} edits a message"
        for function in functions(tree):
            if (name, function.name) not in SPEAKERS:
                lines = list(texts_taken(function))
                assert lines == [], f"{name} takes the text of an error in lines {lines}"


@pytest.mark.parametrize(
    "line",
    [
        "re.sub('a', 'b', message)",
        "message.replace('a', 'b')",
        "str(problem).startswith('y ')",
        "the_warning.partition(':')",
        "re.sub('a', 'b', str(error))",
    ],
)
def test_edits_are_seen(line):
    assert list(edits(ast.parse(line))) == [1]


@pytest.mark.parametrize(
    "line", ["f'{wrong}'", "str(wrong)", "wrong.args[0]", "raise ValueError(f'x: {wrong!s}')"]
)
def test_texts_that_are_taken_are_seen(line):
    code = f"def f():\n    try:\n        g()\n    except ValueError as wrong:\n        {line}"
    assert list(texts_taken(ast.parse(code).body[0])) == [5]


def test_other_text_may_be_edited():
    code = "re.sub('a', 'b', svg); cell.replace('a', 'b'); name.replace('_', '-'); f'{name}'"
    assert list(edits(ast.parse(code))) == []
    assert list(texts_taken(ast.parse(f"def f():\n    {code}").body[0])) == []
