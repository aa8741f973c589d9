"""Identities that hold for every method that takes numbers or survival times."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.feature_selection import f_regression

import featly
from featly import FTest
from featly.base import Ranker
from featly.problem.target import Numbers, Survival
from featly.registry import METHODS, method_class
from tests.reference import targets as reference

METHODS_OF_NUMBERS = sorted(name for name, m in METHODS.items() if "numbers" in m.targets)
# these test or correlate a column with the number itself; all others count the groups of it
TESTING = {"f-test", "redundancy-filter", "ridge"}
COUNTING = sorted(set(METHODS_OF_NUMBERS) - TESTING)


def table(n=150, p=12, *, missing=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(1)
    y = X[:, 2] + 0.6 * X[:, 5] + 0.3 * rng.normal(size=n)
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


def survival(time, event):
    return np.array(list(zip(event, time, strict=True)), dtype=[("event", "?"), ("time", "f8")])


def outcome(fitted):
    """Return all that a fit tells, bit by bit."""
    return fitted.order_.tolist(), fitted.table().fill_nan(-1.0).rows()


# ---- numbers and their groups -----------------------------------------------------------------
@pytest.mark.parametrize("name", COUNTING)
def test_numbers_are_counted_as_their_groups(name):
    X, y = table()
    groups = Numbers(y).groups().codes
    on_numbers, on_groups = (method_class(name)().fit(X, target) for target in (y, groups))
    assert outcome(on_numbers) == outcome(on_groups)
    assert on_numbers.target_kind_ == "numbers"
    assert not hasattr(on_numbers, "classes_")


@pytest.mark.parametrize("name", COUNTING)
def test_a_monotone_change_of_the_target_changes_no_bit(name):
    X, y = table()
    expected = outcome(method_class(name)().fit(X, y))
    for changed in (np.exp(y), 1e-3 * y - 5, y**3):
        assert outcome(method_class(name)().fit(X, changed)) == expected


@pytest.mark.parametrize("name", COUNTING)
def test_survival_is_counted_by_groups_of_its_residual(name):
    X, y = table()
    event = np.arange(len(y)) % 4 > 0
    groups = Survival(np.exp(y), event).groups().codes
    on_times = method_class(name)().fit(X, survival(np.exp(y), event))
    assert outcome(on_times) == outcome(method_class(name)().fit(X, groups))


@pytest.mark.parametrize("name", METHODS_OF_NUMBERS)
def test_columns_that_make_the_target_come_first(name):
    X, y = table(n=800)
    for target in (y, survival(np.exp(-y), np.ones(len(y), bool))):
        fitted = method_class(name)().fit(X, target)
        if isinstance(fitted, Ranker):
            assert set(fitted.order_[:2].tolist()) == {2, 5}
        else:
            assert 2 in fitted.order_
            assert {2, 5} <= set(fitted.order_.tolist()) or name == "cfs"  # which likes few


@pytest.mark.parametrize("name", [name for name in METHODS_OF_NUMBERS if METHODS[name].missing])
def test_missing_values_in_columns(name):
    X, y = table(missing=0.15)
    fitted = method_class(name)().fit(X, y)
    assert 2 in fitted.order_[:2].tolist()


@pytest.mark.parametrize("name", METHODS_OF_NUMBERS)
def test_numbers_of_two_values_are_two_classes(name):
    X, y = table()
    label = y > np.median(y)
    on_numbers = method_class(name)(schema={"target_kind": "numbers"}).fit(X, label * 3 + 1)
    on_classes = method_class(name)().fit(X, label)
    assert on_numbers.order_.tolist() == on_classes.order_.tolist()
    if hasattr(on_numbers, "scores_"):
        numbers, classes = on_numbers.scores_, on_classes.scores_
        if name == "ridge":  # whose weights are in units of the target
            numbers, classes = numbers / numbers.max(), classes / classes.max()
        assert numbers == pytest.approx(classes, rel=1e-9, abs=1e-12)


# ---- the F-test of regression ------------------------------------------------------------------
def test_f_equals_scikit_learn_wherever_the_table_lies(tmp_path):
    rng = np.random.default_rng(4)
    X = np.where(rng.random((3000, 80)) < 0.4, rng.normal(size=(3000, 80)), 0.0)
    y = rng.normal(size=3000) + X[:, 7]
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "by_columns.npy", np.asfortranarray(X))
    names = [f"x{j}" for j in range(80)]
    pl.DataFrame(X, schema=names).write_parquet(tmp_path / "X.parquet")
    scipy.sparse.save_npz(tmp_path / "X.npz", scipy.sparse.csc_array(X))
    statistic, p = f_regression(X, y)
    tables = {
        "rows": X,
        "columns": np.asfortranarray(X),
        "frame": pl.DataFrame(X, schema=names),
        "sparse": scipy.sparse.csc_array(X),
        "sparse rows": scipy.sparse.csr_array(X),
        **{name: featly.scan(tmp_path / name) for name in ("X.npy", "by_columns.npy", "X.parquet")},
    }
    for form, columns in tables.items():
        test = FTest(memory_limit="1MB").fit(columns, y)
        assert test.statistic_ == pytest.approx(statistic, rel=1e-12), form
        assert test.p_value_ == pytest.approx(p, rel=1e-9), form
        assert test.order_[0] == 7


def test_f_of_missing_values_uses_the_rows_where_a_column_has_one():
    X, y = table(missing=0.3)
    X[:, 0] = 1.5
    X[:, 1] = np.nan
    X[2:, 3] = np.nan
    for form in (X, np.asfortranarray(X), scipy.sparse.csc_array(X)):
        test = FTest().fit(form, y)
        assert test.statistic_[[0, 1, 3]].tolist() == [0.0, 0.0, 0.0]
        assert test.p_value_[[0, 1, 3]].tolist() == [1.0, 1.0, 1.0]
        for j in (2, *range(4, 12)):
            expected = reference.f_of_regression(X[:, j], y)
            assert test.statistic_[j] == pytest.approx(expected, rel=1e-9)


def test_f_of_an_exact_line_is_infinite_and_of_large_offsets_exact():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50)
    X = np.column_stack([3 * y - 2, y + 0.1 * rng.normal(size=50) + 1e6, rng.normal(size=50)])
    test = FTest().fit(X, y + 1e6)
    assert test.statistic_[0] == np.inf
    assert test.p_value_[0] == 0
    exact = [reference.f_of_regression(column, y) for column in X.T[1:]]
    assert test.statistic_[1:] == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("scale", [1e-100, 1e-9, 1e100])
def test_f_does_not_depend_on_units(scale):
    X, y = table()
    expected = FTest().fit(X, y).statistic_
    for columns, target in ((X, y * scale), (X * scale, y)):
        test = FTest(schema={"target_kind": "numbers"})
        assert test.fit(columns, target).statistic_ == pytest.approx(expected, rel=1e-10)


def test_f_of_a_column_where_the_target_is_constant_is_0():
    """A column that was measured only in rows of one target is not related to it."""
    rng = np.random.default_rng(1)
    y = np.where(np.arange(90) < 40, 5.3, rng.normal(size=90) * 1e3)
    X = rng.normal(size=(90, 2))
    X[40:, 0] = np.nan
    for form in (X, np.asfortranarray(X), scipy.sparse.csc_array(X)):
        assert FTest().fit(form, y).statistic_[0] == 0


def test_f_of_survival_is_that_of_the_residuals():
    X, y = table()
    time, event = np.exp(y), np.arange(len(y)) % 3 > 0
    residuals = reference.martingale_residuals(time.tolist(), event.tolist())
    test = FTest().fit(X, survival(time, event))
    assert test.target_kind_ == "survival"
    assert test.statistic_ == pytest.approx(f_regression(X, np.array(residuals))[0], rel=1e-10)
    # the sign of time and its unit change nothing: only its order counts
    again = FTest().fit(X, survival(np.sqrt(time) * 12, event))
    assert again.statistic_.tolist() == test.statistic_.tolist()


def test_f_of_two_groups_without_censoring_is_the_test_of_savage():
    """T = (O - E)^2 / (h'h m2 / (n - 1)), the log-rank score with the variance of permutations."""
    rng = np.random.default_rng(6)
    time = rng.permutation(40) + 1.0
    group = rng.random(40) < 0.4
    scores = np.array(reference.savage_scores(time.tolist()))
    score = reference.log_rank(time.tolist(), [True] * 40, group.tolist())
    variance = (scores**2).sum() * ((group - group.mean()) ** 2).sum() / 39
    chi_squared = score**2 / variance
    test = FTest().fit(group[:, None].astype(float), survival(time, np.ones(40, bool)))
    # F and T are the same test: T = (n - 1) r^2, F = (n - 2) r^2 / (1 - r^2)
    r_squared = chi_squared / 39
    assert test.statistic_[0] == pytest.approx(38 * r_squared / (1 - r_squared), rel=1e-10)


@pytest.mark.parametrize("measure", ["f", "rank"])
def test_mrmr_by_correlation_takes_numbers(measure):
    X, y = table()
    fitted = featly.MRMR(measure=measure).fit(X, y)
    assert fitted.order_[:2].tolist() == [2, 5]
    relevance = fitted.table().sort("rank")["relevance"] if "relevance" in fitted.table() else None
    assert relevance is None or relevance[0] > 0
    if measure == "rank":  # ranks of the target, so that its scale does not matter
        again = featly.MRMR(measure=measure).fit(X, np.exp(y))
        assert again.order_.tolist() == fitted.order_.tolist()
        assert again.scores_.tolist() == fitted.scores_.tolist()
