"""The forest against a plain one that draws the same random numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from featly.basics.kinds import CATEGORICAL, CONTINUOUS
from featly.core.sources import DenseSource
from featly.core.trees.forest import ForestInterrupted, grow_forest
from featly.core.trees.rank_codes import code_table
from tests.reference import forest as plain


def mixed_source(X, nominal):
    """Numbers, some of them the levels of categories: 0 is then missing, as is NaN."""
    kinds = np.where(nominal, CATEGORICAL, CONTINUOUS)
    codes = np.nan_to_num(X[:, nominal]).astype(np.uint8).T.copy()
    return DenseSource(X[:, ~nominal].copy(), codes, kinds, codes.max(axis=1, initial=0))


@st.composite
def problems(draw):
    """Ties, missing values, constant and equal columns, categories, classes of one row."""
    n_rows, n_columns = draw(st.integers(2, 14)), draw(st.integers(1, 5))
    n_classes = draw(st.integers(2, 4))
    cell = st.sampled_from([np.nan, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    column = st.lists(cell, min_size=n_rows, max_size=n_rows)
    X = np.array(draw(st.lists(column, min_size=n_columns, max_size=n_columns))).T
    y = np.array(draw(st.lists(st.integers(0, n_classes - 1), min_size=n_rows, max_size=n_rows)))
    y[:2] = 0, 1
    nominal = np.array(draw(st.lists(st.booleans(), min_size=n_columns, max_size=n_columns)))
    growth = {
        "n_candidates": draw(st.integers(1, n_columns)),
        "min_samples_leaf": draw(st.sampled_from([1, 1, 2, 3])),
        "max_depth": draw(st.sampled_from([None, None, 1, 2])),
    }
    return X, y, nominal, growth, draw(st.integers(0, 1000))


def by_appearance(y):
    return np.array(list(map(list(dict.fromkeys(y.tolist())).index, y.tolist())))


def compare(X, y, nominal, growth, random_state, n_trees=4):
    table, y = code_table(mixed_source(X, nominal)), by_appearance(y)
    fast = grow_forest(table, y, n_trees=n_trees, random_state=random_state, n_jobs=1, **growth)
    seed = int(np.random.SeedSequence(random_state).generate_state(1, np.uint64)[0])
    drops, decreases, votes = plain.forest(
        table.codes.tolist(),
        table.categorical.tolist(),
        table.group.tolist(),
        y.tolist(),
        seed=seed,
        n_trees=n_trees,
        **growth,
    )
    group = table.group[np.argsort(table.columns)]
    drops = np.array(drops or [[0.0] * (max(group) + 1)])
    assert fast.votes.tolist() == votes.tolist()
    assert fast.gini == pytest.approx(np.mean(decreases, axis=0)[group], rel=1e-9, abs=1e-12)
    assert fast.importance == pytest.approx(drops.mean(axis=0)[group], rel=1e-9, abs=1e-15)
    error = drops.std(axis=0) / np.sqrt(len(drops))
    assert fast.error == pytest.approx(error[group], rel=1e-6, abs=1e-9)
    assert fast.n_trees == n_trees


@given(problems())
def test_agrees_with_the_reference(problem):
    compare(*problem)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("n_levels", [3, 6, 7, 90])
def test_agrees_with_the_reference_on_larger_tables(n_classes, n_levels):
    """More than a word of levels, many trees to a block, depth."""
    rng = np.random.default_rng(n_classes * 100 + n_levels)
    X = rng.integers(1, n_levels + 1, size=(70, 6)).astype(float)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 5] = rng.normal(size=70)
    y = np.where(rng.random(70) < 0.3, X[:, 1] > n_levels / 2, rng.integers(0, n_classes, 70))
    y[:n_classes] = np.arange(n_classes)
    nominal = np.array([False, True, True, False, True, False])
    growth = {"n_candidates": 2, "min_samples_leaf": 1, "max_depth": None}
    compare(X, y.astype(int), nominal, growth, n_levels, n_trees=5)


def test_trees_without_out_of_bag_rows_do_not_count():
    X, y = np.array([[1.0, 2.0], [2.0, 2.0], [3.0, 1.0], [4.0, 1.0]]), np.array([0, 1, 0, 1])
    growth = {"n_candidates": 1, "min_samples_leaf": 1, "max_depth": None}
    compare(X, y, np.zeros(2, bool), growth, 0, n_trees=200)  # nine of a hundred such trees


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "dtype"),
    [
        (9000, 2, np.uint16),  # more codes than one word of a summary holds
        (9000, 3, np.uint16),
        pytest.param(66_000, 2, np.uint32, marks=pytest.mark.thorough),  # compiles all once more
    ],
)
def test_many_codes(n_rows, n_classes, dtype):
    rng = np.random.default_rng(0)
    X = rng.permutation(np.arange(float(n_rows)))[:, None]
    y = by_appearance(np.digitize(X[:, 0], [n_rows // 50, n_rows - n_rows // 40]) % n_classes)
    table = code_table(DenseSource(X))
    assert table.codes.dtype == dtype
    forest = grow_forest(table, y, n_trees=20, n_candidates=1)
    assert (forest.votes.argmax(axis=1) != y).mean() < 1e-3
    # two cuts take off all of the impurity
    share = np.bincount(y) / n_rows
    assert forest.gini[0] == pytest.approx(n_rows * (1 - (share**2).sum()), rel=0.05)


def test_trees_fully_grown_take_off_all_of_the_impurity():
    """With no two rows alike, the decreases of a tree add up to the impurity of its bag."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(40, 7)), by_appearance(rng.integers(0, 3, 40))
    forest = grow_forest(code_table(DenseSource(X)), y, n_trees=30, n_candidates=2)
    seed = int(np.random.SeedSequence(0).generate_state(1, np.uint64)[0])
    impurity = []
    for tree in range(30):
        stream = plain.Stream(seed, tree)
        bag = np.bincount([y[stream.below(40)] for _ in y], minlength=3)
        impurity.append(40 - (bag**2).sum() / 40)
    assert forest.gini.sum() == pytest.approx(np.mean(impurity), rel=1e-12)


def test_columns_of_equal_ranks_share_their_worth():
    rng = np.random.default_rng(4)
    x, noise = rng.normal(size=60), rng.normal(size=60)
    y = by_appearance((x > 0).astype(int))
    table = code_table(DenseSource(np.column_stack([x, noise, np.exp(-x), 3 * x + 1])))
    forest = grow_forest(table, y, n_trees=300, n_candidates=2)
    assert forest.importance[0] == forest.importance[2] == forest.importance[3] > 0.1
    alone = grow_forest(
        code_table(DenseSource(np.column_stack([x, noise]))), y, n_trees=300, n_candidates=2
    )
    assert alone.importance[0] > 2 * forest.importance[0]


@pytest.mark.parametrize("n_trees", [1, 31, 32, 33, 100])
def test_blocks_and_threads_change_no_bit(n_trees):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 4)), by_appearance(rng.integers(0, 2, 30))
    table, seen = code_table(DenseSource(X)), []
    one_thread = grow_forest(table, y, n_trees=n_trees, n_candidates=2, n_jobs=1)
    three_threads = grow_forest(
        table, y, n_trees=n_trees, n_candidates=2, n_jobs=3, progress=lambda *at: seen.append(at)
    )
    for name in ("importance", "error", "gini", "votes"):
        assert getattr(one_thread, name).tobytes() == getattr(three_threads, name).tobytes()
    assert seen == sorted(seen)
    assert seen[-1] == (n_trees, n_trees)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_forest_is_a_smaller_forest(n_jobs):
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(30, 4)), by_appearance(rng.integers(0, 2, 30))
    table = code_table(DenseSource(X))

    def stop(done, total):
        if done > 100:
            raise KeyboardInterrupt

    with pytest.raises(ForestInterrupted) as stopped:
        grow_forest(table, y, n_trees=9999, n_candidates=2, n_jobs=n_jobs, progress=stop)
    interrupted = stopped.value.forest
    assert 100 < interrupted.n_trees < 9999
    smaller = grow_forest(table, y, n_trees=interrupted.n_trees, n_candidates=2)
    assert interrupted.importance.tobytes() == smaller.importance.tobytes()
    assert interrupted.votes.tobytes() == smaller.votes.tobytes()


def test_interrupted_before_the_first_tree(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("featly.core.trees.forest.run_blocks", interrupt)
    table = code_table(DenseSource(np.arange(4.0)[:, None]))
    with pytest.raises(KeyboardInterrupt):
        grow_forest(table, np.array([0, 1, 0, 1]), n_trees=5, n_candidates=1)


# ---- codes ----------------------------------------------------------------------------------
def assert_same_codes(first, second, columns=None):
    """Assert that two tables have the same codes, the second with its columns permuted."""
    columns = np.arange(len(first.columns)) if columns is None else np.asarray(columns)
    assert np.array_equal(first.codes, second.codes)
    assert np.array_equal(first.categorical, second.categorical)
    assert np.array_equal(first.n_levels, second.n_levels)
    assert np.array_equal(first.group, second.group)
    for g in set(first.group):
        assert set(first.columns[first.group == g]) == set(
            columns[second.columns][second.group == g]
        )


def test_ranks_from_the_end_that_makes_early_rows_low():
    X = np.array([[5.0, 1.0, 2.0], [np.nan, 3.0, 2.0], [-1.0, 3.0, 2.0], [7.0, 2.0, 2.0]])
    table = code_table(DenseSource(X))
    codes = table.codes[np.argsort(table.columns)]
    assert codes.tolist() == [[2, 0, 1, 3], [1, 3, 3, 2], [1, 1, 1, 1]]
    table = code_table(DenseSource(-X))
    assert table.codes[np.argsort(table.columns)].tolist() == codes.tolist()


def test_levels_as_they_first_appear():
    codes = np.array([[3, 0, 1, 3, 2], [2, 2, 0, 1, 1], [0, 0, 0, 0, 0]], np.uint8)
    source = DenseSource(None, codes, np.full(3, CATEGORICAL), np.array([3, 2, 0]))
    table = code_table(source)
    assert table.codes[np.argsort(table.columns)].tolist() == [
        [1, 0, 2, 1, 3],
        [1, 1, 0, 2, 2],
        [0, 0, 0, 0, 0],
    ]
    assert table.categorical[np.argsort(table.columns)].tolist() == [True, False, False]


def test_presentation_does_not_matter():
    rng = np.random.default_rng(7)
    X = rng.integers(1, 6, size=(30, 9)).astype(float)
    X[:, 4:] += rng.normal(size=(30, 5))
    X[:, 8] = X[:, 5]
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 7] = X[:, 5] = X[:, 6]
    nominal = np.arange(9) < 3
    table = code_table(mixed_source(X, nominal))
    order = rng.permutation(9)
    assert_same_codes(table, code_table(mixed_source(X[:, order], nominal[order])), order)
    other = X.copy()
    other[:, 3:] = np.exp(-X[:, 3:])
    names = np.append(rng.permutation(5) + 1, np.nan)
    other[:, :3] = names[np.nan_to_num(X[:, :3] - 1, nan=5).astype(int)]
    assert_same_codes(table, code_table(mixed_source(other, nominal)))
    assert len(set(table.group[np.isin(table.columns, [5, 6, 7])])) == 1
    assert table.columns[np.isin(table.columns, [5, 6, 7])].tolist() == [5, 6, 7]
