"""The page: whole, by itself, safe, small."""

import json
import re

import numpy as np
import polars as pl
import pytest

from featly.plots.table_columns import read_columns
from featly.reports.figures import Figure, inline_svg
from featly.reports.html import MOST_LOOKUP_BYTES
from featly.reports.sparklines import miniature
from featly.table.schema import Schema
from tests.reports.quick import quick_report
from tests.reports.reading import Page


def test_all_parts_are_there(cohort_report, page):
    parsed = Page(page)
    parts = [a["id"] for a in parsed.all("section")]
    assert parts == ["sure", "signature", "ranking", "comparison", "data", "done", "words", "again"]
    for link in parsed.all("a"):
        assert link["href"].lstrip("#") in parts
    for name in cohort_report.signature:
        assert name in parsed.text
    facts = cohort_report.facts
    for answer in facts["answers"]:
        assert answer["text"] in parsed.text
    assert facts["summary"] in parsed.text
    headings = re.findall(r"<h3><bdi>(\d+)\. (.*?)</bdi>", page)
    assert [name for _, name in headings] == cohort_report.signature
    assert [int(rank) for rank, _ in headings] == list(range(1, len(headings) + 1))
    assert len(re.findall(r'<svg class="mini"', page)) == len(cohort_report.signature)
    assert len(parsed.all("figure")) == len(cohort_report.figures) >= 6
    assert "Nadeau and Bengio" not in parsed.text


def test_nothing_is_fetched(page):
    parsed = Page(page)
    for tag, attributes in parsed.elements:
        for name in ("src", "href", "xlink:href", "action", "data", "poster"):
            target = attributes.get(name) or ""
            assert target.startswith(("#", "data:")) or not target, (tag, target)
    assert not re.findall(r"url\((?!#|data:)", page)
    assert not re.findall(r"@import", page)
    (policy,) = parsed.all("meta", **{"http-equiv": "Content-Security-Policy"})
    assert policy["content"].startswith("default-src 'none'")


def test_identifiers_are_unique_and_known(page):
    parsed = Page(page)
    ids = [a["id"] for _, a in parsed.elements if "id" in a]
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:xlink:href|href)="#([^"]+)"|url\(#([^)]+)\)', page)
    assert {a or b for a, b in used} <= set(ids)


def test_figures_take_the_ink_of_the_page(cohort_report, page):
    from featly.plots.canvas import FAINT, INK

    for ink in (INK, FAINT):
        assert any(ink in figure.svg.decode() for figure in cohort_report.figures)
        body = page[page.index("<main>") :]
        assert ink.lower() not in body.lower()
    assert page.count("currentColor") > 50


HOSTILE = [
    "<script>alert(1)</script>",
    "\"quoted\" 'twice' &amp; <b>",
    "</script><img src=x onerror=alert(2)>",
    "👩‍⚕️ emoji",
    "x" * 300,
    "مرحبا بالعالم",
    "=cmd()",
    "$x^2$ \\alpha",
    "{{ facts }} {% raw %}",
    "a\tb",
    "a | b",
]


@pytest.fixture(scope="module")
def hostile():
    rng = np.random.default_rng(3)
    y = np.array(["<i>ill</i>", 'well "&" fine'], dtype=object)[np.arange(60) % 2]
    frame = pl.DataFrame(
        {
            name: rng.normal(size=60) + (np.arange(60) % 2) * (2 - k / 9)
            for k, name in enumerate(HOSTILE)
        }
    ).with_columns(pl.Series("<u>level</u>", np.array(["<a>", "b&b"])[(np.arange(60) // 3) % 2]))
    return quick_report(
        frame,
        y,
        methods=["univariate-test", "jmi"],
        splits=4,
        rule=11,
        sizes=[2, 11],
        title="<h1>&",
    )


def test_hostile_names_are_escaped(hostile):
    page = hostile.html()
    parsed = Page(page)
    assert len(parsed.all("script")) == 1  # of few columns, there is nothing to look up
    assert not parsed.all("img")
    assert not parsed.all("i") or all("style" in a for a in parsed.all("i"))
    assert not parsed.all("u")
    assert not parsed.all("b", onerror="")
    for name in hostile.signature:
        assert " ".join(name.split()) in parsed.text
    assert len(parsed.all("li", **{"class": "card"})) == len(hostile.signature)
    assert "<h1>&" in parsed.text
    assert parsed.all("bdi")


def test_hostile_names_in_markdown_and_tables(hostile, tmp_path):
    text = hostile.markdown()
    assert "<script>" not in text.replace("\\<script\\>", "")
    tables = re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert len(tables) == 4
    for table in tables:
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().split("\n")}) == 1
    hostile.save_ranking(tmp_path / "ranking.csv")
    assert "'=cmd()" in (tmp_path / "ranking.csv").read_text("utf-8")
    assert "\n=cmd" not in (tmp_path / "ranking.csv").read_text("utf-8")


def test_hostile_levels_and_classes_are_escaped_in_pictures():
    bad = '<a href="x">'
    frame = pl.DataFrame({"c": [bad, "b"] * 20, "x": np.arange(40.0)})
    y = np.arange(40) // 20
    for column in read_columns(frame, [0, 1], Schema(), frame.columns):
        drawing = miniature(column, [bad, "<&>"], y, points=True, individuals=True)
        parsed = Page(drawing)
        assert not parsed.all("a")
        assert bad in parsed.text
        assert "<&>" in parsed.text


def test_levels_are_named_where_their_bar_is_long_enough():
    levels = ["short"] * 30 + ["a level whose name is far longer than half of the bar"] * 30
    y = np.tile([0, 1], 30)
    (column,) = read_columns(pl.DataFrame({"c": levels}), [0], Schema(), ["c"])
    drawing = miniature(column, ["a", "b"], y, points=True, individuals=True)
    assert re.findall(r'<text class="l"[^>]*>(.*?)</text>', drawing) == ["short"] * 2


def test_a_drawing_begins_with_its_svg():
    drawing = b'<?xml version="1.0"?>\n<svg width="72pt" height="36pt"><g id="a"/></svg>'
    assert inline_svg(Figure("one", "One", "How to read it.", drawing, "data"), "One").startswith(
        "<svg role="
    )


def test_many_columns_can_be_looked_up_and_cannot_end_the_script():
    rng = np.random.default_rng(0)
    X = pl.DataFrame({f"</script>{k}": rng.normal(size=20) for k in range(30)})
    y = np.arange(20) % 2
    page = quick_report(X, y, methods=["f-test"], splits=3, sizes=[2], rule=2, n_shown=5).html()
    parsed = Page(page)
    assert len(parsed.all("script")) == 2
    (text,) = re.findall(r'<script type="application/json" id="all">(.*?)</script>', page)
    lookup = json.loads(text)
    assert sorted(lookup["names"]) == sorted(X.columns)
    assert lookup["total"] == 30
    assert sum(lookup["chosen"].values()) == 3 * 2


@pytest.mark.thorough
def test_five_hundred_columns_stay_below_two_megabytes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 9_000)).astype(np.float32)
    y = np.arange(300) % 2
    X[:, :500] += 0.5 * y[:, None]
    report = quick_report(
        X, y, methods=["f-test"], splits=2, sizes=[500], rule=500, n_shown=500,
        names=[f"ENSG{k:011d} a gene with a rather long name" for k in range(9_000)],
    )  # fmt: skip
    page = report.html()
    assert page.count('<svg class="mini"') == 500
    assert len(page.encode()) < 2_000_000
    assert "show every row, the others boxes alone" in page
    (text,) = re.findall(r'<script type="application/json" id="all">(.*?)</script>', page)
    assert len(text.encode()) < 1.2 * MOST_LOOKUP_BYTES
    assert len(json.loads(text)["names"]) < 9_000


def test_many_classes_and_long_names_do_not_make_a_large_page():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 600)), np.arange(300) % 15
    X[:, 1:300] = X[:, :1] + 0.1 * rng.normal(size=(300, 299))  # all say the same
    report = quick_report(
        X, y, methods=["f-test"], splits=2, sizes=[500], rule=500, n_shown=500,
        names=[f"{k:03d} {'long ' * 60}" for k in range(600)],
    )  # fmt: skip
    page = report.html()
    assert len(page.encode()) < 2_000_000
    assert page.count('<li class="card">') == 500
    n_drawn = page.count('<svg class="mini"')
    assert 50 < n_drawn < 500
    assert f"The last {500 - n_drawn} have no picture" in page
