import math

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from featly.basics.errors import DataError, ParameterError
from featly.measures import statistics
from featly.measures.statistics import (
    corrected_interval,
    corrected_resampled_t,
    friedman,
    holm,
    kruskal_tukey,
    nemenyi,
    plain_interval,
    wilcoxon_holm,
)
from tests.reference import statistics as reference

# Demšar (2006), table 6: ranks of C4.5 with m, cf, both or none tuned, on 14 datasets
DEMSAR = np.array(
    [
        [4, 3, 2, 1],
        [1, 2, 3, 4],
        [4, 1, 2, 3],
        [4, 1, 3, 2],
        [4, 2, 3, 1],
        [1, 2.5, 4, 2.5],
        [3, 2, 4, 1],
        [2.5, 2.5, 4, 1],
        [4, 3, 2, 1],
        [2.5, 2.5, 2.5, 2.5],
        [4, 2.5, 1, 2.5],
        [3, 2, 4, 1],
        [4, 1, 2, 3],
        [3, 1, 4, 2],
    ]
)
VALUE = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 2.0])


@st.composite
def blocks(draw, least=3):
    """Ties, equal columns, constant tables."""
    n, k = draw(st.integers(2, 9)), draw(st.integers(least, 6))
    row = st.lists(VALUE, min_size=k, max_size=k)
    return draw(st.lists(row, min_size=n, max_size=n))


@given(blocks(least=2))
def test_friedman_is_its_definition(table):
    result = friedman(table, greater_is_better=False)
    mean, statistic = reference.friedman(table)
    assert result.mean_ranks == pytest.approx(mean)
    assert result.statistic == pytest.approx(statistic, abs=1e-9)
    assert result.mean_ranks.sum() == pytest.approx(len(mean) * (len(mean) + 1) / 2)
    assert 0 <= result.statistic <= result.n_blocks * (len(mean) - 1) + 1e-9
    flipped = friedman(-np.array(table))
    assert flipped.mean_ranks.tolist() == result.mean_ranks.tolist()
    assert flipped.statistic == result.statistic


@given(blocks())
def test_friedman_is_scipys(table):
    if any(len(set(row)) > 1 for row in table):
        expected = stats.friedmanchisquare(*np.array(table).T)
        result = friedman(table)
        assert result.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert result.p_value == pytest.approx(expected.pvalue, abs=1e-9)


@given(blocks())
def test_iman_davenport_is_the_analysis_of_variance_of_the_ranks(table):
    """A two-way analysis of variance on the ranks has the same F, a check from another side."""
    result = friedman(table, greater_is_better=False)
    n, k = len(table), len(table[0])
    denominator = n * (k - 1) - result.statistic
    if denominator > 1e-6:
        f = (n - 1) * result.statistic / denominator
        assert result.iman_davenport == pytest.approx(f, rel=1e-6, abs=1e-9)
        expected = stats.f.sf(f, k - 1, (k - 1) * (n - 1))
        assert result.iman_davenport_p == pytest.approx(expected, rel=1e-6)
    else:
        assert result.iman_davenport > 1e6
        assert result.iman_davenport_p < 1e-3


def test_demsars_example():
    result = friedman(DEMSAR, greater_is_better=False)
    assert result.mean_ranks.round(3).tolist() == [3.143, 2.0, 2.893, 1.964]
    # he prints the statistic without the correction for ties
    plain = result.statistic * (1 - 78 / (14 * 60))
    assert plain == pytest.approx(9.28, abs=0.005)
    assert 13 * plain / (14 * 3 - plain) == pytest.approx(3.69, abs=0.005)
    strict = nemenyi(DEMSAR, greater_is_better=False)
    assert strict.critical_difference == pytest.approx(1.25, abs=0.005)
    assert strict.groups == ((3, 1, 2, 0),)
    loose = nemenyi(DEMSAR, alpha=0.1, greater_is_better=False)
    assert loose.critical_difference == pytest.approx(1.12, abs=0.005)
    assert loose.groups == ((3, 1, 2), (2, 0))


@pytest.mark.parametrize(
    ("k", "q05", "q10"),
    [
        (2, 1.960, 1.645),
        (3, 2.343, 2.052),
        (4, 2.569, 2.291),
        (5, 2.728, 2.459),
        (6, 2.850, 2.589),
        (10, 3.164, 2.920),
    ],
)
def test_demsars_table_of_quantiles(k, q05, q10):
    table = np.arange(5 * k).reshape(5, k)
    unit = math.sqrt(k * (k + 1) / 30)
    assert nemenyi(table).critical_difference / unit == pytest.approx(q05, abs=1e-3)
    assert nemenyi(table, alpha=0.1).critical_difference / unit == pytest.approx(q10, abs=1e-3)


@given(blocks(), st.sampled_from([0.01, 0.05, 0.3, 0.8]))
def test_nemenyi_agrees_with_its_bars_and_with_scikit_posthocs(table, alpha):
    result = nemenyi(table, alpha=alpha)
    expected = scikit_posthocs.posthoc_nemenyi_friedman(np.array(table)).to_numpy()
    assert result.p_values == pytest.approx(expected, abs=1e-6)
    assert (result.p_values == result.p_values.T).all()
    assert (np.diag(result.p_values) == 1).all()
    # a difference is significant by its p-value exactly where it reaches the critical one
    apart = np.abs(np.subtract.outer(result.mean_ranks, result.mean_ranks))
    clear = np.abs(apart - result.critical_difference) > 1e-6
    assert ((result.p_values <= alpha) == (apart >= result.critical_difference))[clear].all()
    expected_bars = reference.bars(result.mean_ranks.tolist(), result.critical_difference)
    assert set(map(frozenset, result.groups)) == expected_bars
    assert len(result.groups) == len(expected_bars)


def test_bars_overlap_and_a_method_alone_has_none():
    ranks = [[1, 2, 3, 4, 5]] * 200 + [[2, 1, 3, 4, 5], [1, 2, 4, 3, 5]] * 200
    result = nemenyi(ranks, greater_is_better=False)
    assert result.groups == ()
    assert nemenyi([[1, 2, 3]] * 3, greater_is_better=False).groups == ((0, 1), (1, 2))


def test_small_p_values_keep_their_digits():
    table = np.tile([1.0, 2.0, 3.0, 4.0, 5.0], (60, 1))
    p = nemenyi(table).p_values
    z = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / math.sqrt(30 / 360)
    assert p[0, 4] == pytest.approx(20 * stats.norm.sf(z[0, 4]), rel=1e-3, abs=0)
    assert (np.diff(p[0]) < 0).all()
    # two methods have an exact tail of their own
    two = nemenyi(np.tile([1.0, 2.0], (100, 1))).p_values[0, 1]
    assert two == pytest.approx(2 * stats.norm.sf(1 / math.sqrt(6 / 600)), rel=1e-9)


def test_blocks_with_nan_are_dropped_and_counted():
    table = [[1.0, 2, 3], [np.nan, 1, 2], [2, 1, 3], [3, 1, 2]]
    whole = [row for row in table if not np.isnan(row).any()]
    for test in (friedman, nemenyi, wilcoxon_holm):
        result, expected = test(table), test(whole)
        assert (result.n_dropped, result.n_blocks) == (1, 3)
        assert str(result) == str(expected)
        assert "(1 dropped)" in result.summary()
        assert "dropped" not in expected.summary()


def test_all_ties_are_no_difference():
    table = np.full((6, 4), 0.5)
    result = friedman(table)
    assert (result.statistic, result.p_value) == (0, 1)
    assert (result.iman_davenport, result.iman_davenport_p) == (0, 1)
    assert nemenyi(table).groups == ((0, 1, 2, 3),)
    assert (nemenyi(table).p_values == 1).all()
    assert (wilcoxon_holm(table).adjusted == 1).all()
    unpaired = kruskal_tukey(table)
    assert (unpaired.statistic, unpaired.p_value) == (0, 1)
    assert (unpaired.p_values == 1).all()
    assert unpaired.not_worse() == (0, 1, 2, 3)


def test_agreement_throughout_is_certain():
    result = friedman([[3, 2, 1]] * 7)
    assert result.statistic == 14
    assert (result.iman_davenport, result.iman_davenport_p) == (np.inf, 0)


@st.composite
def unpaired_samples(draw):
    sample = st.lists(VALUE, min_size=1, max_size=7)
    samples = draw(st.lists(sample, min_size=2, max_size=5))
    samples[0] += [draw(VALUE)]
    return samples


@given(unpaired_samples())
def test_kruskal_tukey_is_its_definition(samples):
    result = kruskal_tukey(samples, greater_is_better=False)
    means, statistic, variance = reference.kruskal(samples)
    k = len(samples)
    assert result.mean_ranks == pytest.approx(means)
    assert result.statistic == pytest.approx(statistic, abs=1e-9)
    quantile = stats.studentized_range.ppf(0.95, k, np.inf) / math.sqrt(2)
    for i in range(k):
        for j in range(k):
            spread = math.sqrt(variance * (1 / len(samples[i]) + 1 / len(samples[j])))
            assert result.critical_differences[i, j] == pytest.approx(quantile * spread)
            if variance:
                z = abs(means[i] - means[j]) / spread
                p = stats.studentized_range.sf(z * math.sqrt(2), k, np.inf)
                assert result.p_values[i, j] == pytest.approx(p, abs=1e-9)
    if len({x for sample in samples for x in sample}) > 1:
        expected = stats.kruskal(*samples)
        assert result.statistic == pytest.approx(expected.statistic, abs=1e-9)
        assert result.p_value == pytest.approx(expected.pvalue, abs=1e-9)


def test_tukey_is_scikit_posthocs_without_ties():
    rng = np.random.default_rng(0)
    samples = [rng.normal(size=n) + shift for n, shift in ((5, 0), (9, 0.5), (7, 2), (6, 2))]
    expected = scikit_posthocs.posthoc_nemenyi(samples, dist="tukey").to_numpy()
    assert kruskal_tukey(samples).p_values == pytest.approx(expected, abs=1e-6)


def test_not_worse_than_the_best():
    rng = np.random.default_rng(1)
    table = rng.normal(size=(20, 4)) + np.array([0.0, 3.0, 3.1, -3.0])
    result = kruskal_tukey(table, names=["a", "b", "c", "d"])
    assert result.not_worse() == (1, 2)
    assert result.not_worse("b") == result.not_worse(1) == (1, 2)
    assert result.not_worse("a") == (0, 1, 2)  # better ones are not worse
    assert result.not_worse("d") == (0, 1, 2, 3)
    assert kruskal_tukey(table, greater_is_better=False).not_worse() == (3,)
    assert result.summary().endswith(": b, c")


def test_a_table_has_its_samples_in_columns_and_nan_are_left_out():
    table = np.random.default_rng(0).normal(size=(6, 3))
    table[1, 2] = np.nan
    lists = [table[:, 0], table[:, 1], table[[0, 2, 3, 4, 5], 2]]
    result, expected = kruskal_tukey(table), kruskal_tukey(lists)
    assert result.p_values.tolist() == expected.p_values.tolist()
    assert (result.n_dropped, expected.n_dropped) == (1, 0)
    assert result.counts.tolist() == [6, 6, 5]
    assert "17 values (1 dropped)" in result.summary()


@settings(max_examples=6)  # scipy goes through all signs where there are ties
@given(blocks(least=2))
def test_wilcoxon_is_scipys_and_holm_statsmodels(table):
    result = wilcoxon_holm(table)
    array = np.array(table)
    for (i, j), statistic, p, median in zip(
        result.pairs, result.statistics, result.p_values, result.median_differences, strict=True
    ):
        difference = array[:, i] - array[:, j]
        assert median == np.median(difference)
        if difference.any():
            assert (statistic, p) == tuple(stats.wilcoxon(difference))
        else:
            assert (statistic, p) == (0, 1)
    assert result.adjusted == pytest.approx(multipletests(result.p_values, method="holm")[1])
    matrix = result.matrix()
    assert (matrix == matrix.T).all()
    assert all(matrix[pair] == p for pair, p in zip(result.pairs, result.adjusted, strict=True))


def test_wilcoxon_against_a_control():
    table = np.random.default_rng(0).normal(size=(15, 4)) + np.array([0, 1, 2, 0])
    names = ["a", "b", "c", "d"]
    result = wilcoxon_holm(table, names, control="c")
    assert result.pairs == ((2, 0), (2, 1), (2, 3))
    every = wilcoxon_holm(table, names)
    assert len(every.pairs) == 6
    raw = dict(zip(every.pairs, every.p_values, strict=True))
    assert result.p_values.tolist() == [raw[0, 2], raw[1, 2], raw[2, 3]]
    assert (result.adjusted <= every.matrix()[2, [0, 1, 3]]).all()  # fewer tests, less to pay
    assert np.isnan(result.matrix()[0, 1])
    assert result.summary().count("\n") == 3
    assert wilcoxon_holm(table, control=2).pairs == result.pairs


@given(st.lists(st.sampled_from([0.0, 1e-9, 0.01, 0.02, 0.3, 0.5, 1.0]), max_size=8))
def test_holm_is_its_definition(p_values):
    assert holm(p_values).tolist() == reference.holm(p_values)


def test_holm_is_statsmodels():
    p_values = np.round(np.random.default_rng(0).random(200) ** 4, 3)  # ties
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1])


FLOAT = st.floats(-10, 10, allow_subnormal=False).map(lambda x: round(x, 3))


@given(st.lists(FLOAT, min_size=2, max_size=9), st.integers(1, 99))
def test_corrected_t_is_its_definition(values, n_test):
    result = corrected_resampled_t(values, 100 - n_test, n_test)
    lower, upper = corrected_interval(values, 100 - n_test, n_test)
    assert (result.lower, result.upper) == (lower, upper)
    assert result.degrees == len(values) - 1
    if len(set(values)) == 1:
        assert lower == upper == result.mean == values[0]
        assert result.p_value == (values[0] == 0)
        return
    statistic = reference.corrected_t(values, 100 - n_test, n_test)
    assert result.statistic == pytest.approx(statistic, rel=1e-6, abs=1e-9)
    # the interval excludes zero exactly where the test rejects it
    if abs(result.p_value - 0.05) > 1e-6:
        assert (result.p_value < 0.05) == (not lower <= 0 <= upper)
    plain = plain_interval(values)
    assert lower < plain[0] <= plain[1] < upper


@given(st.lists(FLOAT, min_size=2, max_size=9, unique=True), st.sampled_from([0.5, 0.95, 0.99]))
def test_plain_interval_is_scipys(values, level):
    expected = stats.ttest_1samp(values, 0).confidence_interval(level)
    assert plain_interval(values, level) == pytest.approx(tuple(expected), rel=1e-6, abs=1e-9)
    # and the corrected one becomes it where nothing is tested
    near = corrected_interval(values, 1e15, 1, level)
    assert near == pytest.approx(plain_interval(values, level), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("values", [[0.003] * 3, [0.1] * 3, [-0.7] * 7, [0.0] * 4])
def test_equal_values_have_no_width_to_the_last_bit(values):
    result = corrected_resampled_t(values, 90, 10)
    assert result.lower == result.mean == result.upper == values[0]
    assert result.statistic == (np.sign(values[0]) * np.inf if values[0] else 0)
    assert result.p_value == (values[0] == 0)
    assert corrected_interval(values, 90, 10) == plain_interval(values) == (values[0], values[0])


def test_corrected_t_by_hand():
    """Four differences of mean 2 and variance 8/3; half as many test rows as training rows."""
    result = corrected_resampled_t([0, 2, 2, 4, np.nan], n_train=20, n_test=10)
    error = math.sqrt((1 / 4 + 1 / 2) * 8 / 3)
    assert result.statistic == pytest.approx(2 / error)
    assert result.p_value == pytest.approx(2 * stats.t.sf(2 / error, 3))
    assert (result.lower + result.upper) / 2 == pytest.approx(2)
    assert result.upper - result.mean == pytest.approx(stats.t.ppf(0.975, 3) * error)
    assert result.n_dropped == 1
    assert result.summary().startswith("mean 2, 95% interval")


def test_the_correction_keeps_its_promise_where_the_plain_test_does_not():
    """Two useless predictors, many overlapping splits: how often does a test see a difference?"""
    rng = np.random.default_rng(0)
    plain = corrected = 0
    for _ in range(100):
        first, second = rng.integers(0, 2, size=(2, 60))  # right or wrong, by chance, on each row
        gap = first - second
        tests = np.array([rng.permutation(60)[:20] for _ in range(100)])
        differences = gap[tests].mean(axis=1)
        plain += not np.prod(plain_interval(differences)) < 0
        corrected += corrected_resampled_t(differences, 40, 20).p_value < 0.05
    assert plain > 50
    assert corrected < 15


def test_results_print_what_they_found():
    table = [[0.9, 0.8, 0.7], [0.8, 0.9, 0.6], [0.7, 0.6, 0.5]]
    result = friedman(table, names=["x", "y", "z"])
    assert result.summary().splitlines() == [
        "Friedman: 3 methods, 3 blocks",
        "chi-squared 4.667, p = 0.097; Iman-Davenport F 7, p = 0.0494",
        "   1.33  x",
        "   1.67  y",
        "   3.00  z",
    ]
    assert (
        repr(wilcoxon_holm(table)) == "WilcoxonHolm(3 pairs, 0 significant at alpha=0.05, 3 blocks)"
    )
    assert repr(nemenyi(table)).startswith("Nemenyi(critical_difference=1.914, 3 methods")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: friedman([1, 2, 3]), DataError, "shape"),
        (lambda: friedman([[1], [2]]), DataError, "at least two methods"),
        (lambda: friedman([[1, 2]]), DataError, "1 rows without NaN"),
        (lambda: friedman([[1, "a"], [2, 3]]), DataError, "not all numbers"),
        (lambda: friedman([[1, 2]] * 3, names=["a"]), ParameterError, "2 different names"),
        (lambda: friedman([[1, 2]] * 3, names=["a", "a"]), ParameterError, "2 different names"),
        (lambda: nemenyi([[1, 2]] * 3, alpha=1.0), ParameterError, "alpha=1.0"),
        (lambda: wilcoxon_holm([[1, 2]] * 3, alpha=0), ParameterError, "alpha=0"),
        (lambda: wilcoxon_holm([[1, 2]] * 3, control=2), ParameterError, "control=2"),
        (lambda: wilcoxon_holm([[1, 2]] * 3, control=True), ParameterError, "control=True"),
        (lambda: wilcoxon_holm([[1, np.inf]] * 3), DataError, "infinite"),
        (lambda: kruskal_tukey([[1, 2]]), DataError, "at least two"),
        (lambda: kruskal_tukey([[1, 2], [np.nan]]), DataError, "'method 2' has no value"),
        (lambda: kruskal_tukey([[1], [2]]), DataError, "single value"),
        (lambda: kruskal_tukey([[1, 2], [2]]).not_worse("c"), ParameterError, "best='c'"),
        (lambda: holm([0.1, np.nan]), DataError, "0 to 1"),
        (lambda: plain_interval([1.0, np.nan]), DataError, "two finite"),
        (lambda: plain_interval([1.0, 2.0], level=95), ParameterError, "level=95"),
        (lambda: corrected_interval([1, 2], 0, 5), ParameterError, "n_train=0"),
        (lambda: corrected_resampled_t([1, 2], 5, -1), ParameterError, "n_test=-1"),
        (lambda: corrected_resampled_t([[1, 2]], 5, 1), DataError, "shape"),
    ],
)
def test_mistakes_are_named(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)


def test_every_public_name_is_exported():
    assert all(hasattr(statistics, name) for name in statistics.__all__)


@given(st.lists(st.floats(1e-9, 1.0), min_size=1, max_size=8), st.sampled_from([0.01, 0.05, 0.2]))
def test_intervals_beside_0_and_adjusted_p_values_say_the_same(p_values, alpha):
    adjusted = statistics.holm(p_values)
    levels = statistics.holm_levels(p_values, alpha)
    for p, level, p_adjusted in zip(p_values, levels, adjusted, strict=True):
        if abs(p_adjusted - alpha) > 1e-12:
            assert (p <= 1 - level) == (p_adjusted <= alpha)
