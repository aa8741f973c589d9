import numpy as np
import pytest

from featly.core.kernels.clinical import ClinicalColumns, code_positions, number_positions, ranges
from featly.core.svm import working_set
from featly.core.svm.dual import SVMDual
from featly.core.svm.working_set import solve_by_products


def problem(n, p_numbers=4, p_codes=3, seed=0, decimals=None):
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=(p_numbers, n)), rng.integers(0, 4, (p_codes, n))
    y = np.where(x[0] + (c[0] == 2) + rng.normal(size=n) > 0.3, 1.0, -1.0)
    x = x if decimals is None else x.round(decimals)
    return ClinicalColumns([number_positions(x, *ranges(x)), code_positions(c)]), y


def solve_problem(columns, y, C, **options):
    mean = np.full(columns.n_features, 1 / columns.n_features)
    return solve_by_products(
        lambda v: columns.product(v, mean), lambda rows: columns.block(rows, mean), y, C, **options
    )


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("decimals", [None, 0])
def test_exact_as_with_the_whole_matrix(C, decimals):
    columns, y = problem(400, decimals=decimals)
    prices = np.random.default_rng(1).uniform(0.5, 1, 400) * C
    solution = solve_problem(columns, y, prices)
    K = columns.gram() / columns.n_features
    exact = SVMDual(y, prices)
    exact.solve(K, 400)
    assert abs(solution.duality_gap) <= 1e-10
    assert abs(solution.coef.sum()) <= 1e-12 * prices.sum()
    assert (np.abs(solution.coef) <= prices).all()
    assert (solution.coef * y >= 0).all()
    assert columns.forms(solution.coef) == pytest.approx(columns.forms(exact.coef), rel=1e-5)
    quadratic = solution.coef @ K @ solution.coef / 2
    loss = prices @ np.maximum(0, 1 - y * (K @ solution.coef + solution.bias))
    assert quadratic + loss == pytest.approx(np.abs(solution.coef).sum() - quadratic, rel=1e-9)


def test_small_working_sets_get_there_too(monkeypatch):
    columns, y = problem(300, seed=2)
    monkeypatch.setattr(working_set, "FEW", 5)
    monkeypatch.setattr(working_set, "ROUGH", 0.3)
    monkeypatch.setattr(working_set, "ROUNDS", 400)
    monkeypatch.setattr(working_set, "MOST_SLOW", 400)
    assert abs(solve_problem(columns, y, np.full(300, 0.5)).duality_gap) <= 1e-10
    monkeypatch.setattr(working_set, "MOST", 40)  # fewer than lie between their bounds at first
    assert abs(solve_problem(columns, y, np.full(300, 0.5)).duality_gap) <= 1e-10


def test_where_sets_are_too_small_the_gradient_goes_on(monkeypatch):
    columns, y = problem(300, seed=3)
    monkeypatch.setattr(working_set, "MOST", 6)
    monkeypatch.setattr(working_set, "FEW", 3)
    solution = solve_problem(columns, y, np.full(300, 0.5))
    assert 0 <= solution.duality_gap <= 1e-8
    rough = solve_problem(columns, y, np.full(300, 0.5), rough=1e-3)
    assert rough.duality_gap <= 1e-3
    assert rough.n_iter < solution.n_iter


def test_the_gradient_goes_on_where_the_active_set_gives_up():
    """Few coarse columns and a large C: hundreds of rows lie between their bounds."""
    columns, y = problem(1200, 3, 1, seed=1, decimals=0)
    assert 0 <= solve_problem(columns, y, np.full(1200, 10.0)).duality_gap <= 1e-8


def test_a_warm_start_from_the_solution_is_done_at_once():
    columns, y = problem(200, seed=4)
    prices = np.full(200, 0.3)
    first = solve_problem(columns, y, prices)
    again = solve_problem(columns, y, prices, start=first.coef)
    assert again.n_iter <= 1
    assert abs(again.duality_gap) <= 1e-10


def test_block_is_the_matrix_of_its_rows():
    columns, _ = problem(60, seed=5)
    weight = np.linspace(0, 1, columns.n_features)
    rows = np.array([3, 40, 7, 59, 0])
    whole = columns.gram(weight)
    assert columns.block(rows, weight) == pytest.approx(whole[np.ix_(rows, rows)], abs=1e-13)
