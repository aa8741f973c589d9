"""Decodings agree with the definition, with votes and with scikit-learn; ties go to the first."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from featly.basics.errors import DataError, ParameterError
from featly.combine import decoding
from featly.combine.decoding import (
    DECODINGS,
    DecodedClassifier,
    _has_shared_generator,
    code_matrix,
    decode,
)
from featly.learners import HEOMNeighbors, LinearSVM, MixedNaiveBayes
from featly.learners.one_vs_one import votes
from tests.reference import decoding as naive

PROBABILITIES = ("sum", "sum-threshold", "probability-sum")
LOSSES = {"hinge": naive.hinge, "logistic": naive.logistic, "exponential": naive.exponential}


@st.composite
def codes(draw):
    """A code matrix that can be used: pairs, one against the rest, or any."""
    n_classes = draw(st.integers(2, 5))
    kind = draw(st.sampled_from(["ovo", "ova", "any"]))
    if kind != "any":
        return code_matrix(kind, n_classes)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    every = code_matrix("ovo", n_classes)  # tells all classes apart
    extra = rng.integers(-1, 2, (3, n_classes))
    usable = [row for row in extra if {1, -1} <= set(row.tolist())]
    return rng.permutation(np.vstack([every, *usable]))


@st.composite
def decoding_problems(draw, unit=10):
    """A code and answers on a coarse grid, as fractions: many ties."""
    code = draw(codes())
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    margins = rng.integers(-2 * unit, 2 * unit + 1, (6, len(code)))
    chances = rng.integers(0, unit + 1, (6, len(code)))
    return (
        code,
        [[Fraction(int(v), unit) for v in row] for row in margins],
        [[Fraction(int(v), unit) for v in row] for row in chances],
    )


def floats(rows):
    return np.array([[float(v) for v in row] for row in rows])


def is_every_class_alone(code):
    """Return whether each class is somewhere alone on its side."""
    return all(
        any(row[y] and (row == row[y]).sum() == 1 for row in code) for y in range(code.shape[1])
    )


def assert_scores(scores, expected):
    """Assert the same scores, and the same winners where the definition has exact ties."""
    assert scores == pytest.approx(floats(expected), rel=1e-9, abs=1e-9)
    assert scores.argmax(axis=1).tolist() == [naive.winner(row) for row in expected]


# ---- the definition ------------------------------------------------------------------------------
def test_code_matrices():
    for n_classes in range(2, 7):
        assert code_matrix("ovo", n_classes).tolist() == naive.pairs(n_classes)
        assert code_matrix("ova", n_classes).tolist() == naive.against_rest(n_classes)


@given(decoding_problems())
def test_hamming(problem):
    code, margins, chances = problem
    assert_scores(
        decode(floats(margins), code), [naive.hamming(row, code.tolist()) for row in margins]
    )
    for threshold in (Fraction(1, 2), Fraction(7, 10)):
        answers = [naive.answers(row, threshold) for row in chances]
        scores = decode(floats(chances), code, threshold=float(threshold))
        assert_scores(scores, [naive.hamming(row, code.tolist()) for row in answers])


@given(decoding_problems())
def test_losses(problem):
    code, margins, _ = problem
    for function in (naive.hinge, naive.squared_loss):
        rule = "hinge" if function is naive.hinge else lambda z: (1 - z) ** 2
        scores = decode(floats(margins), code, decoding="loss", loss=rule)
        assert_scores(scores, [naive.loss(row, code.tolist(), function) for row in margins])
    for name in ("logistic", "exponential"):
        scores = decode(floats(margins), code, decoding="loss", loss=name)
        expected = np.array(
            [naive.loss([float(v) for v in row], code.tolist(), LOSSES[name]) for row in margins]
        )
        shown = -np.log(-expected) if name == "exponential" else expected
        assert scores == pytest.approx(shown, rel=1e-9, abs=1e-9)
    assert (
        decode(floats(margins), code, decoding="loss")
        == decode(floats(margins), code, decoding="loss", loss="hinge")
    ).all()


@given(decoding_problems(), st.sampled_from([None, 0, 3, 5, 7, 9]))
def test_sums_of_probabilities(problem, tenths):
    code, _, chances = problem
    plain = code.tolist()
    assert_scores(
        decode(floats(chances), code, decoding="sum"), [naive.sums(r, plain) for r in chances]
    )
    threshold = None if tenths is None else tenths / 10
    sigma = Fraction(1, 2) if tenths is None else Fraction(tenths, 10)
    scores = decode(floats(chances), code, decoding="sum-threshold", threshold=threshold)
    assert_scores(scores, [naive.sums(row, plain, sigma) for row in chances])
    if not is_every_class_alone(code):
        with pytest.raises(ParameterError, match="alone from others"):
            decode(floats(chances), code, decoding="probability-sum")
        return
    scores = decode(floats(chances), code, decoding="probability-sum", threshold=threshold)
    assert_scores(scores, [naive.sums(row, plain, sigma, alone=True) for row in chances])


def test_thresholds_are_met_exactly():
    code = code_matrix("ovo", 2)
    p = np.array([[0.7], [0.3], [0.1 + 0.2]])  # the last is a little above 0.3
    silent = decode(p, code, decoding="sum-threshold", threshold=0.7)
    assert silent == pytest.approx(np.array([[0.7, 0.3], [0.3, 0.7], [0.3, 0.7]])), "none is above"
    assert 0.1 * 7 > 0.7
    for almost in (0.1 * 7, 1 - 0.1 * 7):
        assert decode([[almost]], code, threshold=0.7).tolist() == [[-0.5, -0.5]]
    clear = decode(p, code, decoding="sum-threshold", threshold=0.3)
    assert clear == pytest.approx(np.array([[0.7, 0.0], [0.0, 0.7], [0.0, 0.7]]))


# ---- identities ----------------------------------------------------------------------------------
@given(decoding_problems(), st.randoms(use_true_random=False), st.sampled_from(DECODINGS))
def test_the_signs_and_the_order_of_problems_and_of_classes_do_not_matter(problem, random, rule):
    code, margins, chances = problem
    if rule == "probability-sum" and not is_every_class_alone(code):
        return
    outputs = floats(chances if rule in PROBABILITIES else margins)
    for loss in LOSSES if rule == "loss" else [None]:
        expected = decode(outputs, code, decoding=rule, loss=loss)
        signs = np.array([random.choice([1, -1]) for _ in code])
        flipped = 1 - outputs if rule in PROBABILITIES else -outputs
        turned = np.where(signs > 0, outputs, flipped)
        scores = decode(turned, code * signs[:, None], decoding=rule, loss=loss)
        assert scores == pytest.approx(expected)
        assert (scores.argmax(axis=1) == expected.argmax(axis=1)).all()
        rows = random.sample(range(len(code)), len(code))
        scores = decode(outputs[:, rows], code[rows], decoding=rule, loss=loss)
        assert scores == pytest.approx(expected)
        assert (scores.argmax(axis=1) == expected.argmax(axis=1)).all()
        columns = random.sample(range(code.shape[1]), code.shape[1])
        scores = decode(outputs, code[:, columns], decoding=rule, loss=loss)
        assert scores == pytest.approx(expected[:, columns])
        best = expected == expected.max(axis=1, keepdims=True)
        assert ((scores == scores.max(axis=1, keepdims=True)) == best[:, columns]).all()


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_pairs_by_hamming_are_votes(seed, n_classes):
    code = code_matrix("ovo", n_classes)
    margins = np.random.default_rng(seed).normal(size=(20, len(code)))
    won = np.round(votes(-margins, n_classes))  # whose margins are positive for the second
    lost = n_classes - 1 - won
    other_problems = len(code) - (n_classes - 1)
    assert (decode(margins, code) == -(lost + other_problems / 2)).all()


@given(st.integers(0, 10_000), st.integers(3, 6))
def test_one_against_the_rest_takes_the_largest_margin_and_probability(seed, n_classes):
    # the total loss of y is a constant plus L(h_y) - L(-h_y), which falls strictly in h_y
    code = code_matrix("ova", n_classes)
    margins = 3 * np.random.default_rng(seed).normal(size=(20, n_classes))
    for loss in ("hinge", "exponential", "logistic", lambda z: (1 - z) ** 2, lambda z: -z):
        scores = decode(margins, code, decoding="loss", loss=loss)
        assert (scores.argmax(axis=1) == margins.argmax(axis=1)).all()
    p = np.random.default_rng(seed).random((20, n_classes)) ** 2
    for rule in PROBABILITIES:
        assert (decode(p, code, decoding=rule).argmax(axis=1) == p.argmax(axis=1)).all()


def test_a_loss_that_does_not_fall_strictly_need_not_take_the_largest_margin():
    scores = decode(
        [[1.0, 2.0, -1.0]], code_matrix("ova", 3), decoding="loss", loss=lambda z: z < 0
    )
    assert scores[0, 0] == scores[0, 1] > scores[0, 2]


@given(decoding_problems())
def test_hinge_of_probabilities_decides_as_their_sum(problem):
    code, _, chances = problem
    p = floats(chances)
    if len({int((row == 0).sum()) for row in code.T}) > 1:
        return  # a class that is ignored more often adds up fewer probabilities
    hinge = decode(2 * p - 1, code, decoding="loss", loss="hinge")
    assert (hinge.argmax(axis=1) == decode(p, code, decoding="sum").argmax(axis=1)).all()


@given(decoding_problems())
def test_thresholds_between_none_and_all(problem):
    code, _, chances = problem
    p = floats(chances)
    plain = decode(p, code, decoding="sum")
    assert (decode(p, code, decoding="sum-threshold", threshold=0.0) == plain).all()
    silent = (np.maximum(p, 1 - p) <= 0.95).all(axis=1)
    high = decode(p, code, decoding="sum-threshold", threshold=0.95)
    assert (high[silent] == plain[silent]).all()


def test_ties_are_not_decided_by_rounding():
    code = np.repeat([[1, -1, -1], [-1, 1, -1]], 3, axis=0)
    p = np.array([[0.1, 0.2, 0.3, 0.3, 0.2, 0.1]]) + 0.4  # the same sums in another order
    backwards = np.array([2, 0, 1, 5, 3, 4])
    for order in (range(6), backwards):
        for rule, option in (("sum", {}), ("sum-threshold", {"threshold": 0.05})):
            scores = decode(p[:, order], code[order], decoding=rule, **option)
            assert scores[0, 0] == scores[0, 1] > scores[0, 2]
    huge = decode([[1e3, 1e3, 1e3]], code_matrix("ova", 3), decoding="loss", loss="exponential")
    assert np.isfinite(huge).all()
    assert len(set(huge[0])) == 1
    far = decode(
        [[-900.0, -800.0, -1e3]], code_matrix("ova", 3), decoding="loss", loss="exponential"
    )
    assert far.argmax() == 1


# ---- other programs ------------------------------------------------------------------------------
def blobs(n_classes=4, seed=0):
    return make_blobs(120, 5, centers=n_classes, cluster_std=9.0, random_state=seed)


def test_pairs_against_scikit_learn():
    X, y = blobs()
    ours = DecodedClassifier(SVC(kernel="linear"), code="ovo").fit(X, y)
    scores = ours.decision_function(X)
    clear = (scores == scores.max(axis=1, keepdims=True)).sum(axis=1) == 1
    assert 0.8 < clear.mean() < 1
    for peer in (OneVsOneClassifier(SVC(kernel="linear")), SVC(kernel="linear")):
        predictions = peer.fit(X, y).predict(X)
        assert (predictions == ours.predict(X))[clear].all()
    own = LinearSVM(standardize=False).fit(X, y).predict(X)
    assert (own == ours.predict(X))[clear].mean() > 0.99  # machines of two programs


@pytest.mark.parametrize("loss", ["hinge", "exponential", "logistic"])
def test_one_against_the_rest_against_scikit_learn(loss):
    X, y = blobs()
    learner = SVC(kernel="linear")
    ours = DecodedClassifier(learner, code="ova", decoding="loss", loss=loss).fit(X, y)
    peer = OneVsRestClassifier(learner).fit(X, y)
    assert (ours.predict(X) == peer.predict(X)).all()
    chances = DecodedClassifier(GaussianNB(), code="ova", decoding="sum").fit(X, y)
    assert (chances.predict(X) == OneVsRestClassifier(GaussianNB()).fit(X, y).predict(X)).all()


def test_output_codes_against_scikit_learn():
    X, y = blobs(6)
    learner = SVC(kernel="linear")
    peer = OutputCodeClassifier(learner, code_size=2, random_state=3).fit(X, y)
    code = peer.code_book_.T
    ours = DecodedClassifier(
        learner,
        code=code,
        decoding="loss",
        loss=lambda z: (1 - z) ** 2,  # Euclidean distance
    ).fit(X, y)
    assert (ours.predict(X) == peer.predict(X)).all()
    assert (ours.code_ == code).all()


# ---- the classifier ------------------------------------------------------------------------------
def test_estimators_learn_their_problems_and_no_other_rows():
    X, y = load_iris(return_X_y=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    code = [[1, 1, -1], [1, -1, 0]]
    model = DecodedClassifier(GaussianNB(), code=code, decoding="sum").fit(X, labels)
    assert model.problems_ == ["rest vs virginica", "setosa vs versicolor"]
    first = GaussianNB().fit(X, y < 2)
    second = GaussianNB().fit(X[y < 2], y[y < 2] == 0)
    p = np.column_stack([m.predict_proba(X)[:, 1] for m in (first, second)])
    assert (model.decision_function(X) == decode(p, code, decoding="sum")).all()
    assert [m.class_count_.sum() for m in model.estimators_] == [150, 100]
    assert model.n_features_in_ == 4
    four = np.arange(150) % 4
    named = DecodedClassifier(GaussianNB(), code=[[1, -1, 1, -1], [1, 1, -1, 0], [1, -1, -1, -1]])
    assert named.fit(X, four).problems_ == ["0, 2 vs 1, 3", "0, 1 vs 2", "0 vs rest"]


class Margins(ClassifierMixin, BaseEstimator):
    """A classifier whose margin is the first column, whatever it learnt."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]

    def predict(self, X):
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


class Bare(ClassifierMixin, BaseEstimator):
    """A classifier with predict alone."""

    def fit(self, X, y):
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X)


@pytest.mark.parametrize("code", ["ovo", "ova"])
def test_two_classes(code):
    model = DecodedClassifier(Margins(), code=code).fit([[1.0], [2.0]], ["no", "yes"])
    assert model.problems_ == ["no vs yes"]
    assert model.decision_function([[3.0], [-3.0], [0.0]]).tolist() == [-1.0, 1.0, 0.0]
    assert model.predict([[3.0], [-3.0], [0.0]]).tolist() == ["no", "yes", "no"]
    model.set_params(decoding="loss").fit([[1.0], [2.0]], ["no", "yes"])
    assert model.decision_function([[0.5], [-0.25]]).tolist() == [-1.0, 0.5]
    for rule in PROBABILITIES:
        bayes = DecodedClassifier(GaussianNB(), code=code, decoding=rule)
        predictions = bayes.fit(*(Xy := blobs(2))).predict(Xy[0])
        assert (predictions == GaussianNB().fit(*Xy).predict(Xy[0])).all()


def test_margins_where_a_learner_has_probabilities_or_decisions_only():
    X, y = blobs()
    bayes = DecodedClassifier(GaussianNB(), decoding="loss").fit(X, y)
    p = np.column_stack([m.predict_proba(X)[:, 1] for m in bayes.estimators_])
    expected = decode(2 * p - 1, bayes.code_, decoding="loss", loss="hinge")
    assert (bayes.decision_function(X) == expected).all()
    bare = DecodedClassifier(Bare()).fit(X, y)
    assert (
        bare.decision_function(X) == DecodedClassifier(GaussianNB()).fit(X, y).decision_function(X)
    ).all()
    with pytest.raises(ParameterError, match="Bare gives neither margins"):
        DecodedClassifier(Bare(), decoding="loss").fit(X, y)
    piped = make_pipeline(StandardScaler(), Bare())
    for learner in (Bare(), piped):
        for rule in PROBABILITIES:
            with pytest.raises(ParameterError, match=f"Bare gives no prob.*'{rule}' needs.*Calibr"):
                DecodedClassifier(learner, decoding=rule).fit(X, y)
        with pytest.raises(ParameterError, match="leave out the threshold"):
            DecodedClassifier(learner, threshold=0.6).fit(X, y)


def make_mixed_columns(n_rows=60):
    rng = np.random.default_rng(0)
    y = np.arange(n_rows) % 3
    names = np.array(["alpha", "beta", "gamma"])
    columns = {
        "age": (rng.normal(size=n_rows) + y).tolist(),
        "stage": names[(y + rng.integers(0, 2, n_rows)) % 3].tolist(),
        "dose": [
            None if v < 0.1 else float(v + k) for v, k in zip(rng.random(n_rows), y, strict=True)
        ],
    }
    return columns, names[y]


@pytest.mark.parametrize("learner", [LinearSVM(), MixedNaiveBayes(), HEOMNeighbors()])
def test_frames_reach_the_learner_as_frames(learner):
    columns, y = make_mixed_columns()
    rule = "hamming" if isinstance(learner, LinearSVM) else "sum"
    frames = [pl.DataFrame(columns), pd.DataFrame(columns), pa.table(columns)]
    frames.append(pd.DataFrame(columns, index=np.arange(60) % 7).astype({"stage": "category"}))
    decisions = []
    for X in frames:
        model = DecodedClassifier(learner, decoding=rule).fit(X, y)
        assert model.feature_names_in_.tolist() == list(columns)
        decisions.append(model.decision_function(X))
        assert (model.predict(X) == y).mean() > 0.6
    for decision in decisions[1:]:
        assert decision == pytest.approx(decisions[0])
    with pytest.raises(ValueError, match="feature names"):
        model.predict(pd.DataFrame(columns).rename(columns={"age": "years"}))


def test_other_tables():
    X, y = blobs()
    dense = DecodedClassifier(LinearSVM()).fit(X, y)
    for table in (X.tolist(), scipy.sparse.csc_matrix(X), scipy.sparse.coo_array(X)):
        model = DecodedClassifier(LinearSVM()).fit(table, y)
        assert (model.predict(table) == dense.predict(X)).all()
    columns, labels = make_mixed_columns()
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    listed = DecodedClassifier(MixedNaiveBayes()).fit(rows, labels)
    framed = DecodedClassifier(MixedNaiveBayes()).fit(pl.DataFrame(columns), labels)
    assert (listed.predict(rows) == framed.predict(pl.DataFrame(columns))).all()
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        DecodedClassifier(GaussianNB()).fit(scipy.sparse.csr_matrix(X), y)
    with pytest.raises(DataError, match="LazyFrame"):
        dense.fit(pl.DataFrame(columns).lazy(), labels)


def test_classes_of_one_row_and_one_class_a_row():
    X = np.array([[0.0, 0], [4, 0], [0, 4], [9, 9]])
    model = DecodedClassifier(SVC(kernel="linear"), decoding="loss").fit(X, list("dacb"))
    assert model.predict(X).tolist() == list("dacb")
    assert len(model.estimators_) == 6
    tree = DecodedClassifier(DecisionTreeClassifier(random_state=0), code="ova", decoding="sum")
    assert tree.fit(X, [3, 1, 2, 1]).predict(X).tolist() == [3, 1, 2, 1]


@pytest.mark.parametrize(
    "learner",
    [
        LinearSVM(),
        HEOMNeighbors(n_jobs=2),  # whose threads must not wait for ours
        LinearSVC(random_state=0),
        DecisionTreeClassifier(random_state=np.random.RandomState(3)),
    ],
)
def test_threads_change_nothing(learner):
    X, y = blobs(5)
    alone, many = (
        DecodedClassifier(clone(learner), decoding="loss", n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    assert (alone.decision_function(X) == many.decision_function(X)).all()


def test_learners_that_share_a_generator_learn_one_by_one(monkeypatch):
    # two threads in liblinear draw from one another's numbers: weights then differ in the second
    # digit, but not in every run, so that a comparison would not always see it
    shared = [
        LinearSVC(),
        make_pipeline(StandardScaler(), LinearSVC()),
        LogisticRegression(solver="liblinear"),
        OneVsRestClassifier(LinearSVC()),
        SVC(probability=True),
    ]
    assert all(_has_shared_generator(learner) for learner in shared)
    own = [SVC(), LogisticRegression(), LinearSVM(), make_pipeline(StandardScaler(), GaussianNB())]
    assert not any(_has_shared_generator(learner) for learner in own)
    threads = []
    real = decoding.Parallel

    def record_threads(n_jobs, **options):
        threads.append(n_jobs)
        return real(n_jobs=n_jobs, **options)

    monkeypatch.setattr(decoding, "Parallel", record_threads)
    for learner in (LinearSVC(random_state=0), LinearSVM()):
        DecodedClassifier(learner, n_jobs=2).fit(*blobs())
    assert threads == [1, 2]


def test_relabelled_classes():
    X, y = blobs()
    names = np.array(["d", "b", "a", "c"])
    for rule in ("hamming", "loss", "sum-threshold"):
        plain = DecodedClassifier(GaussianNB(), decoding=rule).fit(X, y)
        named = DecodedClassifier(GaussianNB(), decoding=rule).fit(X, names[y])
        scores = named.decision_function(X)[:, np.argsort(np.argsort(names))]
        assert scores == pytest.approx(plain.decision_function(X))


def test_pickles_and_errors_before_fit():
    X, y = blobs()
    model = DecodedClassifier(LinearSVM(), code=code_matrix("ova", 4), decoding="loss")
    with pytest.raises(NotFittedError):
        model.predict(X)
    copy = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    assert (copy.predict(X) == model.fit(X, y).predict(X)).all()


@pytest.mark.parametrize("code", ["ovo", "ova"])
def test_another_decoding_needs_no_other_fit(code):
    """Also: what decode makes of the probabilities is what the classifier predicts."""
    X, y = blobs()
    model = DecodedClassifier(GaussianNB(), code=code).fit(X, y)
    learnt = model.estimators_
    p = np.column_stack([estimator.predict_proba(X)[:, 1] for estimator in learnt])
    for rule in DECODINGS:
        model.set_params(decoding=rule)
        fresh = DecodedClassifier(GaussianNB(), code=code, decoding=rule).fit(X, y)
        assert np.array_equal(model.decision_function(X), fresh.decision_function(X))
        outputs = 2 * p - 1 if rule in ("hamming", "loss") else p
        scores = decode(outputs, model.code_, decoding=rule)
        assert np.array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    model.set_params(decoding="loss", loss="logistic").predict(X)
    assert model.estimators_ is learnt


def test_another_decoding_is_checked_when_it_is_used():
    X, y = blobs()
    bare = DecodedClassifier(Bare()).fit(X, y).set_params(decoding="sum")
    with pytest.raises(ParameterError, match="Bare gives no probabilities"):
        bare.predict(X)
    model = DecodedClassifier(GaussianNB(), code=[[1, 1, -1, -1], [1, -1, 1, -1]])
    model.fit(X, np.array(list("abcd"))[y])
    with pytest.raises(ParameterError, match="class 'a' alone from others"):
        model.set_params(decoding="probability-sum").predict(X)
    with pytest.raises(ParameterError, match="loss='hinge' has no meaning with decoding='sum'"):
        model.set_params(decoding="sum", loss="hinge").predict(X)


# ---- wrong input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("one", "code='one': give 'ovo'"),
        ([[1, -1]], "2 columns, but there are 3 classes"),
        ([1, -1, 0], r"shape \(3,\)"),
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
        ([[1, 2, -1]], "row 0, column 1 is 2: give"),
        ([[1, -1, np.nan]], "row 0, column 2 is nan"),
        ([[1, -1, 0], [1, 0, 1]], "row 1 has no -1"),
        ([[-1, -1, 0]], r"row 0 has no \+1"),
        ([[1, -1, -1]], "'b' and 'c' can never be told apart"),
        ([[1, -1, 0]], "'c' is in no problem"),
        ([["x", "y", "z"]], "no matrix of numbers"),
    ],
)
def test_wrong_codes(code, words):
    X, y = np.eye(3), ["a", "b", "c"]
    with pytest.raises(ParameterError, match=words) as caught:
        DecodedClassifier(LinearSVM(), code=code).fit(X, y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"decoding": "vote"}, "decoding='vote': give 'hamming', 'loss'"),
        ({"decoding": "loss", "loss": "huber"}, "loss='huber': give 'hinge', 'exp"),
        ({"loss": "hinge"}, "no meaning with decoding='hamming'"),
        ({"decoding": "sum", "threshold": 0.7}, "no meaning with decoding='sum'"),
        ({"decoding": "sum-threshold", "threshold": 1.0}, "from 0 to below 1"),
        ({"threshold": 0.4}, "from 0.5 to below 1"),
        ({"threshold": True}, "threshold=True"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"estimator": GaussianNB}, "give a classifier"),
        ({"estimator": LinearRegression()}, "give a classifier"),
        ({"estimator": None}, "give a classifier"),
        ({"decoding": "loss", "loss": lambda z: 1.0}, "array of finite numbers"),
        (
            {"decoding": "probability-sum", "code": [[1, 1, -1, -1], [1, -1, 1, -1]]},
            "alone from others",
        ),
    ],
)
def test_wrong_parameters(parameters, words):
    X, y = np.eye(4), list("abcd")
    model = DecodedClassifier(GaussianNB()).set_params(**parameters)
    with pytest.raises(ParameterError, match=words) as caught:
        model.fit(X, y).predict(X)
    assert "\n" not in str(caught.value)


def test_wrong_answers():
    code = code_matrix("ovo", 3)
    for outputs, rule, words in [
        ([[1.0, 2.0]], "hamming", "3 columns"),
        ([[1.0, np.nan, 0.0]], "hamming", "row 0, problem 1 is nan"),
        ([[1.0, 1.0, np.inf]], "loss", "problem 2 is inf"),
        ([[0.5, 1.5, 0.0]], "sum", "problem 1 is 1.5: a probability"),
    ]:
        with pytest.raises(DataError, match=words):
            decode(outputs, code, decoding=rule)
    with pytest.raises(ParameterError, match="n_classes=1"):
        code_matrix("ovo", 1)
    with pytest.raises(DataError, match=r"in the rows of a vs [bc]: column 'x1' has an inf"):
        DecodedClassifier(LinearSVM()).fit([[0.0, np.inf], [1.0, 2.0], [3.0, 4.0]], ["a", "b", "c"])
    with pytest.raises(DataError, match="one class only"):
        DecodedClassifier(LinearSVM()).fit(np.eye(2), [1, 1])


@parametrize_with_checks(
    [
        DecodedClassifier(LinearSVM()),
        DecodedClassifier(LogisticRegression(), code="ova", decoding="loss", loss="logistic"),
        DecodedClassifier(MixedNaiveBayes(), code="ova", decoding="probability-sum"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)
