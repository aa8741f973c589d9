"""The generated pages of the documentation, and what pages say about the repository."""

import json
import re
import runpy
import sys
from pathlib import Path

import pytest

from featly.registry import METHODS, Method

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
WRITTEN = [page for page in DOCS.rglob("*.md") if not {"generated", "_build"} & {*page.parts}]


@pytest.fixture
def module(monkeypatch):
    """A file of the documentation, run as Sphinx would."""
    monkeypatch.syspath_prepend(str(DOCS))
    return lambda name: runpy.run_path(str(DOCS / f"{name}.py"))


# ---- a page a method -----------------------------------------------------------------------------
def test_every_method_has_a_page_with_its_facts_and_its_formula(module):
    pages = module("method_pages")["method_pages"]()
    assert set(pages) == {f"featly.{method.class_name}" for method in METHODS.values()}
    for name, method in METHODS.items():
        page = pages[f"featly.{method.class_name}"]
        assert page["summary"].endswith("."), name
        assert "\n" not in page["summary"], name
        assert page["criterion"].startswith(".. math::\n"), name
        assert re.search(r"\((18|19|20)\d\d\)", page["criterion"]), name  # the reference
        facts = dict(re.findall(r"\* - (.+)\n +- (.+)", page["facts"]))
        assert facts["Command line"].endswith(f"--method {name}``"), name
        assert facts["Columns"] == ", ".join(method.kinds), name
        assert facts["Tables on disk"].endswith("columns") == method.streams, name
        assert facts["Computes on"].endswith("GPU") == method.on_device, name
        assert facts["Classes"] == ("any number" if method.many_classes else "two"), name
        assert facts["Missing values"].startswith("taken" if method.missing else "refused"), name
        assert facts["Tier"].startswith(f"{method.tier}: "), name
        assert facts["Operations"].startswith(method.cost), name


def test_a_page_links_to_others_and_not_to_itself(module):
    page_functions = module("method_pages")
    for name, page in page_functions["method_pages"]().items():
        linked = re.findall(r":class:`\w+ <(featly\.\w+)>`", page["related"])
        assert linked, name
        assert name not in linked
        for doc in re.findall(r":doc:`/([\w/]+)`", page["related"]):
            assert (DOCS / f"{doc}.md").exists(), (name, doc)
    known = {method.class_name for method in METHODS.values()}
    for _, names in page_functions["GROUPS"]:
        assert set(names) <= known


def test_a_method_in_no_group_has_its_family(module):
    new = Method("featly.filters.f_test:Brandnew", "embedded", "historical", "new", "n")
    related = module("method_pages")["_related_links"](new)
    assert ":doc:`/methods`" in related
    assert ":class:`AROM <featly.AROM>`" in related
    assert "FTest" not in related


# ---- totals --------------------------------------------------------------------------------------
def test_totals_are_sums(module, tmp_path):
    totals = module("verdict_pages")["totals"]
    for number in (1, 2):
        counts = {"holds": 1000 * number, "does not hold": 500, "cannot be tested": number}
        (tmp_path / f"{number}.json").write_text(json.dumps({"counts": counts, "fits": 40}))
    expected = "2 studies, 4,003 claims: 3,000 hold, 1,000 do not, 3 cannot be tested"
    assert expected in totals(tmp_path)
    assert "75% of what could be tested, from 80 fits" in totals(tmp_path)


def test_claims_of_our_own_are_counted_separately(module, tmp_path):
    page_functions = module("verdict_pages")
    counts = {"holds": 5, "does not hold": 1, "cannot be tested": 0}
    for name in ("paper", "advice"):
        about = {"counts": counts, "fits": 4, "biased": False, "about": {"title": f"on {name}"}}
        (tmp_path / f"{name}.json").write_text(json.dumps(about))
    assert "1 studies, 6 claims" in page_functions["totals"](tmp_path)
    assert "on advice" not in page_functions["overview"](tmp_path)
    assert "on paper" not in page_functions["overview"](tmp_path, own=True)
    assert "| [on advice](generated/verdicts-advice.md) | 5 | 1 | 0 |" in page_functions[
        "overview"
    ](tmp_path, own=True)
    assert set(page_functions["OWN"]) <= {
        path.stem for path in (ROOT / "studies/results").glob("*.json")
    }


def test_totals_without_a_claim_that_could_be_tested(module, tmp_path):
    counts = {"holds": 0, "does not hold": 0, "cannot be tested": 2}
    (tmp_path / "a.json").write_text(json.dumps({"counts": counts, "fits": 0}))
    assert "0% of what could be tested" in module("verdict_pages")["totals"](tmp_path)


# ---- formulas ------------------------------------------------------------------------------------
@pytest.fixture
def draw_formula(module):
    """The function that draws a formula; ziamath comes with the docs extra."""
    pytest.importorskip("ziamath")
    pytest.importorskip("docutils")
    return module("formulas")["draw_formula"]


def test_a_formula_is_a_drawing_that_can_be_read_aloud(draw_formula):
    svg = draw_formula(r"\lvert a \rvert < \frac{1}{2}", True)
    assert svg.startswith('<svg class="formula" role="img" aria-label="\\lvert a \\rvert &lt; \\fr')
    assert "currentColor" in svg
    assert "http" not in svg.replace("http://www.w3.org", "")
    assert re.search(r"width:[\d.]+em;height:[\d.]+em;vertical-align:-[\d.]+em", svg)


@pytest.mark.parametrize(
    "text",
    [
        r"|S| \left( I(f; y) - \frac{1}{|S|} \sum_{s \in S} I(f; s) \right)",
        r"\begin{cases} [a = b] & \text{one} \\ 1 - |a - b| & \text{two} \end{cases}",
        r"\text{a} &: x \\ \text{b} &: \sum_s y",
    ],
)
def test_formulas_that_need_respelling(draw_formula, text):
    height = float(re.search(r"height:([\d.]+)em", draw_formula(text, True)).group(1))
    assert 1 < height < 6


# ---- what pages say ------------------------------------------------------------------------------
def test_benchmarks_that_pages_name_exist():
    sys.path.insert(0, str(ROOT))
    try:
        from benchmarks.__main__ import CASES
    finally:
        sys.path.remove(str(ROOT))
    named = [
        (page.name, case)
        for page in WRITTEN
        for command in re.findall(r"`python -m benchmarks ([^`]+)`", page.read_text("utf8"))
        for case in command.split()
    ]
    assert len(named) > 10
    assert [(page, case) for page, case in named if case not in CASES] == []


@pytest.mark.parametrize("page", ["fast", "coming_from/weka", "coming_from/praznik"])
def test_figures_of_featly_are_those_of_the_benchmarks(page):
    """Seconds of featly in the tables of a page are, rounded, seconds of the benchmarks."""
    results = (ROOT / "benchmarks" / "RESULTS.md").read_text("utf8")
    known = [float(cell) for cell in re.findall(r"\| ([\d.e+]+) \|", results)]
    rows = re.findall(r"^\|.*\|$", (DOCS / f"{page}.md").read_text("utf8"), re.MULTILINE)
    cells = r"\| (\d+\.\d+)(?: s)?(?:,[^|]*)? (?=\|)"
    seconds = {cell for row in rows for cell in re.findall(cells, row)}
    assert len(seconds) >= 5

    def round_like(value, cell):
        return f"{value:.{len(cell.partition('.')[2])}f}"

    # of programs that were measured elsewhere: see the page
    elsewhere = {"0.71", "1.25", "0.05", "5.1", "9.5", "0.25", "28.7", "0.09"}
    unknown = {cell for cell in seconds if cell not in {round_like(value, cell) for value in known}}
    assert unknown <= elsewhere


def test_what_pages_link_to_is_in_the_reference():
    """A link to an object that has no page is shown as a word, without a warning."""
    api = (DOCS / "api.md").read_text("utf8")
    known, module = {f"featly.{method.class_name}" for method in METHODS.values()}, "featly"
    for line in api.splitlines():
        line = line.strip()
        if match := re.fullmatch(r"\.\. (currentmodule|py:module|automodule):: (\S+)", line):
            module = match[2]
            known.add(module)
        elif match := re.fullmatch(r"(?:\.\. py:data:: )?([A-Za-z_][\w.]*)", line):
            known.add(f"{module}.{match[1]}")
    linked = {
        (page.name, target)
        for page in WRITTEN
        for target in re.findall(r"\{py:\w+\}`(?:[^`<]*<)?([\w.]+)>?`", page.read_text("utf8"))
    }
    assert len(linked) > 100
    classes = {name for name in known if name.rpartition(".")[2][0].isupper()}
    assert {
        (page, target)
        for page, target in linked
        if target not in known and target.rpartition(".")[0] not in classes
    } == set()
