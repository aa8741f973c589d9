"""Files in, files out; :mod:`featly.table.formats` has the formats."""

from featly.basics.atomic_file import whole_file
from featly.io.column_lookup import ColumnFinder
from featly.io.read import TableFile, read_table
from featly.io.write import write_frame
from featly.table.formats import readable

FORMATS = readable()

__all__ = ["FORMATS", "ColumnFinder", "TableFile", "read_table", "whole_file", "write_frame"]
