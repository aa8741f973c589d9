import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from featly.core.counts.codes import DenseCodes
from featly.core.counts.consistency import NEVER, Groups, contributions
from tests.reference import subset_filters as naive


@st.composite
def problems(draw):
    """Draw equal rows of different classes, missing values, constant columns, rare classes."""
    n_rows, n_columns = draw(st.integers(2, 30)), draw(st.integers(1, 7))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = rng.integers(0, draw(st.integers(1, 4)) + 1, size=(n_columns, n_rows))
    y = rng.integers(0, draw(st.integers(2, 4)), size=n_rows)
    y[:2] = 0, 1
    return columns.astype(np.uint8), y, rng


def make_codes(columns):
    return DenseCodes(columns, np.full(len(columns), 5))


@given(problems())
def test_counts_equal_reference(problem):
    columns, y, rng = problem
    subset = rng.permutation(len(columns))[: rng.integers(0, len(columns) + 1)].tolist()
    groups = Groups(make_codes(columns), y, int(y.max()) + 1).add(subset)
    assert groups.inconsistent == naive.count_inconsistent(columns[subset].tolist(), y.tolist())
    assert sorted(groups.order.tolist()) == list(range(len(y)))
    every = np.arange(len(columns))
    expected = [naive.count_inconsistent(columns[[*subset, f]].tolist(), y.tolist()) for f in every]
    assert groups.count_with_each(every).tolist() == expected
    assert max(expected) <= groups.inconsistent, "a further column made it worse"


@given(problems())
def test_since_has_the_groups_of_all_earlier_columns(problem):
    columns, y, _ = problem
    groups = Groups(make_codes(columns), y, int(y.max()) + 1).add(range(len(columns)))
    for count in range(len(columns) + 1):
        begin = np.flatnonzero(groups.since <= count)
        parts = np.split(groups.order, begin[1:])
        outside = sum(len(rows) - np.bincount(y[rows]).max() for rows in parts)
        assert outside == naive.count_inconsistent(columns[:count].tolist(), y.tolist())


def test_add_stops_when_few_rows_are_inconsistent():
    columns = np.array([[1, 1, 2, 2], [1, 2, 1, 2], [1, 2, 1, 1]], np.uint8)
    y = np.array([0, 1, 1, 0])
    groups = Groups(make_codes(columns), y, 2).add([0, 1, 2])
    assert (groups.n_added, groups.inconsistent) == (2, 0)
    assert groups.add([2]).n_added == 2
    groups = Groups(make_codes(columns), y, 2).add([2, 0, 1], down_to=1)
    assert (groups.n_added, groups.inconsistent) == (1, 1)
    assert groups.add([0]).n_added == 2
    assert (groups.since != NEVER).sum() == 3


@given(problems(), st.sampled_from([0.5, 1.0, 1.5, 3.0]), st.integers(0, 2))
def test_elimination_equals_reference(problem, threshold, n_fixed):
    columns, y, rng = problem
    order = rng.permutation(len(columns))
    n_fixed = min(n_fixed, len(order))
    stays, contribution, inconsistent = contributions(
        make_codes(columns), y, int(y.max()) + 1, order, n_fixed, threshold
    )
    left, lost = order.tolist(), np.zeros(len(order))
    inconsistent_now = naive.count_inconsistent(columns[left].tolist(), y.tolist())
    for position in range(len(order) - 1, n_fixed - 1, -1):
        others = [f for f in left if f != order[position]]
        without = naive.count_inconsistent(columns[others].tolist(), y.tolist())
        lost[position] = without - inconsistent_now
        if without - inconsistent_now < threshold:
            left, inconsistent_now = others, without
    assert order[stays].tolist() == left
    assert contribution.tolist() == lost.tolist()
    assert inconsistent == inconsistent_now


def test_columns_of_many_levels_and_blocks():
    rng = np.random.default_rng(0)
    columns = rng.integers(0, 500, size=(600, 90)).astype(np.uint16)
    columns[:598] = 1
    y = rng.integers(0, 3, 90)
    codes = DenseCodes(columns, np.full(600, 500))
    groups = Groups(codes, y, 3)
    counts = groups.count_with_each(np.arange(600))
    assert set(counts[:598].tolist()) == {groups.inconsistent}
    assert counts[599] == naive.count_inconsistent([columns[599].tolist()], y.tolist())
    assert groups.add(range(600)).inconsistent == 0
    stays, _, _ = contributions(codes, y, 3, np.arange(600), 0, 0.5)
    assert stays.sum() <= 2
    assert not stays[:598].any()
