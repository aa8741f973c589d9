"""No test row changes the selection or the learner, and the checks detect leaks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from imblearn.over_sampling import SMOTE, RandomOverSampler
from imblearn.under_sampling import RandomUnderSampler
from sklearn.base import clone
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV

from featly import SVMRFE, FTest
from featly.learners import Encoder, LinearSVM
from featly.preprocessing import Filler
from featly.study import Bootstrap, KFold, LeaveOneOut, Study, Subsampling, Tuned, evaluate
from featly.study.dataset import Dataset
from featly.testing import CHECKS

LEAKS = [name for name in CHECKS if name.endswith(("_have_no_say", "_no_test_rows"))]


# ---- studies with changed test rows --------------------------------------------------------------
def numbers(n=40, p=12, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = rng.normal(size=(n, p))
    X[:, :3] += 0.8 * y[:, None]
    return X, np.array(["ill", "well", "worse"])[y]


def patients(n=40, seed=0):
    X, y = numbers(n, 5, seed=seed)
    rng = np.random.default_rng(seed + 1)
    frame = pl.DataFrame(X, schema=[f"gene {j}" for j in range(5)]).with_columns(
        age=pl.Series(rng.integers(30, 80, n)),
        stage=pl.Series(np.array(["i", "ii", "iii"])[rng.integers(0, 3, n)]),
        smokes=pl.Series(rng.random(n) < 0.5),
    )
    return frame, y


def spoil_rows(X, y, tested, seed=0):
    """Return a table with the same training rows and other test rows."""
    rng = np.random.default_rng(seed)
    y = y.copy()
    y[tested] = np.where(y[tested] == "ill", "well", "ill")
    if isinstance(X, np.ndarray):
        X = X.copy()
        X[tested] = rng.choice([-1e9, 0.0, 1e9], size=X[tested].shape)
        return X, y
    if isinstance(X, pd.DataFrame):
        return spoil_rows(pl.from_pandas(X), y, tested)[0].to_pandas(), y
    mask = np.zeros(X.height, bool)
    mask[tested] = True
    gone = pl.when(pl.Series(mask))
    return (
        X.with_columns(
            gone.then(1e9).otherwise(pl.col("gene 0")).alias("gene 0"),
            gone.then(None).otherwise(pl.col("gene 1")).alias("gene 1"),
            gone.then(None).otherwise(pl.col("age")).alias("age"),
            gone.then(pl.lit("new")).otherwise(pl.col("stage")).alias("stage"),
            gone.then(None).otherwise(pl.col("smokes")).alias("smokes"),
        ),
        y,
    )


def rankings(methods, table, pairs, **options):
    options = {"sizes": [1, 3], **options}
    results = Study(methods, table, pairs, **options).run(n_jobs=1)
    assert not results.failures.height, results.failures.rows()
    fits = results.rankings.filter(pl.col("split") >= 0).sort("method", "split")
    return {(method, split): tuple(order) for method, split, order in
            fits.select("method", "split", "order").iter_rows()}  # fmt: skip


def changes(methods, table, splitter, *, n_splits=3, **options):
    """Return the fits that rank differently with other test rows."""
    X, y = table
    pairs = [(split.train, split.test) for split in splitter.split(None, y)][:n_splits]
    expected = rankings(methods, (X, y), pairs, **options)
    different = []
    for number, pair in enumerate(pairs):
        orders = rankings(methods, spoil_rows(X, y, pair[1]), [pair], **options)
        for (method, _), order in orders.items():
            if order != expected[method, number]:
                different.append((method, number))
    return different


@pytest.mark.parametrize(
    "splitter",
    [
        Subsampling(3, test_size=0.3),
        KFold(3),
        Bootstrap(3, estimator="out-of-bag"),
        LeaveOneOut(),
    ],
    ids=repr,
)
def test_rankings_do_not_depend_on_test_rows(splitter):
    methods = {
        "f-test": FTest(),
        "svm-rfe": SVMRFE(),
        "sklearn": RFE(RidgeClassifier(), n_features_to_select=2),
        "subset": SelectKBest(k=3),
    }
    assert changes(methods, numbers(), splitter) == []


@pytest.mark.parametrize("library", ["polars", "pandas"])
def test_rankings_of_mixed_tables_with_missing_values(library):
    frame, y = patients()
    frame = frame.with_columns(
        pl.when(pl.int_range(pl.len()) % 9 == 4).then(None).otherwise(pl.all()).name.keep()
    )
    X = frame if library == "polars" else frame.to_pandas()
    assert changes("svm-rfe", (X, y), KFold(3), fill=True) == []


def test_many_classes_and_tuning():
    learner = GridSearchCV(LinearSVM(), {"C": [0.01, 1.0]}, cv=2)
    assert changes("f-test", numbers(45, n_classes=3), KFold(3), learner=learner) == []
    tuned = {"tuned": Tuned(SVMRFE(), {"C": [0.001, 1.0]}, splits=2, sizes=[2])}
    assert changes(tuned, numbers(), KFold(3), n_splits=2) == []


@pytest.mark.parametrize(
    "sampler",
    [RandomOverSampler(random_state=0), RandomUnderSampler(random_state=0),
     SMOTE(random_state=0, k_neighbors=2)],
    ids=lambda sampler: type(sampler).__name__,
)  # fmt: skip
def test_resampling_has_training_rows_only(sampler):
    X, y = numbers()
    y = np.where(np.arange(40) % 4 == 0, "ill", "well")
    splits = Subsampling(3, test_size=0.3)
    assert changes(["f-test", "svm-rfe"], (X, y), splits, resample=sampler) == []
    if not isinstance(sampler, SMOTE):
        frame, _ = patients()
        assert changes("svm-rfe", (frame, y), splits, resample=sampler, fill=True) == []
        return
    smaller = rankings("f-test", (X, y), [(np.arange(28), np.arange(28, 40))])
    larger = rankings("f-test", (X, y), [(np.arange(28), np.arange(28, 40))], resample=sampler)
    assert smaller != larger, "the sampler does nothing here, so the test would see nothing"


def test_selection_outside_is_detected():
    changed_fits = changes(["f-test", "svm-rfe"], numbers(), KFold(3), selection="outside")
    assert len(changed_fits) == 6


# ---- the registered checks detect leaks ----------------------------------------------------------
SEEN = {}


@pytest.fixture
def spy_on_datasets(monkeypatch):
    """Record the last table that a study has read."""
    original = Dataset.of.__func__

    def read_and_remember(cls, *args, **options):
        SEEN["whole"] = original(cls, *args, **options)
        return SEEN["whole"]

    monkeypatch.setattr(Dataset, "of", classmethod(read_and_remember))
    yield
    SEEN.clear()


class Peeking(FTest):
    """A method that ranks by all rows of the study's table."""

    def fit(self, X, y):
        whole = SEEN.get("whole")
        return super().fit(X, y) if whole is None else super().fit(whole.X, whole.y)


def failed_checks(estimator):
    """Return the leak checks that a method fails, with the messages."""
    messages = {}
    for name in LEAKS:
        try:
            CHECKS[name](estimator)
        except AssertionError as error:
            messages[name] = str(error)
    return messages


def test_there_are_checks_and_honest_methods_pass():
    assert len(LEAKS) == 5
    assert failed_checks(FTest()) == {}


@pytest.mark.usefixtures("spy_on_datasets")
def test_a_method_that_uses_test_rows_is_caught():
    messages = failed_checks(Peeking())
    assert set(messages) == set(LEAKS)
    assert all("changes the ranking" in error for error in messages.values())
    assert changes({"peeking": Peeking()}, numbers(), KFold(3))


def test_a_table_scaled_whole_is_caught(monkeypatch):
    original = Dataset.of.__func__

    def read_scaled(cls, X, y, **options):
        if not isinstance(X, np.ndarray) and not hasattr(X, "indptr"):
            X = Encoder(standardize=True).fit_transform(X)
        return original(cls, X, y, **options)

    monkeypatch.setattr(Dataset, "of", classmethod(read_scaled))
    messages = failed_checks(FTest())
    rows = [name for name in LEAKS if "sparse" not in name and "labels" not in name]
    assert set(messages) == set(rows)
    assert "changes what the learner is trained on" in messages["test_rows_have_no_say"]


def test_missing_values_filled_from_all_rows_are_caught(monkeypatch):
    original = evaluate.Parts.from_split.__func__

    def split_filled(cls, dataset, split, protocol):
        if protocol.fill:
            filled = Filler().fit(dataset.X).transform(dataset.X)
            dataset = Dataset.of(filled, dataset.y)
        return original(cls, dataset, split, protocol)

    monkeypatch.setattr(evaluate.Parts, "from_split", classmethod(split_filled))
    for estimator in (FTest(), SVMRFE()):
        messages = failed_checks(estimator)
        assert set(messages) == {"filling_has_no_test_rows"}


def test_a_learner_that_learns_from_the_rows_it_predicts_is_caught(monkeypatch):
    def predict(self, X):
        encoder = Encoder().fit(X)
        values = encoder.transform(X) @ self.coef_[0] + self.intercept_[0]
        return self.classes_[(values > 0).astype(int)]

    monkeypatch.setattr(LinearSVM, "predict", predict)
    monkeypatch.delattr(LinearSVM, "predict_path_values")
    monkeypatch.delattr(LinearSVM, "predict_path")
    messages = failed_checks(FTest())
    assert "is predicted for untouched rows" in messages["test_rows_have_no_say"]


@pytest.mark.usefixtures("spy_on_datasets")
def test_tuning_on_the_test_rows_is_caught(monkeypatch):
    original = GridSearchCV.fit

    def fit(self, X, y):
        whole = SEEN["whole"]
        places = [np.flatnonzero((column == whole.X[: len(X)].T).all(axis=1))[0] for column in X.T]
        return original(self, whole.X[:, places], whole.y)

    monkeypatch.setattr(GridSearchCV, "fit", fit)
    messages = failed_checks(FTest())
    assert set(messages) == {"tuning_has_no_test_rows", "test_labels_have_no_say"}
    assert "the tuning finds" in messages["tuning_has_no_test_rows"]


def test_checks_say_when_a_method_fails_in_a_study():
    class Broken(FTest):
        def _rank(self, problem):
            raise RuntimeError("out of ideas")

    with pytest.raises(AssertionError, match="fails in a study: RuntimeError: out of ideas"):
        CHECKS["test_rows_have_no_say"](clone(Broken()))
