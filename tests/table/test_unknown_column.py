import pytest

from featly.table.frames import DefaultNames
from featly.table.unknown_column import MOST_COMPARED, describe_unknown_column


@pytest.mark.parametrize(
    ("name", "names", "message"),
    [
        ("does", ["age", "dose"], "is no column of the table; did you mean 'dose'?"),
        ("DOSE", ["age", "Dose"], "is no column of the table; did you mean 'Dose'?"),
        ("sex", ["age", "dose"], "is no column of the table: its columns are age, dose"),
        ("sex", list("abcdef"), "is no column of the table: its columns are a, b, c, d, e, ..."),
        ("sex", ["a" * 99], f"is no column of the table: its columns are {'a' * 60}"),
        ("year", [2019, 2020], "is no column of the table: its columns are 2019, 2020"),
        ("sex", [], "is no column of the table"),
        ("x31", DefaultNames(4), "is no column of the table; did you mean 'x3'?"),
    ],
)
def test_message(name, names, message):
    assert describe_unknown_column(name, names) == message


def test_table_is_named():
    message = describe_unknown_column("does", ["dose"], "'study.csv'")
    assert message == "is no column of 'study.csv'; did you mean 'dose'?"


def test_few_names_of_a_wide_table_are_compared():
    names = [*(f"gene {k}" for k in range(MOST_COMPARED)), "dose"]
    assert "did you mean" not in describe_unknown_column("dosis", names)
