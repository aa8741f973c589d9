import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from featly.core.sources import CSCSource, DenseSource
from featly.core.stats.rank_tests import kruskal_wallis
from tests.reference import rank_tests as naive


@st.composite
def tables(draw):
    """Ties, missing values, constant columns, classes of one row or none."""
    n_rows, n_columns = draw(st.integers(2, 14)), draw(st.integers(1, 4))
    cell = st.sampled_from([0.0, 0.1, 1.0, 1.5, -4.0, 7.0, np.nan])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    y = np.array(draw(st.lists(st.integers(0, 3), min_size=n_rows, max_size=n_rows)))
    return X, y


@given(tables())
def test_agrees_with_the_reference(table):
    X, y = table
    statistic, freedom = kruskal_wallis(DenseSource(X), y, 4)
    for j, column in enumerate(X.T):
        expected = naive.kruskal_wallis(column.tolist(), y.tolist())
        assert statistic[j] == pytest.approx(float(expected[0]), rel=1e-12, abs=0)
        assert freedom[j] == expected[1]


@pytest.mark.parametrize("layout", "CF")
def test_agrees_with_scipy(layout):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 30, size=(200, 50)).astype(np.float32), order=layout)
    y = rng.integers(0, 5, size=200)
    # scipy works in the precision of the data
    expected = stats.kruskal(*(X[y == c].astype(np.float64) for c in range(5))).statistic
    statistic, freedom = kruskal_wallis(DenseSource(X), y, 5)
    assert statistic == pytest.approx(expected, rel=1e-10)
    assert (freedom == 4).all()


def test_only_the_order_of_the_values_counts():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 20)), rng.integers(0, 3, size=60)
    expected, _ = kruskal_wallis(DenseSource(X), y, 3)
    assert np.array_equal(kruskal_wallis(DenseSource(np.exp(X)), y, 3)[0], expected)
    rows = rng.permutation(60)
    assert np.array_equal(kruskal_wallis(DenseSource(X[rows]), y[rows], 3)[0], expected)
    reverse, _ = kruskal_wallis(DenseSource(-X), y, 3)
    assert reverse == pytest.approx(expected, rel=1e-13)


def test_sparse_columns_and_blocks():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((40, 9000)) < 0.3, rng.normal(size=(40, 9000)), 0.0)
    y = rng.integers(0, 2, size=40)
    dense = kruskal_wallis(DenseSource(X), y, 2, n_jobs=2)[0]
    sparse = kruskal_wallis(CSCSource(scipy.sparse.csc_array(X)), y, 2)[0]
    assert np.array_equal(dense, sparse)
    few = np.array([8999, 3, 4500])
    assert np.array_equal(kruskal_wallis(DenseSource(X).view(few), y, 2)[0], dense[few])


def test_the_largest_value_is_that_of_separated_classes():
    """H = n - 1 if and only if all values within a class are equal, and classes differ."""
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    X = np.column_stack([y * 0.1, [5.0, 5, 5, 1, 1, 9, 9, 9, 9], np.ones(9)])
    assert kruskal_wallis(DenseSource(X), y, 3)[0] == pytest.approx([8, 8, 0])
