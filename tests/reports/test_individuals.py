"""Without individuals, nothing on the page gives a single row away."""

import json
import re

import numpy as np
import polars as pl
import pytest

import featly
from featly import DataError
from featly.basics.json_text import as_json
from featly.plots.table_columns import read_columns
from featly.reports.columns import column_facts
from featly.reports.sparklines import miniature
from featly.table.schema import Schema
from tests.reports.disclosure import (
    Attack,
    attack_html,
    attack_json,
    attack_markdown,
    attack_svg,
    true_tables,
)
from tests.reports.quick import quick_report
from tests.reports.reading import Page

OUTLIER = 86420.97531
PLANTED = ["town", "stage", "sparse", "sex", "age"]  # columns with counts below five
SECRET = ["Tristan", "Eskimo", "OnlyOne", "rarest"]  # levels of one patient, a class of three


def make_patients(seed=1, n_rarest=3):
    """Return a table with patients who are alone with a level, a value or a missing value."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["sick", "well", "rarest"], [61, 56, n_rarest])
    n = len(y)
    town = np.where(rng.random(n) < 0.5, "A", "B").astype(object)
    town[100], town[117] = "Tristan da Cunha", "EskimoVillage"
    stage = np.where(y == "sick", "late", "early").astype(object)
    stage[70], stage[:20] = "OnlyOne", "early"
    sparse = np.full(n, np.nan)
    sparse[0], sparse[61:] = 77.12577, rng.normal(size=n - 61)
    sex = np.where(rng.random(n) < 0.5, "F", "M").astype(object)
    sex[[5, 6, 80]] = None
    gene = np.zeros(n)
    gene[[3, 4, 90]] = 1.0
    age = rng.integers(20, 90, n).astype(float)
    age[10:13] = np.nan
    income = np.exp(rng.normal(10, 0.6, n)).round(2) + 500 * (y == "sick")
    income[1] = OUTLIER * 10
    texts = {"town": town, "stage": stage, "sex": sex}
    numbers = {"sparse": sparse, "income": income, "gene": gene, "age": age}
    frame = {name: pl.Series(values.tolist()) for name, values in texts.items()} | numbers
    return pl.DataFrame(frame), y


def publish(X, y, **options):
    """Return all forms of a report without individuals."""
    settings = {"methods": ["univariate-test"], "splits": 2, "sizes": [7], "rule": 7}
    report = quick_report(X, y, individuals=False, n_jobs=1, **settings | options)
    return {
        "json": as_json(report.facts),
        "html": report.html(),
        "markdown": report.markdown(),
        "svg": "".join(figure.svg.decode() for figure in report.figures),
        "ranking": report.ranking().write_csv(),
    }


def attack_page(X, y, forms, columns=PLANTED):
    """Return what all forms together give away, and how many small counts there are."""
    truth = true_tables(X, y, columns)
    attack = Attack(truth)
    attack_json(attack, forms["json"])
    attack_html(attack, forms["html"])
    attack_markdown(attack, forms["markdown"])
    attack_svg(attack, forms["svg"])
    return attack.given_away(), sum(0 < n < 5 for table in truth.values() for n in table.values())


@pytest.fixture(scope="module")
def patients():
    return make_patients()


@pytest.fixture(scope="module")
def forms(patients):
    return publish(*patients)


def numbers_in(text):
    """Return the numbers of a page, in whatever form."""
    return {
        abs(float(n.replace(",", ""))) for n in re.findall(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?", text)
    }


# ---- a page --------------------------------------------------------------------------------------
def test_no_small_count_follows_from_the_page(patients, forms):
    given_away, n_small = attack_page(*patients, forms)
    assert not given_away
    assert n_small == 13


def test_counts_that_followed_by_subtraction_are_hidden(forms):
    rows = {row["name"]: row for row in json.loads(forms["json"])["features"]}
    cells = {
        (name, group["class"]): {cell["level"]: cell["count"] for cell in group["levels"]}
        for name in ("town", "stage", "sex")
        for group in rows[name]["classes"]
    }
    assert cells["town", "sick"] == {"A": "27", "B": "34", "other levels": "0"}
    assert cells["town", "well or rarer"] == {"A": "30", "B": "hidden", "other levels": "hidden"}
    assert cells["stage", "well or rarer"]["early"] == "hidden", "56 - 55 was 1"
    sparse, usual = rows["sparse"]["classes"]
    assert (sparse["n"], sparse["missing"]) == (None, None), "1 row, 60 missing"
    assert (usual["n"], usual["missing"]) == (59, 0)
    assert json.loads(forms["json"])["data"]["classes"] == {"sick": 61, "well or rarer": 59}
    hidden = [cell["share"] for row in rows.values() for group in row["classes"]
              for cell in group.get("levels", ()) if cell["count"] == "hidden"]  # fmt: skip
    assert set(hidden) == {None}


@pytest.mark.parametrize("form", ["json", "html", "markdown", "svg", "ranking"])
def test_no_rare_level_class_or_row_is_named(patients, forms, form):
    X, _ = patients
    assert not [word for word in SECRET if word in forms[form]]
    assert not re.search(r"\brows? \d", forms[form])
    values = {v for v in [*X["income"], *X["sparse"]] if v == v}
    figures = numbers_in(re.sub(r"<[^>]*>", " ", forms[form]))
    assert not figures & values
    assert form == "svg" or not any(abs(v / OUTLIER - 10) < 0.2 for v in figures)


def test_scores_that_would_tell_counts_are_left_out(forms):
    facts = json.loads(forms["json"])
    rows = {row["name"]: row for row in facts["features"]}
    for name, row in rows.items():
        figures = {row["score"], row["p_value"], row["q_value"]}
        assert (figures == {None}) == (name in ("town", "stage", "sex", "gene")), name
        assert all(f is None or f == float(f"{f:.2g}") for f in figures)
    scores = pl.read_csv(forms["ranking"].encode())
    shown = dict(zip(scores["feature"], scores["score"], strict=True))
    assert shown == {name: row["score"] for name, row in rows.items()}
    assert (facts["data"]["hash"], facts["data"]["missing_cells"]) == (None, None)


def test_a_page_says_whether_individuals_are_in_it(forms):
    X, y = make_patients()
    page = quick_report(
        X, y, methods=["univariate-test"], splits=2, sizes=[7], rule=7, n_jobs=1
    ).html()
    for html, with_individuals in ((page, True), (forms["html"], False)):
        assert ('class="p ' in html) == with_individuals
        assert ("Values of single rows are in this page" in html) == with_individuals
        assert ("No individuals." in html) == (not with_individuals)
        assert ("Tristan da Cunha: 1 rows" in html) == with_individuals
        words = Page(html).text
        assert any(abs(n - OUTLIER * 10) < 1e4 for n in numbers_in(words)) == with_individuals


def test_findings_count_and_name_no_rows():
    X, y = make_patients()
    rng = np.random.default_rng(0)
    X = X.with_columns(
        pl.Series("patient_id", np.arange(len(y))),
        pl.Series("gap", np.where(y == "sick", np.nan, rng.normal(size=len(y)))),
        *(pl.Series(f"noise {k}", rng.normal(size=len(y))) for k in range(6)),
    )
    X = pl.concat([X[:-1], X[35:36].with_columns(pl.Series("patient_id", [len(y) - 1]))])
    forms = publish(X, y, sizes=[5], rule=5)
    findings = json.loads(forms["json"])["findings"]
    kinds = {finding["kind"] for finding in findings}
    assert {"identifier", "missing values", "twins", "small classes"} <= kinds
    for finding in findings:
        assert not finding["rows"]
        assert not re.search(r"\d", finding["text"]), finding["text"]
    assert not [(word, form) for word in SECRET for form in forms if word in forms[form]]
    given_away, _ = attack_page(X, y, forms)
    assert not given_away


def test_the_rate_of_a_class_too_small_to_be_shown_is_refused():
    X, y = make_patients()
    keep = y != "sick"
    with pytest.raises(DataError, match="'rarest' has 3 rows, which the sensitivity would tell"):
        featly.report(X.filter(keep), y[keep], metric="sensitivity", individuals=False)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(6))
def test_no_small_count_follows_from_other_pages(seed, tmp_path):
    """Other patients, four of a class so that it is evaluated, and several methods."""
    X, y = make_patients(seed, n_rarest=4)
    metric = ["bcr", "accuracy", "auc"][seed % 2]
    methods = ["univariate-test", "jmi", "relieff"]
    forms = publish(X, y, methods=methods, splits=4, metric=metric, sizes=[3, 7])
    assert not attack_page(X, y, forms)[0]
    assert not [(word, form) for word in SECRET for form in forms if word in forms[form]]
    assert not [form for form in forms if re.search(r"\brows? \d", forms[form])]


# ---- columns -------------------------------------------------------------------------------------
@pytest.mark.parametrize("n", [1, 4, 9, 10, 19, 20, 99, 100])
def test_percentiles_of_few_rows_are_left_out(n):
    y = np.repeat([0, 1], [n, 200])
    X = np.random.default_rng(n).normal(size=(n + 200, 1))
    (column,) = read_columns(X, [0], Schema(), ["x"])
    facts = column_facts(column, ["few", "many"], y, individuals=False)
    few_rows = facts["classes"][0]
    assert ("median" in few_rows) == (n >= 10)
    assert ("quartile_1" in few_rows) == ("quartile_3" in few_rows) == (n >= 20)
    assert ("low" in few_rows) == (n >= 100)
    drawing = miniature(column, ["few", "many"], y, points=True, individuals=False)
    assert drawing.count("<rect") == 1 + (n >= 20)
    assert drawing.count('class="m"') == 1 + (n >= 10)
    assert ("few rows" in drawing) == (n < 10)
    all_facts = column_facts(column, ["few", "many"], y, individuals=True)["classes"][0]
    assert {"low", "median", "high"} <= set(all_facts)


def test_boxes_alone_are_not_squeezed_by_one_row():
    values = np.r_[np.linspace(0, 1, 200), OUTLIER][:, None]
    y = np.arange(201) % 2
    (column,) = read_columns(values, [0], Schema(), ["x"])
    alone = miniature(column, ["a", "b"], y, points=False, individuals=True)
    dotted = miniature(column, ["a", "b"], y, points=True, individuals=True)
    widths = [
        [int(w) for w in re.findall(r'<rect [^>]*width="(\d+)"', drawing)]
        for drawing in (alone, dotted)
    ]
    assert min(widths[0]) > 100
    assert max(widths[1]) < 5


@pytest.mark.parametrize("value", [0.0, -3.0, 1e300, -1e18])
@pytest.mark.parametrize("individuals", [True, False])
def test_constants_are_drawn_whatever_their_size(value, individuals):
    (column,) = read_columns(np.full((60, 1), value), [0], Schema(), ["x"])
    y = np.arange(60) % 2
    drawing = miniature(column, ["a", "b"], y, points=True, individuals=individuals)
    assert drawing.count('class="m"') == 2
    assert "nan" not in drawing
