"""Zarr arrays in a folder or a zip file, read by the zarr package (2 or 3)."""

import hashlib
import itertools
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError, Parameter
from featly.io.column_lookup import ColumnFinder
from featly.io.stores.base import StoredTable, require_dtype, require_shape, shorten_message
from featly.io.stores.chunks import HELD_BANDS, Bands
from featly.io.stores.files import DiskFile, describe_beginning

__all__ = ["ZarrTable", "is_zarr_folder"]

METADATA = ("zarr.json", ".zarray", ".zgroup")
SHOWN = 8  # names in a message
REMEDY = "write it again as float32"
ABSENT = -1


class ZarrTable(StoredTable):
    """An array of a Zarr store.

    A chunk without a file stands for a block of fill values, and cannot be told from one whose file
    was lost. So the files of chunks are listed when the table is scanned, and checked again with
    every block.
    """

    n_features: int
    n_rows: int

    kind = "zarr"
    feature_major = False

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        dataset: str | None = None,
        target: str | None = None,
    ) -> None:
        super().__init__(path, dataset=dataset, target=target)
        zarr = _library()
        folder = Path(path).is_dir()
        self._store: Any = None
        if folder and not is_zarr_folder(Path(path)):
            raise DataError(
                f"{self.name} is a folder without a Zarr array in it: name the folder that holds "
                "zarr.json, .zarray or .zgroup"
            )
        self._file = None if folder else DiskFile(path)
        try:
            if self._file is not None:
                _check_zip(self._file)
            try:
                if folder:
                    self._root = zarr.open(self._place, mode="r")
                else:
                    self._store = zarr.storage.ZipStore(self._place, mode="r")
                    self._root = zarr.open(self._store, mode="r")
            except Exception as problem:
                raise self._damage_error(problem) from None
            self._set_array(self._array(dataset))
            if target is not None:
                names = self._target_names()
                self.target: str = names[ColumnFinder(names, self.name)(target, "target")]
        except BaseException:
            self.close()
            raise

    def _array(self, dataset: str | None) -> Any:
        if hasattr(self._root, "shape"):
            if dataset is not None:
                raise DataError(
                    f"{self.name} is one array, no group of them: leave ",
                    Parameter("dataset"),
                    f" {dataset!r} out",
                )
            return self._root
        arrays = self._arrays()
        known = [name for name, array in arrays.items() if len(array.shape) == 2]
        listed = ", ".join(map(repr, known[:SHOWN])) + (", ..." if len(known) > SHOWN else "")
        if dataset is None:
            if len(known) == 1:
                return arrays[known[0]]
            if not known:
                raise DataError(f"{self.name} has no array of two dimensions: there is no table")
            raise DataError(
                f"{self.name} has {len(known)} matrices ({listed}): name one by ",
                Parameter("dataset"),
            )
        matrix = arrays.get(dataset.strip("/"))
        if matrix is None:
            hint = f": there are {listed}" if known else ", and no other"
            raise DataError(f"{self.name} has no array {dataset!r}{hint}")
        return matrix

    def _arrays(self) -> dict[str, Any]:
        """Return all arrays below a group by their path."""
        if hasattr(self._root, "shape"):
            return {}
        arrays: dict[str, Any] = {}
        groups = [("", self._root)]
        try:
            while groups:
                prefix, group = groups.pop()
                arrays |= {prefix + name: array for name, array in group.arrays()}
                groups += [(f"{prefix}{name}/", below) for name, below in group.groups()]
        except Exception as problem:
            raise self._damage_error(problem) from None
        return dict(sorted(arrays.items()))

    def _set_array(self, array: Any) -> None:
        self._data = array
        self.where: Any = array.path.strip("/")
        label = f"{self.where!r} of {self.name}" if self.where else self.name
        self.dtype: np.dtype[Any] = require_dtype(array.dtype, label, REMEDY)
        self.n_rows, self.n_features = require_shape(array.shape, label)
        # a shard is a file of many chunks, each of which can be read alone
        chunks = int(array.chunks[0]), int(array.chunks[1])
        self._bands = Bands(self.shape, chunks[1], self.dtype)
        self._bands.warn(label, chunks)
        self.alignment: int = self._bands.width
        self.held_bytes: int = HELD_BANDS * self._bands.band_bytes if self._bands.is_cached else 0
        self._chunks = None
        if self._file is None:
            self._chunks = _ChunkFiles(array, Path(self._place) / self.where, self.name)
            self.nbytes = self._chunks.nbytes
        else:
            self.nbytes: int = self._file.size

    # ---- reading ----------------------------------------------------------------------------
    def _read(self, low: int, high: int) -> np.ndarray:
        return self._bands.read(low, high, self._fetch)

    def _fetch(self, low: int, high: int) -> np.ndarray:
        if self._data is None:
            raise DataError(f"{self.name} is closed: scan it again")
        try:
            block = np.asarray(self._data[:, low:high])
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except Exception as problem:
            self._check_read(low, high)
            raise self._damage_error(problem) from None
        self._check_read(low, high)
        return np.ascontiguousarray(block, self.dtype)

    def _check_read(self, low: int, high: int) -> None:
        if self._chunks is not None:
            self._chunks.check(low, high)
        elif self._file is not None:
            self._file.check()

    def _target_names(self) -> list[str]:
        """Return the names that `column` finds."""
        return [name for name, array in self._arrays().items() if array.shape == (self.n_rows,)]

    def column(self, name: str) -> np.ndarray | None:
        """Return an array of the same store that has a value for every row, by its path."""
        if name not in self._target_names():
            return None
        try:
            values = np.asarray(self._root[name][:])
        except Exception as problem:
            raise self._damage_error(problem) from None
        return values.astype(object) if values.dtype.kind in "SUT" else values

    # ---- the files --------------------------------------------------------------------------
    def _damage_error(self, problem: BaseException) -> DataError:
        return DataError(
            f"{self.name} cannot be read as a Zarr store ({shorten_message(problem)}): it is cut "
            "or damaged. Copy or write it again"
        )

    def _files(self) -> Sequence[DiskFile]:
        return [] if self._file is None else [self._file]

    def _states(self) -> list[Any]:
        return super()._states() if self._chunks is None else [self._chunks.fingerprint()]

    def check(self) -> None:
        """Raise DataError if a file was cut, replaced or changed since the table was scanned."""
        super().check()
        if self._chunks is not None:
            self._chunks.check(0, self.n_features)

    def _fingerprint_parts(self) -> Any:
        chunks = None if self._chunks is None else self._chunks.fingerprint()
        return self.where, chunks

    def _require(self, states: list[Any]) -> None:
        if self._chunks is None:
            super()._require(states)
        elif [self._chunks.fingerprint()] != states:
            raise DataError(f"{self.name} changed since it was scanned: scan it again")

    def close(self) -> None:
        """Close the files."""
        super().close()
        self._data = None
        if self._store is not None:
            self._store.close()
        if hasattr(self, "_bands"):
            self._bands.clear()


class _ChunkFiles:
    """Files of the chunks of an array in a folder: their names, sizes and times."""

    def __init__(self, array: Any, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        unit = getattr(array, "shards", None) or array.chunks
        self.width = int(unit[1])
        self.grid = -(-int(array.shape[0]) // int(unit[0])), -(-int(array.shape[1]) // self.width)
        self._key = _chunk_key_function(array)
        self._metadata = [DiskFile(folder / file) for file in METADATA if (folder / file).is_file()]
        self._seen = self._stat_chunks(0, self.grid[1])
        is_present = self._seen[0] != ABSENT
        if not is_present.any():
            raise DataError(
                f"{name} has no chunk of its array: nothing was written to it, or the files were "
                "left behind. Copy or write it again"
            )
        self.nbytes = int(self._seen[0][is_present].sum())

    def _stat_chunks(self, first: int, last: int) -> np.ndarray:
        """Return sizes and times of the files in some columns of the grid."""
        states = np.full((2, self.grid[0], last - first), ABSENT, np.int64)
        folder, key, stat = f"{self.folder}{os.sep}", self._key, os.stat
        for i, j in itertools.product(range(self.grid[0]), range(first, last)):
            try:
                state = stat(folder + key((i, j)))
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise DataError(
                    f"{self.name} cannot be read ({problem.strerror}): copy it to another disk"
                ) from None
            states[0, i, j - first], states[1, i, j - first] = state.st_size, state.st_mtime_ns
        return states

    def check(self, low: int, high: int) -> None:
        """Raise DataError if a file with some of the columns ``low:high`` has changed."""
        for file in self._metadata:
            file.check()
        first, last = low // self.width, -(-high // self.width)
        current, before = self._stat_chunks(first, last), self._seen[:, :, first:last]
        if (current == before).all():
            return
        i, j = np.argwhere((current != before).any(axis=0))[0].tolist()
        size, size_before = int(current[0, i, j]), int(before[0, i, j])
        if size == ABSENT:
            change = "went missing"
        elif size < size_before:
            change = f"was cut from {size_before} to {size} bytes"
        else:
            change = "changed"
        raise DataError(
            f"{self.name}: the chunk {self._key((i, j + first))!r} {change} while it was in use: "
            "copy or write it again, and scan it again"
        )

    def fingerprint(self) -> str:
        """Return a key of sizes and times of all files."""
        digest = hashlib.sha256(self._seen.tobytes())
        for file in self._metadata:
            file.digest_into(digest)
        return digest.hexdigest()[:32]


def _chunk_key_function(array: Any) -> Any:
    """Return a function from the position of a chunk in the grid to the name of its file."""
    if hasattr(array, "metadata"):
        return array.metadata.encode_chunk_key
    separator = array._dimension_separator or "."  # zarr 2
    return lambda position: separator.join(map(str, position))


def _library() -> Any:
    try:
        import zarr
    except ImportError:
        raise DataError(
            "Zarr stores are read by zarr, which is not installed: pip install 'featly[io]'"
        ) from None
    return zarr


def is_zarr_folder(folder: Path) -> bool:
    """Return whether a folder is a Zarr store."""
    return any((folder / name).is_file() for name in METADATA)


def _check_zip(file: DiskFile) -> None:
    start = file.head(4096)
    if not start.startswith(b"PK"):
        content = describe_beginning(start)
        remedy = f"it begins like {content}" if content else "write it with zarr"
        raise DataError(f"{file.name} is no zip file with a Zarr store: {remedy}")
    try:
        with zipfile.ZipFile(file.place) as archive:
            names = {name.rpartition("/")[2] for name in archive.namelist()}
    except (zipfile.BadZipFile, OSError, ValueError) as problem:
        raise DataError(
            f"{file.name} cannot be read as a zip file ({shorten_message(problem)}): it is cut or "
            "damaged. Copy or write it again"
        ) from None
    if not names & set(METADATA):
        raise DataError(f"{file.name} is a zip file without a Zarr store in it: write it with zarr")
