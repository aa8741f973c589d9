"""Alarms of a table: what would make results too good, looked for before they are believed."""

from featly.diagnostics.alarms.check import check_rows, check_table
from featly.diagnostics.alarms.finding import Finding, Findings

__all__ = ["Finding", "Findings", "check_rows", "check_table"]
