"""Properties of all splitters, on large and small tables, with and without groups."""

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn import model_selection as sk

from featly.basics.errors import DataError, ParameterError
from featly.study.splits import (
    Bootstrap,
    DistributionBalancedKFold,
    Holdout,
    KFold,
    LeaveOneOut,
    Subsampling,
)
from featly.study.stratification import (
    class_quotas,
    deal_groups,
    draw_counts,
    draw_groups,
    main_classes,
)
from tests.reference import splits as reference

SEEDS = st.integers(0, 10**6)


@st.composite
def targets(draw, least=2, most=40):
    """Classes of unequal size, each of at least `least` rows, in any order."""
    sizes = draw(st.lists(st.integers(least, most // 3), min_size=2, max_size=4))
    y = np.repeat(np.arange(len(sizes)), sizes)
    return np.random.default_rng(draw(SEEDS)).permutation(y)


@st.composite
def grouped_targets(draw):
    """Classes, and groups of unequal size that mix classes; each class lies in many groups."""
    rng = np.random.default_rng(draw(SEEDS))
    n_groups, n_classes = draw(st.integers(12, 20)), draw(st.integers(2, 3))
    groups = np.repeat(np.arange(n_groups), rng.integers(1, 6, size=n_groups))
    y = groups % n_classes
    if draw(st.booleans()):
        y = np.where(rng.random(len(y)) < 0.3, rng.integers(n_classes, size=len(y)), y)
    order = rng.permutation(len(y))
    return y[order], np.array([f"p{g}" for g in groups])[order]


SPLITTERS = [
    Subsampling(8, test_size=0.2),
    Subsampling(8, test_size=3, stratify=False, random_state=4),
    KFold(3, n_repeats=2),
    KFold(4, stratify=False),
    LeaveOneOut(),
    Holdout(),
    Holdout(test_size=0.4, stratify=False),
    Bootstrap(8),
    Bootstrap(8, stratify=True, estimator="out-of-bag"),
    Bootstrap(8, balanced=True),
    DistributionBalancedKFold(3, n_repeats=2),
]


def table_for(y):
    return np.random.default_rng(5).normal(size=(len(y), 2))


def check(splits, y, groups=None):
    """Assert the properties of every split of every splitter."""
    for number, split in enumerate(splits):
        assert split.number == number
        assert split.train.dtype == split.test.dtype == np.int64
        assert (np.diff(split.train) >= 0).all()
        assert (np.diff(split.test) > 0).all()
        assert len(split.train)
        assert len(split.test)
        assert not set(split.train) & set(split.test)
        assert set(split.train) | set(split.test) == set(range(len(y)))
        assert len(set(y[split.train])) >= 2
        if groups is not None:
            assert not set(groups[split.train]) & set(groups[split.test])


# ---- all splitters ----------------------------------------------------------------------------
@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@given(y=targets(least=3))
def test_parts_do_not_overlap_and_have_two_classes_to_train_on(splitter, y):
    X = table_for(y)
    splits = list(splitter.split(X, y))
    check(splits, y)
    assert len(splits) == splitter.count(X, y)
    for split in splits[::3]:
        alone = splitter.split_at(split.number, X, y)
        assert (alone.name, alone.train.tolist()) == (split.name, split.train.tolist())
        assert alone.test.tolist() == split.test.tolist()


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
@given(data=grouped_targets())
def test_groups_are_never_on_both_sides(splitter, data):
    y, groups = data
    X = table_for(y)
    splits = list(splitter.split(X, y, row_groups=groups))
    check(splits, y, groups)
    assert len(splits) == splitter.count(X, y, row_groups=groups)
    last = splitter.split_at(len(splits) - 1, X, y, row_groups=groups)
    assert last.test.tolist() == splits[-1].test.tolist()


@pytest.mark.parametrize("splitter", SPLITTERS, ids=repr)
def test_labels_and_containers_do_not_matter(splitter):
    codes = np.arange(30) % 3
    names, groups = np.array(["a", "b", "c"])[codes], np.arange(30) // 2 % 13
    X = table_for(codes)
    for row_groups in (None, groups):
        expected = [s.test.tolist() for s in splitter.split(X, codes, row_groups=row_groups)]
        for y in (names, names.tolist(), pl.Series(names), pd.Series(names), codes * 10.0):
            splits = splitter.split(X, y, row_groups=row_groups)
            assert [s.test.tolist() for s in splits] == expected
    named = [f"p{g:02d}" for g in groups]
    for labels in (named, pl.Series(named), pd.Series(named, dtype="category")):
        splits = splitter.split(X, codes, row_groups=labels)
        assert [s.test.tolist() for s in splits] == expected


@pytest.mark.parametrize("splitter", [s for s in SPLITTERS if s != LeaveOneOut()], ids=repr)
def test_the_seed_matters(splitter):
    y = np.arange(30) % 2
    X = table_for(y)
    parameters = {**vars(splitter), "random_state": 12}
    other = type(splitter)(**{("n_splits" if k == "_" else k): v for k, v in parameters.items()})
    first, second = next(splitter.split(X, y)), next(other.split(X, y))
    assert first.test.tolist() != second.test.tolist()
    assert splitter != other
    assert splitter == eval(repr(splitter))
    assert repr(other).endswith("random_state=12)")
    with pytest.raises(FrozenInstanceError):
        splitter.random_state = 3


def test_more_splits_begin_with_the_same_ones():
    y = np.arange(25) % 2
    for few, many in ((Subsampling(3), Subsampling(9)), (Bootstrap(3), Bootstrap(9))):
        pairs = zip(few.split(None, y), many.split(None, y), strict=False)
        assert all(a.train.tolist() == b.train.tolist() for a, b in pairs)
    once, twice = KFold(5).split(None, y), list(KFold(5, n_repeats=2).split(None, y))
    assert [s.test.tolist() for s in once] == [s.test.tolist() for s in twice[:5]]
    assert [s.name for s in twice[4:6]] == ["repeat 1, fold 5", "repeat 2, fold 1"]
    assert {tuple(s.test) for s in twice[:5]} != {tuple(s.test) for s in twice[5:]}


def test_the_texts_that_reports_show():
    assert [repr(s) for s in SPLITTERS[:7]] == [
        "Subsampling(8, test_size=0.2)",
        "Subsampling(8, test_size=3, stratify=False, random_state=4)",
        "KFold(3, n_repeats=2)",
        "KFold(4, stratify=False)",
        "LeaveOneOut()",
        "Holdout(test_size=1/3)",
        "Holdout(test_size=0.4, stratify=False)",
    ]
    assert repr(Holdout(column="split")) == "Holdout(column='split')"
    assert repr(Subsampling(np.int64(20))) == "Subsampling(20, test_size=0.1)"
    assert repr(DistributionBalancedKFold()) == "DistributionBalancedKFold(5)"


# ---- random test parts ------------------------------------------------------------------------
@given(st.lists(st.integers(1, 30), min_size=2, max_size=5), st.data())
def test_quotas_are_the_definitions_and_right_on_average(sizes, data):
    assume(sum(sizes) > len(sizes))
    n_test = data.draw(st.integers(1, sum(sizes) - len(sizes)))
    quotas = class_quotas(np.array(sizes), n_test)
    exact = reference.quotas(sizes, n_test)
    due = [w + r / quotas.unit for w, r in zip(quotas.whole, quotas.remainder, strict=True)]
    assert due == pytest.approx([float(q) for q in exact])

    class Start:
        """Every start of the points in turn, in place of a random one."""

        def permutation(self, values):
            return np.roll(values, 1)

        def integers(self, unit):
            return self.at

    start, total = Start(), np.zeros(len(sizes), int)
    for start.at in range(quotas.unit):
        counts = draw_counts(quotas, start)
        assert counts.sum() == n_test
        assert all(int(q) <= n <= -(-q // 1) for n, q in zip(counts, exact, strict=True))
        total += counts
    assert total.tolist() == [q * quotas.unit for q in exact]


@given(targets(), st.sampled_from([0.05, 0.1, 1 / 3, 0.5]), SEEDS)
def test_stratified_test_parts_have_their_share_of_every_class(y, test_size, seed):
    sizes = np.bincount(y)
    n_test = max(1, int(test_size * len(y) + 0.5))
    assume(n_test <= len(y) - len(sizes))
    exact = reference.quotas(sizes.tolist(), n_test)
    for split in Subsampling(5, test_size=test_size, random_state=seed).split(None, y):
        counts = np.bincount(y[split.test], minlength=len(sizes))
        assert counts.sum() == n_test
        assert all(abs(n - q) < 1 for n, q in zip(counts, exact, strict=True))
        assert (counts < sizes).all()


def test_classes_are_rounded_up_in_all_combinations():
    y = np.arange(40) % 4  # each is due half a row
    splits = Subsampling(200, test_size=2).split(None, y)
    assert len({tuple(sorted(y[split.test])) for split in splits}) == 6


def test_every_row_is_tested_equally_often():
    y = np.repeat([0, 1, 2, 3], [31, 20, 7, 3])  # the last is due 0.3 rows
    for splitter in (Subsampling(4000), Subsampling(4000, stratify=False)):
        times = np.zeros(len(y))
        for split in splitter.split(None, y):
            times[split.test] += 1
        rate = 6 / len(y)
        assert times.sum() == 4000 * 6
        assert np.abs(times - 4000 * rate).max() < 4.5 * np.sqrt(4000 * rate * (1 - rate))


def test_a_class_of_one_row_is_never_tested():
    y = np.array([0] * 10 + [1] + [2] * 9)
    tested = {row for split in Subsampling(200).split(None, y) for row in split.test.tolist()}
    assert tested == set(range(20)) - {10}
    binary = np.array([0] * 10 + [1])
    check(Subsampling(20).split(None, binary), binary)


@pytest.mark.parametrize(
    ("test_size", "n_rows", "expected"),
    [(0.1, 62, 6), (0.25, 10, 3), (0.145, 100, 15), (0.01, 20, 1), (1 / 3, 10, 3), (7, 20, 7)],
)
def test_sizes_round_half_up(test_size, n_rows, expected):
    y = np.arange(n_rows) % 2
    for stratify in (True, False):
        split = Holdout(test_size=test_size, stratify=stratify).split_at(0, None, y)
        assert len(split.test) == expected


def test_unstratified_splits_are_drawn_again_until_two_classes_are_left():
    y = np.array([0] * 9 + [1])
    splits = list(Subsampling(100, test_size=0.5, stratify=False).split(None, y))
    check(splits, y)
    assert all(9 in split.train for split in splits)
    groups = np.array([0] * 9 + [1])
    with pytest.raises(DataError, match="1000 random splits all left one class"):
        Subsampling(stratify=False).split_at(0, None, y, row_groups=groups)


# ---- groups -----------------------------------------------------------------------------------
@given(SEEDS, st.floats(0.02, 0.9))
def test_drawn_groups_are_the_expected_number_in_every_stratum(seed, chance):
    rng = np.random.default_rng(seed)
    strata, sizes = rng.integers(3, size=40), rng.integers(1, 9, size=40)
    chosen = draw_groups(strata, sizes, chance, rng)
    for stratum in np.unique(strata):
        expected = chance * (strata == stratum).sum()
        assert abs(chosen[strata == stratum].sum() - expected) < 1 + 1e-9
    assert abs(chosen.sum() - chance * 40) < 1 + 1e-9


def test_every_group_is_tested_equally_often():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 12, size=28)
    groups = np.repeat(np.arange(28), sizes)
    y = groups % 3
    times, rows = np.zeros(28), []
    for split in Subsampling(4000, test_size=0.2).split(None, y, row_groups=groups):
        times[np.unique(groups[split.test])] += 1
        rows.append(len(split.test))
    assert np.abs(times - 800).max() < 4.5 * np.sqrt(4000 * 0.2 * 0.8)
    assert np.mean(rows) == pytest.approx(0.2 * len(y), rel=0.02)


def test_drawn_groups_are_small_and_large():
    rng = np.random.default_rng(0)
    sizes, strata = rng.integers(1, 12, size=60), np.arange(60) % 2
    rows = [sizes[draw_groups(strata, sizes, 0.2, rng)].sum() for _ in range(1000)]
    alone = [sizes[rng.permutation(60)[:12]].sum() for _ in range(1000)]
    assert np.std(rows) < np.std(alone) / 2  # steadier than groups drawn without regard


def test_groups_that_stay_in_training_do_not_shrink_the_test_part():
    groups = np.arange(48) // 2
    y = np.where(groups < 10, 0, groups % 2 + 1)
    groups[y == 0] = 0  # a class in one group
    sizes = [len(s.test) for s in Subsampling(2000).split(None, y, row_groups=groups)]
    assert np.mean(sizes) == pytest.approx(5, abs=0.1)
    few = np.arange(48) % 6
    for split in Subsampling(20, test_size=1).split(None, np.arange(48) // 8 % 2, row_groups=few):
        assert len(set(few[split.test])) == 1


def test_a_group_with_a_whole_class_stays_in_training():
    y = np.array([0, 0, 1, 1, 0, 1, 0, 1, 2, 2])
    groups = np.array([0, 0, 1, 1, 2, 2, 3, 3, 4, 4])
    for split in Subsampling(50, test_size=0.3).split(None, y, row_groups=groups):
        assert set(y[split.train]) == {0, 1, 2}
    with pytest.raises(DataError, match="every row group has all rows of some class"):
        Subsampling().split_at(0, None, [0, 0, 1, 1], row_groups=[5, 5, 6, 6])
    y, groups = [0] * 2 + [1] * 10, [0, 1, 2] + [3] * 9  # 3 or 4 of the 4 groups
    with pytest.raises(ParameterError, match=r"test_size=0.8 leaves no training part with every"):
        Subsampling(test_size=0.8).split_at(0, None, y, row_groups=groups)


@given(SEEDS, st.integers(2, 5))
def test_groups_are_dealt_where_imbalance_grows_least(seed, n_folds):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, size=(rng.integers(n_folds, 12), rng.integers(1, 4))) + 1
    folds = deal_groups(table, n_folds, np.random.default_rng(seed))
    naive = reference.deal_groups(table.tolist(), n_folds, np.random.default_rng(seed))
    assert folds.tolist() == naive
    assert set(folds.tolist()) == set(range(n_folds))


def test_group_folds_are_at_least_as_even_as_scikit_learns():
    """Summed over many tables, by the spread of class counts that both want small."""
    ours, theirs = 0.0, 0.0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(30), rng.integers(1, 10, size=30))
        y = np.where(rng.random(len(groups)) < 0.7, groups % 3, rng.integers(3, size=len(groups)))

        def spread(tests, y=y):
            counts = [np.bincount(y[test], minlength=3) for test in tests]
            return (np.std(counts, axis=0) / np.bincount(y)).sum()

        ours += spread([s.test for s in KFold(5).split(None, y, row_groups=groups)])
        theirs += spread([test for _, test in sk.StratifiedGroupKFold(5).split(y, y, groups)])
    assert ours < theirs


def test_a_group_counts_for_its_main_class_the_rarer_one_in_ties():
    table = np.array([[3, 1, 0], [2, 0, 2], [1, 1, 0], [0, 0, 1], [5, 0, 0]])
    assert main_classes(table).tolist() == [0, 2, 1, 2, 0]


# ---- folds ------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [KFold, DistributionBalancedKFold])
@given(y=targets(), n_folds=st.integers(2, 6), seed=SEEDS)
def test_folds_are_even_partitions(kind, y, n_folds, seed):
    assume(n_folds <= len(y))
    splits = list(kind(n_folds, random_state=seed).split(table_for(y), y))
    check(splits, y)
    assert sorted(row for split in splits for row in split.test.tolist()) == list(range(len(y)))
    sizes = [len(split.test) for split in splits]
    assert max(sizes) - min(sizes) <= 1
    for label in np.unique(y):
        counts = [int((y[split.test] == label).sum()) for split in splits]
        assert max(counts) - min(counts) <= 1
    theirs = [len(test) for _, test in sk.KFold(n_folds).split(y)]
    assert sorted(sizes) == sorted(theirs)


def test_plain_folds_are_dealt_again_until_two_classes_are_left():
    y = np.array([0] * 8 + [1, 1])
    for seed in range(40):
        splits = list(KFold(2, stratify=False, random_state=seed).split(None, y))
        check(splits, y)
        assert [len(split.test) for split in splits] == [5, 5]
    y = np.arange(40) % 2
    ones = [int(y[split.test].sum()) for split in KFold(4, stratify=False).split(None, y)]
    assert set(ones) != {5}


def test_rare_classes_are_absent_from_some_folds():
    y = np.array([0] * 10 + [1] * 10 + [2])
    counts = [int((y[split.test] == 2).sum()) for split in KFold(5).split(None, y)]
    assert sorted(counts) == [0, 0, 0, 0, 1]


def test_leave_one_out_is_scikit_learns():
    y, groups = np.array([0, 1, 0, 1, 1, 0]), np.array(["b", "a", "b", "c", "a", "c"])
    ours = list(LeaveOneOut().split(None, y))
    theirs = list(sk.LeaveOneOut().split(y))
    assert [s.train.tolist() for s in ours] == [train.tolist() for train, _ in theirs]
    assert ours[2].name == "row 2"
    ours = list(LeaveOneOut().split(None, y, row_groups=groups))
    theirs = list(sk.LeaveOneGroupOut().split(y, y, groups))
    assert [s.test.tolist() for s in ours] == [test.tolist() for _, test in theirs]
    assert [s.name for s in ours] == ["a", "b", "c"]
    with pytest.raises(DataError, match="leaving out group 'a' leaves one class to train on"):
        next(LeaveOneOut().split(None, [0, 1, 2, 2, 2], row_groups=["a", "a", "b", "b", "c"]))


# ---- bootstrap --------------------------------------------------------------------------------
def test_bootstrap_samples_leave_out_a_share_of_exp_minus_one():
    y = np.repeat([0, 1], [70, 30])
    splits = list(Bootstrap(300).split(None, y))
    assert all(len(split.train) == 100 for split in splits)
    assert np.mean([len(split.test) for split in splits]) == pytest.approx(36.6, abs=1)
    assert len({int((y[s.train] == 1).sum()) for s in splits}) > 5
    for split in Bootstrap(20, stratify=True).split(None, y):
        assert np.bincount(y[split.train]).tolist() == [70, 30]


def test_bootstrap_with_groups_draws_whole_groups():
    groups = np.repeat(np.arange(10), np.arange(1, 11))
    y = groups % 2
    for split in Bootstrap(20).split(None, y, row_groups=groups):
        times = np.bincount(split.train, minlength=len(y))
        drawn = [set(times[groups == g].tolist()) for g in range(10)]
        assert all(len(counts) == 1 for counts in drawn)
        assert sum(counts.pop() for counts in drawn) == 10
    for split in Bootstrap(20, stratify=True).split(None, y, row_groups=groups):
        times = np.bincount(groups[split.train], minlength=10) // np.arange(1, 11)
        assert (times[::2].sum(), times[1::2].sum()) == (5, 5)


@pytest.mark.parametrize("stratify", [False, True])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(10), np.arange(1, 11))])
def test_balanced_bootstrap_draws_every_row_equally_often(stratify, groups):
    y = np.arange(55) % 2 if groups is None else groups % 2
    splitter = Bootstrap(20, balanced=True, stratify=stratify)
    splits = list(splitter.split(None, y, row_groups=groups))
    times = np.sum([np.bincount(split.train, minlength=55) for split in splits], axis=0)
    assert set(times.tolist()) == {20}
    again = list(splitter.split(None, y, row_groups=groups))
    for split, other in zip(splits, again, strict=True):
        assert np.array_equal(split.train, other.train)
        assert set(split.train).isdisjoint(split.test)
        assert len(split.test)
    if groups is None:
        assert len({tuple(split.train) for split in splits}) == 20
        assert all(len(split.train) == 55 for split in splits)
    with pytest.raises(ParameterError, match="balanced='yes': give True or False"):
        Bootstrap(balanced="yes").check_parameters()
    with pytest.raises(DataError, match="1000 draws left no row to test, or one class"):
        next(Bootstrap(balanced=True).split(None, [0, 1]))


def test_estimators_are_carried_along():
    needs = {name: Bootstrap(estimator=name).needs_apparent for name in (".632+", ".632")}
    assert needs == {".632+": True, ".632": True}
    assert not Bootstrap(estimator="out-of-bag").needs_apparent
    assert not Subsampling().needs_apparent
    with pytest.raises(ParameterError, match=r"estimator='632': give one of '\.632\+'"):
        Bootstrap(estimator="632").split(None, [0, 1])
    with pytest.raises(DataError, match="1000 draws left no row to test, or one class"):
        next(Bootstrap().split(None, [0, 1]))
