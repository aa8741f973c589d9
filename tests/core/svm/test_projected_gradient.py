import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from featly.core.kernels.clinical import ClinicalColumns, code_positions, number_positions, ranges
from featly.core.svm.dual import SVMDual
from featly.core.svm.projected_gradient import project_balanced, projected_gradient


@given(st.integers(0, 10_000), st.integers(2, 30))
def test_projection_is_the_nearest_balanced_point(seed, n):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    C = rng.choice([0.1, 1.0, 10.0], n)
    lower, upper = np.where(y > 0, 0, -C), np.where(y > 0, C, 0)
    b = rng.normal(size=n) * rng.choice([1e-3, 1, 100])
    projection = project_balanced(b, lower, upper)
    assert abs(projection.sum()) <= 1e-12 * C.sum()
    assert ((projection >= lower) & (projection <= upper)).all()
    wide = 2 * (np.abs(b).max() + C.max())
    t = brentq(lambda t: np.clip(b - t, lower, upper).sum(), -wide, wide, xtol=1e-14)
    assert projection == pytest.approx(np.clip(b - t, lower, upper), abs=1e-9 * wide)
    assert project_balanced(projection, lower, upper) == pytest.approx(projection, abs=1e-12)


def problem(n, seed=0):
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=(6, n)), rng.integers(0, 4, (4, n))
    y = np.where(x[0] + (c[0] == 2) + 0.5 * rng.normal(size=n) > 0.3, 1.0, -1.0)
    columns = ClinicalColumns([number_positions(x, *ranges(x)), code_positions(c)])
    return columns, y


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0, 10.0])
def test_reaches_the_exact_solution(C):
    columns, y = problem(200)
    prices = np.full(200, C)
    mean = np.full(10, 0.1)
    solution = projected_gradient(lambda v: columns.product(v, mean), y, prices, tolerance=1e-9)
    exact = SVMDual(y, prices)
    exact.solve(columns.gram(mean), 200)
    assert 0 <= solution.duality_gap <= 1e-9
    assert columns.forms(solution.coef) == pytest.approx(columns.forms(exact.coef), rel=1e-3)
    # the duality gap equals its definition
    K = columns.gram(mean)
    quadratic = solution.coef @ K @ solution.coef / 2
    loss = prices @ np.maximum(0, 1 - y * (K @ solution.coef + solution.bias))
    dual = np.abs(solution.coef).sum() - quadratic
    assert (quadratic + loss - dual) / (quadratic + loss) == pytest.approx(
        solution.duality_gap, abs=1e-12
    )


def test_a_warm_start_is_not_slower_and_a_limit_is_kept():
    columns, y = problem(300, seed=1)
    prices, mean = np.full(300, 1.0), np.full(10, 0.1)
    cold = projected_gradient(lambda v: columns.product(v, mean), y, prices)
    warm = projected_gradient(lambda v: columns.product(v, mean), y, prices, start=cold.coef)
    assert warm.n_iter <= cold.n_iter
    assert warm.n_iter == 0
    short = projected_gradient(lambda v: columns.product(v, mean), y, prices, max_iter=5)
    assert short.n_iter == 5
    assert short.duality_gap > 1e-8


def test_a_guess_at_the_curvature_that_is_too_small_is_corrected():
    """One eigenvalue out of reach of the first power steps."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(60, 60))
    K = A @ A.T
    y = np.where(np.arange(60) % 2 == 0, 1.0, -1.0)
    direction = A @ rng.normal(size=60)
    direction -= direction.mean()
    direction -= y * (direction @ y) / 60  # the first step does not see it
    K += 1e4 * np.outer(direction, direction) / (direction @ direction)
    solution = projected_gradient(lambda v: K @ v, y, np.full(60, 0.1), tolerance=1e-6)
    assert solution.duality_gap <= 1e-6
    hinted = projected_gradient(
        lambda v: K @ v, y, np.full(60, 0.1), lipschitz=1e-3, tolerance=1e-6
    )
    assert hinted.duality_gap <= 1e-6
    assert hinted.lipschitz > 100


def test_nothing_to_learn():
    y = np.array([1.0, 1.0, -1.0])
    solution = projected_gradient(lambda v: np.zeros(3), y, np.ones(3))
    assert solution.duality_gap <= 1e-8
    assert solution.bias == 1.0
