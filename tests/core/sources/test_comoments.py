"""Moments of columns together with those of a variable, from every source, against rationals."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.sources import CSCSource, DenseSource, StreamedSource
from tests.reference import columns as naive

cell = st.one_of(
    st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5, 0.1, np.nan, 1e6 + 0.1]),
    st.floats(-1e6, 1e6, width=32),
)


@st.composite
def tables(draw):
    n_rows, n_columns = draw(st.integers(1, 20)), draw(st.integers(1, 6))
    rows = st.lists(cell, min_size=n_columns, max_size=n_columns)
    X = np.array(draw(st.lists(rows, min_size=n_rows, max_size=n_rows)))
    values = st.one_of(st.sampled_from([0.0, 1.0, 5.3]), st.floats(-1e3, 1e3))
    h = np.array(draw(st.lists(values, min_size=n_rows, max_size=n_rows)))
    return X, h - h.mean()


class Store:
    """A table in memory that is read as one on disk."""

    def __init__(self, X, *, feature_major):
        self.X, self.feature_major = X, feature_major
        self.n_rows, self.dtype = len(X), X.dtype
        self.kinds = np.zeros(X.shape[1], np.uint8)

    def _source(self, values):
        return DenseSource(np.asarray(values, order="F" if self.feature_major else "C"))

    def read(self, low, high):
        return self._source(self.X[:, low:high])

    def take(self, features):
        return self._source(self.X[:, features])

    def check(self):
        pass


def source_of(X, form):
    if form == "sparse":
        return CSCSource(scipy.sparse.csc_array(X))
    if form == "streamed":
        return StreamedSource(Store(X, feature_major=False), 1 << 16)
    return DenseSource(np.asarray(X, order=form))


def assert_equal_reference(X, h, answer):
    count, mean, m2, mean_h, m2_h, product = answer.parts()
    size_h = max(1.0, float(np.abs(h).max()))
    for j, column in enumerate(X.T):
        n, x, xx, u, uu, xu = naive.comoments(column, h)
        size = max(1.0, float(np.nanmax(np.abs(column), initial=0.0)))
        assert count[j] == n
        assert mean[j] == pytest.approx(x, rel=1e-12, abs=1e-13 * size)
        assert m2[j] == pytest.approx(xx, rel=1e-9, abs=1e-12 * size**2)
        assert mean_h[j] == pytest.approx(u, abs=1e-13 * size_h)
        assert m2_h[j] == pytest.approx(uu, rel=1e-9, abs=1e-12 * size_h**2)
        assert product[j] == pytest.approx(xu, rel=1e-8, abs=1e-11 * size * size_h)


@pytest.mark.parametrize("form", ["C", "F", "sparse", "streamed"])
@given(table=tables(), dtype=st.sampled_from([np.float64, np.float32]))
def test_every_source_equals_the_reference(form, table, dtype):
    X, h = table
    X = X.astype(dtype)
    assert_equal_reference(X.astype(np.float64), h, source_of(X, form).comoments(h))


@pytest.mark.parametrize("form", ["C", "F", "sparse", "streamed"])
@pytest.mark.parametrize("n_rows", [4, 7, 61])
def test_a_constant_has_exactly_no_variance(form, n_rows):
    X = np.tile([0.1, 1e15 + 0.3, -3e-9, 0.0], (n_rows, 1))
    X[1, 1] = np.nan
    h = np.random.default_rng(0).normal(size=n_rows)
    answer = source_of(X, form).comoments(h - h.mean())
    assert (answer.m2 == 0).all()
    assert (answer.product == 0).all()
    assert answer.mean.tolist() == X[0].tolist()


@pytest.mark.parametrize("form", ["C", "F", "sparse", "streamed"])
def test_a_target_that_is_constant_beside_the_values_has_exactly_no_variance(form):
    """A column that was measured only where the target is 5.3, such as a floor of an assay."""
    rng = np.random.default_rng(1)
    h = np.where(np.arange(200) < 120, 5.3, rng.normal(size=200) * 1e4)
    X = rng.normal(size=(200, 3)) + 100
    X[120:, :2] = np.nan
    X[:3, 1] = np.nan
    answer = source_of(X, form).comoments(h - h.mean())
    assert answer.m2_h[:2].tolist() == answer.product[:2].tolist() == [0.0, 0.0]
    assert answer.m2_h[2] > 0


@pytest.mark.parametrize("form", ["C", "F", "streamed"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_large_offsets_keep_their_digits(form, dtype):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(60, 50)) + 10_000).astype(dtype)
    h = rng.normal(size=60)
    answer = source_of(X, form).comoments(h - h.mean())
    exact = X.astype(np.float64) - X.astype(np.float64).mean(axis=0)
    assert answer.m2 == pytest.approx((exact**2).sum(axis=0), rel=1e-11)
    assert answer.product == pytest.approx(exact.T @ (h - h.mean()), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", ["C", "F", "sparse"])
@pytest.mark.parametrize("n_rows", [1, 3, 4, 9, 61])
def test_equal_columns_get_equal_bits(form, n_rows):
    X = np.random.default_rng(n_rows).normal(size=(n_rows, 9001)) + 1000
    X[0, 1] = np.nan
    X[:, ::5] = X[:, [0]]
    h = np.arange(n_rows) - (n_rows - 1) / 2
    answer = source_of(X, form).comoments(h)
    assert all(len(set(part[::5])) == 1 for part in answer.parts())


@pytest.mark.parametrize("form", ["C", "F", "sparse"])
def test_infinite_values_stay_visible(form):
    X = np.array([[1.0, np.inf, np.inf], [2.0, 1.0, np.inf], [4.0, 2.0, np.inf]])
    answer = source_of(X, form).comoments(np.array([-1.0, 0.0, 1.0]))
    assert np.isfinite(answer.m2).tolist() == [True, False, False]


def test_views_and_categorical_columns_have_their_places():
    rng = np.random.default_rng(3)
    X, h = rng.normal(size=(30, 3)), rng.normal(size=30)
    h -= h.mean()
    codes = rng.integers(1, 4, (2, 30)).astype(np.uint8)
    kinds = np.array([2, 0, 0, 2, 0], np.uint8)
    mixed = DenseSource(X, codes, kinds, np.array([3, 3]))
    whole = DenseSource(X).comoments(h)
    answer = mixed.comoments(h)
    assert answer.count.tolist() == [0, 30, 30, 0, 30]
    assert answer.product[[1, 2, 4]].tolist() == whole.product.tolist()
    part = mixed.view(np.array([4, 0, 1])).comoments(h)
    assert part.product.tolist() == [whole.product[2], 0.0, whole.product[0]]


@settings(max_examples=20)
@given(st.integers(0, 1000), st.sampled_from([1, 2, 5]))
def test_threads_change_no_bit(seed, n_jobs):
    rng = np.random.default_rng(seed)
    X, h = rng.normal(size=(17, 600)), rng.normal(size=17)
    answers = [DenseSource(X, n_jobs=k).comoments(h).product.tolist() for k in (1, n_jobs)]
    assert answers[0] == answers[1]
