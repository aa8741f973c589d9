"""Alarms, questions and notes about a table, on standard error and in JSON."""

from typing import TYPE_CHECKING, Any

import scipy.sparse

from featly.basics.errors import DataError
from featly.cli.printing import say
from featly.cli.stored import StoredFile
from featly.diagnostics.alarms import Findings, check_table

if TYPE_CHECKING:
    from featly.cli.load import LoadedData

__all__ = ["find_alarms", "say_alarms"]

MOST_CELLS = 200_000_000  # of a table that is checked: it is read once more, as numbers
STYLES = {"alarm": "bold red", "question": "yellow", "note": "dim"}


def find_alarms(data: "LoadedData") -> Findings:
    """Check the table of a command; nothing is found in one that is sparse, on disk or very large.

    Parameters
    ----------
    data : LoadedData
    """
    n_rows, n_columns = data.X.shape
    is_other = isinstance(data.table, StoredFile) or scipy.sparse.issparse(data.X)
    if is_other or n_rows * n_columns > MOST_CELLS:
        return Findings()
    try:
        return check_table(data.X, data.y, schema=data.schema)
    except DataError:  # what a method refuses, or reads otherwise, it says itself
        return Findings()


def say_alarms(findings: Findings, options: dict[str, Any], *, notes: bool = False) -> None:
    """Print alarms on standard error, and questions and notes unless they are unwanted.

    Parameters
    ----------
    findings : Findings
    options : dict
        Of the command; `quiet` leaves out all but alarms.
    notes : bool, default=False
        Whether notes are printed as well.
    """
    for finding in findings:
        is_wanted = finding.level == "alarm" or not options["quiet"]
        if is_wanted and (notes or finding.level != "note"):
            text = f"{finding.level}: {finding.describe('command')}"
            say(text, STYLES[finding.level])
