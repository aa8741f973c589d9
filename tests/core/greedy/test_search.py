"""Informations of pairs against their definitions, and the greedy search itself."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.counts.codes import DenseCodes
from featly.core.greedy.search import Criterion, PairInformation, forward_search
from featly.core.ranking.preference import Preference
from tests.reference import information as reference


@st.composite
def coded_tables(draw, most_rows=14, most_levels=4):
    """Codes in which 0 may stand for missing, and classes, all of them present."""
    n_classes = draw(st.integers(2, 3))
    n = draw(st.integers(n_classes, most_rows))
    p = draw(st.integers(1, 4))
    column = st.lists(st.integers(0, most_levels), min_size=n, max_size=n)
    codes = np.array(draw(st.lists(column, min_size=p, max_size=p)))
    y = [*range(n_classes), *draw(st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n))]
    return codes, np.array(y[:n])


def pairs(codes, y, **options):
    columns = DenseCodes(codes.astype(np.uint8), codes.max(axis=1))
    return PairInformation(columns, y, int(y.max()) + 1, **options)


@given(coded_tables())
@settings(max_examples=60, deadline=None)
def test_informations_equal_reference(table):
    codes, y = table
    terms, alone = pairs(codes, y, by_class=True), pairs(codes, y, by_class=False)
    only = pairs(codes, y, by_class=True, redundancy=False)
    columns = codes.tolist()
    assert terms.bits == pytest.approx([reference.mutual(f, y) for f in columns], abs=1e-9)
    assert terms.relevance / terms.scale == pytest.approx(terms.bits, abs=1e-7)
    assert terms.entropy / terms.scale == pytest.approx(
        [reference.entropy(f) for f in columns], abs=1e-7
    )
    assert terms.class_entropy / terms.scale == pytest.approx(reference.entropy(y), abs=1e-7)
    assert terms.varies.tolist() == [len(set(f)) > 1 for f in columns]
    for s, chosen in enumerate(columns):
        terms.condition_on(s)
        alone.condition_on(s)
        only.condition_on(s)
        assert np.array_equal(terms.redundancy, alone.redundancy)
        assert np.array_equal(terms.conditional, only.conditional)
        expected = [reference.mutual(f, chosen) for f in columns]
        assert terms.redundancy / terms.scale == pytest.approx(expected, abs=1e-7)
        expected = [reference.conditional(f, y.tolist(), chosen) for f in columns]
        assert terms.conditional / terms.scale == pytest.approx(expected, abs=1e-7)


@given(coded_tables())
@settings(max_examples=40, deadline=None)
def test_identities_of_information_hold(table):
    codes, y = table
    terms = pairs(codes, y, by_class=True)
    rounding = 1 << terms.digits
    for s, chosen in enumerate(codes.tolist()):
        terms.condition_on(s)
        assert (terms.redundancy >= 0).all()
        assert (terms.conditional >= 0).all()
        assert (terms.redundancy <= np.minimum(terms.entropy, terms.entropy[s]) + rounding).all()
        assert abs(terms.redundancy[s] - terms.entropy[s]) <= rounding  # I(s; s) = H(s)
        assert terms.conditional[s] == 0  # nothing new
        for f, column in enumerate(codes.tolist()):
            # the chain rule: I(f, s; y) = I(s; y) + I(f; y | s)
            together = (terms.relevance[s] + terms.conditional[f]) / terms.scale
            assert together == pytest.approx(reference.joint(column, chosen, y.tolist()), abs=1e-7)


@given(coded_tables(most_rows=10, most_levels=3))
@settings(max_examples=60, deadline=None)
def test_spread_equals_reference(table):
    codes, y = table
    terms = pairs(codes, y, by_class=True, spread=True)
    columns = [[v or None for v in column] for column in codes.tolist()]
    full = [1] * len(y)
    expected = [reference.spread_informations(f, full, y.tolist())[1] for f in columns]
    assert terms.relevance / terms.scale == pytest.approx(expected, abs=1e-6)
    for s, chosen in enumerate(columns):
        terms.condition_on(s)
        for f, column in enumerate(columns):
            if not terms.varies[f]:
                continue
            redundancy, conditional = reference.spread_informations(column, chosen, y.tolist())
            assert terms.redundancy[f] / terms.scale == pytest.approx(redundancy, abs=1e-6)
            assert terms.conditional[f] / terms.scale == pytest.approx(conditional, abs=1e-6)


def test_spread_without_missing_values_is_exact():
    rng = np.random.default_rng(0)
    codes, y = rng.integers(1, 4, (5, 40)), np.arange(40) % 2
    first, second = (pairs(codes, y, by_class=True, spread=spread) for spread in (False, True))
    first.condition_on(2)
    second.condition_on(2)
    assert np.array_equal(first.redundancy, second.redundancy)
    assert np.array_equal(first.conditional, second.conditional)


def test_columns_of_many_levels_equal_reference():
    rng = np.random.default_rng(1)
    n = 150
    y = np.arange(n) % 3
    codes = np.array([rng.integers(0, k, n) for k in (2, 40, 33, 32, 150, 5)])
    codes[4] = np.arange(n)  # a name for every row
    terms = pairs(codes, y, by_class=True)
    for s in range(len(codes)):
        terms.condition_on(s)
        for f in range(len(codes)):
            column, chosen = codes[f].tolist(), codes[s].tolist()
            expected = (
                reference.mutual(column, chosen),
                reference.conditional(column, y.tolist(), chosen),
            )
            actual = terms.redundancy[f] / terms.scale, terms.conditional[f] / terms.scale
            assert actual == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize(("n", "levels"), [(40, 6), (700, 4), (1300, 3)])  # the last: no table
def test_tables_of_two_classes(n, levels):
    rng = np.random.default_rng(n)
    codes, y = rng.integers(0, levels, (21, n)), (rng.random(n) < 0.4).astype(int)
    full, conditional_only = (
        pairs(codes, y, by_class=True, redundancy=wanted) for wanted in (True, False)
    )
    for s in (0, 5):
        full.condition_on(s)
        conditional_only.condition_on(s)
        assert np.array_equal(full.conditional, conditional_only.conditional)


@pytest.mark.parametrize("sizes", [(3, 5, 2), (7, 11, 3), (6, 6, 2), (31, 13, 2), (35, 5, 3)])
def test_independence_is_exact(sizes):
    codes = np.indices((*sizes, 3)).reshape(4, -1)
    terms = pairs(codes[[0, 1, 3]], codes[2], by_class=True)
    terms.condition_on(1)
    assert terms.redundancy[[0, 2]].tolist() == [0, 0]
    assert terms.conditional.tolist() == terms.relevance.tolist() == [0, 0, 0]


def test_many_classes_equal_reference():
    # so many that a word for each would take too much memory: counted row by row
    rng = np.random.default_rng(3)
    codes, y = rng.integers(0, 3, (6, 130)), np.arange(130) % 40
    terms, alone = pairs(codes, y, by_class=True), pairs(codes, y, by_class=False)
    for s, chosen in enumerate(codes.tolist()):
        terms.condition_on(s)
        alone.condition_on(s)
        assert np.array_equal(terms.redundancy, alone.redundancy)
        expected = [reference.conditional(f, y.tolist(), chosen) for f in codes.tolist()]
        assert terms.conditional / terms.scale == pytest.approx(expected, abs=1e-7)


def test_ties_are_exact():
    # levels and rows in any order: the same bits, and so the same choice
    rng = np.random.default_rng(2)
    codes, y = rng.integers(0, 4, (30, 70)), rng.integers(0, 2, 70)
    first = pairs(codes, y, by_class=True)
    rows = rng.permutation(70)
    relabelled = np.array([rng.permutation(4)[column] for column in codes])[:, rows]
    second = pairs(relabelled, 1 - y[rows], by_class=True)
    for s in (0, 7):
        first.condition_on(s)
        second.condition_on(s)
        for name in ("relevance", "redundancy", "conditional", "entropy"):
            assert np.array_equal(getattr(first, name), getattr(second, name))


# ---- the search -------------------------------------------------------------------------------
class MatrixTerms:
    """Terms whose redundancy is a matrix."""

    def __init__(self, relevance, matrix, varies=None):
        self.relevance = np.array(relevance, np.int64)
        self.matrix = np.array(matrix, np.int64)
        self.scale, self.digits = 2.0, 0
        self.varies = np.ones(len(relevance), bool) if varies is None else np.array(varies)

    def condition_on(self, chosen):
        self.redundancy = self.matrix[chosen]


class Less(Criterion):
    """Relevance less the sum of redundancies."""

    def __init__(self, terms, stop_at=None):
        super().__init__(terms)
        self.total, self.stop_at = terms.relevance.copy(), stop_at

    def add(self, column):
        if self.n_chosen == self.stop_at:
            raise KeyboardInterrupt
        self.total -= self.terms.redundancy

    def value(self):
        return self.total.copy()


MATRIX = [[9, 8, 1, 0], [8, 9, 0, 0], [1, 0, 9, 0], [0, 0, 0, 9]]


def test_forward_search_chooses_by_value():
    result = forward_search(Less(MatrixTerms([6, 6, 4, 2], MATRIX)), 10)
    assert result.order.tolist() == [0, 2, 3, 1]
    assert result.step.tolist() == [1, 4, 2, 3]
    assert result.criterion.tolist() == [3.0, -1.0, 1.5, 1.0]
    assert not result.interrupted


def test_other_columns_are_ordered_by_the_last_step():
    for steps, order in ((1, [0, 1, 2, 3]), (2, [0, 2, 3, 1])):
        result = forward_search(Less(MatrixTerms([6, 6, 4, 2], MATRIX)), steps)
        assert result.order.tolist() == order
        assert np.count_nonzero(result.step) == steps


def test_start_and_constants():
    terms = MatrixTerms([6, 6, 4, 0], MATRIX, varies=[True, True, True, False])
    assert forward_search(Less(terms), 10).order.tolist() == [0, 2, 1, 3]
    started = forward_search(Less(terms), 1, Preference(np.array([3, 1])))
    assert started.order.tolist() == [3, 1, 2, 0]
    assert started.step.tolist() == [0, 2, 3, 1]


def test_ties_go_to_the_first():
    result = forward_search(Less(MatrixTerms([5, 7, 7, 5], np.zeros((4, 4)))), 2)
    assert result.order.tolist() == [1, 2, 0, 3]


def test_progress_and_interruption():
    reports = []
    forward_search(
        Less(MatrixTerms([6, 6, 4, 2], MATRIX)), 3, progress=lambda *steps: reports.append(steps)
    )
    assert reports == [(1, 3), (2, 3), (3, 3)]
    result = forward_search(Less(MatrixTerms([6, 6, 4, 2], MATRIX), stop_at=1), 4)
    assert result.interrupted
    assert result.order.tolist() == [0, 2, 3, 1]
    assert result.step.tolist() == [1, 0, 2, 0]
    started = forward_search(
        Less(MatrixTerms([6, 6, 4, 2], MATRIX), stop_at=0), 4, Preference(np.array([3, 2]))
    )
    assert started.order.tolist() == [3, 2, 0, 1]
