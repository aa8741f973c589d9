"""Rows that are alike in nearly everything."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.diagnostics.alarms import twins
from featly.diagnostics.alarms.twins import find_twins, normal_scores
from featly.diagnostics.reading import read_rows
from tests.reference.alarms import distance, equal_pairs, level_scale


def mixed_table(rng, n, p):
    """Return a frame of numbers and levels with missing values."""
    columns = {}
    for j in range(p):
        if j % 3 == 2:
            values = rng.choice(list("abcde"), n).astype(object)
        else:
            values = rng.normal(size=n).round(j % 3).astype(object)
        values[rng.random(n) < 0.15] = None
        columns[f"c{j}"] = pl.Series(values.tolist())
    return pl.DataFrame(columns)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(10, 40), st.integers(3, 9))
def test_distances_are_those_of_the_reference(seed, n, p):
    rng = np.random.default_rng(seed)
    rows = read_rows(mixed_table(rng, n, p), None)
    cells = twins._Cells.from_rows(rows, 1000, rng)
    near, neighbour = twins._nearest(cells, np.arange(n))
    numbers, codes = cells.scores.T.tolist(), cells.codes.T.tolist()
    scales = [level_scale(column) for column in codes]
    for a in range(n):
        others = [distance(numbers, codes, scales, a, b) for b in range(n) if b != a]
        expected = sorted(np.inf if d is None else d for d in others)[: near.shape[1]]
        assert near[a] == pytest.approx(expected, abs=2e-3)
        if np.isfinite(near[a, 0]):
            d = distance(numbers, codes, scales, a, int(neighbour[a]))
            assert d == pytest.approx(near[a, 0], abs=2e-3)


def test_normal_scores_know_ranks_only():
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(50, 3))
    numbers[rng.random(numbers.shape) < 0.2] = np.nan
    scores = normal_scores(numbers)
    assert np.allclose(scores, normal_scores(np.exp(numbers)), equal_nan=True)
    assert np.allclose(np.nanmean(scores, axis=0), 0)
    assert np.allclose(np.nanvar(scores, axis=0), 1)


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("share", [1.0, 0.2])
def test_rows_that_are_there_twice_are_found(noise, share):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(100, 40))
    again = X[: int(share * 100)]
    result = find_twins(
        read_rows(np.vstack([X, again + noise * rng.normal(size=again.shape)]), None)
    )
    expected = [[k, 100 + k] for k in range(len(again))]
    assert result.pairs.tolist() == expected
    assert result.copies.tolist() == (expected if noise == 0 else [])
    assert result.is_alarm
    labels = result.groups()
    assert (labels[: len(again)] == labels[100:]).all()
    assert len(np.unique(labels)) == 100


def test_mixed_rows_with_missing_values_are_found():
    rng = np.random.default_rng(2)
    frame = mixed_table(rng, 150, 30)
    result = find_twins(read_rows(pl.concat([frame, frame[:30]]), None))
    assert result.pairs.tolist() == [[k, 150 + k] for k in range(30)]


def test_families_do_not_hide_themselves():
    rng = np.random.default_rng(3)
    X = np.repeat(rng.normal(size=(20, 40)), 4, axis=0)
    result = find_twins(read_rows(X + 0.1 * rng.normal(size=X.shape), None))
    labels = result.groups()
    families = np.repeat(np.arange(20), 4)
    assert result.share == 1.0
    first, second = result.pairs.T
    assert (families[first] == families[second]).all()
    assert len(np.unique(labels)) <= 40  # each family in one or two pieces


@pytest.mark.parametrize("law", ["independent", "factors", "coarse", "categories", "groups"])
def test_clean_tables_are_silent(law):
    rng = np.random.default_rng(4)
    for n, p in ((40, 8), (120, 60), (300, 30)):
        X = rng.normal(size=(n, p))
        if law == "factors":
            X = X + rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) * 2
        elif law == "coarse":
            X = X.round()
        elif law == "categories":
            X = rng.integers(0, 3, (n, p)).astype(float)
        elif law == "groups":
            X = X + rng.normal(size=(3, p))[rng.integers(0, 3, n)]
        assert len(find_twins(read_rows(X, None)).pairs) == 0


@pytest.mark.parametrize("n_levels", [2, 3])
def test_equal_rows_of_small_tables_are_chance(n_levels):
    rng = np.random.default_rng(5)
    X = rng.integers(0, n_levels, (200, 5)).astype(float)
    assert equal_pairs(X.tolist())
    result = find_twins(read_rows(X, None))
    assert len(result.copies) == len(result.pairs) == 0
    assert result.equal_share > 0.5


def test_copies_are_all_equal_pairs():
    rng = np.random.default_rng(6)
    frame = mixed_table(rng, 60, 12)
    frame = pl.concat([frame, frame[:7]])
    result = find_twins(read_rows(frame, None))
    assert [tuple(pair) for pair in result.copies.tolist()] == equal_pairs(frame.rows())


def test_columns_that_were_not_drawn_count(monkeypatch):
    monkeypatch.setattr(twins, "MOST_COLUMNS", 5)
    rng = np.random.default_rng(7)
    X = rng.normal(size=(40, 30))
    again = X.copy()
    again[:, 20:] += 1
    result = find_twins(read_rows(np.vstack([X, again]), None))
    assert len(result.copies) == 0


def test_large_tables_are_sampled(monkeypatch):
    monkeypatch.setattr(twins, "MOST_QUERIES", 100)
    monkeypatch.setattr(twins, "MANY_ROWS", 300)
    monkeypatch.setattr(twins, "FEW_QUERIES", 50)
    rng = np.random.default_rng(8)
    X = rng.normal(size=(200, 30))
    result = find_twins(read_rows(np.vstack([X, X + 0.1 * rng.normal(size=X.shape)]), None))
    assert result.n_queries == 50
    assert result.is_alarm
    assert ((result.pairs[:, 1] - result.pairs[:, 0]) == 200).all()
    whole = find_twins(read_rows(np.vstack([X, X]), None), all_rows=True)
    assert whole.n_queries == 400
    assert len(whole.pairs) == 200


@pytest.mark.parametrize(
    "X",
    [np.ones((30, 3)), np.ones((5, 2)), np.full((30, 2), np.nan), np.arange(30.0)[:, None]],
    ids=["constant", "few rows", "missing", "one column"],
)
def test_tables_that_say_nothing_are_silent(X):
    assert len(find_twins(read_rows(X, None)).pairs) == 0


def test_the_order_of_rows_and_the_seed_change_nothing():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(80, 20))
    X = np.vstack([X, X[:10]])
    order = rng.permutation(90)
    position = np.argsort(order)
    expected = {tuple(sorted((position[k], position[80 + k]))) for k in range(10)}
    for seed in (0, 1):
        result = find_twins(read_rows(X[order], None), random_state=seed)
        assert {tuple(pair) for pair in result.pairs.tolist()} == expected
