"""Codes in three storages count alike, and as the reference implementation counts."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.core.counts.codes import CHUNK, FEW, DenseCodes, SparseCodes, WholeCodes, spread_missing
from featly.core.counts.contingency import Tables
from featly.core.counts.entropy import FixedPoint, class_information
from featly.core.counts.whole_numbers import NotWholeError, TooManyLevelsError, whole_codes
from featly.core.sources import CSCSource, DenseSource
from tests.reference import counting


def count_naively(matrix, n_levels, y, n_groups):
    return [
        [
            [sum((matrix[f] == code) & (y == c)) for c in range(n_groups)]
            for code in range(n_levels[f] + 1)
        ]
        for f in range(len(matrix))
    ]


@pytest.mark.parametrize("n_rows", [1, 2, 63, 64, 65, 200, CHUNK + 3, 600])
@pytest.mark.parametrize("n_levels", [1, 2, 5, FEW, FEW + 1, 254])
@pytest.mark.parametrize("n_groups", [1, 2, 3, FEW + 2])
def test_counts_of_a_matrix(n_rows, n_levels, n_groups):
    rng = np.random.default_rng(n_rows * 1000 + n_levels)
    matrix = rng.integers(0, n_levels + 1, (7, n_rows)).astype(np.uint8)
    sizes = np.full(7, n_levels)
    y = rng.integers(0, n_groups, n_rows)
    tables = DenseCodes(matrix, sizes).tables(y, n_groups)
    assert [tables.table(f).tolist() for f in range(7)] == count_naively(matrix, sizes, y, n_groups)
    wide = DenseCodes(matrix.astype(np.uint16), sizes).tables(y, n_groups)
    assert np.array_equal(wide.counts, tables.counts)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int16, np.int64, np.uint32])
@pytest.mark.parametrize("n_rows", [5, CHUNK, 2 * CHUNK + 9])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("spans", [(2, 2), (3, 11), (1, 100)])
def test_integers_are_read_in_place(dtype, n_rows, order, spans):
    rng = np.random.default_rng(n_rows)
    lowest = 0 if np.dtype(dtype).kind == "u" else -5
    values = np.asarray(
        rng.integers(0, np.repeat(spans, 3), (n_rows, 6)) + lowest, dtype=dtype, order=order
    )
    y = rng.integers(0, 3, n_rows)
    codes = whole_codes(DenseSource(values))
    assert isinstance(codes, WholeCodes)
    assert codes.values is values, "the array was copied"
    matrix = codes.block(0, 6)
    assert matrix.dtype == np.uint8
    assert matrix.flags.c_contiguous
    shift = matrix.T.astype(np.int64) - values
    assert (shift == shift[0]).all()
    assert np.array_equal(codes.take(np.array([4, 1])), matrix[[4, 1]])
    tables = codes.tables(y, 3)
    assert [tables.table(f).tolist() for f in range(6)] == count_naively(
        matrix, codes.n_levels, y, 3
    )


def test_a_counter_of_one_byte_does_not_overflow():
    values = np.zeros((1000, 3), np.uint8)
    values[0], values[:, 2] = 2, 1
    y = (np.arange(1000) >= 990).astype(np.int64)
    codes = whole_codes(DenseSource(values))
    tables = codes.tables(y, 2)
    assert [tables.table(f).tolist() for f in range(3)] == count_naively(
        codes.block(0, 3), codes.n_levels, y, 2
    )
    transposed = DenseCodes(codes.block(0, 3), codes.n_levels).tables(y, 2)
    assert np.array_equal(transposed.counts, tables.counts)
    many = np.ones((1, 64 * 300), np.uint8)  # more rounds than a lane holds
    alone = DenseCodes(many, np.array([2])).tables(np.zeros(many.shape[1], np.int64), 1)
    assert alone.table(0).tolist() == [[0], [many.shape[1]], [0]]


@given(data=st.data())
def test_sparse_codes_count_as_dense_ones(data):
    n, p = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 6))
    cell = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.0, 400.0, np.nan])
    rows = data.draw(st.lists(st.lists(cell, min_size=p, max_size=p), min_size=n, max_size=n))
    X = np.array(rows)
    y = np.arange(n) % 2
    sparse = whole_codes(CSCSource(scipy.sparse.csc_array(X)))
    dense = whole_codes(DenseSource(X))
    assert isinstance(sparse, SparseCodes)
    # levels may be numbered with or without empty ones between: what counts is the same
    for f in range(p):
        for codes in (sparse, dense):
            column = codes.take(np.array([f]))[0]
            assert np.array_equal(column == 0, np.isnan(X[:, f]))
            assert column.max(initial=0) <= codes.n_levels[f]
        a, b = (c.take(np.array([f]))[0].astype(int) for c in (sparse, dense))
        assert len(set(zip(a, b, strict=True))) == len(set(a)) == len(set(b))
        assert (np.argsort(a, kind="stable") == np.argsort(b, kind="stable")).all()
        full = [
            sorted(row for row in codes.tables(y, 2).table(f)[1:].tolist() if any(row))
            for codes in (sparse, dense)
        ]
        assert full[0] == full[1]
    assert np.array_equal(sparse.block(0, p), sparse.take(np.arange(p)))


def test_more_than_254_levels_take_two_bytes():
    X = np.column_stack([np.arange(1000.0) * 3, np.arange(1000) % 2])
    codes = whole_codes(DenseSource(X))
    assert codes.block(0, 2).dtype == np.uint16
    assert codes.n_levels.tolist() == [1000, 2]
    assert codes.block(0, 1)[0].tolist() == list(range(1, 1001))
    whole = whole_codes(DenseSource(X.astype(np.int32)))
    assert np.array_equal(whole.block(0, 2), codes.block(0, 2))
    sparse = whole_codes(CSCSource(scipy.sparse.csc_array(X)))
    assert np.array_equal(sparse.block(0, 2), codes.block(0, 2))


@pytest.mark.parametrize("span", [253, 254, 255])
def test_a_span_at_the_edge_of_a_byte(span):
    X = np.array([[0.0], [span], [1.0], [np.nan]])
    codes = whole_codes(DenseSource(X))
    column = codes.block(0, 1)[0].tolist()
    assert column == ([1, 254, 2, 0] if span == 253 else [1, 3, 2, 0])


def test_too_many_levels_and_numbers_that_are_not_whole():
    with pytest.raises(TooManyLevelsError) as many:
        whole_codes(DenseSource(np.arange(65_536.0)[:, None]))
    assert (many.value.feature, many.value.count) == (0, 65_536)
    X = np.zeros((4, 3))
    X[2, 1] = 0.5
    for source in (DenseSource(X), CSCSource(scipy.sparse.csc_array(X))):
        with pytest.raises(NotWholeError) as error:
            whole_codes(source)
        assert (error.value.feature, error.value.row, error.value.value) == (1, 2, 0.5)


@given(data=st.data())
def test_information_equals_reference(data):
    n = data.draw(st.integers(2, 30))
    column = np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)), np.uint8)
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    tables = DenseCodes(column[None], np.array([4])).tables(y, 3)
    information = class_information(tables, n)
    a, b = column.tolist(), y.tolist()
    expected = counting.mutual_information(a, b)
    assert information.gain()[0] == pytest.approx(expected, abs=1e-12)
    assert information.entropy[0] / information.scale == pytest.approx(
        counting.entropy(a), abs=1e-12
    )
    assert information.class_entropy[0] / information.scale == pytest.approx(
        counting.entropy(b), abs=1e-12
    )
    assert information.mutual[0] <= min(information.entropy[0], information.class_entropy[0]) + 8
    spread_information = class_information(spread_missing(tables), n)
    hx, hy, mutual = counting.table_information(counting.spread(a, b))
    assert spread_information.gain()[0] == pytest.approx(mutual, abs=1e-10)
    if mutual > 1e-9:
        assert spread_information.ratio()[0] == pytest.approx(mutual / hx, rel=1e-7)
        assert spread_information.uncertainty()[0] == pytest.approx(
            2 * mutual / (hx + hy), rel=1e-7
        )


@pytest.mark.parametrize("n", [4, 12, 30, 1000, 99_999, 1_000_000])
def test_independence_is_exactly_zero(n):
    rng = np.random.default_rng(n)
    for n_levels, n_classes in ((2, 2), (3, 2), (5, 4), (6, 6)):
        rows, columns = rng.integers(1, 9, n_levels + 1), rng.integers(1, 9, n_classes)
        rows[0] = 0
        factor = max(1, n // int(rows.sum() * columns.sum()))
        table = factor * np.outer(rows, columns)
        start = np.array([0, table.size])
        information = class_information(Tables(table.ravel(), start, n_classes), int(table.sum()))
        assert information.mutual[0] == 0
        assert information.ratio()[0] == information.uncertainty()[0] == 0


def test_permuted_levels_and_classes_change_no_bit():
    rng = np.random.default_rng(5)
    table = rng.integers(0, 50, (7, 4))
    table[0] = 0
    n = int(table.sum())
    results = set()
    for _ in range(20):
        permuted = table[np.append(0, 1 + rng.permutation(6))][:, rng.permutation(4)]
        information = class_information(Tables(permuted.ravel(), np.array([0, 28]), 4), n)
        results.add((information.gain()[0], information.ratio()[0], information.uncertainty()[0]))
    assert len(results) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 1000, 1_000_000])
def test_fixed_point_does_not_overflow(n):
    fixed = FixedPoint.for_rows(n)
    assert fixed.table[0] == 0 == fixed.table[1]
    assert float(fixed.table[n]) * 4096 < 2.0**63
    assert fixed.table[n] / 2.0**fixed.shift == pytest.approx(n * np.log2(n))
    assert (np.diff(fixed.table[1:]) > 0).all()
