"""NumPy's own files, and arrays that are maps of a file."""

import ast
import mmap
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.stores.base import StoredTable, require_dtype, require_shape
from featly.io.stores.files import DiskFile, describe_beginning
from featly.io.stores.raw import RawValues

__all__ = ["MappedTable", "NpyTable", "table_behind_map"]

MAGIC = b"\x93NUMPY"
LONGEST_HEADER = 1 << 16
PROBED = 512  # values
REMEDY = "convert it with numpy.save(path, X.astype('float32'))"


class _RawTable(StoredTable):
    """A table that is one matrix of values in a file."""

    _file: DiskFile
    _values: RawValues

    def _set_values(self, offset: int, shape: Any, stored: np.dtype[Any], fortran: bool) -> None:
        self.dtype = require_dtype(stored, self.name, REMEDY)
        self.n_rows, self.n_features = require_shape(shape, self.name)
        # of one column, or one row, both orders are the same
        self.feature_major = fortran or self.n_features == 1
        self._values = RawValues(
            self._file, offset, self.shape, stored, feature_major=self.feature_major
        )
        self.nbytes = self._values.nbytes
        self._values.warn(self.name, stacklevel=5)
        if self.feature_major:
            self._file.advise_sequential()

    def _read(self, low: int, high: int) -> np.ndarray:
        return self._values.read(low, high)

    def _take(self, columns: np.ndarray) -> np.ndarray:
        return self._values.take(columns)

    def _files(self) -> Sequence[DiskFile]:
        return [self._file]

    def close(self) -> None:
        """Let go of the file, and of memory for blocks."""
        super().close()
        self._values.buffers.clear()


class NpyTable(_RawTable):
    """A file that ``numpy.save`` wrote, in C or in Fortran order."""

    kind = "npy"

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self._file = DiskFile(path)
        try:
            offset, shape, stored, fortran = _header(self._file)
            self._set_values(offset, shape, stored, fortran)
            self._check_size(offset + self.nbytes)
        except BaseException:
            self._file.close()
            raise

    def _check_size(self, expected: int) -> None:
        size = self._file.size
        if size < expected:
            raise DataError(
                f"{self.name} is cut: it has {size} bytes, where its {self.n_rows} rows and "
                f"{self.n_features} columns of {self.dtype} take {expected}. Copy or write it again"
            )
        if size > expected:
            raise DataError(
                f"{self.name} has {size - expected} bytes behind its table: it is damaged, or "
                "holds "
                "several arrays. Write one array a file"
            )


def _header(file: DiskFile) -> tuple[int, Any, np.dtype[Any], bool]:
    """Return the position where the values begin, their shape, dtype and order."""
    start = file.head(LONGEST_HEADER)
    if not start.startswith(MAGIC):
        content = describe_beginning(start)
        remedy = f"it begins like {content}" if content else "write it with numpy.save"
        raise DataError(f"{file.name} is no .npy file: {remedy}")
    wide = start[6:7] != b"\x01"
    first = 12 if wide else 10
    length = int.from_bytes(start[8:first], "little")
    text = start[first : first + length]
    if len(text) < length and len(start) < LONGEST_HEADER:
        raise DataError(f"{file.name} is cut within its header: copy or write it again")
    try:
        header = ast.literal_eval(text.decode("latin-1"))
        shape, fortran = header["shape"], header["fortran_order"]
        stored = np.lib.format.descr_to_dtype(header["descr"])
        if not all(isinstance(size, int) and size >= 0 for size in shape):
            raise ValueError
    except (ValueError, SyntaxError, KeyError, TypeError, MemoryError, RecursionError):
        raise DataError(
            f"{file.name} has a header that cannot be read: it is damaged. Copy or write it again"
        ) from None
    return first + length, shape, stored, bool(fortran)


class MappedTable(_RawTable):
    """A matrix of values at some place of a file without a header."""

    kind = "map"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        offset: int,
        shape: tuple[int, int],
        dtype: str,
        fortran: bool,
    ) -> None:
        super().__init__(path, offset=offset, shape=shape, dtype=dtype, fortran=fortran)
        self._file = DiskFile(path)
        try:
            self._set_values(offset, shape, np.dtype(dtype), fortran)
            if self._file.size < offset + self.nbytes:
                raise DataError(
                    f"{self.name} has {self._file.size} bytes, fewer than the array that is a map "
                    "of it: it was cut. Copy or write it again"
                )
        except BaseException:
            self._file.close()
            raise

    def is_map_of(self, array: np.ndarray) -> bool:
        """Return whether the first and last values are these: the file may be another one now."""
        values = array.ravel(order="K")
        count = min(PROBED, len(values))
        size = array.dtype.itemsize
        first = self._file.read(self._values.offset, count * size)
        last = self._file.read(self._values.offset + self.nbytes - count * size, count * size)
        return first == values[:count].tobytes() and last == values[-count:].tobytes()


def table_behind_map(array: np.ndarray) -> StoredTable | None:
    """Return the file behind an array that is a map of one, to be read by blocks.

    Reading is safe where the map is not: a map of a file that shrinks kills the process. None for
    arrays that are no maps, have changes of their own, or do not lie in one piece.

    Examples
    --------
    >>> import numpy as np, tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "X.npy"
    >>> np.save(path, np.arange(6.0).reshape(2, 3))
    >>> table_behind_map(np.load(path, mmap_mode="r")[1:]).read(0, 2)
    array([[3., 4.]])
    >>> table_behind_map(np.load(path)) is None
    True
    """
    # a view that is a plain array has no file name; the map that it is of has
    if not isinstance(array, np.memmap) or array.ndim != 2 or array.size == 0:
        return None
    mapped, path = array._mmap, array.filename  # type: ignore[attr-defined]
    if mapped is None or path is None or array.mode == "c" or not os.path.isfile(path):
        return None
    fortran = bool(array.flags.f_contiguous)
    if not (array.flags.c_contiguous or fortran):
        return None
    if array.dtype.kind not in "biuf" or str(array.dtype) in ("float16", "float128"):
        return None
    # the offset that NumPy remembers is that of the whole map, also in a view of a part of it
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    offset = begin + array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    table = MappedTable(
        path, offset=offset, shape=array.shape, dtype=array.dtype.str, fortran=fortran
    )
    if table.is_map_of(array):
        return table
    table.close()
    return None
