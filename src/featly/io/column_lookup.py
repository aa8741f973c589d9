"""Positions of columns, by the names or positions that a user typed."""

import re
from collections.abc import Sequence
from functools import cached_property

from featly.basics.errors import DataError
from featly.table.frames import DefaultNames
from featly.table.unknown_column import describe_unknown_column

__all__ = ["ColumnFinder"]


class ColumnFinder:
    """Find columns of a file by name or position; suggest one for an unknown name.

    Parameters
    ----------
    names : sequence of str
    source : str
        The file in messages.

    Examples
    --------
    >>> find = ColumnFinder(["age", "dose"], "'study.csv'")
    >>> find("dose", "target"), find(-1, "target"), find("0", "target")
    (1, 1, 0)
    >>> find("does", "target")
    Traceback (most recent call last):
    ...
    featly.DataError: target 'does' is no column of 'study.csv'; did you mean 'dose'?
    """

    source: str
    names: Sequence[str]

    def __init__(self, names: Sequence[str], source: str) -> None:
        self.names, self.source = names, source

    @cached_property
    def _positions(self) -> dict[str, int]:
        # computed once: a file of priors may name every column of the table
        return {str(name): position for position, name in enumerate(self.names)}

    def __call__(self, wanted: str | int, role: str) -> int:
        """Return the position of a column; a name that is a number may be a position, too."""
        if isinstance(wanted, str):
            known_position = (
                self.names.position(wanted)
                if isinstance(self.names, DefaultNames)
                else self._positions.get(wanted)
            )
            if known_position is not None:
                return known_position
            if not re.fullmatch(r"-?\d{1,12}", wanted):
                raise DataError(
                    f"{role} {wanted!r} {describe_unknown_column(wanted, self.names, self.source)}"
                )
            wanted = int(wanted)
        position = wanted + len(self.names) if wanted < 0 else wanted
        if not 0 <= position < len(self.names):
            raise DataError(
                f"{role} {wanted} is no column of {self.source}: positions run from 0 to "
                f"{len(self.names) - 1}"
            )
        return position
