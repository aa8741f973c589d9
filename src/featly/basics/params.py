"""Parameters as fields, each with the rule for its values in its type.

One line says all about a parameter::

    class SVMRFE(OnDevice, Streaming, Verbose, Ranker):
        C: Annotated[float | None, Number(above=0)] = None

The signature, the assignment, the check, the message of its error, the option of the command line
and the tests of wrong values follow from it. Several rules are alternatives, ``None`` in the type
allows None, and a plain ``bool`` is a rule of its own. What concerns two parameters at once, or the
table, a class checks in its ``_check_parameters``.
"""

import difflib
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from numbers import Rational
from typing import Annotated, Any, NamedTuple, dataclass_transform, get_args, get_origin
from typing import get_type_hints as resolve_types

import numpy as np

from featly.basics.errors import ParameterError, Setting

__all__ = [
    "FLAG",
    "Flag",
    "Function",
    "InstanceOf",
    "ListOf",
    "Number",
    "OneOf",
    "Parameter",
    "Parameters",
    "Rule",
    "Threads",
    "Whole",
    "check_parameters",
    "check_value",
    "field",
    "parameters_of",
]


LARGEST = 1 << 1023  # larger whole numbers are no floats


class Rule(ABC):
    """Rule for the values of a parameter.

    Attributes
    ----------
    words : sequence of str
        What a value may be; several are alternatives.
    outside : sequence
        Values that only just break the rule, for tests.
    names : sequence of str
        Words that a value may be, to guess what a wrong one means.
    """

    words: Sequence[str]
    outside: Sequence[Any] = ()
    names: Sequence[str] = ()

    @abstractmethod
    def accepts(self, value: Any) -> bool:
        """Return whether a value keeps the rule."""

    def check(self, name: str, value: Any) -> None:
        """Raise ParameterError for a value of the parameter `name` that breaks the rule."""
        check_value(name, value, self)


class Number(Rule):
    """A number within bounds; without an upper bound it is finite, unless infinity is allowed.

    Examples
    --------
    >>> from featly.basics.params import Number
    >>> Number(above=0).accepts(0.5), Number(above=0).accepts(0), Number(above=0).accepts(True)
    (True, False, False)
    >>> Number(above=0).check("C", -1)
    Traceback (most recent call last):
    ...
    featly.ParameterError: C=-1: give a finite number above 0
    """

    _unit, _finite_unit = "number", "finite number"

    def __init__(
        self,
        *,
        above: float | None = None,
        at_least: float | None = None,
        below: float | None = None,
        at_most: float | None = None,
        finite: bool = True,
    ) -> None:
        self.above: float | None = above
        self.at_least: float | None = at_least
        self.below: float | None = below
        self.at_most: float | None = at_most
        self.finite: bool = finite
        bounds = []
        if above is not None or at_least is not None:
            bounds += [f"above {above:.10g}" if at_least is None else f"from {at_least:.10g}"]
        if below is not None:
            bounds += [f"below {below:.10g}"]
        elif at_most is not None:
            bounds += [f"{at_most:.10g}" if at_least is not None else f"at most {at_most:.10g}"]
        is_bounded = below is not None or at_most is not None or not finite
        unit = self._unit if is_bounded else self._finite_unit
        between = " to " if at_least is not None else " and "
        self.words: Sequence[str] = [" ".join(["a", unit, between.join(bounds)]).rstrip()]
        self.outside: Sequence[Any] = [
            *(bound for bound in (above, below) if bound is not None),
            *([self._next_to(at_least, -1)] if at_least is not None else []),
            *([self._next_to(at_most, 1)] if at_most is not None else []),
        ]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a number within the bounds."""
        return (
            self._is_of_type(value)
            and (math.isfinite(value) if self.finite else value == value)
            and (self.above is None or value > self.above)
            and (self.at_least is None or value >= self.at_least)
            and (self.below is None or value < self.below)
            and (self.at_most is None or value <= self.at_most)
        )

    def _is_of_type(self, value: Any) -> bool:
        if isinstance(value, float | np.integer | np.floating):
            return True
        is_exact = isinstance(value, Rational) and not isinstance(value, bool)
        return is_exact and -LARGEST < value < LARGEST

    @staticmethod
    def _next_to(bound: float, side: int) -> float:
        return math.nextafter(bound, side * math.inf)


class Whole(Number):
    """A whole number within bounds.

    Examples
    --------
    >>> from featly.basics.params import Whole
    >>> Whole(at_least=1).accepts(1), Whole(at_least=1).accepts(1.0), Whole(at_least=1).accepts(0)
    (True, False, False)
    """

    _unit = _finite_unit = "whole number"

    def _is_of_type(self, value: Any) -> bool:
        return isinstance(value, int | np.integer) and super()._is_of_type(value)

    @staticmethod
    def _next_to(bound: float, side: int) -> float:
        return bound + side


class Threads(Whole):
    """A number of threads: -1 is all cores, -2 one fewer."""

    def __init__(self) -> None:
        super().__init__()
        self.words: Sequence[str] = ["a whole number other than 0"]
        self.outside: Sequence[Any] = [0]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a whole number other than 0."""
        return super().accepts(value) and value != 0


class OneOf(Rule):
    """One of some words or whole numbers.

    Examples
    --------
    >>> from featly.basics.params import OneOf
    >>> OneOf("share", "weka").check("ties", "none")
    Traceback (most recent call last):
    ...
    featly.ParameterError: ties='none': give 'share' or 'weka'
    """

    def __init__(self, *choices: str | int) -> None:
        self.choices: tuple[str | int, ...] = choices
        self.words: Sequence[str] = [repr(choice) for choice in choices]
        self.outside: Sequence[Any] = [f"{choice}x" for choice in choices]
        self.names: Sequence[str] = [choice for choice in choices if isinstance(choice, str)]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is one of the choices."""
        is_word = isinstance(value, str | int | np.integer) and not isinstance(value, bool)
        return is_word and value in self.choices


class Flag(Rule):
    """True or False; the rule of every field of type ``bool``."""

    words: Sequence[str] = ("True", "False")

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a truth value."""
        return isinstance(value, bool | np.bool_)


class InstanceOf(Rule):
    """An object of some classes; `words` say of what it is one."""

    def __init__(self, *classes: type, words: str) -> None:
        self.classes: tuple[type, ...] = classes
        self.words: Sequence[str] = [words]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is of one of the classes."""
        return isinstance(value, self.classes)


class ListOf(Rule):
    """A list, a tuple, an array or a column of a frame; `words` say of what."""

    def __init__(self, words: str) -> None:
        self.words: Sequence[str] = [f"a list of {words}"]

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a list of one dimension."""
        is_list = hasattr(value, "__len__") and hasattr(value, "__getitem__")
        is_other = isinstance(value, str | bytes | Mapping | type) or getattr(value, "ndim", 1) != 1
        return is_list and not is_other


class Function(Rule):
    """A function; `words` say of what."""

    def __init__(self, words: str) -> None:
        self.words: Sequence[str] = [words]

    def accepts(self, value: Any) -> bool:
        """Return whether a value can be called."""
        return callable(value)


FLAG: Flag = Flag()


class Parameter(NamedTuple):
    """A parameter with its rules, of which a value must keep one.

    Attributes
    ----------
    name : str
    default : object
    rules : tuple of Rule
        Without one, every value is taken.
    optional : bool
        Whether it may be None.
    """

    name: str
    default: Any
    rules: tuple[Rule, ...]
    optional: bool

    def accepts(self, value: Any) -> bool:
        """Return whether a value keeps one of the rules."""
        return _accepts(value, self.rules, self.optional)

    def words(self) -> str:
        """Return what the parameter may be."""
        return _join_words(self.rules, self.optional)

    def advice(self, value: Any) -> str:
        """Return what to give instead of a value that breaks the rules."""
        return _advise(value, self.rules, self.optional)

    def check(self, value: Any) -> None:
        """Raise ParameterError for a value that breaks the rules."""
        check_value(self.name, value, *self.rules, optional=self.optional)


def check_value(name: str, value: Any, *rules: Rule, optional: bool = False) -> None:
    """Raise ParameterError for a value that keeps none of the rules.

    Examples
    --------
    >>> from featly.basics.params import OneOf, Whole, check_value
    >>> check_value("size", 0, Whole(at_least=1), OneOf("half"), optional=True)
    Traceback (most recent call last):
    ...
    featly.ParameterError: size=0: give a whole number from 1, 'half', or None
    """
    if not _accepts(value, rules, optional):
        raise ParameterError(Setting(name, value), f": {_advise(value, rules, optional)}")


def _accepts(value: Any, rules: tuple[Rule, ...], optional: bool) -> bool:
    if value is None and optional:
        return True
    return not rules or any(rule.accepts(value) for rule in rules)


def _advise(value: Any, rules: tuple[Rule, ...], optional: bool) -> str:
    names = [name for rule in rules for name in rule.names]
    nearest = difflib.get_close_matches(value, names, n=1) if isinstance(value, str) else []
    hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
    return f"give {_join_words(rules, optional)}{hint}"


def _join_words(rules: Iterable[Rule], optional: bool) -> str:
    words = [word for rule in rules for word in rule.words]
    words += ["None"] if optional else []
    if len(words) <= 1:
        return "".join(words)
    comma = "," if any(" " in word for word in words) else ""
    return f"{', '.join(words[:-1])}{comma} or {words[-1]}"


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
class Parameters:
    """Base of the estimators whose parameters are fields.

    Every annotated attribute of a subclass is a parameter, with a default, and is passed by name.
    ``field(default=..., kw_only=False)`` makes one that may come first without its name. A subclass
    that has an ``__init__`` keeps it.

    Examples
    --------
    >>> from typing import Annotated
    >>> from featly.basics.params import Number, Parameters
    >>> class Machine(Parameters):
    ...     "A machine."
    ...     C: Annotated[float, Number(above=0)] = 1.0
    >>> Machine(C=3).C
    3
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        inits = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
        if not all(hasattr(init, "_is_of_fields") for init in inits):
            return  # somebody wrote one
        done: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
        for parameter in fields(done):
            if parameter.name.startswith("_") or parameter.name.endswith("_"):
                raise TypeError(
                    f"{cls.__name__}.{parameter.name} would be a parameter, as all annotated "
                    "attributes are: annotate it where it is set"
                )
        init = done.__init__
        init._is_of_fields = True
        init.__annotations__ = {
            name: _plain_type(hint) for name, hint in init.__annotations__.items()
        }

    @classmethod
    def _get_param_names(cls) -> list[str]:
        """Return the names that scikit-learn asks for on every copy; it reads a signature anew."""
        if hasattr(cls.__init__, "_is_of_fields"):
            any_class: Any = cls
            return list(_sorted_names(any_class))
        inherited: list[str] = super()._get_param_names()  # type: ignore[misc]
        return inherited


@functools.cache
def _sorted_names(cls: Any) -> tuple[str, ...]:
    return tuple(sorted(parameters_of(cls)))


def _plain_type(hint: Any) -> Any:
    """Return a type without its rules."""
    return hint.__origin__ if get_origin(hint) is Annotated else hint


def parameters_of(cls: type) -> Mapping[str, Parameter]:
    """Return the parameters of a class that are fields, by name.

    Examples
    --------
    >>> from featly import SVMRFE
    >>> from featly.basics.params import parameters_of
    >>> parameters_of(SVMRFE)["C"].words()
    'a finite number above 0, or None'
    """
    any_class: Any = cls
    return _read_fields(any_class)


@functools.cache
def _read_fields(cls: Any) -> Mapping[str, Parameter]:
    if not is_dataclass(cls):
        return {}
    declared = [parameter for parameter in fields(cls) if parameter.init]
    hints = {parameter.name: parameter.type for parameter in declared}
    if any(isinstance(hint, str) for hint in hints.values()):  # of a module with lazy annotations
        hints |= resolve_types(cls, include_extras=True)
    return {p.name: _read_field(p.name, p.default, hints[p.name]) for p in declared}


def _read_field(name: str, default: Any, hint: Any) -> Parameter:
    plain = _plain_type(hint)
    rules = tuple(rule for rule in getattr(hint, "__metadata__", ()) if isinstance(rule, Rule))
    if not rules and plain is bool:
        rules = (FLAG,)
    return Parameter(name, default, rules, type(None) in get_args(plain))


def check_parameters(estimator: Any) -> None:
    """Raise ParameterError for parameters that break their rules or do not go together.

    Examples
    --------
    >>> from featly import SVMRFE
    >>> from featly.basics.params import check_parameters
    >>> check_parameters(SVMRFE(C=-1))
    Traceback (most recent call last):
    ...
    featly.ParameterError: C=-1: give a finite number above 0, or None
    >>> check_parameters(SVMRFE(gamma=2))
    Traceback (most recent call last):
    ...
    featly.ParameterError: gamma=2 is of no use without kernel='rbf'
    """
    for name, parameter in parameters_of(estimator.__class__).items():
        value = getattr(estimator, name)
        if value is not parameter.default:
            parameter.check(value)
    if hasattr(estimator, "_check_parameters"):
        estimator._check_parameters()
