"""Alarms and questions on the command line."""

import json

import numpy as np
import polars as pl
import pytest

from featly import check_table
from tests.diagnostics.alarms.test_check_table import make_lies


@pytest.fixture(scope="module")
def lies(tmp_path_factory):
    frame, y = make_lies()
    path = tmp_path_factory.mktemp("alarms") / "lies.csv"
    frame.drop("remark").with_columns(ill=y).write_csv(path)
    return str(path)


OPTIONS = ("--target", "ill", "--method", "univariate-test")
ALARMS = ("'number' numbers the rows", "'name' names the rows", "'state' is the class",
          "'crp' is missing in")  # fmt: skip
QUESTIONS = ("'marker' alone orders", "'followup_days' has the name", "'lab' goes with the class")


@pytest.mark.parametrize("command", ["rank", "select"])
def test_alarms_and_questions_are_on_standard_error(lies, featly, command):
    code, out, err = featly(command, lies, *OPTIONS)
    assert code == 0
    for text in (*ALARMS, *QUESTIONS):
        assert text in err
        assert text not in out
    assert "It is left out. To let it in, say so. (--known-before number)" in err
    assert "(--known-before marker or --drop marker)" in err
    assert "note: 'day' holds dates. It is left out" in err


def test_alarms_are_said_to_those_who_want_no_remarks(lies, featly):
    err = featly("rank", lies, *OPTIONS, "--quiet")[2]
    assert all(text in err for text in ALARMS)
    assert not any(text in err for text in QUESTIONS)


def test_describe_has_notes_as_well(lies, featly):
    err = featly("describe", lies, "--target", "ill")[2]
    assert all(text in err for text in (*ALARMS, *QUESTIONS))
    assert "note: 'day' holds dates" in err


def test_answers_silence_questions(lies, featly):
    err = featly("rank", lies, *OPTIONS, "--known-before", "marker,lab,followup_days")[2]
    assert "question: " not in err
    assert "alarm: " in err


def test_dropped_columns_are_not_spoken_of(lies, featly):
    err = featly("rank", lies, *OPTIONS, "--drop", "number,name,state,crp,day")[2]
    assert "alarm: " not in err


@pytest.mark.parametrize("command", ["rank", "select", "describe"])
def test_json_has_findings(lies, featly, command):
    options = OPTIONS if command != "describe" else OPTIONS[:2]
    out = featly(command, lies, *options, "--json", "--quiet")[1]
    findings = json.loads(out)["findings"]
    assert {finding["level"] for finding in findings} == {"alarm", "question", "note"}
    assert {"number"} in [set(finding["columns"]) for finding in findings]


def test_an_answer_about_an_unknown_column_is_an_error(lies, mistake):
    text = mistake("rank", lies, *OPTIONS, "--known-before", "markr")
    assert "did you mean 'marker'?" in text


# ---- every route, once ---------------------------------------------------------------------------
QUICK = ("--splits", "2", "--sizes", "2", "--methods", "f-test")
ROUTES = {
    "rank": ("--method", "f-test"),
    "select": ("--method", "f-test", "--count", "2"),
    "evaluate": QUICK,
    "report": (*QUICK, "--null", "19", "-o", "-", "--format", "json"),
    "advise": (),
}


@pytest.fixture
def count_checks(monkeypatch):
    """Count how often a table is checked."""
    calls = []

    def check(*arguments, **options):
        calls.append(options)
        return check_table(*arguments, **options)

    monkeypatch.setattr("featly.diagnostics.alarms.check.check_table", check)
    return calls


@pytest.fixture(scope="module")
def twins(tmp_path_factory):
    """Every patient twice, with a number each."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(25, 8)), np.arange(25) % 2
    X = np.vstack([X, X + 0.02 * rng.normal(size=X.shape)])
    path = tmp_path_factory.mktemp("alarms") / "twins.csv"
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(8)])
    frame.with_columns(entry=1 + rng.permutation(50), ill=np.tile(y, 2)).write_csv(path)
    return str(path)


@pytest.mark.parametrize("route", ROUTES)
def test_every_command_checks_once_and_leaves_row_numbers_out(twins, featly, count_checks, route):
    json_option = [] if route == "report" else ["--json"]
    code, out, err = featly(route, twins, "-t", "ill", *ROUTES[route], *json_option)
    assert code == 0
    assert len(count_checks) == 1
    assert "alarm: 50 of 50 rows are alike" in err
    known = "(--row-groups auto or --drop-twins)" if route not in ("rank", "select") else "--drop"
    assert known in err
    assert err.count("'entry' numbers the rows") == 1
    assert "(--known-before entry)" in err
    document = json.loads(out)
    assert [f["kind"] for f in document["findings"]] == ["twins", "identifier"]
    said = ("findings", "methods_paragraph")  # where it is said that the column is left out
    assert "entry" not in json.dumps({k: v for k, v in document.items() if k not in said})
    if route == "report":
        assert all(finding["withholds"] != finding["mended"] for finding in document["findings"])
        assert not any(answer["answer"].startswith("Yes") for answer in document["answers"])
        assert document["summary"].endswith("an alarm about the table is open.")


@pytest.mark.parametrize("route", ["rank", "evaluate", "advise"])
def test_twins_are_left_out_or_kept_together(twins, featly, route):
    arguments = (route, twins, "-t", "ill", *ROUTES[route])
    err = featly(*arguments, "--drop-twins")[2]
    assert "25 rows that are like an earlier row stay out" in err
    assert "alike" not in err
    if route != "rank":
        err = featly(*arguments, "--row-groups", "auto")[2]
        assert "row groups: 50 rows in 25 groups of rows alike" in err
        assert "alarm: 50 of 50" not in err


@pytest.mark.parametrize("answer", ["--keep", "--known-before"])
def test_who_wants_a_row_number_gets_it(twins, featly, answer):
    out, err = featly("rank", twins, "-t", "ill", "-m", "f-test", answer, "entry")[1:]
    assert "entry" in out
    assert "'entry'" not in err


@pytest.mark.parametrize("method", ["mkl-rfe", "jmi", "f-test"])
def test_columns_chosen_for_their_missing_values(tmp_path, featly, method):
    rng = np.random.default_rng(5)
    ill = np.arange(120) % 2
    X = rng.normal(size=(120, 6))
    X[rng.random(120) < np.where(ill == 1, 0.65, 0.15), 0] = np.nan
    frame = pl.DataFrame(X, schema=[f"g{j}" for j in range(6)])
    path = write(tmp_path / "gaps.csv", **frame.to_dict(), ill=ill)
    arguments = ("select", path, "-t", "ill", "-m", method, "-k", "1", "-o", tmp_path / "s.csv")
    err = featly(*arguments)[2]
    said = "note: 'g0' is chosen at least partly for its missing values: absent in" in err
    assert said == (method != "f-test")
    assert "alarm: 'g0' is missing in" in err
    assert "(--ignore-missing or --known-before g0)" in err
    err = featly(*arguments, "--ignore-missing")[2]
    assert "alarm" not in err
    assert "is chosen" not in err
    assert "missing values filled in 1 column" in err
    assert "give one" in featly(*arguments, "--ignore-missing", "--fill")[2]


# ---- bad input -----------------------------------------------------------------------------------
def write(path, **columns):
    pl.DataFrame(columns).write_csv(path)
    return path


ILL = ["no", "yes"] * 20
DAYS = [f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(40)]


@pytest.mark.parametrize("route", ["rank", "evaluate", "advise"])
@pytest.mark.parametrize(
    "columns",
    [{"a": range(40), "b": [f"P{k}" for k in range(40)]}, {"day": DAYS}],
    ids=["identifiers only", "dates only"],
)
def test_a_table_without_a_column_that_means_something_is_an_error(
    tmp_path, mistake, columns, route
):
    path = write(tmp_path / "t.csv", **columns, ill=ILL)
    text = mistake(route, path, "-t", "ill", *ROUTES[route])
    assert "every column of" in text
    assert repr(next(iter(columns))) in text
    assert "--known-before" in text


def test_equal_rows_rare_classes_and_odd_names_break_nothing(tmp_path, featly):
    path = write(tmp_path / "equal.csv", a=[1.0] * 40, b=[2.0] * 40, ill=ILL)
    code, _, err = featly("describe", path, "-t", "ill")
    assert code == 0
    assert "alarm" not in err
    numbers = np.random.default_rng(0).normal(size=(3, 40))
    one = ["yes", *["no"] * 39]
    path = write(tmp_path / "one.csv", a=numbers[0], b=numbers[1], ill=one)
    code, _, err = featly("describe", path, "-t", "ill")
    assert code == 0
    assert "note: Classes with fewer than 5 rows: 'yes' (1 row)." in err
    columns = {"Age": numbers[0], "age": numbers[1], "": np.arange(40)}
    path = write(tmp_path / "names.csv", **columns, ill=ILL)
    code, out, err = featly("rank", path, "-t", "ill", "-m", "f-test")
    assert code == 0
    assert "numbers the rows" in err
    assert sorted(line.split("\t")[1] for line in out.splitlines()[1:]) == ["Age", "age"]
