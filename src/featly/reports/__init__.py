"""One page that a clinician can read and a statistician can trust."""

from featly.reports.build import report
from featly.reports.report import Report

__all__ = ["Report", "report"]
