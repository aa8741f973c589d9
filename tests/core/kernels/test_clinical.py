import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.core.kernels import clinical
from featly.core.kernels.clinical import (
    ClinicalColumns,
    add_similarities,
    code_positions,
    number_positions,
    ranges,
)
from featly.core.sources import CSCSource, DenseSource
from tests.reference.clinical import column_kernel


@st.composite
def tables(draw):
    """Few values, so ties; missing values; constant, empty and two-row columns."""
    n = draw(st.integers(2, 9))
    number = st.one_of(st.sampled_from([-1.0, 0.0, 0.5, 3.0, float("nan")]), st.floats(-1e3, 1e3))
    numbers = draw(st.lists(st.lists(number, min_size=n, max_size=n), min_size=0, max_size=4))
    codes = draw(
        st.lists(st.lists(st.integers(0, 3), min_size=n, max_size=n), min_size=0, max_size=4)
    )
    if not numbers and not codes:
        numbers = [[0.0] * n]
    v = draw(st.lists(st.floats(-2, 2), min_size=n, max_size=n))
    weight = draw(
        st.lists(
            st.sampled_from([0.0, 0.5, 1.0, 2.0]),
            min_size=len(numbers) + len(codes),
            max_size=len(numbers) + len(codes),
        )
    )
    shape = (len(numbers), n)
    return (
        np.array(numbers, float).reshape(shape),
        np.array(codes, np.int64).reshape(len(codes), n),
        np.array(v),
        np.array(weight),
    )


def positions(numbers, codes):
    return np.vstack([number_positions(numbers, *ranges(numbers)), code_positions(codes)])


def reference_kernels(numbers, codes):
    """One matrix a column."""
    parts = [column_kernel(row.tolist(), "continuous") for row in numbers]
    parts += [
        column_kernel([None if c == 0 else int(c) for c in row], "categorical") for row in codes
    ]
    return np.array(parts)


@given(tables())
def test_products_forms_and_matrices_equal_the_definition(case):
    numbers, codes, v, weight = case
    K = reference_kernels(numbers, codes)
    columns = ClinicalColumns(positions(numbers, codes))
    close = {"rel": 1e-10, "abs": 1e-10}
    assert columns.forms(v) == pytest.approx(np.einsum("i,fij,j->f", v, K, v), **close)
    assert columns.gram(weight) == pytest.approx(np.einsum("f,fij->ij", weight, K), **close)
    assert columns.product(v, weight) == pytest.approx(
        np.einsum("f,fij,j->i", weight, K, v), **close
    )
    assert columns.product(v) == pytest.approx(K.sum(0) @ v, **close)
    assert np.linalg.matrix_rank(K.sum(0)) <= columns.rank
    present = np.vstack([~np.isnan(numbers), codes > 0])
    alike = K * (present[:, :, None] & present[:, None, :])
    expected = np.einsum("i,fij,j->f", v, alike, v)
    assert columns.forms(v, include_missing=False) == pytest.approx(expected, **close)
    half = np.arange(0, len(K), 2)
    part = columns.view(half)
    assert part.forms(v) == pytest.approx(columns.forms(v)[half], abs=0)
    assert part.gram() == pytest.approx(K[half].sum(0), **close)
    assert columns.gram(weight[half], half) == pytest.approx(
        np.einsum("f,fij->ij", weight[half], K[half]), **close
    )


@given(tables())
def test_kernels_are_positive_semidefinite_and_forms_never_negative(case):
    numbers, codes, v, _ = case
    columns = ClinicalColumns(positions(numbers, codes))
    assert (columns.forms(v) >= 0).all()
    for f in range(columns.n_features):
        K = columns.gram(features=np.array([f]))
        assert np.linalg.eigvalsh(K).min() >= -1e-10
        assert (K >= 0).all()
        assert (K <= 1 + 1e-12).all()
        assert np.diag(K) == pytest.approx(1.0)


@given(tables(), st.integers(1, 8))
def test_rectangles(case, split_at):
    """Rows against other rows, ranges from the first."""
    numbers, codes, _, weight = case
    n = numbers.shape[1] if len(numbers) else codes.shape[1]
    cut = min(split_at, n - 1)
    low, span = ranges(np.ascontiguousarray(numbers[:, :cut]))
    first = np.vstack(
        [
            number_positions(np.ascontiguousarray(numbers[:, :cut]), low, span),
            code_positions(codes[:, :cut]),
        ]
    )
    other_positions = np.vstack(
        [
            number_positions(np.ascontiguousarray(numbers[:, cut:]), low, span, cut),
            code_positions(codes[:, cut:], cut),
        ]
    )
    similarities = np.zeros((n - cut, cut))
    add_similarities(other_positions, first, weight, similarities)
    expected = np.zeros((n - cut, cut))
    for f, row in enumerate(numbers):
        cells = row.tolist()
        part = column_kernel(cells[cut:], "continuous", cells[:cut], trained_on=cells[:cut])
        expected += weight[f] * part
    for f, row in enumerate(codes, len(numbers)):
        cells = [None if c == 0 else int(c) for c in row]
        expected += weight[f] * column_kernel(cells[cut:], "categorical", cells[:cut])
    assert similarities == pytest.approx(expected, rel=1e-10, abs=1e-10)


def test_sums_over_blocks_tiles_and_threads(monkeypatch):
    rng = np.random.default_rng(0)
    x, c = rng.normal(size=(150, 200)), rng.integers(0, 5, size=(90, 200))
    x[rng.random(x.shape) < 0.02] = np.nan
    z = positions(x, c)
    one_thread, two_threads = ClinicalColumns(z, n_jobs=1), ClinicalColumns(z, n_jobs=2)
    v = rng.normal(size=200)
    assert one_thread.gram().tobytes() == two_threads.gram().tobytes()
    assert one_thread.forms(v).tobytes() == two_threads.forms(v).tobytes()
    assert one_thread.product(v).tobytes() == two_threads.product(v).tobytes()
    whole = np.maximum(0, 1 - np.abs(z[:, :, None] - z[:, None, :])).sum(0)
    assert one_thread.gram() == pytest.approx(whole, rel=1e-12)
    assert one_thread.product(v) == pytest.approx(whole @ v, abs=1e-9)
    monkeypatch.setattr(clinical, "TILE_COLUMNS", 7)
    monkeypatch.setattr(clinical, "ROW_BLOCK", 13)
    assert one_thread.gram() == pytest.approx(whole, rel=1e-12)
    several = ClinicalColumns([z[:100], z[100:]])
    assert several.gram() == pytest.approx(whole, rel=1e-12)


def test_equal_columns_get_equal_bits():
    rng = np.random.default_rng(1)
    x = rng.integers(0, 30, size=(3, 157)).astype(float)
    columns = ClinicalColumns(number_positions(x[[0, 1, 2, 1, 0]], *ranges(x[[0, 1, 2, 1, 0]])))
    q = columns.forms(rng.normal(size=157))
    assert q[0] == q[4]
    assert q[1] == q[3]


def test_columns_of_a_source_of_any_layout():
    rng = np.random.default_rng(2)
    x, c = rng.normal(size=(40, 300)), rng.integers(0, 4, size=(2, 40)).astype(np.uint8)
    kinds = np.full(302, CONTINUOUS)
    kinds[[5, 301]] = CATEGORICAL
    numeric = np.flatnonzero(kinds == CONTINUOUS)
    z = np.empty((302, 40))
    z[numeric] = number_positions(np.ascontiguousarray(x.T), *ranges(np.ascontiguousarray(x.T)))
    z[[5, 301]] = code_positions(c)
    expected = ClinicalColumns(z).gram()
    for values in (x, np.asfortranarray(x)):
        source = DenseSource(values, c, kinds, np.array([3, 3]))
        assert ClinicalColumns.from_source(source).gram() == pytest.approx(expected, rel=1e-12)
    sparse = scipy.sparse.csc_array(np.where(x > 0, x, 0.0))
    dense = DenseSource(sparse.toarray())
    gram = ClinicalColumns.from_source(CSCSource(sparse)).gram()
    assert gram == pytest.approx(ClinicalColumns.from_source(dense).gram(), rel=1e-12)


def test_subtracting_columns_leaves_the_matrix_of_the_others():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(64, 50))
    columns = ClinicalColumns(number_positions(x, *ranges(x)))
    gram = columns.gram()
    dropped = np.arange(0, 64, 3)
    columns.gram(np.full(len(dropped), -1.0), dropped, out=gram)
    remaining = columns.view(np.setdiff1d(np.arange(64), dropped))
    assert gram == pytest.approx(remaining.gram(), abs=1e-12)


def test_ends_of_the_range_are_exact():
    """No similarity above 1 or below 0, whatever the rounding of the division."""
    x = np.array([[0.1, 0.3, 0.7, 1e-300, 0.1 + 1e-17], [1e9, 1e9 + 1, 1e9 + 2, 1e9, 1e9 + 3]])
    z = number_positions(x, *ranges(x))
    assert z.min() == 0
    assert z.max() == 1
    assert ClinicalColumns(z).gram(features=np.array([1]))[0, 4] == 0
