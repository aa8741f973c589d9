"""The optimum equals that of other solvers, and the duality gap and Newton's matrix are exact."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from featly.basics.errors import DataError
from featly.core.kernels import mkl
from featly.core.kernels.clinical import code_positions, number_positions, ranges
from featly.core.kernels.kernel_sets import ColumnKernels, KernelList
from featly.core.kernels.mkl import lp_weights, solve_mkl
from featly.core.svm.dual import SVMDual
from tests.reference import mkl as naive


@st.composite
def problems(draw, most_rows=8):
    """Gram matrices of full and low rank, copies, constant and zero ones; unequal prices."""
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    n = draw(st.integers(2, most_rows))
    grams = []
    for _ in range(draw(st.integers(1, 4))):
        A = rng.normal(size=(n, draw(st.integers(1, n))))
        grams.append(A @ A.T / A.shape[1])
    for special in draw(st.sets(st.sampled_from(["copy", "constant", "zero", "identity"]))):
        special_gram = {"copy": grams[0], "constant": 1.0, "zero": 0.0, "identity": np.eye(n)}[
            special
        ]
        grams.append(np.broadcast_to(special_gram, (n, n)).copy())
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    C = rng.choice(draw(st.sampled_from([(0.1,), (1.0,), (0.3, 3.0), (30.0,)])), n)
    return grams, y, C


NORMS = st.sampled_from([1.1, 1.5, 2.0, 3.0, 10.0])


def certify(solution, grams, y, C, norm):
    """Everything that the solution claims about itself, from scratch."""
    b, weights = solution.coef, solution.weights
    alpha = b * y
    assert alpha.min() >= 0
    assert (alpha <= C * (1 + 1e-12)).all()
    assert abs(b.sum()) <= 1e-9 * max(1.0, np.abs(b).sum())
    assert weights.min() >= 0
    assert naive.norm_of(weights, norm) == pytest.approx(1.0)
    primal = naive.primal_objective(grams, y, C, weights, b, solution.bias)
    dual = naive.dual_objective(grams, y, b, norm)
    assert solution.primal == pytest.approx(primal, rel=1e-9)
    assert solution.dual == pytest.approx(dual, rel=1e-9, abs=1e-9 * primal)
    assert solution.duality_gap == pytest.approx(max(0.0, (primal - dual) / primal), abs=1e-9)


# ---- the optimum ---------------------------------------------------------------------------------
@given(problems(), NORMS)
@settings(max_examples=60)
def test_value_is_that_of_a_generic_solver(problem, norm):
    grams, y, C = problem
    solution = solve_mkl(KernelList(grams), y, C, norm=norm)
    certify(solution, grams, y, C, norm)
    assert solution.duality_gap <= 1e-8
    generic = naive.by_generic_solver(grams, y, C, norm)
    assert generic <= solution.primal * (1 + 1e-6) + 1e-9  # a feasible point of the dual
    assert generic >= solution.dual - 1e-3 * solution.primal


@given(problems(most_rows=14), st.sampled_from([1.5, 2.0, 4.0]))
@settings(max_examples=25)
def test_weights_are_those_of_the_alternation(problem, norm):
    grams, y, C = problem
    solution = solve_mkl(KernelList(grams), y, C, norm=norm)
    weights, b, gap = naive.alternation(grams, y, C, norm)
    assume(gap <= 1e-8)  # else libsvm has given up
    if solution.forms.any():
        assert solution.weights == pytest.approx(weights, abs=2e-3)
        assert naive.dual_objective(grams, y, b, norm) <= solution.primal * (1 + 1e-6)
    else:
        assert np.abs(naive.forms(grams, b)).max() < 1e-6
        assert (solution.importances == 0).all()


def table(n=40, seed=0):
    """Positions of mixed columns with missing values, and their Gram matrices."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    numbers = rng.normal(size=(5, n))
    numbers[0] += y
    numbers[1] = np.round(numbers[1])
    numbers[2, ::7] = np.nan
    numbers[3] = 2.5
    codes = rng.integers(1, 4, size=(2, n))
    codes[0] = np.where(rng.random(n) < 0.7, 1 + (y > 0), codes[0])
    codes[1, 3] = 0
    z = [number_positions(numbers, *ranges(numbers)), code_positions(codes)]
    grams = [naive.clinical_gram(row, "continuous") for row in numbers]
    grams += [
        naive.clinical_gram([None if c == 0 else c for c in row], "categorical") for row in codes
    ]
    return np.concatenate(z), grams, y


@pytest.mark.parametrize("norm", [1.2, 2.0, 5.0])
@pytest.mark.parametrize("C", [0.01, 0.1, 10.0])
def test_columns_are_their_gram_matrices(C, norm):
    z, grams, y = table()
    prices = np.full(len(y), C)
    columns = solve_mkl(ColumnKernels(z), y, prices, norm=norm)
    matrices = solve_mkl(KernelList(grams), y, prices, norm=norm)
    certify(columns, grams, y, prices, norm)
    assert columns.duality_gap < 1e-9
    assert columns.weights == pytest.approx(matrices.weights, abs=1e-7)
    assert columns.values == pytest.approx(matrices.values, abs=1e-7)
    assert columns.weights[3] == 0  # a constant column


@pytest.mark.parametrize("norm", [1.3, 2.0, 6.0])
def test_weights_are_powers_of_the_forms(norm):
    z, grams, y = table()
    solution = solve_mkl(ColumnKernels(z), y, np.full(len(y), 1.0), norm=norm)
    q = np.array([solution.coef @ K @ solution.coef for K in grams])
    used = solution.weights > 1e-6
    ratio = solution.weights[used] / q[used] ** (1 / (norm - 1))
    assert ratio == pytest.approx(ratio[0], rel=1e-9)


# ---- Newton's method -----------------------------------------------------------------------------
@pytest.mark.parametrize("norm", [1.2, 2.0, 4.0])
def test_the_matrix_is_the_second_derivative(norm, monkeypatch):
    monkeypatch.setattr(mkl, "CHUNK_BYTES", 800)  # several chunks
    z, grams, y = table(n=20)
    kernels, C = ColumnKernels(z), np.full(20, 1.0)
    b = np.random.default_rng(1).normal(size=20)
    point = mkl._evaluate(kernels, b, y, C, norm)
    H, _ = mkl._second_derivative(kernels, point, norm)
    assert H @ b == pytest.approx(point.values)  # Euler: the function is homogeneous

    def gradient(b):
        weights, _ = lp_weights(naive.forms(grams, b), norm)
        return sum(mu * K @ b for mu, K in zip(weights, grams, strict=True))

    step = 1e-5
    for i in range(20):
        e = np.eye(20)[i] * step
        column = (gradient(b + e) - gradient(b - e)) / (2 * step)
        assert H[:, i] == pytest.approx(column, rel=1e-5, abs=1e-5)
    assert np.linalg.eigvalsh(H).min() > -1e-9


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize(("norm", "most"), [(2.0, 10), (1.2, 16), (20.0, 6)])
def test_few_steps_are_needed(norm, most, C):
    z, _, y = table(n=100, seed=3)
    solution = solve_mkl(ColumnKernels(z), y, np.full(100, C), norm=norm, tolerance=1e-9)
    assert solution.duality_gap <= 1e-9
    assert solution.n_iter <= most


def test_the_objective_rises_with_every_step():
    z, _, y = table(n=60, seed=5)
    before = -np.inf
    for count in range(1, 30):
        solution = solve_mkl(
            ColumnKernels(z), y, np.full(60, 100.0), norm=1.02, max_iter=count, tolerance=1e-9
        )
        assert solution.dual >= before - 1e-12 * abs(before)
        before = solution.dual
        if solution.duality_gap <= 1e-9:
            break
    assert solution.duality_gap <= 1e-9
    assert 1 < solution.n_iter == count


def test_the_line_search_finds_the_best_point_on_the_way():
    z, grams, y = table(n=30, seed=2)
    kernels, C = ColumnKernels(z), np.full(30, 100.0)
    start = solve_mkl(kernels, y, C, norm=1.02, max_iter=1)
    H, rank = mkl._second_derivative(kernels, start, 1.02)
    dual = SVMDual(y, C)
    dual.solve(H, rank)
    solution = mkl._search_line(kernels, start, dual.coef.copy(), y, C, 1.02)
    way = dual.coef - start.coef
    length = float(way @ (solution.coef - start.coef) / (way @ way))
    assert 0 < length < 1
    values = [naive.dual_objective(grams, y, start.coef + t * way, 1.02) for t in
              (length, length * 0.9, length * 1.1)]  # fmt: skip
    assert values[0] >= max(values[1:])


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_a_warm_start_ends_at_the_same_optimum(C):
    z, _, y = table(n=60, seed=1)
    prices, dual = np.full(60, C), SVMDual(y, np.full(60, C))
    kernels, coef = ColumnKernels(z), None
    for dropped in range(6):
        left = kernels.view(np.arange(dropped, 7))
        warm = solve_mkl(left, y, prices, coef=coef, dual=dual)
        cold = solve_mkl(left, y, prices)
        assert warm.weights == pytest.approx(cold.weights, abs=1e-4)
        assert max(warm.duality_gap, cold.duality_gap) <= 1e-9
        coef = warm.coef


def test_a_start_that_no_kernel_sees_is_left():
    _, grams, y = table(n=12)
    blind = np.zeros(12)  # every form is 0 there
    solution = solve_mkl(KernelList(grams), y, np.ones(12), coef=blind)
    assert solution.duality_gap <= 1e-9
    assert solution.forms.any()


@pytest.mark.parametrize("C", [0.1, 1000.0])
def test_it_ends_where_rounding_allows_no_progress(C):
    z, _, y = table(n=80, seed=4)
    solution = solve_mkl(ColumnKernels(z), y, np.full(80, C), tolerance=1e-18)
    assert solution.n_iter < 15
    assert solution.duality_gap < 1e-10


def test_an_early_end_says_so():
    z, _, y = table()
    solution = solve_mkl(ColumnKernels(z), y, np.full(40, 10.0), max_iter=2)
    assert solution.n_iter == 2
    assert solution.duality_gap > 1e-4


# ---- limit cases ---------------------------------------------------------------------------------
def test_one_kernel_is_a_support_vector_machine():
    _, grams, y = table()
    C = np.full(40, 2.0)
    K = grams[0]
    solution = solve_mkl(KernelList([K]), y, C, norm=1.7)
    assert solution.weights == pytest.approx([1.0])
    b, bias = naive.svm(K, y, C)
    assert solution.values == pytest.approx(K @ b, abs=1e-5)
    plain = SVMDual(y, C)
    plain.solve(K, 40)
    assert solution.values == pytest.approx(K @ plain.coef, abs=1e-9)
    best = solution.primal - solution.coef @ K @ solution.coef / 2
    assert (C * np.maximum(0, 1 - y * (K @ b + bias))).sum() >= best - 1e-5


@pytest.mark.parametrize("copies", [2, 5])
def test_equal_kernels_have_equal_bits(copies):
    z, grams, y = table()
    C = np.full(40, 1.0)
    for kernels in (ColumnKernels(np.tile(z, (copies, 1))), KernelList(grams * copies)):
        weights = solve_mkl(kernels, y, C).weights.reshape(copies, 7)
        assert all(weights[0].tobytes() == other.tobytes() for other in weights[1:])
    same = solve_mkl(KernelList([grams[0]] * copies), y, C, norm=3.0).weights
    assert same == pytest.approx(copies ** (-1 / 3))


def test_norms_go_from_one_kernel_to_all():
    z, _, y = table()
    kernels, C = ColumnKernels(z).view(np.array([0, 1, 2, 4, 5, 6])), np.full(40, 1.0)
    share = []
    for norm in (1.01, 1.1, 2.0, 8.0, 500.0):
        weights = solve_mkl(kernels, y, C, norm=norm).weights
        share.append(weights.max() / weights.sum())
        if norm == 500.0:
            assert weights.min() > 0.98 * weights.max()
    assert share == sorted(share, reverse=True)
    assert share[0] > 0.99


def test_nothing_to_learn_from():
    y, C = np.array([1.0, -1.0, -1.0]), np.full(3, 2.0)
    for grams in ([np.zeros((3, 3))] * 2, [np.ones((3, 3)), np.zeros((3, 3))]):
        solution = solve_mkl(KernelList(grams), y, C)
        assert (solution.forms == 0).all()
        assert (solution.importances == 0).all()
        assert solution.weights == pytest.approx(np.sqrt(0.5))
        assert solution.primal == solution.dual == pytest.approx(4.0)
        assert solution.duality_gap == 0
        assert solution.bias == -1.0


def test_two_rows():
    y = np.array([1.0, -1.0])
    solution = solve_mkl(
        KernelList([np.eye(2), np.ones((2, 2)), 3 * np.eye(2)]), y, np.full(2, 9.0)
    )
    assert solution.weights == pytest.approx(np.array([1, 0, 3]) / np.sqrt(10))
    assert solution.values + solution.bias == pytest.approx(y)


def test_weights_do_not_mind_units_of_all_kernels():
    _, grams, y = table()
    C = np.full(40, 5.0)
    weights = solve_mkl(KernelList(grams), y, C).weights
    for unit in (1e-6, 1e6):
        solution = solve_mkl(KernelList([unit * K for K in grams]), y, C / unit)
        assert solution.weights == pytest.approx(weights, abs=1e-6)


@given(st.integers(0, 10_000))
@example(54)  # here slopes are rounding errors before the gap is small
@example(87)
@settings(max_examples=20)
def test_orders_of_rows_and_kernels_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    z, _, y = table(seed=seed)
    rows, columns = rng.permutation(40), rng.permutation(7)
    C = rng.choice([0.1, 1.0], 40)
    solution = solve_mkl(ColumnKernels(z), y, C)
    other = solve_mkl(ColumnKernels(np.ascontiguousarray(z[columns][:, rows])), y[rows], C[rows])
    assert other.weights == pytest.approx(solution.weights[columns], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_threads_change_no_bit(n_jobs):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(70) % 2, 1.0, -1.0)
    z = rng.random((600, 70))
    expected = solve_mkl(ColumnKernels(z, 1), y, np.full(70, 0.1))
    solution = solve_mkl(ColumnKernels(z, n_jobs), y, np.full(70, 0.1))
    assert solution.weights.tobytes() == expected.weights.tobytes()
    assert solution.coef.tobytes() == expected.coef.tobytes()


# ---- sets of kernels -----------------------------------------------------------------------------
@given(st.integers(0, 10_000), st.integers(2, 15))
def test_both_sets_answer_as_matrices(seed, n):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(4, n)) if seed % 2 else rng.integers(0, 3, (4, n)) * 1.0
    numbers[rng.random((4, n)) < 0.2] = np.nan
    grams = [naive.clinical_gram(row, "continuous") for row in numbers]
    features = np.array([2, 0, 3])
    v, weight = rng.normal(size=n), rng.random(3)
    z = number_positions(numbers, *ranges(numbers))
    for kernels in (ColumnKernels(z), KernelList(np.array(grams))):
        some = kernels.view(features)
        assert type(some) is type(kernels)
        assert (some.n_features, some.n_rows) == (3, n)
        expected = np.array([grams[f] @ v for f in features])
        assert some.products(v, 0, 3) == pytest.approx(expected, abs=1e-12)
        assert some.products(v, 1, 2) == pytest.approx(expected[1:2], abs=1e-12)
        assert some.product(v, weight) == pytest.approx(weight @ expected, abs=1e-12)
        assert some.forms(v) == pytest.approx(expected @ v, abs=1e-12)
        sum_gram = sum(w * grams[f] for w, f in zip(weight, features, strict=True))
        assert some.gram(weight) == pytest.approx(sum_gram, abs=1e-12)
        assert np.linalg.matrix_rank(sum_gram) <= some.rank


def test_in_lonely_columns_no_row_is_like_another():
    numbers = np.array([[np.nan] * 4, [0.0, 1.0, 2.0, 3.0], [5.0, np.nan, np.nan, np.nan]])
    codes = np.array([[1, 2, 3, 4], [1, 2, 3, 3], [0, 1, 2, 0], [2, 2, 2, 2]])
    z = np.concatenate([number_positions(numbers, *ranges(numbers)), code_positions(codes)])
    kernels = ColumnKernels(z)
    grams = [kernels.gram(np.eye(7)[f]) for f in range(7)]
    alone = [bool(np.array_equal(K, np.diag(np.diag(K)))) for K in grams]
    assert kernels.lonely.tolist() == alone == [True, False, True, True, False, True, False]
    assert kernels.view(np.array([1, 2])).lonely.tolist() == [False, True]


def test_forms_that_are_rounding_errors_are_zero():
    v = np.array([0.1, 0.2, -0.3, 1e-3, -1e-3])
    v[-1] -= v.sum()
    assert abs(v.sum()) < 1e-16
    assert ColumnKernels(np.zeros((2, 5))).forms(v).tolist() == [0.0, 0.0]
    assert KernelList([np.full((5, 5), 0.7)]).forms(v).tolist() == [0.0]


@pytest.mark.parametrize(
    ("matrices", "words"),
    [
        ([], "no kernel"),
        ([np.eye(3), np.zeros((3, 2))], "kernel 1 .* square"),
        ([np.eye(3), np.eye(2)], r"kernel 1 .*\(2, 2\).*\(3, 3\)"),
        ([np.eye(3), np.zeros(3)], "kernel 1 .* square"),
        ([np.array([["a"]])], "kernel 0 .* numbers"),
        ([np.eye(2), np.array([[1.0, 0.5], [0.4, 1.0]])], "kernel 1 is not symmetric"),
        ([np.eye(2), np.array([[1.0, np.nan], [np.nan, 1.0]])], r"kernel 1 has nan at \(0, 1\)"),
        ([np.diag([1.0, np.inf])], "kernel 0 has inf"),
        ([np.diag([1.0, -1.0])], "kernel 0 is not positive semi-definite.*row 1"),
    ],
)
def test_matrices_that_are_no_kernels_are_named(matrices, words):
    with pytest.raises(DataError, match=words):
        KernelList(matrices)


@pytest.mark.parametrize("diagonal", [0.0, 0.1])
def test_a_kernel_that_turns_out_indefinite_is_named(diagonal):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    odd = np.ones((4, 4)) - 2 * np.outer(y, y)
    np.fill_diagonal(odd, diagonal)
    with pytest.raises(DataError, match="kernel 1 is not positive semi-definite"):
        solve_mkl(KernelList([np.eye(4), odd]), y, np.ones(4))


def test_an_array_is_not_copied():
    stack = np.array([np.eye(3), np.ones((3, 3))])
    assert np.shares_memory(KernelList(stack).matrices, stack)
    assert KernelList(stack.astype(np.float32)).matrices.dtype == np.float64
