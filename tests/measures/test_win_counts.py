"""Proportions of wins are those of the definition, with missing runs and datasets of any length."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.errors import DataError
from featly.measures.multi_criteria import wins
from featly.measures.win_counts import methods_beaten, win_proportions
from tests.reference import winning as naive


@st.composite
def comparisons(draw, missing_runs=True):
    """Errors on a coarse grid and the dataset of every run."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    errors = rng.integers(0, 4, shape) / 10
    if missing_runs:
        errors[rng.random(shape) < draw(st.sampled_from([0.0, 0.2, 0.7]))] = np.nan
    return errors, [str(g) for g in rng.integers(0, 3, shape[1])]


@given(comparisons())
def test_agrees_with_reference(comparison):
    errors, datasets = comparison
    for groups in (None, datasets):
        labels = ["all"] * errors.shape[1] if groups is None else groups
        proportions = win_proportions(errors, groups)
        for a in range(len(errors)):
            for b in range(len(errors)):
                expected = 0 if a == b else naive.proportion(errors.tolist(), a, b, labels)
                assert proportions[a, b] == pytest.approx(
                    np.nan if expected is None else float(expected), nan_ok=True
                )
        assert methods_beaten(errors, groups).tolist() == naive.count_beaten(
            errors.tolist(), labels
        )


@given(comparisons(missing_runs=False))
def test_complete_tables_are_those_of_wins(comparison):
    errors, datasets = comparison
    if len(errors) < 2:
        return
    peer = wins(errors.T, greater_is_better=False)
    assert (win_proportions(errors) == peer.proportion).all()
    assert (methods_beaten(errors) == peer.score).all()
    one_dataset = ["iris"] * len(datasets)
    assert (win_proportions(errors, one_dataset) == win_proportions(errors)).all()


@given(comparisons(), st.randoms(use_true_random=False))
def test_order_of_methods_and_runs_does_not_matter(comparison, random):
    errors, datasets = comparison
    runs = random.sample(range(errors.shape[1]), errors.shape[1])
    methods = random.sample(range(len(errors)), len(errors))
    for groups in (None, datasets):
        moved = None if groups is None else [groups[run] for run in runs]
        proportions = win_proportions(errors[methods][:, runs], moved)
        expected = win_proportions(errors, groups)[np.ix_(methods, methods)]
        assert proportions == pytest.approx(expected, nan_ok=True)
        beaten = methods_beaten(errors[methods][:, runs], moved)
        assert (beaten == methods_beaten(errors, groups)[methods]).all()


def test_equal_runs_and_equal_datasets():
    # nine runs of one dataset, all won by the first method; one of another, won by the second
    errors = np.array([[0.1] * 9 + [0.4], [0.2] * 9 + [0.3]])
    assert win_proportions(errors)[[0, 1], [1, 0]].tolist() == [0.9, 0.1]
    assert methods_beaten(errors).tolist() == [1, 0]
    groups = ["a"] * 9 + ["b"]
    assert win_proportions(errors, groups)[[0, 1], [1, 0]].tolist() == [0.5, 0.5]
    assert methods_beaten(errors, groups).tolist() == [0, 0]


def test_rounding_breaks_no_tie():
    # 1/10 + 2/10 + 3/10 of the runs of three datasets against 3/10 + 2/10 + 1/10
    won, lost = [1, 2, 3], [3, 2, 1]
    ours = np.concatenate(
        [[0.0] * w + [1.0] * k + [0.5] * (10 - w - k) for w, k in zip(won, lost, strict=True)]
    )
    errors, groups = [ours, np.full(30, 0.5)], np.repeat([0, 1, 2], 10)
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert methods_beaten(errors, groups).tolist() == [0, 0]
    proportions = win_proportions(errors, groups)
    assert proportions[0, 1] == proportions[1, 0]


def test_runs_that_one_method_missed():
    errors = [[0.1, 0.3, np.nan], [0.2, 0.2, 0.2], [np.nan, np.nan, 0.1]]
    proportions = win_proportions(errors)
    assert proportions[0, 1] == proportions[1, 0] == 0.5
    assert np.isnan(proportions[[0, 2], [2, 0]]).all(), "they never ran together"
    assert proportions[2, 1] == 1
    assert methods_beaten(errors).tolist() == [0, 0, 1]


def test_table_8_of_the_paper_adds_up_to_its_pairs_except_once():
    rows = ["755832025", "037821546", "136420758", "526820373", "027831456", "165420837"]
    assert [sum(map(int, row)) for row in rows] == [37, 36, 36, 36, 36, 36]
    errors = np.random.default_rng(0).random((9, 101))
    assert methods_beaten(errors).sum() == 36


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([0.1, 0.2],), r"shape \(2,\)"),
        ((np.zeros((2, 0)),), r"shape \(2, 0\)"),
        (([["a"]],), "not all numbers"),
        (([[0.1, 0.2]], ["iris"]), "1 entries, but errors have 2 runs"),
        (([[0.1, 0.2]], [["iris"], ["wine"]]), "one name a run"),
    ],
)
def test_mistakes(arguments, words):
    for measure in (win_proportions, methods_beaten):
        with pytest.raises(DataError, match=words):
            measure(*arguments)
