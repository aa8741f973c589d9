import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from featly.core.sources import CSCSource, DenseSource
from featly.core.stats.rank_tests import kruskal_wallis, permutation_p
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
    ranks = kruskal_wallis(DenseSource(X), y, 4)
    for j, column in enumerate(X.T):
        expected = naive.kruskal_wallis(column.tolist(), y.tolist())
        assert ranks.statistic[j] == pytest.approx(float(expected[0]), rel=1e-12, abs=0)
        assert ranks.freedom[j] == expected[1]


@pytest.mark.parametrize("layout", "CF")
def test_agrees_with_scipy(layout):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.integers(0, 30, size=(200, 50)).astype(np.float32), order=layout)
    y = rng.integers(0, 5, size=200)
    # scipy works in the precision of the data
    expected = stats.kruskal(*(X[y == c].astype(np.float64) for c in range(5))).statistic
    ranks = kruskal_wallis(DenseSource(X), y, 5)
    assert ranks.statistic == pytest.approx(expected, rel=1e-10)
    assert (ranks.freedom == 4).all()


def test_only_the_order_of_the_values_counts():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 20)), rng.integers(0, 3, size=60)
    expected = kruskal_wallis(DenseSource(X), y, 3).statistic
    assert np.array_equal(kruskal_wallis(DenseSource(np.exp(X)), y, 3).statistic, expected)
    rows = rng.permutation(60)
    assert np.array_equal(kruskal_wallis(DenseSource(X[rows]), y[rows], 3).statistic, expected)
    reverse = kruskal_wallis(DenseSource(-X), y, 3).statistic
    assert reverse == pytest.approx(expected, rel=1e-13)


def test_sparse_columns_and_blocks():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((40, 9000)) < 0.3, rng.normal(size=(40, 9000)), 0.0)
    y = rng.integers(0, 2, size=40)
    dense = kruskal_wallis(DenseSource(X), y, 2, n_jobs=2).statistic
    sparse = kruskal_wallis(CSCSource(scipy.sparse.csc_array(X)), y, 2).statistic
    assert np.array_equal(dense, sparse)
    few = np.array([8999, 3, 4500])
    assert np.array_equal(kruskal_wallis(DenseSource(X).view(few), y, 2).statistic, dense[few])


def test_the_largest_value_is_that_of_separated_classes():
    """H = n - 1 if and only if all values within a class are equal, and classes differ."""
    y = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    X = np.column_stack([y * 0.1, [5.0, 5, 5, 1, 1, 9, 9, 9, 9], np.ones(9)])
    assert kruskal_wallis(DenseSource(X), y, 3).statistic == pytest.approx([8, 8, 0])


@st.composite
def small_tables(draw, n_classes):
    """Few rows, so that all arrangements can be listed: ties, missing values, classes of one."""
    n_rows, n_columns = draw(st.integers(2, 7)), draw(st.integers(1, 3))
    cell = st.sampled_from([0.0, 0.5, 1.0, 1.5, -4.0, 7.0, 8.0, np.nan])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    label = st.integers(0, n_classes - 1)
    return X, np.array(draw(st.lists(label, min_size=n_rows, max_size=n_rows)))


@settings(deadline=None)
@given(small_tables(2))
def test_exact_p_equals_that_of_all_arrangements(table):
    X, y = table
    source = DenseSource(X)
    p, drawn = permutation_p(source, y, kruskal_wallis(source, y, 2))
    assert not drawn.any()
    for j, column in enumerate(X.T):
        expected = naive.permutation_p(column.tolist(), y.tolist())
        assert p[j] == pytest.approx(float(expected), rel=1e-9)


@settings(deadline=None, max_examples=30)
@given(small_tables(3))
def test_random_divisions_come_near_all_arrangements(table):
    X, y = table
    source = DenseSource(X)
    ranks = kruskal_wallis(source, y, 3)
    p, drawn = permutation_p(source, y, ranks, n_columns=1)
    for j, column in enumerate(X.T):
        expected = float(naive.permutation_p(column.tolist(), y.tolist()))
        if not drawn[j]:
            assert p[j] == pytest.approx(expected, rel=1e-9)
            continue
        error = (expected * (1 - expected) / drawn[j]) ** 0.5
        # a column stays until 20 divisions are as extreme, so the share is not that of one stage
        assert abs(p[j] - expected) < 6 * error + 3 / drawn[j] + 0.2 * expected


@pytest.mark.parametrize("n", [(3, 9), (10, 11), (25, 4), (29, 100)])
def test_columns_without_ties_equal_scipys_exact_mann_whitney(n):
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], n)
    X = rng.normal(size=(sum(n), 20)) + np.linspace(0, 1.5, 20) * y[:, None]
    X[:1, ::2] = np.nan
    source = DenseSource(X)
    p, drawn = permutation_p(source, y, kruskal_wallis(source, y, 2))
    assert not drawn.any()
    for j, x in enumerate(X.T):
        parts = [x[(y == c) & ~np.isnan(x)] for c in (0, 1)]
        assert p[j] == pytest.approx(stats.mannwhitneyu(*parts, method="exact").pvalue, rel=1e-9)


@pytest.mark.parametrize("sizes", [(60, 5), (30, 8, 4), (5,) * 6])
@pytest.mark.parametrize("zeros", [0.0, 0.8])
def test_random_divisions_agree_with_scipys(sizes, zeros):
    """Both ways to draw: the rows of the smaller classes, the classes of the rows off zero."""
    rng = np.random.default_rng(4)
    y = np.repeat(np.arange(len(sizes)), sizes)
    x = np.where(rng.random(len(y)) < zeros, 0.0, rng.integers(1, 40, len(y)) + 6.0 * y)
    source = DenseSource(x[:, None])
    ranks = kruskal_wallis(source, y, len(sizes))
    p = [permutation_p(source, y, ranks, random_state=k, n_draws=4000)[0][0] for k in range(20)]
    scores = stats.rankdata(x) - (len(x) + 1) / 2

    def between(*groups, axis):
        return sum(np.sum(g, axis=axis) ** 2 / g.shape[axis] for g in groups)

    expected = stats.permutation_test(
        [scores[y == c] for c in range(len(sizes))], between, permutation_type="independent",
        alternative="greater", vectorized=True, n_resamples=20_000, batch=5000, rng=rng,
    ).pvalue  # fmt: skip
    assert np.mean(p) == pytest.approx(expected, rel=0.2, abs=0.002)
    assert len(set(p)) > 1


def test_divisions_do_not_depend_on_threads_or_on_other_columns():
    rng = np.random.default_rng(5)
    X, y = rng.integers(0, 12, size=(90, 300)).astype(float), np.repeat([0, 1, 2], [50, 30, 10])
    source = DenseSource(X)
    ranks = kruskal_wallis(source, y, 3)
    p, drawn = permutation_p(source, y, ranks, n_columns=1, n_jobs=1)
    again, _ = permutation_p(source, y, ranks, n_columns=1, n_jobs=3)
    assert p.tobytes() == again.tobytes()
    few = np.array([7, 200, 3])
    some, _ = permutation_p(source.view(few), y, ranks.take(few), n_columns=1)
    assert some.tolist() == p[few].tolist()
    assert len(set(p[drawn == 200])) > 50
