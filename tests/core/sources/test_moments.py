import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.core.sources import CSCSource, DenseSource
from tests.reference import columns as naive

cell = st.one_of(
    st.sampled_from([0.0, 0.0, 1.0, -2.5, 0.1, np.nan, 1e6 + 0.1]),
    st.floats(-1e6, 1e6, width=32),
)


@st.composite
def tables(draw):
    n_rows, n_columns = draw(st.integers(1, 20)), draw(st.integers(1, 6))
    rows = st.lists(cell, min_size=n_columns, max_size=n_columns)
    X = np.array(draw(st.lists(rows, min_size=n_rows, max_size=n_rows)))
    n_groups = draw(st.integers(1, 3))
    groups = np.array(
        draw(st.lists(st.integers(0, n_groups - 1), min_size=n_rows, max_size=n_rows))
    )
    return X, groups, n_groups


def same_as_naive(moments, X, groups, n_groups):
    for j in range(X.shape[1]):
        for g, (count, mean, m2) in enumerate(naive.moments(X[:, j], groups, n_groups)):
            assert moments.count[g, j] == count
            # the sums lose at most a factor count + 1 of precision
            size = max(1.0, float(np.nanmax(np.abs(X[:, j]), initial=0.0)))
            assert moments.mean[g, j] == pytest.approx(mean, rel=1e-12, abs=1e-14 * size)
            assert moments.m2[g, j] == pytest.approx(m2, rel=1e-9, abs=1e-22)


@given(tables(), st.sampled_from([np.float64, np.float32]), st.sampled_from("CF"))
def test_dense_moments(table, dtype, layout):
    X, groups, n_groups = table
    X = np.asarray(X, dtype=dtype, order=layout)
    same_as_naive(DenseSource(X).moments(groups, n_groups), X, groups, n_groups)


@given(tables())
def test_sparse_moments(table):
    X, groups, n_groups = table
    moments = CSCSource(scipy.sparse.csc_array(X)).moments(groups, n_groups)
    for j in range(X.shape[1]):
        for g, (count, mean, m2) in enumerate(naive.moments(X[:, j], groups, n_groups)):
            size = max(1.0, float(np.nanmax(np.abs(X[:, j]), initial=0.0)))
            assert moments.count[g, j] == count
            assert moments.mean[g, j] == pytest.approx(mean, abs=1e-13 * size)
            assert moments.m2[g, j] == pytest.approx(m2, rel=1e-7, abs=1e-12 * size**2)


@pytest.mark.parametrize("n_rows", [1, 7, 8, 9, 16, 61])
@pytest.mark.parametrize("layout", "CF")
def test_equal_columns_get_equal_bits(n_rows, layout):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 9001)) + 1000
    X[:, ::5] = X[:, [0]]
    moments = DenseSource(np.asarray(X, order=layout)).moments(np.arange(n_rows) % 2, 2)
    assert len(set(moments.mean[0, ::5])) == len(set(moments.m2[0, ::5])) == 1


@pytest.mark.parametrize("layout", "CF")
def test_a_constant_group_has_exactly_no_variance(layout):
    X = np.asarray(np.tile([0.1, 1e17, -3e-9], (13, 1)), order=layout)
    moments = DenseSource(X).moments(np.arange(13) % 2, 2)
    assert (moments.m2 == 0).all()
    assert (moments.mean == X[:2]).all()


def test_large_offset_in_float32_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 200)) + 10_000).astype(np.float32)
    moments = DenseSource(X).moments()
    exact = X.astype(np.float64)
    assert moments.m2[0] == pytest.approx(((exact - exact.mean(0)) ** 2).sum(0), rel=1e-11)


@pytest.mark.parametrize("layout", "CF")
@pytest.mark.parametrize("bad", [np.inf, -np.inf])
def test_infinite_values_show(layout, bad):
    X = np.asarray(np.random.default_rng(0).normal(size=(20, 4)), order=layout)
    X[3, 2] = bad
    moments = DenseSource(X).moments()
    assert np.isfinite(moments.m2[0]).tolist() == [True, True, False, True]


def test_a_constant_column_that_a_sparse_table_stores():
    import scipy.sparse

    from featly import FTest, SignalToNoise

    rng = np.random.default_rng(0)
    X = rng.normal(size=(31, 3))
    X[:, 1] = 0.1
    y = rng.integers(0, 3, 31)
    for method in (FTest(), SignalToNoise()):
        ranker = method.fit(scipy.sparse.csc_array(X), y)
        assert ranker.scores_[1] == 0
        assert ranker.order_[-1] == 1


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
@pytest.mark.parametrize("n_rows", [1, 7, 64, 333, 2 * 32_768 + 11])
def test_bytes_have_the_moments_of_the_same_floats(order, dtype, n_rows):
    rng = np.random.default_rng(n_rows)
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max + 1, (n_rows, 5)).astype(dtype)
    values[:, 2], values[:, 3] = limits.max, [limits.min] + [limits.max] * (n_rows - 1)
    values = np.asarray(values, order=order)
    groups = rng.integers(0, 3, n_rows)
    whole = DenseSource(values).moments(groups, 3)
    floats = DenseSource(values.astype(np.float64, order="K")).moments(groups, 3)
    for name in ("count", "mean", "m2"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(floats, name))
