"""Steps of a dataset after its table was checked: columns left out, one warning."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.basics.caller import warn_user
from featly.basics.errors import LeakWarning, Parameter, ParameterError, Setting
from featly.basics.typing import IntArray
from featly.diagnostics.alarms import Findings, all_left_out_error
from featly.table.frames import is_frame, open_table, take_columns
from featly.table.schema import Columns

__all__ = ["check_names", "has_auto_groups", "leave_out_identifiers", "warn_of_findings"]

AUTO = "auto"  # as row groups


def has_auto_groups(X: Any, row_groups: Any) -> bool:
    """Return whether rows are to be grouped by what they are alike in."""
    if not isinstance(row_groups, str) or row_groups != AUTO:
        return False
    return not is_frame(X) or AUTO not in open_table(X).names


def check_names(names: Sequence[str], n_columns: int) -> None:
    """Raise ParameterError unless there is a name for every column."""
    if isinstance(names, str):
        raise ParameterError(Setting("names", names), ": give a list with a name for each column")
    if len(names) != n_columns:
        raise ParameterError(Parameter("names"), f": give {n_columns} of them, one for each column")


def leave_out_identifiers(
    X: Any, columns: Columns, findings: Findings, name: str
) -> tuple[Any, Columns, IntArray | None, Findings]:
    """Leave out the columns that number or name the rows, where nobody has done so yet."""
    left_out = findings.columns_to_leave_out()
    if not left_out:
        return X, columns, None, findings
    kept = np.array([str(column) not in left_out for column in columns.names], np.bool_)
    if not kept.any():
        raise all_left_out_error(f"dataset {name!r}", left_out)
    positions = np.flatnonzero(kept)
    X = take_columns(X, positions) if is_frame(X) else X[:, positions]
    return X, columns.take(positions), positions, findings.mend_left_out()


def warn_of_findings(findings: Findings, name: str) -> None:
    """Warn once of all alarms, questions, and columns that are left out."""
    spoken = [f"{finding.level}: {finding}" for finding in findings.to_say]
    if spoken:
        prefix = "" if name == "data" else f"dataset {name!r}: "
        warn_user(LeakWarning(prefix + "\n".join(spoken)))
