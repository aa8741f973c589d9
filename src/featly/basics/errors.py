"""Errors and warnings of featly. Every error says what is wrong, where, and what to do.

A message is text with fields between: the number of a row, the name of a column, a parameter.
``str(error)`` says them as Python does; the command line gives the same message other
:class:`Words`, with rows counted from 1 and options in place of parameters. So a message is written
once, by who raises it, and nobody edits it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

__all__ = [
    "ByPairs",
    "Column",
    "ConvergenceWarning",
    "DataError",
    "DeviceError",
    "Feature",
    "Field",
    "LeakWarning",
    "Message",
    "MethodWarning",
    "NoEvidenceWarning",
    "Parameter",
    "ParameterError",
    "Row",
    "SchemaError",
    "SchemaWarning",
    "Setting",
    "SlowWarning",
    "StudyError",
    "TargetName",
    "Text",
    "Words",
]


MOST_SHOWN = 200  # letters of a value


# ---- messages ------------------------------------------------------------------------------------
class Words:
    """Words of Python for the fields of a message; who speaks to others derives from this.

    Examples
    --------
    >>> class FromOne(Words):
    ...     def row(self, position):
    ...         return f"line {position + 1}"
    >>> Text("y is missing in ", Row(3)).say(FromOne())
    'y is missing in line 4'
    """

    def row(self, position: int) -> str:
        """Return a row, by its position in the table from 0."""
        return f"row {position}"

    def column(self, name: str) -> str:
        """Return a column, by its name; x0, x1, ... if the table has no names."""
        return repr(name)

    def feature(self, position: int) -> str:
        """Return a feature of lists without names."""
        return f"feature {position}"

    def target(self) -> str:
        """Return the outcome of every row."""
        return "y"

    def parameter(self, name: str, owner: str) -> str:
        """Return the name of a parameter of a function or method, or of `owner`."""
        return f"{owner}({name}=...)" if owner else name

    def setting(self, setting: "Setting") -> str:
        """Return a parameter with its value."""
        text = f"{setting.name}={setting.shown}"
        return f"{setting.owner}({text})" if setting.owner else text

    def by_pairs(self, method: str) -> str:
        """Return the way to rank by a method for two classes for each pair of many classes."""
        return f"PairwiseRanker({method}())"


class Field:
    """A part of a message that is not the same words for everybody."""

    def say(self, words: Words) -> str:
        """Return the field in the words of who speaks."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.say(Words())


class Text(Field):
    """Words with fields between, as a part of a message.

    Examples
    --------
    >>> remedy = Text("give a larger ", Parameter("memory_limit"))
    >>> str(DataError("X takes 3 GB: ", remedy, ", or fewer columns"))
    'X takes 3 GB: give a larger memory_limit, or fewer columns'
    """

    def __init__(self, *parts: str | Field) -> None:
        self.parts: tuple[str | Field, ...] = parts

    def say(self, words: Words) -> str:
        """Return the text, with its fields in the words of who speaks."""
        return "".join(p.say(words) if isinstance(p, Field) else str(p) for p in self.parts)

    def replace_fields(self, function: Callable[[Field], Field]) -> "Text":
        """Return the text with a function of every field in its place."""
        return Text(
            *(
                part.replace_fields(function)
                if isinstance(part, Text)
                else function(part)
                if isinstance(part, Field)
                else part
                for part in self.parts
            )
        )


@dataclass(frozen=True)
class Row(Field):
    """A row of the user's table, from 0."""

    position: int

    def say(self, words: Words) -> str:
        """Return the row."""
        return words.row(int(self.position))


@dataclass(frozen=True)
class Column(Field):
    """A column of the user's table, by its name there."""

    name: str

    def say(self, words: Words) -> str:
        """Return the name, between quotes."""
        return words.column(self.name)


@dataclass(frozen=True)
class Feature(Field):
    """A feature of lists, by its position from 0."""

    position: int

    def say(self, words: Words) -> str:
        """Return the feature."""
        return words.feature(int(self.position))


@dataclass(frozen=True)
class TargetName(Field):
    """The outcome of every row: y."""

    def say(self, words: Words) -> str:
        """Return the target."""
        return words.target()


@dataclass(frozen=True)
class Parameter(Field):
    """A parameter of a method or function, or of `owner`, without its value.

    Examples
    --------
    >>> print(Parameter("memory_limit"))
    memory_limit
    """

    name: str
    owner: str = ""

    def say(self, words: Words) -> str:
        """Return the name."""
        return words.parameter(self.name, self.owner)


class Setting(Field):
    """A parameter of a method or function, or of `owner`, with a value.

    Examples
    --------
    >>> print(Setting("C", -1), Setting("target_kind", "classes", "Schema"))
    C=-1 Schema(target_kind='classes')
    """

    def __init__(self, name: str, value: Any, owner: str = "") -> None:
        self.name: str = name
        self.owner: str = owner
        # not the value itself: errors are pickled, and some values cannot be
        shown = " ".join(repr(value).split())  # one line, whatever it is
        self.shown: str = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
        self.typed: str = value if isinstance(value, str) else self.shown
        if isinstance(value, list | tuple):
            self.typed = ",".join(str(part) for part in value)

    def say(self, words: Words) -> str:
        """Return the name and the value."""
        return words.setting(self)


@dataclass(frozen=True)
class ByPairs(Field):
    """The way to rank by a method for two classes for each pair of many classes."""

    method: str

    def say(self, words: Words) -> str:
        """Return the call or the option."""
        return words.by_pairs(self.method)


class Message(Exception):  # noqa: N818  of errors and of warnings
    """Base class of the errors and warnings of featly: their text has fields.

    The arguments are texts and fields, one after the other; so they survive pickling.

    Examples
    --------
    >>> error = DataError("column ", Column("age"), " has a missing value in ", Row(16))
    >>> str(error)
    "column 'age' has a missing value in row 16"
    """

    def __str__(self) -> str:
        return self.say(Words())

    def say(self, words: Words) -> str:
        """Return the message, with its fields in the words of who speaks."""
        return Text(*self.args).say(words)

    def preceded_by(self, *parts: str | Field) -> Self:
        """Return the same error with some words before it."""
        return type(self)(*parts, *self.args)

    def followed_by(self, *parts: str | Field) -> Self:
        """Return the same error with some words after it."""
        return type(self)(*self.args, *parts)

    def replace_fields(self, function: Callable[[Field], Field]) -> Self:
        """Return the same error with a function of every field in its place.

        Examples
        --------
        >>> error = DataError("y is missing in ", Row(3))
        >>> str(error.replace_fields(lambda field: Row(10 + field.position)))
        'y is missing in row 13'
        """
        return type(self)(Text(*self.args).replace_fields(function))


# ---- errors --------------------------------------------------------------------------------------
class DataError(Message, ValueError):
    """The table or the target cannot be used as it is.

    The message names the column or the row, and what to do about it.

    Examples
    --------
    >>> from featly import FTest
    >>> FTest().fit([[1.0], [2.0]], ["a", "a"])
    Traceback (most recent call last):
    ...
    featly.DataError: y has one class only ('a'): at least two classes are needed
    """


class SchemaError(DataError):
    """The schema contradicts itself or the table it is applied to.

    Examples
    --------
    >>> from featly import Schema
    >>> Schema(prior={"TP53": 0.5})
    Traceback (most recent call last):
    ...
    featly.SchemaError: prior of 'TP53' is 0.5: a prior is a finite number of at least 1
    """


class ParameterError(Message, ValueError):
    """A parameter of a method makes no sense, or not with this table.

    Examples
    --------
    >>> from featly import FTest
    >>> FTest(n_features_to_select=0).fit([[1.0], [2.0]], ["a", "b"])
    Traceback (most recent call last):
    ...
    featly.ParameterError: n_features_to_select=0: give a whole number from 1, ...
    """


class DeviceError(Message, RuntimeError):
    """A GPU was requested and cannot be used: no driver, no CuPy, or not enough memory.

    The message says which, and what to do about it. ``device="auto"`` never raises it because
    there is no GPU.
    """


class StudyError(Message, RuntimeError):
    """A study cannot go on: its folder has another plan, or another run is writing to it."""


# ---- warnings ----------------------------------------------------------------------------------
class SchemaWarning(Message, UserWarning):
    """A part of the schema is not used by the method."""


class ConvergenceWarning(Message, UserWarning):
    """A solver stopped before its certificate reached the tolerance."""


class LeakWarning(Message, UserWarning):
    """Test rows may influence the model that is tested on them."""


class MethodWarning(Message, UserWarning):
    """A method that another package offers cannot be used; the message names the package."""


class NoEvidenceWarning(Message, UserWarning):
    """Some of the selected columns have no evidence; the message says how many to select at most.

    Examples
    --------
    >>> import warnings
    >>> from featly import InformationGain
    >>> X = [[0, 5], [0, 5], [1, 5], [1, 5]]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     gain = InformationGain(discretizer=None, n_features_to_select=2).fit(X, [0, 0, 1, 1])
    >>> print(caught[0].message)
    1 of the 2 selected columns is filler: ...
    >>> gain.evidence_.tolist()
    [True, False]
    """


class SlowWarning(Message, UserWarning):
    """The work takes hours; the message says how many, and what would be quicker."""


# tracebacks name them as users import them
for _kind in (DataError, SchemaError, ParameterError, DeviceError, StudyError, SchemaWarning,
              ConvergenceWarning, LeakWarning, MethodWarning, NoEvidenceWarning,
              SlowWarning):  # fmt: skip
    _kind.__module__ = "featly"
