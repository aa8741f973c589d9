"""Advice: which method for a table, and how to judge it."""
