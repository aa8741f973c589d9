import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from featly.core.runtime.parallel import single_threaded_blas
from featly.core.svm import multiclass_spaces, multiclass_svm
from featly.core.svm.multiclass_kernels import certificate, solve_row
from featly.core.svm.multiclass_svm import MulticlassDual
from tests.reference import multiclass_svm as naive


@st.composite
def problems(draw, most_rows=25, most_columns=40):
    """Ties, repeated rows, constant columns, one row a class; a column of ones comes last."""
    k, p = draw(st.integers(2, 5)), draw(st.integers(1, most_columns))
    n = draw(st.integers(k, max(k, most_rows)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.normal(size=(n, p)) if draw(st.booleans()) else rng.integers(-1, 2, (n, p)) * 1.0
    if draw(st.booleans()):
        X[rng.integers(0, n, n // 2)] = X[0]
    y = np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    if draw(st.booleans()):
        y = np.concatenate([np.arange(k), np.zeros(n - k, np.int64)])
        X[y == 1] += 0.5
    X[:, 0] = draw(st.sampled_from([1.0, 0.0])) if p > 1 else X[:, 0]
    prices = draw(st.sampled_from([1e-3, 0.1, 1.0, 1e3])) * rng.choice([1.0, 2.0], n)
    return np.column_stack([X, np.ones(n)]), y, prices


def solve_problem(X, y, C, box, rows=False):
    dual = MulticlassDual(y, int(y.max()) + 1, C, box)
    with single_threaded_blas():
        dual.solve_rows(X) if rows else dual.solve(X @ X.T, X.shape[1])
    return dual


@given(
    st.lists(st.floats(-10, 10) | st.integers(-2, 2), min_size=2, max_size=7),
    st.sampled_from([1e-6, 0.5, 3.0, 100.0]),
    st.booleans(),
)
def test_a_row_is_solved_as_by_bisection(h, C, box):
    h, own = np.array(h, dtype=float), len(h) // 2
    eta = np.empty(len(h))
    expected = naive.row_step(h.tolist(), own, C, box)
    full = solve_row(h.copy(), own, C, box, eta)
    assert eta == pytest.approx(expected, rel=1e-9, abs=1e-12 + 1e-13 * np.abs(h).max())
    assert full == (not box and eta.sum() >= C * (1 - 1e-12)) or abs(eta.sum() - C) < 1e-12


def test_a_row_far_beyond_its_price_pays_all_of_it():
    eta = np.empty(3)
    assert solve_row(np.array([0.0, 1e9, 1e9 + 1e-7]), 0, 1e-9, False, eta)
    assert eta.tolist() == [0.0, 0.0, pytest.approx(1e-9, rel=1e-12)]


@given(problems(), st.booleans())
@settings(max_examples=80)
def test_certificates(problem, box):
    X, y, C = problem
    for rows in (False, True):
        dual = solve_problem(X, y, C, box, rows)
        assert dual.duality_gap < 1e-7
        eta, W = dual.eta, dual.coef @ X
        # feasible, and each row's coefficients cancel
        assert (eta >= 0).all()
        assert (eta[y, np.arange(len(y))] == 0).all()
        assert (eta <= C if box else eta.sum(axis=0) <= C * (1 + 1e-15)).all()
        assert np.abs(dual.coef.sum(axis=0)).max() <= 1e-14 * C.max()
        # the duality gap equals its definition
        above, below = naive.primal(X, y, C, box, W), naive.dual(X, y, eta)
        assert above - below <= 1e-7 * above
        duality_gap, _ = certificate(np.ascontiguousarray(W @ X.T), eta, y, C, box)
        assert duality_gap == pytest.approx(above - below, abs=1e-11 * C.sum())


@given(problems(), st.booleans())
@settings(max_examples=40)
def test_optimality_row_by_row(problem, box):
    """A variable above zero has a margin that is missed, or the largest one; one below C does
    not have more to gain."""
    X, y, C = problem
    dual = solve_problem(X, y, C, box)
    S = dual.coef @ X @ X.T
    margins = 1 + S - S[y, np.arange(len(y))]
    margins[y, np.arange(len(y))] = -np.inf if box else 0.0
    tolerance = 1e-6 * max(1.0, float(np.abs(S).max()))
    for i in range(len(y)):
        eta, m = dual.eta[:, i], margins[:, i]
        if box:
            assert (m[eta > 1e-9 * C[i]] > -tolerance).all()
            assert (m[eta < C[i] * (1 - 1e-9)] < tolerance).all()
        else:
            assert (m[eta > 1e-9 * C[i]] > m.max() - tolerance).all()
            if eta.sum() < C[i] * (1 - 1e-9):
                assert m.max() < tolerance


@given(problems(most_rows=7, most_columns=4), st.booleans())
@settings(max_examples=40)
def test_weights_are_those_of_a_generic_quadratic_program(problem, box):
    X, y, C = problem
    expected = naive.weights(X, y, C, box)
    least = naive.primal(X, y, C, box, expected)
    for rows in (False, True):
        dual = solve_problem(X, y, C, box, rows)
        W = dual.coef @ X
        # the objective is strongly convex: what the reference lacks bounds the distance to it
        below = naive.dual(X, y, dual.eta)
        far = np.sqrt(2 * max(0.0, least - below)) + np.sqrt(2 * max(0.0, dual.duality_gap) * least)
        assert np.linalg.norm(W - expected) <= far + 1e-9 * (np.abs(expected).max() + 1)
        assert least - below <= 1e-4 * least, "the reference is no reference"
        assert naive.primal(X, y, C, box, W) <= least * (1 + 1e-9)


def clusters(n=60, p=12, k=4, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    X = rng.normal(size=(n, p))
    X[:, :k] += shift * np.eye(k)[y]
    return np.column_stack([X, np.ones(n)]), y


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize("p", [3, 20])
def test_weights_to_the_last_digits(box, p):
    X, y = clusters(n=14, p=p, k=3)
    C = np.where(y == 1, 0.3, 0.7)
    expected = naive.weights(X, y, C, box)
    for rows in (False, True):
        assert solve_problem(X, y, C, box, rows).coef @ X == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("C", [0.01, 1.0, 20.0])
def test_liblinear_agrees_on_crammer_and_singer(C):
    X, y = clusters()
    prices = np.full(len(y), C)
    dual = solve_problem(X, y, prices, box=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        peer = LinearSVC(
            multi_class="crammer_singer", C=C, tol=1e-12, max_iter=200_000, random_state=0
        ).fit(X[:, :-1], y)
    theirs = np.column_stack([peer.coef_, peer.intercept_])
    ours = dual.coef @ X
    value = naive.primal(X, y, prices, False, ours)
    least = naive.primal(X, y, prices, False, theirs)
    assert value <= least * (1 + 1e-12)
    if C <= 1:  # above, it does not come to an end
        assert value == pytest.approx(least, rel=1e-8)
        assert ours == pytest.approx(theirs, abs=1e-5 * np.abs(theirs).max())


@pytest.mark.parametrize("box", [False, True])
def test_two_classes_are_the_binary_machine_of_twice_the_price(box):
    X, y = clusters(k=2)
    W = solve_problem(X, y, np.full(len(y), 0.3), box).coef @ X
    assert W[0] == pytest.approx(-W[1], rel=1e-9)
    peer = LinearSVC(loss="hinge", C=0.6, tol=1e-10, max_iter=1_000_000).fit(X[:, :-1], y)
    assert W[1, :-1] - W[0, :-1] == pytest.approx(peer.coef_[0], abs=1e-5)
    assert W[1, -1] - W[0, -1] == pytest.approx(peer.intercept_[0], abs=1e-5)


@given(problems(), st.booleans(), st.integers(0, 100))
@settings(max_examples=40)
def test_from_the_last_solution_as_from_nothing(problem, box, seed):
    X, y, C = problem
    dual = solve_problem(X, y, C, box)
    stays = np.random.default_rng(seed).random(X.shape[1]) < 0.7
    stays[-1] = True
    part = np.ascontiguousarray(X[:, stays])
    dual.solve(part @ part.T, part.shape[1])
    assert dual.duality_gap < 1e-7
    fresh = solve_problem(part, y, C, box)
    warm, cold = dual.coef @ part, fresh.coef @ part
    # by strong convexity no two solutions with such certificates are farther apart
    least = naive.primal(part, y, C, box, cold)
    far = sum(np.sqrt(2 * max(0.0, machine.duality_gap) * least) for machine in (dual, fresh))
    assert np.linalg.norm(warm - cold) <= far + 1e-8 * (np.abs(cold).max() + 1)


@pytest.mark.parametrize("box", [False, True])
@pytest.mark.parametrize(("C", "shift"), [(0.02, 2.0), (1.0, 2.0), (1.0, 0.7)])
def test_many_rows_by_their_weights_as_by_their_products(box, C, shift):
    """Crammer and Singer's optimum is W = 0 where the classes overlap."""
    X, y = clusters(n=400, p=5, shift=shift)
    by_weights, by_products = (
        solve_problem(X, y, np.full(400, C), box, rows) for rows in (True, False)
    )
    assert max(by_weights.duality_gap, by_products.duality_gap) < 1e-9
    W = by_products.coef @ X
    assert by_weights.coef @ X == pytest.approx(W, abs=1e-9 * (np.abs(W).max() + 1))
    assert (np.abs(W).max() < 1e-9) == (not box and shift < 1)


@pytest.mark.parametrize("box", [False, True])
def test_more_free_variables_than_weights(box, monkeypatch):
    """Few values, many rows on a margin: the Newton steps are in the weights."""
    rng = np.random.default_rng(1)
    y = np.arange(300) % 4
    X = np.column_stack([np.round(rng.normal(size=300) + y), np.ones(300)])
    steps = []
    step = MulticlassDual._step_weights

    def count_step(self, *arguments):
        steps.append(1)
        return step(self, *arguments)

    monkeypatch.setattr(MulticlassDual, "_step_weights", count_step)
    dual = solve_problem(X, y, np.ones(300), box, rows=True)
    assert steps
    assert dual.duality_gap < 1e-9
    expected = solve_problem(X, y, np.ones(300), box).coef @ X
    assert dual.coef @ X == pytest.approx(expected, abs=1e-8)


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(multiclass_svm, "CHUNK", 16)
    monkeypatch.setattr(multiclass_spaces, "CHUNK", 16)
    monkeypatch.setattr(multiclass_spaces, "PANEL", 16)
    X, y = clusters(n=120, p=150, shift=0.3)
    solutions = []
    for n_jobs in (1, 3):
        dual = MulticlassDual(y, 4, np.ones(120), False, n_jobs)
        dual.solve(X @ X.T, 151)
        solutions.append(dual.eta.tobytes())
    assert solutions[0] == solutions[1]


@pytest.mark.parametrize("size", [0, 1, 40, 300])
def test_systems_by_blocks(size, monkeypatch):
    monkeypatch.setattr(multiclass_spaces, "CHUNK", 64)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(size, size + 3))
    H, right = A @ A.T, rng.normal(size=size)
    solution = multiclass_spaces.solve_by_blocks(np.tril(H), right, 2)
    assert H @ solution == pytest.approx(right, abs=1e-6)
    if size:
        H[-1, -1] = -1.0
        assert multiclass_spaces.solve_by_blocks(H, right, 2) is None


@pytest.mark.parametrize("box", [False, True])
def test_equal_rows_in_all_classes(box):
    """Equal rows and equal classes: w = 0; one class heavier: it is preferred."""
    for prices in (np.ones(12), np.repeat([3.0, 1.0], 6)):
        y = np.arange(12) % 3
        dual = solve_problem(np.ones((12, 1)), y, prices, box)
        assert dual.duality_gap < 1e-9
    dual = solve_problem(np.ones((12, 1)), y, np.ones(12), box)
    assert np.abs(dual.coef.sum(axis=1)).max() < 1e-9
