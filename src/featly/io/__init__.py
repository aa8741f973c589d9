"""Readers of csv, parquet, ARFF, LIBSVM and MATLAB files, writers of csv, json and parquet."""

from featly.basics.atomic_file import whole_file
from featly.io.column_lookup import ColumnFinder
from featly.io.read import FORMATS, TableFile, read_table
from featly.io.write import write_frame

__all__ = ["FORMATS", "ColumnFinder", "TableFile", "read_table", "whole_file", "write_frame"]
