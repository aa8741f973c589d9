import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from studies.tear_film import TABLE_5_15, TABLE_5_16, TEXTURES

from featly.basics.errors import DataError, ParameterError
from featly.measures.multi_criteria import (
    merge_selections,
    pareto_front,
    simplest_not_worse,
    stability_performance,
    topsis,
    wins,
)
from tests.reference import statistics as reference

BENEFIT = [True, True, False]
GABOR_NONE, WAVELET_INTERACT, ALL_NONE, ALL_CFS, ALL_INTERACT = 16, 7, 20, 21, 23

VALUE = st.sampled_from([-1.0, 0.0, 0.1, 0.25, 0.5, 1.0, 3.0])


@st.composite
def tables(draw, most_columns=4):
    n, k = draw(st.integers(1, 8)), draw(st.integers(1, most_columns))
    row = st.lists(VALUE, min_size=k, max_size=k)
    benefit = draw(st.lists(st.booleans(), min_size=k, max_size=k))
    return draw(st.lists(row, min_size=n, max_size=n)), benefit


@given(tables(), st.data())
def test_wins_are_their_definition(table, data):
    rows = [[*row, data.draw(VALUE)] for row in table[0]]
    result = wins(rows)
    share, score = reference.wins(rows)
    assert result.proportion.tolist() == share
    assert result.score.tolist() == score
    assert (result.proportion + result.proportion.T <= 1).all()
    k = len(score)
    assert result.score.sum() <= k * (k - 1) / 2  # a pair has one winner, or none
    errors = wins(-np.array(rows), greater_is_better=False)
    assert errors.score.tolist() == score


def test_wins_by_table_8_of_izetta():
    """Methods that beat different numbers of others have those counts as scores."""
    lines = [
        [0, 3, 7, 8, 2, 1, 5, 4, 6],
        [0, 2, 7, 8, 3, 1, 4, 5, 6],
        [1, 3, 6, 4, 2, 0, 7, 5, 8],
        [1, 6, 5, 4, 2, 0, 8, 3, 7],
    ]
    for printed in lines:
        runs = np.tile(-np.array(printed), (3, 1))
        assert wins(runs, greater_is_better=False).score.tolist() == printed
    # UCI with 10 features sums to 37, one more than there are pairs: no runs can give it
    assert sum([7, 5, 5, 8, 3, 2, 0, 2, 5]) > 9 * 8 / 2


def test_wins_count_strictly_and_drop_runs_with_nan():
    rows = [[1, 1, 0], [2, 1, np.nan], [1, 2, 0], [2, 1, 0]]
    result = wins(rows, names=["a", "b", "c"])
    assert result.proportion[0, 1] == result.proportion[1, 0] == pytest.approx(1 / 3)
    assert result.score.tolist() == [1, 1, 0]
    assert (result.n_runs, result.n_dropped) == (3, 1)
    assert result.summary().splitlines() == [
        "Methods beaten, of 2, over 3 runs (1 dropped)",
        "   1  a",
        "   1  b",
        "   0  c",
    ]
    assert repr(result) == "Wins(3 methods, 3 runs, score=[1, 1, 0])"


def test_stability_and_performance():
    assert stability_performance(0.25, 0.64) == pytest.approx(0.4)
    assert stability_performance(-0.3, 0.9) == 0
    assert isinstance(stability_performance(1, 1), float)
    performances = stability_performance([0.5, np.nan, 1.0], 0.5)
    assert performances[0] == 0.5
    assert np.isnan(performances[1])
    assert performances[2] == pytest.approx(np.sqrt(0.5))


@given(tables(), st.data())
def test_topsis_equals_the_textbook(table, data):
    matrix, benefit = table
    weights = data.draw(
        st.lists(
            st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=len(benefit), max_size=len(benefit)
        )
    )
    weights[0] = weights[0] or 1.0
    for distance in ("euclidean", "squared"):
        for normalise in ("vector", "standard"):
            result = topsis(matrix, weights, benefit, distance, normalise)
            expected = reference.topsis(
                matrix, weights, benefit, distance == "squared", normalise == "standard"
            )
            assert result.closeness == pytest.approx(expected, abs=1e-9)
            assert sorted(result.order) == list(range(len(matrix)))
            assert (np.diff(result.closeness[result.order]) <= 1e-11).all()


def test_topsis_does_not_depend_on_units_or_on_how_weights_are_counted():
    units, benefit = np.array([1000.0, 1e-200, 1e200]), np.array(BENEFIT)
    for normalise in ("vector", "standard"):
        first = topsis(TEXTURES, [1, 1, 2], benefit, normalise=normalise)
        other = topsis(TEXTURES * units, [10, 10, 20], benefit, normalise=normalise)
        assert other.closeness == pytest.approx(first.closeness, abs=1e-12)
        assert other.order.tolist() == first.order.tolist()
    # a cost is a benefit with its sign changed
    signed = topsis(TEXTURES * np.where(benefit, 1, -1), [1, 1, 2], True)
    assert signed.closeness == pytest.approx(topsis(TEXTURES, [1, 1, 2], benefit).closeness)
    # standardised columns may be moved as well
    moved = topsis(TEXTURES + 7.0, [1, 1, 2], benefit, normalise="standard")
    assert moved.closeness == pytest.approx(first.closeness)


def test_alternatives_that_differ_by_rounding_stay_in_order():
    matrix = [[0.69, 0.65, 0.98], [0.65, 0.98, 0.69], [0.98, 0.69, 0.65]]
    result = topsis(matrix, [1, 1, 1], True)
    assert result.closeness == pytest.approx([result.closeness[0]] * 3)
    assert len(set(result.closeness)) > 1
    assert result.order.tolist() == [0, 1, 2]


def test_topsis_of_ideal_and_anti_ideal():
    matrix = [[3.0, 1.0, 5.0], [2.0, 2.0, 5.0], [1.0, 3.0, 5.0]]
    result = topsis(matrix, [1, 1, 1], [True, False, True])
    assert result.closeness == pytest.approx([1, 0.5, 0])
    assert result.order.tolist() == [0, 1, 2]
    # a constant criterion, or one of no weight, might as well not be there
    two = topsis(np.array(matrix)[:, :2], [1, 1], [True, False])
    assert result.closeness == pytest.approx(two.closeness)
    for weights in ([0, 0, 1], [1e-300, 0, 1]):
        assert np.isfinite(topsis(matrix, weights, True).closeness).all()
    assert topsis(matrix, [0, 0, 1], True).closeness.tolist() == [0.5] * 3
    assert topsis(np.zeros((2, 2)), [1, 1], True).order.tolist() == [0, 1]
    assert repr(result) == "Topsis(3 alternatives, best 0 with closeness 1.0000)"
    assert result.summary().splitlines()[0] == "1.0000  alternative 0"


def test_the_books_topsis_is_on_errors_with_squared_distances():
    """Both tables to all four digits, and so in order; the printed top three and top two first."""
    errors = np.column_stack([100 - TEXTURES[:, :2], TEXTURES[:, 2]])
    for weights, printed in (([1, 1, 1], TABLE_5_15), ([0.5, 0.5, 0], TABLE_5_16)):
        result = topsis(errors, weights, False, distance="squared")
        assert result.closeness == pytest.approx(printed, abs=5e-5)
        assert result.order.tolist() == np.argsort(-printed).tolist()
    equal = topsis(errors, [1, 1, 1], False, distance="squared")
    assert equal.order[:3].tolist() == [GABOR_NONE, WAVELET_INTERACT, ALL_INTERACT]
    accurate = topsis(errors, [1, 1, 0], False, distance="squared")
    assert accurate.order[:2].tolist() == [ALL_NONE, ALL_CFS]


def test_the_textbook_on_rates_misses_the_book():
    equal = topsis(TEXTURES, [1, 1, 1], BENEFIT)
    assert 0.2 < np.abs(equal.closeness - TABLE_5_15).max() < 0.22
    assert equal.order[:3].tolist() != [GABOR_NONE, WAVELET_INTERACT, ALL_INTERACT]
    assert np.abs(topsis(TEXTURES, [1, 1, 0], BENEFIT).closeness - TABLE_5_16).max() > 0.19
    near = topsis(TEXTURES, [1, 1, 0], BENEFIT, distance="squared", normalise="standard")
    assert np.abs(near.closeness - TABLE_5_16).max() < 0.03
    assert near.order[:2].tolist() == [ALL_NONE, ALL_CFS]


@given(tables())
def test_pareto_front_is_its_definition(table):
    matrix, benefit = table
    front = pareto_front(matrix, benefit)
    assert front.tolist() == reference.pareto(matrix, benefit)
    assert front.any()
    # taking away what is not on the front changes nothing
    assert pareto_front(np.array(matrix)[front], benefit).all()


def test_pareto_front_of_accuracy_and_robustness_in_the_book():
    front = pareto_front(TEXTURES[:, :2], True)
    assert np.flatnonzero(front).tolist() == [ALL_NONE, ALL_CFS]


def test_pareto_front_keeps_duplicates_and_large_fronts():
    assert pareto_front([[1, 2], [1, 2], [0, 2]], True).tolist() == [True, True, False]
    assert pareto_front([[np.inf], [1], [np.inf]], True).tolist() == [True, False, True]
    angle = np.linspace(0, np.pi / 2, 3000)
    arc = np.column_stack([np.cos(angle), np.sin(angle), np.zeros(3000)])
    assert pareto_front(arc, True).all()
    assert pareto_front(np.vstack([arc, 0.99 * arc[1:-1]]), True).sum() == 3000


def test_the_best_is_on_the_front():
    rng = np.random.default_rng(0)
    matrix = rng.random((10_000, 3))
    front = pareto_front(matrix, BENEFIT)
    assert front[topsis(matrix, [1, 1, 1], BENEFIT).order[0]]
    assert front[np.argmax(matrix[:, 0])]
    assert front.sum() < 300


def test_simplest_not_worse():
    rng = np.random.default_rng(0)
    noise = rng.normal(scale=0.01, size=(10, 4))
    table = noise + np.array([0.90, 0.91, 0.905, 0.5])
    result = simplest_not_worse(table, complexity=[100, 50, 20, 1])
    assert result.chosen == 2
    assert result.candidates == (0, 1, 2)
    assert result.test.p_value < 0.05
    assert result.summary().endswith("simplest of these: method 3")
    errors = simplest_not_worse(1 - table, [100, 50, 20, 1], greater_is_better=False)
    assert (errors.chosen, errors.candidates) == (2, (0, 1, 2))
    assert repr(result) == "Simplest(chosen=2, candidates=(0, 1, 2))"


def test_without_a_significant_test_all_are_candidates():
    table = np.random.default_rng(0).normal(size=(5, 3))
    result = simplest_not_worse(table, complexity=[3, 2, 1])
    assert result.test.p_value > 0.05
    assert (result.chosen, result.candidates) == (2, (0, 1, 2))


def test_a_test_that_is_not_significant_overrules_tukey():
    """At a level between the two p-values Tukey alone would discard a model."""
    samples = [[1, 2, 3, 8], [4, 5, 6, 7], [9, 10, 11, 12]]
    test = simplest_not_worse(samples, [1, 2, 3]).test
    overall, pair = test.p_value, test.p_values[0, 2]
    assert pair < overall
    between = simplest_not_worse(samples, [1, 2, 3], alpha=(pair + overall) / 2)
    assert between.test.not_worse() == (1, 2)
    assert (between.chosen, between.candidates) == (0, (0, 1, 2))
    above = simplest_not_worse(samples, [1, 2, 3], alpha=overall + 1e-6)
    assert (above.chosen, above.candidates) == (1, (1, 2))


def test_equally_simple_models_go_by_their_mean_then_by_position():
    samples = [[1.0, 2, 3], [1, 2, 4], [1, 2, 4, np.nan]]
    assert simplest_not_worse(samples, [1, 1, 1]).chosen == 1
    assert simplest_not_worse(samples, [1, 1, 1], greater_is_better=False).chosen == 0
    assert simplest_not_worse(samples, [2, 2, 1]).chosen == 2


FOLDS = st.lists(st.lists(st.integers(0, 6), max_size=5), min_size=1, max_size=5)


@given(FOLDS)
def test_merged_selections_are_sets(folds):
    sets = [set(fold) for fold in folds]
    assert merge_selections(folds).tolist() == sorted(set.union(*sets))
    assert merge_selections(folds, "intersection").tolist() == sorted(set.intersection(*sets))
    masks = [np.isin(np.arange(7), fold) for fold in folds]
    for rule in ("union", "intersection"):
        assert merge_selections(masks, rule).tolist() == merge_selections(folds, rule).tolist()
    scores = [len(fold) for fold in folds]
    best = scores.index(max(scores))
    assert merge_selections(folds, "best", scores).tolist() == sorted(sets[best])


def test_the_best_fold():
    folds = [[3, 1], [2], [5]]
    assert merge_selections(folds, "best", [0.5, 0.9, 0.9]).tolist() == [2]
    assert merge_selections(folds, "best", [np.nan, 0.8, 0.9]).tolist() == [5]
    assert merge_selections(folds, "best", [0.1, 0.1, 0.9], False).tolist() == [1, 3]
    assert merge_selections([[1], [2]], "intersection").tolist() == []
    assert merge_selections([[1], [2]], "intersection").dtype == np.int64


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wins([[1, 2]], names=["a"]), ParameterError, "2 different names"),
        (lambda: wins([[np.nan, 2]]), DataError, "0 rows without NaN"),
        (lambda: stability_performance(2, 0.5), DataError, "stability"),
        (lambda: stability_performance(0.5, 80), DataError, "percentage"),
        (lambda: topsis([1, 2], [1], True), DataError, "shape"),
        (lambda: topsis([[1, 2]], [1], True), ParameterError, r"weights=\[1.0\]"),
        (lambda: topsis([[1, 2]], [1, -1], True), ParameterError, "at least 0"),
        (lambda: topsis([[1, 2]], [0, 0], True), ParameterError, "not all 0"),
        (lambda: topsis([[1, np.nan]], [1, 1], True), DataError, "row 0, column 1"),
        (lambda: topsis([[1, np.inf], [1, 2]], [1, 1], True), DataError, "infinite"),
        (lambda: topsis([[1, 2]], [1, 1], [1, 0]), ParameterError, "True or False"),
        (lambda: topsis([[1, 2]], [1, 1], [True]), ParameterError, "each of 2"),
        (lambda: topsis([[1, 2]], [1, 1], True, "l1"), ParameterError, "distance='l1'"),
        (lambda: topsis([[1]], [1], True, normalise="x"), ParameterError, "normalise='x'"),
        (lambda: pareto_front([[np.nan]], True), DataError, "NaN in row 0"),
        (lambda: simplest_not_worse([[1, 2], [1, 3]], [1]), DataError, "complexity"),
        (lambda: merge_selections([]), DataError, "empty"),
        (lambda: merge_selections([[1]], "vote"), ParameterError, "rule='vote'"),
        (lambda: merge_selections([[1]], "best"), ParameterError, "give scores"),
        (lambda: merge_selections([[1]], "union", [1]), ParameterError, "leave out scores"),
        (lambda: merge_selections([[1]], "best", [1, 2]), DataError, "1 numbers"),
        (lambda: merge_selections([[1]], "best", [np.nan]), DataError, "not all NaN"),
        (lambda: merge_selections([[1], [-1]]), DataError, "selection 1"),
        (lambda: merge_selections([[1.5]]), DataError, "selection 0"),
    ],
)
def test_wrong_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
