"""Columns by the names that people type."""

import difflib
import re
from collections.abc import Sequence
from functools import cached_property

from featly.basics.errors import DataError
from featly.table.frames import DefaultNames

__all__ = ["ColumnFinder"]

MOST_COMPARED = 50_000  # names that a misspelt one is compared with


class ColumnFinder:
    """Find columns of a file by name or position; suggest one for an unknown name.

    Parameters
    ----------
    names : sequence of str
    source : str
        How messages call the file.

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

    def __init__(self, names: Sequence[str], source: str) -> None:
        self.names, self.source = names, source

    @cached_property
    def _positions(self) -> dict[str, int]:
        # once for all: a file of priors names as many columns as the table has
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
                    f"{role} {wanted!r} is no column of {self.source}{self._hint(wanted)}"
                )
            wanted = int(wanted)
        position = wanted + len(self.names) if wanted < 0 else wanted
        if not 0 <= position < len(self.names):
            raise DataError(
                f"{role} {wanted} is no column of {self.source}: positions run from 0 to "
                f"{len(self.names) - 1}"
            )
        return position

    def _hint(self, wanted: str) -> str:
        candidates = self.names[:MOST_COMPARED]  # of millions, that would take a minute
        lower = {str(name).lower(): str(name) for name in candidates}
        near = difflib.get_close_matches(wanted.lower(), list(lower), n=1)
        if near:
            return f"; did you mean {lower[near[0]]!r}?"
        shown = ", ".join(str(name)[:60] for name in self.names[:5])
        return f": its columns are {shown}{', ...' if len(self.names) > 5 else ''}"
