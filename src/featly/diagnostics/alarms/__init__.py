"""Alarms of a table: what would make results too good, looked for before they are believed."""

from featly.diagnostics.alarms.check import (
    IDENTIFIER,
    REPEATED,
    check_rows,
    check_table,
    twin_groups,
)
from featly.diagnostics.alarms.finding import Finding, Findings

__all__ = [
    "IDENTIFIER",
    "REPEATED",
    "Finding",
    "Findings",
    "check_rows",
    "check_table",
    "twin_groups",
]
