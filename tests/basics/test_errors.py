import copy
import pickle
import warnings

import pytest

from featly.basics.caller import warn_user
from featly.basics.errors import (
    ByPairs,
    Column,
    DataError,
    DeviceError,
    Feature,
    Parameter,
    ParameterError,
    Row,
    SchemaError,
    SchemaWarning,
    Setting,
    StudyError,
    TargetName,
    Text,
    Words,
)

PARTS = (
    TargetName(), " and ", Column("a{0}"), " in ", Row(3), ": give ", Setting("C", -1), " or ",
    Text(Parameter("cache"), ", ", Setting("target_kind", "numbers", "Schema")), ", ",
    ByPairs("AROM"), " of ", Feature(2),
)  # fmt: skip
IN_PYTHON = (
    "y and 'a{0}' in row 3: give C=-1 or cache, Schema(target_kind='numbers'), "
    "PairwiseRanker(AROM()) of feature 2"
)
KINDS = (DataError, SchemaError, ParameterError, DeviceError, StudyError, SchemaWarning)


class Loud(Words):
    def row(self, position):
        return f"LINE {position + 1}"

    def column(self, name):
        return name.upper()

    def feature(self, position):
        return "FEATURE"

    def target(self):
        return "OUTCOME"

    def parameter(self, name, owner):
        return f"--{name}"

    def setting(self, setting):
        return f"--{setting.name} {setting.typed}"

    def by_pairs(self, method):
        return "PAIRS"


@pytest.mark.parametrize("kind", KINDS)
def test_python_says_the_fields_and_others_say_them_their_way(kind):
    error = kind(*PARTS)
    assert str(error) == IN_PYTHON
    assert error.say(Loud()) == (
        "OUTCOME and A{0} in LINE 4: give --C -1 or --cache, --target_kind numbers, PAIRS of "
        "FEATURE"
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.copy])
def test_fields_survive_a_copy_to_another_process(kind, copied):
    error = copied(kind(*PARTS))
    assert type(error) is kind
    assert str(error) == IN_PYTHON
    assert "LINE 4" in error.say(Loud())


def test_values_that_cannot_be_pickled_are_no_hindrance():
    error = ParameterError(Setting("rule", lambda x: x), ": give a name")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert "rule=<function" in str(error)


def test_plain_text_is_said_as_it_is():
    assert str(DataError("no {row} of 100% \\1")) == "no {row} of 100% \\1"
    assert str(DataError()) == ""


def test_fields_are_replaced_wherever_they_are():
    error = SchemaError("column ", Text("of ", Column("x1")), " in ", Row(1))
    renamed = error.replace_fields(lambda f: Column("age") if isinstance(f, Column) else f)
    assert (type(renamed), str(renamed)) == (SchemaError, "column of 'age' in row 1")


def test_words_before_an_error_leave_its_fields():
    error = DataError("y is missing in ", Row(3)).preceded_by("site 2: ")
    assert str(error) == "site 2: y is missing in row 3"
    assert error.say(Loud()) == "site 2: y is missing in LINE 4"


def test_warnings_have_fields():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_user(SchemaWarning("give ", Parameter("cache")))
        warn_user("give a cache", SchemaWarning)
    assert [str(w.message) for w in caught] == ["give cache", "give a cache"]
    assert all(w.category is SchemaWarning and w.filename == __file__ for w in caught)
    assert caught[0].message.say(Loud()) == "give --cache"
