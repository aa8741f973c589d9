"""The test by shuffled labels: where it ends, its p-value, and how often noise gets a yes."""

import numpy as np
import pytest

from featly.basics.errors import ParameterError
from featly.measures.shuffle_test import shuffle_test


def test_a_clear_no_ends_at_the_fifth():
    drawn = iter([0.6, 0.4, 0.5, 0.6, 0.7, 0.5, 0.9, 0.9])
    test = shuffle_test(0.5, drawn)
    assert (test.drawn, test.reached, test.p_value) == (6, 5, 5 / 6)
    assert next(drawn) == 0.9  # no more were drawn than were needed


def test_a_clear_yes_goes_on_to_the_end():
    test = shuffle_test(0.9, iter([0.5] * 98 + [0.95]))
    assert (test.drawn, test.reached, test.p_value) == (99, 1, 0.02)
    assert test.is_yes


@pytest.mark.parametrize(("reached", "expected"), [(4, True), (5, False)])
def test_five_percent_of_99(reached, expected):
    values = [0.5] * (99 - reached) + [1.0] * reached
    assert shuffle_test(0.9, values).is_yes is expected


def test_nineteen_allow_a_yes_only_if_none_reaches():
    assert shuffle_test(0.9, [0.5] * 19, most=19).is_yes
    assert not shuffle_test(0.9, [0.5] * 18 + [0.9], most=19).is_yes


def test_ties_and_missing_values_count_as_reached():
    assert shuffle_test(0.5, [0.5] * 9).reached == 5
    assert shuffle_test(0.1 + 0.2, [0.3] * 9).reached == 5
    assert shuffle_test(0.5, [np.nan] * 9).reached == 5


def test_fewer_than_nineteen_are_refused():
    with pytest.raises(ParameterError, match="at least 19"):
        shuffle_test(0.5, [], most=18)


def values_of_folds(X, y, fold_of):
    """Return decision values of the folds of many tables at all sizes, all tables at once.

    Columns are ranked by the difference of the means in the training part, rows predicted by the
    nearest mean.
    """
    values = np.empty((len(X), 5, X.shape[1]))
    for fold in range(5):
        train = fold_of != fold
        means = []
        for c in (0, 1):
            rows = (train & (y == c)).astype(float)
            means.append((rows[:, None] @ X)[:, 0] / rows.sum(axis=1, keepdims=True))
        difference = means[1] - means[0]
        best = np.argsort(-np.abs(difference), axis=1)[:, :16]
        middle = np.take_along_axis((means[1] + means[0]) / 2, best, axis=1)
        weight = np.take_along_axis(difference, best, axis=1)
        chosen = np.take_along_axis(X[:, ~train], best[:, None, :], axis=2)
        sums = np.cumsum((chosen - middle[:, None]) * weight[:, None], axis=2)
        values[:, :, ~train] = sums[:, :, [0, 1, 3, 7, 15]].transpose(0, 2, 1)
    return values


def areas_within_folds(values, y):
    """Return the mean area of each table: of pairs of rows in one of 5 folds of 8 rows."""
    order = np.argsort(y.reshape(len(y), 1, 5, 8), axis=3, kind="stable")
    by_fold = values.reshape(len(y), 5, 5, 8)
    zero = np.take_along_axis(by_fold, order[..., :4], axis=3)
    one = np.take_along_axis(by_fold, order[..., 4:], axis=3)
    return (one[..., :, None] > zero[..., None, :]).mean(axis=(1, 2, 3, 4))


def test_noise_is_called_predictive_in_few_tables():
    """200 tables of noise, 40 x 20: at most 16 are called predictive, where 10 are meant.

    Folds stay, and labels are shuffled within them.
    """
    rng = np.random.default_rng(11)
    X = rng.normal(size=(200, 40, 20))
    fold_of, y = np.arange(40) // 8, np.tile([0, 1], 20)
    statistics = [[] for _ in X]
    tests = {}
    left = np.arange(len(X))
    for n_draws in (16, 24, 60):  # the real labels are as good as the first shuffle
        for _ in range(n_draws):
            # a row of a fold has 8 places of one block
            order = np.argsort(rng.random((len(left), 5, 8)), axis=2) + 8 * np.arange(5)[:, None]
            labels = y[order.reshape(len(left), 40)]
            values = values_of_folds(X[left], labels, fold_of)
            areas = areas_within_folds(values, labels)
            for table, area in zip(left.tolist(), areas, strict=True):
                statistics[table].append(area)
        tests |= {k: shuffle_test(statistics[k][0], statistics[k][1:]) for k in left.tolist()}
        left = np.array([k for k, test in tests.items() if test.reached < 5])
    assert all(test.drawn == 99 for test in tests.values() if test.reached < 5)
    assert sum(test.is_yes for test in tests.values()) <= 16
    assert np.mean([test.drawn for test in tests.values()]) < 30
