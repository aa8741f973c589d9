"""Scores equal those of learners trained anew on every fold; searches, their references."""

import pickle

import joblib
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from featly.basics.errors import DataError, ParameterError, SchemaError
from featly.filters.univariate_test import UnivariateTest
from featly.learners import Encoder, LinearSVM, MixedNaiveBayes, make_learner
from featly.problem.ingest import read
from featly.problem.problem import Problem
from featly.problem.target import Classes
from featly.table.schema import Schema
from featly.wrappers import inner_folds
from featly.wrappers.inner_folds import BayesTrials, FittedTrials, deal
from featly.wrappers.wrapper import Wrapper
from tests.reference import search as naive


@st.composite
def tables(draw, mixed=True):
    """A frame and classes: ties, missing values, constant columns, rare levels, single rows."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    n = draw(st.integers(6, 24))
    y = rng.integers(0, draw(st.integers(2, 3)), n)
    y[:4] = 0, 1, 0, 1
    columns = {}
    for j in range(draw(st.integers(2, 4))):
        noise = rng.integers(-2, 3, n) if rng.random() < 0.5 else rng.normal(size=n)
        columns[f"number {j}"] = (noise + rng.choice([0.0, 1.0, 2.0]) * y).astype(float)
    if rng.random() < 0.3:
        columns["constant"] = np.full(n, 0.1)
    frame = pl.DataFrame(columns)
    if mixed:
        for j in range(draw(st.integers(1, 2))):
            level = np.where(rng.random(n) < 0.5, y, rng.integers(0, 4, n))
            frame = frame.with_columns(pl.Series(f"level {j}", np.array(list("abcd"))[level]))
        if draw(st.booleans()):
            frame = frame.with_columns(
                pl.when(pl.Series(rng.random(n) < 0.15)).then(None).otherwise(pl.col(c)).alias(c)
                for c in frame.columns
            )
    return frame.select(rng.permutation(frame.columns).tolist()), np.array(list("abc"))[y]


def train_and_score(learner, frame, y, fold, columns, scoring):
    """The score of some columns: a learner trained on a part of the frame, fold by fold."""
    right = {label: [] for label in np.unique(y)}
    part = frame.select(columns)
    if getattr(learner, "steps", [[None, None]])[0][1].__class__ is not Encoder:
        part = part if hasattr(learner, "winners") else part.to_numpy()
    for f in range(fold.max() + 1):
        train, test = np.flatnonzero(fold != f), np.flatnonzero(fold == f)
        teacher = part[train]
        if not hasattr(learner, "winners") and is_constant(learner, teacher):
            labels, counts = np.unique(y[train], return_counts=True)
            most = labels[counts == counts.max()]
            wins = dict.fromkeys(most, 1 / len(most))
            shares = [wins] * len(test)
        elif hasattr(learner, "winners"):
            fitted = learner.fit(teacher, y[train])
            shares = [
                {label: 1 / sum(row) for label in fitted.classes_[row]}
                for row in fitted.winners(part[test])
            ]
        else:
            shares = [{label: 1.0} for label in learner.fit(teacher, y[train]).predict(part[test])]
        for label, wins in zip(y[test], shares, strict=True):
            right[label].append(wins.get(label, 0.0))
    rights = [shares for shares in right.values() if shares]
    if scoring == "bcr":
        return float(np.mean([np.mean(shares) for shares in rights]))
    return float(np.mean(np.concatenate(rights)))


def is_constant(learner, rows):
    """Return whether no column of the training rows varies, as the learner's numbers see them."""
    numbers = learner.steps[0][1].fit_transform(rows) if hasattr(learner, "steps") else rows
    return bool((np.ptp(numbers, axis=0) == 0).all())


def reference_search(wrapper, learner, frame, y, fold):
    """Names, best score, by the naive searches over columns in the order of their tests."""
    ranked = [
        frame.columns[f]
        for f in UnivariateTest(continuous="welch", ordinal="welch").fit(frame, y).order_
    ]
    known = {}

    def merit(subset):
        if subset not in known:
            names = [ranked[k] for k in sorted(subset)]
            score = train_and_score(learner, frame, y, fold, names, wrapper.scoring)
            known[subset] = round(score, 10)  # equal rates tie, however they are added up
        return known[subset]

    p, count = len(ranked), wrapper.n_features_to_select
    if wrapper.search == "forward":
        chosen = naive.forward(p, merit, count=count)
    elif wrapper.search == "backward":
        chosen = naive.backward(p, merit, count=count)[-1]
    elif wrapper.search == "floating":
        chosen = naive.floating(p, merit, count)
    else:
        chosen = naive.best_first(p, merit)[0]
    return [ranked[k] for k in chosen], merit(frozenset(chosen))


# ---- the reference implementation ----------------------------------------------------------------
@given(
    table=tables(),
    search=st.sampled_from(["forward", "backward", "floating", "best-first"]),
    scoring=st.sampled_from(["accuracy", "bcr"]),
    count=st.integers(0, 3),
)
@settings(max_examples=15)
def test_naive_bayes_equals_the_reference(table, search, scoring, count):
    frame, y = table
    wanted = None if search == "best-first" or (count == 0 and search != "floating") else count or 2
    wrapper = Wrapper(search=search, scoring=scoring, n_features_to_select=wanted).fit(frame, y)
    names, score = reference_search(wrapper, MixedNaiveBayes(), frame, y, wrapper.fold_)
    chosen = [frame.columns[f] for f in wrapper.order_]
    assert chosen == names if search == "forward" else sorted(chosen) == sorted(names)
    assert wrapper.score_ == pytest.approx(score)


@pytest.mark.parametrize("name", ["1-nn", "naive-bayes"])
@given(table=tables(), search=st.sampled_from(["forward", "best-first"]))
@settings(max_examples=4)
def test_encoded_learners_equal_the_reference(name, table, search):
    frame, y = table
    wrapper = Wrapper(estimator=name, search=search, n_folds=3).fit(frame, y)
    names, score = reference_search(wrapper, make_learner(name), frame, y, wrapper.fold_)
    assert sorted(frame.columns[f] for f in wrapper.order_) == sorted(names)
    assert wrapper.score_ == pytest.approx(score)


@given(table=tables(mixed=False), search=st.sampled_from(["forward", "backward"]))
@settings(max_examples=6)
def test_a_classifier_gets_the_numbers_as_they_are(table, search):
    frame, y = table
    wrapper = Wrapper(estimator=GaussianNB(), search=search, n_folds=3).fit(frame, y)
    names, score = reference_search(wrapper, GaussianNB(), frame, y, wrapper.fold_)
    assert sorted(frame.columns[f] for f in wrapper.order_) == sorted(names)
    assert wrapper.score_ == pytest.approx(score)


@given(table=tables(), scoring=st.sampled_from(["accuracy", "bcr"]), data=st.data())
@settings(max_examples=25)
def test_sums_of_logarithms_equal_trainings(table, scoring, data):
    """Naive Bayes that adds up columns, and the same learner trained anew for every set."""
    frame, y = table
    reading = read_frame(frame)
    classes, codes = np.unique(y, return_inverse=True)
    problem = Problem(reading.source, reading.columns, Classes(codes, classes))
    fold = deal(codes, 3, 0)
    p = len(frame.columns)
    quick = BayesTrials(MixedNaiveBayes(), problem, fold, scoring, None)
    slow = FittedTrials(MixedNaiveBayes(), problem, fold, scoring, None, np.arange(p))
    columns = np.array(data.draw(st.permutations(range(p))))
    cut = data.draw(st.integers(0, p - 1))
    calls = []
    units = [np.array([c]) for c in columns[cut:]]
    for trials in (quick, slow):
        added = trials.with_each(columns[:cut], units, lambda *pair: calls.append(pair))
        removed = trials.without_each(columns, units, lambda *pair: None) if p > 1 else [0.0]
        if trials is quick:
            first = (added, removed, trials.score(columns))
        assert calls[-1] == (len(units), len(units))
    assert added == pytest.approx(first[0])
    assert removed == pytest.approx(first[1])
    assert slow.score(columns) == pytest.approx(first[2])


def read_frame(frame):
    from featly.table.frames import open_table

    return read(open_table(frame), Schema())


def test_a_huge_logarithm_does_not_cancel_others():
    """A logarithm of -1e30 is added and taken out again; a difference would leave 0."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 4)) + 0.8 * y[:, None]
    X[:, 0] = np.where(np.arange(40) == 3, 1e15, 0.0) + rng.normal(size=40)
    wrapper = Wrapper(search="backward", n_features_to_select=3).fit(X, y)
    fold, frame = wrapper.fold_, pl.DataFrame(X)
    names, score = reference_search(wrapper, MixedNaiveBayes(), frame, y, fold)
    assert sorted(frame.columns[f] for f in wrapper.order_) == sorted(names)
    assert wrapper.score_ == pytest.approx(score)


def test_cached_columns_equal_computed_ones(monkeypatch):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 12)), np.arange(30) % 2
    cached = Wrapper(search="floating").fit(X, y)
    monkeypatch.setattr(inner_folds, "CACHE_BYTES", 0)
    monkeypatch.setattr(inner_folds, "MOST_LOGARITHMS", 100)
    again = Wrapper(search="floating").fit(X, y)
    assert cached.path_ == again.path_


# ---- scikit-learn -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), KNeighborsClassifier(3)),
        make_pipeline(Encoder(), StandardScaler(), LogisticRegression()),
        DecisionTreeClassifier(random_state=3),
        LinearSVM(C=0.1),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_scores_equal_scikit_learn(estimator):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(36, 5)), np.array(["no", "yes", "no"])[np.arange(36) % 3]
    X[:, 2] += 2.0 * (y == "yes")
    wrapper = Wrapper(estimator=estimator, n_folds=3, n_features_to_select=2).fit(X, y)
    ranked = UnivariateTest(continuous="welch").fit(X, y).order_.tolist()
    columns = sorted(wrapper.order_.tolist(), key=ranked.index)
    predicted = cross_val_predict(estimator, X[:, columns], y, cv=PredefinedSplit(wrapper.fold_))
    assert wrapper.score_ == pytest.approx(np.mean(predicted == y))
    assert 2 in wrapper.order_
    assert wrapper.n_fits_ == (5 + 4) * 3


def test_no_set_is_trained_twice_and_seeds_are_set(monkeypatch):
    fits = []

    class CountingTree(DecisionTreeClassifier):
        def fit(self, X, y):
            fits.append((X.tobytes(), self.random_state))
            return super().fit(X, y)

    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(24, 5)), np.arange(24) % 2
    wrapper = Wrapper(estimator=CountingTree(), search="floating", n_folds=2, random_state=9).fit(
        X, y
    )
    assert len(fits) == len(set(fits)) == wrapper.n_fits_
    assert {seed for _, seed in fits} == {9}


def test_columns_come_in_the_order_of_their_tests():
    """Neither the order of the table nor that of the search changes what is trained."""
    seen = []

    class RecordingBayes(GaussianNB):
        def fit(self, X, y):
            seen.append(X[0].tolist())
            return super().fit(X, y)

    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(24, 4)), np.arange(24) % 2
    X[:, 2] += y
    Wrapper(estimator=RecordingBayes(), search="backward", n_features_to_select=1, n_folds=2).fit(
        X, y
    )
    ranked = UnivariateTest(continuous="welch").fit(X, y).order_.tolist()
    rank_of = {x: ranked.index(j) for row in X for j, x in enumerate(row)}
    for row in seen:
        assert [rank_of[x] for x in row] == sorted(rank_of[x] for x in row)


def test_columns_that_do_not_vary_leave_the_most_frequent_class():
    X, y = np.full((9, 2), 0.1), np.array([0, 0, 0, 0, 0, 0, 1, 1, 1])
    reading = read(X, Schema())
    problem = Problem(reading.source, reading.columns, Classes(y, np.array(["a", "b"])))
    for learner in (GaussianNB(), make_learner("naive-bayes")):
        trials = FittedTrials(learner, problem, deal(y, 3, 0), "accuracy", None, np.arange(2))
        assert trials.score(np.array([0, 1])) == pytest.approx(6 / 9)
    even = Problem(reading.source, reading.columns, Classes(np.arange(9) % 2, np.array(["a", "b"])))
    fold = np.array([0, 0, 0, 0, 1, 1, 1, 1, 1])  # two of each class teach the second fold
    trials = FittedTrials(GaussianNB(), even, fold, "accuracy", None, np.arange(2))
    assert trials.score(np.array([0])) == pytest.approx((2 + 2.5) / 9)


def test_processes_change_nothing(monkeypatch):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(30, 14)), np.arange(30) % 2
    X[:, 5] += y
    alone = Wrapper(estimator="1-nn", n_folds=2, n_jobs=1).fit(X, y)
    monkeypatch.setattr(inner_folds, "MOST_SECONDS", 0.0)
    monkeypatch.setattr(inner_folds, "CHUNK_SECONDS", 0.0)
    with joblib.parallel_config(backend="threading"):
        helped = Wrapper(estimator="1-nn", n_folds=2, n_jobs=2).fit(X, y)
    assert helped.path_ == alone.path_
    assert helped.n_fits_ == alone.n_fits_


def test_scores_survive_a_process():
    rng = np.random.default_rng(5)
    problem = Problem(
        (reading := read(rng.normal(size=(12, 3)), Schema())).source,
        reading.columns,
        Classes(np.arange(12) % 2, np.array(["a", "b"])),
    )
    fold = deal(problem.classes.codes, 2, 0)
    trials = FittedTrials(GaussianNB(), problem, fold, "accuracy", 2, np.arange(3))
    sets = [np.array([0]), np.array([2, 1])]
    copy = pickle.loads(pickle.dumps(trials))
    assert inner_folds._cross_validate(copy, sets) == [trials.score(c) for c in sets]


# ---- the schema ----------------------------------------------------------------------------------
@pytest.fixture
def groups():
    """Two columns that tell the classes apart together only, and one that does so a little."""
    rng = np.random.default_rng(6)
    y = np.arange(80) % 2
    first = rng.normal(size=80)
    frame = pl.DataFrame(
        {
            "noise": rng.normal(size=80),
            "minuend": 3 * first + y,
            "weak": rng.normal(size=80) + 0.7 * y,
            "subtrahend": 3 * first,
            "other": rng.normal(size=80),
        }
    )
    return frame, y


@pytest.mark.parametrize("search", ["forward", "backward", "floating", "best-first"])
def test_groups_are_added_and_removed_together(groups, search):
    frame, y = groups
    schema = {"column_groups": {"pair": ["minuend", "subtrahend"]}}
    wrapper = Wrapper(estimator="linear-svm", search=search, schema=schema, n_folds=3)
    wrapper.fit(frame, y)
    for columns, _ in wrapper.path_:
        assert (1 in columns) == (3 in columns)
    assert {1, 3} <= set(wrapper.order_.tolist())
    positions = [wrapper.order_.tolist().index(column) for column in (1, 3)]
    assert abs(positions[0] - positions[1]) == 1


def test_a_group_counts_as_one(groups):
    frame, y = groups
    schema = Schema(column_groups={"pair": ["minuend", "subtrahend"]}, keep=["subtrahend"])
    wrapper = Wrapper(schema=schema, n_features_to_select=2).fit(frame, y)
    assert set(wrapper.order_[:2]) == {1, 3}
    assert len(wrapper.order_) == 3
    with pytest.raises(ParameterError, match="4 columns or groups"):
        Wrapper(schema=schema, n_features_to_select=5).fit(frame, y)
    two = Schema(column_groups={"a": ["noise", "weak"], "b": ["weak"]})
    with pytest.raises(SchemaError, match=r"'weak'.*'a' and 'b'"):
        Wrapper(schema=two).fit(frame, y)


@pytest.mark.parametrize("search", ["forward", "backward", "floating", "best-first"])
def test_columns_to_keep_stay(groups, search):
    frame, y = groups
    wrapper = Wrapper(search=search, schema={"keep": ["other", "noise"]}).fit(frame, y)
    assert set(wrapper.order_[:2]) == {0, 4}
    assert all({0, 4} <= set(columns) for columns, _ in wrapper.path_)
    if search != "best-first":
        exact = Wrapper(search=search, n_features_to_select=2, schema={"keep": [4, 0]})
        assert set(exact.fit(frame, y).order_) == {0, 4}
        with pytest.raises(ParameterError, match="2 columns that the schema keeps"):
            Wrapper(search=search, n_features_to_select=1, schema={"keep": [4, 0]}).fit(frame, y)
    everything = Wrapper(search=search, schema={"keep": list(range(5))}).fit(frame, y)
    assert everything.support_.all()


# ---- outcomes ------------------------------------------------------------------------------------
def test_equal_scores_go_to_the_better_column_by_itself():
    """Five columns separate the classes; the one that does so most clearly is taken."""
    rng = np.random.default_rng(7)
    y = np.arange(30) % 2
    X = rng.normal(size=(30, 5)) + np.array([20.0, 30.0, 60.0, 25.0, 40.0]) * y[:, None]
    for columns in ([0, 1, 2, 3, 4], [4, 2, 0, 3, 1]):
        wrapper = Wrapper().fit(X[:, columns], y)
        assert [columns[f] for f in wrapper.order_] == [2]
        assert wrapper.score_ == 1.0


def test_rows_that_cannot_be_tested():
    X = np.array([[0.0, 5.0, 1.0], [1.0, 4.0, 7.0]])
    wrapper = Wrapper().fit(X, ["a", "b"])
    assert np.isnan(wrapper.score_)
    assert wrapper.fold_.tolist() == [-1, -1]
    assert wrapper.n_fits_ == 0
    fitted = Wrapper(estimator="1-nn", search="backward", n_features_to_select=1).fit(X, [0, 1])
    assert np.isnan(fitted.score_)


def test_path_has_the_steps():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    X[:, 4] += y
    wrapper = Wrapper(n_features_to_select=3).fit(X, y)
    assert [len(columns) for columns, _ in wrapper.path_] == [1, 2, 3]
    assert wrapper.path_[-1] == (tuple(wrapper.order_.tolist()), wrapper.score_)
    assert wrapper.n_fits_ == (6 + 5 + 4) * 5


def test_progress_and_control_c():
    rng = np.random.default_rng(9)
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 2
    calls = []
    for name in ("mixed-naive-bayes", "1-nn"):
        calls.clear()
        Wrapper(estimator=name, verbose=lambda *pair: calls.append(pair), n_folds=2).fit(X, y)
        assert all(done <= total for done, total in calls)
        assert calls == sorted(calls)

    def stop(done, total):
        if done >= 8:
            raise KeyboardInterrupt

    wrapper = Wrapper(estimator="1-nn", n_folds=2, verbose=stop, n_features_to_select=6)
    with pytest.raises(KeyboardInterrupt):
        wrapper.fit(X, y)
    assert wrapper.interrupted_
    assert len(wrapper.order_) == 1
    assert wrapper.transform(X).shape == (40, 1)
    early = Wrapper(
        estimator="1-nn", verbose=lambda done, total: (_ for _ in ()).throw(make_interrupt())
    )
    with pytest.raises(KeyboardInterrupt):
        early.fit(X, y)
    assert not hasattr(early, "order_")


def make_interrupt():
    return KeyboardInterrupt()


# ---- wrong input ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"search": "sideways"}, "search='sideways'.*best-first"),
        ({"scoring": "error"}, "scoring='error'.*bcr"),
        ({"n_folds": 1}, "n_folds=1.*from 2"),
        ({"max_stale": 0}, "max_stale=0"),
        ({"random_state": None}, "random_state=None"),
        ({"tolerance": -0.1}, "tolerance=-0.1"),
        ({"tolerance": "none"}, "tolerance='none'"),
        ({"n_features_to_select": 0.5}, "n_features_to_select=0.5"),
        ({"n_features_to_select": 2, "search": "best-first"}, "ends by itself"),
        ({"n_features_to_select": 9}, "the table has 2 columns"),
        ({"estimator": "1-n"}, "did you mean '1-nn'"),
        ({"estimator": GaussianNB}, "give a classifier"),
        ({"estimator": 7}, "give a classifier"),
        ({"estimator": LinearSVM(schema={"keep": [0]})}, "a schema of its own"),
        ({"estimator": MixedNaiveBayes(smoothing=-1)}, "smoothing=-1"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, y = [[0.0, 1.0], [1.0, 1.5], [0.2, 1.1], [0.9, 0.7]], [0, 1, 0, 1]
    with pytest.raises(ParameterError, match=message):
        Wrapper(**parameters).fit(X, y)


def test_tables_that_a_classifier_does_not_take():
    y = [0, 1] * 4
    mixed = pl.DataFrame({"age": [1.0, 2, 3, 4, 5, 6, 7, 8], "sex": list("fmfmffmm")})
    with pytest.raises(DataError, match=r"'sex' is categorical.*Encoder\(\), GaussianNB"):
        Wrapper(estimator=GaussianNB()).fit(mixed, y)
    incomplete = pl.DataFrame({"age": [1.0, None, 3, 4, 5, 6, 7, 8]})
    with pytest.raises(DataError, match=r"'age'.*row 1.*Encoder\(\), GaussianNB"):
        Wrapper(estimator=GaussianNB()).fit(incomplete, y)
    Wrapper(estimator=DecisionTreeClassifier()).fit(incomplete, y)  # takes missing values
    Wrapper(estimator=make_pipeline(Encoder(), GaussianNB())).fit(mixed, y)
    with pytest.raises(DataError, match="KNeighborsClassifier fails on 4 rows of age"):
        Wrapper(estimator="5-nn-encoded", n_folds=2).fit(mixed.drop("sex"), y)


def test_tags_follow_the_estimator():
    for estimator, mixed, missing in (
        ("1-nn", True, True),
        (MixedNaiveBayes(), True, True),
        (make_pipeline(Encoder(), GaussianNB()), True, True),
        (GaussianNB(), False, False),
        (DecisionTreeClassifier(), False, True),
    ):
        tags = Wrapper(estimator=estimator).__sklearn_tags__().input_tags
        assert (tags.categorical, tags.allow_nan) == (mixed, missing)
