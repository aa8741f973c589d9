"""``featly report``: from a file to a page."""

import json

import numpy as np
import polars as pl
import pytest

from tests.reports.reading import Page

FEW = ("--splits", "3", "--sizes", "1,2", "--null", "19", "--quiet")


def test_a_page_from_a_file(featly, csv, tmp_path):
    page, ranking, figures = (tmp_path / name for name in ("r.html", "ranking.csv", "figures"))
    code, out, err = featly(
        "report", csv, "--target", "ill", "-o", page, "-m", "univariate-test,jmi", "--splits", "3",
        "--sizes", "1,2", "--null", "19", "--ranking", ranking, "--figures", figures,
        "--ordinal", "stage=I,II,III",
    )  # fmt: skip
    assert code == 0
    assert out == ""
    assert f"the report is in {page}" in err
    assert "On new rows like these the whole recipe, choice of columns included," in err
    parsed = Page(page.read_text("utf-8"))
    assert "What tells of ill in study.csv" in parsed.text
    assert f"featly report {csv} --target ill" in parsed.text
    assert pl.read_csv(ranking)["feature"].to_list()[0] in ("marker", "stage")
    assert len(list(figures.glob("*.svg"))) >= 5


def test_as_json_and_to_standard_output(featly, csv):
    code, out, _ = featly("report", csv, "-t", "ill", "-o", "-", "--format", "json", *FEW)
    assert code == 0
    document = json.loads(out)
    assert document["method"]["advised"]
    assert document["protocol"]["n_splits"] == 3
    assert document["data"]["target"] == "ill"
    code, out, _ = featly("report", csv, "-t", "ill", "-o", "-", "--methods", "auto", *FEW)
    assert code == 0
    assert out.startswith("<!DOCTYPE html>")


def test_no_individuals_and_a_title(featly, csv, tmp_path):
    page = tmp_path / "r.html"
    code, _, _ = featly("report", csv, "-t", "ill", "-o", page, "-m", "jmi", "--no-individuals",
                        "--title", "My <study>", "--shown", "2", *FEW)  # fmt: skip
    assert code == 0
    text = page.read_text("utf-8")
    assert "My &lt;study&gt;" in text
    assert "No individuals." in text


def test_a_stopped_report_goes_on(featly, numbers, tmp_path):
    arguments = (
        "report",
        numbers,
        "-t",
        "ill",
        "-m",
        "f-test",
        "--keep-fits",
        tmp_path / "fits",
        *FEW,
    )
    first = featly(*arguments, "-o", tmp_path / "a.json")
    assert first[0] == 0
    again = featly(*arguments, "-o", tmp_path / "b.json")
    assert again[0] == 0
    first_report, second_report = (
        json.loads((tmp_path / f"{n}.json").read_text("utf-8")) for n in "ab"
    )
    # seconds, too: no split was fitted anew
    assert first_report["comparison"] == second_report["comparison"]


def test_a_split_column_and_groups(featly, frame, tmp_path):
    path = tmp_path / "study.csv"
    frame.with_columns(
        pl.Series("part", np.where(np.arange(60) < 45, "train", "test")),
        pl.Series("who", np.arange(60) // 2),
    ).write_csv(path)
    code, out, _ = featly("report", path, "-t", "ill", "--split-column", "part", "--drop", "who",
                          "-m", "jmi", "--sizes", "1,2", "--null", "19", "-q", "-o", "-",
                          "--format", "json")  # fmt: skip
    assert code == 0
    assert json.loads(out)["protocol"]["splitter"] == "Holdout"
    code, out, _ = featly("report", path, "-t", "ill", "--row-groups", "who", "--drop", "part",
                          "-m", "jmi", "-o", "-", "--format", "json", *FEW)  # fmt: skip
    assert code == 0
    assert json.loads(out)["data"]["row_groups"] == 30


def test_missing_values_are_filled_for_a_method_that_needs_it(featly, frame, tmp_path, mistake):
    path = tmp_path / "study.csv"
    gappy = frame.drop("sex", "stage").with_columns(
        pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise("marker").alias("marker")
    )
    gappy.write_csv(path)
    code, out, _ = featly("report", path, "-t", "ill", "-m", "svm-rfe", "-o", "-", "--format",
                          "json", *FEW)  # fmt: skip
    assert code == 0
    assert json.loads(out)["protocol"]["fill"]
    arguments = ("report", path, "-t", "ill", "-m", "univariate-test,svm-rfe", "-o", "-", *FEW[:-1])
    assert "svm-rfe does not take missing values ('marker'): add --fill" in mistake(*arguments)
    assert featly(*arguments, "--fill", "-q")[0] == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "report.doc"), "the ending says how to write the report"),
        (("--format", "doc"), "format 'doc': there are"),
        (("-o", "none/report.html"), "there is no folder"),
        (("--ranking", "ranking.xls"), "the ending says how to write the file"),
        (("-m", "none,f-test"), "'none' selects nothing"),
        (("-m", "f-tset"), "did you mean 'f-test'"),
        (("-m", "f-test"), "f-test does not take categorical columns ('sex')"),
        (("--learner", "tree,forest"), "'featly evaluate' takes several"),
        (("--row-groups", "who"), "--row-groups 'who' is no column"),
        (("--rule", "luck"), "--rule 'luck'"),
        (("--protocol", "luck"), "--protocol 'luck'"),
        (("--metric", "area"), "there is no metric 'area'"),
        (("--metric", "ppv"), "--metric ppv: give 'bcr'"),
    ],
)
def test_mistakes_cost_a_line(mistake, csv, options, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert message in mistake("report", csv, "-t", "ill", "--splits", "3", *options)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["study.csv"]


def test_the_format_of_the_file_can_be_given(featly, csv, tmp_path, mistake):
    path = tmp_path / "table.data"
    path.write_bytes(csv.read_bytes())
    code, out, _ = featly("report", path, "-t", "ill", "--input-format", "csv", "-m", "jmi", "-o",
                          "-", "--format", "md", *FEW)  # fmt: skip
    assert code == 0
    assert out.startswith("# What tells of ill in table.data")
    message = mistake(
        "report", path, "-t", "ill", "--input-format", "parquet", "-o", tmp_path / "r.md"
    )
    assert "parquet" in message


def test_a_pdf_without_a_browser_is_refused_before_the_work(mistake, csv, tmp_path, monkeypatch):
    monkeypatch.setenv("FEATLY_BROWSER", "no-such-browser")
    message = mistake("report", csv, "-t", "ill", "-o", tmp_path / "report.pdf")
    assert "needs a browser" in message
