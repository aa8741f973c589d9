"""One page that a clinician can read and a statistician can trust."""

from featly.present.report.making import report
from featly.present.report.report import Report

__all__ = ["Report", "report"]
