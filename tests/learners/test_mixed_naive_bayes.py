"""Probabilities are those of the definition and of scikit-learn, and a path is a fit a size."""

import math
import pickle

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly import DataError
from featly.basics.errors import ParameterError
from featly.learners.mixed_naive_bayes import MixedNaiveBayes
from tests.learners.test_heom import assert_path_is_fits, frames, mixed_problems, patients
from tests.reference.mixed_naive_bayes import joint, normalise

PARAMETERS = st.fixed_dictionaries(
    {
        "smoothing": st.sampled_from([1.0, 0.1, 3]),
        "var_smoothing": st.sampled_from([1e-9, 0.01]),
    }
)


# ---- the definition ------------------------------------------------------------------------------
@given(mixed_problems(most_classes=4), PARAMETERS, st.booleans())
@settings(max_examples=80)
def test_agrees_with_reference(problem, parameters, uniform):
    train, y, rows = problem
    X, other = frames(train, rows)
    n_classes = len(set(y.tolist()))
    priors = [1 / n_classes] * n_classes if uniform else None
    bayes = MixedNaiveBayes(**parameters, priors=priors).fit(X, y)
    expected = joint(train, y.tolist(), rows, **parameters, priors=priors)
    probabilities, wins = bayes.predict_proba(other), bayes.winners(other)
    logarithms = bayes.predict_log_proba(other)
    assert np.exp(logarithms) == pytest.approx(probabilities)
    for i, logs in enumerate(expected):
        assert probabilities[i] == pytest.approx(normalise(logs), abs=1e-9)
        assert logarithms[i] - logarithms[i, 0] == pytest.approx(
            np.array(logs) - logs[0], rel=1e-6, abs=1e-9
        )
        first = [c for c, v in enumerate(logs) if v >= max(logs) - 1e-7 * max(1, abs(max(logs)))]
        assert set(np.flatnonzero(wins[i])) <= set(first)
        assert bayes.predict(other)[i] == np.flatnonzero(wins[i])[0]


@given(mixed_problems(), st.randoms(use_true_random=False))
def test_order_of_rows_and_columns_does_not_matter(problem, random):
    train, y, rows = problem
    X, other = frames(train, rows)
    expected = MixedNaiveBayes().fit(X, y)
    shuffled = random.sample(range(len(y)), len(y))
    names = random.sample(X.columns, X.width)
    permuted = MixedNaiveBayes().fit(X[shuffled].select(names), y[shuffled])
    assert (permuted.winners(other.select(names)) == expected.winners(other)).all()
    assert [expected.predict(row)[0] for row in other.iter_slices(1)] == expected.predict(
        other
    ).tolist()


def test_units_do_not_matter():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 4)) + y[:, None]
    X[y == 1, 0] = 0.7  # a class without a variance of its own
    units = 10.0 ** np.array([12, -12, 0, 6])
    plain = MixedNaiveBayes().fit(X, y).predict_log_proba(X)
    scaled = MixedNaiveBayes().fit(X * units, y).predict_log_proba(X * units)
    assert scaled == pytest.approx(plain, rel=1e-6, abs=1e-6)
    peer = [GaussianNB().fit(T, y).predict(T) for T in (X, X * units)]
    assert (peer[0] != peer[1]).any(), "which is what a common floor does"


# ---- independent programs ------------------------------------------------------------------------
@pytest.mark.parametrize("n_classes", [2, 3, 7])
@pytest.mark.parametrize("var_smoothing", [1e-9, 0.1])
def test_numbers_are_scikit_learns(n_classes, var_smoothing):
    """Exactly so where all columns have one variance, from which GaussianNB takes its floor."""
    rng = np.random.default_rng(n_classes)
    y = np.arange(80) % n_classes
    X = rng.normal(size=(80, 5)) + 0.5 * y[:, None]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = 3 * rng.normal(size=(30, 5))
    for priors in (None, np.arange(1.0, n_classes + 1) / np.arange(1, n_classes + 1).sum()):
        peer = GaussianNB(var_smoothing=var_smoothing, priors=priors).fit(X, y)
        ours = MixedNaiveBayes(var_smoothing=var_smoothing, priors=priors).fit(X, y)
        assert ours.predict_log_proba(rows) == pytest.approx(
            peer.predict_log_proba(rows), rel=1e-9, abs=1e-9
        )
        assert ours.predict_proba(rows) == pytest.approx(peer.predict_proba(rows), rel=1e-9)
        assert (ours.predict(rows) == peer.predict(rows)).all()
        assert ours.class_prior_ == pytest.approx(peer.class_prior_)
    single = X[:, :1] * 1e6 + 1e8
    peer, ours = GaussianNB().fit(single, y), MixedNaiveBayes().fit(single, y)
    assert ours.predict_proba(single) == pytest.approx(peer.predict_proba(single), rel=1e-6)


@pytest.mark.parametrize("alpha", [1.0, 0.01, 10.0])
def test_categories_are_scikit_learns(alpha):
    rng = np.random.default_rng(0)
    codes, y = rng.integers(0, 4, (60, 6)), rng.integers(0, 3, 60)
    assert all(len(set(column)) == 4 for column in codes[:40].T)
    peer = CategoricalNB(alpha=alpha).fit(codes[:40], y[:40])
    ours = MixedNaiveBayes(smoothing=alpha).fit(codes[:40].astype(str), y[:40])
    rows = codes[40:]
    assert ours.predict_log_proba(rows.astype(str)) == pytest.approx(
        peer.predict_log_proba(rows), rel=1e-9, abs=1e-12
    )
    assert (ours.predict(rows.astype(str)) == peer.predict(rows)).all()


def test_mixed_columns_are_the_product_of_both():
    rng = np.random.default_rng(1)
    y = np.arange(50) % 2
    numbers, codes = rng.normal(size=(50, 1)) + y[:, None], rng.integers(0, 3, (50, 2))
    mixed = pl.DataFrame(
        {"a": codes[:, 0].astype(str), "b": numbers[:, 0], "c": codes[:, 1].astype(str)}
    )
    logs = (
        GaussianNB().fit(numbers, y).predict_joint_log_proba(numbers)
        + CategoricalNB().fit(codes, y).predict_joint_log_proba(codes)
        - np.log([0.5, 0.5])
    )
    expected = np.exp(logs) / np.exp(logs).sum(axis=1, keepdims=True)
    assert MixedNaiveBayes().fit(mixed, y).predict_proba(mixed) == pytest.approx(expected)


# ---- hard columns --------------------------------------------------------------------------------
def test_values_without_information_are_left_out():
    rng = np.random.default_rng(0)
    y = (np.arange(40) < 30).astype(int)
    train = pl.DataFrame(
        {
            "a": rng.normal(size=40) + y,
            "constant": [0.1] * 40,
            "b": rng.choice(["x", "y"], 40),
            "one level": ["u"] * 40,
            "nothing": pl.Series([None] * 40, dtype=pl.Float64),
        }
    )
    rows = pl.DataFrame(
        {
            "a": [0.3, None, 0.3, None],
            "constant": [0.1, 7.0, None, 1e9],
            "b": ["x", "x", "new", "new"],
            "one level": ["u", "v", None, "u"],
            "nothing": [1.0, 2.0, None, 4.0],
        }
    )
    probabilities = MixedNaiveBayes().fit(train, y).predict_proba(rows)
    informative = (
        MixedNaiveBayes().fit(train.select("a", "b"), y).predict_proba(rows.select("a", "b"))
    )
    assert probabilities == pytest.approx(informative)
    only_b = MixedNaiveBayes().fit(train.select("b"), y).predict_proba(rows[1].select("b"))
    only_a = MixedNaiveBayes().fit(train.select("a"), y).predict_proba(rows[2].select("a"))
    assert probabilities[1:3] == pytest.approx(np.vstack([only_b, only_a]))
    assert probabilities[3] == pytest.approx([0.25, 0.75])


def test_classes_with_one_value_or_none():
    X = np.array([[0.0], [2.0], [4.0], [9.0], [np.nan]])
    y = [0, 0, 0, 1, 2]
    rows = np.array([[1.0], [9.0], [100.0]])
    known = X[:4, 0]
    own = [(2.0, known[:3].var()), (9.0, known.var()), (known.mean(), known.var())]
    priors = [0.6, 0.2, 0.2]
    for x, probabilities in zip(
        rows[:, 0], MixedNaiveBayes().fit(X, y).predict_proba(rows), strict=True
    ):
        logs = [
            math.log(prior) - (x - mean) ** 2 / (2 * var) - math.log(var) / 2
            for prior, (mean, var) in zip(priors, own, strict=True)
        ]
        assert probabilities == pytest.approx(normalise(logs), rel=1e-6, abs=1e-9)
    lonely = MixedNaiveBayes().fit([[1.0, 5.0], [2.0, 5.0]], ["a", "b"])
    assert lonely.predict([[1.1, 5.0], [1.9, 5.0], [1.5, 0.0]]).tolist() == ["a", "b", "a"]
    text = MixedNaiveBayes().fit([["u"], ["u"], ["v"], [None]], [0, 0, 1, 2])
    assert text.predict_proba([["u"]])[0] == pytest.approx(
        normalise(np.log([0.5 * 3 / 4, 0.25 / 3, 0.25 / 2]).tolist())
    )


def test_far_values_have_probabilities_all_the_same():
    X = np.array([[0.0], [1e-100], [0.5], [1.0]])
    bayes = MixedNaiveBayes().fit(X, [0, 0, 1, 1])
    probabilities = bayes.predict_proba([[1e150], [-1e150], [1e12]])
    assert np.isfinite(probabilities).all()
    assert probabilities.sum(axis=1) == pytest.approx(1.0)
    small = MixedNaiveBayes().fit(X * 1e-140, [0, 0, 1, 1])
    assert small.predict(X * 1e-140).tolist() == [0, 0, 1, 1]
    assert np.isfinite(small.predict_log_proba([[1e150]])).all()


def test_equally_likely_classes_are_all_winners():
    X = [["u"], ["u"], ["v"], ["w"]]
    bayes = MixedNaiveBayes().fit(X, ["b", "a", "b", "a"])
    assert bayes.winners([["u"], ["v"], ["w"], ["x"]]).tolist() == [[1, 1], [0, 1], [1, 0], [1, 1]]
    assert bayes.predict([["u"], ["v"], ["w"], ["x"]]).tolist() == ["a", "b", "a", "a"]


# ---- tables --------------------------------------------------------------------------------------
def test_frames_of_all_libraries_agree():
    table, y = patients()
    schema = {"categorical": ["site"]}
    expected = MixedNaiveBayes(schema=schema).fit(table[:40], y[:40]).predict_proba(table[40:])
    for train, rows in (
        (table[:40].to_pandas(), table[40:].to_pandas()),
        (table[:40].to_arrow(), table[40:].to_arrow()),
        (table[:40], table[40:].with_columns(pl.col("site").cast(pl.Float64))),
        (table[:40].with_columns(pl.col("stage").cast(pl.Categorical)), table[40:]),
    ):
        probabilities = MixedNaiveBayes(schema=schema).fit(train, y[:40]).predict_proba(rows)
        assert (probabilities == expected).all()


def test_ordinal_levels_are_ranks():
    frame = pl.DataFrame({"grade": ["low", "mid", "high", "mid", "low", "high"]})
    y = [0, 0, 1, 1, 0, 1]
    schema = {"ordinal": {"grade": ["low", "mid", "high"]}}
    ranks = np.array([[0.0], [1], [2], [1], [0], [2]])
    probabilities = MixedNaiveBayes(schema=schema).fit(frame, y).predict_proba(frame)
    assert probabilities == pytest.approx(MixedNaiveBayes().fit(ranks, y).predict_proba(ranks))


def test_lists_sparse_tables_and_pickles():
    rng = np.random.default_rng(0)
    X = np.where(rng.random((40, 5)) < 0.5, rng.normal(size=(40, 5)), 0.0)
    y = np.arange(40) % 2
    expected = MixedNaiveBayes().fit(X, y).predict(X).tolist()
    assert MixedNaiveBayes().fit(X.tolist(), y.tolist()).predict(X.tolist()).tolist() == expected
    sparse = scipy.sparse.csr_array(X)
    assert MixedNaiveBayes().fit(sparse, y).predict(sparse).tolist() == expected
    copy = pickle.loads(pickle.dumps(MixedNaiveBayes().fit(X, y)))
    assert copy.predict(X).tolist() == expected
    before = X.copy()
    MixedNaiveBayes().fit(np.asfortranarray(X), y).predict(np.asfortranarray(X))
    assert (before == X).all()


# ---- the path ------------------------------------------------------------------------------------
@given(mixed_problems(most_classes=4), PARAMETERS)
def test_path_is_a_fit_at_every_size(problem, parameters):
    train, y, rows = problem
    X, other = frames(train, rows)
    assert_path_is_fits(MixedNaiveBayes(**parameters), X, y, other, range(1, X.width + 1))


def test_path_of_mixed_and_wide_tables():
    table, y = patients()
    schema = {"categorical": [2]}
    learner = MixedNaiveBayes(schema=schema, priors=[0.2, 0.3, 0.5])
    assert_path_is_fits(learner, table[:40], y[:40], table[40:], [3, 4, 5])
    X = np.random.default_rng(0).normal(size=(90, 300)) + 0.3 * (np.arange(90) % 3)[:, None]
    assert_path_is_fits(MixedNaiveBayes(), X[:50], np.arange(50) % 3, X[50:], [1, 2, 16, 300])


# ---- mistakes ------------------------------------------------------------------------------------
@pytest.mark.parametrize("sizes", [[], [0, 1], [2, 1], [1, 1], [4], [1.5]])
def test_sizes_that_make_no_sense(sizes):
    with pytest.raises(ParameterError, match="from 1 to 3, ascending"):
        MixedNaiveBayes().predict_path(np.eye(3), [0, 1, 1], np.eye(3), sizes)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"smoothing": 0}, "smoothing=0: give a finite number above 0"),
        ({"smoothing": True}, "smoothing=True"),
        ({"var_smoothing": -1.0}, "var_smoothing=-1.0"),
        ({"var_smoothing": np.inf}, "var_smoothing=inf"),
        ({"var_smoothing": "1"}, "var_smoothing='1'"),
        ({"priors": [0.5, 0.4]}, "give 2 positive numbers that sum to 1"),
        ({"priors": [1.0, 0.0]}, "positive"),
        ({"priors": [0.2, 0.3, 0.5]}, "give 2"),
        ({"priors": ["a", "b"]}, "priors="),
        ({"priors": [0.5, None]}, "priors="),
    ],
)
def test_parameters_that_make_no_sense(parameters, word):
    for call in (
        lambda learner: learner.fit(np.eye(3), [0, 1, 1]),
        lambda learner: learner.predict_path(np.eye(3), [0, 1, 1], np.eye(3), [1]),
    ):
        with pytest.raises(ParameterError, match=word):
            call(MixedNaiveBayes(**parameters))


def test_targets_and_tables_that_make_no_sense():
    with pytest.raises(DataError, match="one class only"):
        MixedNaiveBayes().fit(np.eye(3), [1, 1, 1])
    with pytest.raises(ParameterError, match="requires y"):
        MixedNaiveBayes().fit(np.eye(3), None)
    with pytest.raises(NotFittedError):
        MixedNaiveBayes().predict_log_proba(np.eye(3))
    with pytest.raises(DataError, match="'x1' has an infinite value"):
        MixedNaiveBayes().fit([[0.0, np.inf], [1.0, 2.0]], [0, 1])
    with pytest.raises(ValueError, match="MixedNaiveBayes is expecting 3 features"):
        MixedNaiveBayes().fit(np.eye(3), [0, 1, 1]).predict(np.eye(2))


@parametrize_with_checks([MixedNaiveBayes(), MixedNaiveBayes(smoothing=0.1, var_smoothing=0.01)])
def test_scikit_learn(estimator, check):
    check(estimator)
