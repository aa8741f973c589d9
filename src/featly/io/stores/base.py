"""Base class of tables on disk that are read by blocks of columns."""

import hashlib
import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError
from featly.basics.resources import format_bytes
from featly.io.stores.files import DiskFile
from featly.table.frames import DefaultNames

__all__ = [
    "StoredTable",
    "UnusedLimitError",
    "require_dtype",
    "require_shape",
    "shorten_message",
    "spans",
]

SPAN_BYTES = 1 << 25  # most bytes that are read together to pick columns from them
GAP_BYTES = 1 << 16  # most bytes between two columns that are read rather than skipped


class UnusedLimitError(DataError):
    """A memory limit for a table of which nothing is copied to memory when it is opened."""


class StoredTable(ABC):
    """A table on disk, as :func:`featly.scan` returns it.

    It takes the place of an array in every method that reads by blocks. Values are read block by
    block, on demand. Threads may read at the same time.

    Attributes
    ----------
    path : Path
        The path that was opened.
    n_rows, n_features : int
    dtype : dtype or None
        Dtype of a block; None if columns are of several kinds, and `frame` reads them.
    missing : int or None
        The whole number that stands for a missing value, if there is one.
    feature_major : bool
        Memory order of a block: column after column, or row after row.
    nbytes : int
        Bytes of the values on disk.
    sparse : bool
        Whether zeros are not stored; then there is ``sparse_block`` as well.
    alignment : int
        Reading is quickest if blocks begin at a multiple of this number of columns.
    held_bytes : int
        Most bytes that the table object itself takes in memory, beside the blocks.
    target : str or None
        The column that was named as the target; it is none of the table's columns.
    """

    kind: str
    path: Path
    n_rows: int
    n_features: int
    dtype: np.dtype[Any] | None
    missing: int | None = None
    feature_major: bool = True
    nbytes: int
    sparse: bool = False
    alignment: int = 1
    held_bytes: int = 0
    target: str | None = None

    def __init__(self, path: str | os.PathLike[str], **options: Any) -> None:
        self.path = Path(path)
        self._place = os.path.abspath(path)
        self._options = options  # to open it again

    # ---- description ------------------------------------------------------------------------
    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_features

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns; x0, x1, ... where the file has none."""
        return DefaultNames(self.n_features)

    @property
    def name(self) -> str:
        """Name of the file in messages."""
        return repr(str(self.path))

    @property
    def y(self) -> np.ndarray | None:
        """The target, if one was named."""
        return None if self.target is None else self.column(self.target)

    def __repr__(self) -> str:
        values = "of several kinds" if self.dtype is None else f"of {self.dtype}"
        return (
            f"{type(self).__name__}({self.name}: {self.n_rows} rows, {self.n_features} columns "
            f"{values}, {format_bytes(self.nbytes)})"
        )

    # ---- reading ----------------------------------------------------------------------------
    def read(self, low: int, high: int) -> np.ndarray:
        """Return columns ``low:high`` as a new array of shape (n_rows, high - low)."""
        if self.dtype is None:
            raise DataError(
                f"{self.name} has columns of several kinds, which are no array: read them by frame"
            )
        self._check_range(low, high)
        return self._read(int(low), int(high)) if low < high else self.empty(0)

    def take(self, features: npt.ArrayLike) -> np.ndarray:
        """Return any columns in any order, as a new array of shape (n_rows, len(features))."""
        if self.dtype is None:
            raise DataError(
                f"{self.name} has columns of several kinds, which are no array: read them by frame"
            )
        positions = self._check_features(features)
        if len(positions) == 0:
            return self.empty(0)
        if (np.diff(positions) > 0).all():
            return self._take(positions)
        columns, inverse = np.unique(positions, return_inverse=True)
        values = self._take(columns)
        if self.feature_major:
            return values.T[inverse].T
        return np.take(values, inverse, axis=1)

    def frame(self, low: int, high: int) -> Any:
        """Return columns ``low:high`` as a polars frame; for tables of several kinds."""
        raise DataError(f"{self.name} has numbers only: read them by read")

    def take_frame(self, features: npt.ArrayLike) -> Any:
        """Return any columns in any order as a polars frame; for tables of several kinds."""
        raise DataError(f"{self.name} has numbers only: read them by take")

    def schema_frame(self) -> Any:
        """Return a polars frame without rows that has the dtypes of the columns."""
        raise DataError(f"{self.name} has numbers only: it needs no frame")

    def column(self, name: str) -> np.ndarray | None:
        """Return a column beside the table, or in it, by its name; None if there is none.

        Text is an array of objects with None where it is missing; numbers are as they are stored.
        """
        return None

    def empty(self, n_columns: int) -> np.ndarray:
        """Return an uninitialised array for some columns, in the memory order of `read`."""
        assert self.dtype is not None
        return np.empty((self.n_rows, n_columns), self.dtype, "F" if self.feature_major else "C")

    def _check_range(self, low: int, high: int) -> None:
        if not 0 <= low <= high <= self.n_features:
            raise ParameterError(
                f"columns {low}:{high} are none of {self.name}: they run from 0 to "
                f"{self.n_features}"
            )

    def _check_features(self, features: npt.ArrayLike) -> np.ndarray:
        positions = np.asarray(features, np.int64).reshape(-1)
        wrong = positions[(positions < 0) | (positions >= self.n_features)]
        if len(wrong):
            raise ParameterError(
                f"column {wrong[0]} is none of {self.name}: they run from 0 to "
                f"{self.n_features - 1}"
            )
        return positions

    @abstractmethod
    def _read(self, low: int, high: int) -> np.ndarray:
        """Read columns ``low:high``, which exist."""

    def _take(self, columns: np.ndarray) -> np.ndarray:
        """Read columns in ascending order, each once; neighbours are read together."""
        out = self.empty(len(columns))
        width = max(1, self.nbytes // self.n_features)
        done = 0
        for part in spans(columns, GAP_BYTES // width, max(1, SPAN_BYTES // width)):
            low, high = int(part[0]), int(part[-1]) + 1
            block = self._read(low, high)
            out[:, done : done + len(part)] = (
                block if high - low == len(part) else block[:, part - low]
            )
            done += len(part)
        return out

    # ---- the file ---------------------------------------------------------------------------
    @abstractmethod
    def _files(self) -> Sequence[DiskFile]:
        """Return the files of the table."""

    def _states(self) -> list[Any]:
        """Return the states of the files, to check in another process that they are the same."""
        return [file.state for file in self._files()]

    def _require(self, states: list[Any]) -> None:
        """Raise DataError unless the files have these states."""
        for file, state in zip(self._files(), states, strict=True):
            file.require(state)

    def check(self) -> None:
        """Raise DataError if a file was cut, replaced or changed since the table was scanned."""
        for file in self._files():
            file.check()

    def fingerprint(self) -> str:
        """Return a key of the content: of sizes, times, the first and the last bytes."""
        digest = hashlib.sha256()
        digest.update(
            repr((self.kind, self.shape, str(self.dtype), self._fingerprint_parts())).encode()
        )
        for file in self._files():
            file.digest_into(digest)
        return digest.hexdigest()[:32]

    def _fingerprint_parts(self) -> Any:
        """Return what identifies the table among those in the same file."""
        return sorted((key, str(value)) for key, value in self._options.items())

    def close(self) -> None:
        """Close the file."""
        for file in self._files():
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> Any:
        return _reopen, (type(self), self._place, self._options, self._states())


def _reopen(
    table: type[StoredTable], path: str, options: dict[str, Any], states: list[Any]
) -> StoredTable:
    """Open a table that was pickled from its path again."""
    reopened = table(path, **options)
    reopened._require(states)
    return reopened


def require_dtype(dtype: Any, name: str, remedy: str) -> np.dtype[Any]:
    """Return the dtype in this machine's byte order; DataError if it cannot be read."""
    dtype = np.dtype(dtype)
    if dtype.kind in "biu" or (dtype.kind == "f" and dtype.itemsize in (4, 8)):
        native: np.dtype[Any] = dtype.newbyteorder("=")
        return native
    content = "Python objects" if dtype.hasobject else str(dtype)
    raise DataError(
        f"{name} holds {content[:80]}; bool, whole numbers, float32 and float64 are read in "
        f"blocks: {remedy}"
    )


def require_shape(shape: Sequence[int], name: str) -> tuple[int, int]:
    """Return rows and columns; DataError if these are no table."""
    if len(shape) != 2:
        raise DataError(
            f"{name} has {len(shape)} dimension{'s' * (len(shape) != 1)}, where a table has two: "
            "reshape it to rows and columns"
        )
    n_rows, n_features = (int(size) for size in shape)
    if not n_rows or not n_features:
        raise DataError(
            f"{name} has {n_rows} rows and {n_features} columns: there is nothing to rank"
        )
    return n_rows, n_features


def spans(columns: np.ndarray, gap: int, most: int) -> Iterator[np.ndarray]:
    """Yield ascending columns in runs that are read together.

    Neighbours in a run have at most `gap` other columns between them; a run spans at most `most`
    columns.

    Examples
    --------
    >>> import numpy as np
    >>> [run.tolist() for run in spans(np.array([0, 1, 4, 9, 10, 11]), gap=2, most=5)]
    [[0, 1, 4], [9, 10, 11]]
    """
    ends = np.flatnonzero(np.diff(columns) > gap + 1) + 1
    for run in np.split(columns, ends):
        while len(run):
            count = int(np.searchsorted(run, run[0] + most))
            yield run[:count]
            run = run[count:]


def shorten_message(problem: BaseException) -> str:
    """Return the message of a library's error, shortened to be part of another one."""
    return " ".join(str(problem).split())[:160] or type(problem).__name__
