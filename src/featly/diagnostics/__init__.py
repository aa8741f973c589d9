"""Diagnostics of a table: classes that overlap, shift, odd rows and columns."""

from featly.diagnostics.alarms import Finding, Findings, check_table, twin_groups
from featly.diagnostics.association import associations
from featly.diagnostics.columns import SuspectColumns, suspect_columns
from featly.diagnostics.complexity import CONVENTIONS, MEASURES, Complexity, complexity
from featly.diagnostics.concept_shift import ConceptShift, concept_shift
from featly.diagnostics.rows import SuspectRows, suspect_rows
from featly.diagnostics.shift import Shift, shift

__all__ = [
    "CONVENTIONS",
    "MEASURES",
    "Complexity",
    "ConceptShift",
    "Finding",
    "Findings",
    "Shift",
    "SuspectColumns",
    "SuspectRows",
    "associations",
    "check_table",
    "complexity",
    "concept_shift",
    "shift",
    "suspect_columns",
    "suspect_rows",
    "twin_groups",
]
