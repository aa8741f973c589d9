"""A study against the same protocol written by hand around scikit-learn, and its own cost."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.harness import Row, best_of, two_classes
from benchmarks.svm_rfe import loop
from featly.study import Dataset, Results, Study, Subsampling, read_dataset
from featly.study.run import stop_workers

SIZES = [1 << k for k in range(10)]


def colon() -> tuple[Dataset, str]:
    """The colon tumours, or a made table of their size where they are not at hand."""
    folder = os.environ.get("FEATLY_DATA")
    if folder and (Path(folder) / "colon_alon.parquet").exists():
        return read_dataset("colon_alon.parquet"), "colon_alon, 62 x 2,000"
    X, y = two_classes(62, 2000, np.float32)
    return Dataset.of(X, y), "made, 62 x 2,000"


def by_hand(data: Dataset, splits: Subsampling, **parameters) -> np.ndarray:
    """Return BCR of every split and size by hand: scale, eliminate, train, predict."""
    rates = []
    for split in splits.split(None, data.codes):
        scaler = StandardScaler().fit(data.X[split.train])
        X, X_test = scaler.transform(data.X[split.train]), scaler.transform(data.X[split.test])
        y, y_test = data.codes[split.train], data.codes[split.test]
        order = loop(X, y, 0.2, **parameters)
        row = []
        for size in SIZES:
            best = order[:size]
            machine = SVC(kernel="linear", **parameters).fit(X[:, best], y)
            row.append(balanced_accuracy_score(y_test, machine.predict(X_test[:, best])))
        rates.append(row)
    return np.array(rates)


def protocol() -> Iterator[Row]:
    data, name = colon()
    problem = f"200 splits of SVM-RFE + linear SVM at 10 sizes, {name}"
    splits = Subsampling(200, test_size=0.1)
    study = Study("svm-rfe", data, splits)
    study.run(n_jobs=1)  # load the compiled loops
    one_core, results = best_of(lambda: study.run(n_jobs=1), 3)
    all_cores, _ = best_of(lambda: study.run(), 3)
    exact_seconds, exact = best_of(lambda: by_hand(data, splits, tol=1e-10), 1)
    shipped, _ = best_of(lambda: by_hand(data, splits), 1)
    ours = results.curve().values
    equal = int(np.isclose(ours, exact).sum())
    size = results.choose_size()
    at = results.summary().row(0, named=True)
    note = (
        f"{equal:,} of {ours.size:,} BCR as at tol=1e-10; chosen size {size}, BCR {at['bcr']:.3f}, "
        f"Kuncheva's index {at['kuncheva']:.3f}"
    )
    yield Row(problem, "featly, all cores", all_cores, note, ours=True)
    yield Row(problem, "featly, one core", one_core)
    yield Row(problem, "by hand around SVC, as shipped", shipped, "one core")
    yield Row(problem, "by hand around SVC, tol=1e-10", exact_seconds, "one core")


class Idle(BaseEstimator):
    """A method that costs next to nothing: a random order."""

    def fit(self, X, y):
        seed = int(np.abs(X[:, 0]).sum() * 1e6)
        self.order_ = np.random.default_rng(seed).permutation(X.shape[1])
        self.ranking_ = self.order_
        return self


class Constant(ClassifierMixin, BaseEstimator):
    """A learner that costs nothing."""

    def fit(self, X, y):
        self.label_ = y[0]
        return self

    def predict(self, X):
        return np.full(len(X), self.label_)


def engine() -> Iterator[Row]:
    X, y = two_classes(62, 2000, np.float32)
    study = Study({"idle": Idle()}, (X, y), Subsampling(500), learner={"constant": Constant()})
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        results = study.run(Path(folder) / "study", n_jobs=1)
        seconds = time.perf_counter() - began
    each = seconds / results.rows.height
    note = f"{1e3 * each:.2f} ms a row, method and learner that do nothing"
    yield Row("5,000 rows of results, journal and parquet", "featly", seconds, note, ours=True)


def cores() -> Iterator[Row]:
    for n, p, splits in ((62, 2000, 8000), (100, 10_000, 600)):
        X, y = two_classes(n, p, np.float32)
        problem = f"{splits:,} splits of SVM-RFE + linear SVM, {n} x {p:,}"
        study = Study("svm-rfe", (X, y), Subsampling(splits))
        seconds = {}
        for jobs in (1, 2):
            began = time.perf_counter()
            study.run(n_jobs=jobs)
            seconds[jobs] = time.perf_counter() - began
            stop_workers()
        ratio = f"{seconds[1] / seconds[2]:.2f} times one core, processes started on the way"
        yield Row(problem, "featly, two cores", seconds[2], ratio, ours=True)
        yield Row(problem, "featly, one core", seconds[1])


def summary() -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X, y = two_classes(62, 2000, np.float32)
    methods = {f"method {k}": Idle() for k in range(5)}
    sets = {f"table {k}": (X + k, rng.permutation(y)) for k in range(10)}
    study = Study(methods, sets, Subsampling(200), learner={"constant": Constant()})
    with tempfile.TemporaryDirectory() as folder:
        study.run(folder)
        began = time.perf_counter()
        results = Results.open(folder)
        opening_time = time.perf_counter() - began
        results.summary()
        seconds = time.perf_counter() - began
        began = time.perf_counter()
        results.compare()
        comparing_time = time.perf_counter() - began
    problem = f"summary of {results.rows.height:,} rows of results"
    note = f"opening them {opening_time:.2f} s of it; comparing methods {comparing_time:.2f} s more"
    yield Row(problem, "featly", seconds, note, ours=True)


CASES = {"study": protocol, "study-engine": engine, "study-cores": cores, "study-summary": summary}
