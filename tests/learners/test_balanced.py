"""Learners for which every class weighs the same."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from featly.learners import (
    C45,
    LEARNERS,
    Balanced,
    HEOMNeighbors,
    LinearSVM,
    MixedNaiveBayes,
    balance,
    make_learner,
)

# not 1-nn, of which no vote is divided; not trees that fit every row; not the slow ones
LEFT_OUT = ("1-nn", "1-nn-encoded", "tree", "c4.5", "mlp", "forest", "mkl")
LEARNT = [name for name in LEARNERS if name not in LEFT_OUT]


@pytest.fixture(scope="module")
def table():
    """Return 30 / 70 classes that differ by half a deviation."""
    rng = np.random.default_rng(3)
    y = np.repeat(["few", "many"], [60, 140])
    X = rng.normal(size=(200, 3)) + 0.5 * (y == "few")[:, None]
    order = rng.permutation(200)
    return X[order], y[order]


def test_class_weights_where_there_are_some():
    learner = LinearSVM(C=3)
    assert balance(learner).get_params()["class_weight"] == "balanced"
    assert learner.class_weight is None  # untouched
    assert balance(make_learner("logistic"))[-1].class_weight == "balanced"
    own = balance(LinearSVM(class_weight={0: 5.0}))
    assert own.class_weight == {0: 5.0}
    assert isinstance(balance(GaussianNB()), Balanced)
    assert not isinstance(balance(RandomForestClassifier()), Balanced)


@pytest.mark.parametrize("name", LEARNT)
def test_the_small_class_is_told_more_often(name, table):
    X, y = table
    train, test = slice(0, 120), slice(120, 200)
    plain = make_learner(name).fit(X[train], y[train]).predict(X[test])
    balanced = balance(make_learner(name)).fit(X[train], y[train]).predict(X[test])
    assert (balanced == "few").sum() > (plain == "few").sum()
    assert set(balanced) == {"few", "many"}


def test_weights_are_those_of_balanced_rows(table):
    X, y = table
    tree = Balanced(DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y)
    peer = DecisionTreeClassifier(max_depth=2, random_state=0, class_weight="balanced").fit(X, y)
    assert np.allclose(tree.predict_proba(X), peer.predict_proba(X))
    assert (Balanced(C45()).fit(X, y).predict(X) == "few").mean() > 0.3


def test_naive_bayes_has_equal_priors(table):
    X, y = table
    peer = MixedNaiveBayes(priors=[0.5, 0.5]).fit(X, y)
    assert np.allclose(
        Balanced(MixedNaiveBayes()).fit(X, y).predict_proba(X), peer.predict_proba(X)
    )
    gaussian = GaussianNB(priors=[0.5, 0.5]).fit(X, y)
    # a row's weight also enters the variance, but of its own class alone
    assert np.allclose(Balanced(GaussianNB()).fit(X, y).predict_proba(X), gaussian.predict_proba(X))


def test_votes_count_by_the_rarity_of_their_class(table):
    X, y = table
    neighbours = KNeighborsClassifier(5).fit(X, y)
    votes = 5 * neighbours.predict_proba(X)
    expected = np.where(votes[:, 0] / 60 >= votes[:, 1] / 140, "few", "many")
    assert (Balanced(KNeighborsClassifier(5)).fit(X, y).predict(X) == expected).all()


def test_equal_classes_change_nothing():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], 20)
    for learner in (HEOMNeighbors(), MixedNaiveBayes(), KNeighborsClassifier(4)):
        plain = clone(learner).fit(X, y).predict(X)
        assert (Balanced(learner).fit(X, y).predict(X) == plain).all()


def test_a_tie_of_quotients_is_a_tie():
    # three of four rows, and three of four neighbours: the classes are equally likely
    X, y = np.zeros((4, 1)), np.array(["a", "b", "b", "b"])
    assert Balanced(KNeighborsClassifier(4)).fit(X, y).predict([[0.0]]).tolist() == ["a"]
    assert Balanced(KNeighborsClassifier(4)).fit(X, y).predict_proba([[0.0]]).tolist() == [
        [0.5, 0.5]
    ]


@pytest.mark.parametrize("learner", [HEOMNeighbors(), MixedNaiveBayes()])
def test_a_path_is_a_fit_at_every_size(learner, table):
    X, y = table
    balanced = Balanced(learner)
    path = balanced.predict_path_values(X[:100], y[:100], X[100:], [1, 3])
    assert path.is_probability
    for k, size in enumerate((1, 3)):
        single = clone(balanced).fit(X[:100, :size], y[:100])
        assert (path.labels[k] == single.predict(X[100:, :size])).all()
        assert np.allclose(path.values[k], single.predict_proba(X[100:, :size]))
    assert not hasattr(Balanced(GaussianNB()), "predict_path_values")
