import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from featly import FTest
from featly.basics.errors import DataError, ParameterError
from featly.measures.sizes import CURVE_RULES, SIZE_RULES, Curve, choose_size, expected_false
from tests.reference import statistics as reference

VALUE = st.sampled_from([0.5, 0.6, 0.7, 0.75, 0.8, np.nan])


@st.composite
def curves(draw, values=VALUE, least_splits=2):
    """Ties, failed fits, flat curves, a single size; the best size always has two values."""
    n_sizes, n_splits = draw(st.integers(1, 7)), draw(st.integers(least_splits, 6))
    steps = draw(st.lists(st.integers(1, 30), min_size=n_sizes, max_size=n_sizes))
    row = st.lists(values, min_size=n_sizes, max_size=n_sizes)
    table = np.array(draw(st.lists(row, min_size=n_splits, max_size=n_splits)))
    table[:, (~np.isnan(table)).sum(axis=0) < 2] = np.nan
    table[:, draw(st.integers(0, n_sizes - 1))] = draw(st.sampled_from([0.6, 0.9]))
    return Curve(np.cumsum(steps), table, n_train=90, n_test=10)


def columns(curve):
    return [[v for v in column if v == v] for column in curve.values.T.tolist()]


@given(curves())
def test_a_rule_on_a_curve_chooses_one_of_its_sizes_and_no_larger_than_the_rule_before(curve):
    chosen = {rule: choose_size(curve, rule) for rule in CURVE_RULES}
    assert set(chosen.values()) <= set(curve.sizes.tolist())
    assert all(type(size) is int for size in chosen.values())
    assert (
        chosen["within-corrected-interval"]
        <= chosen["within-interval"]
        <= chosen["one-standard-error"]
        <= chosen["best"]
    )
    assert curve.sizes[0] <= chosen["knee"] <= chosen["best"]


@given(curves())
def test_rules_on_a_curve_are_their_definitions(curve):
    def student(values, factor):
        error = np.std(np.array(values) - values[0], ddof=1) * math.sqrt(factor)
        return stats.t.ppf(0.975, len(values) - 1) * error

    margins = {
        "best": lambda v: 0.0,
        "one-standard-error": lambda v: np.std(np.array(v) - v[0], ddof=1) / math.sqrt(len(v)),
        "within-interval": lambda v: student(v, 1 / len(v)),
        "within-corrected-interval": lambda v: student(v, 1 / len(v) + 10 / 90),
    }
    sizes = curve.sizes.tolist()
    for rule, margin in margins.items():
        near = {
            reference.within(sizes, columns(curve), lambda v, m=margin, e=e: max(0.0, m(v) + e))
            for e in (-1e-12, 1e-12)
        }
        assert choose_size(curve, rule) in near


@given(curves())
def test_errors_are_negative_performances(curve):
    errors = Curve(curve.sizes, -curve.values, False, 90, 10)
    for rule in CURVE_RULES:
        assert choose_size(errors, rule) == choose_size(curve, rule)
    assert repr(errors).split("at")[1] == repr(curve).split("at")[1]


@given(curves(), st.randoms(use_true_random=False))
def test_the_order_of_the_splits_does_not_matter(curve, random):
    rows = list(range(len(curve.values)))
    random.shuffle(rows)
    other = Curve(curve.sizes, curve.values[rows], n_train=90, n_test=10)
    assert other.mean == pytest.approx(curve.mean, rel=0, abs=0, nan_ok=True)
    for rule in ("best", "knee"):
        assert choose_size(other, rule) == choose_size(curve, rule)


@given(curves())
def test_sizes_that_are_no_better_change_nothing(curve):
    """A longer curve that stays below what was reached gives the same answers."""
    worse = np.full((len(curve.values), 2), 0.1)
    longer = Curve(
        [*curve.sizes, curve.sizes[-1] + 1, curve.sizes[-1] * 50],
        np.column_stack([curve.values, worse]),
        n_train=90,
        n_test=10,
    )
    for rule in CURVE_RULES:
        assert choose_size(longer, rule) == choose_size(curve, rule)


@given(curves(values=st.sampled_from([0.1, 0.5, 0.9])))
def test_statistics_of_a_curve_are_numpys(curve):
    assert curve.mean == pytest.approx(curve.values.mean(axis=0))
    assert curve.sd == pytest.approx(curve.values.std(axis=0, ddof=1), abs=1e-12)
    assert curve.n.tolist() == [len(curve.values)] * len(curve.sizes)
    assert curve.standard_error == pytest.approx(stats.sem(curve.values, axis=0), abs=1e-12)
    lower, upper = curve.interval(0.9)
    wide, wider = curve.interval(0.9, corrected=True)
    half = stats.t.ppf(0.95, len(curve.values) - 1) * curve.standard_error
    assert upper - curve.mean == pytest.approx(half, abs=1e-12)
    assert curve.mean - lower == pytest.approx(half, abs=1e-12)
    ratio = math.sqrt(1 + len(curve.values) * 10 / 90)
    assert wider - wide == pytest.approx((upper - lower) * ratio, abs=1e-12)


def test_failed_fits_leave_their_split_out():
    curve = Curve([1, 2, 3], [[0.5, np.nan, np.nan], [0.7, 0.6, np.nan]])
    assert curve.n.tolist() == [2, 1, 0]
    assert curve.mean[:2] == pytest.approx([0.6, 0.6])
    assert np.isnan(curve.mean[2])
    assert np.isnan(curve.sd[1:]).all()
    assert np.isnan(curve.interval()[0][1:]).all()
    assert choose_size(curve, "best") == 1
    assert curve.summary().splitlines()[2].split() == ["2", "0.6000", "nan", "1"]


def test_smallest_size_within_the_interval_of_the_best():
    """By hand: best 0.9 at 8 with SE 0.01 over five splits, so the interval starts at 0.872."""
    spread = (
        np.array([-2, -1, 0, 1, 2]) * 0.01 * math.sqrt(2)
    )  # a standard deviation of sqrt(.0005)
    means = np.array([0.60, 0.87, 0.875, 0.895, 0.90, 0.88])
    curve = Curve([1, 2, 3, 5, 8, 13], means + spread[:, None], n_train=80, n_test=20)
    assert curve.standard_error[4] == pytest.approx(0.01)
    assert choose_size(curve, "best") == 8
    assert choose_size(curve, "one-standard-error") == 5
    assert choose_size(curve) == choose_size(curve, "within-interval") == 3
    assert choose_size(curve, level=0.99) == 2
    # the factor 1/5 + 1/4 in place of 1/5 makes half a width of 0.042
    assert choose_size(curve, "within-corrected-interval") == 2


def test_knee():
    straight = Curve([1, 2, 3, 4, 5], [[0.1, 0.2, 0.3, 0.4, 0.5]])
    assert choose_size(straight, "knee") == 5
    bent = Curve([1, 2, 3, 4, 5], [[0.1, 0.2, 0.45, 0.48, 0.5]])
    assert choose_size(bent, "knee") == 3
    below = Curve([1, 2, 3], [[0.1, 0.1, 0.5]])
    assert choose_size(below, "knee") == 3
    assert choose_size(Curve([4, 5], [[0.9, 0.8]]), "knee") == 4
    tied = Curve([1, 2, 3, 4, 6], [[0.001, 0.004, 0.005, 0.0055, 0.006]])  # but for rounding
    assert choose_size(tied, "knee") == 2
    incomplete = Curve([1, 2, 3, 4, 5], [[0.1, np.nan, 0.45, 0.48, 0.5]])
    assert choose_size(incomplete, "knee") == 3


def test_a_knee_over_a_wide_range_is_seen_in_powers_of_two():
    values = [0.5, 0.6, 0.72, 0.74, 0.76, 0.78, 0.8]
    wide = Curve([1, 2, 4, 8, 16, 32, 64], [values])
    narrow = Curve([1, 2, 3, 4, 5, 6, 7], [values])
    assert choose_size(wide, "knee") == 4
    assert choose_size(narrow, "knee") == 3
    # to 8 times the first size is not wide: on plain sizes 3 stands highest, on logarithms 2 does
    values = [0.5, 0.63, 0.678, 0.8]
    assert choose_size(Curve([1, 2, 3, 8], [values]), "knee") == 3
    assert choose_size(Curve([1, 2, 3, 9], [values]), "knee") == 2


SCORE = st.sampled_from([-2.0, 0.0, 0.1, 0.25, 1.0, 4.0])


@given(st.lists(SCORE, min_size=1, max_size=9), st.floats(0.01, 100), st.floats(-5, 5))
def test_rules_on_scores_are_their_definitions_in_any_units(scores, scale, shift):
    for rule, by_hand in (
        ("largest-gap", reference.largest_gap),
        ("two-variances", reference.two_variances),
    ):
        expected = by_hand(scores)
        assert choose_size(rule=rule, scores=scores) == expected
        moved = np.array(scores) * scale + shift
        assert choose_size(rule=rule, scores=moved) == expected
        assert choose_size(rule=rule, scores=scores[::-1], n_features=len(scores)) == expected


@given(st.lists(st.sampled_from([-np.inf, 0.0, 1.0, 3.0, np.inf]), min_size=1, max_size=8))
def test_infinite_scores(scores):
    n_highest, n_lowest = scores.count(np.inf), scores.count(-np.inf)
    for rule in ("largest-gap", "two-variances"):
        size = choose_size(rule=rule, scores=scores)
        if n_lowest == len(scores):
            assert size == len(scores)
        else:
            assert max(1, n_highest) <= size <= len(scores) - n_lowest
            # columns with a score of minus infinity change nothing
            assert choose_size(rule=rule, scores=[*scores, -np.inf]) == size
        # equal columns stay together
        if size < len(scores):
            ranked = sorted(scores, reverse=True)
            assert ranked[size - 1] > ranked[size]


def test_largest_gap():
    assert choose_size(rule="largest-gap", scores=[1, 9, 8, 2, 0]) == 2
    assert choose_size(rule="largest-gap", scores=[0.3, 0.2, 0.1]) == 1  # equal but for rounding
    assert choose_size(rule="largest-gap", scores=[5, 5, 5]) == 3
    assert choose_size(rule="largest-gap", scores=[7]) == 1
    assert choose_size(rule="largest-gap", scores=[np.inf, 3, 0, np.inf]) == 2


def test_as_many_as_have_a_small_q_value():
    assert choose_size(rule="fdr", q_values=[0.3, 0.1, 0.11, 0.0]) == 2
    assert choose_size(rule="fdr", q_values=[0.3, 1.0]) == 1
    with pytest.raises(ParameterError, match="give q_values"):
        choose_size(rule="fdr", scores=[1.0, 2.0])
    with pytest.raises(DataError, match="none of them NaN"):
        choose_size(rule="fdr", q_values=[0.1, np.nan])
    with pytest.raises(ParameterError, match="there are 2 for 3 columns"):
        choose_size(rule="fdr", q_values=[0.1, 0.2], n_features=3)


def test_columns_that_are_expected_to_be_false():
    q = np.array([0.01, 0.04, 0.5, 0.1])
    assert expected_false(q, [True, False, False, False]) == pytest.approx(0.01)
    assert expected_false(q, [True, True, False, True]) == pytest.approx(0.3)
    # of the three columns up to 0.1, any may be the false ones
    assert expected_false(q, [False, False, False, True]) == pytest.approx(0.3)
    assert expected_false([0.9, 0.9], [True, False]) == 1.0  # never more than there are


def test_a_tenth_of_what_fdr_selects_is_false():
    n_false, n_selected, n_expected = 0, 0, 0.0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        y = np.arange(60) % 2
        X = rng.normal(size=(60, 400))
        X[:, :30] += 1.2 * y[:, None]
        test = FTest(n_features_to_select="fdr").fit(X, y)
        n_false += int(test.support_[30:].sum())
        n_selected += int(test.support_.sum())
        n_expected += expected_false(test.q_value_, test.support_)
    assert n_selected > 400
    assert 0.05 * n_selected < n_false < 0.13 * n_selected
    assert 0.07 * n_selected < n_expected <= 0.1 * n_selected


def test_two_variances():
    # 0, .25, .5, .75, 1: mean 1/2, variance 1/8, so all from 1/4 on
    assert choose_size(rule="two-variances", scores=[0, 1, 2, 3, 4]) == 4
    # one bad column of ten: mean .9, variance .09, so all from .72 on
    assert choose_size(rule="two-variances", scores=[1] * 9 + [0]) == 9
    # a few good ones of many: nothing lies two variances below the mean
    assert choose_size(rule="two-variances", scores=[1] * 5 + [0] * 95) == 100


@pytest.mark.parametrize(
    ("n_features", "size"),
    [
        (6, 5),  # CorrAL, Monk3: 4.5 goes up
        (12, 5),  # Parity3+3
        (24, 10),  # Led-25
        (99, 10),  # CorrAL-100, XOR-100, Led-100
        (500, 15),  # Madelon
        (1, 1),
        (2, 2),
        (9, 7),
        (10, 8),
        (11, 4),
        (75, 30),
        (76, 8),
        (100, 10),
        (101, 3),
        (4020, 121),
    ],
)
def test_rule_of_thumb(n_features, size):
    assert choose_size(rule="rule-of-thumb", n_features=n_features) == size
    assert choose_size(rule="rule-of-thumb", scores=np.zeros(n_features)) == size


@given(st.integers(1, 300))
def test_rule_of_thumb_is_the_books_table(n):
    exact = [0.75 * n] * (n <= 10) + [0.4 * n] * (10 <= n <= 75)
    exact += [0.1 * n] * (75 <= n <= 100) + [0.03 * n] * (n >= 100)
    assert choose_size(rule="rule-of-thumb", n_features=n) == max(
        1, *(math.floor(round(e + 0.5, 9)) for e in exact)
    )


def test_a_fixed_size():
    assert choose_size(rule=7) == 7
    assert choose_size(rule=np.int64(7), n_features=7) == 7
    with pytest.raises(ParameterError, match="from 1 to 6"):
        choose_size(rule=7, n_features=6)
    with pytest.raises(ParameterError, match="from 1 to 2"):
        choose_size(rule=7, scores=[1, 2])


def test_a_fitted_ranker_brings_its_scores():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.normal(size=(60, 20))
    X[:, 3] += 3 * y
    X[:, 11] += 3 * y
    ranker = FTest().fit(X, y)
    assert choose_size(ranker, "largest-gap") == 2
    assert choose_size(ranker, "rule-of-thumb") == 8
    assert choose_size(ranker, 20) == 20
    perfect = np.column_stack([y, X[:, 0], 2 * y])
    assert choose_size(FTest().fit(perfect, y), "largest-gap") == 2


def test_everything_known_may_be_given_and_the_rule_changed():
    curve = Curve([1, 2, 3], [[0.5, 0.9, 0.8], [0.5, 0.9, 0.8]], n_train=9, n_test=1)
    for rule in [*SIZE_RULES, 2]:
        size = choose_size(
            curve, rule, n_features=4, scores=[4.0, 3.9, 0.2, 0.1], q_values=[0.01] * 4, level=0.9
        )
        assert 1 <= size <= 4
    assert all(text[0].islower() or text[0].isdigit() for text in SIZE_RULES.values())


def test_a_curve_cannot_be_changed():
    values = np.array([[0.5, 0.9]])
    curve = Curve([1, 2], values)
    values[0, 0] = 1.0
    assert choose_size(curve, "best") == 2
    with pytest.raises(ValueError, match="read-only"):
        curve.values[0, 0] = 1.0
    with pytest.raises(AttributeError):
        curve.sizes = [3, 4]


CURVE = Curve([1, 2], [[0.5, 0.9]])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Curve([2, 1], [[1, 2]]), DataError, "ascending"),
        (lambda: Curve([0, 1], [[1, 2]]), DataError, "from 1"),
        (lambda: Curve([1.5, 2], [[1, 2]]), DataError, "whole numbers"),
        (lambda: Curve([], [[]]), DataError, "sizes"),
        (lambda: Curve([1, 2], [1, 2]), DataError, "one row a split"),
        (lambda: Curve([1, 2], [[1]]), DataError, "2 sizes"),
        (lambda: Curve([1], [[np.inf]]), DataError, "not infinity"),
        (lambda: Curve([1], [[np.nan]]), DataError, "all NaN"),
        (lambda: CURVE.interval(corrected=True), ParameterError, "n_train and n_test"),
        (lambda: CURVE.interval(2), ParameterError, "level=2"),
        (lambda: choose_size(CURVE), DataError, "two splits"),
        (lambda: choose_size(CURVE, "one-standard-error"), DataError, "two splits"),
        (lambda: choose_size(CURVE, "best", n_features=1), ParameterError, "size of 2"),
        (lambda: choose_size(CURVE, "best", level=1), ParameterError, "level=1"),
        (lambda: choose_size(CURVE, "biggest"), ParameterError, "rule='biggest'"),
        (lambda: choose_size(CURVE, 0), ParameterError, "rule=0"),
        (lambda: choose_size(CURVE, True), ParameterError, "rule=True"),
        (lambda: choose_size(CURVE, 2.5), ParameterError, "rule=2.5"),
        (lambda: choose_size(CURVE, "largest-gap"), ParameterError, "give scores"),
        (lambda: choose_size(CURVE, "rule-of-thumb"), ParameterError, "give n_features"),
        (lambda: choose_size(rule="best"), ParameterError, "give a Curve"),
        (lambda: choose_size([[0.5, 0.9]], "best"), ParameterError, "curve is a list"),
        (lambda: choose_size(FTest(), "largest-gap"), ParameterError, "fitted ranker"),
        (lambda: choose_size(rule="largest-gap", scores=[1, np.nan]), DataError, "NaN"),
        (lambda: choose_size(rule="largest-gap", scores=[]), DataError, "one number"),
        (lambda: choose_size(rule=1, scores=[1], n_features=2), ParameterError, "1 scores"),
        (lambda: choose_size(rule=1, n_features=0), ParameterError, "n_features=0"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_a_ranker_with_scores_is_refused():
    ranker = SimpleNamespace(scores_=[1.0, 2.0], order_=[1, 0])
    assert choose_size(ranker, "largest-gap") == 1
    with pytest.raises(ParameterError, match="the ranker has scores of its own"):
        choose_size(ranker, "largest-gap", scores=[1.0, 2.0])


def test_a_corrected_rule_needs_rows_of_the_parts():
    curve = Curve([1, 2], [[0.5, 0.9], [0.5, 0.8]])
    with pytest.raises(ParameterError, match="give the curve n_train and n_test"):
        choose_size(curve, "within-corrected-interval")
