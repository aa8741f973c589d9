"""Readers and writers: csv, parquet, ARFF, LIBSVM, MATLAB in; csv, json, parquet out."""

from featly.io.finding import ColumnFinder
from featly.io.tables import FORMATS, TableFile, read_table
from featly.io.writing import write_frame
from featly.whole_files import whole_file

__all__ = ["FORMATS", "ColumnFinder", "TableFile", "read_table", "whole_file", "write_frame"]
