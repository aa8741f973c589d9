"""The choice of a size by predictions of rows, against the formula written out."""

import numpy as np
import pytest

from featly.basics.errors import DataError, ParameterError
from featly.measures.row_rules import choose_by_rows


def naive_one_standard_error(hits, y, sizes):
    """Return the position that the rule chooses, one row and one size at a time."""
    classes = sorted(set(y.tolist()))

    def rate(h):
        return sum(
            np.mean([x for x, c in zip(h, y, strict=True) if c == k]) for k in classes
        ) / len(classes)

    rates = [rate(h) for h in hits]
    best = max(range(len(sizes)), key=lambda k: (round(rates[k], 10), -sizes[k]))
    for k in sorted(range(len(sizes)), key=lambda k: sizes[k]):
        variance = 0.0
        for c in classes:
            d = [hits[best][i] - hits[k][i] for i in range(len(y)) if y[i] == c]
            variance += np.var(d, ddof=1) / len(d)
        if rates[best] - rates[k] <= np.sqrt(variance) / len(classes) + 1e-12:
            return k
    return best


@pytest.mark.parametrize("seed", range(20))
def test_one_standard_error_equals_the_formula(seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 60)
    sizes = [1, 2, 4, 8, 16]
    hits = (rng.random((5, 60)) < np.linspace(0.4, 0.7, 5)[:, None]).astype(float)
    assert choose_by_rows(hits, y, sizes, "one-standard-error") == naive_one_standard_error(
        hits, y, sizes
    )


def test_best_takes_the_smallest_of_equal_sizes():
    y = np.repeat([0, 1], 3)
    hits = np.ones((3, 6))
    hits[0, 0] = 0
    assert choose_by_rows(hits, y, [1, 2, 4]) == 1
    assert choose_by_rows(hits[::-1], y, [4, 2, 1]) == 1


def test_classes_count_the_same_unless_weighted():
    y = np.repeat([0, 1], [90, 10])
    hits = np.zeros((2, 100))
    hits[0, :90] = 1  # always the first class
    hits[1, :60], hits[1, 90:] = 1, 1
    assert choose_by_rows(hits, y, [1, 2]) == 1
    assert choose_by_rows(hits, y, [1, 2], weights=[0.9, 0.1]) == 0


def test_the_pipeline_is_chosen_before_its_size():
    y = np.repeat([0, 1], 20)
    hits = np.ones((4, 40))
    hits[0, ::3], hits[1, ::4] = 0, 0  # pipeline 0
    hits[2, 5] = 0  # pipeline 1 at its smaller size misses one row
    chosen = choose_by_rows(hits, y, [1, 2, 1, 2], "one-standard-error", pipelines=[0, 0, 1, 1])
    assert chosen == 2


def test_candidates_without_predictions_are_not_chosen():
    y = np.repeat([0, 1], 3)
    hits = np.ones((2, 6)) * 0.5
    hits[0] = np.nan
    assert choose_by_rows(hits, y, [1, 2]) == 1
    with pytest.raises(DataError, match="nothing to choose"):
        choose_by_rows(np.full((2, 6), np.nan), y, [1, 2])


def test_fixed_sizes_and_rules_without_predictions():
    y, hits = np.repeat([0, 1], 10), np.random.default_rng(0).random((3, 20))
    assert choose_by_rows(hits, y, [1, 2, 4], 4) == 2
    assert choose_by_rows(hits, y, [1, 2, 4], "rule-of-thumb", n_features=5) == 2
    with pytest.raises(ParameterError, match="which is not tried"):
        choose_by_rows(hits, y, [1, 2, 4], 3)
    with pytest.raises(ParameterError, match="rule='largest-gap'"):
        choose_by_rows(hits, y, [1, 2, 4], "largest-gap")


@pytest.mark.parametrize("rule", ["within-interval", "within-corrected-interval", "knee"])
def test_other_rules_choose_no_larger_size_than_the_best(rule):
    rng = np.random.default_rng(3)
    y, sizes = np.repeat([0, 1], 40), [1, 2, 4, 8, 16]
    hits = (rng.random((5, 80)) < [[0.5], [0.65], [0.7], [0.71], [0.72]]).astype(float)
    best = choose_by_rows(hits, y, sizes)
    assert choose_by_rows(hits, y, sizes, rule) <= best
