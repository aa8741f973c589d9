import warnings

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.feature_selection import f_classif

from featly import FTest
from featly.core.sources import DenseSource
from featly.filters.f_test import f_statistic
from tests.reference.columns import order


@st.composite
def tables(draw):
    """Ties, missing values, constant columns, classes of one row."""
    n_rows, n_columns = draw(st.integers(3, 15)), draw(st.integers(1, 5))
    cell = st.sampled_from([0.0, 0.1, 1.0, 1.5, -4.0, np.nan])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    y = np.array(draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))
    y[:2] = 0, 1
    return X, y


def naive(x, y):
    """F and p of one column by scipy, missing values left out; None where no test exists."""
    groups = [x[(y == c) & ~np.isnan(x)] for c in np.unique(y)]
    groups = [group for group in groups if len(group)]
    n = sum(len(group) for group in groups)
    if len(groups) < 2 or n <= len(groups) or len(set(np.concatenate(groups))) == 1:
        return 0.0, None
    if all(len(set(group)) == 1 for group in groups):
        return np.inf, 0.0
    return stats.f_oneway(*groups)


@given(tables())
def test_every_column_equals_scipy(table):
    X, y = table
    test = FTest().fit(X, y)
    for j in range(X.shape[1]):
        statistic, p = naive(X[:, j], y)
        assert test.statistic_[j] == pytest.approx(statistic, rel=1e-9, abs=1e-12)
        if p is not None:
            assert test.p_value_[j] == pytest.approx(p, rel=1e-9, abs=1e-15)
    assert test.order_.tolist() == order(test.scores_.tolist())
    assert test.q_value_ == pytest.approx(stats.false_discovery_control(test.p_value_))


def test_complete_columns_are_ordered_as_scikit_learn_does():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 300)), rng.integers(0, 3, size=40)
    statistic, p = f_classif(X, y)
    test = FTest().fit(X, y)
    assert test.statistic_ == pytest.approx(statistic, rel=1e-10)
    assert test.p_value_ == pytest.approx(p, rel=1e-10)
    assert test.order_.tolist() == np.argsort(-statistic).tolist()


def test_float32_with_an_offset_where_scikit_learn_is_wrong():
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(60, 500)) + 10_000).astype(np.float32)
    y = np.arange(60) % 2
    centred = X.astype(np.float64)
    exact, _ = f_classif(centred - centred.mean(0), y)  # even float64 loses digits otherwise
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.nanmin(f_classif(X, y)[0]) < 0
    assert FTest().fit(X, y).statistic_ == pytest.approx(exact, rel=1e-7)


def test_missing_values_compare_by_evidence_not_by_f():
    """Five values with a large F are weaker evidence than a hundred with a smaller one."""
    rng = np.random.default_rng(2)
    y = np.arange(100) % 2
    many = rng.normal(size=100) + 1.2 * y
    few = np.full(100, np.nan)
    few[:5] = [0.0, 1.0, 0.1, 1.1, 0.25]
    test = FTest().fit(np.column_stack([few, many]), y)
    assert test.statistic_[0] > test.statistic_[1]
    assert test.p_value_[0] > test.p_value_[1]
    assert test.order_.tolist() == [1, 0]


def test_perfect_columns_tie_at_infinity():
    y = np.arange(12) % 2
    X = np.column_stack([np.random.default_rng(0).normal(size=12), 0.1 * y, y * 7.3 + 0.1])
    test = FTest().fit(X, y)
    assert test.statistic_[1:].tolist() == [np.inf, np.inf]
    assert test.order_.tolist() == [1, 2, 0]
    assert test.p_value_[1] == 0


def test_far_apart_columns_are_ordered_where_p_underflows():
    y = np.arange(2000) % 2
    noise = np.random.default_rng(0).normal(size=2000)
    X = np.column_stack([y * 4 + noise, y * 5 + noise, y * 6 + noise])
    test = FTest().fit(X, y)
    assert (test.p_value_ == 0).all()
    assert test.order_.tolist() == [2, 1, 0]


@given(st.integers(0, 1000))
def test_two_classes_are_the_squared_t_test(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(20, 3)), np.arange(20) % 2
    statistic, d1, d2 = f_statistic(DenseSource(X).moments(y, 2))
    t = stats.ttest_ind(X[y == 0], X[y == 1]).statistic
    assert statistic == pytest.approx(t**2, rel=1e-9)
    assert (d1[0], d2[0]) == (1, 18)


def test_entries_stored_twice_in_a_sparse_table_are_added():
    rows, columns = np.array([0, 0, 1, 2, 3]), np.array([0, 2, 4, 5])
    matrix = scipy.sparse.csc_array((np.array([1.0, 2, 3, 4, 5]), rows, columns), shape=(4, 3))
    y = [0, 1, 0, 1]
    statistic = FTest().fit(matrix, y).statistic_
    assert statistic == pytest.approx(FTest().fit(matrix.toarray(), y).statistic_)
    assert matrix.nnz == 5  # the user's matrix is left as it was
