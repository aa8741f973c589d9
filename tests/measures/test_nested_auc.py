"""The area under the ROC curve of pooled values, against all pairs of rows."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from featly.basics.errors import DataError
from featly.measures.nested_auc import area_interval, mean_area, placements


def values_with_ties(seed, n=40):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n // 3, n - n // 3]))
    return np.round(rng.normal(size=(3, n)) + y, 1), y


@pytest.mark.parametrize("seed", range(5))
def test_areas_and_placements_equal_all_pairs(seed):
    values, y = values_with_ties(seed)
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for row, shares in zip(values, placements(values, y), strict=True):
        pairs = np.sign(row[positive][:, None] - row[negative][None]) / 2 + 0.5
        assert mean_area(row, y) == pytest.approx(roc_auc_score(y, row))
        assert shares[positive] == pytest.approx(pairs.mean(axis=1))
        assert shares[negative] == pytest.approx(pairs.mean(axis=0))


def test_a_perfect_area_has_one_as_its_upper_limit():
    y = np.repeat([0, 1], 15)
    interval = area_interval([y * 1.0], [y * 1.0], y, folds=10, n_inner=5)
    assert (interval.value, interval.upper) == (1.0, 1.0)
    assert 0.4 < interval.lower < 1


def test_better_outer_than_inner_models_raise_the_value():
    values, y = values_with_ties(1)
    worse = values - 0.5 * y
    plain = area_interval(values, values, y, folds=10, n_inner=5)
    raised = area_interval(values, worse, y, folds=10, n_inner=5)
    w = 0.4
    expected = mean_area(values, y) + w * (mean_area(values, y) - mean_area(worse, y))
    assert plain.value == pytest.approx(mean_area(values, y))
    assert raised.value == pytest.approx(expected)


def test_the_interval_holds_its_value_and_groups_widen_it():
    values, y = values_with_ties(2, 90)
    rows = area_interval(values, values, y, folds=10, n_inner=5)
    groups = area_interval(values, values, y, folds=10, n_inner=5, counts=(15, 30))
    assert groups.lower < rows.lower <= rows.value <= rows.upper < groups.upper


def test_missing_values_are_left_out():
    values, y = values_with_ties(3)
    values[0, :5] = np.nan
    known = mean_area(values[0, 5:], y[5:])
    assert area_interval(values[:1], values[:1], y, folds=10, n_inner=5).value == known
    values[1], values[2, y == 1] = np.nan, np.nan
    assert mean_area(values, y) == known
    assert mean_area(values, y, undefined=0.5) == pytest.approx((known + 1) / 3)


def test_one_class_has_no_area():
    assert np.isnan(mean_area([0.1, 0.2], [1, 1]))
    with pytest.raises(DataError, match="there is no area"):
        area_interval([[0.1, 0.2]], [[0.1, 0.2]], [1, 1], folds=10, n_inner=5)
    with pytest.raises(DataError, match="one class"):
        placements([0.1, 0.2], [1, 1])
