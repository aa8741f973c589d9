"""``featly evaluate`` and ``featly study``: the same as a Study in Python, in words and tables."""

import json

import numpy as np
import polars as pl
import pytest

from featly.study import Results, Study, Subsampling, nested
from tests.cli.reading import cells

FEW = ("--splits", "12", "--sizes", "1,2,5")


def test_evaluate_prints_what_a_study_finds(featly, csv, frame):
    code, out, err = featly("evaluate", csv, "--target", "ill", "--methods", "svm-rfe,none", *FEW)
    assert code == 0
    head, *rows = cells(out)
    expected = (
        Study(["svm-rfe", "none"], (frame.drop("ill"), frame["ill"]), Subsampling(12),
              sizes=[1, 2, 5]).run().summary(rule="best")
    )  # fmt: skip
    over_splits = {"lower": "lower_over_splits", "upper": "upper_over_splits"}
    columns = [over_splits.get(name, name) for name in expected.columns]
    assert head == [*columns, "size_new", "new_rows", "lower_new", "upper_new"]
    assert [row[head.index("method")] for row in rows] == ["svm-rfe", "none"]
    assert [float(row[head.index("bcr")]) for row in rows] == expected["bcr"].to_list()
    assert [row[head.index("size")] for row in rows] == [str(s) for s in expected["size"]]
    assert (
        "judged by linear-svm with classes of equal weight on Subsampling(12, test_size=0.1)" in err
    )
    assert "svm-rfe - none" in err
    data = frame.drop("ill"), frame["ill"]
    result = nested(["svm-rfe", "none"], data, sizes=[1, 2, 5], repeats=1, n_jobs=1)
    for row, method in zip(rows, ("svm-rfe", "none"), strict=True):
        estimate = result.estimate(method=method)
        figures = [row[head.index(name)] for name in ("new_rows", "lower_new", "upper_new")]
        assert [float(cell) for cell in figures] == [estimate.value, estimate.lower, estimate.upper]
        assert row[head.index("size_new")] == str(estimate.size)
    assert "10 folds, drawn once (quick mode)" in err


def test_without_methods_those_that_take_the_table_are_judged(featly, csv, numbers):
    for path, methods in ((csv, ["svm-rfe", "none"]), (numbers, ["f-test", "svm-rfe", "none"])):
        code, out, _ = featly("evaluate", path, "-t", "ill", *FEW, "--quiet")
        assert code == 0
        assert [row[1] for row in cells(out)[1:]] == methods


def test_evaluate_as_json_has_everything(featly, numbers):
    code, out, _ = featly("evaluate", numbers, "-t", "ill", *FEW, "--json", "--null", "19", "-q")
    assert code == 0
    document = json.loads(out)
    assert document["metric"] == "bcr"
    assert not document["biased"]
    assert {row["size"] for row in document["curves"] if row["method"] == "f-test"} == {1, 2}
    new_rows = document["new_rows"]
    methods = ["f-test", "svm-rfe", "none"]
    assert [row["method"] for row in new_rows["estimates"]] == methods
    assert [row["method"] for row in new_rows["tests"]] == methods
    assert all(0 < row["drawn"] <= 19 for row in new_rows["tests"])
    assert [row["second"] for row in new_rows["comparisons"]] == methods[1:]
    assert "pairs" not in document  # of splits that share rows
    assert "hash" in document["about"]["datasets"]["numbers"]


def test_thorough_draws_the_folds_five_times(featly, numbers):
    options = ("-m", "f-test", "--sizes", "1", "--splits", "2", "--thorough")
    code, _, err = featly("evaluate", numbers, "-t", "ill", *options)
    assert code == 0
    assert "10 folds, drawn 5 times" in err


def test_shuffles_say_whether_the_columns_predict(featly, numbers, mistake):
    options = ("-m", "f-test", "--sizes", "1", "--splits", "2")
    code, _, err = featly("evaluate", numbers, "-t", "ill", *options, "--null", "19")
    assert code == 0
    assert "f-test: With shuffled outcomes the same recipe does as well in" in err
    message = mistake("evaluate", numbers, "-t", "ill", *options, "--null", "3")
    assert "--null 3: give at least 19" in message


def test_a_class_of_three_rows_is_named_and_has_no_figure(featly, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "rare.csv"
    few = np.arange(60) < 3
    pl.DataFrame({"a": rng.normal(size=60), "ill": np.where(few, "yes", "no")}).write_csv(path)
    code, out, err = featly("evaluate", path, "-t", "ill", "-m", "f-test", "--splits", "3")
    assert code == 0
    assert "no figure for new rows: class 'yes' has 3 rows" in err
    assert "new_rows" not in cells(out)[0]


def test_auc_and_bcr_stand_side_by_side(featly, numbers):
    for metric, other in (("auc", "bcr"), ("bcr", "auc")):
        code, out, _ = featly("evaluate", numbers, "-t", "ill", *FEW, "--metric", metric, "-q")
        assert code == 0
        head, *rows = cells(out)
        assert head.index(metric) < head.index(other)
        assert all(0 <= float(row[head.index(other)]) <= 1 for row in rows)


def test_metrics_of_probabilities(featly, numbers, tmp_path):
    folder = tmp_path / "kept"
    options = (*FEW, "--learner", "logistic", "--metric", "brier", "--output", folder)
    code, out, err = featly("evaluate", numbers, "-t", "ill", *options)
    assert code == 0
    assert "classes of equal weight" not in err  # probabilities are of the table as it is
    head, *_ = cells(out)
    assert "brier" in head
    assert "no figure for new rows: brier has no interval" in err
    assert cells(featly("study", "show", folder)[1])[0] == head  # the metric of the plan
    code, out, _ = featly("study", "show", folder, "--metric", "log_loss")
    assert code == 0
    assert "log_loss" in cells(out)[0]


def test_a_plan_is_not_run_for_a_metric_that_it_cannot_give(mistake, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text('methods = "f-test"\ndatasets = "corral"\nsplits = 3\n')
    assert "needs probabilities" in mistake("study", "run", plan, "--metric", "brier")
    assert not (tmp_path / "plan").exists()


def test_one_class_only_is_said(featly, tmp_path):
    rng = np.random.default_rng(0)
    few = np.arange(200) < 40
    columns = {"a": rng.normal(size=200) + 0.3 * few, "b": rng.normal(size=200)}
    path = tmp_path / "rare.csv"
    pl.DataFrame({**columns, "ill": np.where(few, "yes", "no")}).write_csv(path)
    options = ("--methods", "f-test", "--splits", "5", "--sizes", "1")
    unbalanced = featly("evaluate", path, "-t", "ill", *options, "--unbalanced")
    remark = "note: linear-svm with 1 of the columns of f-test predicts 'no' for every test row"
    assert remark in " ".join(unbalanced[2].split())
    assert "0.5" in cells(unbalanced[1])[1]
    balanced = featly("evaluate", path, "-t", "ill", *options)
    assert "with classes of equal weight" in balanced[2]
    assert "for every test row" not in balanced[2]
    document = json.loads(
        featly("evaluate", path, "-t", "ill", *options, "--unbalanced", "--json", "-q")[1]
    )
    assert len(document["remarks"]) == 1
    assert document["about"]["balanced"] is False


def test_a_study_is_kept_and_shown_again_by_another_metric_and_rule(featly, numbers, tmp_path):
    folder = tmp_path / "kept"
    first = featly("evaluate", numbers, "-t", "ill", *FEW, "--output", folder, "--curves")
    assert first[0] == 0
    assert f"the results are in {folder}" in first[2]
    again = featly("evaluate", numbers, "-t", "ill", *FEW, "--output", folder, "--curves")
    assert again[1] == first[1]
    code, out, _ = featly("study", "show", folder, "--metric", "error", "--rule", "2")
    assert code == 0
    head, *rows = cells(out)
    assert "error" in head
    assert {row[head.index("size")] for row in rows} == {"2", "3"}  # none takes all three columns
    assert Results.open(folder).rows.height == 12 * 5


def test_selection_outside_is_labelled_as_biased(featly, numbers):
    code, out, err = featly("evaluate", numbers, "-t", "ill", *FEW, "--select-outside")
    assert code == 0
    assert "BIASED: columns were selected on all rows" in err
    assert "no figure for new rows: columns were selected on all rows" in err
    head, *rows = cells(out)
    assert {row[head.index("biased")] for row in rows} == {"True"}


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (("--protocol", "k-fold", "--splits", "4"), "KFold(4)"),
        (("--protocol", "leave-one-out"), "LeaveOneOut()"),
        (("--protocol", "bootstrap", "--splits", "5", "--seed", "3"), "Bootstrap(5"),
        (("--protocol", "balanced-k-fold", "--splits", "3"), "DistributionBalancedKFold(3"),
        (("--protocol", "holdout", "--test-size", "0.5"), "Holdout("),
    ],
)
def test_protocols(featly, numbers, protocol, expected):
    code, out, err = featly("evaluate", numbers, "-t", "ill", "-m", "f-test", "--sizes", "1",
                            *protocol)  # fmt: skip
    assert code == 0
    assert expected in err
    assert len(cells(out)) == 2


def test_groups_of_rows_and_an_official_split(featly, frame, tmp_path):
    path = tmp_path / "visits.csv"
    patient = np.arange(60) // 3
    visits = frame.drop("sex", "stage").with_columns(
        pl.Series("patient", patient), pl.Series("part", np.where(patient < 14, "train", "test"))
    )
    visits.write_csv(path)
    code, _, err = featly("evaluate", path, "-t", "ill", *FEW, "--drop", "part")
    assert code == 0
    assert "alarm: 'patient' has the name of an identifier, and its values repeat" in err
    assert "(--row-groups patient or --known-before patient)" in err
    code, _, err = featly("evaluate", path, "-t", "ill", *FEW, "--drop", "part", "--row-groups",
                          "patient")  # fmt: skip
    assert code == 0
    assert "20 groups of rows" in err
    assert "identifier" not in err
    halves = ("--row-groups", "patient", "--split-column", "part")
    code, out, _ = featly("evaluate", path, "-t", "ill", "-m", "f-test", "--sizes", "1", *halves,
                          "--json", "-q")  # fmt: skip
    assert code == 0
    assert "Holdout(column='part')" in json.loads(out)["about"]["splits"]


def test_training_rows_are_balanced_by_resample(featly, numbers):
    code, out, _ = featly("evaluate", numbers, "-t", "ill", "-m", "f-test", *FEW, "--resample",
                          "RandomUnderSampler", "--json", "-q")  # fmt: skip
    assert code == 0
    assert "RandomUnderSampler" in json.loads(out)["about"]["resample"]


def test_missing_values_are_filled_from_the_training_rows(featly, frame, tmp_path):
    path = tmp_path / "missing.csv"
    with_missing = pl.Series(
        "marker", [None if k % 7 == 0 else v for k, v in enumerate(frame["marker"])]
    )
    frame.with_columns(with_missing).write_csv(path)
    code, out, err = featly("evaluate", path, "-t", "ill", "-m", "svm-rfe", *FEW)
    assert code == 2
    assert "no fit of the study succeeded" in err
    assert "'marker' has a missing value" in err
    code, out, err = featly("evaluate", path, "-t", "ill", "-m", "svm-rfe", *FEW, "--fill")
    assert code == 0
    assert len(cells(out)) == 2


PLAN = """
title = "two methods"
methods = ["f-test", "svm-rfe"]
sizes = [1, 2]
splits = {kind = "subsampling", n_splits = 6}
[datasets]
table = {file = "numbers.csv", target = "ill"}
[[claims]]
name = "A1"
text = "both find the marker"
equal = "f-test"
than = "svm-rfe"
dataset = "table"
size = 1
[[claims]]
name = "A2"
text = "private data"
why = "the data is private"
"""


def test_a_plan_is_run_and_shown(featly, numbers, tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    code, out, err = featly("study", "run", plan)
    assert code == 0
    assert len(cells(out)) == 3
    assert "A2: cannot be tested" in err
    assert (tmp_path / "plan" / "rows.parquet").is_file()
    code, out, _ = featly("study", "run", plan, "--json", "--quiet")
    assert code == 0
    verdicts = {row["claim"]: row["verdict"] for row in json.loads(out)["verdicts"]}
    assert verdicts["A2"] == "cannot be tested"
    assert verdicts["A1"] in ("holds", "does not hold")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--methods", "svm-rfee"), "did you mean 'svm-rfe'?"),
        (("--methods", "svm-rfe,svm-rfe"), "different names"),
        (("--protocol", "k-folds"), "--protocol 'k-folds': there are subsampling, k-fold"),
        (("--sizes", "1,two"), "--sizes '1,two'"),
        (("--sizes", "7"), "sizes=[7]: dataset 'numbers' has 3 columns only"),
        (("--rule", "bets"), "--rule 'bets'"),
        (("--learner", "linear-svn"), "did you mean 'linear-svm'?"),
        (("--metric", "bcd"), "no metric 'bcd'"),
        (("--metric", "brier"), "'brier' needs probabilities, which learner 'linear-svm'"),
        (("--protocol", "leave-one-out", "--splits", "3"), "--splits is not for --protocol"),
        (("--protocol", "bootstrap", "--test-size", "0.2"), "--test-size is not for --protocol"),
        (("--row-groups", "patien"), "--row-groups 'patien' is no column"),
        (("--test-size", "1.5"), "--test-size 1.5: give a number above 0"),
        (("--resample", "RandomUnderSample"), "did you mean 'RandomUnderSampler'?"),
    ],
)
def test_mistakes_are_reported_in_one_line(mistake, numbers, arguments, expected):
    assert expected in mistake("evaluate", numbers, "-t", "ill", *arguments)


@pytest.mark.parametrize("command", ["evaluate", "study run", "report"])
def test_ctrl_c_says_how_to_go_on(featly, numbers, tmp_path, monkeypatch, command):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(Study, "run", stop)
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    file = plan if command == "study run" else numbers
    options = () if command == "study run" else ("-t", "ill", "--methods", "f-test")
    code, out, err = featly(*command.split(), file, *options)
    assert (code, out) == (130, "")
    expected = {
        "evaluate": "stopped; with --output FOLDER what is done is kept",
        "study run": "stopped; what is done is kept",
        "report": "no report was written; with --keep-fits FOLDER what is done is kept",
    }
    assert expected[command] in err
    assert err.endswith("and the same command goes on\n")


def test_mistakes_about_studies(mistake, numbers, tmp_path):
    assert "holds no study" in mistake("study", "show", tmp_path / "nothing")
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace("sizes", "sises"))
    assert "did you mean 'sizes'?" in mistake("study", "run", plan)
    assert "there is no plan" in mistake("study", "run", tmp_path / "no.toml")
    folder = tmp_path / "kept"
    assert "splits" in _second_plan(mistake, numbers, folder)


def _second_plan(mistake, numbers, folder):
    Study("f-test", (np.eye(20), np.arange(20) % 2), Subsampling(3)).run(folder)
    return mistake("evaluate", numbers, "-t", "ill", *FEW, "--output", folder)


# ---- the learner that nobody named ---------------------------------------------------------------
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("options", "learner"),
    [
        (("-m", "f-test"), "linear-svm"),
        (("-m", "f-test,relieff,none"), "linear-or-neighbours"),
        (("-m", "multisurf"), "linear-or-neighbours"),
        (("-m", "relieff", "--learner", "5-nn"), "5-nn"),
        (("-m", "auto"), "linear-or-neighbours"),
    ],
)
def test_what_ranks_by_neighbours_is_judged_by_neighbours(featly, numbers, options, learner):
    code, _, err = featly("evaluate", numbers, "-t", "ill", *options, "--splits", 2, "--sizes", "1")
    assert code == 0, err
    assert f"judged by {learner} " in err
