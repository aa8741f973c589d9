"""Tables on disk that are read by blocks of columns: npy, parquet, HDF5, Zarr, PLINK bed."""

from featly.io.stores.base import StoredTable
from featly.io.stores.npy import store_of

__all__ = ["StoredTable", "store_of"]
