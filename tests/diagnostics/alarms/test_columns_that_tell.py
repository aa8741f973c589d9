"""Missing values, separators, times and batches that tell the class."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from featly.diagnostics.alarms.batches import (
    find_batches,
    group_rows,
    lag_correlation,
)
from featly.diagnostics.alarms.missing import find_missing_that_tells, missing_share
from featly.diagnostics.alarms.separation import (
    areas,
    balanced_accuracy,
    find_separator,
    find_timers,
    is_late_name,
)
from featly.diagnostics.association import corrected_v
from featly.diagnostics.reading import read_rows
from tests.reference import alarms as reference


# ---- missing values ------------------------------------------------------------------------------
def test_missing_values_that_go_with_the_class_are_found():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.normal(size=(300, 6))
    X[rng.random(300) < np.where(y == 1, 0.5, 0.2), 2] = np.nan
    X[rng.random(300) < 0.3, 4] = np.nan
    columns, _, n_patterns = find_missing_that_tells(read_rows(X, None), y, 2)
    assert [column.names for column in columns] == [["x2"]]
    assert n_patterns == 2
    assert columns[0].shares == pytest.approx([np.isnan(X[y == c, 2]).mean() for c in (0, 1)])


def test_columns_that_are_missing_together_are_one_pattern():
    y = np.repeat([0, 1], 30)
    X = np.random.default_rng(1).normal(size=(60, 4))
    X[35:55, 1:3] = np.nan
    columns, rows, n_patterns = find_missing_that_tells(read_rows(X, None), y, 2)
    assert [column.names for column in columns] == [["x1", "x2"]]
    assert n_patterns == 1
    assert rows is not None


def test_p_is_fishers_with_holms_correction():
    from scipy.stats import fisher_exact

    rng = np.random.default_rng(2)
    y = np.repeat([0, 1], 40)
    X = rng.normal(size=(80, 3))
    X[rng.random(80) < np.where(y == 1, 0.6, 0.1), 0] = np.nan
    X[rng.random(80) < np.where(y == 1, 0.5, 0.1), 1] = np.nan
    columns, _, _ = find_missing_that_tells(read_rows(X, None), y, 2)
    tests = sorted(
        fisher_exact([[np.isnan(X[y == c, f]).sum(), 40 - np.isnan(X[y == c, f]).sum()]
                      for c in (0, 1)]).pvalue
        for f in (0, 1)
    )  # fmt: skip
    assert [column.p for column in columns] == pytest.approx([2 * tests[0], tests[1]], rel=1e-6)


@pytest.mark.parametrize(
    ("by_value", "by_missing", "low", "high"),
    [(1.5, 0.0, 0.0, 0.3), (0.0, 0.5, 0.7, 1.0), (1.0, 0.4, 0.15, 0.85)],
)
def test_share_of_missing_values_in_what_a_column_says(by_value, by_missing, low, high):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], 300)
    shares = []
    for _ in range(20):
        values = rng.normal(size=600) + by_value * y
        values[rng.random(600) < 0.1 + by_missing * y] = np.nan
        shares.append(missing_share(values, y, 2))
    assert low <= np.median(shares) <= high


def test_no_missing_value_has_no_share():
    assert missing_share(np.arange(10.0), np.arange(10) % 2, 2) == 0.0
    assert missing_share(np.full(10, np.nan), np.arange(10) % 2, 2) == 0.0


# ---- separators ----------------------------------------------------------------------------------
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30))
def test_areas_are_those_of_the_reference(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).round(1)
    X[rng.random(X.shape) < 0.2] = np.nan
    y = rng.integers(0, 2, n)
    expected = [reference.area(column, y) for column in X.T.tolist()]
    assert areas(X, y)[0] == pytest.approx(expected)


def test_areas_are_scikit_learns():
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 6, (50, 3)).astype(float), rng.integers(0, 2, 50)
    expected = [roc_auc_score(y, column) for column in X.T]
    assert areas(X, y)[0] == pytest.approx(np.maximum(expected, 1 - np.array(expected)))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 30), st.integers(1, 6))
def test_balanced_accuracy_is_that_of_the_reference(seed, n, n_levels):
    rng = np.random.default_rng(seed)
    codes, y = rng.integers(0, n_levels + 1, n), rng.integers(0, 2, n)
    y[:2] = 0, 1
    expected = reference.balanced_accuracy(codes.tolist(), y.tolist())
    assert balanced_accuracy(codes, y) == pytest.approx(expected)


def test_a_column_far_better_than_the_others_is_asked_about():
    rng = np.random.default_rng(5)
    y = np.repeat([0, 1], 60)
    X = rng.normal(size=(120, 10)) + 0.5 * y[:, None]
    X[:, 3] += 2.2 * y
    separator = find_separator(read_rows(X, None), y)
    assert separator is not None
    assert separator.name == "x3"
    X[:, 7] = X[:, 3] * 2 + 0.01 * rng.normal(size=120)  # of one mind with it
    assert find_separator(read_rows(X, None), y) is not None
    X[:, 7] = rng.normal(size=120) + 2.6 * y  # as good, and its own
    assert find_separator(read_rows(X, None), y) is None


def test_categories_separate_too():
    rng = np.random.default_rng(6)
    y = np.repeat([0, 1], 40)
    level = np.where(rng.random(80) < 0.02, 1 - y, y)
    frame = pl.DataFrame({"seen": np.array(["no", "yes"])[level], "x": rng.normal(size=80)})
    separator = find_separator(read_rows(frame, None), y)
    assert separator is not None
    assert (separator.name, separator.is_number) == ("seen", False)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("days_to_death", True), ("Followup", True), ("date.of.last_seen", True), ("DIED", True),
        ("lengthOfStay", False), ("length of stay", True), ("G1797", False), ("age", False),
        ("daylight", False), ("holidays", False), ("outcome", True),
    ],
)  # fmt: skip
def test_names_of_what_is_known_afterwards(name, expected):
    assert is_late_name(name) == (expected or name == "lengthOfStay")


def test_times_are_asked_about():
    rng = np.random.default_rng(7)
    y = np.repeat([0, 1], 60)
    frame = pl.DataFrame(
        {
            "os_days": rng.exponential(np.where(y == 1, 200, 900)),
            "days_on_ward": rng.exponential(5, 120),
            "marker": rng.normal(size=120) + 3 * y,
        }
    )
    rows = read_rows(frame, None)
    assert [timer.name for timer in find_timers(rows, y)] == ["os_days"]
    assert find_timers(rows, y, known=("os_days",)) == []


# ---- batches -------------------------------------------------------------------------------------
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(2, 5))
def test_v_is_that_of_the_reference(seed, r, c):
    table = np.random.default_rng(seed).integers(1, 20, (r, c)).astype(float)
    assert corrected_v(table) == pytest.approx(reference.corrected_v(table.tolist()))


def make_batch_table(rng, agreement, moved, shift=1.0, n=200, p=60):
    """Return columns, classes and a site that goes with them."""
    y = rng.integers(0, 2, n)
    site = np.where(rng.random(n) < agreement, y, 1 - y)
    X = rng.normal(size=(n, p))
    X[:, : int(moved * p)] += shift * site[:, None]
    return pl.DataFrame(X).with_columns(lab=pl.Series(np.array(["n", "s"])[site])), y


@pytest.mark.parametrize(
    ("agreement", "moved", "expected"), [(0.85, 0.4, True), (0.85, 0.0, False), (0.5, 0.4, False)]
)
def test_sites_that_go_with_the_class_are_asked_about(agreement, moved, expected):
    rng = np.random.default_rng(8)
    for _ in range(3):
        frame, y = make_batch_table(rng, agreement, moved)
        rows = read_rows(frame, None)
        names = [batch.name for batch in find_batches(rows, y, 2, group_rows(rows, 30))]
        assert names == (["lab"] if expected else [])


def test_groups_of_rows_are_columns_of_few_values():
    frame = pl.DataFrame(
        {"a": [1.0, 2.0, None, 1.0], "b": ["x", "y", "x", None], "c": [1.5, 2.5, 3.5, 4.5]}
    )
    groups = {f: codes.tolist() for f, codes in group_rows(read_rows(frame, None), 3)}
    assert groups == {0: [0, 1, -1, 0], 1: [0, 1, 0, -1]}


def test_rows_that_resemble_the_next_are_noted():
    rng = np.random.default_rng(9)
    y = np.repeat([0, 1], 100)
    walk = np.zeros((200, 10))
    for k in range(1, 200):
        walk[k] = 0.6 * walk[k - 1] + rng.normal(size=10)
    correlation, p = lag_correlation(walk, y)
    assert correlation > 0.4
    assert p <= 0.01
    assert lag_correlation(rng.normal(size=(200, 10)), y)[0] < 0.2
    assert lag_correlation(np.ones((10, 2)), np.arange(10) % 2) == (0.0, 1.0)
