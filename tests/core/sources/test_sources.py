"""Gram matrices and quadratic forms of every source against explicit one-hot columns."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.core.sources import CSCSource, DenseSource, centers_and_variances, unit_scale
from featly.core.sources import base as sources
from featly.core.sources.linear import downdate_gram
from tests.reference import columns as naive


@st.composite
def mixed_sources(draw):
    """Draw a mixed source with ties and constant columns, and the same columns in plain lists."""
    n_rows = draw(st.integers(2, 18))
    kinds = draw(st.lists(st.sampled_from(["number", "code"]), min_size=1, max_size=7))
    numbers, codes, levels, plain = [], [], [], []
    for kind in kinds:
        if kind == "number":
            cell = st.one_of(st.sampled_from([0.0, 1.0, 2.0]), st.floats(-50, 50, width=32))
            values = draw(st.lists(cell, min_size=n_rows, max_size=n_rows))
            numbers.append(values)
            plain.append(naive.atoms(values, "number"))
        else:
            size = draw(st.integers(1, 5))
            code = st.integers(1, size)
            values = draw(st.lists(code, min_size=n_rows, max_size=n_rows))
            codes.append(values)
            levels.append(size)
            plain.append(naive.atoms(values, "code", size))
    layout, dtype = draw(st.sampled_from("CF")), draw(st.sampled_from([np.float32, np.float64]))
    values = np.asarray(np.array(numbers).reshape(-1, n_rows).T, dtype=dtype, order=layout)
    source = DenseSource(
        values,
        np.array(codes, dtype=np.uint8).reshape(-1, n_rows),
        np.array([CONTINUOUS if k == "number" else CATEGORICAL for k in kinds], dtype=np.uint8),
        np.array(levels, dtype=np.int64),
    )
    v = np.array(draw(st.lists(st.floats(-3, 3), min_size=n_rows, max_size=n_rows)))
    return source, plain, v


def standardise(source, scale=True):
    center, variance = centers_and_variances(source, source.moments())
    return source.scaled(center, unit_scale(variance) if scale else np.ones(len(variance)))


@given(mixed_sources(), st.data())
def test_dense_source(case, data):
    source, plain, v = case
    scaled = [naive.standardise(rows) for rows in plain]
    scaled_source = standardise(source)
    tolerance = {"rel": 1e-6, "abs": 1e-8}  # float32 columns with tiny spreads amplify rounding
    assert scaled_source.gram() == pytest.approx(naive.gram(scaled), **tolerance)
    assert scaled_source.forms(v) == pytest.approx(
        [naive.form(rows, v) for rows in scaled], **tolerance
    )
    assert source.gram() == pytest.approx(naive.gram(plain), rel=1e-9, abs=1e-9)
    chosen = data.draw(st.permutations(range(len(plain))).map(lambda order: order[:3]))
    part = scaled_source.view(np.array(chosen))
    chosen_columns = [scaled[f] for f in chosen]
    assert part.forms(v) == pytest.approx(
        [naive.form(rows, v) for rows in chosen_columns], **tolerance
    )
    assert part.gram() == pytest.approx(naive.gram(chosen_columns), **tolerance)
    assert part.compact().gram() == pytest.approx(naive.gram(chosen_columns), **tolerance)
    assert part.compact().forms(v) == pytest.approx(part.forms(v), **tolerance)
    assert scaled_source.gram(np.array(chosen)) == pytest.approx(
        naive.gram(chosen_columns), **tolerance
    )
    loaded = scaled_source.load(np.arange(len(plain)))
    assert loaded == pytest.approx(np.array([r for rows in scaled for r in rows]), **tolerance)
    assert source.n_atoms == source.atoms[-1] == len(loaded)


@given(mixed_sources())
def test_blocks_cover_the_features_once(case):
    source, _, _ = case
    for max_bytes in (1, 100, 10_000):
        blocks = source.blocks(max_bytes)
        assert [f for low, high in blocks for f in range(low, high)] == list(
            range(source.n_features)
        )


@given(st.integers(0, 10_000), st.booleans())
def test_sparse_source_is_the_dense_one(seed, scale):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((12, 9)) < 0.3, rng.integers(-3, 4, size=(12, 9)), 0).astype(float)
    v = rng.normal(size=12)
    dense, sparse = DenseSource(X), CSCSource(scipy.sparse.csc_array(X))
    dense, sparse = standardise(dense, scale), standardise(sparse, scale)
    for dense_part, sparse_part in (
        (dense, sparse),
        (dense.view(np.array([5, 0, 7])), sparse.view(np.array([5, 0, 7]))),
    ):
        assert sparse_part.gram() == pytest.approx(dense_part.gram(), rel=1e-10, abs=1e-11)
        assert sparse_part.forms(v) == pytest.approx(dense_part.forms(v), rel=1e-10, abs=1e-11)
        everything = np.arange(dense_part.n_features)
        assert sparse_part.load(everything) == pytest.approx(dense_part.load(everything), abs=1e-12)
    some = np.array([8, 1])
    assert sparse.gram(some) == pytest.approx(dense.gram(some), rel=1e-10, abs=1e-11)


@pytest.mark.parametrize("layout", "CF")
@pytest.mark.parametrize("n_rows", [5, 8, 63, 64, 65, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_columns_get_equal_bits(layout, n_rows, dtype):
    """Equal columns have equal forms at odd offsets, in other blocks, beside others."""
    rng = np.random.default_rng(n_rows)
    X = rng.normal(size=(n_rows, 9001)).astype(dtype)
    X[:, ::7] = X[:, [0]]
    source = standardise(DenseSource(np.asarray(X, order=layout)))
    forms = source.forms(rng.normal(size=n_rows))
    assert len(set(forms[::7])) == 1


def test_gram_of_many_rows_is_cut_into_panels(monkeypatch):
    X = np.random.default_rng(0).normal(size=(70, 40))
    whole = DenseSource(X).gram()
    monkeypatch.setattr(sources, "PANEL_ROWS", 16)
    assert DenseSource(X).gram() == pytest.approx(whole, rel=1e-12, abs=1e-12)
    assert whole == pytest.approx(X @ X.T, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("where", [0, 1])
def test_a_categorical_column_without_any_value(where):
    kinds = np.array([CONTINUOUS, CONTINUOUS])
    kinds[where] = CATEGORICAL
    values, codes = np.arange(6.0)[:, None], np.zeros((1, 6), np.uint8)
    source = standardise(DenseSource(values, codes, kinds, np.array([0])))
    assert source.n_atoms == 2
    forms = source.forms(np.arange(6.0))
    assert forms[where] == 0
    assert forms[1 - where] > 0


def test_missing_codes_are_in_no_level():
    codes = np.array([[0, 1, 2, 0]], dtype=np.uint8)
    source = DenseSource(None, codes, np.array([CATEGORICAL]), np.array([2]))
    assert source.level_counts().tolist() == [1, 1]
    assert source.load(np.array([0])).tolist() == [[0, 1, 0, 0], [0, 0, 1, 0]]


def test_bytes_are_those_of_the_numbers_alone():
    codes, kinds = np.ones((1, 5), np.uint8), np.array([CONTINUOUS, CATEGORICAL, CONTINUOUS])
    source = DenseSource(np.zeros((5, 2), np.float32), codes, kinds, np.array([1]))
    assert source.nbytes == 2 * 5 * 4
    assert source.view(np.array([1, 2])).nbytes == 5 * 4


def test_a_gram_matrix_without_a_column_and_its_trace():
    X = np.random.default_rng(0).normal(size=(6, 4))
    K = X @ X.T
    trace = downdate_gram(K, X[:, 3])
    assert pytest.approx(X[:, :3] @ X[:, :3].T) == K
    assert trace == pytest.approx((X[:, :3] ** 2).sum())


def test_rows_lose_the_levels_that_no_row_has():
    codes = np.array([[1, 2, 3, 2, 0], [1, 1, 1, 1, 1]], np.uint8)
    kinds = np.array([CATEGORICAL, CONTINUOUS, CATEGORICAL])
    values = np.arange(5.0)[:, None]
    source = DenseSource(values, codes, kinds, np.array([3, 1]))
    part = source.take_rows(np.array([0, 2, 4]), 1)
    assert part.n_rows == 3
    assert part.n_jobs == 1
    np.testing.assert_array_equal(part.atoms, [0, 2, 3, 4])
    np.testing.assert_array_equal(part.codes, [[1, 2, 0], [1, 1, 1]])
    np.testing.assert_array_equal(part.load(np.array([1])), [[0.0, 2.0, 4.0]])
    np.testing.assert_array_equal(part.view(np.array([2, 0])).atoms, [0, 1, 3])
    np.testing.assert_array_equal(source.atoms, [0, 3, 4, 5])
