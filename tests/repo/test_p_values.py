"""The study of p-values: its quick form runs, its figures hold, and the guides show them."""

import json
from pathlib import Path

import pytest
from studies import p_values

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def document():
    return json.loads((ROOT / "studies/results/p-values.json").read_text("utf-8"))


def test_the_guides_have_the_figures_of_the_study(document):
    page = (ROOT / "docs/guide/univariate_test.md").read_text("utf-8")
    lines = p_values.null_lines(document, ("default", "before", "ranks"))
    lines += p_values.fdr_lines(document, ("default", "before", "f-test"))
    for line in lines:
        assert line in page
    page = (ROOT / "docs/guide/f_test.md").read_text("utf-8")
    for line in p_values.null_lines(document, ("f-test", "default")):
        assert line in page


def test_the_default_has_p_values_and_q_values_that_hold(document):
    """Two standard errors of the measurement are allowed to the rates of false discoveries."""
    for row in document["null"]:
        if row["test"] == "default":
            assert row["P01"] <= 0.015, row
            assert row["P0001"] <= 0.0005, row
    for row in document["fdr"]:
        if row["test"] == "default":
            assert row["fdr"] <= row["q"] + 2 * row["standard_error"], row
    one = document["one_true_column"]
    assert one["with_q_up_to_05"] == one["tables"]


def test_the_quick_form(monkeypatch):
    monkeypatch.setattr(p_values, "WIDTH", 50)
    monkeypatch.setattr(p_values, "CELLS", p_values.CELLS[::12])
    monkeypatch.setattr(p_values, "TABLES", p_values.TABLES[2:3])
    monkeypatch.setattr(p_values, "measure_one_true", lambda *_: {})
    document = p_values.measure(n_columns=50, n_tables=2)
    tests = {row["test"] for row in document["null"]}
    assert tests == {"default", "before", "f-test", "ranks", "chi2", "chi2 tail"}
    assert all(0 <= row["P01"] <= row["P05"] <= 1 for row in document["null"])
    assert {row["correlation"] for row in document["fdr"]} == {0.8}
