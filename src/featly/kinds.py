"""The kinds of column, as small numbers in arrays and as words for people."""

import numpy as np

__all__ = ["CATEGORICAL", "CONTINUOUS", "KINDS", "ORDINAL", "DefaultNames"]

CONTINUOUS, ORDINAL, CATEGORICAL = np.uint8(0), np.uint8(1), np.uint8(2)
KINDS = ("continuous", "ordinal", "categorical")


class DefaultNames:
    """``x0, x1, ...``: the names of the columns of an array, made when asked for.

    A million strings that nobody reads would take longer than ranking the columns.

    Examples
    --------
    >>> names = DefaultNames(3)
    >>> names[1], list(names), names.position("x2"), names.position("x7")
    ('x1', ['x0', 'x1', 'x2'], 2, None)
    """

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, position: int) -> str:
        if not 0 <= position < self.count:
            raise IndexError(position)
        return f"x{position}"

    def position(self, name: str) -> int | None:
        """Where `name` stands, or None."""
        digits = name[1:]
        if name[:1] == "x" and digits.isdecimal() and str(int(digits)) == digits:
            return int(digits) if int(digits) < self.count else None
        return None
