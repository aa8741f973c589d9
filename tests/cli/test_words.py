"""Messages of the library in the words of the command line: options, rows from 1, names."""

import json

import numpy as np
import pytest

from featly.basics.errors import ByPairs, DataError, Parameter, Setting, TargetName
from featly.cli.words import OptionWords

SPARSE = """@relation r
@attribute dose numeric
@attribute 'x0' numeric
@attribute age numeric
@attribute class {a,b}
@data
{0 1, 1 2}
{0 2, 2 1, 3 b}
{1 1, 2 3}
{0 4, 1 3, 3 b}
{2 1}
{0 1, 3 b}
"""


@pytest.fixture
def sparse(tmp_path):
    """A function that writes a sparse ARFF file, one cell of it replaced."""

    def write(cell="2 3", instead="2 3"):
        path = tmp_path / "sparse.arff"
        assert SPARSE.count(cell) == 1
        path.write_text(SPARSE.replace(cell, instead))
        return path

    return write


def test_columns_of_a_sparse_file_have_its_names(mistake, sparse):
    path = sparse("2 3", "2 ?")
    message = mistake("rank", path, "-m", "svm-rfe")
    assert message.startswith(f"'{path}': column 'age' has a missing value (NaN) in row 3 of the")


def test_a_column_that_is_called_like_a_position_keeps_its_name(mistake, sparse):
    message = mistake("rank", sparse("1 1, 2 3", "1 ?, 2 3"), "-m", "svm-rfe")
    assert "column 'x0' has a missing value" in message  # its position is 1


def test_schemas_of_a_sparse_file_are_refused_by_its_names(mistake, sparse):
    message = mistake("rank", sparse(), "--categorical", "age")
    assert "column 'age' of a sparse table cannot be categorical" in message
    message = mistake("evaluate", sparse(), "--categorical", "age", "--splits", 2)
    assert "'age'" in message


def test_advice_on_a_sparse_file_has_its_names(featly, tmp_path):
    path = tmp_path / "wide.arff"
    rows = "".join(f"{{0 {k}, 2 7, 3 {'b' if k % 2 else 'a'}}}\n" for k in range(1, 21))
    path.write_text(SPARSE.partition("@data")[0].replace("{a,b}", "{0,a,b}") + "@data\n" + rows)
    code, out, err = featly("advise", path, "--json")
    assert code == 0, err
    warnings = " ".join(json.loads(out)["warnings"])
    assert "'age'" in warnings
    assert "'x2'" not in warnings


def test_rows_are_those_of_the_file(mistake, tmp_path):
    path = tmp_path / "rows.csv"
    lines = ["age,dose,y", "1,2,a", "2,3,", "3,1,b", ",5,a", "4,1,b"]
    path.write_text("\n".join(lines) + "\n")
    message = mistake("rank", path, "-t", "y", "-m", "svm-rfe")
    assert "column 'age' has a missing value (NaN) in row 4 of the data" in message
    path.write_text("age,y\n1,a\n2,3\n3,inf\n4,2.5\n")
    message = mistake("rank", path, "-t", "y", "--target-kind", "numbers")
    assert "target 'y' holds 'a' in row 1 of the data, which is no number" in message
    assert message.endswith("leave out --target-kind numbers")


def test_a_redundancy_limit_is_an_option(mistake, tmp_path):
    np.save(tmp_path / "X.npy", np.random.default_rng(0).normal(size=(9, 4)))
    message = mistake("redundancy", tmp_path / "X.npy", "--jobs", "0")
    assert message == "--jobs 0: give a whole number other than 0, or None"


def test_lists_of_combine_are_called_by_features(mistake, tmp_path):
    (tmp_path / "a.csv").write_text("feature,rank\ntp53,1\nbrca1,2\n")
    (tmp_path / "b.csv").write_text("feature,rank\ntp53,1\n")
    message = mistake(
        "combine", tmp_path / "a.csv", tmp_path / "b.csv", "--rule", "stuart",
        "--unlisted", "unknown",
    )  # fmt: skip
    assert "but 'tp53' is in 2 and 'brca1' in 1: use --unlisted last or the rule" in message


def test_what_the_system_says_of_a_cache_is_said_of_the_option(mistake, tmp_path):
    np.save(tmp_path / "X.npy", np.asfortranarray(np.eye(8, 6)))
    np.save(tmp_path / "y.npy", np.arange(8) % 2)
    cache = tmp_path / "X.npy" / "kept"
    message = mistake(
        "rank", tmp_path / "X.npy", "--target-file", tmp_path / "y.npy", "-m", "mrmr",
        "--memory-limit", "1MB", "--cache", cache,
    )  # fmt: skip
    assert message.startswith(f"--cache '{cache}' cannot be written to (Not a directory): give a")
    assert message.endswith("or leave --cache out")


def test_warnings_are_said_in_options_too(featly, tmp_path):
    path = tmp_path / "visits.csv"
    rows = [f"{k // 2},{k % 7},{k % 3},{'ab'[k % 2]}" for k in range(40)]
    path.write_text("\n".join(["patient,age,dose,ill", *rows]) + "\n")
    code, _, err = featly("evaluate", path, "-t", "ill", "--splits", 2, "--methods", "f-test")
    assert code == 0, err
    assert "(--row-groups patient or --known-before patient)" in err


@pytest.mark.parametrize(
    ("field", "options", "expected"),
    [
        (Setting("C", -1), ["settings"], "--set C=-1"),
        (Setting("C", "much"), ["settings"], "--set C='much'"),
        (Setting("C", -1), [], "C=-1"),
        (Parameter("C"), ["settings"], "--set C"),
        (Setting("n_features_to_select", 3), ["count", "settings"], "--count 3"),
        (Setting("without", ["a", "b"]), ["drop"], "--drop a,b"),
        (Setting("memory_limit", "2 GB"), ["memory_limit"], "--memory-limit '2 GB'"),
        (Setting("device", "cpu"), ["device", "settings"], "--device cpu"),
        (Setting("target_kind", "numbers", "Schema"), ["target_kind"], "--target-kind numbers"),
        (Setting("target_kind", "numbers", "Schema"), [], "Schema(target_kind='numbers')"),
        (ByPairs("SVMRFE"), ["settings"], "--set multiclass=ovo"),
        (ByPairs("SVMRFE"), ["methods"], "the method pairwise"),
        (TargetName(), [], "y"),
    ],
)
def test_fields_by_the_options_of_a_command(field, options, expected):
    assert DataError("give ", field).say(OptionWords(options)) == f"give {expected}"
