"""Rates of a nested cross-validation: the numbers of the formulas, and what they keep."""

import numpy as np
import pytest
from scipy import stats

from featly.basics.errors import DataError, ParameterError
from featly.measures.nested_rates import (
    class_rates,
    correct_rates,
    count_units,
    extrapolation_weight,
    inflation,
    rate_interval,
    rate_limits,
    round_outward,
)


def test_weight_of_ten_and_five_folds():
    assert extrapolation_weight(10, 5) == pytest.approx(0.4, abs=1e-12)


@pytest.mark.parametrize(("folds", "inner"), [(2, 2), (5, 3), (10, 5), (20, 10)])
def test_weight_extrapolates_what_is_linear_in_one_over_rows(folds, inner):
    def rate(share):
        return 0.8 - 0.1 / share

    u = 1 - 1 / folds
    corrected = correct_rates([rate(u)], [rate(u * (1 - 1 / inner))], folds, inner)
    assert corrected[0] == pytest.approx(rate(1.0), abs=1e-12)


@pytest.mark.parametrize(
    ("rates", "counts", "lower", "upper"),
    [((0.8, 0.6), (50, 30), 0.544562, 0.824592), ((1.0, 1.0), (30, 30), 0.870864, 1.0)],
)
def test_limits_before_rounding(rates, counts, lower, upper):
    interval = rate_interval(rates, counts, rounded=False)
    assert interval == pytest.approx((np.mean(rates), lower, upper), abs=5e-7)


def test_order_of_classes_is_irrelevant():
    rates, counts = np.array([0.8, 0.61, 0.37]), np.array([50, 30, 11])
    intervals = {rate_interval(rates[order], counts[order], rounded=False) for order in
                 ([0, 1, 2], [2, 0, 1], [1, 2, 0])}  # fmt: skip
    assert len(intervals) == 1


def test_one_class_alone_has_the_limits_of_clopper_and_pearson():
    # 82 rows count as 50; 40 of them right
    interval = rate_interval([0.8, 0.3], [82, 10], weights=[1.0, 0.0], rounded=False)
    exact = stats.binomtest(40, 50).proportion_ci(method="exact")
    assert interval[1:] == pytest.approx((exact.low, exact.high), abs=1e-12)


def test_limits_of_rates_at_the_ends():
    lower, upper = rate_limits([0.0, 1.0], [20, 20])
    assert (lower[0], upper[1]) == (0.0, 1.0)
    assert upper[0] == pytest.approx(1 - lower[1])


def test_accuracy_weighs_classes_by_their_rows():
    weights = np.array([0.9, 0.1])
    assert rate_interval([1.0, 0.0], [90, 10], weights=weights).value == pytest.approx(0.9)


def test_fewer_repeats_are_wider():
    widths = [np.diff(rate_interval([0.7, 0.7], [40, 40], repeats=r, rounded=False)[1:])[0]
              for r in (1, 3, 5)]  # fmt: skip
    assert widths[0] > widths[1] > widths[2]
    assert [inflation(r) for r in (1, 2, 3, 4, 5, 20)] == [2.0, 2.0, 1.75, 1.75, 1.64, 1.64]


def test_rounding_is_outward():
    assert round_outward(0.5446, 0.8246) == (0.54, 0.83)
    assert round_outward(0.54, 0.83) == (0.54, 0.83)
    assert round_outward(0.1 + 0.2, 0.7000000000000001) == (0.3, 0.7)
    assert round_outward(-0.1, 1.2) == (0.0, 1.0)


def test_rates_of_classes_average_over_repeats_and_leave_out_missing():
    hits = [[1, 0, np.nan], [1, 1, np.nan]]
    assert class_rates(hits, [0, 0, 1], 2).tolist() == [0.75, pytest.approx(np.nan, nan_ok=True)]


def test_inner_rates_that_are_missing_correct_nothing():
    assert correct_rates([0.8], [np.nan], 10, 5)[0] == pytest.approx(0.8)


def test_a_class_of_three_rows_has_no_interval():
    with pytest.raises(DataError, match="class 1 has 3 rows"):
        rate_limits([0.5, 0.5], [20, 3])


def test_groups_are_counted_once_for_each_class():
    y, groups = np.array([0, 1, 0, 0, 1]), np.array([4, 4, 4, 9, 9])
    assert count_units(y, 2, groups).tolist() == [2, 2]


def test_wrong_folds_are_refused():
    with pytest.raises(ParameterError, match="inner=1"):
        extrapolation_weight(10, 1)
