"""Systems of rows and of columns, dense, sparse and by gradients: one solution, and certified."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st

from featly.core.models import least_squares, least_squares_tables
from featly.core.models.least_squares import clear_rounding, solve
from featly.core.models.least_squares_tables import BlockTable, SparseTable, signs


@st.composite
def systems(draw):
    """A table, sparse and shifted, classes, weights: ties, equal and constant columns."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n, p = draw(st.integers(2, 20)), draw(st.integers(1, 20))
    M = np.where(rng.random((n, p)) < 0.5, rng.normal(size=(n, p)), 0.0)
    if draw(st.booleans()):
        M = np.round(M)
    if draw(st.booleans()):
        M[:, -1] = M[:, 0]
    n_classes = min(n, draw(st.integers(2, 4)))
    codes = rng.permutation(np.arange(n) % n_classes)
    weight = rng.choice([0.1, 1.0, 7.0], n) if draw(st.booleans()) else None
    shift = np.round(rng.normal(size=p), 1)
    return M, shift, codes, n_classes, weight


def by_definition(Z, T, weight, ridge):
    """Solve least squares of weighted rows, and of zeros; the shortest where there are several."""
    A = np.column_stack([np.ones(len(Z)), Z])
    root = np.ones(len(Z)) if weight is None else np.sqrt(weight)
    k = A.shape[1]
    tall = np.vstack([A * root[:, None], np.sqrt(ridge) * np.eye(k)])
    wanted = np.vstack([T * root[:, None], np.zeros((k, T.shape[1]))])
    return np.linalg.lstsq(tall, wanted, rcond=1e-6)[0]


def is_determined(Z, weight, ridge):
    """Return whether rows determine every direction clearly or not at all, so rounding is small."""
    A = np.column_stack([np.ones(len(Z)), Z])
    values = np.linalg.svd(A * (1 if weight is None else np.sqrt(weight)[:, None]))[1]
    share = values / values[0]
    return ridge > 0 or not ((share > 1e-9) & (share < 1e-3)).any()


def tables(M, shift):
    yield BlockTable.from_array(M - shift)
    yield SparseTable(scipy.sparse.csr_array(M), shift)


@given(systems(), st.sampled_from([0.0, 1e-3, 1.0, 100.0]))
def test_every_way_to_the_same_weights(system, ridge):
    M, shift, codes, n_classes, weight = system
    assume(is_determined(M - shift, weight, ridge))
    expected = by_definition(M - shift, signs(codes, n_classes), weight, ridge)
    for table in tables(M, shift):
        solution = next(solve(table, codes, n_classes, ridge, weight))
        assert solution.beta == pytest.approx(expected, rel=1e-6, abs=1e-6)
        assert solution.residual.max() < 1e-9


@given(systems(), st.sampled_from([1e-2, 1.0]))
def test_gradients_come_to_the_same_weights(system, ridge):
    M, shift, codes, n_classes, weight = system
    expected = by_definition(M - shift, signs(codes, n_classes), weight, ridge)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(least_squares, "LARGEST_SYSTEM", 1)
        for table in tables(M, shift):
            solution = next(solve(table, codes, n_classes, ridge, weight))
            assert solution.beta == pytest.approx(expected, rel=1e-6, abs=1e-6)
            assert solution.residual.max() < 1e-8


@given(systems(), st.sampled_from([0.0, 1.0]), st.booleans())
def test_the_first_columns_are_tables_of_their_own(system, ridge, by_gradients):
    M, shift, codes, n_classes, weight = system
    counts = sorted({1, (M.shape[1] + 1) // 2, M.shape[1]})
    assume(all(is_determined((M - shift)[:, :count], weight, ridge) for count in counts))
    with pytest.MonkeyPatch.context() as patch:
        if by_gradients and ridge:
            patch.setattr(least_squares, "LARGEST_SYSTEM", 3)
        for table in tables(M, shift):
            path = list(solve(table, codes, n_classes, ridge, weight, counts))
            assert [len(solution.beta) - 1 for solution in path] == counts
            for count, solution in zip(counts, path, strict=True):
                T = signs(codes, n_classes)
                expected = by_definition((M - shift)[:, :count], T, weight, ridge)
                assert solution.beta == pytest.approx(expected, rel=1e-6, abs=1e-6)


@given(systems())
def test_products_of_sparse_and_dense_tables(system):
    M, shift, codes, n_classes, weight = system
    dense, sparse = tables(M, shift)
    Z, T = M - shift, signs(codes, n_classes)
    A = np.column_stack([np.ones(len(Z)), Z])
    D = np.ones(len(Z)) if weight is None else weight
    count = (M.shape[1] + 1) // 2
    part = lambda low, high: T[low:high]  # noqa: E731
    center, scale = np.linspace(-1, 1, M.shape[1]), np.linspace(0, 2, M.shape[1])
    for table in (dense, sparse):
        gram, right = table.normal_equations(part, weight, count)
        assert gram == pytest.approx((A.T * D @ A)[: count + 1, : count + 1], abs=1e-9)
        assert right == pytest.approx((A.T * D @ T)[: count + 1], abs=1e-9)
        assert table.outer(0, count) == pytest.approx(Z[:, :count] @ Z[:, :count].T, abs=1e-9)
        assert table.multiply(A[:1].T) == pytest.approx(A @ A[:1].T, abs=1e-9)
        assert table.multiply(A[:1, :count].T) == pytest.approx(A[:, :count] @ A[:1, :count].T)
        assert table.multiply_transposed(part) == pytest.approx(A.T @ T, abs=1e-9)
        assert table.to_array() == pytest.approx(Z)
        mean, variance = table.moments()
        assert mean == pytest.approx(Z.mean(axis=0), abs=1e-12)
        assert variance == pytest.approx(Z.var(axis=0), abs=1e-12)
        assert table.rescale(center, scale).to_array() == pytest.approx((Z - center) * scale)


@pytest.mark.parametrize(("n", "p", "larger"), [(12, 40, "normal_equations"), (40, 12, "outer")])
def test_the_smaller_system_is_solved(n, p, larger, monkeypatch):
    def refuse(*_):
        raise AssertionError("the larger system was made")

    monkeypatch.setattr(BlockTable, larger, refuse)
    monkeypatch.setattr(SparseTable, larger, refuse)
    M = np.random.default_rng(0).normal(size=(n, p))
    for table in tables(M, np.zeros(p)):
        assert next(solve(table, np.arange(n) % 2, 2, 1.0)).residual[0] < 1e-12


def test_blocks_add_up_to_the_table(monkeypatch):
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(700, 5)), rng.integers(0, 3, 700)
    weight = rng.random(700) + 0.1
    expected = by_definition(Z, signs(codes, 3), weight, 1.0)
    monkeypatch.setattr(least_squares_tables, "BLOCK_VALUES", 1)
    monkeypatch.setattr(least_squares_tables, "FEWEST_BLOCK_ROWS", 16)
    reads = []

    def read_rows(low, high):
        reads.append((low, high))
        return Z[low:high]

    table = BlockTable(read_rows, *Z.shape)
    assert next(solve(table, codes, 3, 1.0, weight)).beta == pytest.approx(expected)
    assert max(high - low for low, high in reads) == 16
    assert sum(high - low for low, high in reads) == 700, "one reading"
    assert table.to_array() == pytest.approx(Z)
    assert table.moments()[1] == pytest.approx(Z.var(axis=0))


def test_a_penalty_lost_in_rounding_leaves_the_shortest_weights():
    rng = np.random.default_rng(0)
    Z = rng.normal(size=(30, 3))
    twice = np.hstack([Z, Z])
    codes = np.arange(30) % 2
    once = next(solve(BlockTable.from_array(Z), codes, 2, 0.0)).beta
    for table in (twice, np.hstack([twice] * 8)):  # by columns, by rows
        solution = next(solve(BlockTable.from_array(table), codes, 2, 1e-20))
        copies = table.shape[1] // 3
        assert solution.beta[1:] == pytest.approx(np.tile(once[1:] / copies, (copies, 1)), abs=1e-9)
        assert solution.residual.max() < 1e-9


def test_residual_of_gradients_that_stop_early(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(least_squares, "LARGEST_SYSTEM", 1)
    monkeypatch.setattr(least_squares, "MOST_ROUNDS", 2)
    table, codes = BlockTable.from_array(rng.normal(size=(30, 20))), np.arange(30) % 2
    solution = next(solve(table, codes, 2, 1e-3))
    Z, T = table.to_array(), signs(codes, 2)
    A = np.column_stack([np.ones(30), Z])
    residual = A.T @ (T - A @ solution.beta) - 1e-3 * solution.beta
    assert solution.residual[0] == pytest.approx(np.linalg.norm(residual) / np.linalg.norm(A.T @ T))
    assert solution.residual[0] > 1e-4


@given(st.integers(0, 10_000), st.sampled_from([1e-12, 1.0, 1e12]))
def test_equal_values_are_equal_however_they_were_rounded(seed, size):
    rng = np.random.default_rng(seed)
    values = size * rng.integers(-2, 3, (10, 3))
    blurred = values * (1 + 1e-14 * rng.normal(size=values.shape))
    least = np.full(3, size * 1e-10)
    assert (clear_rounding(blurred, least).argmax(axis=1) == values.argmax(axis=1)).all()
    cleared = clear_rounding(blurred[:, :1] + size * 1e-15, least[:1])
    assert (np.sign(cleared) == np.sign(values[:, 0])).all()
