"""All that is said about a table."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from featly import Schema, check_table
from featly.cli.words import OptionWords


def make_lies(seed=0, n=300):
    """Return a table with one column of each kind of lie, and the classes."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.4).astype(int)
    site = np.where(rng.random(n) < 0.1, 1 - y, y)
    X = rng.normal(size=(n, 40))
    X[:, :14] += 1.5 * site[:, None]
    frame = pl.DataFrame({f"m{j}": X[:, j] for j in range(40)}).with_columns(
        lab=pl.Series(np.array(["north", "south"])[site]),
        number=pl.Series(rng.permutation(n) + 1),
        name=pl.Series([f"P{k:04d}" for k in rng.permutation(n)]),
        followup_days=pl.Series(rng.exponential(np.where(y == 1, 200, 900)).round()),
        remark=pl.Series([f"seen by nurse {k}" for k in range(n)]),
        day=pl.Series([f"2020-{1 + k % 12:02d}-{1 + k % 28:02d}" for k in range(n)]),
        crp=pl.Series(np.where(rng.random(n) < 0.2 + 0.3 * y, np.nan, rng.normal(size=n))),
        state=pl.Series(np.array(["alive", "dead"])[y]),
        marker=pl.Series(y * 4 + rng.normal(size=n)),
    )
    return frame, y


EXPECTED = {
    ("alarm", "identifier", ("number",)),
    ("alarm", "identifier", ("name",)),
    ("alarm", "copy of the class", ("state",)),
    ("alarm", "missing values", ("crp",)),
    ("question", "separates", ("marker",)),
    ("question", "time to the event", ("followup_days",)),
    ("question", "batch", ("lab",)),
    ("note", "text", ("remark",)),
    ("note", "dates", ("day",)),
}


@pytest.mark.parametrize("library", ["polars", "pandas", "pyarrow"])
def test_every_lie_is_named(library):
    frame, y = make_lies()
    table = {"polars": frame, "pandas": frame.to_pandas(), "pyarrow": frame.to_arrow()}[library]
    findings = check_table(table, y)
    assert {(f.level, f.kind, f.columns) for f in findings} == EXPECTED
    assert [f.level for f in findings] == sorted(
        (f.level for f in findings), key=["alarm", "question", "note"].index
    )
    assert len(findings.alarms) == 4
    assert len(findings.questions) == 3
    assert len(findings.notes) == 2


def test_the_schema_answers_questions():
    frame, y = make_lies()
    schema = Schema(known_before=["marker", "followup_days", "lab", "number"])
    findings = check_table(frame, y, schema=schema)
    assert findings.questions == ()
    assert {f.columns[0] for f in findings.alarms} == {"name", "state", "crp"}


def test_an_unknown_column_in_the_answer_is_an_error():
    from featly import FTest, SchemaError

    frame, y = make_lies()
    numbers = frame.select("m0", "m1")
    with pytest.raises(SchemaError, match="known_before names 'm2'"):
        FTest(schema={"known_before": ["m2"]}).fit(numbers, y)


def test_findings_are_said_in_words_of_python_and_of_the_command_line():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 20)), rng.integers(0, 2, 50)
    findings = check_table(np.vstack([X, X]), np.tile(y, 2))
    assert "row 0 and row 50" in str(findings[0])
    assert "(row_groups='auto')" in str(findings[0])
    words = OptionWords(["row_groups", "drop_twins"])
    said = findings[0].describe(words, known=words.options)
    assert "row 1 and row 51" in said
    assert "(--row-groups auto or --drop-twins)" in said
    assert "--row-groups" not in findings[0].describe(words, known=["drop_twins"])
    assert findings[0].rows == tuple(range(100))
    said = json.loads(json.dumps(findings.to_dicts()))
    assert said[0]["kind"] == "twins"
    assert findings.to_frame().shape == (1, 5)


def test_stated_row_groups_answer_twins():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(50, 20)), rng.integers(0, 2, 50)
    findings = check_table(np.vstack([X, X]), np.tile(y, 2), has_row_groups=True)
    assert findings.alarms == ()


def test_two_equal_rows_are_a_note():
    X = np.random.default_rng(3).normal(size=(100, 20))
    X[60] = X[7]
    findings = check_table(X, np.arange(100) % 2)
    assert [(f.level, f.kind, f.rows) for f in findings] == [("note", "twins", (7, 60))]


@pytest.mark.parametrize("kind", ["numbers", "survival"])
def test_other_targets_are_taken(kind):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 5))
    if kind == "numbers":
        y = rng.normal(size=60)
    else:
        y = np.array(
            list(zip(rng.random(60) < 0.5, rng.exponential(size=60), strict=True)),
            dtype=[("event", bool), ("time", float)],
        )
    assert len(check_table(np.vstack([X, X]), np.concatenate([y, y])).alarms) == 1


def test_without_a_target_rows_and_names_are_checked():
    frame, _ = make_lies()
    kinds = {f.kind for f in check_table(frame)}
    assert kinds == {"identifier", "text", "dates"}


@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame({"id": [f"P{k}" for k in range(40)]}),
        pl.DataFrame({"a": [1.0] * 40, "b": ["x"] * 40}),
        pl.DataFrame({"day": [f"2020-01-{1 + k % 28:02d}" for k in range(40)]}),
        pl.DataFrame({"Age": range(40), "age": range(40)}),
        pd.DataFrame({"": np.arange(40.0), " ": np.arange(40.0)[::-1]}),
        pl.DataFrame({"x": [None] * 40}, schema={"x": pl.Float64}),
    ],
    ids=["identifiers only", "constant", "dates only", "case", "empty names", "missing"],
)
@pytest.mark.parametrize("y", [np.arange(40) % 2, np.r_[1, np.zeros(39, int)]], ids=["", "1 row"])
def test_odd_tables_are_told_about_and_break_nothing(frame, y):
    findings = check_table(frame, y)
    assert all(f.text.endswith((".", "?")) for f in findings)
    if y.sum() == 1:
        assert "small classes" in {f.kind for f in findings}


@pytest.mark.parametrize("law", ["normal", "coarse", "signal", "many classes", "imbalanced"])
def test_clean_tables_are_silent(law):
    rng = np.random.default_rng(6)
    for n, p in ((60, 10), (150, 120)):
        y = rng.integers(0, 4 if law == "many classes" else 2, n)
        if law == "imbalanced":
            y = (np.arange(n) < 10).astype(int)
        X = rng.normal(size=(n, p))
        if law == "signal":
            X[:, :5] += y[:, None]
        if law == "coarse":
            X = X.round()
        X[rng.random(X.shape) < 0.1] = np.nan
        assert check_table(X, y).alarms == check_table(X, y).questions == ()


def test_a_wide_frame_is_read_as_an_array_is():
    rng = np.random.default_rng(8)
    X, y = rng.normal(size=(40, 2100)), np.arange(40) % 2
    X[:, 5] = np.arange(40)
    X[rng.random(40) < 0.5 * y, 9] = np.nan
    frame = pl.DataFrame(X, schema=[f"x{j}" for j in range(2100)])
    by_frame, by_array = check_table(frame, y), check_table(X, y)
    assert str(by_frame) == str(by_array)
    assert by_frame.alarms[0].columns == ("x5",)
    empty = frame.with_columns(x7=pl.lit(None, pl.Float64))
    assert str(check_table(empty, y)) == str(by_frame)
