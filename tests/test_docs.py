"""Every example in the documentation runs and prints what it says."""

import doctest
import re
import runpy
import sys
import types
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/guide").glob("*")]
)
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page, language="python|pycon"):
    text = page.read_text(encoding="utf8")
    return re.findall(rf"```({language})\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.name)
def test_examples(page, monkeypatch):
    """Blocks of a page share their names; what follows a prompt must print what is shown."""
    names = module_named(page.stem, monkeypatch)
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        assert runner.run(test, clear_globs=False).failed == 0
        names.update(test.globs)


def module_named(name, monkeypatch):
    """The names of a new module; classes made in it can be pickled."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    return vars(module)


def test_the_readme_prints_what_it_shows(capsys):
    ((_, code),) = blocks(ROOT / "README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed in (ROOT / "README.md").read_text(encoding="utf8")


def test_the_readme_shows_what_the_demo_prints(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "cohort.py"))["main"]()
    printed = capsys.readouterr().out
    shown = re.findall(r"```text\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[0]
    for line in shown.splitlines():
        assert line == "..." or line in printed


def test_the_method_of_the_contributing_guide_passes_the_checks(monkeypatch):
    from featly.testing import check_method

    examples = [code for _, code in blocks(ROOT / "CONTRIBUTING.md", "python")]
    method = next(code for code in examples if "class Signal" in code)
    names = module_named("signal_to_noise", monkeypatch)
    exec(compile(method, "CONTRIBUTING.md", "exec"), names)
    check_method(names["SignalToNoise"]())
