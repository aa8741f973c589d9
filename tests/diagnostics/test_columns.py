from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.diagnostics import suspect_columns


@settings(max_examples=50)
@given(
    st.lists(
        st.lists(st.sampled_from([0.0, -0.0, 1.0, 2.5, np.nan]), min_size=6, max_size=6),
        min_size=2,
        max_size=6,
    )
)
def test_copies_are_those_with_equal_cells(columns):
    X = np.array(columns).T
    suspects = suspect_columns(X)
    distinct = [len(set(x[~np.isnan(x)].tolist())) for x in X.T]
    assert suspects.empty == [f"x{f}" for f, count in enumerate(distinct) if count == 0]
    assert suspects.constant == [f"x{f}" for f, count in enumerate(distinct) if count == 1]
    paired = {frozenset(pair) for group in suspects.identical for pair in combinations(group, 2)}
    expected = {
        frozenset((f"x{a}", f"x{b}"))
        for a, b in combinations(range(X.shape[1]), 2)
        if min(distinct[a], distinct[b]) > 1 and np.array_equal(X[:, a], X[:, b], equal_nan=True)
    }
    assert paired == expected


def test_other_units_and_other_names():
    rng = np.random.default_rng(0)
    x = rng.normal(size=50)
    x[3] = np.nan
    g = rng.integers(0, 3, 50)
    table = pl.DataFrame(
        {
            "x": x,
            "fahrenheit": 1.8 * x + 32,
            "minus": -x / 7,
            "curved": np.exp(x),
            "missing elsewhere": np.where(np.arange(50) == 5, np.nan, np.nan_to_num(x)),
            "g": np.array(["r", "s", "t"])[g],
            "h": np.array(["k", "i", "j"])[g],
            "number": np.array([9, 2, 4])[g],
            "merged": np.array(["k", "k", "j"])[g],
        }
    )
    suspects = suspect_columns(table)
    assert suspects.rescaled == [["x", "fahrenheit", "minus"]]
    assert suspects.relabelled == [["g", "h", "number"]]
    assert suspects.identical == []
    assert suspects.redundant == ["fahrenheit", "minus", "h", "number"]
    frame = suspects.to_frame()
    assert frame["suspicion"].to_list() == ["rescaled"] * 2 + ["relabelled"] * 2
    assert frame["like"].to_list() == ["x", "x", "g", "g"]


def test_levels_are_compared_by_name():
    odd = pl.Enum(["b", "unused", "a"])
    table = pl.DataFrame(
        {
            "g": ["a", "b", "b", None] * 5,
            "next": ["b", "c", "c", None] * 5,  # the same codes for other levels
            "other order": pl.Series(["a", "b", "b", None] * 5, dtype=odd),
        }
    )
    suspects = suspect_columns(table)
    assert suspects.identical == [["g", "other order"]]
    assert suspects.relabelled == [["g", "next"]]


def test_zero_has_no_sign():
    X = np.array([[0.0, -0.0], [1.0, 1.0], [2.0, 2.0]])
    assert suspect_columns(X).identical == [["x0", "x1"]]


def test_identifiers_are_not_called_relabelled():
    names = [f"p{i}" for i in range(30)]
    suspects = suspect_columns(pl.DataFrame({"id": names, "code": names[::-1]}))
    assert suspects.relabelled == []
    assert suspects.identical == []


@pytest.mark.parametrize(
    ("counts", "near"),
    [([95, 5], True), ([94, 6], False), ([95, 3, 2], True), ([89, *[1] * 11], False)],
)
def test_the_rule_for_near_constants(counts, near):
    values = np.repeat(np.arange(len(counts)), counts).astype(float)
    suspects = suspect_columns(values[:, None])
    assert list(suspects.near_constant) == (["x0"] if near else [])
    if near:
        assert suspects.near_constant["x0"] == counts[0] / 100


def test_wide_tables_and_threads():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 700))
    X[:, 650] = X[:, 3]
    X[:, 10] = 4
    a, b = suspect_columns(X, n_jobs=1), suspect_columns(X, n_jobs=2)
    assert a == b
    assert a.identical == [["x3", "x650"]]
    assert a.constant == ["x10"]
    assert "1 copies of other columns" in str(a)
    assert suspect_columns(X[:, :3]).to_frame().height == 0
