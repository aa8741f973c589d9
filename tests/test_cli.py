"""The command line as a user meets it: outcomes, words, codes, pipes."""

import errno
import io
import json
import os
import pty
import select
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest

from featly import SVMRFE, FTest, Schema
from featly.present import cli
from featly.registry import METHODS


@pytest.fixture
def featly(monkeypatch, capsysbinary):
    """Run the command line in this process: code, standard output, standard error."""

    def run(*arguments, stdin=b""):
        monkeypatch.setattr(sys, "argv", ["featly", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsysbinary.readouterr()
        return ended.value.code, printed.out.decode(), printed.err.decode()

    return run


@pytest.fixture
def mistake(featly):
    """Run a command that must fail with one line on standard error, and return that line."""

    def run(*arguments, stdin=b""):
        code, out, err = featly(*arguments, "--quiet", stdin=stdin)
        assert code == 2
        assert out == ""
        assert err.startswith("featly: ")
        assert err.count("\n") == 1
        assert "Traceback" not in err
        return err.removeprefix("featly: ").strip()

    return run


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    ill = np.arange(60) % 2
    return pl.DataFrame(
        {
            "age": rng.integers(30, 80, 60),
            "sex": rng.choice(["f", "m"], 60),
            "stage": np.array(["I", "II", "III"])[np.digitize(rng.normal(size=60) + ill, [0, 1])],
            "marker": (rng.normal(size=60) + ill).round(3),
            "noise": rng.normal(size=60).round(3),
            "ill": np.where(ill, "yes", "no"),
        }
    )


@pytest.fixture
def csv(frame, tmp_path):
    path = tmp_path / "study.csv"
    frame.write_csv(path)
    return path


@pytest.fixture
def numbers(frame, tmp_path):
    path = tmp_path / "numbers.csv"
    frame.drop("sex", "stage").write_csv(path)
    return path


def cells(text):
    return [line.split("\t") for line in text.splitlines()]


# ---- rank ---------------------------------------------------------------------------------------
def test_rank_prints_what_python_computes(featly, csv, frame):
    code, out, err = featly("rank", csv, "--target", "ill", "--method", "svm-rfe")
    assert code == 0
    head, *rows = cells(out)
    table = SVMRFE().fit(frame.drop("ill"), frame["ill"]).table()
    assert head == ["rank", "feature", "kind", "score", "round", "criterion"]
    assert [row[1] for row in rows] == table["feature"].to_list()
    assert [float(row[3]) for row in rows] == table["score"].to_list()
    assert "60 rows, 5 columns; commas between the columns" in err


def test_rank_takes_a_schema_from_options(featly, csv, frame):
    arguments = ("--categorical", "age", "--ordinal", "stage=I,II,III", "--keep", "noise,sex")
    code, out, _ = featly("rank", csv, "-t", "ill", "-m", "SVMRFE", *arguments, "--json")
    assert code == 0
    schema = Schema(
        categorical=["age"], ordinal={"stage": ["I", "II", "III"]}, keep=["noise", "sex"]
    )
    table = SVMRFE(schema=schema).fit(frame.drop("ill"), frame["ill"]).table()
    ranking = pl.DataFrame(json.loads(out)["ranking"])
    for column in ("feature", "kind", "rank", "score", "criterion"):
        assert ranking[column].to_list() == table[column].to_list()


def test_rank_takes_a_schema_from_a_file(featly, csv, tmp_path):
    path = tmp_path / "schema.toml"
    path.write_text(
        'target = "ill"\ndrop = ["sex"]\nkeep = ["noise"]\n[ordinal]\nstage = ["I", "II", "III"]\n'
    )
    code, out, _ = featly("rank", csv, "--schema", path, "--method", "f-test", "--drop", "age")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]] == ["noise", "marker", "stage"]


def test_rank_passes_parameters_on(featly, csv, frame):
    code, out, _ = featly("rank", csv, "-t", "ill", "-m", "svm-rfe", "--set", "C=0.01", "--set",
                          "step=1", "--set", "class_weight=balanced", "--json")  # fmt: skip
    assert code == 0
    told = json.loads(out)
    assert told["parameters"]["C"] == 0.01
    rfe = SVMRFE(C=0.01, step=1, class_weight="balanced").fit(frame.drop("ill"), frame["ill"])
    assert [row["feature"] for row in told["ranking"]] == rfe.table()["feature"].to_list()


def test_priors_and_costs_reach_the_schema(featly, numbers, tmp_path):
    prior, costs = tmp_path / "prior.csv", tmp_path / "costs.tsv"
    prior.write_text("column,prior\nmarker,10\n")
    costs.write_text("age\t2.5\n")
    code, _, err = featly("rank", numbers, "-t", "ill", "--prior", prior, "--costs", costs)
    assert code == 0
    assert "note: FTest does not use prior and costs of the schema" in err


def test_top_limits_what_is_printed_not_what_is_saved(featly, numbers, tmp_path):
    path = tmp_path / "ranking.csv"
    code, out, err = featly("rank", numbers, "-t", "ill", "--top", 1, "-o", path)
    assert code == 0
    assert len(cells(out)) == 2
    assert pl.read_csv(path).height == 3
    assert str(path) in err


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "json", "csv.gz"])
def test_the_ranking_is_saved_in_every_format(featly, numbers, tmp_path, ending, frame):
    path = tmp_path / f"ranking.{ending}"
    assert featly("rank", numbers, "-t", "ill", "--output", path, "-q")[0] == 0
    if ending == "json":
        told = json.loads(path.read_text())
        assert told["classes"] == {"no": 30, "yes": 30}
        saved = pl.DataFrame(told["ranking"])
    elif ending == "parquet":
        saved = pl.read_parquet(path)
    else:
        saved = pl.read_csv(path, separator="\t" if ending == "tsv" else ",")
    table = FTest().fit(frame.select("age", "marker", "noise"), frame["ill"]).table()
    assert saved["feature"].to_list() == table["feature"].to_list()
    assert saved["q_value"].to_list() == pytest.approx(table["q_value"].to_list(), abs=0)


def test_json_is_valid_where_numbers_are_not(featly, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1,1,0\n2,1,1\n3,1,0\n4,1,1\n")
    code, out, _ = featly("rank", path, "-t", "y", "--json")
    assert code == 0

    def refuse(constant):
        raise AssertionError(constant)

    assert len(json.loads(out, parse_constant=refuse)["ranking"]) == 2


def test_standard_input_is_a_file_like_any(featly, csv):
    from_file = featly("rank", csv, "-t", "ill", "-m", "svm-rfe")[1]
    from_pipe = featly("rank", "-", "-t", "ill", "-m", "svm-rfe", stdin=csv.read_bytes())[1]
    assert from_file == from_pipe


def test_a_method_is_chosen_and_said_aloud(featly, csv, numbers):
    assert "method: f-test" in featly("rank", numbers, "-t", "ill")[2]
    assert "method: svm-rfe" in featly("rank", csv, "-t", "ill")[2]
    assert featly("rank", csv, "-t", "ill", "-q")[2] == ""


def test_where_no_method_fits_it_says_what_is_in_the_way(featly, mistake, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("sex,bmi,y\nf,20,0\nm,?,1\nf,31,0\nm,22,1\n")
    told = mistake("rank", path, "-t", "y")
    assert "f-test does not take categorical columns ('sex')" in told
    assert "svm-rfe does not take missing values ('bmi')" in told
    code, out, err = featly("rank", path, "-t", "y", "--fill")
    assert code == 0
    assert len(cells(out)) == 3
    assert "gaps filled in 1 column ('bmi')" in err


def test_rows_without_a_target_are_left_out_and_said(featly, tmp_path, frame):
    path = tmp_path / "a.csv"
    gappy = frame.drop("sex", "stage").with_columns(
        pl.when(pl.int_range(60) > 2).then("ill").alias("ill")
    )
    gappy.write_csv(path)
    code, out, err = featly("rank", path, "-t", "ill", "--json")
    assert code == 0
    assert "3 rows have no 'ill' and stay out" in err
    assert json.loads(out)["rows"] == 57
    expected = FTest().fit(frame[3:].select("age", "marker", "noise"), frame["ill"][3:])
    assert json.loads(out)["ranking"][0]["score"] == expected.table()["score"][0]


def test_positions_and_files_without_a_header(featly, tmp_path, frame):
    path = tmp_path / "a.data"
    frame.drop("sex", "stage").write_csv(path, include_header=False)
    code, out, err = featly("rank", path, "-t", "-1", "--drop", "0")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]] == ["x1", "x2"]
    assert "no header line, columns are called x0 to x3" in err


def test_sparse_files_keep_their_names(featly, tmp_path):
    rng = np.random.default_rng(0)
    path = tmp_path / "words.arff"
    lines = ["@relation w", "@attribute 'the word' numeric", "@attribute b numeric",
             "@attribute c numeric", "@attribute class {no,yes}", "@data"]  # fmt: skip
    for k in range(40):
        yes = k % 2
        lines.append(
            f"{{0 {rng.normal() + 3 * yes:.3f}, 2 {rng.normal():.3f}, 3 {'yes' if yes else 'no'}}}"
        )
    path.write_text("\n".join(lines))
    code, out, _ = featly("rank", path, "--method", "svm-rfe", "--keep", "c")
    assert code == 0
    assert [row[1] for row in cells(out)[1:]][:2] == ["c", "the word"]
    path.write_text(path.read_text().replace("{0 ", "{0 ?, 1 ", 1))
    code, _, err = featly("rank", path, "--method", "svm-rfe", "-q")
    assert code == 2
    assert "column 'the word' has a missing value" in err


# ---- select -------------------------------------------------------------------------------------
def test_select_writes_the_cells_as_they_stand(featly, tmp_path):
    path, small = tmp_path / "a.csv", tmp_path / "small.csv"
    rows = [f'{k},"a, ""b""",{k % 2}.50,{k % 3},{"yes" if k % 2 else "no"}' for k in range(20)]
    path.write_text("id,text,good,poor,ill\n" + "\n".join(rows) + "\n")
    code, out, err = featly(
        "select", path, "-t", "ill", "-k", 1, "--drop", "id,text", "--output", small
    )
    assert (code, out) == (0, "")
    assert "1 column and 'ill' are in" in err
    expected = ["good,ill", *(f"{k % 2}.50,{'yes' if k % 2 else 'no'}" for k in range(20))]
    assert small.read_text().splitlines() == expected


def test_select_in_a_pipe_writes_the_table(featly, numbers):
    code, out, _ = featly("select", "-", "-t", "ill", "-k", "0.5", stdin=numbers.read_bytes())
    assert code == 0
    assert out.splitlines()[0] == "marker,noise,ill"
    assert len(out.splitlines()) == 61
    assert out.splitlines()[1].removesuffix(",no") in numbers.read_text()


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "csv.gz"])
def test_select_to_every_format(featly, csv, frame, tmp_path, ending):
    small, ranking = tmp_path / f"small.{ending}", tmp_path / "ranking.json"
    code, _, _ = featly("select", csv, "-t", "ill", "-m", "svm-rfe", "-k", 2, "-o", small,
                        "--ranking", ranking)  # fmt: skip
    assert code == 0
    read = pl.read_parquet(small) if ending == "parquet" else pl.read_csv(
        small, separator="\t" if ending == "tsv" else ","
    )  # fmt: skip
    chosen = json.loads(ranking.read_text())["selected"]
    assert len(chosen) == 2
    assert set(read.columns) == {*chosen, "ill"}
    for name in read.columns:
        assert read[name].cast(pl.String).cast(frame[name].dtype).to_list() == frame[name].to_list()


def test_parquet_keeps_its_types(featly, frame, tmp_path):
    path, small = tmp_path / "a.parquet", tmp_path / "small.parquet"
    typed = frame.with_columns(pl.col("age").cast(pl.Int16), pl.col("marker").cast(pl.Float32))
    typed.write_parquet(path)
    code, _, _ = featly(
        "select", path, "-t", "ill", "--drop", "sex,stage,noise", "-k", 2, "-o", small
    )
    assert code == 0
    assert pl.read_parquet(small).equals(typed.select("age", "marker", "ill"))


# ---- describe and methods -----------------------------------------------------------------------
def test_describe_says_what_looks_wrong(featly, tmp_path):
    path = tmp_path / "a.csv"
    rows = [f"P{k},{k % 3},constant,{k * 1.5},{'ill' if k % 2 else 'well'}" for k in range(30)]
    path.write_text("patient,ward,site,dose,y\n" + "\n".join(rows) + "\n")
    code, out, err = featly("describe", path, "--target", "y")
    assert code == 0
    assert "patient: different in every row, like an identifier; leave it out" in err
    assert "ward: 3 whole numbers, read as continuous; are they labels?" in err
    assert "target 'y': 2 classes (ill 15, well 15)" in err
    assert [row[0] for row in cells(out)] == ["column", "patient", "ward", "site", "dose"]
    told = json.loads(featly("describe", path, "--target", "y", "--json")[1])
    assert told["columns"][2]["remark"] == "constant ('constant'); it cannot tell rows apart"
    assert told["format"] == "csv"


def test_describe_speaks_of_the_target(featly, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y,z\n" + "\n".join(f"{k},{k / 7:.3f},same" for k in range(40)) + "\n")
    assert "is it a measurement, or an identifier?" in featly("describe", path, "-t", "y")[2]
    assert "has one class only" in featly("describe", path, "-t", "z")[2]


def test_methods_are_those_of_the_registry(featly):
    code, out, _ = featly("methods")
    assert code == 0
    assert [row[0] for row in cells(out)[1:]] == list(METHODS)
    assert [entry["name"] for entry in json.loads(featly("methods", "--json")[1])] == list(METHODS)
    for name, method in METHODS.items():
        told = json.loads(featly("methods", name, "--json")[1])
        assert told["tier"] == method.tier
        assert all(parameter["meaning"] for parameter in told["parameters"]), name
    assert "Price of a margin violation." in featly("methods", "SVMRFE")[1]


def test_version_and_help(featly):
    import featly as package

    assert featly("--version")[1] == f"featly {package.__version__}\n"
    for command in ("rank", "select", "describe", "methods"):
        assert featly(command, "--help")[0] == 0


# ---- mistakes -----------------------------------------------------------------------------------
def test_unknown_names_get_a_suggestion(mistake, csv):
    assert "did you mean 'ill'?" in mistake("rank", csv, "-t", "il")
    assert "did you mean 'marker'?" in mistake("rank", csv, "-t", "ill", "--keep", "Marke")
    assert "did you mean 'svm-rfe'?" in mistake("rank", csv, "-t", "ill", "-m", "svm-rfr")
    assert "did you mean 'step'?" in mistake(
        "rank", csv, "-t", "ill", "-m", "svm-rfe", "--set", "stp=1"
    )
    near = mistake("rank", csv.with_name("stdy.csv"), "-t", "ill")
    assert "there is no file" in near
    assert "study.csv" in near
    assert "'zzz' is no column of" in mistake("rank", csv, "-t", "zzz")
    assert "age, sex, stage, marker, noise" in mistake("rank", csv, "-t", "zzz")
    assert "positions run from 0 to 5" in mistake("rank", csv, "-t", "6")


def test_a_target_must_be_named(mistake, csv, tmp_path):
    assert "Say --target" in mistake("rank", csv)
    path = tmp_path / "b.csv"
    path.write_text("a,Class\n1,x\n2,y\n")
    assert "Say --target 'Class'" in mistake("rank", path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,y\n1,x\n2,x\n3,x\n", "target 'y' has one class only ('x')"),
        ("a,y\n1,0.5\n2,1.7\n3,0.1\n", "target 'y' holds real numbers such as 0.5"),
        ("a,y\n1,\n2,?\n3,NA\n", "target 'y' of"),
        ("y\n1\n2\n", "no column but the target 'y'"),
        ("a,y\n", "has a header but no rows"),
        ("", "is empty"),
        ("\n\n\n", "is empty"),
        ("a,b,y\n1,2,x\n3,4,z\n5,6", "line 4 of"),
        ("a,b,y\n1,2,x\n3,4,5,z\n", "line 3 of"),
        ("a,b,y\n1,\0,x\n3,4,z\n", "holds a zero byte in line 2"),
    ],
)
def test_bad_tables(mistake, tmp_path, text, told):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode())
    message = mistake("rank", path, "--target", "y")
    assert told in message
    assert "bad.csv" in message


def test_a_directory_and_a_file_of_others(mistake, tmp_path, monkeypatch, csv):
    assert "is a directory" in mistake("rank", tmp_path, "-t", "y")
    from pathlib import Path

    def refuse(self, *_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert "may not be read (permission denied)" in mistake("rank", csv, "-t", "ill")


def test_a_wrong_encoding(mistake, featly, tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("größe,y\n1,x\n2,z\n3,x\n4,z\n".encode("latin-1"))
    told = mistake("rank", path, "-t", "y", "--encoding", "utf-8")
    assert "line 1 of" in told
    assert "no text in the encoding utf-8" in told
    code, out, err = featly("rank", path, "-t", "y")
    assert code == 0
    assert cells(out)[1][1] == "größe"
    assert "encoding cp1252, as far as one can tell" in err
    assert "did you mean 'utf-8'?" in mistake("rank", path, "-t", "y", "--encoding", "uft-8")


def test_missing_values_where_the_method_cannot(mistake, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1,2,x\n?,4,z\n5,6,x\n7,8,z\n")
    told = mistake("rank", path, "-t", "y", "-m", "svm-rfe")
    assert "column 'a' has a missing value (NaN) in row 2 of the data" in told
    assert "FTest" in told
    assert "a.csv" in told


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("C=-1", "C=-1: give a positive finite number"),
        ("C=abc", "C='abc'"),
        ("C", "give a name and a value"),
        ("standardize=maybe", "give true or false"),
        ("step=0", "step=0"),
    ],
)
def test_bad_parameters(mistake, csv, setting, told):
    assert told in mistake("rank", csv, "-t", "ill", "-m", "svm-rfe", "--set", setting)


def test_bad_counts(mistake, csv):
    assert "give a number of columns" in mistake("select", csv, "-t", "ill", "-k", "few")
    assert "the table has 5 columns" in mistake("select", csv, "-t", "ill", "-k", "6")
    assert "n_features_to_select=0" in mistake("select", csv, "-t", "ill", "-k", "0")


def test_bad_schemas(mistake, csv, tmp_path):
    toml, prior = tmp_path / "s.toml", tmp_path / "p.csv"
    toml.write_text("keep = [age]\n")
    assert "is no TOML file" in mistake("rank", csv, "-t", "ill", "--schema", toml)
    toml.write_text('keeps = ["age"]\n')
    assert "did you mean 'keep'?" in mistake("rank", csv, "-t", "ill", "--schema", toml)
    toml.write_text('keep = "age"\n')
    assert "must be a list of columns" in mistake("rank", csv, "-t", "ill", "--schema", toml)
    prior.write_text("age,0.5\n")
    assert "prior of 'age' is 0.5" in mistake("rank", csv, "-t", "ill", "--prior", prior)
    prior.write_text("column,prior\nage,high\n")
    assert "line 2 of" in mistake("rank", csv, "-t", "ill", "--prior", prior)
    prior.write_text("agge,2\n")
    assert "did you mean 'age'?" in mistake("rank", csv, "-t", "ill", "--prior", prior)
    assert "cannot be ordinal and categorical" in mistake(
        "rank", csv, "-t", "ill", "--categorical", "stage", "--ordinal", "stage=I,II,III"
    )
    assert "stage=I,II,III" in mistake("rank", csv, "-t", "ill", "--ordinal", "stage")


def test_options_that_do_not_exist(featly):
    code, _, err = featly("rank", "a.csv", "--targt", "y")
    assert code == 2
    assert err.count("\n") == 1
    assert "--target" in err
    code, _, err = featly("rnk")
    assert code == 2
    assert "rank" in err
    assert featly("rank")[0] == 2


def test_a_place_that_cannot_be_written_is_told_before_the_work(mistake, csv, tmp_path):
    gone = tmp_path / "no" / "ranking.csv"
    assert "there is no folder" in mistake("rank", csv, "-t", "ill", "-o", gone)
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in mistake("rank", csv, "-t", "ill", "-o", tmp_path / "folder.csv")
    assert "give it one of" in mistake("rank", csv, "-t", "ill", "-o", tmp_path / "ranking.xlsx")
    assert "give it one of" in mistake("select", csv, "-t", "ill", "-o", tmp_path / "a.json")


@pytest.mark.parametrize("command", ["rank", "select"])
def test_a_full_disk_leaves_what_was_there(mistake, csv, tmp_path, monkeypatch, command):
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "result.csv"
    path.write_text("as it was")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    told = mistake(command, csv, "-t", "ill", "-m", "svm-rfe", "-o", path)
    assert "was not written: the disk is full" in told
    assert path.read_text() == "as it was"
    assert os.listdir(folder) == ["result.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device(tmp_path, csv):
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            command("rank", csv, "-t", "ill", "-q"),
            stdout=full, stderr=subprocess.PIPE, text=True, timeout=120,
        )  # fmt: skip
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert "standard output cannot be used: No space left on device" in ended.stderr


def test_a_fault_of_featlys_own_is_code_1(featly, csv, monkeypatch):
    from featly.present import job

    def broken(*_, **__):
        raise RuntimeError("this should not happen")

    monkeypatch.setattr(job, "fit", broken)
    code, _, err = featly("rank", csv, "-t", "ill", "-q")
    assert code == 1
    assert "fault of featly's (RuntimeError: this should not happen)" in err
    assert "Traceback" not in err


def test_an_interruption_writes_nothing(featly, csv, monkeypatch, tmp_path):
    from featly.present import job

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "fit", stop)
    code, out, err = featly("rank", csv, "-t", "ill", "-o", tmp_path / "r.csv", "-q")
    assert (code, out) == (130, "")
    assert "nothing was written" in err
    assert not (tmp_path / "r.csv").exists()


def test_too_little_memory_is_said(featly, csv, monkeypatch):
    from featly.present import job

    def exhaust(*_, **__):
        raise MemoryError

    monkeypatch.setattr(job, "fit", exhaust)
    code, _, err = featly("rank", csv, "-t", "ill", "-q")
    assert code == 2
    assert "not enough memory" in err


# ---- processes ----------------------------------------------------------------------------------
def command(*arguments):
    return [sys.executable, "-m", "featly", *map(str, arguments)]


def test_a_reader_that_leaves_is_no_error(tmp_path):
    path = tmp_path / "wide.csv"
    rng = np.random.default_rng(0)
    frame = pl.from_numpy(rng.normal(size=(6, 20_000)).round(2))
    frame.with_columns(y=pl.int_range(6) % 2).write_csv(path)
    featly = subprocess.Popen(
        command("rank", path, "-t", "y", "-q"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert featly.stdout.readline().startswith(b"rank\tfeature")
    featly.stdout.close()
    assert featly.stderr.read() == b""
    featly.stderr.close()
    assert featly.wait(timeout=60) == 0


def on_a_terminal(arguments, seconds=90):
    """What a command shows on a terminal, and its code."""
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    featly = subprocess.Popen(arguments, stdin=follower, stdout=follower, stderr=follower, env=env)
    os.close(follower)
    shown, deadline = b"", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if select.select([leader], [], [], 0.1)[0]:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        elif featly.poll() is not None:
            break
    os.close(leader)
    return featly.wait(timeout=10), shown.decode()


def test_on_a_terminal_people_are_spoken_to(csv, tmp_path):
    code, shown = on_a_terminal(command("rank", csv, "-t", "ill", "-m", "svm-rfe", "--top", 2))
    assert code == 0
    assert "svm-rfe for ill (no 30, yes 30)" in shown
    assert "3 more; --top 0 shows all" in shown
    assert "\t" not in shown
    assert "columns" in shown  # the bar


def test_in_a_pipe_there_is_no_bar_and_no_colour(csv):
    ended = subprocess.run(
        command("rank", csv, "-t", "ill", "-m", "svm-rfe"), capture_output=True, timeout=120
    )
    assert ended.returncode == 0
    assert b"\x1b" not in ended.stdout + ended.stderr
    assert ended.stderr.count(b"\n") == 1


def test_dropped_columns_may_be_in_the_schema(featly, mistake, csv, tmp_path):
    toml = tmp_path / "schema.toml"
    toml.write_text('target = "ill"\ncategorical = ["age"]\nkeep = ["noise"]\n')
    code, out, _ = featly("rank", csv, "--schema", toml, "--drop", "age", "-m", "svm-rfe")
    assert code == 0
    assert "age" not in [row[1] for row in cells(out)]
    told = mistake("rank", csv, "--schema", toml, "--drop", "noise")
    assert told == "'noise' cannot be kept and dropped"


def test_rows_are_counted_as_in_the_file(mistake, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,z,ill\n1,1,\n2,1,a\n,1,b\n3,1,a\n4,1,b\n")
    assert "in row 3 of the data" in mistake("rank", path, "-t", "ill", "-m", "svm-rfe")


def test_a_ranking_on_standard_output(featly, numbers):
    code, out, err = featly("rank", numbers, "-t", "ill", "-o", "-")
    assert code == 0
    assert pl.read_csv(out.encode()).height == 3
    assert "ranking is in" not in err


def test_mistakes_are_told_before_the_file_is_read(mistake, tmp_path):
    gone = tmp_path / "no.csv"
    assert "no method" in mistake("rank", gone, "-m", "nothing-like-it")
    assert "no parameter" in mistake("select", gone, "-m", "svm-rfe", "--set", "D=1")


def test_the_first_run_says_that_it_compiles(numbers, tmp_path):
    env = f"FEATLY_CACHE_DIR={tmp_path}"
    arguments = ["env", env, *command("rank", numbers, "-t", "ill", "--top", 1)]
    assert "compiling for this machine" in on_a_terminal(arguments)[1]
    assert "compiling for this machine" not in on_a_terminal(arguments)[1]


@pytest.mark.parametrize(
    ("line", "offered"),
    [("featly rank a.csv --method sv", "svm-rfe"), ("featly rank a.csv --target il", "ill")],
)
def test_completion(csv, line, offered):
    words = line.replace("a.csv", str(csv))
    env = {**os.environ, "_FEATLY_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": words}
    script = "from featly.present.cli import main; import sys; sys.argv = ['featly']; main()"
    ended = subprocess.run(
        [sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60
    )
    assert offered in ended.stdout
