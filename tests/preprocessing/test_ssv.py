"""Levels become the numbers that an exhaustive search of splits gives them."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly.basics.errors import DataError, ParameterError
from featly.core.trees.ssv import EXACT_LEVELS, order_levels
from featly.preprocessing import SSVEncoder
from tests.reference import ssv as naive


@st.composite
def columns(draw):
    n = draw(st.integers(2, 25))
    x = draw(st.lists(st.sampled_from("abcdef"), min_size=n, max_size=n))
    y = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    y[:2] = [0, 1]
    return x, y


@given(columns(), st.sampled_from([1, 2, None]))
def test_numbers_equal_definition(column, depth):
    x, y = column
    expected = naive.numbers(x, y, 99 if depth is None else depth)
    encoder = SSVEncoder(max_depth=depth).fit(pl.DataFrame({"x": x}), y)
    assert encoder.numbers_ == {0: expected}
    encoded = encoder.transform(pl.DataFrame({"x": x}))[:, 0]
    assert encoded.tolist() == [expected[v] for v in x]
    if len(set(x)) > 1:
        best = naive.best_split(sorted(set(x)), list(zip(x, y, strict=True)))[0]
        assert encoder.separability_[0] == max(best, 0)


def tables(n_levels, n_classes, seed):
    rng = np.random.default_rng(seed)
    share = rng.dirichlet(np.ones(n_classes), n_levels)
    codes = np.concatenate([np.arange(n_levels), rng.integers(0, n_levels, 40 * n_levels)])
    y = np.array([rng.choice(n_classes, p=share[v]) for v in codes])
    return codes, y


@pytest.mark.parametrize(("n_levels", "n_classes"), [(17, 2), (17, 4), (60, 2), (60, 3)])
def test_many_levels_are_split_where_no_move_and_no_share_is_better(n_levels, n_classes):
    codes, y = tables(n_levels, n_classes, n_levels + n_classes)
    numbers, _, separability = order_levels(codes[None], y, n_classes, np.array([n_levels]), 1)
    counts = np.zeros((n_levels, n_classes), np.int64)
    np.add.at(counts, (codes, y), 1)

    def value(inside):
        left, right = counts[inside].sum(axis=0), counts[~inside].sum(axis=0)
        pairs = 2 * (left * (right.sum() - right)).sum()
        return pairs - np.minimum(left, right).sum()

    inside = numbers == 1
    assert separability[0] == value(inside)
    for level in range(n_levels):
        other = inside.copy()
        other[level] ^= True
        assert value(other) <= separability[0]
    for c in range(n_classes):
        order = np.argsort(counts[:, c] / counts.sum(axis=1), kind="stable")
        for cut in range(1, n_levels):
            part = np.zeros(n_levels, bool)
            part[order[:cut]] = True
            assert value(part) <= separability[0]


def test_the_search_by_share_finds_the_best_of_all_splits_here():
    """One level more than are tried exhaustively."""
    n_levels = EXACT_LEVELS + 1
    codes, y = tables(n_levels, 2, 7)
    _, _, separability = order_levels(codes[None], y, 2, np.array([n_levels]), 1)
    counts = np.zeros((n_levels, 2), np.int64)
    np.add.at(counts, (codes, y), 1)
    masks = (np.arange(1, 2 ** (n_levels - 1))[:, None] >> np.arange(n_levels)) & 1
    left = masks @ counts
    right = counts.sum(axis=0) - left
    pairs = 2 * (left[:, 0] * right[:, 1] + left[:, 1] * right[:, 0])
    assert separability[0] == (pairs - np.minimum(left, right).sum(axis=1)).max()


def test_names_of_levels_and_order_of_rows_do_not_matter():
    codes, y = tables(12, 3, 3)
    numbers, _, _ = order_levels(codes[None], y, 3, np.array([12]), 50)
    assert len(set(numbers.tolist())) > 6
    rng = np.random.default_rng(0)
    rename, rows = rng.permutation(12), rng.permutation(len(y))
    again, _, _ = order_levels(rename[codes[rows]][None], y[rows], 3, np.array([12]), 50)
    assert again[rename].tolist() == numbers.tolist()


def test_with_two_classes_a_split_rises_with_the_share_of_the_second():
    x = ["a"] * 10 + ["b"] * 10 + ["c"] * 10
    y = [0] * 9 + [1] + [0] * 5 + [1] * 5 + [1] * 9 + [0]
    encoder = SSVEncoder().fit(pl.DataFrame({"x": x}), y)
    assert encoder.numbers_[0] == {"a": 0, "b": 1, "c": 2}
    assert encoder.fit(pl.DataFrame({"x": x}), [1 - v for v in y]).numbers_[0] == {
        "a": 2, "b": 1, "c": 0,
    }  # fmt: skip


def test_levels_of_one_class_share_a_number():
    x, y = list("aabbccdd"), [0, 0, 0, 0, 1, 1, 1, 1]
    assert SSVEncoder().fit(pl.DataFrame({"x": x}), y).numbers_[0] == {
        "a": 0, "b": 0, "c": 1, "d": 1,
    }  # fmt: skip


def test_mixed_columns_missing_values_and_new_levels():
    frame = pl.DataFrame(
        {
            "age": [50.0, None, 61.0, 47.0],
            "full": ["a", "b", "b", "b"],
            "incomplete": ["u", None, None, "u"],
            "empty": pl.Series([None] * 4, dtype=pl.String),
            "flag": [True, False, True, False],
        }
    )
    encoder = SSVEncoder().fit(frame, ["x", "y", "y", "x"])
    assert encoder.numbers_[2] == {None: 1, "u": 0}
    assert encoder.numbers_[3] == {None: 0}
    assert np.isnan(encoder.separability_).tolist() == [True, False, False, False, False]
    assert encoder.separability_[3] == 0
    new = pl.DataFrame(
        {
            "age": [None, 1.0],
            "full": [None, "new"],
            "incomplete": [None, "new"],
            "empty": ["text", None],
            "flag": [True, None],
        }
    )
    mean = 0.75 if encoder.numbers_[1]["b"] == 1 else 0.25
    encoded = encoder.transform(new)
    assert np.isnan(encoded[0, 0])
    assert encoded[1, 0] == 1
    assert encoded[:, 1].tolist() == [mean, mean]
    assert encoded[:, 2].tolist() == [1, 0.5]
    assert encoded[:, 3].tolist() == [0, 0]
    assert encoded[1, 4] == 0.5
    for other in (frame.to_pandas(), frame.to_arrow()):
        assert np.array_equal(
            clone(encoder).fit_transform(other, ["x", "y", "y", "x"]),
            encoder.transform(frame),
            equal_nan=True,
        )
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(new), encoded, equal_nan=True)


def test_arrays_of_text_and_names():
    X = np.array([["a", 1.5], ["b", 2.5], ["a", 3.5]], dtype=object)
    encoder = SSVEncoder().fit(X, [0, 1, 0])
    assert encoder.transform(X).tolist() == [[0, 1.5], [1, 2.5], [0, 3.5]]
    assert encoder.get_feature_names_out().tolist() == ["x0", "x1"]
    frame = pd.DataFrame({"a": ["u", "v"], "b": [1.0, 2.0]})
    out = SSVEncoder().set_output(transform="pandas").fit_transform(frame, [0, 1])
    assert out.columns.tolist() == ["a", "b"]
    coded = SSVEncoder(schema={"categorical": [0]}).fit(np.array([[5.0], [7.0], [5.0]]), [1, 0, 1])
    assert coded.numbers_ == {0: {"5": 1, "7": 0}}


def test_bad_input():
    frame = pl.DataFrame({"x": ["a", "b"]})
    for depth in (0, -1, 1.5, True, "2"):
        with pytest.raises(ParameterError, match="max_depth"):
            SSVEncoder(max_depth=depth).fit(frame, [0, 1])
    with pytest.raises(DataError, match="one class only"):
        SSVEncoder().fit(frame, [0, 0])
    with pytest.raises(ParameterError, match="requires y"):
        SSVEncoder().fit(frame, None)
    with pytest.raises(DataError, match="infinite"):
        SSVEncoder().fit(pl.DataFrame({"x": [np.inf, 1.0]}), [0, 1])


@parametrize_with_checks([SSVEncoder(), SSVEncoder(max_depth=1)])
def test_scikit_learn(estimator, check):
    check(estimator)
