"""What is done to a table before a method sees it."""

from featly.preprocessing.filling import Filler, fill_missing

__all__ = ["Filler", "fill_missing"]
