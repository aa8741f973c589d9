"""Files of NumPy, and arrays that map a file."""

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
PROBED = 512  # values that are compared
REMEDY = "convert it with numpy.save(path, X.astype('float32'))"


class _RawTable(StoredTable):
    """A table that is one matrix of values in a file."""

    n_features: int
    n_rows: int

    _file: DiskFile
    _values: RawValues

    def _set_values(self, offset: int, shape: Any, stored: np.dtype[Any], fortran: bool) -> None:
        self.dtype: np.dtype[Any] = require_dtype(stored, self.name, REMEDY)
        self.n_rows, self.n_features = require_shape(shape, self.name)
        # of one column, or one row, both orders are the same
        self.feature_major: bool = fortran or self.n_features == 1
        self._values = RawValues(
            self._file, offset, self.shape, stored, feature_major=self.feature_major
        )
        self.nbytes: int = self._values.nbytes
        self._values.warn(self.name)
        if self.feature_major:
            self._file.advise_sequential()

    def _read(self, low: int, high: int) -> np.ndarray:
        return self._values.read(low, high)

    def _take(self, columns: np.ndarray) -> np.ndarray:
        return self._values.take(columns)

    def _files(self) -> Sequence[DiskFile]:
        return [self._file]

    def close(self) -> None:
        """Close the file, and free the memory for blocks."""
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
                "holds several arrays. Write one array a file"
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
    """A matrix of values at some position in a file."""

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
        """Return whether the first and last values are those of an array: the file may be new."""
        values = array.ravel(order="K")
        count = min(PROBED, len(values))
        size = array.dtype.itemsize
        first = self._file.read(self._values.offset, count * size)
        last = self._file.read(self._values.offset + self.nbytes - count * size, count * size)
        return first == values[:count].tobytes() and last == values[-count:].tobytes()


def table_behind_map(array: np.ndarray) -> StoredTable | None:
    """Return the file behind an array that maps it, to be read by blocks, or None.

    Reading is safer than mapping: if the mapped file shrinks, the system kills the process. None
    for arrays that map no file, that are copy-on-write, or that are not contiguous.

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
    # a view that is a plain array has no file name
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
    # NumPy stores the offset of the whole map, even in a view of a part of it
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY
    offset = begin + array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    table = MappedTable(
        path, offset=offset, shape=array.shape, dtype=array.dtype.str, fortran=fortran
    )
    if table.is_map_of(array):
        return table
    table.close()
    return None
