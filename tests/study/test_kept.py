"""Predictions that a study keeps: what is written, computed from it, and refused."""

import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as peers
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from featly import FTest, Study
from featly.basics.errors import DataError, ParameterError, StudyError
from featly.learners import LinearSVM, make_learner
from featly.study import KFold, LeaveOneOut, Results, Subsampling
from featly.study.kept import KEPT_BYTES, bytes_per_row
from featly.study.predict import predict_sizes
from featly.study.splits import Bootstrap

OLD = Path(__file__).parent / "old_study"


class Labels(ClassifierMixin, BaseEstimator):
    """Predicts classes, and nothing else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return self.classes_[(X[:, 0] > 0).astype(int)]


class Always(Labels):
    """Predicts the second class for every row."""

    def predict(self, X):
        return np.full(len(X), self.classes_[1])


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], [20, 40])
    X = rng.normal(size=(60, 6))
    X[:, 2] += 1.5 * (y == "ill")
    return X, y


@pytest.fixture(scope="module")
def results(table):
    return Study(["f-test", "none"], table, KFold(4), sizes=[1, 3], learner="logistic",
                 balanced=False, null=1).run(n_jobs=1)  # fmt: skip


def by_hand(table, learner, size, metric):
    """Compute a metric of every fold of a study by scikit-learn."""
    X, y = table
    values = []
    for split in KFold(4).split(None, y):
        order = FTest().fit(X[split.train], y[split.train]).order_[:size]
        trained = learner.fit(X[split.train][:, order], y[split.train])
        values.append(metric(trained, X[split.test][:, order], y[split.test] == "well"))
    return values


def split_column(results, metric, method="f-test", size=3, draw=0):
    rows = results.rows.with_columns(results.values(metric).alias("v"))
    keep = (rows["method"] == method) & (rows["size"] == size) & (rows["null_draw"] == draw)
    return rows.filter(keep).sort("split")["v"].to_list()


@pytest.mark.parametrize(
    ("metric", "peer"),
    [
        ("auc", peers.roc_auc_score),
        ("pr_auc", peers.average_precision_score),
        ("brier", peers.brier_score_loss),
        ("log_loss", peers.log_loss),
    ],
)
def test_metrics_of_every_split_are_scikit_learns(results, table, metric, peer):
    expected = by_hand(table, make_learner("logistic"), 3,
                       lambda learner, X, y: peer(y, learner.predict_proba(X)[:, 1]))  # fmt: skip
    assert split_column(results, metric) == pytest.approx(expected, rel=1e-5)
    assert results.curves(metric).height == 3
    assert results.null_test(metric).height == 2


def test_decision_values_where_there_are_no_probabilities(table):
    results = Study("f-test", table, KFold(4), sizes=[3], balanced=False).run(n_jobs=1)

    def area(svm, X, y):
        return peers.roc_auc_score(y, svm.decision_function(X))

    expected = by_hand(table, LinearSVM(), 3, area)
    assert split_column(results, "auc") == pytest.approx(expected, rel=1e-6)
    with pytest.raises(ParameterError, match="needs probabilities, and 'linear-svm' gave decision"):
        results.summary("brier")
    with pytest.raises(ParameterError, match="calibration curve needs probabilities"):
        results.calibration(3)


def test_auc_and_bcr_stand_side_by_side(results, table):
    for metric, other in (("bcr", "auc"), ("auc", "bcr")):
        summary = results.summary(metric, rule=3)
        at = summary.columns.index(metric)
        assert summary.columns[at : at + 4] == [metric, "lower", "upper", other]
        curve = results.curves(other).filter(results.curves(other)["size"] == 3)
        assert summary[other][0] == pytest.approx(curve["mean"][0])
    assert "auc" not in results.summary("accuracy").columns
    three = np.array(["a", "b", "c"])[np.arange(60) % 3]
    many = Study("f-test", (table[0], three), KFold(3), sizes=[2]).run(n_jobs=1)
    assert "auc" not in many.summary().columns
    plain = Study("f-test", table, KFold(3), sizes=[2], learner=Labels()).run(n_jobs=1)
    assert "auc" not in plain.summary().columns


def test_the_metric_of_the_plan_is_the_default(table):
    study = Study("f-test", table, KFold(4), sizes=[1, 3], metric="auc")
    assert study.metrics == ("auc", "bcr", "accuracy")
    results = study.run(n_jobs=1)
    assert results.metric == "auc"
    assert results.summary().equals(results.summary("auc"))
    assert results.curves().equals(results.curves("auc"))
    assert results.compare("auc", size=3).metric == results.compare(size=3).metric
    assert results.choose_size("best") == results.choose_size("best", metric="auc")
    assert "auc" in results.rows.columns


def test_many_classes(table):
    rng = np.random.default_rng(1)
    y = np.array(["a", "b", "c"])[np.arange(60) % 3]
    X = rng.normal(size=(60, 3)) + (y == "a")[:, None]
    bayes = Study("none", (X, y), KFold(3), learner="naive-bayes", balanced=False).run(n_jobs=1)
    expected = []
    for split in KFold(3).split(None, y):
        trained = make_learner("naive-bayes").fit(X[split.train], y[split.train])
        p = trained.predict_proba(X[split.test])
        expected.append(peers.roc_auc_score(y[split.test], p, multi_class="ovo"))
    assert bayes.values("auc").to_list() == pytest.approx(expected, rel=1e-6)
    assert bayes.predicted_rows().columns[4:] == [
        "probability_a", "probability_b", "probability_c"
    ]  # fmt: skip
    results = Study("none", (X, y), KFold(3)).run(n_jobs=1)
    assert results.predicted_rows().columns[4:] == ["decision_a", "decision_b", "decision_c"]
    assert 0.5 < results.pooled_metric("auc") < 1
    with pytest.raises(DataError, match="is of two classes, and there are 3"):
        results.at_thresholds()


# ---- all splits together -------------------------------------------------------------------------
def test_predicted_rows_are_those_of_the_splits(results, table):
    rows = results.predicted_rows(3, method="f-test")
    assert rows.columns == ["split", "row", "truth", "predicted", "probability"]
    splits = list(KFold(4).split(None, table[1]))
    expected = np.concatenate([split.test for split in splits])
    assert rows["row"].to_list() == expected.tolist()
    assert rows["truth"].to_list() == table[1][expected].tolist()
    assert ((rows["probability"] > 0.5) == (rows["predicted"] == "well")).all()
    with pytest.raises(DataError, match="no predictions of 'f-test' with 2 columns"):
        results.predicted_rows(2, method="f-test")
    with pytest.raises(ParameterError, match="say which of the methods"):
        results.predicted_rows(3)
    with pytest.raises(ParameterError, match="there is no 'metod'"):
        results.predicted_rows(3, metod="f-test")


def test_pooled_metrics(results):
    rows = results.predicted_rows(3, method="f-test")
    y, p = rows["truth"] == "well", rows["probability"].to_numpy()
    which = {"size": 3, "method": "f-test"}
    assert results.pooled_metric("auc", **which) == pytest.approx(peers.roc_auc_score(y, p))
    assert results.pooled_metric("brier", **which) == pytest.approx(peers.brier_score_loss(y, p))
    bcr = peers.balanced_accuracy_score(y, rows["predicted"] == "well")
    assert results.pooled_metric("bcr", **which) == pytest.approx(bcr)
    assert results.pooled_metric(**which) == pytest.approx(bcr)
    with pytest.raises(ParameterError, match="'categorical' is not one of predictions"):
        results.pooled_metric("categorical", **which)


def test_other_thresholds(results, table):
    rows = results.predicted_rows(3, method="f-test")
    y, p = rows["truth"] == "well", rows["probability"].to_numpy()
    rates = results.at_thresholds([0.3, 0.5, 1.0], 3, method="f-test")
    for k, threshold in enumerate((0.3, 0.5)):
        predicted = p > threshold
        assert rates["sensitivity"][k] == pytest.approx(peers.recall_score(y, predicted))
        assert rates["ppv"][k] == pytest.approx(peers.precision_score(y, predicted))
        assert rates["f1"][k] == pytest.approx(peers.f1_score(y, predicted))
    assert rates["bcr"][1] == pytest.approx(results.pooled_metric("bcr", 3, method="f-test"))
    assert rates.row(2)[:5] == (1.0, 0.5, 0.0, 1.0, None)  # nothing is predicted: no ppv
    assert results.at_thresholds(size=3, method="f-test").height == 9
    with pytest.raises(ParameterError, match="give probabilities, from 0 to 1"):
        results.at_thresholds([2.0], 3, method="f-test")
    with pytest.raises(ParameterError, match="give a list of numbers"):
        results.at_thresholds([np.nan], 3, method="f-test")
    svm = Study("f-test", table, KFold(4), sizes=[3]).run(n_jobs=1)
    assert svm.at_thresholds([0.0])["bcr"][0] == pytest.approx(svm.pooled_metric("bcr"))
    assert svm.at_thresholds()["threshold"].is_sorted()
    plain = Study("none", table, KFold(4), learner=Labels()).run(n_jobs=1)
    with pytest.raises(ParameterError, match="the learner gave neither"):
        plain.at_thresholds()


def test_calibration(results):
    calibration = results.calibration(3, bins=4, method="f-test")
    rows = results.predicted_rows(3, method="f-test")
    assert calibration.curve["n"].sum() == 60
    mean = np.average(calibration.curve["predicted"], weights=calibration.curve["n"])
    assert mean == pytest.approx(rows["probability"].mean())
    p = rows["probability"].to_numpy()
    log_odds = np.log(p / (1 - p))[:, None]
    peer = LogisticRegression(C=np.inf, tol=1e-9).fit(log_odds, rows["truth"] == "well")
    assert calibration.slope == pytest.approx(peer.coef_.item(), rel=1e-4)
    assert repr(calibration).startswith("Calibration(slope ")


def test_leave_one_out_is_pooled(table):
    results = Study("f-test", table, LeaveOneOut(), sizes=[2], learner="logistic").run(n_jobs=1)
    pooled = results.pooled_metric("auc")
    assert results.curves("auc")["mean"].item() == pytest.approx(pooled)
    assert results.summary()["auc"].item() == pytest.approx(pooled)
    assert results.curves("ppv")["mean"].item() == pytest.approx(results.pooled_metric("ppv"))
    assert results.curves("npv")["mean"].item() == pytest.approx(results.pooled_metric("npv"))
    assert results.curves("f1")["mean"].item() == pytest.approx(results.pooled_metric("f1"))
    assert results.curves("brier")["mean"].item() == pytest.approx(results.pooled_metric("brier"))


def test_methods_that_choose_their_number(table):
    results = Study(["cfs"], table, LeaveOneOut()).run(n_jobs=1)
    assert results.summary("auc")["auc"].item() == pytest.approx(results.pooled_metric("auc"))
    assert results.predicted_rows().height == 60


# ---- what is not there ---------------------------------------------------------------------------
def test_metrics_that_a_learner_cannot_give_are_refused_at_once(table):
    with pytest.raises(
        ParameterError, match="'brier' needs probabilities, which learner 'lin"
    ) as e:
        Study("f-test", table, metric="brier")
    assert "logistic" in str(e.value)
    assert "linear-svm" not in str(e.value).partition("one of")[2]
    with pytest.raises(ParameterError, match="learner 'Labels' gives neither"):
        Study("f-test", table, metrics=["auc"], learner=Labels())
    with pytest.raises(ParameterError, match="leave out keep_predictions=False"):
        Study("f-test", table, metric="auc", keep_predictions=False)
    with pytest.raises(ParameterError, match="keep_predictions='yes'"):
        Study("f-test", table, keep_predictions="yes")
    with pytest.raises(ParameterError, match="balanced='yes'"):
        Study("f-test", table, balanced="yes")


def test_learners_without_scores_have_no_value(table):
    study = Study("none", table, KFold(3), learner={"labels": Labels(), "bayes": GaussianNB()})
    results = study.run(n_jobs=1)
    values = dict(zip(results.rows["learner"], results.values("auc"), strict=True))
    assert values["labels"] is None
    assert values["bayes"] is not None
    alone = Study("none", table, KFold(3), learner=Labels()).run(n_jobs=1)
    with pytest.raises(ParameterError, match="and 'Labels' gave neither"):
        alone.summary("auc")


def test_test_rows_of_one_class_have_no_area():
    y = np.array(["a", "b"])[(np.arange(40) >= 36).astype(int)]
    X = np.random.default_rng(0).normal(size=(40, 2))
    results = Study("none", (X, y), Subsampling(10, test_size=2), learner="logistic").run(n_jobs=1)
    values = results.values("auc")
    assert 0 < values.null_count() < 10
    assert results.curves("auc")["n"].item() == 10 - values.null_count()


def test_bootstrap_corrections_are_for_rates(table):
    results = Study("none", table, Bootstrap(3), learner="logistic").run(n_jobs=1)
    assert "auc" not in results.summary().columns
    with pytest.raises(ParameterError, match="out-of-bag"):
        results.summary("auc")
    plain = Study("none", table, Bootstrap(3, estimator="out-of-bag")).run(n_jobs=1)
    assert plain.summary("auc")["auc"].item() > 0.5


def test_nothing_is_kept_above_the_limit_unless_asked_for(table, monkeypatch, tmp_path):
    study = {"methods": "f-test", "datasets": table, "splits": KFold(4), "sizes": [1, 3]}
    kept = 60 * 2 * bytes_per_row(2)
    for limit, expected in ((kept, True), (kept - 1, False)):
        monkeypatch.setattr("featly.study.run.KEPT_BYTES", limit)
        results = Study(**study).run(tmp_path / str(limit), n_jobs=1)
        assert results.about["keep_predictions"] is expected
        assert (results.predictions is not None) is expected
        assert (tmp_path / str(limit) / "predictions.sqlite").exists() is expected
    with pytest.raises(ParameterError, match="kept no predictions of test rows"):
        results.summary("auc")
    with pytest.raises(ParameterError, match="kept no predictions of test rows"):
        results.predicted_rows(1)
    monkeypatch.setattr("featly.study.run.KEPT_BYTES", 0)
    assert Study(**study, keep_predictions=True).run(n_jobs=1).pooled_metric("auc", 3) > 0.5
    assert Study(**study, metric="auc").run(n_jobs=1).pooled_metric(size=3) > 0.5
    assert Study(**study, keep_predictions=False).run(n_jobs=1).predictions is None


@pytest.mark.parametrize("splits", [
    KFold(4), KFold(3, n_repeats=2), Subsampling(7, test_size=0.25), Subsampling(5, test_size=9),
    LeaveOneOut(),
])  # fmt: skip
def test_the_number_of_test_rows_is_known_beforehand(splits, table):
    y = table[1]
    total = sum(len(split.test) for split in splits.split(None, y))
    assert splits.total_test_rows(splits.count(None, y), len(y)) == total


def test_a_number_takes_four_bytes_and_a_class_one(table, tmp_path):
    Study("f-test", table, KFold(4), sizes=[1, 3]).run(tmp_path, n_jobs=1)
    base = sqlite3.connect(tmp_path / "predictions.sqlite")
    codes, scores = base.execute("SELECT sum(length(codes)), sum(length(scores)) FROM predictions"
                                 ).fetchone()  # fmt: skip
    assert (codes, scores) == (60 * 2, 60 * 2 * 4)
    assert codes + scores == 60 * 2 * bytes_per_row(2)
    assert bytes_per_row(300) == 2 + 4 * 300
    assert KEPT_BYTES == 128 * 2**20
    base.close()


# ---- folders -------------------------------------------------------------------------------------
def old_table():
    """Return the table of the stored study, which was made before predictions were kept."""
    rng = np.random.default_rng(0)
    y = np.repeat(["ill", "well"], [8, 16])
    X = rng.normal(size=(24, 4)).round(3)
    X[:, 1] += 2 * (y == "ill")
    return X.round(3), y


@pytest.mark.parametrize("name", ["finished", "stopped"])
def test_an_old_folder_opens(name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(OLD / name, folder)
    results = Results.open(folder)
    assert results.rankings.height == (4 if name == "finished" else 2)
    summary = results.summary(rule=1)
    assert summary["bcr"].item() > 0.5
    assert "auc" not in summary.columns
    assert results.metric == "bcr"
    assert results.remarks() == []
    with pytest.raises(ParameterError, match="kept no predictions"):
        results.summary("auc")


@pytest.mark.parametrize("name", ["finished", "stopped"])
def test_an_old_folder_goes_on(name, tmp_path):
    folder = tmp_path / name
    shutil.copytree(OLD / name, folder)
    plan = {"datasets": old_table(), "splits": KFold(4), "sizes": [1, 2]}
    with pytest.raises(StudyError, match="with balanced = False, this one has balanced = True"):
        Study("f-test", **plan).run(folder, n_jobs=1)
    results = Study(["f-test", "none"], **plan, balanced=False).run(folder, n_jobs=1)
    assert results.rankings.height == 8
    assert results.predictions is None  # as of the first fits
    fresh = Study(["f-test", "none"], **plan, balanced=False).run(n_jobs=1)
    assert fresh.rows.drop("seconds").equals(results.rows.drop("seconds"))


def test_a_stopped_run_goes_on_with_its_predictions(table, tmp_path):
    class StopError(Exception):
        pass

    def stop_after_three(done, total, left):
        if done == 3:
            raise StopError

    def plan(methods):
        return Study(methods, table, KFold(4), sizes=[1, 3], learner="logistic")

    with pytest.raises(StopError):
        plan("f-test").run(tmp_path, n_jobs=1, verbose=stop_after_three)
    assert Results.open(tmp_path).values("auc").len() == 6
    whole = plan("f-test").run(tmp_path, n_jobs=1)
    expected = plan("f-test").run(n_jobs=1)
    assert whole.values("auc").equals(expected.values("auc"))
    # methods that are added later, and processes, change nothing
    more = plan(["f-test", "none"]).run(tmp_path, n_jobs=2)
    assert more.pooled_metric("auc", 3, method="f-test") == expected.pooled_metric("auc", 3)
    assert more.pooled_metric("auc", method="none") > 0.5
    assert Results.open(tmp_path).summary("auc").equals(more.summary("auc"))
    assert not list(tmp_path.glob("predictions.sqlite-*"))
    # memory holds what the file held
    shutil.rmtree(tmp_path)
    assert expected.predicted_rows(3).height == 60


def test_a_damaged_file_is_named(table, tmp_path):
    Study("f-test", table, KFold(4), sizes=[1]).run(tmp_path, n_jobs=1)
    (tmp_path / "predictions.sqlite").write_bytes(b"no database, but long enough to look into")
    with pytest.raises(StudyError, match="kept predictions cannot be read"):
        Results.open(tmp_path).summary("auc")


def test_the_plan_says_that_learners_were_balanced(table, tmp_path):
    Study("f-test", table, KFold(4), sizes=[1]).run(tmp_path, n_jobs=1)
    about = json.loads((tmp_path / "study.json").read_text())
    assert about["balanced"] is True
    assert about["metric"] == "bcr"
    assert "class_weight=balanced" in about["learners"]["linear-svm"]


# ---- the judge suits the table -------------------------------------------------------------------
def test_names_are_balanced_and_classifiers_of_ones_own_are_not(table):
    study = Study("f-test", table, learner={"name": "linear-svm", "own": LinearSVM()})
    assert study.learners["name"].class_weight == "balanced"
    assert study.learners["own"].class_weight is None
    for metric in ("accuracy", "error", "brier", "log_loss"):
        learner = Study("f-test", table, learner="logistic", metric=metric).learners["logistic"]
        assert learner[-1].class_weight is None
    assert Study("f-test", table, metric="accuracy", balanced=True).balanced
    assert not Study("f-test", table, balanced=False).balanced


def test_balanced_classes_are_told_apart_where_one_is_rarer():
    rng = np.random.default_rng(0)
    y = np.repeat(["few", "many"], [210, 490])
    X = rng.normal(size=(700, 20))
    X[:, :4] += 0.35 * (y == "few")[:, None]
    plan = {"methods": "f-test", "datasets": (X, y), "splits": Subsampling(10), "sizes": [4]}
    unbalanced = Study(**plan, balanced=False).run(n_jobs=1)
    assert unbalanced.summary()["bcr"].item() == 0.5
    assert unbalanced.remarks() == [
        "linear-svm with 4 of the columns of f-test predicts 'many' for every test row: its rates "
        "say nothing about the columns"
    ]
    balanced = Study(**plan).run(n_jobs=1)
    assert balanced.summary()["bcr"].item() > 0.6
    assert balanced.remarks() == []


def test_probabilities_of_balanced_learners_are_remarked(table):
    plan = {"methods": "f-test", "datasets": table, "splits": KFold(3), "learner": "logistic"}
    balanced = Study(**plan).run(n_jobs=1)
    assert balanced.remarks() == []
    assert "judges probabilities of a population of such classes" in balanced.remarks("brier")[0]
    assert Study(**plan, metric="brier").run(n_jobs=1).remarks() == []


def test_remarks_name_the_dataset_where_there_are_several(table):
    results = Study("f-test", {"one": table, "two": table}, KFold(3), sizes=[1, 2],
                    learner=Always()).run(n_jobs=1)  # fmt: skip
    assert len(results.remarks()) == 2
    assert results.remarks()[0].startswith("on one, Always with 1, 2 of the columns of f-test")


# ---- one path ------------------------------------------------------------------------------------
def test_classes_without_a_training_row():
    X = np.random.default_rng(0).normal(size=(20, 2))
    classes = np.array(["a", "b", "c"])
    y = np.array(["a", "c"])[np.arange(20) % 2]
    for learner in (GaussianNB(), RandomForestClassifier(5), make_learner("5-nn")):
        part = predict_sizes(learner, X, y, X, [2], classes)[0]
        assert part.scores.shape == (20, 3)
        assert (part.scores[:, 1] == 0).all()
        assert set(part.codes) == {0, 2}
    part = predict_sizes(LinearSVM(), X, y, X, [2], classes)[0]
    assert np.isneginf(part.scores[:, 1]).all()
    assert (part.scores[:, [0, 2]].argmax(axis=1) * 2 == part.codes).all()


def test_learners_that_break_the_rules():
    class Wide(Labels):
        def decision_function(self, X):
            return np.zeros((len(X), 5))

    X, y = np.arange(8.0)[:, None] - 3, np.arange(8) % 2
    part = predict_sizes(Wide(), X, y, X, [1], np.array([0, 1]))[0]
    assert "gives 5 numbers a row for 2 classes" in part.error
    assert part.codes is None
