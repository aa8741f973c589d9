"""Areas and rates counted fold by fold, against sums over all pairs and rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.measures.fold_tally import AreaTally, RateTally


def slow_area(values, y, fold_of):
    """Count pairs of rows in one fold, one by one; a list with a gap in a fold is chance there."""
    areas = []
    for v in values:
        in_order = pairs = 0
        for i in range(len(y)):
            for j in range(len(y)):
                if fold_of[i] == fold_of[j] and y[i] == 1 and y[j] == 0:
                    pairs += 1
                    if np.isnan(v[fold_of == fold_of[i]]).any():
                        in_order += 0.5
                    else:
                        in_order += 1.0 if v[i] > v[j] else 0.5 if v[i] == v[j] else 0.0
        areas.append(in_order / pairs if pairs else 0.5)
    return np.mean(areas)


def slow_rate(predicted, y):
    """Count rows class by class."""
    n_classes = max(y) + 1
    rates = []
    for row in predicted:
        for c in range(n_classes):
            known = [row[i] == c for i in range(len(y)) if y[i] == c and row[i] >= 0]
            rates.append(np.mean(known) if known else 1 / n_classes)
    return np.mean(rates)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(4, 24), n_folds=st.integers(1, 5))
def test_tallies_are_sums_and_their_bounds_hold(seed, n, n_folds):
    rng = np.random.default_rng(seed)
    y, fold_of = rng.integers(0, 2, n), rng.integers(0, n_folds, n)
    y[0] = 1
    values = rng.integers(0, 4, (3, n)).astype(float)
    values[0, fold_of == 0] = np.nan
    predicted = rng.integers(-1, 2, (3, n))
    area, rate = AreaTally(y, fold_of), RateTally(y)
    bounds = [(area.most(), rate.most())]
    for fold in rng.permutation(n_folds):
        rows = np.flatnonzero(fold_of == fold)
        area.add(rows, values[:, rows])
        rate.add(rows, predicted[:, rows])
        bounds.append((area.most(), rate.most()))
    assert area.value() == pytest.approx(slow_area(values, y, fold_of))
    assert rate.value() == pytest.approx(slow_rate(predicted, y))
    assert bounds[-1] == pytest.approx((area.value(), rate.value()))
    falling = np.array(bounds)
    assert (falling >= falling[-1] - 1e-12).all()


def test_the_first_lists_count_where_folds_have_more():
    """A method that chooses its size has one list a learner, a failed fit those of the grid."""
    tally = AreaTally([0, 1, 0, 1], [0, 0, 1, 1])
    tally.add([0, 1], np.array([[[0.0, 1.0]], [[1.0, 0.0]]]))
    tally.add([2, 3], np.full((2, 3, 2), np.nan))
    assert tally.value() == pytest.approx((0.75 + 0.25) / 2)
