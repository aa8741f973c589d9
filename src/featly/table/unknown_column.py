"""Error message for a name that no column of a table has."""

import difflib
from collections.abc import Sequence

__all__ = ["describe_unknown_column"]

MOST_COMPARED = 50_000  # names that are compared with the unknown one: more would take a minute
N_SHOWN = 5
LONGEST_NAME = 60  # characters that are shown of a name


def describe_unknown_column(name: object, names: Sequence[object], table: str = "the table") -> str:
    """Return the end of an error message about an unknown column, with the nearest name.

    Upper and lower case are not told apart. The first columns are listed if no name is near.

    Parameters
    ----------
    name : str
        The unknown name.
    names : sequence of str
        Names of the columns.
    table : str, default="the table"
        The table in the message.

    Examples
    --------
    >>> describe_unknown_column("does", ["age", "Dose"])
    "is no column of the table; did you mean 'Dose'?"
    >>> describe_unknown_column("sex", ["age", "Dose"], "'study.csv'")
    "is no column of 'study.csv': its columns are age, Dose"
    """
    original = {str(known).lower(): str(known) for known in names[:MOST_COMPARED]}
    nearest = difflib.get_close_matches(str(name).lower(), list(original), n=1)
    if nearest:
        return f"is no column of {table}; did you mean {original[nearest[0]]!r}?"
    if not len(names):
        return f"is no column of {table}"
    listed = ", ".join(str(known)[:LONGEST_NAME] for known in names[:N_SHOWN])
    more = ", ..." if len(names) > N_SHOWN else ""
    return f"is no column of {table}: its columns are {listed}{more}"
