"""HDF5 files: a matrix of numbers, or the annotated one of an h5ad file."""

import os
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.column_lookup import ColumnFinder
from featly.io.stores import h5ad as annotated
from featly.io.stores.base import StoredTable, checked_dtype, checked_shape, one_line
from featly.io.stores.chunks import HELD_BANDS, Bands
from featly.io.stores.files import Buffers, DiskFile, what_begins_with
from featly.io.stores.raw import RawValues
from featly.io.stores.sparse import CompressedColumns

__all__ = ["Hdf5Table"]

MAGIC = b"\x89HDF\r\n\x1a\n"
SHOWN = 8
REMEDY = "write it again as float32 with h5py"


class Hdf5Table(StoredTable):
    """A matrix in an HDF5 file, dense or sparse; in an h5ad file with its annotations.

    A dense matrix without chunks is read past the HDF5 library, which lets one thread in at a time.
    """

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
                raise self._damaged(problem) from None
            with self._sound():
                self._find(dataset, layer, memory_limit)
            if target is not None:
                beside = self._beside()
                where = f"the obs of {self.name}" if self._annotated else self.name
                self.target = beside[ColumnFinder(beside, where)(target, "target")]
        except BaseException:
            self.close()
            raise

    def _find(self, dataset: str | None, layer: str | None, memory_limit: int | None) -> None:
        """Which part of the file is the table."""
        self._annotated = annotated.is_annotated(self._h5)
        if layer is not None and not self._annotated:
            raise DataError(
                f"{self.name} has no layers, as it is no h5ad file: name the matrix by dataset"
            )
        if layer is not None and dataset is not None:
            raise DataError(f"both layer {layer!r} and dataset {dataset!r} are named: name one")
        where = dataset
        if self._annotated and dataset is None:
            where = "X" if layer is None else f"layers/{layer}"
        found = self._matrix(where)
        self.where = found.name.strip("/")
        if annotated.sparse_format(found) is not None:
            self._lay_sparse(found, memory_limit)
        else:
            if memory_limit is not None:
                raise DataError(
                    f"memory_limit is for matrices that are sparse by rows, but {self.where!r} of "
                    f"{self.name} is not: leave memory_limit out"
                )
            self._lay_dense(found)

    def _matrix(self, where: str | None) -> Any:
        known = _matrices(self._h5)
        if where is None:
            if len(known) == 1:
                return self._h5[known[0]]
            if not known:
                raise DataError(f"{self.name} has no matrix: a dataset of two dimensions is needed")
            raise DataError(
                f"{self.name} has {len(known)} matrices ({_listed(known)}): name one by dataset"
            )
        if where not in self._h5:
            there = f": there are {_listed(known)}" if known else ", and no other"
            raise DataError(f"{self.name} has no matrix {where!r}{there}")
        found = self._h5[where]
        if not hasattr(found, "shape") and annotated.sparse_format(found) is None:
            raise DataError(
                f"{where!r} of {self.name} is a group: name a matrix in it, such as "
                f"{_listed(known)}"
            )
        return found

    # ---- how it lies ------------------------------------------------------------------------
    def _lay_dense(self, found: Any) -> None:
        what = f"{self.where!r} of {self.name}"
        self.dtype = checked_dtype(found.dtype, what, REMEDY)
        self.n_rows, self.n_features = checked_shape(found.shape, what)
        if found.is_virtual or found.external:
            raise DataError(
                f"{what} lies in other files: copy it into one with h5py, so that what is missing "
                "does not read as 0"
            )
        _check_filters(found, what)
        self.feature_major = False
        offset = found.id.get_offset()
        if found.chunks is None and offset is not None:
            self._values = RawValues(
                self._file, offset, self.shape, found.dtype, feature_major=False
            )
            self.nbytes = self._values.nbytes
            self._values.warn(what, stacklevel=6)
            return
        self._dataset = found
        self.nbytes = int(found.id.get_storage_size()) or found.nbytes
        chunks = found.chunks or self.shape
        self._bands = Bands(self.shape, chunks[1], self.dtype)
        self._bands.warn(what, chunks, stacklevel=6)
        self.alignment = self._bands.width
        self.held_bytes = HELD_BANDS * self._bands.band_bytes if self._bands.holds else 0

    def _lay_sparse(self, found: Any, memory_limit: int | None) -> None:
        what = f"{self.where!r} of {self.name}"
        by_columns = annotated.sparse_format(found) == "csc"
        if by_columns and memory_limit is not None:
            raise DataError(
                f"memory_limit is for matrices that are sparse by rows, but {what} is so by "
                "columns: leave memory_limit out"
            )
        self.n_rows, self.n_features = checked_shape(annotated.sparse_shape(found), what)
        for part in ("data", "indices", "indptr"):
            if part not in found:
                raise DataError(f"{what} has no {part}: it is damaged. Write it again")
            _check_filters(found[part], what)
        self.dtype = checked_dtype(found["data"].dtype, what, REMEDY)
        self.sparse, self.feature_major = True, True
        self._compressed = CompressedColumns(
            found, self.shape, self.dtype, what, by_columns=by_columns, memory_limit=memory_limit
        )
        self.nbytes = self._compressed.nbytes
        self.held_bytes = self._compressed.held_bytes

    # ---- reading ----------------------------------------------------------------------------
    def _read(self, low: int, high: int) -> np.ndarray:
        if self.sparse:
            return self.sparse_block(low, high).toarray(order="F")
        if self._values is not None:
            return self._values.read(low, high)
        assert self._bands is not None
        return self._bands.read(low, high, self._fetch)

    def _take(self, columns: np.ndarray) -> np.ndarray:
        if not self.sparse and self._values is not None:
            return self._values.take(columns)
        return super()._take(columns)

    def sparse_block(self, low: int, high: int) -> Any:
        """Columns ``low:high`` as a SciPy CSC matrix."""
        if not self.sparse:
            raise DataError(f"{self.name} is dense: read it by read")
        self._check_range(low, high)
        with self._sound():
            return self._compressed.block(low, high)

    def _fetch(self, low: int, high: int) -> np.ndarray:
        assert self.dtype is not None
        count = self.n_rows * (high - low)
        found = self._buffers.lend(count * self.dtype.itemsize).view(self.dtype)
        found = found.reshape(self.n_rows, high - low)
        with self._sound():
            self._dataset.read_direct(found, np.s_[:, low:high])
        return found

    def _sound(self) -> "_Sound":
        return _Sound(self)

    # ---- annotations ------------------------------------------------------------------------
    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the variables of an h5ad file; x0, x1, ... in other files."""
        if not self._annotated:
            return super().names
        with self._sound():
            found = annotated.variable_names(self._h5, self.where)
        if found is not None and len(found) != self.n_features:
            raise DataError(
                f"{self.name} has {len(found)} names for the {self.n_features} columns of "
                f"{self.where!r}: it is damaged. Write it again"
            )
        return super().names if found is None else found

    def _beside(self) -> list[str]:
        """Names of what `column` finds."""
        if self._annotated:
            return annotated.observation_columns(self._h5)
        return _vectors(self._h5, self.n_rows)

    def column(self, name: str) -> np.ndarray | None:
        """A column of an h5ad file's obs; of other files, a vector with a value for every row."""
        with self._sound():
            if name not in self._beside():
                return None
            found = (
                annotated.observation_column(self._h5, name)
                if self._annotated
                else annotated.plain(self._h5[name])
            )
        if len(found) != self.n_rows:
            raise DataError(
                f"column {name!r} of {self.name} has {len(found)} values for {self.n_rows} rows: "
                "the file is damaged. Write it again"
            )
        return found

    # ---- the file ---------------------------------------------------------------------------
    def _damaged(self, problem: BaseException) -> DataError:
        return DataError(
            f"{self.name} cannot be read as an HDF5 file ({one_line(problem)}): it is cut or "
            "damaged. Copy or write it again"
        )

    def _files(self) -> Sequence[DiskFile]:
        return [self._file]

    def _what(self) -> Any:
        return self.where

    def close(self) -> None:
        """Let go of the file."""
        super().close()
        if self._h5 is not None:
            self._h5.close()
        if self._bands is not None:
            self._bands.clear()
        if self._values is not None:
            self._values.buffers.clear()
        self._buffers.clear()


class _Sound:
    """What is read from HDF5 within counts only if the file is what it was.

    The library fills what lies behind the end of a cut file with zeros, and does not tell.
    """

    def __init__(self, table: Hdf5Table) -> None:
        self._table = table

    def __enter__(self) -> None:
        if self._table._file.closed:
            raise DataError(f"{self._table.name} is closed: scan it again")

    def __exit__(self, kind: Any, problem: BaseException | None, _: Any) -> None:
        if problem is None or not isinstance(problem, DataError | KeyboardInterrupt | SystemExit):
            self._table._file.check()
        if isinstance(problem, OSError | RuntimeError | KeyError | ValueError) and not isinstance(
            problem, DataError
        ):
            raise self._table._damaged(problem) from None


def _library() -> Any:
    try:
        import h5py
    except ImportError:
        raise DataError(
            "HDF5 files are read by h5py, which is not installed: pip install 'featly[io]'"
        ) from None
    return h5py


def _check_filters(dataset: Any, what: str) -> None:
    """Refuse a compression that is not there: the library's message says little."""
    plan, known = dataset.id.get_create_plist(), _library().h5z
    for number in range(plan.get_nfilters()):
        code, _, _, name = plan.get_filter(number)
        if not known.filter_avail(code):
            raise DataError(
                f"{what} is compressed by {name.decode() or code}, which HDF5 does not know here: "
                "pip install hdf5plugin and import it first, or write it again with gzip"
            )


def _check_beginning(file: DiskFile) -> None:
    """Refuse what is no HDF5 file; the library allows for something else in front."""
    place = 0
    while place < min(file.size, 1 << 20):
        if file.size >= place + 8 and file.read(place, 8) == MAGIC:
            return
        place = max(512, 2 * place)
    what = what_begins_with(file.head(4096))
    remedy = f"it begins like {what}" if what else "write it with h5py or anndata"
    raise DataError(f"{file.name} is no HDF5 file: {remedy}")


def _matrices(h5: Any) -> list[str]:
    """Datasets of two dimensions, and sparse matrices."""
    found: list[str] = []

    def visit(name: str, item: Any) -> None:
        if (
            annotated.sparse_format(item) is not None
            or len(getattr(item, "shape", None) or ()) == 2
        ):
            found.append(name)

    h5.visititems(visit)
    return found


def _vectors(h5: Any, n_rows: int) -> list[str]:
    """Datasets of one dimension that have a value for every row."""
    found: list[str] = []

    def visit(name: str, item: Any) -> None:
        if getattr(item, "shape", None) == (n_rows,):
            found.append(name)

    h5.visititems(visit)
    return found


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:SHOWN])) + (", ..." if len(names) > SHOWN else "")
