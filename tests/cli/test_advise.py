"""``featly advise``, ``--method auto`` and ``--methods auto``."""

import json
import shlex

import numpy as np
import polars as pl
import pytest

from featly import read_table
from featly.cli import printing
from featly.registry import METHODS
from featly.study import advise
from tests.cli.reading import cells

SPARSE = b"".join(
    b"%d %s\n" % (k % 2, b" ".join(b"%d:1" % (1 + (k * 7 + j * 13) % 400) for j in range(3)))
    for k in range(40)
)


@pytest.fixture
def tissues(tmp_path):
    """Three classes, and missing values, which the advised method does not take."""
    rng = np.random.default_rng(0)
    kind = np.arange(60) % 3
    values = rng.normal(size=(60, 5)).round(3)
    values[:, 1] += 2 * kind
    values[3, 2] = np.nan
    frame = pl.DataFrame(values, schema=list("abcde")).with_columns(
        pl.col("c").fill_nan(None), tissue=pl.Series(np.array(["x", "y", "z"])[kind])
    )
    path = tmp_path / "tissues.csv"
    frame.write_csv(path)
    return path


# ---- featly advise -------------------------------------------------------------------------------
def test_advice_has_reasons_an_evaluation_and_next_commands(featly, csv, frame):
    code, out, err = featly("advise", csv, "--target", "ill")
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "use mkl-rfe"
    assert lines[1] == f"  - {METHODS['mkl-rfe'].summary}"
    assert lines[2].startswith("  - 3 columns of numbers and 2 of categories: ")
    assert lines[3] == "or"
    assert lines.count(lines[2]) == 1
    assert (
        "judge it by clinical-svm on Subsampling(200, test_size=0.1), size within-interval" in lines
    )
    assert lines[lines.index("next") + 1] == f"  featly rank {csv} --target ill --method mkl-rfe"
    assert "60 rows, 5 columns" in err


def test_the_same_as_in_python(featly, csv, frame):
    code, out, _ = featly("advise", csv, "-t", "ill", "--json", "--quiet", "--seed", "3")
    assert code == 0
    document = json.loads(out)
    table = read_table(csv, target="ill")
    expected = advise(table.X, table.y, random_state=3).document()
    assert {part: document[part] for part in expected} == json.loads(json.dumps(expected))
    assert document["target"] == "ill"
    assert len(document["commands"]) == 3
    assert document["splits"] == "Subsampling(200, test_size=0.1, random_state=3)"


@pytest.mark.thorough
def test_the_next_commands_can_be_typed(featly, csv, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("--target", "ill", "--drop", "noise", "--categorical", "age", "--keep", "marker",
             "--ordinal", "stage=I,II,III", "--missing=-9", "--format", "csv")  # fmt: skip
    _, out, _ = featly("advise", csv, *words, "--json", "-q")
    rank, evaluate, report = (shlex.split(line) for line in json.loads(out)["commands"])
    code, printed, _ = featly(*rank[1:], "--quiet")
    assert code == 0
    assert cells(printed)[1][1] == "marker"  # it is kept
    assert "noise" not in printed
    kinds = {row[1]: row[2] for row in cells(printed)[1:]}
    assert kinds == {
        "marker": "continuous", "age": "categorical", "sex": "categorical", "stage": "ordinal"
    }  # fmt: skip
    fewer = [*evaluate[1:], "--quiet", "--json"]
    fewer[fewer.index("--splits") + 1] = "3"
    code, printed, _ = featly(*fewer)
    assert code == 0
    document = json.loads(printed)
    assert document["advice"]["method"] == rank[rank.index("--method") + 1]
    assert list(document["about"]["learners"]) == ["clinical-svm"]
    code, _, messages = featly(*report[1:], "--splits", "3", "--methods", "jmi")
    assert code == 0, messages  # --format is that of the page there
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_the_next_command_for_many_classes_fills_and_sets(featly, tissues):
    _, out, _ = featly("advise", tissues, "-t", "tissue", "--json", "-q")
    document = json.loads(out)
    rank, evaluate, _ = document["commands"]
    assert (document["fill"], document["parameters"]) == (True, {"formulation": "ovo"})
    assert rank.endswith("--method multiclass-svm-rfe --set=formulation=ovo --fill")
    assert "--sizes all" in evaluate
    by_hand = featly(*shlex.split(rank)[1:], "--json", "-q")
    auto = featly("rank", tissues, "-t", "tissue", "--method", "auto", "--json", "-q")
    assert json.loads(by_hand[1])["ranking"] == json.loads(auto[1])["ranking"]


def test_groups_of_rows(featly, csv, frame, tmp_path, mistake):
    path = tmp_path / "visits.csv"
    frame.with_columns(who=pl.Series(np.arange(60) // 8)).write_csv(path)
    _, out, _ = featly("advise", path, "-t", "ill", "--row-groups", "who", "--json", "-q")
    document = json.loads(out)
    assert document["facts"]["row_groups"] == 8
    assert document["facts"]["columns"] == 5
    rank, evaluate, report = document["commands"]
    assert "--drop who" in rank
    assert "--protocol k-fold --splits 5 --sizes all --row-groups who" in evaluate
    assert "--row-groups who" in report
    assert "'whom' is no column" in mistake("advise", path, "-t", "ill", "--row-groups", "whom")


def test_on_a_terminal_lines_fit(featly, csv, monkeypatch):
    monkeypatch.setattr(printing, "is_output_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    _, out, _ = featly("advise", csv, "-t", "ill", "-q")
    before = out.split("\nnext\n")[0].splitlines()
    assert max(len(line) for line in before[1:] if line.startswith("  ")) <= 60
    assert "  - 3 columns of numbers and 2 of categories: MKL-RFE learns" in before


def test_a_sparse_file(featly, tmp_path):
    path = tmp_path / "words.svmlight"
    path.write_bytes(SPARSE)
    code, out, _ = featly("advise", path, "--json", "-q", "--n-features", "400")
    assert code == 0
    document = json.loads(out)
    assert (document["method"], document["facts"]["sparse"]) == ("jmi", True)
    assert "--n-features 400" in document["commands"][0]
    code, out, err = featly("rank", path, "--method", "auto", "--top", "2", "--n-features", "400")
    assert code == 0
    assert "method: jmi, as advised: " in err


def test_a_prior_changes_the_advice(featly, numbers, tmp_path):
    prior = tmp_path / "prior.csv"
    prior.write_text("marker,10\n")
    _, out, _ = featly("advise", numbers, "-t", "ill", "--prior", prior, "-q")
    assert out.startswith("use signal-to-noise\n")
    assert f"--prior {prior}" in out
    code, out, _ = featly("rank", numbers, "-t", "ill", "--prior", prior, "-m", "auto", "--json")
    assert code == 0
    document = json.loads(out)
    assert document["method"] == "signal-to-noise"
    assert document["prior"]["favoured"][0]["feature"] == "marker"


def test_mistakes(featly, mistake, csv, tmp_path):
    assert "which column" in mistake("advise", csv)
    one_class = tmp_path / "one.csv"
    one_class.write_text("a,b\n1,x\n2,x\n3,x\n")
    assert "one class only ('x')" in mistake("advise", one_class, "-t", "b")
    row_each = tmp_path / "each.csv"
    row_each.write_text("a,b\n1,x\n2,y\n3,z\n")
    message = mistake("advise", row_each, "-t", "b")
    assert "one row each" in message
    assert message.startswith(f"'{row_each}': target 'b' has 3 classes")
    assert "--fill" in mistake("advise", csv, "-t", "ill", "--fill")


# ---- auto ----------------------------------------------------------------------------------------
def test_rank_by_what_is_advised(featly, csv):
    auto = featly("rank", csv, "-t", "ill", "--method", "auto")
    named = featly("rank", csv, "-t", "ill", "--method", "mkl-rfe", "-q")
    assert auto[0] == named[0] == 0
    assert auto[1] == named[1]
    assert "method: mkl-rfe, as advised: 3 columns of numbers and 2 of categories" in auto[2]
    document = json.loads(featly("rank", csv, "-t", "ill", "-m", "auto", "--json", "-q")[1])
    assert document["advice"]["method"] == document["method"] == "mkl-rfe"
    assert document["advice"]["reasons"][0]["source"]
    by_name = json.loads(featly("rank", csv, "-t", "ill", "-m", "mkl-rfe", "--json", "-q")[1])
    assert "advice" not in by_name


def test_select_by_what_is_advised(featly, csv, tmp_path):
    path = tmp_path / "small.csv"
    code, _, err = featly("select", csv, "-t", "ill", "-m", "auto", "-k", "2", "-o", path)
    assert code == 0
    assert "as advised" in err
    assert len(pl.read_csv(path).columns) == 3


def test_missing_values_are_filled_if_the_advised_method_needs_it(featly, tissues):
    code, out, err = featly("rank", tissues, "-t", "tissue", "-m", "auto", "--json")
    assert code == 0
    assert "missing values filled in 1 column, which multiclass-svm-rfe needs" in err
    document = json.loads(out)
    assert document["parameters"]["formulation"] == "ovo"
    assert any("missing values filled" in note for note in document["notes"])


def test_auto_brings_its_own_parameters(mistake, csv):
    message = mistake("rank", csv, "-t", "ill", "--method", "auto", "--set", "C=1")
    assert "--set goes with a method that is named" in message


@pytest.mark.thorough
def test_evaluate_what_is_advised(featly, csv):
    quick = ("--splits", "4", "--sizes", "1,3")
    code, out, err = featly("evaluate", csv, "-t", "ill", "--methods", "auto", *quick)
    assert code == 0
    methods = [row[1] for row in cells(out)[1:]]
    assert methods == ["mkl-rfe", "forest", "relieff", "univariate-test", "none"]
    assert "methods as advised on all rows: mkl-rfe, " in err
    named = featly(
        "evaluate",
        csv,
        "-t",
        "ill",
        "--methods",
        ",".join(methods),
        *quick,
        "-q",
        "--learner",
        "clinical-svm",
    )
    time = cells(out)[0].index("seconds")
    advised_cells = [row[:time] + row[time + 1 :] for row in cells(out)]
    named_cells = [row[:time] + row[time + 1 :] for row in cells(named[1])]
    assert advised_cells == named_cells


def test_evaluate_fills_where_the_advised_method_needs_it(featly, tissues):
    quick = ("--splits", "3", "--sizes", "2")
    code, out, err = featly("evaluate", tissues, "-t", "tissue", "--methods", "auto", *quick)
    assert code == 0
    head, *rows = cells(out)
    assert all(row[head.index("n_failed")] == "0" for row in rows)
    assert "missing values are filled on the training rows, which multiclass-svm-rfe needs" in err


def test_with_an_official_split_the_advice_sees_the_training_rows(featly, frame, tmp_path):
    path = tmp_path / "split.csv"
    part = ["train"] * 40 + ["test"] * 20
    frame.with_columns(part=pl.Series(part)).write_csv(path)
    code, out, err = featly("evaluate", path, "-t", "ill", "--methods", "auto", "--json",
                            "--split-column", "part", "--sizes", "2")  # fmt: skip
    assert code == 0
    assert "as advised on training rows" in err
    assert json.loads(out)["advice"]["facts"]["rows"] == 40


def test_auto_stands_alone_and_is_no_method(mistake, featly, csv):
    assert "auto" not in METHODS
    assert "there is no method 'auto'" in mistake("evaluate", csv, "-t", "ill", "-m", "auto,cfs")
    outcome = featly("methods", "auto")
    assert outcome[0] == 2
    assert "there is no method 'auto'" in outcome[2]
    assert "there is no method 'auto'" in mistake("prior", csv, "-t", "ill", "-m", "auto")
