"""The forest ranker: what it finds, and what other programs say."""

import itertools

import numpy as np
import polars as pl
import pytest
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.tree import DecisionTreeClassifier

from featly import FTest
from featly.basics.errors import DataError, ParameterError
from featly.embedded.forest_ranker import ForestRanker


def grow_scikit_learn_forest(X, y, n_trees):
    """Breiman's recipe around scikit-learn's trees: drops, Gini decreases, out-of-bag error."""
    rng = np.random.default_rng(0)
    drops, decreases = np.zeros((n_trees, X.shape[1])), np.zeros((n_trees, X.shape[1]))
    votes = np.zeros((len(y), y.max() + 1))
    for t in range(n_trees):
        bag = rng.integers(0, len(y), len(y))
        rows = np.setdiff1d(np.arange(len(y)), bag)
        tree = DecisionTreeClassifier(max_features="sqrt", random_state=t).fit(X[bag], y[bag])
        predicted = tree.predict(X[rows])
        votes[rows, predicted] += 1
        decreases[t] = tree.tree_.compute_feature_importances(normalize=False) * len(y)
        for f in np.unique(tree.tree_.feature[tree.tree_.feature >= 0]):
            permuted = X[rows]
            permuted[:, f] = rng.permutation(permuted[:, f])
            drops[t, f] = (predicted == y[rows]).mean() - (tree.predict(permuted) == y[rows]).mean()
    return drops.mean(axis=0), decreases.mean(axis=0), (votes.argmax(axis=1) != y).mean()


def test_agrees_with_scikit_learns_trees():
    """Continuous columns, three classes: only random numbers and positions of cuts differ."""
    X, y = load_wine(return_X_y=True)
    drops, decreases, error = grow_scikit_learn_forest(X, y, 300)
    forest = ForestRanker(n_trees=3000).fit(X, y)
    assert np.corrcoef(forest.scores_, drops)[0, 1] > 0.99
    assert np.abs(forest.scores_ - drops).max() < 0.015
    assert np.corrcoef(forest.gini_, decreases)[0, 1] > 0.995
    assert forest.gini_.sum() == pytest.approx(decreases.sum(), rel=0.02)
    assert abs(forest.oob_error_ - error) < 0.02
    strongest = np.argsort(-drops)[:4]
    assert set(strongest) == set(forest.order_[:4])


def test_agrees_with_ranger(data_folder):
    """ranger 0.14.1, 20,000 trees, seed 1, respect.unordered.factors="partition"."""
    heart = pl.read_parquet(data_folder / "heart_cleveland.parquet").drop_nulls()
    ranger = {
        "age": 0.01047, "sex": 0.01187, "cp": 0.03191, "trestbps": 0.00185, "chol": -0.00128,
        "fbs": -0.00016, "restecg": 0.00072, "thalach": 0.01511, "exang": 0.00997,
        "oldpeak": 0.02486, "slope": 0.00985, "ca": 0.04589, "thal": 0.04259,
    }  # fmt: skip
    ranger_gini = {
        "age": 12.632, "sex": 4.505, "cp": 19.183, "trestbps": 10.553, "chol": 11.283,
        "fbs": 1.282, "restecg": 2.868, "thalach": 16.761, "exang": 7.230, "oldpeak": 15.448,
        "slope": 7.013, "ca": 17.746, "thal": 18.945,
    }  # fmt: skip
    X = heart.drop("class")
    forest = ForestRanker(n_trees=5000).fit(X, heart["class"])
    expected = np.array([ranger[name] for name in X.columns])
    # a level that a node has not seen goes elsewhere in ranger, which tells for thal
    assert np.abs(forest.scores_ - expected).max() < 0.004
    assert stats.spearmanr(forest.scores_, expected).statistic > 0.97
    gini = np.array([ranger_gini[name] for name in X.columns])
    assert np.abs(forest.gini_ - gini).max() < 1.0
    assert abs(forest.oob_error_ - 0.1717) < 0.02


# ---- what it finds -------------------------------------------------------------------------------
def test_interaction_that_single_columns_do_not_show():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(200, 8)).astype(float)
    y = X[:, 2].astype(int) ^ X[:, 5].astype(int)
    forest = ForestRanker(n_trees=500).fit(X, y)
    assert set(forest.order_[:2]) == {2, 5}
    assert forest.scores_[[2, 5]].min() > 0.3
    assert FTest().fit(X, y).p_value_[[2, 5]].min() > 0.05


def test_levels_are_split_as_sets():
    """The class hangs on a scattered half of 40 levels: no order of theirs tells it."""
    rng = np.random.default_rng(1)
    levels = np.array([f"town {k}" for k in range(40)])
    town = rng.integers(0, 40, 400)
    y = np.isin(town, rng.permutation(40)[:20])
    y ^= rng.random(400) < 0.1
    frame = pl.DataFrame({f"noise {k}": rng.normal(size=400) for k in range(5)})
    frame = frame.with_columns(
        town=pl.Series(levels[town]), other=pl.Series(levels[rng.integers(0, 40, 400)])
    )
    forest = ForestRanker(n_trees=300, n_features_to_select=1).fit(frame, y)
    assert forest.get_feature_names_out().tolist() == ["town"]
    assert forest.scores_[5] > 10 * np.abs(np.delete(forest.scores_, 5)).max()


def test_informative_missing_values():
    rng = np.random.default_rng(2)
    y = np.arange(160) % 2
    X = rng.normal(size=(160, 6))
    X[(rng.random(160) < 0.6) & (y == 1), 3] = np.nan  # only the ill were not measured
    X[rng.random(160) < 0.3, 4] = np.nan  # missing at random
    forest = ForestRanker(n_trees=500).fit(X, y)
    assert forest.order_[0] == 3
    assert forest.scores_[3] > 5 * np.abs(np.delete(forest.scores_, 3)).max()
    names = np.where(np.isnan(X[:, 3]), None, "measured")  # one level and missing values
    frame = pl.DataFrame(X).with_columns(pl.Series("column_3", names, dtype=pl.String))
    assert ForestRanker(n_trees=500).fit(frame, y).order_[0] == 3


def test_missing_values_in_a_good_column_leave_it_first():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(150, 5)), np.arange(150) % 2
    X[:, 1] += 2 * y
    X[rng.random(150) < 0.3, 1] = np.nan
    assert ForestRanker(n_trees=300).fit(X, y).order_[0] == 1


def test_only_gini_favours_many_values():
    """Strobl et al. (2007): on noise, impurity grows with the number of levels."""
    scores, gini = [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.integers(0, k, 100) for k in (2, 5, 20, 50)])
        schema = {"categorical": [0, 1, 2, 3]}
        forest = ForestRanker(n_trees=100, schema=schema).fit(X, rng.integers(0, 2, 100))
        scores.append(forest.scores_)
        gini.append(forest.gini_)
    assert (np.diff(np.mean(gini, axis=0)) > 1).all()
    t = np.mean(scores, axis=0) / (np.std(scores, axis=0) / np.sqrt(30))
    assert np.abs(t).max() < 3.5


# ---- identities ----------------------------------------------------------------------------------
def test_useless_tables_are_all_zero():
    forest = ForestRanker(n_trees=50).fit(np.full((20, 4), 7.0), np.arange(20) % 2)
    assert forest.scores_.tolist() == forest.gini_.tolist() == [0.0] * 4
    assert forest.importance_error_.tolist() == [0.0] * 4
    assert forest.order_.tolist() == [0, 1, 2, 3]
    frame = pl.DataFrame({"empty": pl.Series([None] * 6, dtype=pl.String), "one": ["a"] * 6})
    assert ForestRanker(n_trees=9).fit(frame, [0, 1] * 3).order_.tolist() == [0, 1]


def test_unused_columns_are_exactly_zero():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(60, 4)), np.arange(60) % 2
    X[:, 1], X[:, 2] = 3.0, np.nan
    X[:, 0] = y  # separates at the root, so that nothing else is ever used
    forest = ForestRanker(n_trees=200, max_features=None).fit(X, y)
    assert forest.scores_[1:].tolist() == [0.0, 0.0, 0.0]
    assert forest.oob_error_ == 0
    assert forest.oob_confusion_.tolist() == [[30, 0], [0, 30]]
    assert forest.gini_[0] == pytest.approx(60 * 0.5, rel=0.05)


def test_scaled_is_the_score_over_its_error():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 5)), np.arange(80) % 3
    X[:, 0] += y
    X[:, 4] = 1.0
    plain, scaled = ForestRanker(n_trees=100), ForestRanker(n_trees=100, scaled=True)
    plain.fit(X, y)
    scaled.fit(X, y)
    assert scaled.scores_[:4] == pytest.approx(plain.scores_[:4] / plain.importance_error_[:4])
    assert scaled.scores_[4] == 0
    assert plain.table().columns[-2:] == ["importance_error", "gini"]


def test_the_error_is_that_of_other_random_numbers():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 2
    X[:, 0] += y
    forests = [ForestRanker(n_trees=50, random_state=k).fit(X, y) for k in range(60)]
    spread = np.std([forest.scores_ for forest in forests], axis=0)
    mean_error = np.mean([forest.importance_error_ for forest in forests], axis=0)
    assert spread == pytest.approx(mean_error, rel=0.35)


def test_order_preserving_changes_change_no_bit():
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(70, 6)), np.arange(70) % 2
    X[:, 2] += y
    X[rng.random(X.shape) < 0.05] = np.nan
    forest, other = ForestRanker(n_trees=100).fit(X, y), X.copy()
    other[:, :3], other[:, 3:] = np.exp(X[:, :3]), -(X[:, 3:] ** 3)
    changed = ForestRanker(n_trees=100).fit(other, y)
    assert changed.scores_.tobytes() == forest.scores_.tobytes()
    order = rng.permutation(6)
    permuted = ForestRanker(n_trees=100).fit(X[:, order], y)
    assert permuted.scores_.tobytes() == forest.scores_[order].tobytes()
    renamed = ForestRanker(n_trees=100).fit(X, np.where(y == 0, "z", "a"))
    assert renamed.scores_.tobytes() == forest.scores_.tobytes()
    assert renamed.oob_confusion_.tolist() == forest.oob_confusion_[::-1, ::-1].tolist()


@pytest.mark.parametrize("names", list(itertools.permutations("abc")))
def test_names_of_classes_change_no_bit(names):
    rng = np.random.default_rng(13)
    y = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 3)) + y[:, None] * [2.0, 0.3, 0.0]
    numbered = ForestRanker(n_trees=60).fit(X, y)
    named = ForestRanker(n_trees=60).fit(X, np.array(names)[y])
    assert named.scores_.tobytes() == numbered.scores_.tobytes()
    by_name = np.argsort(names)  # classes are sorted by name
    assert np.array_equal(named.oob_confusion_, numbered.oob_confusion_[np.ix_(by_name, by_name)])
    assert np.array_equal(numbered.oob_confusion_.sum(axis=1), np.bincount(y))
    assert np.trace(numbered.oob_confusion_) > 40


def test_two_levels_equal_a_number():
    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 2, size=(50, 3)).astype(float), np.arange(50) % 2
    X[rng.random(X.shape) < 0.1] = np.nan
    numbers = ForestRanker(n_trees=50).fit(X, y)
    levels = ForestRanker(n_trees=50, schema={"categorical": [0, 1, 2]}).fit(X, y)
    assert numbers.scores_.tobytes() == levels.scores_.tobytes()


# ---- parameters ----------------------------------------------------------------------------------
def test_max_features():
    rng = np.random.default_rng(9)
    X, y, scores = rng.normal(size=(40, 10)), np.arange(40) % 2, set()
    for several in (("sqrt", "log2", 3, 0.3, 0.39), (None, 10, 1.0), (1, 0.01)):
        forests = [
            ForestRanker(n_trees=20, max_features=max_features).fit(X, y)
            for max_features in several
        ]
        assert len({forest.scores_.tobytes() for forest in forests}) == 1
        scores.add(forests[0].scores_.tobytes())
    assert len(scores) == 3


def test_max_depth_and_leaf_size():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    X[:, 0] += 3 * y
    stumps = ForestRanker(n_trees=50, max_depth=1, max_features=None).fit(X, y)
    assert stumps.scores_[0] > 0.2
    deep = ForestRanker(n_trees=50, max_depth=10**9, max_features=None).fit(X, y)
    free = ForestRanker(n_trees=50, max_features=None).fit(X, y)
    assert deep.scores_.tobytes() == free.scores_.tobytes() != stumps.scores_.tobytes()
    none = ForestRanker(n_trees=50, min_samples_leaf=31).fit(X, y)
    assert none.scores_.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_trees", value) for value in (0, -1, 1.5, True, "many", None)),
        *(("min_samples_leaf", value) for value in (0, 0.5, None, True)),
        *(("max_depth", value) for value in (0, -2, 2.5, "deep", True)),
        *(("max_features", value) for value in (0, -1, 0.0, 1.5, "all", True, float("nan"), [2])),
        *(("random_state", value) for value in (-1, 0.5, None, "seed", True)),
        *(("scaled", value) for value in (1, "yes", None)),
    ],
)
def test_wrong_parameters(name, value):
    with pytest.raises(ParameterError, match=f"{name}="):
        ForestRanker(**{name: value}).fit([[1.0], [2.0]], [0, 1])


def test_more_candidates_than_columns():
    with pytest.raises(ParameterError, match="max_features=3, but the table has 2 columns"):
        ForestRanker(max_features=3).fit([[1.0, 2.0], [2.0, 1.0]], [0, 1])


def test_infinite_values_are_refused():
    with pytest.raises(DataError, match="'x1' has an infinite value"):
        ForestRanker().fit([[1.0, np.inf], [2.0, 1.0]], [0, 1])


# ---- small tables and long work ------------------------------------------------------------------
def test_two_rows():
    """One out of two rows in the bag: the tree is a leaf, the other row is always wrong."""
    forest = ForestRanker(n_trees=200).fit([[0.0, 1.0], [1.0, 1.0]], ["a", "b"])
    assert forest.scores_.tolist() == [0.0, 0.0]
    assert forest.oob_error_ == 1.0
    assert forest.oob_confusion_.tolist() == [[0, 1], [1, 0]]


def test_no_row_out_of_the_bag():
    for seed in range(100):
        forest = ForestRanker(n_trees=1, random_state=seed).fit([[0.0], [1.0]], ["a", "b"])
        if np.isnan(forest.oob_error_):
            assert forest.oob_confusion_.sum() == 0
            assert forest.scores_.tolist() == [0.0]
            assert forest.gini_.tolist() == [1.0]  # the tree has seen both rows and parts them
            return
    raise AssertionError("no bag with both rows")


def test_a_row_a_class():
    X = np.random.default_rng(11).normal(size=(9, 4))
    forest = ForestRanker(n_trees=100).fit(X, np.arange(9))
    assert forest.oob_error_ == 1.0  # nobody can guess a class that was never seen
    assert np.isfinite(forest.scores_).all()


def test_control_c_keeps_grown_trees():
    rng = np.random.default_rng(12)
    X, y = rng.normal(size=(40, 5)), np.arange(40) % 2
    calls = []

    def stop(done, total):
        calls.append((done, total))
        if done >= 200:
            raise KeyboardInterrupt

    forest = ForestRanker(n_trees=100_000, verbose=stop, n_jobs=2)
    with pytest.raises(KeyboardInterrupt):
        forest.fit(X, y)
    assert forest.interrupted_
    assert 200 <= forest.n_trees_ < 100_000
    assert calls[-1] == (forest.n_trees_, 100_000)
    same = ForestRanker(n_trees=forest.n_trees_).fit(X, y)
    assert not same.interrupted_
    assert same.scores_.tobytes() == forest.scores_.tobytes()
    assert same.oob_error_ == forest.oob_error_


def test_no_output_by_default(capsys):
    X, y = np.arange(20.0)[:, None], np.arange(20) % 2
    ForestRanker(n_trees=10).fit(X, y)
    assert capsys.readouterr() == ("", "")
    ForestRanker(n_trees=10, verbose=True).fit(X, y)
    assert "10/10 trees" in capsys.readouterr().err
