import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.core.counts import uncertainty as module
from featly.core.counts.codes import DenseCodes, SparseCodes, WholeCodes
from featly.core.counts.uncertainty import Pairs, Planes, uncertainty
from tests.reference import subset_filters as naive


@st.composite
def columns_of_codes(draw):
    """Missing values, ties, constant columns, columns without any value, empty levels."""
    n_rows, n_columns = draw(st.integers(1, 70)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    most = draw(st.integers(0, 4))
    columns = rng.integers(draw(st.integers(0, 1)), most + 2, size=(n_columns, n_rows))
    columns[rng.random(columns.shape) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = 0
    return np.array(columns, np.uint8)


def make_codes(columns, n_jobs=None):
    return DenseCodes(columns, np.full(len(columns), 6), n_jobs)


@given(columns_of_codes(), st.booleans())
def test_every_pair_equals_reference(columns, spread):
    pairs = Pairs(make_codes(columns), np.arange(len(columns)), spread=spread)
    for k, x in enumerate(columns.tolist()):
        expected = [naive.uncertainty(x, other, spread) for other in columns.tolist()]
        assert pairs.row(k) == pytest.approx(expected, abs=1e-9)
        for j in range(len(columns)):
            assert pairs.row(k)[j] == pytest.approx(pairs.row(j)[k], abs=1e-10 * spread)


@given(columns_of_codes())
def test_all_methods_of_counting_give_the_same_bits(columns):
    codes = make_codes(columns)
    planes = Planes(codes)
    assert planes.missing == bool((columns == 0).any())
    for k, x in enumerate(columns):
        groups = x.astype(np.int64)
        by_tables = uncertainty(codes, groups, 6)
        assert np.array_equal(module._round_to_grid(planes.uncertainty(k)), by_tables)
        assert np.array_equal(
            module._round_to_grid(module._uncertainty_by_rows(codes, groups, 6)), by_tables
        )


@given(columns_of_codes(), st.booleans(), st.integers(0, 9))
def test_names_of_levels_and_order_of_rows_do_not_matter(columns, spread, seed):
    rng = np.random.default_rng(seed)
    shuffled = columns[:, rng.permutation(columns.shape[1])]
    renamed = np.append(0, 1 + rng.permutation(6))[shuffled].astype(np.uint8)
    whole = np.arange(len(columns))
    for k in whole.tolist():
        before, rows, levels = (
            Pairs(make_codes(table), whole, spread=spread).row(k)
            for table in (columns, shuffled, renamed)
        )
        assert np.array_equal(before, rows)
        assert levels == pytest.approx(before, abs=1e-10 * spread)


def test_certain_independent_and_constant_columns_are_exact():
    a, b = np.repeat([1, 2, 3], 7), np.tile([1, 2, 3, 4, 5, 6, 7], 3)
    columns = np.array([a, b, np.ones(21), 4 - a, np.zeros(21)], np.uint8)
    pairs = Pairs(DenseCodes(columns, np.array([3, 7, 1, 3, 0])), np.arange(5))
    assert pairs.row(0).tolist() == [1.0, 0.0, 0.0, 1.0, 0.0]
    assert pairs.row(2).tolist() == pairs.row(4).tolist() == [0.0] * 5


def test_sums_are_exact_in_any_order():
    rng = np.random.default_rng(0)
    values = uncertainty(make_codes(rng.integers(0, 4, (500, 40)).astype(np.uint8)),
                        rng.integers(1, 4, 40), 3)  # fmt: skip
    whole = values * 2**36
    assert np.array_equal(whole, np.rint(whole))
    assert values.sum() == values[::-1].sum() == sum(values.tolist()) == np.cumsum(values)[-1]


@pytest.mark.parametrize("spread", [False, True])
def test_columns_of_many_levels(spread):
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 300, size=(4, 400)).astype(np.uint16)
    columns[1] = columns[0] // 3
    columns[3] %= 3
    pairs = Pairs(DenseCodes(columns, np.full(4, 300)), np.array([0, 1, 3]), spread=spread)
    for k, f in enumerate((0, 1, 3)):
        expected = [
            naive.uncertainty(columns[f].tolist(), columns[g].tolist(), spread) for g in (0, 1, 3)
        ]
        assert pairs.row(k) == pytest.approx(expected, abs=1e-9)


def test_columns_in_another_order():
    rng = np.random.default_rng(2)
    columns = rng.integers(0, 3, size=(5, 30)).astype(np.uint8)
    order = np.array([3, 0, 4, 1, 2])
    plain, moved = Pairs(make_codes(columns), np.arange(5)), Pairs(make_codes(columns), order)
    for k, f in enumerate(order.tolist()):
        assert moved.row(k).tolist() == plain.row(f)[order].tolist()


@pytest.mark.parametrize("spread", [False, True])
def test_storage_blocks_and_threads_do_not_matter(spread, monkeypatch):
    rng = np.random.default_rng(1)
    values = rng.integers(0, 3, size=(50, 40)).astype(np.int8)
    dense = DenseCodes(np.ascontiguousarray(values.T + 1).astype(np.uint8), np.full(40, 3), 1)
    sparse = scipy.sparse.csc_array(values)
    low, high = np.zeros(40, np.int64), np.full(40, 2)
    kinds = [
        dense,
        DenseCodes(dense.matrix, dense.n_levels, 2),
        WholeCodes(values, low, high),
        SparseCodes(sparse, (sparse.data + 1).astype(np.uint8), np.ones(40, np.uint8),
                    np.full(40, 3)),
    ]  # fmt: skip
    features = np.arange(3, 40, 2)
    expected = [Pairs(dense, features, spread=spread).row(k) for k in range(len(features))]
    monkeypatch.setattr(module, "BLOCK", 4)
    monkeypatch.setattr(module, "PLANE_BLOCK", 4)
    monkeypatch.setattr(module, "CELLS", 50)
    for limit in (1 << 28, 0):
        monkeypatch.setattr("featly.core.counts.codes.COPY_BYTES", limit)
        for codes in kinds:
            pairs = Pairs(codes, features, spread=spread)
            assert len(pairs) == len(features)
            for k, row in enumerate(expected):
                assert np.array_equal(pairs.row(k), row)
                assert pairs.row(k) is pairs.row(k), "computed twice"
