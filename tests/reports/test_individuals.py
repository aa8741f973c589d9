"""Without individuals, nothing on the page rests on few rows."""

import re

import numpy as np
import polars as pl
import pytest

import featly
from featly.basics.privacy import is_percentile_safe, mask_count
from featly.plots.table_columns import read_columns
from featly.reports.columns import column_facts
from featly.reports.sparklines import miniature
from featly.table.schema import Schema
from tests.reports.reading import Page

OUTLIER = 86420.97531


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    n = 120
    ill = np.arange(n) % 2
    marker = rng.normal(size=n) + 2 * ill
    marker[1] = OUTLIER
    rare = np.where(np.arange(n) < 3, "secret level", np.where(ill == 1, "a", "b"))
    other = rng.normal(size=n) + ill
    other[0] = -OUTLIER
    return pl.DataFrame({"marker": marker, "rare": rare, "other": other}), ill


def numbers_in(text):
    """Return the numbers of a page, in whatever form."""
    return {
        abs(float(n.replace(",", ""))) for n in re.findall(r"-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?", text)
    }


@pytest.mark.parametrize("individuals", [True, False])
def test_no_single_row_can_be_read_off(table, individuals, tmp_path):
    X, y = table
    report = featly.report(
        X, y, methods=["univariate-test", "jmi"], splits=4, sizes=[3], rule=3,
        individuals=individuals, schema={"known_before": ["rare"]},
    )  # fmt: skip
    page = report.html()
    svg = "".join(figure.svg.decode() for figure in report.figures)
    words = re.sub(r"[0-9a-f]{12,}", " ", Page(page).text)  # without the fingerprint
    telling = any(abs(n - OUTLIER) < 0.02 * OUTLIER for n in numbers_in(words))
    assert telling == individuals
    assert ('class="p ' in page) == individuals
    assert ("Values of single rows are in this page" in page) == individuals
    assert ("No individuals." in page) == (not individuals)
    if not individuals:
        assert max(numbers_in(re.sub(r"<[^>]*>|[0-9a-f]{12,}", " ", svg)), default=0) < OUTLIER / 2
        assert "secret level</bdi> &lt;5 " in page
        assert "secret level: 2 rows" not in page
    else:
        assert re.search(r"secret level: [12] rows", page)


def test_what_few_rows_allow():
    assert [is_percentile_safe(50, n) for n in (9, 10)] == [False, True]
    assert [is_percentile_safe(p, 100) for p in (4, 5, 95, 96)] == [False, True, True, False]
    assert [mask_count(n) for n in (0, 1, 4, 5, 1234)] == ["0", "<5", "<5", "5", "1,234"]


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
