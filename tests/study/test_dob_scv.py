"""DOB-SCV equals its definition, and its folds are alike."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from featly.basics.errors import DataError, ParameterError
from featly.study.dob_scv import deal_balanced, heom
from featly.study.splits import DistributionBalancedKFold, KFold
from tests.reference.splits import balanced_folds, heom_squared

NUMBERS = [0.0, 0.5, 1.0, 3.0, -4.0, None]
TEXTS = ["a", "b", "c", None]


@st.composite
def mixed_tables(draw):
    """Numbers and text with ties, missing values and constant columns, and the classes."""
    n_rows = draw(st.integers(4, 14))
    kinds = draw(st.lists(st.booleans(), min_size=1, max_size=4))
    cells = [st.sampled_from(TEXTS if textual else NUMBERS) for textual in kinds]
    rows = draw(st.lists(st.tuples(*cells), min_size=n_rows, max_size=n_rows))
    y = draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    return rows, [0, 0, 1, 1, *y[4:]], {f for f, textual in enumerate(kinds) if textual}


def frame_of(rows, categorical):
    return pl.DataFrame(
        {
            f"x{f}": pl.Series(values, dtype=pl.String if f in categorical else pl.Float64)
            for f, values in enumerate(zip(*rows, strict=True))
        }
    )


@given(mixed_tables())
def test_distances_are_heoms(table):
    rows, _, categorical = table
    everything = np.arange(len(rows))
    distances = [heom(frame_of(rows, categorical)).for_rows(everything)(i) for i in everything]
    for i in everything:
        exact = [float(heom_squared(rows, i, j, categorical)) for j in everything]
        assert distances[i] == pytest.approx(exact, rel=1e-12)


@given(mixed_tables(), st.integers(2, 4), st.integers(0, 99))
def test_folds_are_those_of_the_definition(table, n_folds, seed):
    rows, y, categorical = table
    folds = deal_balanced(
        heom(frame_of(rows, categorical)),
        np.array(y),
        np.arange(len(y)),
        n_folds,
        np.random.default_rng(seed),
    )
    naive = balanced_folds(rows, y, n_folds, categorical, np.random.default_rng(seed))
    assert folds.tolist() == naive


@given(st.integers(0, 10**6), st.integers(2, 6))
def test_sparse_dense_and_frame_give_the_same_folds(seed, n_folds):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, 0.0, 0.0, 1.0, 2.5, -1.0, np.nan], size=(30, 6))
    X[:, 3] = rng.choice([0.0, np.nan], size=30)
    X[:, 4] = 2.0
    y = np.arange(30) % 3
    splitter = DistributionBalancedKFold(n_folds, random_state=seed)
    everything = np.arange(30)
    sparse = scipy.sparse.csr_array(X)
    for i in range(0, 30, 7):
        dense = heom(X).for_rows(everything)(i)
        assert heom(sparse).for_rows(everything)(i) == pytest.approx(dense, rel=1e-12)
    expected = [split.test.tolist() for split in splitter.split(X, y)]
    frame = pl.DataFrame(X).fill_nan(None)
    for other in (sparse, scipy.sparse.coo_matrix(X), frame, frame.to_pandas(), X.tolist()):
        assert [split.test.tolist() for split in splitter.split(other, y)] == expected


def test_complete_numbers_are_scipys_distances_of_ranged_columns():
    X = np.random.default_rng(0).normal(size=(40, 700)) * 3 + 1e4  # several blocks of columns
    ranged = (X - X.min(axis=0)) / np.ptp(X, axis=0)
    distance = heom(X).for_rows(np.arange(5, 40))
    exact = cdist(ranged[5:], ranged[5:], "sqeuclidean")
    assert [distance(i) for i in range(35)] == pytest.approx(exact, rel=1e-9)
    rounding = heom(X.astype(np.float32)).for_rows(np.arange(5, 40))
    assert rounding(0) == pytest.approx(exact[0], rel=1e-2)


def test_nearest_neighbours_go_to_different_folds():
    """Pairs of near rows, far from each other: with two folds each pair is divided."""
    rng = np.random.default_rng(3)
    centres = rng.normal(size=(20, 2)) * 1000
    X = np.repeat(centres, 2, axis=0) + rng.normal(size=(40, 2))
    y = np.repeat([0, 1], 20)
    for split in DistributionBalancedKFold(2, n_repeats=5).split(X, y):
        assert np.bincount(split.test // 2, minlength=20).tolist() == [1] * 20


def test_folds_look_more_alike_than_plain_ones():
    """The method's purpose: fold means of a class scatter less than by stratifying alone."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 2)), np.arange(120) % 2

    def scatter(splitter):
        tests = [split.test for split in splitter.split(X, y)]
        means = [[X[t[y[t] == c]].mean(axis=0) for t in tests] for c in (0, 1)]
        return np.mean([np.var(mean, axis=0) for mean in means])

    plain = scatter(KFold(5, n_repeats=5))
    assert scatter(DistributionBalancedKFold(5, n_repeats=5)) < plain / 2


def test_the_schema_says_which_numbers_are_labels():
    """Wards 1, 2, 9: as labels they are equally far, as numbers 1 and 2 are near."""
    X = np.array([[1.0], [2.0], [9.0]])
    rows = np.arange(3)
    assert heom(X).for_rows(rows)(0).tolist() == [0, 1 / 64, 1]
    labels = heom(X, {"categorical": ["x0"]}).for_rows(rows)
    assert labels(0).tolist() == [0, 1, 1]
    splitter = DistributionBalancedKFold(2, schema={"categorical": [0]})
    assert repr(splitter) == "DistributionBalancedKFold(2, schema={'categorical': [0]})"
    assert len(list(splitter.split(np.tile(X, (3, 1)), np.arange(9) % 2))) == 2


def test_ordinal_columns_count_by_rank():
    frame = pl.DataFrame({"stage": ["I", "III", "II"]})
    distance = heom(frame, {"ordinal": {"stage": ["I", "II", "III"]}}).for_rows(np.arange(3))
    assert distance(0).tolist() == [0, 1, 0.25]


def test_group_distances_are_mean_row_distances():
    """Groups 0 and 1 are near, though group 1 has many rows; so are 2 and 3."""
    X = np.concatenate([[0.0], np.linspace(2, 2.7, 8), [10.0], [11.0]])[:, None]
    units, y = np.repeat([0, 1, 2, 3], [1, 8, 1, 1]), np.arange(11) % 2
    for seed in range(20):
        random = np.random.default_rng(seed)
        folds = deal_balanced(heom(X), np.zeros(4, int), units, 2, random)
        assert folds[0] != folds[1]
        assert folds[2] != folds[3]
    for split in DistributionBalancedKFold(2).split(X, y, row_groups=units):
        assert not set(units[split.train]) & set(units[split.test])


def test_wide_groups_go_to_the_emptiest_folds():
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(40), rng.integers(1, 9, size=40))
    X, y = rng.normal(size=(len(groups), 3)), (groups % 2).astype(str)
    sizes = [len(s.test) for s in DistributionBalancedKFold(4).split(X, y, row_groups=groups)]
    assert max(sizes) - min(sizes) <= 8


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (None, "needs the columns: pass X"),
        (np.array([[1.0], [np.inf], [2.0], [3.0]]), "'x0' has an infinite or too large value"),
        (np.array([[1.0], [-1.7e308], [1.7e308], [3.0]]), "'x0' has an infinite or too large"),
        (scipy.sparse.csr_array([[1.0], [np.inf], [2.0], [3.0]]), "'x0' has an infinite or too"),
        (np.arange(4.0), r"shape \(4,\): give a table"),
        (pl.DataFrame({"x": [1, 2, 3]}), "X has 3 rows but y has 4 entries"),
    ],
)
def test_tables_without_distances_are_refused(X, message):
    with pytest.raises(DataError, match=message):
        list(DistributionBalancedKFold(2).split(X, [0, 1, 0, 1]))


def test_empty_and_constant_columns_have_no_effect():
    X = np.column_stack([np.full(6, np.nan), np.full(6, 3.0), np.arange(6.0)])
    assert heom(X).for_rows(np.arange(6))(0) == pytest.approx(1 + (np.arange(6) / 5) ** 2)
    with pytest.raises(ParameterError, match="n_folds=7, but there are 6 rows"):
        list(DistributionBalancedKFold(7).split(X, [0, 1, 0, 1, 0, 1]))
