"""A mistake costs one line that names the culprit, and code 2; nothing is half-written."""

import errno
import os

import polars as pl
import pytest

from tests.cli.reading import cells


def test_unknown_names_get_a_suggestion(mistake, csv):
    assert "did you mean 'ill'?" in mistake("rank", csv, "-t", "il")
    assert "did you mean 'marker'?" in mistake("rank", csv, "-t", "ill", "--keep", "Marke")
    assert "did you mean 'svm-rfe'?" in mistake("rank", csv, "-t", "ill", "-m", "svm-rfr")
    assert "did you mean 'step'?" in mistake(
        "rank", csv, "-t", "ill", "-m", "svm-rfe", "--set", "stp=1"
    )
    message = mistake("rank", csv.with_name("stdy.csv"), "-t", "ill")
    assert "there is no file" in message
    assert "study.csv" in message
    assert "'zzz' is no column of" in mistake("rank", csv, "-t", "zzz")
    assert "age, sex, stage, marker, noise" in mistake("rank", csv, "-t", "zzz")
    assert "positions run from 0 to 5" in mistake("rank", csv, "-t", "6")


def test_a_target_must_be_named(mistake, csv, tmp_path):
    assert "Say --target" in mistake("rank", csv)
    path = tmp_path / "b.csv"
    path.write_text("a,Class\n1,x\n2,y\n")
    assert "Say --target 'Class'" in mistake("rank", path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,y\n1,x\n2,x\n3,x\n", "target 'y' has one class only ('x')"),
        ("a,y\n1,0.5\n2,0.5\n3,0.5\n", "target 'y' is 0.5 in every row"),
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
def test_bad_tables(mistake, tmp_path, text, expected):
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode())
    message = mistake("rank", path, "--target", "y")
    assert expected in message
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
    message = mistake("rank", path, "-t", "y", "--encoding", "utf-8")
    assert "line 1 of" in message
    assert "no text in the encoding utf-8" in message
    code, out, err = featly("rank", path, "-t", "y")
    assert code == 0
    assert cells(out)[1][1] == "größe"
    assert "encoding cp1252, as far as one can tell" in err
    assert "did you mean 'utf-8'?" in mistake("rank", path, "-t", "y", "--encoding", "uft-8")


def test_missing_values_where_the_method_cannot(mistake, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n1,2,x\n?,4,z\n5,6,x\n7,8,z\n")
    message = mistake("rank", path, "-t", "y", "-m", "svm-rfe")
    assert "column 'a' has a missing value (NaN) in row 2 of the data" in message
    assert "FTest" in message
    assert "SVMRFE(kernel='clinical')" in message
    assert "a.csv" in message


@pytest.mark.parametrize(
    ("setting", "expected"),
    [
        ("C=-1", "--set 'C=-1': give a finite number above 0, or None"),
        ("C=abc", "--set 'C=abc': give a finite number above 0, or None"),
        ("C", "give a name and a value"),
        ("kernel=liner", "give 'linear', 'clinical' or 'rbf'; did you mean 'linear'?"),
        ("standardize=maybe", "give True or False"),
        ("step=0", "step=0"),
        ("verbose=3", "--set 'verbose=3': leave it to --quiet"),
        ("gamma=2", "gamma=2 is of no use without kernel='rbf'"),
    ],
)
def test_bad_parameters(mistake, tmp_path, setting, expected):
    unread = tmp_path / "no such file.csv"
    assert expected in mistake("rank", unread, "-t", "ill", "-m", "svm-rfe", "--set", setting)


def test_bad_counts(mistake, csv):
    assert "give a number of columns" in mistake("select", csv, "-t", "ill", "-k", "few")
    assert "the table has 5 columns" in mistake("select", csv, "-t", "ill", "-k", "6")
    assert "--count 0" in mistake("select", csv, "-t", "ill", "-k", "0")


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


def test_an_output_that_cannot_be_written_is_an_error_before_the_work(mistake, csv, tmp_path):
    missing = tmp_path / "no" / "ranking.csv"
    assert "there is no folder" in mistake("rank", csv, "-t", "ill", "-o", missing)
    (tmp_path / "folder.csv").mkdir()
    assert "is a directory" in mistake("rank", csv, "-t", "ill", "-o", tmp_path / "folder.csv")
    assert "give it one of" in mistake("rank", csv, "-t", "ill", "-o", tmp_path / "ranking.xlsx")
    assert "give it one of" in mistake("select", csv, "-t", "ill", "-o", tmp_path / "a.json")
    small = tmp_path / "small.csv"
    message = mistake("select", csv, "-t", "ill", "-k", 2, "-o", small, "--ranking", missing)
    assert "there is no folder" in message
    assert not small.exists()


@pytest.mark.parametrize("command", ["rank", "select"])
def test_a_full_disk_leaves_what_was_there(mistake, csv, tmp_path, monkeypatch, command):
    folder = tmp_path / "out"
    folder.mkdir()
    path = folder / "result.csv"
    path.write_text("as it was")

    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    message = mistake(command, csv, "-t", "ill", "-m", "svm-rfe", "-o", path)
    assert "was not written: the disk is full" in message
    assert path.read_text() == "as it was"
    assert os.listdir(folder) == ["result.csv"]


def test_a_fault_of_featlys_own_is_code_1(featly, csv, monkeypatch):
    from featly.cli import method

    def fail(*_, **__):
        raise RuntimeError("this should not happen")

    monkeypatch.setattr(method, "fit", fail)
    code, _, err = featly("rank", csv, "-t", "ill", "-q")
    assert code == 1
    assert "fault of featly's (RuntimeError: this should not happen)" in err
    assert "Traceback" not in err


def test_an_interruption_writes_nothing(featly, csv, monkeypatch, tmp_path):
    from featly.cli import method

    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(method, "fit", stop)
    code, out, err = featly("rank", csv, "-t", "ill", "-o", tmp_path / "r.csv", "-q")
    assert (code, out) == (130, "")
    assert "nothing was written" in err
    assert not (tmp_path / "r.csv").exists()


def test_too_little_memory_is_reported(featly, csv, monkeypatch):
    from featly.cli import method

    def exhaust(*_, **__):
        raise MemoryError

    monkeypatch.setattr(method, "fit", exhaust)
    code, _, err = featly("rank", csv, "-t", "ill", "-q")
    assert code == 2
    assert "not enough memory" in err


def test_dropped_columns_may_be_in_the_schema(featly, mistake, csv, tmp_path):
    toml = tmp_path / "schema.toml"
    toml.write_text('target = "ill"\ncategorical = ["age"]\nkeep = ["noise"]\n')
    code, out, _ = featly("rank", csv, "--schema", toml, "--drop", "age", "-m", "svm-rfe")
    assert code == 0
    assert "age" not in [row[1] for row in cells(out)]
    message = mistake("rank", csv, "--schema", toml, "--drop", "noise")
    assert message == "'noise' cannot be kept and dropped"


def test_rows_are_counted_as_in_the_file(mistake, tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("x,z,ill\n1,1,\n2,1,a\n,1,b\n3,1,a\n4,1,b\n")
    assert "in row 3 of the data" in mistake("rank", path, "-t", "ill", "-m", "svm-rfe")


def test_a_ranking_on_standard_output(featly, numbers):
    code, out, err = featly("rank", numbers, "-t", "ill", "-o", "-")
    assert code == 0
    assert pl.read_csv(out.encode()).height == 3
    assert "ranking is in" not in err


def test_options_are_checked_before_the_file_is_read(mistake, tmp_path):
    missing = tmp_path / "no.csv"
    assert "no method" in mistake("rank", missing, "-m", "nothing-like-it")
    assert "no parameter" in mistake("select", missing, "-m", "svm-rfe", "--set", "D=1")
