"""Parameters of all estimators: each has a rule, and its docstring says the same as its field."""

import ast
import inspect
import re
from dataclasses import MISSING

import pytest
from sklearn.base import BaseEstimator

from featly import kernels, learners, preprocessing
from featly.basics.errors import ParameterError
from featly.basics.params import OneOf, parameters_of
from featly.combine.decoding import DecodedClassifier
from featly.registry import METHODS, method_class
from featly.testing.checks import check_parameter_rules

OTHERS = [
    cls
    for room in (learners, preprocessing, kernels)
    for cls in (getattr(room, name) for name in room.__all__)
    if inspect.isclass(cls) and hasattr(cls, "get_params") and cls is not learners.Balanced
]
METHOD_CLASSES = [method_class(name) for name in METHODS]
AROUND_LEARNERS = [DecodedClassifier, learners.Balanced]
EVERYONE = [*METHOD_CLASSES, *OTHERS, *AROUND_LEARNERS]


def test_names_of_parameters_are_those_of_the_signature():
    for cls in EVERYONE:
        assert cls._get_param_names() == BaseEstimator._get_param_names.__func__(cls), cls


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_wrong_values_are_refused(cls):
    check_parameter_rules(cls())


@pytest.mark.parametrize("cls", OTHERS, ids=lambda cls: cls.__name__)
def test_wrong_values_are_refused_for_a_path(cls):
    if hasattr(cls, "predict_path"):
        with pytest.raises(ParameterError, match="schema=5: give a Schema"):
            cls(schema=5).predict_path(object(), object(), object(), [1])


@pytest.mark.parametrize("cls", AROUND_LEARNERS, ids=lambda cls: cls.__name__)
def test_wrong_values_around_a_learner_are_refused(cls):
    check_parameter_rules(cls(learners.MixedNaiveBayes()))


@pytest.mark.parametrize("cls", EVERYONE, ids=lambda cls: cls.__name__)
def test_every_parameter_is_a_field_with_a_rule(cls):
    parameters = parameters_of(cls)
    assert parameters.keys() == inspect.signature(cls).parameters.keys()
    for name, parameter in parameters.items():
        assert parameter.rules, f"{name} has no rule"
        if parameter.default is not MISSING:
            parameter.check(parameter.default)


@pytest.mark.parametrize("cls", EVERYONE, ids=lambda cls: cls.__name__)
def test_the_docstring_says_what_the_field_says(cls):
    documented = read_parameters(inspect.getdoc(cls))
    parameters = parameters_of(cls)
    assert sorted(documented) == sorted(parameters)
    for name, (kind, default) in documented.items():
        parameter = parameters[name]
        if parameter.default is MISSING:
            assert default is None, name
        else:
            assert default == parameter.default, name
            assert type(default) is type(parameter.default), name
        assert (kind.endswith(" or None")) == parameter.optional, name
        choices = re.match(r"\{(.*?)\}", kind)
        if choices:
            choices = ast.literal_eval(f"({choices[1]},)")
            rule = next(rule for rule in parameter.rules if isinstance(rule, OneOf))
            assert choices == rule.choices, name


def read_parameters(text):
    """Return the type and default of every parameter of a numpydoc docstring."""
    section = re.search(r"\nParameters\n-+\n(.*?)\n\n[A-Z][\w ]+\n-+\n", text, re.DOTALL)[1]
    documented = {}
    for name, kind, default in re.findall(
        r"^(\w+) : (.*?)(?:, default=(.*))?$", section, re.MULTILINE
    ):
        value = float("inf") if default == "inf" else ast.literal_eval(default or "None")
        documented[name] = (kind, value)
    return documented
