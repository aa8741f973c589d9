"""Paths of one table, in this process and in workers."""

from functools import partial

import numpy as np
import pytest

from featly import FTest
from featly.basics.errors import StudyError
from featly.datasets import make_cohort
from featly.learners import LinearSVM, MixedNaiveBayes
from featly.study import Dataset, half_stability, nested
from featly.study import paths as paths_module
from featly.study.evaluate import Protocol
from featly.study.paths import PathRunner, PathTask, fit_path
from featly.study.run import start_workers, stop_workers
from tests.study.quick_pipeline import NearestMean, QuickF


@pytest.fixture
def workers_at_once(two_workers, monkeypatch):
    """Hand paths to worker processes from the first one on."""
    for name in ("TRIAL_SECONDS", "LONG_TRIAL_SECONDS", "START_SECONDS"):
        monkeypatch.setattr(paths_module, name, -1.0)
    monkeypatch.setattr(paths_module, "TRIAL_FITS", 0)


@pytest.fixture(scope="module")
def two_workers():
    """Workers for all tests of this file: starting them takes seconds."""
    start_workers(2)
    yield
    stop_workers()


def rows(n=40):
    return np.arange(0, n, 2), np.arange(1, n, 2)


def table(seed=0, n=40, p=6):
    X, y = np.random.default_rng(seed).normal(size=(n, p)), np.repeat([0, 1], n // 2)
    X[:, 2] += 3 * y
    return X, y


def test_a_path_is_what_the_method_and_the_learner_do_by_themselves():
    X, y = table()
    train, test = rows()
    protocol = Protocol({"svm": LinearSVM(), "mean": NearestMean()}, sizes=[1, 4])
    path = fit_path(Dataset.of(X, y), FTest(), protocol, PathTask("f", train, test))
    order = FTest().fit(X[train], y[train]).order_[:4]
    assert path.order.tolist() == order.tolist()
    for k, size in enumerate([1, 4]):
        svm = LinearSVM().fit(X[train][:, order[:size]], y[train])
        assert path.codes[0, k].tolist() == svm.predict(X[test][:, order[:size]]).tolist()
        values = svm.decision_function(X[test][:, order[:size]])
        assert path.values[0, k] == pytest.approx(values, rel=1e-5, abs=1e-6)
    assert path.codes.shape == (2, 2, 20)


def test_labels_can_be_other_ones():
    X, y = table()
    train, test = rows()
    protocol = Protocol({"svm": LinearSVM()}, sizes=[1])
    swapped = fit_path(Dataset.of(X, y), FTest(), protocol, PathTask("f", train, test, 1 - y))
    plain = fit_path(Dataset.of(X, y), FTest(), protocol, PathTask("f", train, test))
    assert swapped.codes[0, 0].tolist() == (1 - plain.codes[0, 0]).tolist()


def test_a_ranking_alone_trains_no_learner():
    class Refuses(NearestMean):
        def predict_path_values(self, X, y, X_test, sizes):
            raise AssertionError

    protocol = Protocol({"no": Refuses()})
    task = PathTask("f", rows()[0], np.empty(0, np.int64))
    path = fit_path(Dataset.of(*table()), QuickF(), protocol, task)
    assert path.errors == () and len(path.order) == 4  # noqa: PT018


def test_failures_are_text():
    class Fails(NearestMean):
        def predict_path_values(self, X, y, X_test, sizes):
            raise ValueError("no such luck")

    protocol = Protocol({"no": Fails(), "yes": NearestMean()})
    path = fit_path(Dataset.of(*table()), QuickF(), protocol, PathTask("f", *rows()))
    assert path.errors == ("ValueError: no such luck",)
    assert (path.codes[0] == -1).all()
    assert (path.codes[1] >= 0).all()


def test_workers_give_the_same_mixed_columns_and_missing_values_too(workers_at_once):
    cohort = make_cohort(n_patients=40, n_genes=30)
    data = Dataset.of(cohort)
    learner = {"bayes": MixedNaiveBayes()}
    options = {"learner": learner, "folds": 4, "inner": 2, "repeats": 1, "sizes": [1, 4]}
    together = nested(["univariate-test", "none"], data, n_jobs=2, **options)
    alone = nested(["univariate-test", "none"], data, n_jobs=1, **options)
    assert np.array_equal(alone.outer_codes, together.outer_codes)
    assert np.array_equal(alone.inner_values, together.inner_values, equal_nan=True)


def test_paths_come_in_the_order_of_their_tasks(workers_at_once):
    X, y = table(n=80)
    tasks = [
        PathTask("f", np.setdiff1d(np.arange(80), [k]), np.array([k])) for k in range(0, 80, 2)
    ]
    protocol = Protocol({"mean": NearestMean()}, sizes=[1])
    with PathRunner(Dataset.of(X, y), {"f": QuickF()}, protocol, n_jobs=2) as runner:
        runner.expect({"f": len(tasks)})
        together = [path.values[0, 0, 0] for path in runner.run(tasks)]
    expected = [fit_path(Dataset.of(X, y), QuickF(), protocol, t).values[0, 0, 0] for t in tasks]
    assert together == expected


class Counts(QuickF):
    """Count fits."""

    fits = 0

    def fit(self, X, y):
        """Rank."""
        Counts.fits += 1
        return super().fit(X, y)


@pytest.mark.parametrize("estimate", [nested, half_stability])
def test_what_was_stopped_goes_on_and_fits_nothing_twice(estimate, tmp_path, monkeypatch):
    """In the same folder: Ctrl-C after 20 paths, then to the end, then from the folder alone."""

    def stop(done, total, left):
        if done == 20:
            raise KeyboardInterrupt

    options = {"sizes": [1, 4], "n_jobs": 1}
    if estimate is nested:
        options |= {"learner": {"mean": NearestMean()}, "folds": 5, "inner": 3, "repeats": 2}
    run = partial(estimate, {"f": Counts()}, table(), **options)
    monkeypatch.setattr(Counts, "fits", 0)
    expected = run()
    n_fits, Counts.fits = Counts.fits, 0
    with pytest.raises(KeyboardInterrupt):
        run(directory=tmp_path, verbose=stop)
    assert Counts.fits == 20
    for _ in range(2):
        result = run(directory=tmp_path)
        assert Counts.fits == n_fits
    names = ("outer_codes", "outer_values", "inner_values") if estimate is nested else ()
    for name in names:
        assert np.array_equal(getattr(result, name), getattr(expected, name), equal_nan=True)
    if estimate is half_stability:
        assert np.array_equal(result.values["f"], expected.values["f"])
        assert np.array_equal(result.null_values["f"], expected.null_values["f"])


def test_another_method_table_or_learner_is_not_taken_from_a_journal(tmp_path):
    X, y = table()
    options = {"sizes": [1], "n_jobs": 1, "splits": 1, "directory": tmp_path}
    for methods, data in (
        ({"f": Counts()}, (X, y)),
        ({"f": Counts(first=1)}, (X, y)),
        ({"f": Counts()}, (X + 1e-9, y)),
        ({"f": Counts()}, (X, y[::-1])),
    ):
        before = Counts.fits
        half_stability(methods, data, **options)
        assert Counts.fits == before + 4


def test_a_folder_that_another_run_uses_is_refused(tmp_path):
    protocol = Protocol({"mean": NearestMean()}, sizes=[1])
    data = Dataset.of(*table())
    with (
        PathRunner(data, {"f": QuickF()}, protocol, directory=tmp_path),
        pytest.raises(StudyError, match="another run is at work"),
    ):
        PathRunner(data, {"f": QuickF()}, protocol, directory=tmp_path)
