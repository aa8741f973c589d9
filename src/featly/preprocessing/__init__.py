"""What is done to a table before a method sees it."""

from featly.preprocessing.filling import fill_missing

__all__ = ["fill_missing"]
