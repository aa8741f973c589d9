"""Alarms and questions on the command line."""

import json

import pytest

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
