"""Official and given splits, wrong parameters, columns that look like identifiers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import model_selection as sk

from featly.basics.errors import DataError, ParameterError
from featly.study.splits import (
    FixedSplits,
    FromSklearn,
    Holdout,
    KFold,
    LeaveOneOut,
    Subsampling,
    as_splitter,
)
from tests.study.test_splits import check

# fmt: off
# fmt: on


# ---- official splits --------------------------------------------------------------------------
def test_official_splits():
    y, labels = [0, 1, 0, 1], ["Train", "TRAIN ", "test", "Testing"]
    for official in (labels, pl.Series(labels), [False, False, True, True]):
        split = next(Holdout().split(None, y, official=official))
        assert (split.name, split.test.tolist()) == ("official", [2, 3])
    trained = pl.Series([True, True, False, False])
    split = Holdout(column="is_train").split_at(0, None, y, official=trained)
    assert split.test.tolist() == [2, 3]
    assert Holdout(column="split").count(None, y, official=labels) == 1


@pytest.mark.parametrize(
    ("official", "message"),
    [
        (["train", "train", "valid", "test"], "'valid' in row 2: label every row 'train' or"),
        (["train", "train", None, "test"], "None in row 2"),
        ([0, 0, 1, 1], "0 in row 0"),
        (["train", "train", "test"], r"shape \(3,\), the table has 4 rows"),
        (["train"] * 4, "has no test rows"),
        (["train", "test", "train", "test"], r"one class only \('a'\) to train on"),
        (["train", "train", "test", "train"], "group 7 of row_groups is on both sides"),
        (None, "the table came without its official split"),
    ],
)
def test_wrong_official_splits_are_refused(official, message):
    with pytest.raises(DataError, match=message):
        next(
            Holdout(column="split").split(
                None, ["a", "b", "a", "b"], row_groups=[5, 6, 7, 7], official=official
            )
        )


# ---- given splits -----------------------------------------------------------------------------
def test_values_of_splits():
    assert as_splitter(5) == KFold(5)
    assert as_splitter(Subsampling(3)) is not None
    y, groups = np.arange(12) % 2, np.arange(12) // 3
    theirs = sk.StratifiedKFold(3)
    ours = as_splitter(theirs)
    pairs = list(theirs.split(y, y))
    for splitter in (ours, as_splitter(pairs), as_splitter(theirs.split(y, y))):
        splits = list(splitter.split(None, y))
        check(splits, y)
        assert splitter.count(None, y) == 3
        assert [s.test.tolist() for s in splits] == [test.tolist() for _, test in pairs]
        assert splitter.split_at(2, None, y).test.tolist() == splits[2].test.tolist()
    masks = FixedSplits([(y < 9, np.arange(12) == 11) for _ in range(2)])
    with pytest.raises(DataError, match="row 11 on both sides"):
        next(masks.split(None, y))
    grouped = list(as_splitter(sk.GroupKFold(2)).split(None, y, row_groups=groups))
    check(grouped, y, groups)
    repeated = as_splitter(sk.RepeatedKFold(n_splits=3, n_repeats=2, random_state=0))
    with pytest.raises(DataError, match="group 1 of row_groups is on both sides of split 0 of Fro"):
        list(repeated.split(None, y, row_groups=groups))
    alone = list(repeated.split(None, y, row_groups=np.arange(12)))
    check(alone, y)
    assert len(alone) == 6


def test_different_splits_have_different_texts():
    a, b = FixedSplits([([0, 1], [2])]), FixedSplits([([0, 1], [3])])
    assert repr(a) != repr(b)
    assert repr(a) == repr(FixedSplits(((np.array([0, 1]), (2,)),)))
    folds = np.arange(3000) % 5
    other = folds.copy()
    other[1500] = 0 if other[1500] else 1
    texts = {repr(FromSklearn(sk.PredefinedSplit(f))) for f in (folds, folds.copy(), other)}
    assert len(texts) == 2

    class Odd:
        def __init__(self, step):
            self.step = step

        def split(self, X, y, groups=None):
            yield np.arange(0, len(y), self.step), np.arange(1, len(y), self.step)

    splitter = as_splitter(Odd(2))
    assert repr(splitter) == "FromSklearn(Odd(step=2))"
    assert splitter.needs_table
    assert not as_splitter(sk.KFold()).needs_table
    assert splitter.count(None, [0, 0, 1, 1]) == 1
    assert next(splitter.split(None, [0, 0, 1, 1])).train.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (1, "n_folds=1: give a whole number from 2"),
        (True, "splits=True: give a splitter such as"),
        ("loo", "splits='loo': give a splitter such as"),
        (KFold, r"splits=KFold is a class: write KFold\(\)"),
        ([], "splits is an empty list"),
        ([1, 2], "entry 0 of splits is 1: give pairs"),
        (sk.ShuffleSplit(3), "makes other splits each time: give it an integer random_state"),
        (sk.KFold(3, shuffle=True), "makes other splits each time"),
        (Subsampling(0), "n_splits=0: give a whole number from 1"),
        (Subsampling(5, test_size=1.5), r"test_size=1.5: give a number above 0 and below 1, or"),
        (Subsampling(5, test_size=0), "test_size=0: give a number above 0 and below 1, or"),
        (Subsampling(5, test_size=True), "test_size=True: give a number above 0"),
        (Subsampling(5, test_size=float("nan")), "test_size=nan: give a number above 0"),
        (Subsampling(5, stratify=None), "stratify=None: give True or False"),
        (Subsampling(5, random_state=None), "random_state=None: give a whole number from 0"),
        (KFold(5, n_repeats=0), "n_repeats=0: give a whole number from 1"),
        (Holdout(column=3), "column=3: give the name of a column"),
        (Holdout(column="s", test_size=0.2), "column='s' and test_size=0.2: an official split"),
    ],
)
def test_wrong_parameters_are_refused(value, message):
    with pytest.raises(ParameterError, match=message):
        as_splitter(value)


@pytest.mark.parametrize(
    ("splitter", "y", "groups", "message"),
    [
        (KFold(5), [0, 1, 0], None, "n_folds=5, but there are 3 rows: take fewer folds"),
        (KFold(3), [0, 1, 0, 1], [1, 1, 2, 2], "n_folds=3, but there are 2 row groups"),
        (KFold(2), [0, 0, 0, 1], None, "class 1 lies in row 3 alone: testing it leaves one"),
        (LeaveOneOut(), ["a", "a", "b"], None, "class 'b' lies in row 2 alone"),
        (KFold(2), [0, 0, 1, 1], ["p", "q", "r", "r"], "class 1 lies in group 'r' alone"),
        (KFold(2), [0, 0, 0], None, "y has one class only"),
        (KFold(2), [0, None, 1], None, "y is missing"),
        (Subsampling(test_size=4), [0, 1] * 2, None, "test_size=4 is 4 of 4 rows, which leaves 0"),
        (Subsampling(test_size=0.5), [0, 1, 2, 3], None, "leaves 2 to train on: leave at least 4"),
        (KFold(2), [0, 1, 0, 1], "patient", "takes the labels themselves"),
        (KFold(2), [0, 1, 0, 1], [1, 2, 3], r"row_groups has shape \(3,\), the table has 4 rows"),
        (KFold(2), [0, 1, 0, 1], [1, 2, None, 3], "row_groups is missing in row 2"),
        (KFold(2), [0, 1, 0, 1], [1, 2, np.nan, 3], "row_groups is missing in row 2"),
        (KFold(2), [0, 1, 0, 1], pd.array([1, 2, 2, None]), "row_groups is missing in row 3"),
        (KFold(2), [0, 1, 0, 1], [7, 7, 7, 7], r"row_groups has one group only \(7\)"),
        (FixedSplits([([0, 1], [3])]), [0, 1, 0], None, "test part of split 0 .* has row 3"),
        (FixedSplits([([0, -1], [1])]), [0, 1, 0], None, "has row -1: positions go from 0 to 2"),
        (FixedSplits([([0, 1], [2, 2])]), [0, 1, 0], None, "has a row twice"),
        (FixedSplits([([0, 1], [])]), [0, 1, 0], None, "has no test rows"),
        (FixedSplits([([0.5, 1], [2])]), [0, 1, 0], None, "not a list of row positions"),
        (FixedSplits([([0, 2], [1])]), [0, 1, 0], None, "one class only"),
        (FromSklearn(sk.GroupKFold(2)), [0, 1, 0], None, "cannot divide these rows.*row_groups"),
        (FromSklearn(sk.KFold(5)), [0, 1, 0], None, "cannot divide these rows"),
    ],
)
def test_rows_that_cannot_be_divided(splitter, y, groups, message):
    with pytest.raises((DataError, ParameterError), match=message):
        list(splitter.split(None, y, row_groups=groups))


def test_a_number_beyond_the_last_is_refused():
    with pytest.raises(ParameterError, match=r"number=3: KFold\(3\) has 3 splits, 0 to 2"):
        KFold(3).split_at(3, None, [0, 1, 0, 1])
    with pytest.raises(ParameterError, match="number=-1"):
        KFold(3).split_at(-1, None, [0, 1, 0, 1])
