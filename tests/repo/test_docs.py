"""Every example in the documentation runs and prints what is shown."""

import ast
import doctest
import json
import re
import runpy
import sys
import types
from pathlib import Path

import numpy as np
import pytest

from featly.datasets import PROBLEMS, make_problem
from featly.study import Claim, Finding, KFold, Study

ROOT = Path(__file__).parents[2]
FOLDERS = ("docs", "docs/guide", "docs/coming_from")
PAGES = [ROOT / "README.md", *(page for name in FOLDERS for page in (ROOT / name).glob("*.md"))]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def blocks(page, language="python|pycon"):
    text = page.read_text(encoding="utf8")
    return re.findall(rf"```({language})\n(.*?)```", text, flags=re.DOTALL)


@pytest.mark.parametrize("page", sorted(PAGES), ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples(page, monkeypatch, tmp_path):
    """Blocks of a page share their names; what follows a prompt must print what is shown."""
    monkeypatch.chdir(tmp_path)  # a page may write files
    names = add_module(f"page_{page.stem}", monkeypatch)
    for language, code in blocks(page):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        test = doctest.DocTestParser().get_doctest(code, names, page.name, str(page), 0)
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        assert runner.run(test, clear_globs=False).failed == 0
        names.update(test.globs)


def add_module(name, monkeypatch):
    """Return the names of a new module; classes made in it can be pickled."""
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)
    return vars(module)


def test_the_example_of_the_readme_prints_the_table_shown(capsys):
    ((_, code),) = blocks(ROOT / "README.md", "python")
    exec(compile(code, "README.md", "exec"), {})
    printed = capsys.readouterr().out.strip()
    assert printed in (ROOT / "README.md").read_text(encoding="utf8")


def test_the_quick_start_shows_what_the_demo_prints(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "cohort.py"))["main"]()
    printed = capsys.readouterr().out
    page = (ROOT / "docs" / "quickstart.md").read_text("utf-8")
    (shown,) = re.findall(r"```text\n(.*?)```", page, flags=re.DOTALL)
    for line in shown.splitlines():
        assert line == "..." or line in printed


def test_the_method_of_the_contributing_guide_passes_the_checks(monkeypatch):
    from featly.testing import check_method

    examples = [code for _, code in blocks(ROOT / "CONTRIBUTING.md", "python")]
    method = next(code for code in examples if "class Fisher" in code)
    names = add_module("fisher_score", monkeypatch)
    exec(compile(method, "CONTRIBUTING.md", "exec"), names)
    check_method(names["FisherScore"]())


def test_the_table_of_made_problems_equals_the_problems():
    page = (ROOT / "docs" / "guide" / "synthetic.md").read_text("utf8")
    rows = re.findall(
        r"^\| `(\S+)` \| (\d+) \| (\d+) \| (\d+) \| (\d+)([^|]*)\|", page, re.MULTILINE
    )
    assert [name for name, *_ in rows] == list(PROBLEMS)
    for name, n_rows, n_classes, n_columns, n_relevant, groups in rows:
        made = make_problem(name)
        assert made.X.shape == (int(n_rows), int(n_columns)), name
        assert len(np.unique(made.y)) == int(n_classes), name
        assert len(made.relevant) == int(n_relevant), name
        size = int(re.search(r"groups of (\d+)", groups).group(1)) if groups.strip() else 1
        assert {len(group) for group in made.relevant} == {size}, name


# ---- published figures ---------------------------------------------------------------------------
def pages_of(folder, **studies):
    """Return the pages of verdicts, made from results in a folder."""
    from studies.__main__ import _plain, document

    for name, study in studies.items():
        text = json.dumps(document(study, study.run(), {}), default=_plain)
        (folder / f"{name}.json").write_text(text)
    return load_verdict_pages()["study_pages"](folder)


def load_verdict_pages():
    """Return the functions that make the pages of verdicts."""
    sys.path.insert(0, str(ROOT / "docs"))  # its neighbours are found there
    try:
        return runpy.run_path(str(ROOT / "docs" / "verdict_pages.py"))
    finally:
        sys.path.remove(str(ROOT / "docs"))


def small_study(**options):
    draws = {f"corral/{number}": make_problem("corral", random_state=number) for number in range(3)}
    claims = [
        Claim.value("A1", "finds | all", 100, where="table 1", dataset="corral", method="svm-rfe",
                    metric="success"),
        Claim.untestable("A2", "costs *nothing*", "no price is printed"),
        Claim("A3", "is quick", lambda results: Finding(False, "no clock", ours=0.5)),
    ]  # fmt: skip
    methods = {"svm-rfe": "svm-rfe", "f-test": "f-test"}
    return Study(methods, draws, KFold(4), sizes=[4], claims=claims, **options)


def test_a_study_becomes_a_page_of_verdicts(tmp_path):
    study = small_study(title="CorrAL again", metrics=("success", "accuracy"))
    page = pages_of(tmp_path, corral=study)["corral"]
    assert page.startswith("# CorrAL again\n")
    assert "BIASED" not in page
    counts = study.results.verdicts().counts()
    assert f"3 claims: {counts['holds']} hold, {counts['does not hold']} do not hold, 1 ca" in page
    a1, a2, a3 = re.findall(r"^\| A\d \|.*$", page, re.MULTILINE)
    assert a1.startswith("| A1 | finds \\| all (table 1) | 100 | ")
    assert re.search(r"\| -?[\d.]+ \(-?[\d.]+ to -?[\d.]+\) \| \*\*(holds|does not hold)\*\*", a1)
    no_price = "| A2 | costs \\*nothing\\* |  |  | cannot be tested | no price is printed |"
    assert a2 == no_price
    assert a3 == "| A3 | is quick |  | 0.5 | **does not hold** | no clock |"
    (row,) = re.findall(r"^\| corral \| .*±.*$", page, re.MULTILINE)
    means = study.results.families("success").group_by("method", maintain_order=True).first()
    expected = [f"{mean:.1f} ± {sd:.1f} (4)" for mean, sd in means.select("mean", "sd").rows()]
    assert [cell.strip() for cell in row.split("|")[2:4]] == expected
    assert "| corral | 3 | 32 | 6 | 2 | `" in page
    assert "KFold(4)" in page


def test_the_page_of_a_biased_study_opens_with_a_warning(tmp_path):
    biased = small_study(title="theirs", selection="outside", metrics="accuracy")
    honest = small_study(title="ours", metrics="accuracy")
    ours, theirs = pages_of(tmp_path, a=honest, b=biased).values()
    assert theirs.index("**BIASED.**") < theirs.index("claims:")
    assert "| on all rows |" in theirs
    assert "BIASED" not in ours
    assert "| on the training rows |" in ours
    assert "Index of success" not in theirs + ours


def test_the_overview_counts_verdicts_and_links_to_pages(tmp_path):
    verdict_pages = load_verdict_pages()
    assert (
        verdict_pages["overview"](tmp_path)
        == verdict_pages["totals"](tmp_path)
        == "No study has been run yet.\n"
    )
    study = small_study(title="theirs", selection="outside", metrics="accuracy")
    pages_of(tmp_path, corral=study)
    counts = " | ".join(
        str(study.results.verdicts().counts()[word]) for word in verdict_pages["COUNTED"]
    )
    link = "[theirs](generated/verdicts-corral.md) (biased)"
    assert verdict_pages["overview"](tmp_path).endswith(f"| {link} | {counts} |\n")


def test_every_committed_result_has_a_page():
    results = ROOT / "studies" / "results"
    pages = load_verdict_pages()["study_pages"](results, about=ROOT / "studies")
    documents = {path.stem: json.loads(path.read_text("utf-8")) for path in results.glob("*.json")}
    assert set(pages) == {name for name, document in documents.items() if "verdicts" in document}
    for name, page in pages.items():
        assert page.count("\n## Verdicts\n") == 1, name
        assert ":mod:" not in page, name
        file = ROOT / "studies" / f"{name.replace('-', '_')}.py"
        first_words = ast.get_docstring(ast.parse(file.read_text("utf8"))).split()[:5]
        assert page.partition(".**\n\n")[2].split()[:5] == first_words, name
