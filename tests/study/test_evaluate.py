"""One fit does not use test rows, and a failure becomes a result."""

import warnings
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import NearMiss, RandomUnderSampler
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import (
    RFE,
    SelectFdr,
    SelectFromModel,
    SelectKBest,
    f_classif,
)
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from featly import SVMRFE, FTest
from featly.base import SubsetSelector
from featly.basics.errors import ParameterError
from featly.datasets import make_problem
from featly.learners import LinearSVM, make_learner
from featly.study import Dataset, KFold, Split, Study
from featly.study.evaluate import Protocol, evaluate, sizes_for


class RecordingRanker(BaseEstimator):
    """A ranker by the sum of columns that records its training rows."""

    seen: ClassVar[list] = []

    def __init__(self, schema=None, n_jobs=None, random_state=None):
        self.schema = schema
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        RecordingRanker.seen.append((X, list(y), self.get_params()))
        self.order_ = np.arange(X.shape[1])[::-1]
        self.ranking_ = self.order_ + 1
        return self


class RecordingLearner(ClassifierMixin, BaseEstimator):
    """A learner that records its training rows and predicts the first class."""

    trained: ClassVar[list] = []
    predicted: ClassVar[list] = []

    def fit(self, X, y):
        RecordingLearner.trained.append((X, list(y)))
        self.label_ = y[0]
        return self

    def predict(self, X):
        RecordingLearner.predicted.append(X)
        return np.array([self.label_] * X.shape[0])


class MeanDifference(SubsetSelector):
    """Columns whose class means differ most, as many as `count`."""

    def __init__(self, *, count=2, schema=None, n_jobs=None):
        self.count = count
        self.schema = schema
        self.n_jobs = n_jobs

    def _select(self, problem):
        mean = problem.moments(by_class=True).mean
        return np.argsort(-(mean.max(axis=0) - mean.min(axis=0)), kind="stable")[: self.count]


class SetsAttributes(BaseEstimator):
    """A method that sets given attributes."""

    def __init__(self, attributes=None):
        self.attributes = attributes

    def fit(self, X, y):
        for name, value in (self.attributes or {}).items():
            setattr(self, name, value)
        return self


@pytest.fixture(autouse=True)
def _forget():
    RecordingRanker.seen.clear()
    RecordingLearner.trained.clear()
    RecordingLearner.predicted.clear()


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 6)), np.repeat(["a", "b", "c"], 10)
    X[:, 4] += 4 * (y == "b")
    X[:, 1] += 2 * (y == "c")
    return Dataset.of(X, y, name="d")


SPLIT = Split(3, np.arange(0, 30, 2), np.arange(1, 30, 2))


def fit(data, method, learner=None, split=SPLIT, **protocol):
    learner = GaussianNB() if learner is None else learner
    protocol = {"sizes": [1, 3], **protocol}
    return evaluate(data, "m", method, split, Protocol({"learner": learner}, **protocol))


# ---- sizes ---------------------------------------------------------------------------------------
def test_sizes():
    assert sizes_for("powers", 1) == [1]
    assert sizes_for("powers", 7) == [1, 2, 4]
    assert sizes_for("powers", 8) == [1, 2, 4, 8]
    assert sizes_for("powers", 100_000) == [2**k for k in range(10)]
    assert sizes_for("powers", 0) == []
    assert sizes_for("all", 3) == [1, 2, 3]
    assert sizes_for("rule-of-thumb", 500) == [15]
    assert sizes_for(5, 10) == [5]
    assert sizes_for(5, 4) == []
    assert sizes_for([8, 2, 2, 99], 10) == [2, 8]
    assert sizes_for(np.array([4, 2]), 10) == [2, 4]
    assert sizes_for(lambda p: [p, p // 2], 10) == [5, 10]


@pytest.mark.parametrize("sizes", ["half", [0], [1.5], [True], True, -1, ["2"]])
def test_wrong_sizes_are_refused(sizes):
    with pytest.raises(ParameterError, match="sizes"):
        sizes_for(sizes, 10)


# ---- one fit -------------------------------------------------------------------------------------
def test_a_fit_equals_the_steps_one_by_one(data):
    result = fit(data, FTest(), sizes=[1, 2, 6])
    train, test = SPLIT.train, SPLIT.test
    order = FTest().fit(data.X[train], data.y[train]).order_
    assert result.key == ("d", "m", 3, 0)
    assert (result.n_train, result.n_test, result.subset, result.error) == (15, 15, False, None)
    assert result.order.tolist() == order.tolist()
    for outcome, size in zip(result.outcomes, [1, 2, 6], strict=True):
        best = order[:size]
        model = GaussianNB().fit(data.X[train][:, best], data.y[train])
        predicted = model.predict(data.X[test][:, best])
        naive = [
            [sum((data.y[test] == a) & (predicted == b)) for b in "abc"] for a in "abc"
        ]  # fmt: skip
        assert outcome.confusion.tolist() == naive
        assert (outcome.learner, outcome.size, outcome.error) == ("learner", size, None)
        assert outcome.seconds > 0


def test_paths_equal_fits_at_every_size(data):
    class Slowly(LinearSVM):
        predict_path = property()

    quick = fit(data, FTest(), LinearSVM(), sizes="all")
    slow = fit(data, FTest(), Slowly(), sizes="all")
    assert not hasattr(Slowly(), "predict_path")
    assert [o.confusion.tolist() for o in quick.outcomes] == [
        o.confusion.tolist() for o in slow.outcomes
    ]


@pytest.mark.parametrize("labels", [[2, 7, 9], [2.0, 7.0, 9.0], ["x", "y", "z"], [False, True]])
def test_labels_of_all_types(labels):
    rng = np.random.default_rng(1)
    codes = np.arange(30) // 2 % len(labels)
    X = rng.normal(size=(30, 4)) + 3 * np.eye(4)[codes]
    data = Dataset.of(X, [labels[c] for c in codes])
    for learner in (GaussianNB(), LinearSVM(), make_learner("1-nn")):
        result = fit(data, FTest(), learner)
        assert [o.error for o in result.outcomes] == [None, None]
        assert result.outcomes[1].confusion.sum(axis=1).tolist() == [
            sum(codes[SPLIT.test] == c) for c in range(len(labels))
        ]
        assert np.trace(result.outcomes[1].confusion) > 12


def test_classes_absent_from_a_part(data):
    only_two = Split(0, np.arange(0, 20), np.arange(20, 30))  # class c is tested, never trained
    result = fit(data, FTest(), split=only_two)
    assert result.outcomes[0].confusion[2].sum() == 10
    assert result.outcomes[0].confusion[:, 2].sum() == 0
    one_tested = Split(0, np.arange(5, 30), np.arange(0, 5))
    result = fit(data, FTest(), split=one_tested)
    assert result.outcomes[0].confusion.sum(axis=1).tolist() == [5, 0, 0]


def test_tables_of_one_column(data):
    one_column = Dataset.of(data.X[:, 4:5], data.y)
    result = fit(one_column, FTest(), sizes="powers")
    assert result.order.tolist() == [0]
    assert [o.size for o in result.outcomes] == [1]


def test_sizes_beyond_the_columns_are_left_out(data):
    assert [o.size for o in fit(data, FTest(), sizes=[2, 6, 7, 100]).outcomes] == [2, 6]


# ---- no leaks ------------------------------------------------------------------------------------
def replace_test_rows(data, split, rng):
    """The same training rows; everything about the test rows is different."""
    X, y = data.X, data.y.copy()
    if isinstance(X, pl.DataFrame):
        rows = np.arange(data.n_rows)
        rows[split.test] = rng.permutation(split.test)
        X = X[rows].with_columns(
            pl.when(pl.int_range(pl.len()).is_in(split.test.tolist()))
            .then(pl.col(pl.Float64) * -99 + 1e3)
            .otherwise(pl.col(pl.Float64))
            .name.keep()
        )
    else:
        X = X.copy()
        X[split.test] = 1e3 * rng.normal(size=X[split.test].shape) + 7e4
        X[split.test[0]] = np.nan
    y[split.test] = rng.permutation(y[split.test])
    return Dataset.of(X, y, name=data.name)


@pytest.mark.parametrize("resample", [None, RandomUnderSampler(), SMOTE(k_neighbors=2)])
@pytest.mark.parametrize("fill", [False, True])
def test_test_rows_do_not_change_the_ranking(data, fill, resample):
    X = data.X.copy()
    if fill:
        X[4, 4] = X[6, 0] = X[5, 2] = np.nan
    data = Dataset.of(X, data.y)
    other = replace_test_rows(data, SPLIT, np.random.default_rng(5))
    for table in (data, other):
        for method in (FTest(), RecordingRanker()):
            fit(table, method, RecordingLearner(), fill=fill, resample=resample)
    half = len(RecordingLearner.trained) // 2
    assert half == 4
    for (X, y), (X_other, y_other) in zip(
        RecordingLearner.trained[:half], RecordingLearner.trained[half:], strict=True
    ):
        assert np.array_equal(X, X_other)
        assert y == y_other
    (X, y, _), (X_other, y_other, _) = RecordingRanker.seen
    assert np.array_equal(X, X_other)
    assert y == y_other


def test_test_rows_of_mixed_tables_do_not_change_the_ranking():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 15)
    table = pl.DataFrame(
        {
            "n": np.where(rng.random(30) < 0.2, np.nan, rng.normal(size=30) + y),
            "t": rng.choice(["u", "v", "w", None], size=30).tolist(),
            "m": rng.normal(size=30),
        }
    )
    data = Dataset.of(table, y)
    result, other_result = (
        fit(d, SVMRFE(), RecordingLearner(), fill=True, sizes=[1, 2, 3])
        for d in (data, replace_test_rows(data, SPLIT, rng))
    )
    assert result.error is None
    assert result.order.tolist() == other_result.order.tolist()
    for k in range(3):
        assert RecordingLearner.trained[k][0].equals(RecordingLearner.trained[k + 3][0])
        assert RecordingLearner.trained[k][1] == RecordingLearner.trained[k + 3][1]


def test_predictions_do_not_depend_on_other_test_rows(data):
    whole = fit(data, FTest(), LinearSVM(), fill=True).outcomes[1].confusion
    alone = sum(
        fit(data, FTest(), LinearSVM(), Split(0, SPLIT.train, SPLIT.test[k : k + 1]), fill=True)
        .outcomes[1]
        .confusion
        for k in range(len(SPLIT.test))
    )
    assert whole.tolist() == alone.tolist()


# ---- missing values ------------------------------------------------------------------------------
def test_missing_values_are_filled_from_training_rows(data):
    X = data.X.copy()
    X[0, 0] = X[1, 0] = X[3, 2] = np.nan
    X[SPLIT.train, 5] = np.nan  # no value to learn from
    fit(Dataset.of(X, data.y), RecordingRanker(), RecordingLearner(), fill=True, sizes=[6])
    (trained, _), predicted = RecordingLearner.trained[0], RecordingLearner.predicted[0]
    order = [5, 4, 3, 2, 1, 0]
    median = np.nanmedian(X[SPLIT.train, 0])
    assert trained[0, order.index(0)] == predicted[0, order.index(0)] == median
    assert predicted[1, order.index(2)] == np.median(X[SPLIT.train, 2])
    assert (trained[:, order.index(5)] == 0).all()
    assert not np.isnan(predicted).any()
    assert np.isnan(X).sum() == 18  # the table itself is unchanged


def test_missing_values_of_text():
    table = pl.DataFrame({"t": ["u", None, "v", "v", "u", None] * 5, "n": [1.0, 2.0, None] * 10})
    data = Dataset.of(table, np.arange(30) % 2)
    fit(data, RecordingRanker(), RecordingLearner(), fill=True, sizes=[2])
    (trained, _), predicted = RecordingLearner.trained[0], RecordingLearner.predicted[0]
    assert set(trained["t"].cast(str)) == {"u", "v"}
    assert set(predicted["t"].cast(str)) == {"missing", "v"} | set(predicted["t"].cast(str))
    median = table["n"].gather(SPLIT.train).drop_nulls().median()
    filled = predicted["n"].to_list()
    assert [v for v, original in zip(filled, table["n"].gather(SPLIT.test), strict=True)
            if original is None] == [median] * 5  # fmt: skip


def test_missing_values_stay_without_fill(data):
    X = data.X.copy()
    X[0, 4] = X[1, 4] = np.nan
    with_missing = Dataset.of(X, data.y)
    assert fit(with_missing, FTest(), LinearSVM()).error is None
    result = fit(with_missing, FTest(), GaussianNB(), sizes=[1, 6])
    assert "NaN" in result.outcomes[0].error
    two = Dataset.of(X[:20], data.y[:20])
    result = fit(two, SVMRFE(), split=Split(0, np.arange(0, 20, 2), np.arange(1, 20, 2)))
    assert result.error.startswith("DataError: column 'x4' has a missing value")
    assert result.order is None
    assert result.outcomes == []


# ---- resampling ----------------------------------------------------------------------------------
@pytest.fixture
def skewed_data():
    rng = np.random.default_rng(2)
    y = np.array(["few"] * 9 + ["many"] * 31)
    return Dataset.of(rng.normal(size=(40, 3)) + (y == "few")[:, None], y)


WIDE = Split(0, np.r_[0:6, 9:33], np.r_[6:9, 33:40])  # 6 few and 24 many to train on


@pytest.mark.parametrize(
    ("sampler", "count"),
    [(RandomUnderSampler(), 6), (RandomOverSampler(), 24), (SMOTE(k_neighbors=3), 24)],
)
def test_arrays_are_resampled_in_the_training_part_only(skewed_data, sampler, count):
    result = fit(skewed_data, RecordingRanker(), RecordingLearner(), WIDE, resample=sampler)
    assert result.error is None
    for X, y, *_ in (*RecordingRanker.seen, *RecordingLearner.trained):
        assert {label: y.count(label) for label in set(y)} == {"few": count, "many": count}
        assert len(X) == len(y)
    assert np.array_equal(
        RecordingRanker.seen[0][0][:, 2:], RecordingLearner.trained[0][0]
    )  # the same for both
    assert np.array_equal(RecordingLearner.predicted[0][:, 0], skewed_data.X[WIDE.test, 2])
    assert result.outcomes[0].confusion.sum() == 10
    if not isinstance(sampler, SMOTE):
        known = {tuple(row) for row in skewed_data.X[WIDE.train]}
        assert {tuple(row) for row in RecordingRanker.seen[0][0]} <= known


@pytest.mark.parametrize(
    ("sampler", "count"), [(RandomUnderSampler(), 6), (RandomOverSampler(), 24)]
)
def test_frames_are_resampled_too(skewed_data, sampler, count):
    table = pl.DataFrame(skewed_data.X).with_columns(
        pl.Series("t", ["u", "v", None, "w"] * 10), pl.Series("row", np.arange(40) + 0.5)
    )
    result = fit(
        Dataset.of(table, skewed_data.y),
        RecordingRanker(),
        RecordingLearner(),
        WIDE,
        resample=sampler,
    )
    assert result.error is None
    X, y, _ = RecordingRanker.seen[0]
    rows = X["row"].to_numpy().astype(int)
    assert X.drop("t").equals(table.drop("t")[rows])
    assert X["t"].cast(str).to_list() == table["t"].gather(rows).to_list()
    assert y == skewed_data.y[rows].tolist()  # labels go with their rows
    assert set(rows) <= set(WIDE.train)
    assert {label: y.count(label) for label in set(y)} == {"few": count, "many": count}
    assert RecordingLearner.predicted[0]["row"].to_list() == (WIDE.test + 0.5).tolist()


@pytest.mark.parametrize(
    "sampler", [SMOTE(k_neighbors=2), NearMiss(), RandomOverSampler(shrinkage=0.5)]
)
def test_samplers_that_need_numbers_are_refused(skewed_data, sampler):
    table = pl.DataFrame(skewed_data.X).with_columns(pl.Series("t", ["u", "v"] * 20))
    result = fit(Dataset.of(table, skewed_data.y), RecordingRanker(), split=WIDE, resample=sampler)
    assert "cannot resample mixed columns" in result.error
    assert "RandomOverSampler" in result.error


def test_sparse_tables_are_resampled(skewed_data):
    data = Dataset.of(scipy.sparse.csr_array(skewed_data.X), skewed_data.y)
    result = fit(data, FTest(), LinearSVM(), WIDE, resample=RandomOverSampler())
    assert result.error is None
    assert [o.error for o in result.outcomes] == [None, None]


# ---- seeds ---------------------------------------------------------------------------------------
def test_estimators_without_a_seed_are_repeatable(skewed_data):
    options = {"resample": RandomUnderSampler(), "split": WIDE, "sizes": [3]}
    forest = RandomForestClassifier(n_estimators=3)
    matrices = [
        fit(skewed_data, FTest(), forest, random_state=state, **options)
        .outcomes[0]
        .confusion.tolist()
        for state in (0, 0, 1, 2, 3, 4)
    ]
    assert matrices[0] == matrices[1]
    assert len({str(matrix) for matrix in matrices}) > 1
    fit(skewed_data, RecordingRanker(), random_state=5)
    fit(skewed_data, RecordingRanker(random_state=8), random_state=5)
    assert [parameters["random_state"] for _, _, parameters in RecordingRanker.seen] == [5, 8]
    assert forest.random_state is None  # the user's own is left as it was


# ---- parameters of methods -----------------------------------------------------------------------
def test_schema_and_threads(data):
    with_schema = Dataset.of(data.X, data.y, schema={"keep": [3]})
    fit(with_schema, RecordingRanker())
    fit(with_schema, RecordingRanker(schema={"keep": [1]}))
    fit(data, RecordingRanker(), one_thread=True)
    fit(data, RecordingRanker(n_jobs=3), one_thread=True)
    seen_parameters = [parameters for _, _, parameters in RecordingRanker.seen]
    assert seen_parameters[0]["schema"].keep == [3]
    assert seen_parameters[1]["schema"] == {"keep": [1]}
    assert [t["n_jobs"] for t in seen_parameters] == [None, None, 1, 3]
    assert fit(with_schema, FTest()).order[0] == 3


# ---- subsets -------------------------------------------------------------------------------------
def test_methods_that_choose_their_size(data):
    result = fit(data, MeanDifference(count=3), sizes=[1, 6])
    assert result.subset
    assert [o.size for o in result.outcomes] == [3]
    assert result.order[0] == 4
    everything = fit(data, MeanDifference(count=6))
    assert everything.subset
    assert [o.size for o in everything.outcomes] == [6]
    best = fit(data, SelectKBest(f_classif, k=2))
    assert (sorted(best.order.tolist()), best.subset) == ([1, 4], True)
    eliminated = fit(data, RFE(LinearSVC(random_state=0), n_features_to_select=2))
    assert (len(eliminated.order), eliminated.subset) == (2, True)
    model = fit(data, SelectFromModel(LinearSVC(random_state=0), max_features=3))
    assert model.subset


def test_a_ranking_of_scikit_learns(data):
    result = fit(data, RFE(LinearSVC(random_state=0), n_features_to_select=1))
    assert not result.subset
    assert sorted(result.order.tolist()) == list(range(6))
    theirs = RFE(LinearSVC(random_state=0), n_features_to_select=1)
    theirs.fit(data.X[SPLIT.train], data.y[SPLIT.train])
    assert theirs.ranking_[result.order].tolist() == [1, 2, 3, 4, 5, 6]
    assert [o.size for o in result.outcomes] == [1, 3]


def test_no_selection(data):
    result = fit(data, None)
    assert (result.order.tolist(), result.subset) == (list(range(6)), True)
    assert [o.size for o in result.outcomes] == [6]


# ---- failures ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({}, "has no order_, ranking_ or get_support"),
        ({"order_": []}, "selected no column"),
        ({"order_": [0, 1, 6]}, "columns that the table does not have"),
        ({"order_": [0, -1]}, "columns that the table does not have"),
        ({"order_": [0.0, 1.0]}, "columns that the table does not have"),
        ({"order_": [True, False]}, "columns that the table does not have"),
        ({"order_": [1, 2, 1]}, "a column twice"),
        ({"ranking_": [1, 1, 1, 2, 2, 2]}, "has no order_"),
    ],
)
def test_methods_with_wrong_attributes(data, attributes, message):
    result = fit(data, SetsAttributes(attributes))
    assert message in result.error
    assert result.outcomes == []


def test_nothing_selected(data):
    noise = Dataset.of(np.random.default_rng(0).normal(size=(30, 4)), data.y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = fit(noise, SelectFdr(alpha=1e-12))
    assert result.error == "DataError: SelectFdr selected no column"


class Fails(BaseEstimator):
    def __init__(self, problem=None):
        self.problem = problem

    def fit(self, X, y):
        warnings.warn("it will not work", UserWarning, stacklevel=1)
        raise self.problem


def test_a_method_that_fails_is_a_result(data):
    result = fit(data, Fails(KeyError("two\nlines")))
    assert result.error == r"KeyError: 'two\nlines'"
    assert result.notes == ("UserWarning: it will not work",)
    assert (result.order, result.outcomes, result.n_train) == (None, [], 15)
    assert fit(data, Fails(ValueError())).error == "ValueError"
    with pytest.raises(KeyboardInterrupt):
        fit(data, Fails(KeyboardInterrupt()))


class FailsBeyondOneColumn(GaussianNB):
    """Fails at more than one column, and warns at one."""

    def fit(self, X, y):
        if X.shape[1] > 1:
            raise ValueError(f"{X.shape[1]} are\ntoo many")
        warnings.warn("one column only", RuntimeWarning, stacklevel=2)
        return super().fit(X, y)


def test_a_learner_that_fails_at_some_sizes(data):
    result = fit(data, FTest(), FailsBeyondOneColumn())
    assert result.error is None
    assert result.outcomes[0].error is None
    assert result.outcomes[0].confusion.sum() == 15
    assert result.outcomes[1].error == "ValueError: 3 are too many"
    assert result.outcomes[1].confusion is None
    assert result.notes == ("RuntimeWarning: one column only",)


class BadPath(LinearSVM):
    def predict_path(self, X, y, X_test, sizes):
        return np.full((len(sizes), X_test.shape[0]), "no class")


def test_predictions_that_are_no_classes(data):
    numbers = Dataset.of(data.X, data.codes)
    for outcome in fit(numbers, FTest(), LinearRegression()).outcomes:
        assert "which is none of the classes" in outcome.error
    for outcome in fit(data, FTest(), BadPath()).outcomes:
        assert outcome.error == (
            "DataError: the learner predicts np.str_('no class'), which is none of the classes of "
            "the table"
        )


def test_warnings_become_notes_even_where_they_are_errors(data):
    class Warns(FTest):
        def fit(self, X, y):
            warnings.warn("odd", FutureWarning, stacklevel=1)
            warnings.warn("odd", FutureWarning, stacklevel=1)
            return super().fit(X, y)

    result = fit(data, Warns(), FailsBeyondOneColumn(), sizes=[1])
    assert result.error is None
    assert result.notes == ("FutureWarning: odd", "RuntimeWarning: one column only")


def test_a_given_order_is_evaluated_as_it_is(data):
    order = np.array([5, 4, 3, 2, 1, 0])
    protocol = Protocol({"learner": RecordingLearner()}, sizes=[2])
    result = evaluate(data, "m", Fails(ValueError()), SPLIT, protocol, order=order)
    assert result.error is None
    assert np.array_equal(RecordingLearner.trained[0][0], data.X[SPLIT.train][:, [5, 4]])


def test_a_ranking_that_all_relevant_columns_lead_is_cut_there():
    """XOR-100: with the two relevant columns alone the nearest row is always of the same class."""
    xor = make_problem("xor-100", random_state=2).shuffle_columns(2)
    methods = {
        "svm-rfe": SVMRFE(kernel="rbf"),
        "f-test": FTest(),
    }  # one has them first, the other has not
    metrics = ("accuracy", "irrelevant", "success")
    plan = {"sizes": [1, 10], "learner": "1-nn", "metrics": metrics, "selection": "outside"}
    values = {}
    for is_cut in (False, True):
        results = Study(methods, xor, KFold(5), cut_at_relevant=is_cut, **plan).run()
        for metric in metrics:
            for row in results.curves(metric).iter_rows(named=True):
                values[metric, row["method"], row["size"], is_cut] = row["mean"]
    assert set(results.orders("xor-100", "svm-rfe")[0][:2]) == {c for (c,) in xor.roles.relevant}
    assert values["accuracy", "svm-rfe", 10, True] == 1 > values["accuracy", "svm-rfe", 10, False]
    assert values["irrelevant", "svm-rfe", 10, True] == 0
    assert values["irrelevant", "svm-rfe", 10, False] == 8
    assert values["success", "svm-rfe", 10, True] == values["success", "svm-rfe", 10, False] == 100
    for metric in metrics:  # nothing else changes
        for method, size in (("f-test", 1), ("f-test", 10), ("svm-rfe", 1)):
            assert values[metric, method, size, True] == values[metric, method, size, False]


def test_cutting_needs_the_truth(data):
    with pytest.raises(ParameterError, match="cut_at_relevant=True needs a dataset of which"):
        Study("f-test", data, cut_at_relevant=True)
    with pytest.raises(ParameterError, match="cut_at_relevant='yes': give True or False"):
        Study("f-test", data, cut_at_relevant="yes")
