"""Comparison of hits, against the t-test written out."""

import numpy as np
import pytest
from scipy import stats

from featly.basics.errors import DataError
from featly.measures.paired_hits import compare_hits


def test_one_class_is_a_paired_t_test_with_twice_the_variance():
    rng = np.random.default_rng(0)
    a, b = rng.random(50) < 0.8, rng.random(50) < 0.5
    d = a.astype(float) - b
    t = d.mean() / np.sqrt(2 * d.var(ddof=1) / 50)
    result = compare_hits(a, b, np.zeros(50, int))
    assert result.degrees == pytest.approx(49)
    assert result.p_value == pytest.approx(2 * stats.t.sf(abs(t), 49))
    half = stats.t.ppf(0.975, 49) * np.sqrt(2 * d.var(ddof=1) / 50)
    assert (result.lower, result.upper) == pytest.approx((d.mean() - half, d.mean() + half))


def test_degrees_are_those_of_welch():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], [60, 12])
    a, b = rng.random((5, 72)) < 0.8, rng.random((5, 72)) < 0.6
    d = a.astype(float) - b
    parts = [np.mean([row[y == c].var(ddof=1) for row in d]) / (y == c).sum() / 4 for c in (0, 1)]
    expected = sum(parts) ** 2 / (parts[0] ** 2 / 59 + parts[1] ** 2 / 11)
    assert compare_hits(a, b, y).degrees == pytest.approx(expected)


def test_the_same_predictions_have_no_p_value():
    hits = np.random.default_rng(2).random((3, 20)) < 0.7
    result = compare_hits(hits, hits, np.repeat([0, 1], 10))
    assert result.is_same
    assert result.p_value is None
    assert str(result) == "the same predictions"


def test_a_constant_difference_is_no_same_prediction():
    y = np.repeat([0, 1], 20)
    result = compare_hits(np.ones(40), (y == 0) * 1.0, y)
    assert result.difference == 0.5
    assert 0 < result.p_value < 0.001
    assert result.lower > 0.3


def test_swapped_pipelines_swap_signs():
    rng = np.random.default_rng(3)
    a, b, y = rng.random((5, 30)) < 0.8, rng.random((5, 30)) < 0.6, np.arange(30) % 3
    there, back = compare_hits(a, b, y), compare_hits(b, a, y)
    assert there.difference == -back.difference
    assert there.p_value == pytest.approx(back.p_value)


def test_pairs_of_equal_rows_count_as_one():
    rng = np.random.default_rng(4)
    a, b, y = rng.random((2, 40)) < 0.8, rng.random((2, 40)) < 0.5, np.arange(40) % 2
    single = compare_hits(a, b, y)
    twice = compare_hits(
        np.tile(a, 2), np.tile(b, 2), np.tile(y, 2), groups=np.tile(np.arange(40), 2)
    )
    assert twice.p_value == pytest.approx(single.p_value)
    assert compare_hits(np.tile(a, 2), np.tile(b, 2), np.tile(y, 2)).p_value < single.p_value


def test_rows_without_a_prediction_of_both_are_left_out():
    rng = np.random.default_rng(5)
    a, b, y = rng.random(30) < 0.8, (rng.random(30) < 0.5) * 1.0, np.arange(30) % 2
    b[:4] = np.nan
    assert compare_hits(a, b, y).p_value == pytest.approx(compare_hits(a[4:], b[4:], y[4:]).p_value)
    assert compare_hits(a, b, y).n_rows == 26


def test_hits_of_other_folds_are_refused():
    with pytest.raises(DataError, match="same folds"):
        compare_hits(np.ones((2, 4)), np.ones((3, 4)), [0, 0, 1, 1])
