import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.core.sources import (
    CSCSource,
    DenseSource,
    weighted_comoments,
    weighted_level_counts,
    weighted_moments,
)
from tests.reference import batches as reference


@st.composite
def tables(draw):
    """Ties, missing values, constant columns, groups of one row, an offset; and weights."""
    n_rows, n_columns = draw(st.integers(1, 12)), draw(st.integers(1, 5))
    cell = st.sampled_from([0.0, 0.1, 1.0, 1.5, -4.0, np.nan])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    weight = st.sampled_from([0.25, 1.0, 2.0, 3.5])
    weights = np.array(draw(st.lists(weight, min_size=n_rows, max_size=n_rows)))
    groups = np.array(draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))
    return X + draw(st.sampled_from([0.0, 1e6])), weights, groups


def sources(X):
    yield DenseSource(np.ascontiguousarray(X))
    yield DenseSource(np.asfortranarray(X))
    yield CSCSource(scipy.sparse.csc_array(X))


def close(value, expected):
    return value == pytest.approx(expected, rel=1e-9, abs=1e-6)


@given(tables())
def test_moments_of_every_group(table):
    X, weights, groups = table
    for source in sources(X):
        moments = weighted_moments(source, weights, groups, 3)
        for g in range(3):
            rows = groups == g
            for f in range(X.shape[1]):
                n, mean, m2 = reference.weighted_moments(X[rows, f], weights[rows])
                assert moments.count[g, f] == n
                assert close(moments.mean[g, f], mean)
                assert close(moments.m2[g, f], m2)


@given(tables())
def test_comoments(table):
    X, weights, groups = table
    h = groups - 0.3
    for source in sources(X):
        out = weighted_comoments(source, weights, h)
        for f in range(X.shape[1]):
            expected = reference.weighted_comoments(X[:, f], h, weights)
            for part, value in zip(out.parts(), expected, strict=True):
                assert close(part[f], value)


@given(tables())
def test_a_constant_group_has_no_spread(table):
    X, weights, groups = table
    flat = np.where(np.isnan(X), np.nan, 0.1 + groups[:, None])
    moments = weighted_moments(DenseSource(flat), weights, groups, 3)
    assert (moments.m2 == 0).all()


def test_levels_are_weighed():
    codes = np.array([[1, 2, 2, 0]], np.uint8)
    kinds = np.array([0, 2], np.uint8)
    source = DenseSource(np.zeros((4, 1)), codes, kinds, np.array([2]))
    weights = np.array([1.0, 0.5, 2.0, 9.0])
    assert weighted_level_counts(source, weights).tolist() == [0.0, 1.0, 2.5]


def test_moments_add_up():
    rng = np.random.default_rng(0)
    X, y, h = rng.normal(1e3, 1, (50, 4)), rng.integers(0, 3, 50), rng.normal(size=50)
    X[::7, 1] = np.nan
    X[:20, 2] = np.nan  # no value in the first part
    first, second = slice(0, 20), slice(20, 50)
    whole = DenseSource(X).moments(y, 3)
    parts = [DenseSource(X[rows]).moments(y[rows], 3) for rows in (first, second)]
    for name in ("count", "mean", "m2"):
        assert getattr(parts[0] + parts[1], name) == pytest.approx(getattr(whole, name), rel=1e-12)
    shared = DenseSource(X).comoments(h)
    parts = [DenseSource(X[rows]).comoments(h[rows]) for rows in (first, second)]
    for part, value in zip((parts[0] + parts[1]).parts(), shared.parts(), strict=True):
        assert part == pytest.approx(value, rel=1e-10, abs=1e-10)
