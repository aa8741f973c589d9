"""Folds within folds, and shuffled labels."""

import numpy as np
import pytest

from featly.basics.errors import DataError, ParameterError
from featly.study.nested_folds import (
    count_arrangements,
    deal_folds,
    nested_folds,
    shuffle_labels,
)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_every_row_is_tested_once_a_repeat_and_inner_folds_fill_the_training_part():
    codes = np.repeat([0, 1, 2], [31, 20, 6])
    parts = nested_folds(codes, folds=10, repeats=2, inner=5, random_state=3)
    assert [(p.repeat, p.fold) for p in parts] == [(r, a) for r in range(2) for a in range(10)]
    for repeat in range(2):
        tested = np.concatenate([p.test for p in parts if p.repeat == repeat])
        assert sorted(tested.tolist()) == list(range(57))
    for part in parts:
        assert not set(part.train) & set(part.test)
        assert sorted(np.concatenate(part.inner).tolist()) == part.train.tolist()
        counts = [np.bincount(codes[rows], minlength=3) for rows in part.inner]
        assert np.ptp(counts, axis=0).max() <= 1


def test_the_first_repeat_does_not_depend_on_the_others():
    codes = np.tile([0, 1], 20)
    one = nested_folds(codes, folds=4, repeats=1, inner=3, random_state=5)
    five = nested_folds(codes, folds=4, repeats=5, inner=3, random_state=5)
    for a, b in zip(one, five[:4], strict=True):
        assert a.test.tolist() == b.test.tolist()
        assert [i.tolist() for i in a.inner] == [i.tolist() for i in b.inner]


def test_groups_are_on_one_side_of_outer_and_inner_folds():
    groups = np.repeat(np.arange(20), 3)
    codes = np.repeat(np.arange(20) % 2, 3)
    for part in nested_folds(codes, folds=5, repeats=1, inner=4, random_state=0, groups=groups):
        assert not set(groups[part.train]) & set(groups[part.test])
        owners = [set(groups[rows]) for rows in part.inner]
        assert sum(map(len, owners)) == len(set().union(*owners))


def test_more_folds_than_groups_are_refused():
    with pytest.raises(ParameterError, match="there are 4 row groups"):
        nested_folds(
            np.tile([0, 1], 6), folds=5, repeats=1, inner=2, random_state=0,
            groups=np.repeat(np.arange(4), 3),
        )  # fmt: skip


def test_a_class_with_fewer_rows_than_folds_is_spread():
    folds = deal_folds(np.repeat([0, 1], [36, 4]), 10, rng())
    assert np.bincount(folds, minlength=10).tolist() == [4] * 10
    assert len(set(folds[36:])) == 4


def test_blocks_keep_their_labels():
    codes, blocks = rng(1).integers(0, 2, 60), np.repeat(["a", "b", "c"], 20)
    shuffled = shuffle_labels(codes, rng(2), blocks=blocks)
    assert (shuffled != codes).any()
    for block in "abc":
        assert shuffled[blocks == block].sum() == codes[blocks == block].sum()


def test_groups_swap_their_labels_as_wholes_with_groups_of_their_size():
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 5])
    codes = np.array([0, 1, 1, 1, 0, 0, 1, 0, 1, 0, 1])
    pairs = {(0, 1), (1, 1), (0, 0)}
    seen = set()
    for seed in range(80):
        shuffled = shuffle_labels(codes, rng(seed), groups=groups)
        assert {tuple(shuffled[groups == g].tolist()) for g in (0, 1, 2)} == pairs
        assert shuffled[8:].tolist() == [1, 0, 1]  # the only group of three
        seen.add(tuple(shuffled.tolist()))
    assert len(seen) == count_arrangements(codes, groups=groups) == 12


def test_arrangements_of_blocks_multiply():
    codes, blocks = np.array([0, 1, 0, 1, 1]), np.array([0, 0, 1, 1, 1])
    assert count_arrangements(codes, blocks=blocks) == 2 * 3
    assert count_arrangements(np.tile([0, 1], 30)) == 1000


def test_a_group_in_two_blocks_is_refused():
    with pytest.raises(DataError, match="row 1 is of block 1"):
        shuffle_labels(np.array([0, 1]), rng(), groups=np.array([0, 0]), blocks=np.array([0, 1]))
