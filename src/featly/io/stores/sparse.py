"""Columns of a sparse matrix on disk that is stored by columns or by rows."""

import threading
from typing import Any

import numpy as np
import scipy.sparse

from featly.basics.errors import DataError, Parameter, Text
from featly.basics.resources import format_bytes, free_memory
from featly.basics.typing import AnyArray

__all__ = ["CompressedColumns"]

PIECE = 1 << 22  # stored values that are transposed at a time
FREE_SHARE = 4  # without a limit, a quarter of the free memory may be taken


class CompressedColumns:
    """Blocks of columns of a sparse matrix on disk.

    A matrix that is stored by columns is read from the file. One that is stored by rows is
    converted to columns once, in memory, when it is first read.

    Parameters
    ----------
    group : h5py group with data, indices and indptr
    shape : tuple of int
    dtype : dtype
    label : str
        The matrix in messages.
    by_columns : bool
    memory_limit : int or None
        Memory for a table on disk, such as "2GB"; None: a quarter of what is free.
        Here in bytes, and only for a matrix that is stored by rows.
    """

    held_bytes: int
    by_columns: bool
    label: str
    dtype: np.dtype[Any]
    n_features: int
    n_rows: int

    def __init__(
        self,
        group: Any,
        shape: tuple[int, int],
        dtype: np.dtype[Any],
        label: str,
        *,
        by_columns: bool,
        memory_limit: int | None,
    ) -> None:
        self.n_rows, self.n_features = shape
        self.dtype, self.label, self.by_columns = dtype, label, by_columns
        self._data, self._indices = group["data"], group["indices"]
        self.n_stored: int = len(self._data)
        self.nbytes: Any = self.n_stored * (
            self._data.dtype.itemsize + self._indices.dtype.itemsize
        )
        n_lines = self.n_features if by_columns else self.n_rows
        self._ends = group["indptr"][:].astype(np.int64)
        sound = len(self._ends) == n_lines + 1 and len(self._indices) == self.n_stored
        sound = sound and self._ends[0] == 0 and self._ends[-1] == self.n_stored
        if not sound or (np.diff(self._ends) < 0).any():
            raise self._damage_error()
        index = np.int32 if self.n_rows < 2**31 else np.int64
        self._index = np.dtype(index)
        self._lock = threading.Lock()
        self._csc: tuple[AnyArray, AnyArray, AnyArray] | None = None
        self.held_bytes = 8 * len(self._ends)
        if not by_columns:
            self.held_bytes = self.n_stored * (dtype.itemsize + self._index.itemsize)
            self.held_bytes += 8 * (self.n_features + 1)
            self._check_limit(memory_limit)

    def _check_limit(self, memory_limit: int | None) -> None:
        limit = free_memory() // FREE_SHARE if memory_limit is None else memory_limit
        if self.held_bytes > limit:
            allowed = Text(Parameter("memory_limit"), " allows")
            raise DataError(
                f"{self.label} is sparse by rows; by columns it would take "
                f"{format_bytes(self.held_bytes)} of memory, more than the {format_bytes(limit)} "
                "that ",
                "is free for it" if memory_limit is None else allowed,
                ". Write it by columns once: adata.X = adata.X.tocsc(); adata.write_h5ad(path)",
            )

    def block(self, low: int, high: int) -> Any:
        """Return columns ``low:high`` as a SciPy CSC matrix."""
        if not self.by_columns:
            with self._lock:
                if self._csc is None:
                    self._csc = self._convert()
            data, indices, ends = self._csc
            first, last = ends[low], ends[high]
            data, indices = data[first:last].copy(), indices[first:last].copy()
        else:
            ends = self._ends
            first, last = ends[low], ends[high]
            data = self._data[first:last].astype(self.dtype, copy=False)
            indices = self._check_indices(self._indices[first:last], self.n_rows)
        starts = (ends[low : high + 1] - first).astype(self._index)
        shape = (self.n_rows, high - low)
        return scipy.sparse.csc_matrix((data, indices.astype(self._index), starts), shape)

    def _convert(self) -> tuple[AnyArray, AnyArray, AnyArray]:
        """Convert the matrix to columns: count their values, then copy every value."""
        p = self.n_features
        pieces = [(low, min(low + PIECE, self.n_stored)) for low in range(0, self.n_stored, PIECE)]
        sizes = np.zeros(p, np.int64)
        for low, high in pieces:
            sizes += np.bincount(self._check_indices(self._indices[low:high], p), minlength=p)
        ends = np.concatenate([[0], np.cumsum(sizes)])
        data, rows = np.empty(self.n_stored, self.dtype), np.empty(self.n_stored, self._index)
        free = ends[:-1].copy()
        for low, high in pieces:
            columns = self._indices[low:high]
            order = np.argsort(columns, kind="stable")  # rows stay in order
            columns = columns[order]
            counts = np.bincount(columns, minlength=p)
            within = np.arange(high - low) - (np.cumsum(counts) - counts)[columns]
            positions = free[columns] + within
            data[positions] = self._data[low:high][order]
            row = np.searchsorted(self._ends, np.arange(low, high), side="right") - 1
            rows[positions] = row[order]
            free += counts
        return data, rows, ends

    def _check_indices(self, indices: np.ndarray, size: int) -> np.ndarray:
        # with others, SciPy would write beyond its arrays
        if len(indices) and not 0 <= indices.min() <= indices.max() < size:
            raise self._damage_error()
        return indices

    def _damage_error(self) -> DataError:
        return DataError(
            f"{self.label} has indices beyond its shape: it is damaged. Write it again"
        )
