"""The study of how often featly is wrong: laws, truth, counting, going on, and the page."""

import dataclasses
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import studies.calibration.__main__ as command
from scipy.stats import norm
from studies.calibration import run
from studies.calibration.laws import (
    ASIDE,
    LAWS,
    TOGETHER,
    HalfMade,
    Law,
    Made,
    Mixed,
    Repeated,
    Twice,
    available,
)
from studies.calibration.parts import PARTS, read_answers, report_figures
from studies.calibration.summary import fresh_stability, summarise
from studies.calibration.truth import Model, true_figures, true_rates

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "studies" / "results"
SMALL = Made("small", "mid", (30, 20), 12, n_informative=2, effect=1.5)


@pytest.fixture(scope="module")
def page_functions():
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        return runpy.run_path(str(ROOT / "docs" / "calibration_pages.py"))
    finally:
        sys.path.remove(str(ROOT / "docs"))


# ---- laws ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("law", [SMALL, Mixed("mixed", "mid", (30, 20), 9, 3, 1.0), TOGETHER])
def test_a_table_is_drawn_from_its_number(law):
    X, y = law.table(3)
    again, labels = law.table(3)
    other, _ = law.table(4)
    assert np.bincount(y).tolist() == list(law.counts)
    assert (y == labels).all()
    if isinstance(X, pl.DataFrame):
        assert X.equals(again)
        assert not X.equals(other)
        assert 0.05 < np.mean([X[c].null_count() / X.height for c in X.columns]) < 0.2
    else:
        assert (again == X).all()
        assert not (other == X).any()


def test_new_rows_are_not_those_of_the_table():
    X, _ = SMALL.table(0)
    blocks = list(SMALL.new_rows(0))
    rows, chances = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    assert len(rows) == 4000
    assert chances.sum(axis=0).tolist() == [2000, 2000]
    assert not np.isin(X, rows).any()


def test_informative_columns_are_moved_and_others_are_not():
    rows = np.concatenate([X for X, _ in SMALL.new_rows(0)])
    codes = np.arange(len(rows)) % 2
    gaps = rows[codes == 1].mean(axis=0) - rows[codes == 0].mean(axis=0)
    assert gaps[[0, 11]] == pytest.approx([1.5, 1.5], abs=0.15)
    assert gaps[1:11] == pytest.approx(np.zeros(10), abs=0.15)


@pytest.mark.parametrize(("structure", "near", "far"), [("ar", 0.6, 0.0), ("blocks", 0.6, 0.0)])
def test_correlations_are_those_of_the_structure(structure, near, far):
    law = Made("x", "noise", (2000, 2000), 40, structure=structure, correlation=0.6)
    r = np.corrcoef(law.table(0)[0], rowvar=False)
    assert r[3, 4] == pytest.approx(near, abs=0.06)
    assert r[3, 35] == pytest.approx(far, abs=0.06)


def test_halves_of_a_doubled_law_are_different_draws_of_the_same_law():
    X, y = Twice.from_law(SMALL).table(0)
    assert X.shape == (50, 24)
    assert not (X[:, :12] == X[:, 12:]).any()
    assert not np.isin(X, SMALL.table(0)[0]).any()
    for first in (0, 11, 12, 23):
        assert X[y == 1, first].mean() - X[y == 0, first].mean() > 0.5


def test_half_made_tables_leave_their_other_rows_for_the_truth():
    laws = available(tuple(law for law in LAWS if isinstance(law, HalfMade) and law.effect))
    if not laws:
        pytest.skip("needs the real tables")
    law = laws[0]
    X, y = law.table(0)
    rows, chances = (np.concatenate(parts) for parts in zip(*law.new_rows(0), strict=True))
    assert len(X) == sum(law.counts)
    population = law._population()[0]
    every_row_once = sorted(row.tobytes() for row in np.concatenate([X, rows]))
    assert every_row_once == sorted(row.tobytes() for row in population)
    assert chances.sum(axis=1) == pytest.approx(np.ones(len(rows)))
    assert chances.std() > 0.1
    assert set(y) == {0, 1}


def test_no_two_laws_have_one_name_and_none_is_aside_and_not():
    names = [law.name for law in (*LAWS, TOGETHER, *ASIDE)]
    assert len(set(names)) == len(names)
    assert len(ASIDE) == 2


# ---- truth ---------------------------------------------------------------------------------------
def test_the_true_rate_of_one_good_column_is_that_of_the_formula():
    law = Made("one", "strong", (2000, 2000), 2, n_informative=1, effect=2.0)
    X, y = law.table(0)
    models = {"good": Model((0,), "linear-svm"), "noise": Model((1,), "linear-svm")}
    rates = true_rates(law, 0, X, y, models)
    assert rates["good"] == pytest.approx(norm.cdf(1.0), abs=0.02)
    assert rates["noise"] == pytest.approx(0.5, abs=0.03)


def test_missing_values_are_filled_where_the_page_says_so():
    law = Mixed("gaps", "strong", (60, 60), 6, 3, 3.0, missing=0.3)
    X, y = law.table(0)
    rates = true_rates(law, 0, X, y, {"m": Model((0, 1, 2), "logistic", fill=True)})
    assert rates["m"] > 0.8


# ---- what is read from featly, and counted -------------------------------------------------------
def report_row(**changes):
    row = {
        "told": 0.7, "lower": 0.6, "upper": 0.8, "nested": 0.68, "true": 0.65, "true_all": 0.66,
        "size": 4, "columns": 50, "least_q": 0.04, "best": [0, 1, 2, 3],
        "stability": {"4": [0.5, 0.4, 0.6]},
        "answers": {"predicts": "Yes, well", "all columns": "Yes", "same columns": "In part"},
    }  # fmt: skip
    return row | changes


def test_figures_of_a_report():
    figures = report_figures(report_row())
    assert figures["interval covers"] is True
    assert figures["interval too high"] is False
    assert figures["told less true"] == pytest.approx(0.05)
    assert figures["nested less true"] == pytest.approx(0.03)
    assert figures["says better, and it is not"] is True
    assert figures["says the columns are the same, at least in part"] is True
    assert figures["says the columns are mostly the same"] is False
    assert figures["says q of a column is at most .05"] is True
    high = report_figures(report_row(lower=0.66, nested=None))
    assert high["interval covers"] is False
    assert high["interval too high"] is True
    assert high["nested less true"] is None
    none = report_figures(report_row(lower=None, upper=None))
    assert none["interval given"] is False
    assert none["interval covers"] is None


def test_a_question_that_the_study_does_not_know_is_an_error():
    answers = [{"question": "Does it predict rows that it has not seen?", "answer": "Yes"}]
    assert read_answers(answers) == {"predicts": "Yes"}
    with pytest.raises(ValueError, match="does not know the question 'Is it blue"):
        read_answers([{"question": "Is it blue?", "answer": "Yes"}])


def test_counts_leave_out_tables_that_say_nothing():
    rows = [
        {"law": "small", "table": 0, "seconds": 1.0, **report_row()},
        {"law": "small", "table": 1, "seconds": 1.0, **report_row(lower=None, upper=None)},
        {"law": "small", "table": 2, "seconds": 1.0, "error": "DataError: no"},
        {"law": "other", "table": 2, "seconds": 1.0, **report_row()},
    ]
    about = summarise(PARTS["reports"], [SMALL], rows)["small"]
    assert about["tables"] == 3
    assert about["figures"]["interval covers"] == {"yes": 1, "of": 1}
    assert about["figures"]["told"]["of"] == 2
    assert about["answers"]["all columns"] == {"Yes": 2}
    assert about["errors"] == {"DataError: no": 1}


def test_stability_between_fresh_tables_is_that_of_their_selections():
    same = [report_row() for _ in range(10)]
    assert fresh_stability(same)["stability of 4 fresh"]["mean"] == 1.0
    assert fresh_stability(same)["stability interval of 4 holds fresh"] == {"yes": 0, "of": 10}
    disjoint = [report_row(best=[4 * k, 4 * k + 1, 4 * k + 2, 4 * k + 3]) for k in range(10)]
    assert fresh_stability(disjoint)["stability of 4 fresh"]["mean"] < 0
    assert fresh_stability(same[:5]) == {}


# ---- running -------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", PARTS)
def test_a_tiny_run_of_each_part(name, tmp_path, monkeypatch, capsys):
    part = PARTS[name]
    law: Law = Twice.from_law(SMALL) if name.startswith("pairs") else SMALL
    monkeypatch.setitem(PARTS, name, dataclasses.replace(part, laws=(law,)))
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    (tmp_path / "results").mkdir()
    arguments = ["--part", name, "--tables", "1", "--label", "test"]
    command.main(arguments)
    document = json.loads((tmp_path / "results" / "calibration-test.json").read_text("utf-8"))
    about = document["parts"][name]["settings"]["small"]
    assert about["tables"] == 1
    assert "errors" not in about
    monkeypatch.setattr(run, "measure", None)  # called again, it has nothing to do
    command.main(arguments)
    assert "1 tables of 1 laws" in capsys.readouterr().out


def test_laws_that_are_kept_aside_have_results_of_their_own(tmp_path, monkeypatch):
    part = dataclasses.replace(PARTS["advice"], laws=(TOGETHER,), aside=(SMALL,))
    monkeypatch.setitem(PARTS, "advice", part)
    monkeypatch.setattr(command, "FOLDER", tmp_path)
    (tmp_path / "results").mkdir()
    for arguments in ([], ["--aside"]):
        command.main(["--part", "advice", "--tables", "1", "--label", "x", *arguments])
    document = json.loads((tmp_path / "results" / "calibration-x.json").read_text("utf-8"))
    assert list(document["parts"]) == ["advice", "advice-aside"]
    assert list(document["parts"]["advice-aside"]["settings"]) == ["small"]
    assert document["parts"]["advice"]["settings"].keys() == {TOGETHER.name}


def test_a_run_goes_on_after_a_line_that_was_cut(tmp_path, monkeypatch):
    monkeypatch.setitem(PARTS, "advice", dataclasses.replace(PARTS["advice"], laws=(SMALL,)))
    file = tmp_path / "advice.jsonl"
    rows = run.run_part("advice", file, tables=2, minutes=1)
    text = file.read_text("utf-8")
    file.write_text(text[:-20], "utf-8")
    again = run.run_part("advice", file, tables=3, minutes=1)
    assert [row["table"] for row in again] == [0, 1, 2]
    assert len(run.read_rows(file)) == 3
    assert [row["rule"] for row in again[:2]] == [row["rule"] for row in rows]
    assert run.run_part("advice", file, tables=9, minutes=0) == again


def test_rows_of_another_state_of_featly_are_refused(tmp_path, monkeypatch):
    file = tmp_path / "advice.jsonl"
    file.write_text(json.dumps({"law": "small", "table": 0, "code": "abc"}) + "\n", "utf-8")
    with pytest.raises(SystemExit, match="another state of featly"):
        run.read_rows(file)


def test_an_error_is_a_row(monkeypatch):
    one_class = Made("one class", "noise", (10,), 3)
    monkeypatch.setitem(PARTS, "advice", dataclasses.replace(PARTS["advice"], laws=(one_class,)))
    assert run.measure("advice", "one class", 0, False)["error"].startswith("DataError: ")


# ---- the page ------------------------------------------------------------------------------------
def made_run(**figures):
    settings = {
        "first": {"signal": "noise", "tables": 40, "figures": figures},
        "second": {"signal": "noise", "tables": 60, "figures": {
            "says it predicts": {"yes": 0, "of": 60}}},
    }  # fmt: skip
    part = {"about": "pages", "code": "abc", "settings": settings}
    return {"versions": {"featly": "0.1"}, "parts": {"reports": part}}


def test_the_page_shows_before_and_after_side_by_side(page_functions, tmp_path):
    texts = page_functions["pages"](tmp_path)
    assert texts["wrong_sentences"] == "The study has not been run yet.\n"
    before = made_run(**{"says it predicts": {"yes": 10, "of": 40}})
    after = made_run(**{"says it predicts": {"yes": 1, "of": 40}})
    (tmp_path / "calibration-after.json").write_text(json.dumps(after), "utf-8")
    (tmp_path / "calibration-before.json").write_text(json.dumps(before), "utf-8")
    text = page_functions["pages"](tmp_path)["wrong_sentences"]
    assert "| what featly says | should be | before | after |" in text
    row = next(line for line in text.split("\n") if "Yes” on pure noise, by the f-test" in line)
    assert "**10%** (5.5% to 17%; 10 of 100); most: 25% of 40, first" in row
    assert "**1%** (0.2% to 5.4%; 1 of 100)" in row
    assert "not measured yet" in text


def test_the_page_has_the_rows_of_the_study_of_p_values(page_functions, tmp_path):
    (tmp_path / "calibration-before.json").write_text(json.dumps(made_run()), "utf-8")
    null = {"law": "80% zeros", "rows": 500, "small_class": 25, "columns": 20_000}
    fdr = {"law": "mixture", "rows": 200, "small_class": 40, "correlation": 0.8, "q": 0.05,
           "tables": 60, "standard_error": 0.01, "columns_that_differ": 20}  # fmt: skip
    document = {
        "null": [null | {"test": "before", "P01": 0.17}, null | {"test": "default", "P01": 0.01},
                 null | {"test": "default", "P01": 0.004, "rows": 40}],
        "fdr": [fdr | {"test": "before", "fdr": 0.23}, fdr | {"test": "f-test", "fdr": 0.9},
                fdr | {"test": "default", "fdr": 0.02, "columns_that_differ": 0}],
    }  # fmt: skip
    (tmp_path / "p-values.json").write_text(json.dumps(document), "utf-8")
    text = page_functions["pages"](tmp_path)["wrong_sentences"]
    most = "**17%** of 20,000 (500 rows, 25 in a class)"
    assert f"| 80% zeros | 1% | {most} | **1%** of 20,000 (500 rows, 25 in a class) |" in text
    name = "mixture, 200 rows, 40 in a class, blocks at 0.8"
    assert f"| {name} | 0.05 | **23%** (± 2%; 60 tables) | not measured yet |" in text
    alone = f"{name}, no column differs"
    assert f"| {alone} | 0.05 | not measured yet | **2%** (± 2%; 60 tables) |" in text


def test_every_sentence_has_a_figure_in_the_committed_results(page_functions):
    runs = page_functions["read_runs"](RESULTS)
    assert list(runs)[:2] == ["before", "after"]
    for group in page_functions["GROUPS"].values():
        for sentence in group:
            cells = [page_functions["_cell"](sentence, label, run) for label, run in runs.items()]
            assert set(cells) != {page_functions["NOT_YET"]}, sentence.text
            if sentence.is_gone:
                assert cells[1] == page_functions["NO_LONGER"]
                assert cells[0] not in cells[1:]


@pytest.mark.parametrize("label", ["before", "after"])
def test_committed_tables_are_those_that_the_laws_draw(label):
    committed = json.loads((RESULTS / f"calibration-{label}.json").read_text("utf-8"))
    laws = {law.name: law for law in (*LAWS, TOGETHER)}
    hashes = {
        law: about["hash"]
        for name, part in committed["parts"].items()
        if not name.startswith(("evaluate", "pairs", "shuffles")) and "aside" not in name
        for law, about in part["settings"].items()
    }
    assert len(hashes) >= 22
    for name, digest in hashes.items():
        law = laws[name]
        if not isinstance(law, HalfMade) and law.n_columns <= 200:
            assert digest == law.fingerprint(), name


def test_the_part_with_the_most_tables_is_shown(page_functions):
    def part(yes, of):
        figures = {"interval covers": {"yes": yes, "of": of}}
        return {"settings": {"a": {"signal": "weak", "tables": of, "figures": figures}}}

    sentence = next(
        s for s in page_functions["GROUPS"]["How well does it predict?"]
        if "interval-quick" in s.parts and s.figure == "interval covers"
    )  # fmt: skip
    run = {"parts": {"reports": part(9, 10), "interval-quick": part(380, 400)}}
    assert "**95%**" in page_functions["_cell"](sentence, "after", run)
    assert "380 of 400" in page_functions["_cell"](sentence, "after", run)
    del run["parts"]["interval-quick"]
    assert "9 of 10" in page_functions["_cell"](sentence, "after", run)


def test_patients_with_several_rows_are_drawn_as_wholes():
    law = Repeated("x", "mid", (40, 20), 12, n_informative=1, effect=2.0)
    X, y = law.table(0)
    groups = law.row_groups(0)
    assert len(X) == len(y) == len(groups) == 180
    assert all(len(set(y[groups == g])) == 1 for g in range(60))
    assert np.bincount(y[np.unique(groups, return_index=True)[1]]).tolist() == [40, 20]
    noise = X[:, 1:]
    first = np.flatnonzero(np.diff(groups) == 0)  # rows whose next row is of the same patient
    r = np.corrcoef(noise[first].ravel(), noise[first + 1].ravel())[0, 1]
    assert r == pytest.approx(0.7, abs=0.1)
    assert noise.std() == pytest.approx(1, abs=0.1)
    assert X[y == 1, 0].mean() - X[y == 0, 0].mean() == pytest.approx(2, abs=0.5)


def test_areas_of_new_rows_are_those_of_the_formula():
    law = Made("one", "strong", (2000, 2000), 1, n_informative=1, effect=2.0)
    X, y = law.table(0)
    truth = true_figures(law, 0, X, y, {"m": Model((0,), "linear-svm")})["m"]
    assert truth.area == pytest.approx(norm.cdf(2.0 / 2**0.5), abs=0.02)
    assert truth.class_rates == pytest.approx([norm.cdf(1.0)] * 2, abs=0.03)


def test_the_truth_is_trained_with_classes_of_equal_weight():
    law = Made("rare", "strong", (1800, 200), 1, n_informative=1, effect=1.0)
    X, y = law.table(0)
    models = {"page": Model((0,), "linear-svm"), "plain": Model((0,), "linear-svm", balanced=False)}
    truths = true_figures(law, 0, X, y, models, with_areas=False)
    assert truths["page"].class_rates == pytest.approx([norm.cdf(0.5)] * 2, abs=0.05)
    assert truths["plain"].class_rates[1] < 0.2
