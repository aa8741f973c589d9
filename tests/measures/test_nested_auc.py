"""The area under the ROC curve of pooled values, against all pairs of rows."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from featly.basics.errors import DataError
from featly.measures.nested_auc import area_interval, areas, placements


def values_with_ties(seed, n=40):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1], [n // 3, n - n // 3]))
    return np.round(rng.normal(size=(3, n)) + y, 1), y


@pytest.mark.parametrize("seed", range(5))
def test_areas_and_placements_equal_all_pairs(seed):
    values, y = values_with_ties(seed)
    positive, negative = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    for row, area, shares in zip(values, areas(values, y), placements(values, y), strict=True):
        pairs = np.sign(row[positive][:, None] - row[negative][None]) / 2 + 0.5
        assert area == pytest.approx(roc_auc_score(y, row))
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
    expected = np.mean(areas(values, y)) + w * (
        np.mean(areas(values, y)) - np.mean(areas(worse, y))
    )
    assert plain.value == pytest.approx(np.mean(areas(values, y)))
    assert raised.value == pytest.approx(expected)


def test_the_interval_holds_its_value_and_groups_widen_it():
    values, y = values_with_ties(2, 90)
    rows = area_interval(values, values, y, folds=10, n_inner=5)
    groups = area_interval(values, values, y, folds=10, n_inner=5, counts=(15, 30))
    assert groups.lower < rows.lower <= rows.value <= rows.upper < groups.upper


def test_missing_values_are_left_out():
    values, y = values_with_ties(3)
    values[0, :5] = np.nan
    known = areas(values[0, 5:], y[5:])
    first = area_interval(values[:1], values[:1], y, folds=10, n_inner=5)
    assert first.value == pytest.approx(float(known))


def test_one_class_has_no_area():
    with pytest.raises(DataError, match="one class"):
        areas([0.1, 0.2], [1, 1])
