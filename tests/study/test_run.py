"""The rows of a study do not depend on interruptions or on the number of processes."""

import contextlib
import importlib.util
import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from featly import FTest
from featly.basics.errors import DataError, ParameterError, StudyError
from featly.study import Bootstrap, Dataset, KFold, LeaveOneOut, Results, Study, Subsampling, store
from featly.study import run as engine
from featly.study.run import Clock
from featly.study.store import ALL_ROWS, SCRATCH, Journal


class ByMeans(BaseEstimator):
    """A ranker by the spread of class means that records its fits."""

    fits: ClassVar[list] = []

    def __init__(self, weight=1.0, n_jobs=None):
        self.weight = weight
        self.n_jobs = n_jobs

    def fit(self, X, y):
        ByMeans.fits.append(len(y))
        X, y = np.asarray(X, dtype=float), np.asarray(y)
        means = np.array([X[y == label].mean(axis=0) for label in np.unique(y)])
        self.order_ = np.argsort(-self.weight * means.std(axis=0), kind="stable")
        self.ranking_ = np.argsort(self.order_) + 1
        return self


class FailsOnRow0(ByMeans):
    """A ranker that fails if row 0 is a training row, and warns if row 1 is."""

    def fit(self, X, y):
        if (X[:, 0] == 100).any():
            raise ValueError("row 0 is here")
        if (X[:, 0] == 101).any():
            warnings.warn("row 1 is here", UserWarning, stacklevel=2)
        return super().fit(X, y)


class FailsAtTwoColumns(ClassifierMixin, BaseEstimator):
    """Predicts the nearest mean, but not with two columns."""

    def __init__(self, refuse=2):
        self.refuse = refuse

    def fit(self, X, y):
        if X.shape[1] == self.refuse:
            raise RuntimeError("two are a crowd")
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        far = ((X[:, None] - self.means_) ** 2).sum(axis=2)
        return self.classes_[far.argmin(axis=1)]


class ReportsMapping(ByMeans):
    """A ranker that warns whether the table is a mapped file, and in which process."""

    def __init__(self, home=0):
        super().__init__()
        self.home = home

    def fit(self, X, y):
        if hasattr(X, "get_columns"):
            X = X.drop("t").to_numpy()
        with open("/proc/self/maps") as maps:
            mapped_files = sorted(
                {name for line in maps for name in FILES if line.rstrip().endswith(name)}
            )
        where = "here" if os.getpid() == self.home else "elsewhere"
        warnings.warn(f"{where}: {mapped_files}", UserWarning, stacklevel=1)
        return super().fit(X, y)


FILES = ("X.npy", "numbers.npy", "data.npy")


class EndsItsProcess(ByMeans):
    """A ranker that ends its process, unless it is that of the tests or a file exists."""

    def __init__(self, home=0, stop=""):
        super().__init__()
        self.home = home
        self.stop = stop

    def fit(self, X, y):
        if os.getpid() != self.home and not os.path.exists(self.stop):
            os._exit(1)
        return super().fit(X, y)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(36, 6)), np.repeat(["a", "b", "c"], 12)
    X[:, 4] += 2 * (y == "b")
    X[:, 2] += 1.0 * (y == "c")
    X[:2, 0] = 100, 101
    return X, y


class FinishedThread:
    """A thread that has finished when it has started."""

    def __init__(self, target, args, daemon):
        self.start = lambda: target(*args)

    def is_alive(self):
        return False

    def join(self):
        pass


@pytest.fixture
def pool(monkeypatch):
    """Start workers after the first fit, and give them work after the second."""
    monkeypatch.setattr(engine, "threading", SimpleNamespace(Thread=FinishedThread))
    monkeypatch.setattr(engine, "START_SECONDS", 0.0)
    monkeypatch.setattr(engine, "TRIAL_SECONDS", 0.0)
    monkeypatch.setattr(engine, "TRIAL_FITS", 0)


@pytest.fixture(autouse=True)
def _forget():
    ByMeans.fits.clear()


def plan(table, methods=None, **options):
    options = {"splits": Subsampling(8), "sizes": [1, 2, 4], "learner": GaussianNB(), **options}
    return Study({"means": ByMeans()} if methods is None else methods, table, **options)


def assert_same(first, second):
    """Assert that two results are equal but for the seconds."""
    assert first.rows.drop("seconds").equals(second.rows.drop("seconds"))
    assert first.rankings.drop("select_seconds").equals(second.rankings.drop("select_seconds"))


def files(folder):
    return sorted(path.name for path in folder.iterdir())


WHOLE = ["predictions.sqlite", "rankings.parquet", "rows.parquet", "study.json"]


# ---- one run -------------------------------------------------------------------------------------
def test_one_row_a_fit_and_size(table, tmp_path):
    study = plan({"one": table, "two": table}, {"means": ByMeans(), "none": "none"}, null=1)
    results = study.run(tmp_path / "deep" / "folder")
    assert study.results is results
    assert results.rankings.height == 2 * 2 * 8 * 2
    assert results.rows.height == 2 * 8 * 2 * (3 + 1)
    assert results.rankings.select("dataset", "method", "split", "null_draw").is_unique().all()
    assert len(ByMeans.fits) == 2 * 8 * 2
    assert files(tmp_path / "deep" / "folder") == WHOLE
    assert repr(results) == "Results(2 methods, 2 datasets, 64 fits, 128 rows)"
    assert (results.rankings["n_train"] + results.rankings["n_test"] == 36).all()
    assert results.rows["confusion"].list.sum().to_list() == [
        n for n, k in zip(results.rankings["n_test"], results.rankings["subset"], strict=True)
        for _ in range(1 if k else 3)
    ]  # fmt: skip


def test_a_finished_study_is_read(table, tmp_path):
    first = plan(table).run(tmp_path)
    ByMeans.fits.clear()
    calls = []
    again = plan(table).run(tmp_path, verbose=lambda *arguments: calls.append(arguments))
    assert ByMeans.fits == []
    assert calls == []
    assert first.rows.equals(again.rows)  # the seconds, too
    opened = Results.open(tmp_path)
    assert opened.rows.equals(first.rows)
    assert opened.about == again.about == first.about


def test_without_a_folder_nothing_is_stored(table, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    results = plan(table).run()
    assert results.rows.height == 24
    assert files(tmp_path) == []
    with pytest.raises(StudyError, match="has not been run yet"):
        plan(table).summary()


def test_splits_are_those_of_the_splitter(table):
    X, y = table
    for splits in (Subsampling(5), KFold(3), LeaveOneOut(), Bootstrap(4, estimator="out-of-bag")):
        fits = plan(table, splits=splits).run().rankings
        expected = list(splits.split(None, y))
        assert fits["split"].to_list() == [split.number for split in expected]
        for order, split in zip(fits["order"], expected, strict=True):
            own = ByMeans().fit(X[split.train], y[split.train]).order_
            assert order.to_list() == own.tolist()


def test_the_seed_of_the_study_is_used_for_estimators_without_one(table):
    forest = RandomForestClassifier(n_estimators=2, max_features=1)
    matrices = [
        plan(table, learner=forest, sizes=[4], random_state=state).run().rows["confusion"].to_list()
        for state in (0, 0, 1)
    ]
    assert matrices[0] == matrices[1] != matrices[2]


def test_row_groups_are_never_divided(table):
    X, y = table
    groups = np.arange(36) // 3
    data = Dataset.of(X, y, row_groups=groups)
    seen = list(KFold(4).split(None, y, row_groups=groups))
    assert not any(set(groups[split.train]) & set(groups[split.test]) for split in seen)
    fits = plan(data, splits=KFold(4)).run().rankings
    for order, split in zip(fits["order"], seen, strict=True):
        assert order.to_list() == ByMeans().fit(X[split.train], y[split.train]).order_.tolist()


# ---- failures ------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_failed_fit_is_a_row_and_the_others_go_on(table, tmp_path, request, n_jobs):
    if n_jobs == 2:
        request.getfixturevalue("pool")
    _X, y = table
    methods = {"fickle": FailsOnRow0(), "means": ByMeans()}
    study = plan(
        table, methods, splits=KFold(4), learner={"nb": GaussianNB(), "picky": FailsAtTwoColumns()}
    )
    results = study.run(tmp_path, n_jobs=n_jobs)
    works = [split.number for split in KFold(4).split(None, y) if 0 in split.test]
    assert len(works) == 1
    fits = results.rankings.filter(pl.col("method") == "fickle")
    assert fits.filter(pl.col("failure").is_null())["split"].to_list() == works
    assert set(fits["failure"].drop_nulls()) == {"ValueError: row 0 is here"}
    assert fits.filter(pl.col("failure").is_not_null())["order"].null_count() == 3
    rows = results.rows
    assert rows.filter(pl.col("method") == "fickle")["split"].unique().to_list() == works
    crowd = rows.filter((pl.col("learner") == "picky") & (pl.col("size") == 2))
    assert crowd["failure"].to_list() == ["RuntimeError: two are a crowd"] * 5
    assert crowd["bcr"].null_count() == crowd["confusion"].null_count() == 5
    fine = rows.filter((pl.col("learner") == "nb") | (pl.col("size") != 2))
    assert fine["bcr"].null_count() == fine["failure"].drop_nulls().len() == 0
    failures = results.failures
    assert failures.height == 3 + 5
    assert failures["size"].to_list() == [None] * 3 + [2] * 5
    assert failures["learner"].to_list() == [None] * 3 + ["picky"] * 5
    assert results.notes == ["UserWarning: row 1 is here"]
    summary = results.summary()
    assert dict(summary.select("method", "n_failed").filter(summary["learner"] == "nb").rows()) == {
        "fickle": 3, "means": 0
    }  # fmt: skip


def test_studies_in_which_every_fit_fails(table):
    results = plan(table, {"fickle": FailsOnRow0()}, splits=LeaveOneOut()).run()
    assert results.failures.height == 35
    everything = plan(table, learner=FailsAtTwoColumns(refuse=1), sizes=[1]).run()
    assert everything.failures.height == 8
    with pytest.raises(DataError, match="no fit of the study succeeded: RuntimeError: two are"):
        everything.summary()


def test_a_method_that_always_fails_has_a_row(table):
    X, y = table
    bad = X.copy()
    bad[:, 0] = 100
    summary = plan((bad, y), {"fickle": FailsOnRow0(), "means": ByMeans()}).run().summary()
    assert summary.select("method", "size", "bcr", "n_failed").rows()[0] == (
        "fickle",
        None,
        None,
        8,
    )
    assert summary["bcr"][1] > 0.3


# ---- many processes ------------------------------------------------------------------------------
def test_results_do_not_depend_on_processes(table, pool):
    X, y = table
    rng = np.random.default_rng(3)
    mixed = pl.DataFrame(X.astype(np.float32)[:, :3]).with_columns(
        pl.Series("text", rng.choice(["u", "v", None], 36).tolist()),
        pl.Series("whole", rng.integers(0, 5, 36), dtype=pl.Int16),
        pl.Series("incomplete", np.where(rng.random(36) < 0.2, np.nan, X[:, 4])),
    )
    two = y != "c"
    datasets = {
        "array": table,
        "sparse": (scipy.sparse.csr_array(np.where(X > 0, X, 0.0)), y),
        "mixed": (mixed.filter(two), y[two]),
    }
    methods = {
        "f-test": "f-test",
        "svm-rfe": "svm-rfe",
        "best": SelectKBest(k=2),
        "rfe": RFE(LinearSVC(random_state=0), n_features_to_select=2),
        "none": "none",
    }
    study = Study(methods, datasets, Subsampling(4), sizes=[1, 3, 6], null=1, fill=True,
                  learner=["linear-svm", "tree"])  # fmt: skip
    alone = study.run(n_jobs=1)
    assert alone.rows.height > 200
    assert_same(study.run(n_jobs=2), alone)


@pytest.mark.parametrize("options", [
    {"selection": "outside", "null": 1}, {"splits": Bootstrap(6)}, {"splits": LeaveOneOut()}
])  # fmt: skip
def test_protocols_do_not_depend_on_processes(table, pool, tmp_path, options):
    alone = plan(table, {"means": ByMeans(), "fickle": FailsOnRow0()}, **options).run(n_jobs=1)
    n = len(ByMeans.fits)
    other = plan(table, {"means": ByMeans(), "fickle": FailsOnRow0()}, **options).run(
        tmp_path, n_jobs=2
    )
    assert_same(alone, other)
    assert len(ByMeans.fits) - n < n  # the others were done elsewhere
    assert files(tmp_path) == WHOLE


def test_tables_are_mapped_not_copied(table, pool, tmp_path):
    X, y = table
    mixed = pl.DataFrame(X).with_columns(pl.Series("t", ["u", "v", "w"] * 12).cast(pl.Categorical))

    datasets, methods = {"a": (X, y), "b": (mixed, y)}, {"m": ReportsMapping(os.getpid())}
    notes = plan(datasets, methods, splits=Subsampling(6)).run(tmp_path, n_jobs=2).notes
    elsewhere = [note for note in notes if "elsewhere" in note]
    assert elsewhere
    assert "X.npy" in " ".join(elsewhere)
    assert "numbers.npy" in " ".join(elsewhere)
    assert all("npy" in note for note in elsewhere)


@pytest.mark.thorough
def test_a_process_that_dies(table, pool, tmp_path):
    methods = {"means": ByMeans(), "deadly": EndsItsProcess(os.getpid(), str(tmp_path / "stop"))}
    study = plan(table, methods)
    with pytest.raises(StudyError, match=r"a process of the study died.*run again to go on"):
        study.run(tmp_path / "s", n_jobs=2)
    assert not any(name.startswith(SCRATCH) for name in files(tmp_path / "s"))
    partial = Results.open(tmp_path / "s")  # what is done can be looked at
    assert 1 <= partial.rankings.height < 16
    (tmp_path / "stop").touch()
    assert_same(study.run(tmp_path / "s", n_jobs=2), plan(table, methods).run(n_jobs=1))


def test_little_work_is_done_in_this_process(table):
    plan(table, splits=Subsampling(3)).run(n_jobs=2)
    assert len(ByMeans.fits) == 3


def test_wrong_n_jobs_are_refused(table):
    for n_jobs in (0, 1.5, True):
        with pytest.raises(ParameterError, match="n_jobs"):
            plan(table).run(n_jobs=n_jobs)


# ---- stopped and resumed -------------------------------------------------------------------------
class Interrupted(ByMeans):
    """Ctrl-C at the fifth fit."""

    left: ClassVar[list] = []

    def fit(self, X, y):
        Interrupted.left.pop()
        if not Interrupted.left:
            raise KeyboardInterrupt
        return super().fit(X, y)


def test_finished_fits_stay_after_ctrl_c(table, tmp_path):
    Interrupted.left[:] = range(5)
    with pytest.raises(KeyboardInterrupt):
        plan(table, {"m": Interrupted()}).run(tmp_path, n_jobs=1)
    assert Results.open(tmp_path).rankings.height == 4
    Interrupted.left[:] = range(100)
    ByMeans.fits.clear()
    results = plan(table, {"m": Interrupted()}).run(tmp_path, n_jobs=1)
    assert len(ByMeans.fits) == 4
    Interrupted.left[:] = range(100)
    assert_same(results, plan(table, {"m": Interrupted()}).run(n_jobs=1))


def test_killed_between_the_files_of_a_finished_study(table, tmp_path, monkeypatch):
    """Rows are there, rankings are not: the journal still has all."""
    undisturbed = plan(table).run()
    for step in range(3):
        folder = tmp_path / str(step)
        count = 0

        def replace(source, target, original=os.replace, step=step, folder=folder):
            nonlocal count
            count += str(target).startswith(str(folder / "r")) or str(target).endswith("json")
            if count > step and SCRATCH not in str(target):
                raise SystemExit("killed")
            original(source, target)

        with monkeypatch.context() as patched:
            patched.setattr(store.os, "replace", replace)
            with pytest.raises(SystemExit):
                plan(table).run(folder)
        assert "journal.sqlite" in files(folder)
        assert Results.open(folder).rows.height == 24
        ByMeans.fits.clear()
        assert_same(plan(table).run(folder), undisturbed)
        assert ByMeans.fits == []
        assert files(folder) == WHOLE


def test_tables_that_a_killed_run_has_left_are_removed(table, tmp_path):
    left = tmp_path / f"{SCRATCH}x" / "0"
    left.mkdir(parents=True)
    (left / "X.npy").write_text("large")
    plan(table).run(tmp_path)
    assert files(tmp_path) == WHOLE


def test_killed_before_the_journal_was_removed(table, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Journal, "discard", lambda self: None)
        first = plan(table).run(tmp_path)
    assert "journal.sqlite" in files(tmp_path)
    assert plan(table).run(tmp_path).rows.equals(first.rows)
    assert files(tmp_path) == WHOLE


def test_a_second_run_at_the_same_time(table, tmp_path):
    with Journal(tmp_path), pytest.raises(StudyError, match="another run is at work"):
        plan(table).run(tmp_path)

    started, finish = threading.Event(), threading.Event()

    def wait(done, total, left):
        started.set()
        finish.wait(20)

    first = threading.Thread(target=lambda: plan(table).run(tmp_path, n_jobs=1, verbose=wait))
    first.start()
    try:
        assert started.wait(20)
        with pytest.raises(StudyError, match="another run is at work"):
            plan(table).run(tmp_path)
    finally:
        finish.set()
        first.join()
    assert plan(table).run(tmp_path).rows.height == 24


def test_another_run_that_finished_meanwhile(table, tmp_path, monkeypatch):
    """The study is not finished at the first look, but is when this run may write."""
    looked = []

    def look(folder, original=engine.read_compacted):
        if not looked:
            looked.append(original(folder))
            plan(table).run(folder)
            ByMeans.fits.clear()
            return looked[0]
        return original(folder)

    monkeypatch.setattr(engine, "read_compacted", look)
    results = plan(table).run(tmp_path)
    assert looked == [None]
    assert ByMeans.fits == []
    assert results.rows.height == 24
    assert files(tmp_path) == WHOLE


# ---- SIGKILL -------------------------------------------------------------------------------------
SCRIPT = """
import os, sys, time
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from featly.study import Study, Subsampling, run as engine

class Slow(BaseEstimator):
    def __init__(self, sign=1):
        self.sign = sign

    def fit(self, X, y):
        time.sleep(float(os.environ.get("FEATLY_TEST_NAP", 0)))
        if X[0, 0] != 5:
            raise ValueError("row 0 is not here")
        apart = abs(X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
        self.order_ = np.argsort(-self.sign * apart, kind="stable")
        self.ranking_ = np.argsort(self.order_) + 1
        return self

class Mean(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        self.middle_ = [X[y == k].mean(axis=0) for k in (0, 1)]
        return self

    def predict(self, X):
        far = [((X - middle) ** 2).sum(axis=1) for middle in self.middle_]
        return (far[1] < far[0]).astype(int)

def study():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 12)), np.arange(40) % 2
    X[:, 3] += y
    X[0, 0] = 5
    methods = {"slow": Slow(), "worst": Slow(-1)}
    return Study(methods, (X, y), Subsampling(60, test_size=0.2), sizes=[1, 3, 12],
                 learner=Mean(), null=1)

def run(folder, n_jobs):
    os.setsid()
    print("begun", os.getpid(), flush=True)
    study().run(folder, n_jobs=n_jobs, verbose=lambda done, total, left: print(done, flush=True))
    print("finished", flush=True)

if __name__ == "__main__":
    engine.START_SECONDS, engine.TRIAL_SECONDS = 0.0, 0.15
    for _ in sys.stdin:  # importing takes longer than the study: it is done once
        child = os.fork()
        if child == 0:
            run(sys.argv[1], int(sys.argv[2]))
            os._exit(0)
        print("ended", os.waitpid(child, 0)[1], flush=True)
"""


def kill_and_finish(folder, n_jobs, n_kills, seed):
    """Run in a process that is killed several times; return the results and the number of kills."""
    script = folder / "killed.py"
    script.write_text(textwrap.dedent(SCRIPT))
    chance, died = random.Random(seed), 0
    with subprocess.Popen(
        [sys.executable, script, folder / "study", str(n_jobs)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "FEATLY_TEST_NAP": "0.008"},
    ) as parent:
        for kill in [*range(n_kills), None]:
            print("go", file=parent.stdin, flush=True)
            word, process = parent.stdout.readline().split()
            assert word == "begun"
            line = ""
            if kill is not None:
                if kill % 2:  # at some fit ...
                    for _ in range(chance.randrange(1, 60)):
                        line = parent.stdout.readline()
                        if line.startswith(("finished", "ended")):
                            break
                    time.sleep(chance.uniform(0, 0.01))
                else:  # ... or at any time: processes may be starting, or files be written
                    time.sleep(chance.uniform(0.1, 1.5))
                with contextlib.suppress(ProcessLookupError):  # it may have finished
                    os.kill(int(process), signal.SIGKILL)
            while not line.startswith("ended"):
                line = parent.stdout.readline()
                assert line, "the script failed"
            died += line.split()[1] == str(int(signal.SIGKILL))
            with contextlib.suppress(ProcessLookupError):  # what the dead process had started
                os.killpg(int(process), signal.SIGKILL)
        assert line == "ended 0\n"
        parent.stdin.close()
    return Results.open(folder / "study"), died


def check_kills(folder, n_jobs, n_kills, seed=0):
    results, died = kill_and_finish(folder, n_jobs, n_kills, seed)
    assert died > 0
    spec = importlib.util.spec_from_file_location("killed", folder / "killed.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    undisturbed = module.study().run(n_jobs=1)
    assert undisturbed.rankings.height == 240
    assert 0 < undisturbed.failures.height < 100
    assert_same(results, undisturbed)
    assert files(folder / "study") == WHOLE


@pytest.mark.thorough
@pytest.mark.parametrize(("n_jobs", "n_kills"), [(1, 3), (2, 2)])
def test_killed_at_random_instants(tmp_path, n_jobs, n_kills):
    check_kills(tmp_path, n_jobs, n_kills)


@pytest.mark.thorough
def test_processes_end_with_the_one_that_started_them(tmp_path):
    script = tmp_path / "killed.py"
    script.write_text(SCRIPT)
    with subprocess.Popen(
        [sys.executable, script, tmp_path / "study", "2"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "FEATLY_TEST_NAP": "0.02"},
    ) as parent:
        print("go", file=parent.stdin, flush=True)
        process = int(parent.stdout.readline().split()[1])
        for _ in range(60):  # by then the others have work
            parent.stdout.readline()
        os.kill(process, signal.SIGKILL)
        try:
            for _ in range(300):
                os.killpg(process, 0)
                time.sleep(0.1)
            pytest.fail("processes are left")
        except ProcessLookupError:
            pass
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
        parent.stdin.close()


@pytest.mark.thorough
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_killed_twenty_times(tmp_path, n_jobs):
    check_kills(tmp_path, n_jobs, 20, seed=1)


# ---- one folder, several plans -------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"splits": Subsampling(9)}, r"holds a study with splits = Subsampling\(8.*Subsampling\(9"),
        ({"splits": Subsampling(8, random_state=1)}, "splits = .*random_state=1"),
        ({"sizes": [1, 2]}, r"sizes = \[1, 2, 4\], this one has sizes = \[1, 2\]"),
        ({"learner": GaussianNB(var_smoothing=0.1)}, "learners = .*var_smoothing=0.1"),
        ({"selection": "outside"}, "selection = inside, this one has selection = outside"),
        ({"fill": True}, "fill = False, this one has fill = True"),
        ({"random_state": 3}, "random_state = 0, this one has random_state = 3"),
        ({"methods": {"means": ByMeans(weight=-1)}}, r"method 'means' is not what it was.*-1"),
        ({"table": "moved"}, "dataset 'data' is not what it was"),
    ],
)
@pytest.mark.parametrize("finished", [True, False])
def test_another_plan_in_the_folder(table, tmp_path, change, message, finished):
    study = plan(table)
    if finished:
        study.run(tmp_path)
    else:
        with Journal(tmp_path) as journal:
            journal.describe(study.describe())
    before = files(tmp_path)
    change = dict(change)
    other = (table[0] + 1, table[1]) if change.pop("table", None) else table
    with pytest.raises(StudyError, match=message):
        plan(other, change.pop("methods", None), **change).run(tmp_path)
    assert files(tmp_path) == before


def test_parameters_that_do_not_change_a_result_may_differ(table, tmp_path):
    first = plan(table).run(tmp_path)
    ByMeans.fits.clear()
    again = plan(table, {"means": ByMeans(n_jobs=1)}, metrics=["sensitivity"], title="new")
    results = again.run(tmp_path, n_jobs=1)
    assert ByMeans.fits == []
    assert results.rows["bcr"].to_list() == first.rows["bcr"].to_list()
    assert "sensitivity" in results.rows.columns


def test_functions_that_give_other_sizes(table, tmp_path):
    plan(table, sizes=lambda p: [1, p]).run(tmp_path)
    plan(table, sizes=lambda p: [p, 1]).run(tmp_path)
    with pytest.raises(StudyError, match="dataset 'data' is not what it was"):
        plan(table, sizes=lambda p: [1, p - 1]).run(tmp_path)


def test_only_new_fits_are_done(table, tmp_path):
    X, y = table
    more = {"data": table, "other": (X[:, ::-1], y)}
    plan(table).run(tmp_path)
    steps = [
        ({"methods": {"means": ByMeans(), "worst": ByMeans(-1)}, "table": table}, 8),
        ({"methods": {"means": ByMeans()}, "table": more}, 8),
        ({"methods": {"means": ByMeans(), "worst": ByMeans(-1)}, "table": more}, 8),
        ({"methods": {"means": ByMeans()}, "table": more, "null": 2}, 32),
        ({"methods": {"means": ByMeans(), "worst": ByMeans(-1)}, "table": more, "null": 2}, 32),
        ({"methods": {"worst": ByMeans(-1)}, "table": table, "null": 1}, 0),
        ({"methods": {"third": ByMeans(2)}, "table": table}, 8),
        ({"methods": {"means": ByMeans()}, "table": table}, 0),
    ]  # fmt: skip
    for options, new in steps:
        ByMeans.fits.clear()
        results = plan(**options).run(tmp_path)
        assert len(ByMeans.fits) == new
        assert files(tmp_path) == WHOLE
        assert_same(results, plan(**options).run())
    # no earlier fit is lost, nor its plan
    everything = Results.open(tmp_path)
    assert list(everything.about["methods"]) == ["means", "worst", "third"]
    assert everything.rankings.height == 2 * 2 * 8 * 3 + 8
    assert everything.curves().height > 0
    with pytest.raises(StudyError, match="method 'worst' is not what it was"):
        plan(table, {"worst": ByMeans(-2)}).run(tmp_path)


def test_a_plan_that_was_stopped_and_another_after_it(table, tmp_path):
    Interrupted.left[:] = range(100)
    plan(table, {"a": ByMeans()}).run(tmp_path)
    Interrupted.left[:] = range(4)
    with pytest.raises(KeyboardInterrupt):
        plan(table, {"a": ByMeans(), "b": Interrupted()}).run(tmp_path, n_jobs=1)
    ByMeans.fits.clear()
    plan(table, {"a": ByMeans()}).run(tmp_path)
    assert ByMeans.fits == []
    plan(table, {"a": ByMeans(), "c": ByMeans(-1)}).run(tmp_path)
    assert len(ByMeans.fits) == 8
    assert files(tmp_path) == WHOLE
    Interrupted.left[:] = range(100)
    ByMeans.fits.clear()
    results = plan(table, {"b": Interrupted()}).run(tmp_path)
    assert len(ByMeans.fits) == 5  # three of b's were done before it was stopped
    Interrupted.left[:] = range(100)
    assert_same(results, plan(table, {"b": Interrupted()}).run())


def test_a_folder_that_holds_no_study(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(StudyError, match="holds no study"):
            Results.open(folder)
    with Journal(tmp_path):
        pass
    with pytest.raises(StudyError, match="holds no study"):
        Results.open(tmp_path)
    assert not (tmp_path / "nowhere").exists()


# ---- selection on all rows -----------------------------------------------------------------------
def test_selection_outside_is_done_once_on_all_rows(table, tmp_path):
    X, y = table
    study = plan(table, {"means": ByMeans(), "best": SelectKBest(k=2)}, selection="outside", null=1)
    results = study.run(tmp_path)
    assert ByMeans.fits == [36, 36]
    whole = ByMeans().fit(X, y).order_.tolist()
    for order in results.orders(method="means"):
        assert order.tolist() == whole
    inside = plan(table, null=1).run()
    assert any(order.tolist() != whole for order in inside.orders())
    shuffled = Dataset.of(X, y).shuffled(1, 0)
    null = results.rankings.filter((pl.col("null_draw") == 1) & (pl.col("method") == "means"))
    assert {tuple(order) for order in null["order"].to_list()} == {
        tuple(ByMeans().fit(X, shuffled.y).order_.tolist())
    }
    best = np.flatnonzero(SelectKBest(k=2).fit(X, y).get_support()).tolist()
    assert {tuple(o.tolist()) for o in results.orders(method="best")} == {tuple(best)}
    assert set(results.rankings["split"]) == {ALL_ROWS, *range(8)}
    # learners are still trained on the training part alone
    split = next(Subsampling(8).split(None, y))
    row = results.rows.filter(
        (pl.col("split") == 0) & (pl.col("method") == "means") & (pl.col("size") == 2)
        & (pl.col("null_draw") == 0)
    )  # fmt: skip
    model = GaussianNB().fit(X[split.train][:, whole[:2]], y[split.train])
    right = (model.predict(X[split.test][:, whole[:2]]) == y[split.test]).mean()
    assert row["accuracy"].to_list() == [right]


def test_a_selection_on_all_rows_that_fails(table):
    results = plan(table, {"fickle": FailsOnRow0(), "means": ByMeans()}, selection="outside").run()
    failures = results.failures.filter(pl.col("method") == "fickle")["failure"].to_list()
    assert failures == ["ValueError: row 0 is here"] + ["no selection: it failed on all rows"] * 8
    assert results.curves()["method"].unique().to_list() == ["means"]


# ---- progress ------------------------------------------------------------------------------------
def test_progress_counts_fits_and_estimates_the_time_left(table, tmp_path):
    calls = []
    plan(table, {"a": ByMeans(), "none": "none"}).run(tmp_path, verbose=lambda *t: calls.append(t))
    assert [done for done, _, _ in calls] == list(range(1, 17))
    assert {total for _, total, _ in calls} == {16}
    assert calls[0][2] is None  # no fit of "none" is done yet
    assert all(left >= 0 for _, _, left in calls[1:])
    assert calls[-1][2] == 0
    calls.clear()
    more = {"a": ByMeans(), "none": "none", "b": ByMeans(-1)}
    plan(table, more).run(tmp_path, verbose=lambda *t: calls.append(t))
    assert [t[:2] for t in calls] == [(16 + k, 24) for k in range(1, 9)]
    assert calls[0][2] is not None  # finished fits need no time
    calls.clear()
    plan(table, more, null=2).run(tmp_path, verbose=lambda *t: calls.append(t))
    assert [t[:2] for t in calls] == [(24 + k, 72) for k in range(1, 49)]


@pytest.mark.parametrize("options", [{"selection": "outside"}, {"splits": Bootstrap(5)}])
def test_progress_counts_fits_on_all_rows(table, options):
    calls = []
    plan(table, {"a": ByMeans(), "f": FailsOnRow0()}, **options).run(
        verbose=lambda *t: calls.append(t)
    )
    assert calls[-1][0] == calls[-1][1] == len(calls)


def test_a_bar_on_standard_error(table, capsys):
    plan(table, title="my study").run(verbose=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "my study" in captured.err
    assert "8/8 fits" in captured.err
    assert "about 0 s left" in captured.err
    plan(table).run()
    assert capsys.readouterr() == ("", "")


def test_the_clock_divides_by_processes_and_forgets_the_first():
    clock = Clock()
    clock.expect("m", 10)
    clock.finish("m", 9.0)  # the first fit may have imported something
    assert clock.left() == 81.0
    clock.finish("m", 1.0)
    clock.finish("m", 3.0)
    assert clock.left() == 14.0
    clock.workers = 2
    assert clock.left() == 7.0
    for _ in range(7):
        clock.skip("m")
    assert (clock.left(), clock.done, clock.total) == (0.0, 10, 10)


# ---- wrong plans ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": []}, "at least one method"),
        ({"methods": "f-tset"}, "no method 'f-tset'"),
        ({"methods": ["f-test", FTest()]}, "two methods are called 'f-test'"),
        ({"methods": FTest}, r"FTest is a class: write FTest\(\)"),
        ({"methods": 3}, "3 is no method"),
        ({"methods": {"size": "f-test"}}, "no method can be called 'size'"),
        ({"table": {}}, "at least one dataset"),
        ({"sizes": [50]}, "dataset 'data' has 6 columns only"),
        ({"sizes": "some"}, "sizes='some'"),
        ({"learner": "svn"}, "no learner 'svn'"),
        ({"learner": GaussianNB}, r"GaussianNB is a class: write GaussianNB\(\)"),
        ({"learner": object()}, "has no fit and predict"),
        ({"learner": [GaussianNB(), GaussianNB()]}, "two learners"),
        ({"metrics": ["area"]}, "no metric 'area'"),
        ({"metrics": "success"}, "'success' needs a dataset of which the truth is known"),
        ({"selection": "both"}, "selection='both'"),
        ({"resample": "smote"}, "resample='smote'"),
        ({"null": -1}, "null=-1"),
        ({"null": True}, "null=True"),
        ({"random_state": None}, "random_state=None"),
        ({"splits": KFold}, r"write KFold\(\)"),
    ],
)
def test_wrong_plans_are_refused(table, change, message):
    change = dict(change)
    with pytest.raises(ParameterError, match=message):
        plan(change.pop("table", table), change.pop("methods", None), **change)


def test_wrong_datasets_are_refused(table):
    X, y = table
    with pytest.raises(ParameterError, match="two datasets are called 'data'"):
        plan([table, table])
    with pytest.raises(DataError, match=r"dataset 'data': give \(X, y\)"):
        plan((X, y, y))
    sparse = scipy.sparse.csr_array(np.where(X > 0, X, np.nan))
    with pytest.raises(DataError, match="'data' is sparse, and missing values in it cannot"):
        plan((sparse, y), fill=True)
    two = [Dataset.of(X, y, name=name) for name in "ba"]
    assert list(plan(two).datasets) == ["b", "a"]


def test_the_description_of_a_plan(table):
    study = plan(table, {"m": RFE(LinearSVC()), "none": None}, sizes=np.array([1, np.int64(2)]))
    about = study.describe()
    assert about["methods"]["m"].startswith("RFE(estimator=LinearSVC(C=1.0")
    assert about["methods"]["none"] == "none"
    assert about["sizes"] == "[1, 2]"
    assert about["datasets"]["data"]["classes"] == {"a": 12, "b": 12, "c": 12}
    assert repr(study) == "Study(2 methods, 1 datasets, Subsampling(8, test_size=0.1), GaussianNB)"
    assert set(about["versions"]) >= {"featly", "python", "numpy", "scikit-learn"}
