"""Alarms of a table: what would make results too good, looked for before they are believed."""

from featly.diagnostics.alarms.check import (
    check_rows,
    check_safely,
    check_table,
    not_checked,
)
from featly.diagnostics.alarms.finding import Finding, Findings, all_left_out_error
from featly.diagnostics.alarms.row_groups import twin_groups

__all__ = [
    "Finding",
    "Findings",
    "all_left_out_error",
    "check_rows",
    "check_safely",
    "check_table",
    "not_checked",
    "twin_groups",
]
