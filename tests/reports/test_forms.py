"""HTML, Markdown, PDF, JSON and figures: whole or not at all."""

import json
import re
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ET

import polars as pl
import pytest

from featly import ParameterError
from featly.reports import pdf as browser
from featly.reports.report import format_of


def test_every_format_by_its_ending(cohort_report, tmp_path):
    for ending, begin in {"html": b"<!DOCTYPE html>", "md": b"# ", "json": b"{"}.items():
        path = tmp_path / f"report.{ending}"
        cohort_report.save(path)
        assert path.read_bytes().startswith(begin)
    document = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert document["signature"] == cohort_report.signature
    cohort_report.save(tmp_path / "no ending", format="html")
    assert (tmp_path / "no ending").read_text("utf-8") == cohort_report.html()
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "no ending", "report.html", "report.json", "report.md", "report_figures",
    ]  # fmt: skip


def test_markdown_shows_figures_that_are_there(cohort_report, tmp_path):
    cohort_report.save(tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text("utf-8")
    shown = re.findall(r"!\[.*?\]\((.*?)\)", text)
    assert len(shown) == len(cohort_report.figures)
    assert all((tmp_path / path).is_file() for path in shown)
    for part in ("How sure", "signature", "ranking", "Compared", "data", "What was done", "again"):
        assert re.search(rf"^## .*{part}", text, re.MULTILINE), part
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().split("\n")}
        assert len(widths) == 1


def test_figures_are_svg(cohort_report, tmp_path):
    written = cohort_report.save_figures(tmp_path / "new" / "folder")
    assert {path.stem for path in written} == {figure.name for figure in cohort_report.figures}
    for path in written:
        assert ET.parse(path).getroot().tag.endswith("svg")
    with pytest.raises(ParameterError, match="is a file: name a folder"):
        cohort_report.save_figures(written[0])


@pytest.mark.parametrize("ending", ["csv", "parquet", "json"])
def test_the_whole_ranking(cohort_report, tmp_path, ending):
    cohort_report.save_ranking(tmp_path / f"ranking.{ending}")
    read = {"csv": pl.read_csv, "parquet": pl.read_parquet, "json": pl.read_json}[ending]
    assert read(tmp_path / f"ranking.{ending}")["feature"].to_list() == (
        cohort_report.ranking()["feature"].to_list()
    )


def test_the_same_page_twice(cohort_report):
    assert cohort_report.html() == cohort_report.html()
    assert "<iframe srcdoc=" in cohort_report._repr_html_()
    assert cohort_report.facts["summary"] in repr(cohort_report)


def test_wrong_formats_and_folders(cohort_report, tmp_path):
    with pytest.raises(ParameterError, match=r"give it one of \.html, \.md, \.pdf, \.json"):
        cohort_report.save(tmp_path / "report.doc")
    with pytest.raises(ParameterError, match="format 'doc': there are html"):
        cohort_report.save(tmp_path / "report.html", format="doc")
    with pytest.raises(OSError, match="there is no folder"):
        cohort_report.save(tmp_path / "none" / "report.html")
    assert not list(tmp_path.iterdir())
    assert format_of("-", None) == "html"
    assert format_of("x.HTM", None) == "html"


def test_a_pdf_without_a_browser_is_an_error(cohort_report, tmp_path, monkeypatch):
    monkeypatch.setenv("FEATLY_BROWSER", "no-such-browser")
    with pytest.raises(ParameterError, match="needs a browser"):
        cohort_report.save(tmp_path / "report.pdf")
    assert not list(tmp_path.iterdir())


def test_a_browser_that_fails_or_writes_nothing_is_an_error(cohort_report, tmp_path, monkeypatch):
    for body, message in (
        ("echo 'no display' >&2; exit 3", "failed .no display"),
        ("exit 0", "wrote no PDF"),
    ):
        fake = tmp_path / "fake-browser"
        fake.write_text(f"#!/bin/sh\n{body}\n")
        fake.chmod(0o755)
        monkeypatch.setenv("FEATLY_BROWSER", str(fake))
        with pytest.raises(ParameterError, match=message):
            cohort_report.save(tmp_path / "report.pdf")
        assert not (tmp_path / "report.pdf").exists()


def test_a_browser_that_never_answers_is_an_error(tmp_path, monkeypatch):
    fake = tmp_path / "fake-browser"
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("FEATLY_BROWSER", str(fake))
    monkeypatch.setattr(browser, "PATIENCE", 0.2)
    with pytest.raises(ParameterError, match="did not answer"):
        browser.pdf("<p>")


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_without_the_extra_the_error_names_it(library):
    code = f"""
        import sys
        sys.modules[{library!r}] = None
        import importlib.util
        found = importlib.util.find_spec
        importlib.util.find_spec = lambda n, *a: None if n == {library!r} else found(n, *a)
        from featly import ParameterError
        from featly.reports.report import check_extra
        try:
            check_extra()
        except ParameterError as problem:
            print(problem)
    """
    process = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == f"a report needs {library}: pip install 'featly[report]'"
