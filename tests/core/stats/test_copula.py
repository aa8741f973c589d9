"""Schweizer and Wolff's sigma: its properties, its reference, and every code path."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.core.sources import DenseSource
from featly.core.stats import copula
from featly.core.stats.copula import RankedColumns, class_dependence, code_columns, dependence
from tests.reference import copula as naive


def sigma(x, y):
    """Sigma of two columns of numbers."""
    return dependence(code_columns(DenseSource(np.column_stack([x, y]))), 0, np.array([1]))[0]


def by_table(x, y):
    """Compute the formula in whole numbers, on the table of two complete columns."""
    _, a = np.unique(x, return_inverse=True)
    _, b = np.unique(y, return_inverse=True)
    table = np.zeros((a.max() + 1, b.max() + 1), np.int64)
    np.add.at(table, (a, b), 1)
    n, rows, columns = len(x), table.sum(1), table.sum(0)
    below = table.cumsum(0).cumsum(1)
    difference = np.abs(n * below - np.outer(rows.cumsum(), columns.cumsum()))[:-1, :-1]
    summed = (rows[:-1] + rows[1:]) @ difference.astype(float) @ (columns[:-1] + columns[1:])
    spread = (n**3 - (rows**3).sum()) * float(n**3 - (columns**3).sum())
    return 3 * summed / (n * np.sqrt(spread))


columns = st.lists(
    st.sampled_from([0.0, 1.0, 1.5, -4.0, 3.0, 8.0, 9.0, np.nan]), min_size=1, max_size=10
)


@st.composite
def pairs(draw):
    """Two columns with ties, missing values and classes."""
    x = draw(columns)
    cell = st.sampled_from([0.0, 1.0, 2.0, 5.0, 7.0, np.nan])
    y = draw(st.lists(cell, min_size=len(x), max_size=len(x)))
    label = draw(st.lists(st.integers(0, 3), min_size=len(x), max_size=len(x)))
    return np.array(x), np.array(y), np.array(label)


# ---- the reference -------------------------------------------------------------------------------
@given(pairs())
@settings(max_examples=40)
def test_agrees_with_the_reference(pair):
    x, y, classes = pair
    coded = code_columns(DenseSource(np.column_stack([x, y])))
    values = [x.tolist(), y.tolist()]
    for unordered in ([False, False], [True, False], [False, True], [True, True]):
        recoded = RankedColumns(coded.codes, coded.n_levels, np.array(unordered))
        expected = (
            naive.sigma(*values)
            if not any(unordered)
            else naive.sigma_of_levels(
                *(values if unordered[0] else values[::-1]), both=all(unordered)
            )
        )
        for first in (0, 1):
            dependences = dependence(recoded, first, np.array([1 - first]))
            assert dependences.tolist() == pytest.approx([expected], abs=1e-12)
    source = DenseSource(np.column_stack([x, y]))
    expected = [naive.sigma_of_levels(classes.tolist(), column) for column in values]
    assert class_dependence(source, classes, 4).tolist() == pytest.approx(expected, abs=1e-12)


def test_categorical_columns_of_a_source():
    rng = np.random.default_rng(0)
    y, values = rng.integers(0, 3, 20), rng.normal(size=(20, 1))
    codes = rng.integers(0, 4, size=(2, 20)).astype(np.uint8)
    kinds = np.array([CATEGORICAL, CONTINUOUS, CATEGORICAL])
    source = DenseSource(values, codes, kinds, np.array([3, 3]))
    first, second = ([int(c) or None for c in column] for column in codes)
    expected = [
        naive.sigma_of_levels(y.tolist(), first, both=True),
        naive.sigma_of_levels(y.tolist(), values[:, 0]),
        naive.sigma_of_levels(y.tolist(), second, both=True),
    ]
    assert class_dependence(source, y, 3) == pytest.approx(expected)
    dependences = dependence(code_columns(source), 0, np.array([2, 1, 0]))
    assert dependences[0] == pytest.approx(naive.sigma_of_levels(first, second, both=True))
    assert dependences[1] == pytest.approx(naive.sigma_of_levels(first, values[:, 0]))
    assert dependences[2] == pytest.approx(sum(c is not None for c in first) / 20)


# ---- properties -----------------------------------------------------------------------------
@given(pairs())
def test_between_zero_and_one_symmetric_and_blind_to_monotone_maps(pair):
    x, y, _ = pair
    value = sigma(x, y)
    assert 0 <= value <= 1
    assert value == sigma(y, x)
    assert value == sigma(-x, y) == sigma(x, -(y**3)) == sigma(np.exp(x), 1000 * y - 7)


@pytest.mark.parametrize(
    "values", [np.arange(2), np.arange(57), np.repeat(np.arange(5), 9), [3, 3, 8]]
)
def test_one_for_monotone_relations_and_for_no_others(values):
    x = np.random.default_rng(0).permutation(np.asarray(values, float))
    assert sigma(x, x) == sigma(x, -x) == sigma(x, np.exp(-x / 9)) == 1.0
    nearly = x.copy()
    nearly[[x.argmax(), x.argmin()]] = x.min(), x.max()
    assert sigma(x, nearly) < 1.0 or len(set(values)) == 2
    if len(set(values)) > 2:
        coarser = np.where(x == x.max(), np.sort(np.unique(x))[-2], x)
        assert sigma(x, coarser) < 1.0


def test_zero_for_an_independent_grid():
    x, y = np.repeat(np.arange(7.0), 12), np.tile(np.repeat(np.arange(6.0), [3, 1, 1, 4, 1, 2]), 7)
    assert sigma(x, y) == 0.0
    assert class_dependence(DenseSource(y[:, None]), x.astype(int), 7).tolist() == [0.0]
    assert sigma(x, np.ones(84)) == 0.0


@given(st.integers(0, 10_000))
@settings(max_examples=30)
def test_without_ties_it_is_the_published_estimate(seed):
    """12 / (n² - 1) times the sum of |C(i/n, j/n) - ij/n²|, as in R's copBasic."""
    n = 3 + seed % 20
    rank = np.random.default_rng(seed).permutation(n) + 1
    grid = np.arange(1, n + 1)
    inside = (grid[:, None, None] >= grid) & (grid[None, :, None] >= rank)
    expected = 12 / (n**2 - 1) * np.abs(inside.mean(-1) - np.outer(grid, grid) / n**2).sum()
    assert sigma(grid, rank) == pytest.approx(expected)


@given(pairs())
@settings(max_examples=30)
def test_never_below_spearmans_correlation(pair):
    x, y = np.nan_to_num(pair[0]), np.nan_to_num(pair[1])
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert sigma(x, y) >= abs(stats.spearmanr(x, y).statistic) - 1e-12
        x, y = x > np.median(x), y > 1
        if x.any() and y.any() and not y.all():
            assert sigma(x, y) == pytest.approx(abs(np.corrcoef(x, y)[0, 1]))


def test_dependence_that_rises_and_falls_is_seen():
    x = np.arange(-50.0, 51.0)
    assert abs(stats.spearmanr(x, x**2).statistic) < 1e-9
    assert sigma(x, x**2) > 0.4


def test_a_missing_value_says_nothing():
    """Half of the rows of a perfect pair are worth half; two values do not come first."""
    x = np.arange(20.0)
    half = np.where(x % 2 == 0, x, np.nan)
    assert sigma(x, half) == sigma(half, half) == 0.5
    few = np.full(20, np.nan)
    few[:2] = 0, 1
    dependences = class_dependence(DenseSource(np.column_stack([few, x])), (x % 2).astype(int), 2)
    assert dependences[0] == pytest.approx(0.1)
    assert sigma(half, np.where(x % 2 == 1, x, np.nan)) == 0.0


# ---- large columns: short sums that are emptied, tiles, wide codes -----------------------------
def large_columns(n_rows):
    rng = np.random.default_rng(n_rows)
    x = rng.normal(size=n_rows)
    return np.column_stack(
        [
            x,
            x + rng.normal(size=n_rows),
            np.maximum(x, 0.5),  # most rows in one level, the others alone
            (x + 0.1 * rng.normal(size=n_rows)).round(3),
            rng.integers(0, 40, n_rows),
            rng.random(n_rows) < 0.2,
        ]
    )


def test_large_columns():
    X = large_columns(2600)
    coded, every = code_columns(DenseSource(X)), np.arange(X.shape[1])
    dependences = np.array([dependence(coded, first, every) for first in every])
    for a in every:
        expected = [by_table(X[:, a], X[:, b]) for b in every[a:]]
        assert dependences[a, a:] == pytest.approx(expected, rel=1e-12)
        assert dependences[a:, a].tolist() == dependences[a, a:].tolist()


def test_wide_codes_and_sums_change_no_bit(monkeypatch):
    X = large_columns(1500)
    X[::7, 1] = np.nan
    y = np.arange(1500) % 3
    every = np.arange(X.shape[1])
    source = DenseSource(X)
    expected = [dependence(code_columns(source), first, every).tolist() for first in every]
    classes = class_dependence(source, y, 3).tolist()
    monkeypatch.setattr(copula, "SMALL_CODES", 0)
    monkeypatch.setattr(copula, "SMALL_SUMS", 0)
    coded = code_columns(source)
    assert coded.codes.dtype == np.uint32
    assert [dependence(coded, first, every).tolist() for first in every] == expected
    assert class_dependence(source, y, 3).tolist() == classes


def test_equal_columns_and_threads_have_equal_bits():
    X = np.random.default_rng(0).normal(size=(61, 3000)).round(1)
    X[:, 1500:] = X[:, :1500]
    coded = code_columns(DenseSource(X))
    dependences = [dependence(coded, 7, np.arange(3000), n_jobs=jobs) for jobs in (1, 2, 3)]
    assert dependences[0].tobytes() == dependences[1].tobytes() == dependences[2].tobytes()
    assert dependences[0][:1500].tobytes() == dependences[0][1500:].tobytes()
