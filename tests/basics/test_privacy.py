"""No count below five can be worked out, by sums or by somebody who knows the rule."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.basics import privacy
from featly.basics.privacy import (
    OTHER_LEVELS,
    bound_present,
    hide_cells,
    is_percentile_safe,
    pool_classes,
    private_percentiles,
    publish_counts,
    round_figures,
)
from tests.reports.disclosure import FEWEST_VALUES, Attack

NAMES = list("ABCDEFGHIJKL")


# ---- somebody who knows the rule, and all names -------------------------------------------------
def compositions(total, n_parts):
    """Yield all ways to write a total as a sum of parts, in order."""
    if n_parts == 1:
        yield (total,)
        return
    for first in range(total + 1):
        for rest in compositions(total - first, n_parts - 1):
            yield (first, *rest)


def publish(table):
    """Return all that is shown of a table of counts; levels without rows are not in the table."""
    used = [j for j in range(table.shape[1] - 1) if table[:, j + 1].any()]
    shown = publish_counts(table[:, [0, *(j + 1 for j in used)]], [NAMES[j] for j in used])
    return tuple(shown.levels), tuple(np.where(shown.hidden, -1, shown.counts).ravel().tolist())


def fewest_possible_values(sizes, n_levels):
    """Return how many values a small cell has at least among all tables that look the same."""
    tables_of = defaultdict(list)
    for rows in product(*[list(compositions(n, n_levels + 1)) for n in sizes]):
        tables_of[publish(np.array(rows))].append(rows)
    fewest = 99
    for alike in tables_of.values():
        cells = np.array(alike)
        n_values = np.array(
            [[len(set(cell.tolist())) for cell in row] for row in cells.transpose(1, 2, 0)]
        )
        is_small = ((cells > 0) & (cells < 5)).any(axis=0)
        fewest = min([fewest, *n_values[is_small].tolist()])
    return fewest


@pytest.mark.parametrize(("sizes", "n_levels"), [((14,), 3), ((5, 5), 2), ((13, 5), 2)])
def test_whoever_knows_the_rule_has_three_values_for_every_small_count(sizes, n_levels):
    assert fewest_possible_values(sizes, n_levels) >= 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("sizes", "n_levels"),
    [((n,), 3) for n in range(5, 26)]
    + [((n,), 4) for n in range(5, 19)]
    + [((n, m), 2) for n in range(5, 16) for m in (5, 8, 11)]
    + [((n, m), 3) for n, m in ((6, 6), (7, 7), (10, 6))]
    + [((5, 5, 5), 2)],
)
def test_whoever_knows_the_rule_has_three_values_in_all_tables(sizes, n_levels):
    assert fewest_possible_values(sizes, n_levels) >= 3


def test_a_choice_by_size_would_tell(monkeypatch):
    """The attack finds a rule that hides the smallest of the others along."""

    def hide_smallest(counts):
        hidden = (counts > 0) & (counts < 5)
        for row, mask in zip(counts, hidden, strict=True):
            others = np.flatnonzero((row > 0) & ~mask)
            if mask.any() and len(others):
                mask[others[row[others].argmin()]] = True
        return hidden

    monkeypatch.setattr(privacy, "hide_cells", hide_smallest)
    assert fewest_possible_values((13,), 3) < 3


# ---- sums, of tables of any size -----------------------------------------------------------------
@st.composite
def tables_of_counts(draw):
    """Draw some columns of the same classes: counts of classes x (missing, levels)."""
    sizes = draw(st.lists(st.integers(1, 60), min_size=2, max_size=4))
    sizes[0] += 5
    columns = []
    for _ in range(draw(st.integers(1, 3))):
        n_levels = draw(st.integers(1, 6))
        weights = draw(st.lists(st.sampled_from([0, 0.02, 0.1, 1, 3]), min_size=n_levels + 1,
                                max_size=n_levels + 1))  # fmt: skip
        weights = np.array(weights) + 1e-9
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        columns.append(np.array([rng.multinomial(n, weights / weights.sum()) for n in sizes]))
    return columns


def attack_counts(columns):
    """Publish columns of counts, and return what sums give away and how many cells are small."""
    sizes = columns[0].sum(axis=1)
    labels = [f"class {k}" for k in range(len(sizes))]
    codes, classes = pool_classes(np.repeat(np.arange(len(sizes)), sizes), labels)
    truth = {
        f"column {c}": {
            (label, level): int(n)
            for label, row in zip(labels, counts, strict=True)
            for level, n in zip([None, *NAMES], row.tolist(), strict=False)
        }
        for c, counts in enumerate(columns)
    }
    attack = Attack(truth)
    attack.read_total(int(sizes.sum()))
    attack.read_classes(dict(zip(classes, np.bincount(codes).tolist(), strict=True)))
    group = np.array(
        [codes[np.repeat(np.arange(len(sizes)), sizes) == k][0] for k in range(len(sizes))]
    )
    for name, counts in zip(truth, columns, strict=True):
        pooled = np.array([counts[group == g].sum(axis=0) for g in range(len(classes))])
        shown = publish_counts(pooled, NAMES[: counts.shape[1] - 1])
        shares = shown.shares()
        for g, label in enumerate(classes):
            cells = []
            for j, level in enumerate(shown.levels, start=1):
                share = shares[g, j - 1]
                ends = None if np.isnan(share) else (share - 1e-6, share + 1e-6)
                count = None if shown.hidden[g, j] else int(shown.counts[g, j])
                cells.append((level, count, ends))
            missing = None if shown.hidden[g, 0] else int(shown.counts[g, 0])
            attack.read_row(name, label, shown.n_present[g], missing, cells)
    small = sum(0 < n < 5 for table in truth.values() for n in table.values())
    return attack.given_away(), small


@given(tables_of_counts())
@settings(max_examples=12, deadline=None)
def test_sums_give_no_small_count_away(columns):
    given_away, _ = attack_counts(columns)
    assert not given_away


@pytest.mark.thorough
@given(tables_of_counts())
@settings(max_examples=600, deadline=None)
def test_sums_give_no_small_count_away_in_many_tables(columns):
    given_away, _ = attack_counts(columns)
    assert not given_away


def test_sums_give_small_counts_away_where_nothing_else_is_hidden(monkeypatch):
    """The attack finds what hiding the small counts alone leaves open."""
    monkeypatch.setattr(privacy, "hide_cells", lambda counts: (counts > 0) & (counts < 5))
    given_away, small = attack_counts([np.array([[0, 25, 30, 1], [0, 40, 19, 2]])])
    assert small == 2
    assert sorted((count, low, high) for *_, count, low, high in given_away) == [
        (1, 1, 1),
        (2, 2, 2),
    ]


# ---- cases ---------------------------------------------------------------------------------------
def test_a_cell_is_hidden_along_with_a_small_one():
    assert hide_cells(np.array([[0, 25, 30, 0, 1]])).tolist() == [[False, False, True, False, True]]
    assert not hide_cells(np.array([[0, 25, 30, 0, 5]])).any()
    assert hide_cells(np.array([[0, 0, 1, 4]])).all(), "too few rows for any other way"
    assert hide_cells(np.array([[1, 0, 1, 5, 20]])).tolist() == [[True, False, True, False, True]]


def test_levels_without_a_count_of_five_lose_their_names():
    counts = np.array([[0, 25, 30, 1, 0, 0], [0, 20, 36, 0, 4, 0]])
    shown = publish_counts(counts, ["A", "B", "Tristan", "Eskimo", "unused"])
    assert shown.levels == ["A", "B", OTHER_LEVELS]
    codes = np.array([0, 1, 2, 3, 4])
    assert shown.merge_codes(codes).tolist() == [0, 1, 2, 3, 3]
    assert shown.n_present == [56, 60]
    assert np.isnan(shown.shares()[:, 1:]).all()
    assert shown.shares()[:, 0] == pytest.approx([25 / 56, 20 / 60])


def test_shares_are_of_all_rows_where_the_number_of_values_is_hidden():
    shown = publish_counts(np.array([[3, 25, 32], [0, 20, 30]]), ["A", "B"])
    assert shown.n_present == [None, 50]
    assert shown.shares()[:, 0] == pytest.approx([25 / 60, 20 / 50])


@pytest.mark.parametrize(
    ("sizes", "pooled"),
    [
        ([61, 56, 3], {"a": 61, "b or rarer": 59}),
        ([61, 3, 56], {"a": 61, "c or rarer": 59}),
        ([100, 3], {"all classes": 103}),
        ([2, 2, 2], {"all classes": 6}),
        ([5, 5], {"a": 5, "b": 5}),
    ],
)
def test_small_classes_are_pooled(sizes, pooled):
    codes, classes = pool_classes(np.repeat(np.arange(len(sizes)), sizes), NAMES_LOW[: len(sizes)])
    assert dict(zip(classes, np.bincount(codes).tolist(), strict=True)) == pooled


NAMES_LOW = ["a", "b", "c"]


# ---- numbers -------------------------------------------------------------------------------------
def test_what_few_rows_allow():
    assert [is_percentile_safe(50, n) for n in (9, 10)] == [False, True]
    assert [is_percentile_safe(p, 100) for p in (4, 5, 95, 96)] == [False, True, True, False]


def test_what_is_shown_of_the_values_tells_no_hidden_number():
    for n_rows in range(5, 40):
        hidden = [n for n in range(n_rows + 1) if hide_cells(np.array([[n_rows - n, n]])).any()]
        known = {bound_present(n_rows, n) for n in hidden if n >= 5}
        assert len(known) <= 1, "the same for all numbers of missing values from 1 to 4"
        assert all(bound_present(n_rows, n) <= n for n in range(n_rows + 1))


@given(st.integers(10, 200), st.integers(0, 2**32 - 1), st.floats(1e-6, 1e6))
@settings(max_examples=60, deadline=None)
def test_percentiles_are_nobodys_value(n, seed, scale):
    values = np.random.default_rng(seed).normal(1e3, 1, n) * scale
    marks = [5, 25, 50, 75, 95]
    shown = private_percentiles(values, marks, n)
    assert shown == private_percentiles(values[::-1], marks, n)
    distance = float(np.subtract(*np.percentile(values, [75, 25])))
    for mark, figure in zip(marks, shown, strict=True):
        if figure is None:
            continue
        assert is_percentile_safe(mark, n)
        assert abs(figure - np.percentile(values, mark)) <= 1.2 * distance
        unit = 10.0 ** np.floor(np.log10(distance / 5))
        assert figure / unit == pytest.approx(round(figure / unit), rel=1e-9)
        assert distance / 50 <= unit * (1 + 1e-9)
    assert (shown[2] is None) or not set(shown) & set(values.tolist())


def test_a_tail_of_single_rows_is_not_shown():
    values = np.r_[np.zeros(96), [3.0, 50.0, 1e6, 1e9]]
    assert private_percentiles(values, [50, 95], 100) == [0.0, None]
    values = np.r_[np.linspace(0, 1, 95), np.full(5, 1e9)]
    assert private_percentiles(values, [95], 100) == [None]
    assert private_percentiles(np.array([]), [50], 0) == [None]
    assert private_percentiles(np.full(20, 1.2345678), [50], 20) == [1.2345678], "of twenty rows"
    assert private_percentiles(np.r_[np.full(50, -1.7e308), np.full(50, 1.7e308)], [50], 99) == [
        None
    ]


def test_figures_are_rounded_wherever_they_are():
    assert round_figures([{"a": 0.98765, "b": (1, None, True, "0.123")}, 12345.678]) == [
        {"a": 0.99, "b": (1, None, True, "0.123")},
        12000.0,
    ]
    assert FEWEST_VALUES == 3
