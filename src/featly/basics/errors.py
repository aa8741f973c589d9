"""Errors and warnings of featly. Every error says what is wrong, where, and what to do."""

__all__ = [
    "ConvergenceWarning",
    "DataError",
    "DeviceError",
    "LeakWarning",
    "NoEvidenceWarning",
    "ParameterError",
    "SchemaError",
    "SchemaWarning",
    "SlowWarning",
    "StudyError",
]


class DataError(ValueError):
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


class ParameterError(ValueError):
    """A parameter of a method makes no sense, or not with this table.

    Examples
    --------
    >>> from featly import FTest
    >>> FTest(n_features_to_select=0).fit([[1.0], [2.0]], ["a", "b"])
    Traceback (most recent call last):
    ...
    featly.ParameterError: n_features_to_select=0: give a whole number from 1, ...
    """


class DeviceError(RuntimeError):
    """A GPU was requested and cannot be used: no driver, no CuPy, or not enough memory.

    The message says which, and what to do about it. ``device="auto"`` never raises it because
    there is no GPU.
    """


class StudyError(RuntimeError):
    """A study cannot go on: its folder has another plan, or another run is writing to it."""


class SchemaWarning(UserWarning):
    """A part of the schema is not used by the method."""


class ConvergenceWarning(UserWarning):
    """A solver stopped before its certificate reached the tolerance."""


class LeakWarning(UserWarning):
    """Test rows may influence the model that is tested on them."""


class NoEvidenceWarning(UserWarning):
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


class SlowWarning(UserWarning):
    """The work takes hours; the message says how many, and what would be quicker."""


# tracebacks name them as users import them
for _name in __all__:
    globals()[_name].__module__ = "featly"
