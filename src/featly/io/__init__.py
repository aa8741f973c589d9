"""Readers and writers: csv, parquet, ARFF, LIBSVM, MATLAB in; csv, json, parquet out."""

from featly.io.tables import FORMATS, TableFile, find_column, read_table
from featly.io.writing import whole_file, write_frame

__all__ = ["FORMATS", "TableFile", "find_column", "read_table", "whole_file", "write_frame"]
