"""HDF5 files: a matrix of numbers, or the annotated one of an h5ad file."""

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from featly.basics.errors import DataError, Parameter
from featly.basics.typing import AnyArray
from featly.io.column_lookup import ColumnFinder
from featly.io.stores import h5ad as annotated
from featly.io.stores.base import (
    StoredTable,
    UnusedLimitError,
    require_dtype,
    require_shape,
    shorten_message,
)
from featly.io.stores.chunks import HELD_BANDS, Bands
from featly.io.stores.files import Buffers, DiskFile, describe_beginning
from featly.io.stores.raw import RawValues
from featly.io.stores.sparse import CompressedColumns

__all__ = ["Hdf5Table"]

MAGIC = b"\x89HDF\r\n\x1a\n"
SHOWN = 8  # names in a message
REMEDY = "write it again as float32 with h5py"


class Hdf5Table(StoredTable):
    """A matrix in an HDF5 file, dense or sparse; in an h5ad file with its annotations.

    A dense matrix without chunks is read without the HDF5 library, which takes one thread at a
    time.
    """

    feature_major: bool
    sparse: bool
    n_features: int
    n_rows: int

    kind = "hdf5"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dataset: str | None = None,
        layer: str | None = None,
        target: str | None = None,
        memory_limit: int | None = None,
    ) -> None:
        options = {"dataset": dataset, "layer": layer, "target": target}
        super().__init__(path, **options, memory_limit=memory_limit)
        h5py = _library()
        self._file = DiskFile(path)
        self._h5: Any = None
        self._values: RawValues | None = None
        self._bands: Bands | None = None
        self._buffers = Buffers()
        try:
            _check_beginning(self._file)
            try:
                self._h5 = h5py.File(self._file.place, "r", locking="best-effort")
            except OSError as problem:
                raise self._damage_error(problem) from None
            with self._guard_reading():
                self._find(dataset, layer, memory_limit)
            if target is not None:
                names = self._target_names()
                where = f"the obs of {self.name}" if self._annotated else self.name
                self.target: str = names[ColumnFinder(names, where)(target, "target")]
        except BaseException:
            self.close()
            raise

    def _find(self, dataset: str | None, layer: str | None, memory_limit: int | None) -> None:
        """Find the part of the file that is the table."""
        self._annotated = annotated.is_annotated(self._h5)
        if layer is not None and not self._annotated:
            raise DataError(
                f"{self.name} has no layers, as it is no h5ad file: name the matrix by ",
                Parameter("dataset"),
            )
        if layer is not None and dataset is not None:
            raise DataError(
                "both ",
                Parameter("layer"),
                f" {layer!r} and ",
                Parameter("dataset"),
                f" {dataset!r} are named: name one",
            )
        where = dataset
        if self._annotated and dataset is None:
            where = "X" if layer is None else f"layers/{layer}"
        matrix = self._matrix(where)
        self.where: Any = matrix.name.strip("/")
        if annotated.sparse_format(matrix) is not None:
            self._open_sparse(matrix, memory_limit)
        else:
            if memory_limit is not None:
                raise _unused_limit_error(f"{self.where!r} of {self.name} is not")
            self._open_dense(matrix)

    def _matrix(self, where: str | None) -> Any:
        paths = _matrices(self._h5)
        if where is None:
            if len(paths) == 1:
                return self._h5[paths[0]]
            if not paths:
                raise DataError(f"{self.name} has no matrix: a dataset of two dimensions is needed")
            raise DataError(
                f"{self.name} has {len(paths)} matrices ({_list_names(paths)}): name one by ",
                Parameter("dataset"),
            )
        if where not in self._h5:
            hint = f": there are {_list_names(paths)}" if paths else ", and no other"
            raise DataError(f"{self.name} has no matrix {where!r}{hint}")
        item = self._h5[where]
        if not hasattr(item, "shape") and annotated.sparse_format(item) is None:
            raise DataError(
                f"{where!r} of {self.name} is a group: name a matrix in it, such as "
                f"{_list_names(paths)}"
            )
        return item

    # ---- storage ----------------------------------------------------------------------------
    def _open_dense(self, dataset: Any) -> None:
        label = f"{self.where!r} of {self.name}"
        self.dtype = require_dtype(dataset.dtype, label, REMEDY)
        self.n_rows, self.n_features = require_shape(dataset.shape, label)
        if dataset.is_virtual or dataset.external:
            raise DataError(
                f"{label} lies in other files: copy it into one with h5py, so that what is missing "
                "does not read as 0"
            )
        _check_filters(dataset, label)
        self.feature_major = False
        offset = dataset.id.get_offset()
        if dataset.chunks is None and offset is not None:
            self._values = RawValues(
                self._file, offset, self.shape, dataset.dtype, feature_major=False
            )
            self.nbytes = self._values.nbytes
            self._values.warn(label)
            return
        self._dataset = dataset
        self.nbytes = int(dataset.id.get_storage_size()) or dataset.nbytes
        chunks = dataset.chunks or self.shape
        self._bands = Bands(self.shape, chunks[1], self.dtype)
        self._bands.warn(label, chunks)
        self.alignment: int = self._bands.width
        self.held_bytes = HELD_BANDS * self._bands.band_bytes if self._bands.is_cached else 0

    def _open_sparse(self, group: Any, memory_limit: int | None) -> None:
        label = f"{self.where!r} of {self.name}"
        by_columns = annotated.sparse_format(group) == "csc"
        if by_columns and memory_limit is not None:
            raise _unused_limit_error(f"{label} is so by columns")
        self.n_rows, self.n_features = require_shape(annotated.sparse_shape(group), label)
        for part in ("data", "indices", "indptr"):
            if part not in group:
                raise DataError(f"{label} has no {part}: it is damaged. Write it again")
            _check_filters(group[part], label)
        self.dtype: np.dtype[Any] = require_dtype(group["data"].dtype, label, REMEDY)
        self.sparse, self.feature_major = True, True
        self._compressed = CompressedColumns(
            group, self.shape, self.dtype, label, by_columns=by_columns, memory_limit=memory_limit
        )
        self.nbytes: int = self._compressed.nbytes
        self.held_bytes: int = self._compressed.held_bytes

    # ---- reading ----------------------------------------------------------------------------
    def _read(self, low: int, high: int) -> np.ndarray:
        if self.sparse:
            block: AnyArray = self.sparse_block(low, high).toarray(order="F")
            return block
        if self._values is not None:
            return self._values.read(low, high)
        assert self._bands is not None
        return self._bands.read(low, high, self._fetch)

    def _take(self, columns: np.ndarray) -> np.ndarray:
        if not self.sparse and self._values is not None:
            return self._values.take(columns)
        return super()._take(columns)

    def sparse_block(self, low: int, high: int) -> Any:
        """Return columns ``low:high`` as a SciPy CSC matrix."""
        if not self.sparse:
            raise DataError(f"{self.name} is dense: read it by read")
        self._check_range(low, high)
        with self._guard_reading():
            return self._compressed.block(low, high)

    def _fetch(self, low: int, high: int) -> np.ndarray:
        assert self.dtype is not None
        count = self.n_rows * (high - low)
        block = self._buffers.lend(count * self.dtype.itemsize).view(self.dtype)
        block = block.reshape(self.n_rows, high - low)
        with self._guard_reading():
            self._dataset.read_direct(block, np.s_[:, low:high])
        return block

    def _guard_reading(self) -> "_ReadGuard":
        return _ReadGuard(self)

    # ---- annotations ------------------------------------------------------------------------
    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the variables of an h5ad file; x0, x1, ... in other files."""
        if not self._annotated:
            return super().names
        with self._guard_reading():
            names = annotated.variable_names(self._h5, self.where)
        if names is not None and len(names) != self.n_features:
            raise DataError(
                f"{self.name} has {len(names)} names for the {self.n_features} columns of "
                f"{self.where!r}: it is damaged. Write it again"
            )
        return super().names if names is None else names

    def _target_names(self) -> list[str]:
        """Return the names that `column` finds."""
        if self._annotated:
            return annotated.observation_columns(self._h5)
        return _vectors(self._h5, self.n_rows)

    def column(self, name: str) -> np.ndarray | None:
        """Return a column of an h5ad file's obs, or a vector of a value for every row."""
        with self._guard_reading():
            if name not in self._target_names():
                return None
            values = (
                annotated.observation_column(self._h5, name)
                if self._annotated
                else annotated.plain(self._h5[name])
            )
        if len(values) != self.n_rows:
            raise DataError(
                f"column {name!r} of {self.name} has {len(values)} values for {self.n_rows} rows: "
                "the file is damaged. Write it again"
            )
        return values

    # ---- the file ---------------------------------------------------------------------------
    def _damage_error(self, problem: BaseException) -> DataError:
        return DataError(
            f"{self.name} cannot be read as an HDF5 file ({shorten_message(problem)}): it is cut "
            "or damaged. Copy or write it again"
        )

    def _files(self) -> Sequence[DiskFile]:
        return [self._file]

    def _fingerprint_parts(self) -> Any:
        return self.where

    def close(self) -> None:
        """Close the file."""
        super().close()
        if self._h5 is not None:
            self._h5.close()
        if self._bands is not None:
            self._bands.clear()
        if self._values is not None:
            self._values.buffers.clear()
        self._buffers.clear()


class _ReadGuard:
    """Guard of a reading from HDF5: raises DataError if the file changed meanwhile.

    The library fills what is behind the end of a cut file with zeros, without an error.
    """

    def __init__(self, table: Hdf5Table) -> None:
        self._table = table

    def __enter__(self) -> None:
        if self._table._file.is_closed:
            raise DataError(f"{self._table.name} is closed: scan it again")

    def __exit__(self, kind: Any, problem: BaseException | None, _: Any) -> None:
        if problem is None or not isinstance(problem, DataError | KeyboardInterrupt | SystemExit):
            self._table._file.check()
        if isinstance(problem, OSError | RuntimeError | KeyError | ValueError) and not isinstance(
            problem, DataError
        ):
            raise self._table._damage_error(problem) from None


def _library() -> Any:
    try:
        import h5py
    except ImportError:
        raise DataError(
            "HDF5 files are read by h5py, which is not installed: pip install 'featly[io]'"
        ) from None
    return h5py


def _unused_limit_error(reason: str) -> UnusedLimitError:
    """Return the error for a limit of memory where nothing is transposed."""
    limit = Parameter("memory_limit")
    return UnusedLimitError(
        limit, f" is for matrices that are sparse by rows, but {reason}: leave ", limit, " out"
    )


def _check_filters(dataset: Any, label: str) -> None:
    """Raise DataError for a compression that is not installed, with a remedy."""
    plan, known = dataset.id.get_create_plist(), _library().h5z
    for number in range(plan.get_nfilters()):
        code, _, _, name = plan.get_filter(number)
        if not known.filter_avail(code):
            raise DataError(
                f"{label} is compressed by {name.decode() or code}, which HDF5 does not know here: "
                "pip install hdf5plugin and import it first, or write it again with gzip"
            )


def _check_beginning(file: DiskFile) -> None:
    """Raise DataError for what is no HDF5 file; the format allows other bytes in front."""
    offset = 0
    while offset < min(file.size, 1 << 20):
        if file.size >= offset + 8 and file.read(offset, 8) == MAGIC:
            return
        offset = max(512, 2 * offset)
    content = describe_beginning(file.head(4096))
    remedy = f"it begins like {content}" if content else "write it with h5py or anndata"
    raise DataError(f"{file.name} is no HDF5 file: {remedy}")


def _matrices(h5: Any) -> list[str]:
    """Return the paths of datasets of two dimensions and of sparse matrices."""
    paths: list[str] = []

    def note_matrix(name: str, item: Any) -> None:
        if (
            annotated.sparse_format(item) is not None
            or len(getattr(item, "shape", None) or ()) == 2
        ):
            paths.append(name)

    h5.visititems(note_matrix)
    return paths


def _vectors(h5: Any, n_rows: int) -> list[str]:
    """Return the names of datasets of one dimension that have a value for every row."""
    names: list[str] = []

    def note_vector(name: str, item: Any) -> None:
        if getattr(item, "shape", None) == (n_rows,):
            names.append(name)

    h5.visititems(note_vector)
    return names


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
