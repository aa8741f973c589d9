import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import SVC

from featly.core.svm import dual as svm
from featly.core.svm.dual import SVMDual
from featly.core.svm.interior_point import interior_point
from tests.reference.svm import dual_by_enumeration


def problem(n, p, seed=0, shift=0.7):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X = rng.normal(size=(n, p))
    X[:, : min(3, p)] += shift * y[:, None]
    return X - X.mean(0), y


def certify(dual, K, y, C, tolerance=1e-8):
    """Check the KKT conditions and the duality gap, from scratch."""
    b = dual.coef
    alpha = b * y
    assert alpha.min() >= 0
    assert (alpha <= C).all()
    assert abs(b.sum()) <= 1e-10 * max(1.0, np.abs(b).sum())
    f = K @ b + dual.bias
    slack = y * f - 1
    assert slack[alpha == 0].min(initial=0) >= -tolerance
    assert slack[alpha == C].max(initial=0) <= tolerance
    assert np.abs(slack[(alpha > 0) & (alpha < C)]).max(initial=0) <= tolerance
    quadratic = b @ K @ b / 2
    primal = quadratic + (C * np.maximum(0, -slack)).sum()
    duality_gap = (primal - (alpha.sum() - quadratic)) / primal
    assert duality_gap <= tolerance
    assert dual.duality_gap == pytest.approx(duality_gap, abs=1e-10)


@st.composite
def small_problems(draw):
    """Ties, equal rows, constant columns, one row a class."""
    n, p = draw(st.integers(2, 6)), draw(st.integers(1, 4))
    cell = st.sampled_from([-2.0, -1.0, 0.0, 0.5, 1.0, 3.0])
    rows = st.lists(cell, min_size=p, max_size=p)
    X = np.array(draw(st.lists(rows, min_size=n, max_size=n)))
    y = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=n, max_size=n)))
    y[:2] = 1.0, -1.0
    C = np.array(draw(st.lists(st.sampled_from([0.1, 1.0, 10.0]), min_size=n, max_size=n)))
    return X - X.mean(0), y, C


@given(small_problems())
@settings(max_examples=150)
def test_optimum_is_that_of_enumeration(case):
    X, y, C = case
    K = X @ X.T
    expected, value = dual_by_enumeration(K, y, C)
    dual = SVMDual(y, C)
    dual.solve(K, X.shape[1])
    certify(dual, K, y, C)
    assert dual.coef @ K @ dual.coef / 2 - (dual.coef * y).sum() == pytest.approx(value, abs=1e-9)
    assert X.T @ dual.coef == pytest.approx(X.T @ expected, abs=1e-7)


@given(small_problems())
def test_factor_route_is_the_dense_route(case):
    X, y, C = case
    dense, factored = SVMDual(y, C), SVMDual(y, C)
    dense.solve(X @ X.T, X.shape[1])
    factored.solve_factor(np.ascontiguousarray(X.T))
    certify(factored, X @ X.T, y, C)
    assert X.T @ factored.coef == pytest.approx(X.T @ dense.coef, abs=1e-7)


@pytest.mark.parametrize(
    ("n", "p", "C"),
    [(60, 500, 1.0), (60, 40, 1.0), (60, 5, 1.0), (60, 5, 100.0), (60, 500, 1e-4), (300, 30, 0.1),
     (300, 600, 1.0), (400, 3, 1.0)],
)  # fmt: skip
def test_weights_are_those_of_libsvm(n, p, C):
    X, y = problem(n, p)
    K = X @ X.T
    dual = SVMDual(y, np.full(n, C))
    dual.solve(K, p)
    certify(dual, K, y, np.full(n, C))
    peer = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    expected = X[peer.support_].T @ peer.dual_coef_[0]
    # within what libsvm reaches at its smallest useful tolerance
    assert X.T @ dual.coef == pytest.approx(expected, rel=1e-3, abs=1e-4 * np.abs(expected).max())


@pytest.mark.parametrize("n", [40, 300])
def test_warm_starts_reach_the_cold_optimum(n):
    """One column out at a time, then many, through the point where K becomes singular."""
    X, y = problem(n, 90, seed=1)
    C = np.full(n, 0.5)
    K = X @ X.T
    warm = SVMDual(y, C)
    remaining = list(range(90))
    rng = np.random.default_rng(0)
    while remaining:
        warm.solve(K, len(remaining))
        certify(warm, K, y, C)
        cold = SVMDual(y, C)
        cold.solve(X[:, remaining] @ X[:, remaining].T, len(remaining))
        w = X[:, remaining].T @ cold.coef
        assert X[:, remaining].T @ warm.coef == pytest.approx(w, abs=1e-7 * np.abs(w).max() + 1e-12)
        count = 1 if len(remaining) % 3 else min(len(remaining), 4)
        for column in rng.permutation(remaining)[:count]:
            remaining.remove(column)
            K = K - np.outer(X[:, column], X[:, column])
            if count == 1:
                warm.downdate(X[:, column])
        if count > 1:
            warm.forget_inverse()


def test_interior_start_and_fallback(monkeypatch):
    X, y = problem(80, 6, seed=2)
    C = np.full(80, 1.0)
    expected = SVMDual(y, C)
    expected.solve(X @ X.T, 6)
    monkeypatch.setattr(svm, "FREE_ROWS", 0)
    monkeypatch.setattr(svm, "WORK_SHARE", 1e30)  # the active set gives up at once
    monkeypatch.setattr(svm, "DIRECT_INVERSE", 0)
    inside = SVMDual(y, C)
    inside.solve(X @ X.T, 6)
    certify(inside, X @ X.T, y, C)
    assert X.T @ inside.coef == pytest.approx(X.T @ expected.coef, abs=1e-9)


@pytest.mark.parametrize("factored", [False, True])
def test_interior_point_alone_is_close(factored):
    X, y = problem(200, 10, seed=3)
    C = np.random.default_rng(0).uniform(0.1, 2.0, size=200)
    matrix = {"A": np.ascontiguousarray(X.T)} if factored else {"K": X @ X.T}
    alpha, at_zero, at_C, _ = interior_point(y, C, **matrix)
    exact = SVMDual(y, C)
    exact.solve(X @ X.T, 10)
    assert X.T @ (alpha * y) == pytest.approx(X.T @ exact.coef, abs=1e-5)
    assert alpha @ at_zero + (C - alpha) @ at_C <= 1e-8 * alpha.sum()


def test_repeated_rows_take_the_interior_solution():
    """Three coarse columns, 3,000 rows: hundreds lie on the margin, whichever are free."""
    rng = np.random.default_rng(6)
    X = rng.integers(0, 3, size=(3000, 3)).astype(float)
    y = np.where(X[:, 0] + rng.normal(size=3000) > 1, 1.0, -1.0)
    X -= X.mean(0)
    C = np.full(3000, 0.3)
    dual = SVMDual(y, C)
    dual.solve_factor(np.ascontiguousarray(X.T))
    assert dual.n_changes == 0
    assert 0 <= dual.duality_gap < 1e-9
    exact = SVMDual(y, C)
    exact.solve(X @ X.T, 3)
    assert X.T @ dual.coef == pytest.approx(X.T @ exact.coef, abs=1e-7)


def test_hard_margin_and_its_failure():
    X, y = problem(30, 100, seed=4)
    hard = SVMDual(y, np.full(30, np.inf))
    hard.solve(X @ X.T, 100)
    soft = SVMDual(y, np.full(30, 1e6))
    soft.solve(X @ X.T, 100)
    assert X.T @ hard.coef == pytest.approx(X.T @ soft.coef, abs=1e-9)
    X, y = problem(60, 2, seed=4, shift=0.1)
    with pytest.raises(FloatingPointError, match="separates"):
        SVMDual(y, np.full(60, np.inf)).solve(X @ X.T, 2)


def test_no_columns_that_vary():
    dual = SVMDual(np.array([1.0, -1.0, 1.0]), np.ones(3))
    dual.solve(np.zeros((3, 3)), 1)
    certify(dual, np.zeros((3, 3)), dual.y, dual.C)
    assert dual.bias == 1.0


@pytest.mark.parametrize("seed", range(6))
def test_warm_starts_with_most_rows_on_a_bound_never_cycle(seed, monkeypatch):
    """Under a small C few rows are free, sometimes one, which sits on its bound."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.normal(size=(12, 300)).round(1), axis=0)
    y = np.where(x[3] + x[5] + rng.normal(size=300) > 0, 1.0, -1.0)
    kernels = [1 - np.abs(z[:, None] - z) / np.ptp(z) for z in x]
    monkeypatch.setattr(svm, "interior_point", lambda *arguments, **more: pytest.fail("it gave up"))
    C = np.full(300, 0.1)
    dual = SVMDual(y, C)
    for n_kernels in range(12, 0, -1):
        K = sum(kernels[:n_kernels]) / n_kernels
        dual.forget_inverse()
        dual.solve(K, 300)
        certify(dual, K, y, C)


def test_a_factor_never_frees_more_rows_than_the_inverse_holds():
    """Rounding of wide columns makes zero pivots look positive: the inverse must not overflow."""
    y = np.where(np.arange(60) % 2, 1.0, -1.0)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(4, 60))
        A -= A.mean(axis=1, keepdims=True)
        A[:2] *= 1e3
        dual = SVMDual(y, np.full(60, 10.0))
        dual.solve_factor(A)
        assert dual._n_free <= len(dual._inverse)
        assert (np.abs(dual.coef) <= 10).all()
        assert abs(dual.coef.sum()) < 1e-8 * np.abs(dual.coef).sum()
