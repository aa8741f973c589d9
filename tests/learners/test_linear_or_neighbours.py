"""The better of a linear machine and neighbours, chosen on the training rows."""

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import clone

from featly.basics.errors import ParameterError
from featly.learners import HEOMNeighbors, LinearOrNeighbours, LinearSVM, balance, make_learner
from featly.measures.classification import bcr, confusion_matrix
from featly.study.predict import predict_sizes


def exclusive_or(n_rows, seed, p=6):
    """Return columns of which the first two tell the class only together; 10% of labels flipped."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, p))
    return X, ((X[:, 0] * X[:, 1] > 0) ^ (rng.random(n_rows) < 0.1)).astype(int)


def sums(n_rows, seed, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, p))
    return X, (X.sum(axis=1) + rng.normal(size=n_rows) > 0).astype(int)


def rates(learner, X, y, n_train, sizes):
    """Return the balanced rate on the other rows, at every size."""
    train, test = slice(0, n_train), slice(n_train, None)
    path = predict_sizes(learner, X[train], y[train], X[test], sizes, np.unique(y))
    assert [part.error for part in path] == [None] * len(sizes)
    return np.array([bcr(confusion_matrix(y[test], part.codes, 2)) for part in path])


@pytest.mark.parametrize(("make", "better"), [(exclusive_or, 1), (sums, 0)])
def test_it_comes_near_the_better_one(make, better):
    learners = [balance(make_learner(n)) for n in ("linear-svm", "5-nn", "linear-or-neighbours")]
    means = np.mean(
        [[rates(learner, *make(700, seed), 150, [2, 6])[better - 1] for learner in learners]
         for seed in range(8)],
        axis=0,
    )  # fmt: skip
    assert means[better] > means[1 - better] + 0.03
    assert means[2] > means[better] - 0.02


def test_labels_and_values_are_those_of_the_chosen_one_at_every_size():
    X, y = exclusive_or(200, 0)
    train, test, sizes = slice(0, 120), slice(120, None), [1, 2, 6]
    members = [balance(LinearSVM()), balance(HEOMNeighbors())]
    either = LinearOrNeighbours(class_weight="balanced")
    path = either.predict_path_values(X[train], y[train], X[test], sizes)
    assert not path.is_probability
    assert (path.labels == (path.values > 0)).all()
    assert (path.labels == either.predict_path(X[train], y[train], X[test], sizes)).all()
    chosen = []
    for k, size in enumerate(sizes):
        fitted = clone(either).fit(X[train, :size], y[train])
        assert np.allclose(fitted.decision_function(X[test, :size]), path.values[k])
        assert (fitted.predict(X[test, :size]) == path.labels[k]).all()
        chosen.append(int(fitted.rates_[1] > fitted.rates_[0]))
        member = members[chosen[-1]].fit(X[train, :size], y[train])
        assert (member.predict(X[test, :size]) == path.labels[k]).all()
    assert chosen[1] == 1


def test_rates_are_those_of_folds_that_hold_all_rows_once():
    X, y = sums(43, 1)
    either = LinearOrNeighbours(n_folds=43).fit(X, y)  # as many folds as the smaller class has rows
    assert 0.5 < either.rates_[0] < 1
    # with accuracy, a rate is a whole number of rows
    assert np.allclose(either.rates_ * 43, np.round(either.rates_ * 43))


def test_test_rows_and_their_labels_have_no_say():
    X, y = exclusive_or(160, 3)
    either = LinearOrNeighbours()
    whole = either.predict_path_values(X[:100], y[:100], X[100:], [1, 2, 4])
    alone = either.predict_path_values(X[:100], y[:100], X[100:101], [1, 2, 4])
    assert (whole.labels[:, :1] == alone.labels).all()
    assert np.allclose(whole.values[:, :1], alone.values)


def test_many_classes_frames_and_sparse_tables():
    rng = np.random.default_rng(0)
    y = np.array(["a", "b", "c"])[np.arange(90) % 3]
    X = rng.normal(size=(90, 4)) + 2.0 * (y == "a")[:, None]
    frame = pl.DataFrame(X, schema=list("pqrs"))
    path = LinearOrNeighbours().predict_path_values(frame[:60], y[:60], frame[60:], [1, 4])
    assert path.values.shape == (2, 30, 3)
    assert (path.classes[path.values.argmax(axis=2)] == path.labels).all()
    sparse = scipy.sparse.csr_matrix(X)
    again = LinearOrNeighbours().predict_path(sparse[:60], y[:60], sparse[60:], [1, 4])
    assert (again == path.labels).all()


def test_the_schema_reaches_both():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (120, 2)).astype(float)
    y = np.isin(codes[:, 0], [0, 3]).astype(int)  # levels in no order
    schema = {"categorical": [0]}
    for machine in ("linear-svm", "clinical-svm"):
        either = LinearOrNeighbours(machine=machine, schema=schema).fit(codes[:80], y[:80])
        assert (either.predict(codes[80:]) == y[80:]).all()
        assert either.learner_.schema == schema


def test_a_class_of_one_row_leaves_no_choice():
    X, y = exclusive_or(40, 0)
    y = np.where(np.arange(40) == 0, 2, y)
    either = LinearOrNeighbours().fit(X, y)
    assert isinstance(either.learner_, LinearSVM)
    assert np.isnan(either.rates_).all()
    assert (either.predict(X) == LinearSVM().fit(X, y).predict(X)).all()


def test_mistakes_are_named():
    X, y = sums(20, 0)
    for wrong in ({"machine": "forest"}, {"n_folds": 1}, {"class_weight": "equal"}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            LinearOrNeighbours(**wrong).fit(X, y)
