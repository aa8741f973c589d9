"""Messages of the library in the words of the command line.

Parameters are options there, rows are counted from 1, and columns and the target have the names of
the file. Nothing here edits a text: :mod:`featly.basics.errors` has the fields of which these are
the words.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from featly.basics.errors import (
    Column,
    DataError,
    Field,
    Row,
    Setting,
    TargetName,
    Text,
    Words,
)

if TYPE_CHECKING:
    from featly.cli.load import LoadedData

__all__ = ["OptionWords", "in_words_of_the_file", "name_as_in_file"]

# parameters whose option is called otherwise
RENAMED = {"n_jobs": "jobs", "n_features_to_select": "count", "without": "drop"}
FREE_TEXT = ("memory_limit", "cache")  # what the user types there stands between quotes


class OptionWords(Words):
    """Say parameters as options of a command, and count rows from 1.

    Parameters
    ----------
    options : collection of str
        Names of the options of the command, as its function has them. Other parameters are those of
        a method, if the command has ``--set``.

    Examples
    --------
    >>> from featly.basics.errors import Parameter, ParameterError
    >>> words = OptionWords(["memory_limit", "device", "settings", "jobs"])
    >>> error = ParameterError("give ", Setting("device", "cpu"), ", not ", Setting("C", -1))
    >>> error.say(words)
    'give --device cpu, not --set C=-1'
    >>> ParameterError(Setting("n_jobs", 0), " or ", Parameter("memory_limit")).say(words)
    '--jobs 0 or --memory-limit'
    """

    def __init__(self, options: Collection[str] = ()) -> None:
        self.options: Collection[str] = options

    def _option(self, name: str) -> str | None:
        """Return the option for a parameter, if the command has it."""
        option = RENAMED.get(name, name)
        return f"--{option.replace('_', '-')}" if option in self.options else None

    def row(self, position: int) -> str:
        """Return a row, counted from 1."""
        return f"row {position + 1}"

    def parameter(self, name: str, owner: str) -> str:
        """Return an option, or a parameter of the method."""
        option = self._option(name)
        if option is None and "settings" in self.options:
            return f"--set {name}"
        return option or super().parameter(name, owner)

    def setting(self, setting: Setting) -> str:
        """Return an option with its value, or a parameter of the method."""
        option = self._option(setting.name)
        if option is not None:
            return f"{option} {setting.shown if setting.name in FREE_TEXT else setting.typed}"
        if "settings" in self.options:
            return f"--set {setting.name}={setting.shown}"
        return super().setting(setting)

    def by_pairs(self, method: str) -> str:
        """Return the setting of a method that ranks for each pair of classes."""
        if "settings" in self.options:
            return "--set multiclass=ovo"
        return "the method pairwise"


@contextmanager
def in_words_of_the_file(data: "LoadedData") -> Iterator[None]:
    """Raise a DataError with the names and rows of the file, and the file before it."""
    try:
        yield
    except DataError as problem:
        named = problem.replace_fields(lambda field: name_as_in_file(field, data))
        raise named.preceded_by(f"{data.table.source}: ") from None


def name_as_in_file(field: Field, data: "LoadedData") -> Field:
    """Return a row, a column or the target as it is called in the file; other fields unchanged."""
    match field:
        case TargetName():
            return Text(f"target {data.target!r}")
        case Row(position):
            rows = data.rows
            return Text(Row(position if rows is None else int(rows[position])), " of the data")
        case Column(name):
            return Column(data.name_in_file(name))
    return field
