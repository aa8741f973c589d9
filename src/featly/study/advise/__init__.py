"""Advice: which method for a table, and how to judge it."""

from featly.study.advise.advice import Advice, advise

__all__ = ["Advice", "advise"]
