"""Tables on disk that are read by blocks of columns, one module a format."""

from featly.io.stores.base import StoredTable
from featly.io.stores.npy import table_behind_map

__all__ = ["StoredTable", "table_behind_map"]
