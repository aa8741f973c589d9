"""Searches agree with the reference implementation; no subset is evaluated or expanded twice."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from featly.core.ranking.subset_search import best_first, floating, greedy_backward, greedy_forward
from tests.reference import search as naive


class Merits:
    """A merit for every subset, and a record of the subsets that were evaluated."""

    def __init__(self, p, merit):
        self.p, self.merit = p, merit
        self.evaluated, self.expanded = [], []

    def evaluate(self, subset, candidates):
        assert not set(subset) & set(candidates.tolist())
        assert len(candidates)
        self.expanded.append(frozenset(subset))
        sets = [frozenset(subset) | {c} for c in candidates.tolist()]
        self.evaluated += sets
        return np.array([self.merit(s) for s in sets])

    def without(self, subset, candidates):
        sets = [frozenset(subset) - {c} for c in candidates.tolist()]
        assert all(len(s) == len(subset) - 1 for s in sets)
        self.evaluated += sets
        return np.array([self.merit(s) for s in sets])


@st.composite
def merits(draw, most=6):
    """Draw merits of all subsets of few columns: few values, so that many tie, or reals."""
    p = draw(st.integers(1, most))
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    subsets = [frozenset(s) for k in range(p + 1) for s in itertools.combinations(range(p), k)]
    few = draw(st.integers(0, 2))
    if few == 0:
        values = rng.normal(size=len(subsets))
    elif few == 1:
        values = rng.integers(0, 5, size=len(subsets)) / 4
    else:  # columns that add up, with noise: long paths
        worth = rng.integers(-1, 4, p)
        values = [sum(worth[list(s)]) + rng.integers(0, 3) for s in subsets]
    table = dict(zip(subsets, map(float, values), strict=True))
    return Merits(p, table.__getitem__)


@given(problem=merits(), max_stale=st.integers(1, 6), with_start=st.booleans())
@settings(max_examples=200)
def test_best_first_equals_reference(problem, max_stale, with_start):
    start = (problem.p - 1,) if with_start else ()
    result = best_first(problem.p, problem.evaluate, start=start, max_stale=max_stale)
    subset, merit, n_evaluated = naive.best_first(
        problem.p, problem.merit, start=start, max_stale=max_stale
    )
    assert frozenset(result.subset) == subset
    assert (result.merit, result.n_evaluated) == (merit, n_evaluated)
    assert result.subset[: len(start)] == start
    assert len(problem.evaluated) == len(set(problem.evaluated)) == result.n_evaluated
    passed = [frozenset(step.subset) for step in result.path]
    assert len(passed) == len(set(passed))
    assert set(problem.expanded) - {frozenset()} <= set(passed)
    assert all(step.merit == problem.merit(frozenset(step.subset)) for step in result.path[1:])
    assert not result.interrupted


@given(problem=merits(most=5))
@settings(max_examples=50)
def test_with_patience_best_first_finds_the_best_of_all(problem):
    result = best_first(problem.p, problem.evaluate, max_stale=1000, threshold=0.0)
    assert result.n_evaluated == 2**problem.p - 1
    assert result.merit == max(problem.merit(s) for s in problem.evaluated)


def test_children_are_taken_in_order_however_many_there_are():
    p, rng = 150, np.random.default_rng(0)
    worth = rng.integers(0, 8, p) / 8  # many ties

    def merit(s):
        return float(max(worth[list(s)]) - 0.5 * (len(s) - 1)) if s else 0.0

    problem = Merits(p, merit)
    result = best_first(p, problem.evaluate, max_stale=60)
    expected = naive.best_first(p, merit, max_stale=60)
    assert (frozenset(result.subset), result.merit, result.n_evaluated) == expected
    order = sorted(range(p), key=lambda c: (-worth[c], c))
    assert [step.subset for step in result.path[1:]] == [
        (c,) for c in order[: len(result.path) - 1]
    ]


@given(problem=merits(), with_start=st.booleans(), data=st.data())
@settings(max_examples=150)
def test_forward_equals_reference(problem, with_start, data):
    start = (problem.p - 1,) if with_start else ()
    count = data.draw(st.none() | st.integers(len(start), problem.p))
    result = greedy_forward(problem.p, problem.evaluate, start=start, n_select=count)
    expected = naive.forward(problem.p, problem.merit, start=start, count=count)
    assert list(result.subset) == expected
    if result.subset:
        assert result.merit == problem.merit(frozenset(result.subset))
    passed = [step.subset for step in result.path]
    assert passed == [result.subset[:k] for k in range(len(start), len(result.subset) + 1)]
    assert len(problem.evaluated) == len(set(problem.evaluated)) == result.n_evaluated


@given(problem=merits(), with_keep=st.booleans(), data=st.data())
@settings(max_examples=150)
def test_backward_equals_reference(problem, with_keep, data):
    keep = (problem.p - 1,) if with_keep else ()
    count = data.draw(st.none() | st.integers(1, problem.p))
    full = problem.merit(frozenset(range(problem.p)))
    result = greedy_backward(problem.p, problem.without, merit=full, keep=keep, n_select=count)
    path = naive.backward(problem.p, problem.merit, keep=keep, count=count)
    assert [frozenset(step.subset) for step in result.path] == path
    assert frozenset(result.subset) == path[-1]
    assert result.merit == problem.merit(path[-1])
    assert result.subset[: len(keep)] == keep
    # the other columns by the loss without each, in the last round that was tried
    last = path[-1] if len(problem.evaluated) and problem.evaluated[-1] < path[-1] else None
    if last is not None:
        losses = [problem.merit(last - {c}) for c in result.subset[len(keep) :]]
        assert losses == sorted(losses)


@given(problem=merits(), with_start=st.booleans(), data=st.data())
@settings(max_examples=200)
def test_floating_equals_reference(problem, with_start, data):
    start = (problem.p - 1,) if with_start else ()
    count = data.draw(st.integers(max(1, len(start)), problem.p))
    result = floating(problem.p, problem.evaluate, problem.without, start=start, n_select=count)
    expected = naive.floating(problem.p, problem.merit, count, start=start)
    assert frozenset(result.subset) == expected
    assert len(result.subset) == count
    assert result.merit == problem.merit(expected)
    assert result.subset[: len(start)] == start


@given(problem=merits(), max_stale=st.integers(1, 4))
@settings(max_examples=100)
def test_floating_never_goes_to_a_worse_subset_of_a_size(problem, max_stale):
    result = floating(problem.p, problem.evaluate, problem.without, max_stale=max_stale)
    best = {}
    for step in result.path[1:]:
        assert step.merit == problem.merit(frozenset(step.subset))
        assert step.merit >= best.get(len(step.subset), -np.inf)
        best[len(step.subset)] = step.merit
    assert max(best.values()) - 1e-5 <= result.merit <= max(best.values())


@pytest.mark.parametrize("seed", range(40))
def test_floating_goes_back_to_the_better_subset_of_a_size(seed):
    """After two removals, additions need not lead back to what was known; some seeds show it."""
    values = np.random.default_rng(seed).integers(0, 50, size=1 << 7).astype(float)
    problem = Merits(7, lambda s: float(values[sum(1 << c for c in s)]))
    for count in (5, 6):
        result = floating(7, problem.evaluate, problem.without, n_select=count)
        assert frozenset(result.subset) == naive.floating(7, problem.merit, count)


def test_floating_takes_back_a_choice():
    table = {1: {0: 3.0, 1: 2.0, 2: 2.0}, 2: {(0, 1): 3.5, (0, 2): 3.4, (1, 2): 5.0}}

    def merit(s):
        if len(s) == 1:
            return table[1][min(s)]
        return table[2].get(tuple(sorted(s)), 4.0)

    problem = Merits(3, merit)
    result = floating(3, problem.evaluate, problem.without)
    assert result.subset == (1, 2)
    assert [set(step.subset) for step in result.path] == [
        set(), {0}, {0, 1}, {0, 1, 2}, {1, 2}, {0, 1, 2}
    ]  # fmt: skip
    assert greedy_forward(3, problem.evaluate).subset == (0, 1, 2)


@pytest.mark.parametrize("stale", [1, 2, 3])
def test_patience_without_improvement(stale):
    """The single best column is best of all; another expansion only counts the failures."""
    problem = Merits(6, lambda s: 1.0 - 0.1 * len(s) - 0.01 * min(s))
    result = best_first(6, problem.evaluate, max_stale=stale)
    assert result.subset == (0,)
    assert len(problem.expanded) == 1 + stale
    result = floating(6, problem.evaluate, problem.without, max_stale=stale)
    assert result.subset == (0,)
    assert max(len(step.subset) for step in result.path) == 1 + stale


def test_improvements_must_exceed_the_threshold():
    problem = Merits(4, lambda s: 1 + 0.01 * len(s))
    assert best_first(4, problem.evaluate, threshold=0.02, max_stale=1).subset == (0,)
    assert greedy_forward(4, problem.evaluate, threshold=0.02).subset == (0,)
    assert greedy_forward(4, problem.evaluate, threshold=0.0).subset == (0, 1, 2, 3)
    without = Merits(4, lambda s: 1 + 0.01 * len(s)).without
    assert len(greedy_backward(4, without, merit=1.04, threshold=0.005).subset) == 4
    # not by small steps: below the largest, however far the last removal is from the one before
    assert len(greedy_backward(4, without, merit=1.04, threshold=0.025).subset) == 2


def test_weka_finds_the_same_where_columns_add_up():
    worth = np.array([0.3, -0.2, 0.5, 0.4, -0.1, 0.2])
    problem = Merits(6, lambda s: float(sum(worth[sorted(s)])))
    result = best_first(6, problem.evaluate)
    subset, merit = naive.weka_best_first(6, problem.merit)
    assert frozenset(result.subset) == subset == {0, 2, 3, 5}
    assert result.merit == pytest.approx(merit)


def test_where_weka_differs_it_loses():
    """A short list forgets good subsets, and subsets expanded twice use up its patience."""
    better = worse = 0
    for seed in range(150):
        values = np.random.default_rng(seed).normal(size=32)
        values[0] = -np.inf
        problem = Merits(5, lambda s, v=values: float(v[sum(1 << c for c in s)]))
        result = best_first(5, problem.evaluate, max_stale=5)
        weka_merit = naive.weka_best_first(5, problem.merit, max_stale=5)[1]
        better += result.merit > weka_merit + 1e-5
        worse += result.merit < weka_merit - 1e-5
    assert better > worse


@pytest.mark.parametrize("calls", range(5))
def test_control_c_keeps_the_best_so_far(calls):
    problem = Merits(5, lambda s: float(len(s)))
    calls_left = [calls]

    def evaluate_or_stop(subset, candidates):
        if calls_left[0] == 0:
            raise KeyboardInterrupt
        calls_left[0] -= 1
        inside = set(subset) & set(candidates.tolist())
        return (problem.without if inside else problem.evaluate)(subset, candidates)

    for search in (
        lambda: best_first(5, evaluate_or_stop),
        lambda: greedy_forward(5, evaluate_or_stop),
        lambda: floating(5, evaluate_or_stop, evaluate_or_stop),
    ):
        calls_left[0] = calls
        if calls == 0:
            with pytest.raises(KeyboardInterrupt):
                search()
            continue
        result = search()
        assert result.interrupted
        assert result.merit == len(result.subset) > 0
    calls_left[0] = calls
    backward_result = greedy_backward(5, evaluate_or_stop, merit=5.0, n_select=1)
    assert backward_result.interrupted == (calls < 4)
    assert len(backward_result.subset) == 5 - calls if calls < 4 else 1


def test_progress_is_reported():
    problem = Merits(4, lambda s: float(len(s)))
    reports = []
    greedy_forward(4, problem.evaluate, progress=lambda *pair: reports.append(pair))
    assert reports == [(1, 4), (2, 4), (3, 4), (4, 4)]
    reports.clear()
    greedy_backward(
        4, problem.without, merit=4.0, n_select=2, progress=lambda *pair: reports.append(pair)
    )
    assert reports == [(1, 2), (2, 2)]
    reports.clear()
    best_first(4, problem.evaluate, max_stale=2, progress=lambda *pair: reports.append(pair))
    assert reports[0] == (1, 3)
    assert all(0 < done <= total for done, total in reports)
    reports.clear()
    floating(4, problem.evaluate, problem.without, progress=lambda *pair: reports.append(pair))
    assert reports == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_invalid_merits_are_errors():
    with pytest.raises(ValueError, match="none of them NaN"):
        best_first(3, lambda subset, candidates: np.full(len(candidates), np.nan))
    with pytest.raises(ValueError, match="3 merits are needed"):
        greedy_forward(3, lambda subset, candidates: np.zeros(1))
    result = greedy_forward(3, lambda subset, candidates: np.full(len(candidates), -np.inf))
    assert result.subset == (0,)


@pytest.mark.parametrize("start", [(3,), (-1,), (0, 0)])
def test_invalid_starts_are_errors(start):
    with pytest.raises(ValueError, match="different numbers from 0 to 2"):
        best_first(3, lambda subset, candidates: np.zeros(len(candidates)), start=start)


def test_all_columns_in_keep_or_start():
    problem = Merits(3, lambda s: float(len(s)))
    for result in (
        best_first(3, problem.evaluate, start=(2, 0, 1)),
        greedy_forward(3, problem.evaluate, start=(2, 0, 1)),
        floating(3, problem.evaluate, problem.without, start=(2, 0, 1)),
        greedy_backward(3, problem.without, merit=3.0, keep=(2, 0, 1)),
    ):
        assert result.subset == (2, 0, 1)
        assert result.merit == 3.0
