"""Rules of parameters, and estimators whose parameters are fields."""

import inspect
import math
import pickle
from fractions import Fraction
from typing import Annotated, Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from featly import SVMRFE, FTest
from featly.base import Ranker, rank_by_merit
from featly.basics.errors import ParameterError
from featly.basics.params import (
    FLAG,
    Function,
    InstanceOf,
    ListOf,
    Number,
    OneOf,
    Parameters,
    Threads,
    Whole,
    check_parameters,
    check_value,
    field,
    parameters_of,
)
from featly.basics.resources import MEMORY
from featly.elimination.rfe import Sizes

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("rule", "words", "taken", "refused"),
    [
        (Number(), "a finite number",
         [0, -2, 0.5, np.float32(1), Fraction(1, 3)], [INF, NAN, True, "1", 10**400]),
        (Number(above=0), "a finite number above 0", [1e-300, np.int8(1)], [0, -1, INF, np.True_]),
        (Number(above=0, finite=False), "a number above 0", [INF, 1], [0, -INF, NAN]),
        (Number(at_least=0), "a finite number from 0", [0, 0.0, 5], [-5e-324, INF]),
        (Number(at_least=0, below=1), "a number from 0 to below 1", [0, 0.99], [1, 1.0, -1]),
        (Number(at_least=0, at_most=1), "a number from 0 to 1", [0, 1], [1.1]),
        (Number(above=0, at_most=0.5), "a number above 0 and at most 0.5", [0.5], [0, 0.6]),
        (Number(above=0, below=1), "a number above 0 and below 1", [0.5], [0, 1]),
        (Number(below=1), "a number below 1", [-9], [1]),
        (Whole(at_least=1), "a whole number from 1", [1, np.int64(7)], [0, 1.0, True, None, "1"]),
        (Whole(at_least=1, at_most=9), "a whole number from 1 to 9", [1, 9], [0, 10]),
        (Threads(), "a whole number other than 0", [1, -1], [0, 0.5, True]),
        (OneOf(1, 2), "1 or 2", [1, 2, np.int64(2)], [True, 3, 1.5, [1]]),
        (OneOf("a", "b", "c"), "'a', 'b' or 'c'", ["a", np.str_("b")], ["A", b"a", ["a"], None]),
        (FLAG, "True or False", [True, np.False_], [0, 1, "yes", None]),
        (InstanceOf(dict, words="a dict"), "a dict", [{}], [[], dict]),
        (ListOf("numbers"), "a list of numbers", [[1], (), np.ones(2)], ["ab", {}, 1, np.ones(())]),
        (Function("a function"), "a function", [len], [3]),
        (MEMORY, "1 MB or more, as a number of bytes or a text such as '512MB' or '2GB'",
         ["1MB", "2 GiB", 1e6, INF], ["1kB", 999_999, -INF, NAN, True, "MB", None]),
        (Sizes(), "a list of sizes to pass through, which fall and stay above 0",
         [[9, 3], (5,), np.array([4, 1])], [[], [3, 3], [1, 2], "21", np.array(3), [2.5]]),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_rule(rule, words, taken, refused):
    for value in taken:
        check_value("it", value, rule)
    for value in [*refused, *rule.outside]:
        with pytest.raises(ParameterError) as error:
            check_value("it", value, rule)
        assert str(error.value).startswith("it=")
        assert f": give {words}" in str(error.value)


def test_alternatives_are_joined_in_words():
    def words(*rules, optional=False):
        with pytest.raises(ParameterError) as error:
            check_value("p", object, *rules, optional=optional)
        return str(error.value).partition(": give ")[2]

    assert words(OneOf("a"), optional=True) == "'a' or None"
    assert words(OneOf("a"), Number(above=0)) == "'a', or a finite number above 0"
    assert words(OneOf("a", "b"), Whole(at_least=1), optional=True) == (
        "'a', 'b', a whole number from 1, or None"
    )


def test_the_nearest_name_is_suggested():
    with pytest.raises(ParameterError, match=r"'scale'; did you mean 'scale'\?$"):
        check_value("gamma", "scal", Number(above=0), OneOf("scale"))


def test_an_error_is_one_line_whatever_the_value():
    for value in (np.eye(300), "a\nb", SVMRFE()):
        with pytest.raises(ParameterError) as error:
            check_value("C", value, Number())
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 300


# ---- estimators -----------------------------------------------------------------------------
class Shared(Parameters):
    """A parameter of many."""

    seed: Annotated[int, Whole(at_least=0)] = 0


class Estimator(Shared, BaseEstimator):
    """An estimator with parameters of every form."""

    first: Annotated[Any, InstanceOf(str, words="text")] = field(default="x", kw_only=False)
    C: Annotated[float | None, Number(above=0)] = None
    free: Any = 3
    flag: bool = False
    _kinds = ("continuous",)


def test_fields_are_the_signature():
    assert str(inspect.signature(Estimator)) == (
        "(first: Any = 'x', *, seed: int = 0, C: float | None = None, free: Any = 3, "
        "flag: bool = False) -> None"
    )
    estimator = Estimator("y", C=2)
    assert estimator.get_params() == {"C": 2, "first": "y", "flag": False, "free": 3, "seed": 0}
    assert repr(estimator) == "Estimator(C=2, first='y')"
    assert repr(pickle.loads(pickle.dumps(clone(estimator)))) == repr(estimator)
    assert estimator != clone(estimator)
    assert hash(estimator)
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        Estimator(c=2)
    with pytest.raises(TypeError, match="positional"):
        Estimator("x", 2)


def test_rules_are_read_from_the_types():
    parameters = parameters_of(Estimator)
    assert {name: p.words() for name, p in parameters.items()} == {
        "first": "text",
        "seed": "a whole number from 0",
        "C": "a finite number above 0, or None",
        "free": "",
        "flag": "True or False",
    }
    assert parameters is parameters_of(Estimator)
    check_parameters(Estimator(free=object()))
    for wrong in ({"seed": -1}, {"C": 0}, {"flag": 1}, {"first": 1}):
        with pytest.raises(ParameterError, match=f"^{next(iter(wrong))}="):
            check_parameters(Estimator(**wrong))


def test_rules_are_read_where_annotations_are_text(tmp_path, monkeypatch):
    (tmp_path / "lazy_method.py").write_text(
        "from __future__ import annotations\n"
        "from typing import Annotated\n"
        "from featly.basics.params import Number, Parameters\n"
        "class Lazy(Parameters):\n"
        "    'Lazy.'\n"
        "    C: Annotated[float | None, Number(above=0)] = None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import lazy_method

    assert parameters_of(lazy_method.Lazy)["C"].words() == "a finite number above 0, or None"


def test_an_attribute_of_a_fitted_estimator_is_no_parameter():
    with pytest.raises(TypeError, match=r"Wrong\.coef_ would be a parameter"):

        class Wrong(Parameters):
            """Wrong."""

            coef_: list = field(default_factory=list)


class Handwritten(Ranker):
    """A ranker with a constructor of its own."""

    def __init__(self, *, power=1, n_features_to_select=None, schema=None, n_jobs=None):
        self.power = power
        self.n_features_to_select = n_features_to_select
        self.schema = schema
        self.n_jobs = n_jobs

    def _rank(self, problem):
        moments = problem.moments(complete_for="Handwritten")
        return rank_by_merit(problem.preference, moments.m2[0] ** self.power)


class Child(Handwritten):
    """Inherits the constructor."""


class Sibling(FTest):
    """A method of featly with a constructor of its own."""

    def __init__(self, *, device="cpu", n_jobs=None):
        self.device = device
        self.n_jobs = n_jobs


@pytest.mark.parametrize("cls", [Handwritten, Child])
def test_a_constructor_written_by_hand_stays(cls):
    assert next(iter(inspect.signature(cls).parameters)) == "power"
    ranker = clone(cls(power=2)).fit([[1.0, 9.0], [2.0, 3.0]], ["a", "b"])
    assert ranker.order_.tolist() == [1, 0]
    with pytest.raises(ParameterError, match="n_jobs=0"):
        cls(n_jobs=0).fit([[1.0], [2.0]], ["a", "b"])


def test_a_constructor_may_leave_out_parameters():
    ranker = Sibling(n_jobs=1)
    assert ranker.get_params() == {"device": "cpu", "n_jobs": 1}
    assert ranker.fit([[1.0, 9.0], [2.0, 3.0]] * 2, ["a", "b"] * 2).schema is None
    with pytest.raises(ParameterError, match="device='gpu'"):
        Sibling(device="gpu").fit([[1.0], [2.0]], ["a", "b"])


def test_a_ranker_needs_no_line_for_the_parameters_that_all_have():
    class Plain(Ranker):
        """Plain."""

        power: Annotated[float, Number(above=0)] = 1.0

        def _rank(self, problem):
            return rank_by_merit(problem.preference, problem.moments().m2[0] ** self.power)

    assert set(Plain().get_params()) == {"n_features_to_select", "schema", "n_jobs", "power"}
    with pytest.raises(ParameterError, match="power=0"):
        Plain(power=0).fit([[1.0], [2.0]], ["a", "b"])
