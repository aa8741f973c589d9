"""Parquet files, read by column chunks; the footer is read once."""

import hashlib
import itertools
import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError, Setting, SlowWarning
from featly.basics.resources import format_bytes
from featly.io.column_lookup import ColumnFinder
from featly.io.stores.base import StoredTable, shorten_message
from featly.io.stores.files import DiskFile, describe_beginning

__all__ = ["ParquetTable"]

MAGIC = b"PAR1"
LARGE_FOOTER = 1 << 26  # bytes, some 350,000 column chunks
# measured: memory over the size of a footer, and bytes of a footer that are read in a second
FOOTER_MEMORY, FOOTER_RATE = 17, 45e6
# float32, and whole numbers that it represents exactly
SMALL = ("Float32", "Int8", "Int16", "UInt8", "UInt16")
FLOATS = {"Float16": "float32", "Float32": "float32", "Float64": "float64", "Decimal": "float64"}
NESTED = "nested"
WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}


class ParquetTable(StoredTable):
    """A parquet file; pyarrow reads it where it is installed, polars otherwise.

    Columns of numbers are read as one array: of their common dtype, float32 if that holds them
    all, else float64. Whole numbers with missing values become floats, and those are NaN. If there
    is any other column, `dtype` is None and blocks are polars frames.
    """

    kind = "parquet"

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        target: str | int | None = None,
        without: Sequence[str | int] = (),
    ) -> None:
        super().__init__(path, target=target, without=tuple(without))
        self._file = DiskFile(path)
        try:
            self._open()
            self._choose(target, without)
            self.dtype: np.dtype[Any] | None = self._common_dtype()
        except BaseException:
            self.close()
            raise
        self.nbytes: int = self._file.size

    def _open(self) -> None:
        footer = _footer_bytes(self._file)
        if footer > LARGE_FOOTER:
            warnings.warn(
                f"the footer of {self.name} alone has {format_bytes(footer)}: it takes about "
                f"{format_bytes(FOOTER_MEMORY * footer)} of memory and {footer / FOOTER_RATE:.0f} "
                "s to read. So many columns are better in a .npy or .zarr file",
                SlowWarning,
                stacklevel=5,  # the caller of scan
            )
        self.held_bytes: int = FOOTER_MEMORY * footer
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            self._reader: Any = _PolarsReader(self._file)
        else:
            self._reader = _ArrowReader(self._file)
        self.n_rows: int = self._reader.n_rows
        if not self.n_rows:
            raise DataError(f"{self.name} has no rows: there is nothing to rank")

    def _choose(self, target: str | int | None, without: Sequence[str | int]) -> None:
        """Choose the columns of the file that are columns of the table."""
        names = self._reader.names
        if isinstance(without, str):
            without = [without]
        find = ColumnFinder(names, self.name)
        left_out = {find(name, "column") for name in without}
        if target is not None:
            position = find(target, "target")
            left_out.add(position)
            self.target: str | None = names[position]
        self._positions = np.array([k for k in range(len(names)) if k not in left_out], np.int64)
        self.n_features: int = len(self._positions)
        if not self.n_features:
            raise DataError(f"{self.name} has no columns left: there is nothing to rank")
        self._refuse_equal_names(names)
        self._kinds = [self._reader.kinds[k] for k in self._positions.tolist()]
        if NESTED in self._kinds:
            name = names[self._positions[self._kinds.index(NESTED)]]
            raise DataError(
                f"column {name!r} of {self.name} has a table in every cell: make it columns of "
                "numbers or text, or leave it out with ",
                Setting("without", [name]),
            )

    def _refuse_equal_names(self, names: Sequence[str]) -> None:
        """Raise DataError for a name that two columns have: names are unique, as in a frame."""
        seen: dict[str, int] = {}
        if self.target is not None:
            seen[self.target] = names.index(self.target)
        for k in self._positions.tolist():
            if names[k] in seen:
                raise DataError(
                    f"two columns of {self.name} are called {names[k]!r} (positions "
                    f"{seen[names[k]]} and {k}): rename one, or leave one out with ",
                    Setting("without", [k]),
                )
            seen[names[k]] = k

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        names = self._reader.names
        return [names[k] for k in self._positions.tolist()]

    # ---- numbers ----------------------------------------------------------------------------
    def _common_dtype(self) -> np.dtype[Any] | None:
        """Return the dtype that holds all columns; None if some are no numbers."""
        kinds = set(self._kinds)
        if not kinds <= FLOATS.keys() | WHOLE:
            return None
        if len(kinds) == 1:
            kind = self._kinds[0]
            if kind in FLOATS:
                return np.dtype(FLOATS[kind])
            if not self._reader.may_have_missing(self._positions):
                return np.dtype(str(kind).lower())
        small = all(kind in SMALL or kind == "Float16" for kind in kinds)
        return np.dtype(np.float32 if small else np.float64)

    def _read(self, low: int, high: int) -> np.ndarray:
        return self._numbers(self._positions[low:high])

    def _take(self, columns: np.ndarray) -> np.ndarray:
        return self._numbers(self._positions[columns])

    def _numbers(self, positions: np.ndarray) -> np.ndarray:
        out = self.empty(len(positions))
        step = self._reader.at_a_time
        for low in range(0, len(positions), step):
            columns = self._columns(positions[low : low + step], as_numbers=True)
            for k, values in enumerate(columns, low):
                out[:, k] = values
        return out

    def _columns(self, positions: np.ndarray, as_numbers: bool) -> Any:
        """Read columns of the file; any error of a library becomes one line about the file."""
        if self._file.is_closed:
            raise DataError(f"{self.name} is closed: scan it again")
        self._file.check()
        try:
            read = self._reader.numbers if as_numbers else self._reader.frame
            columns = read(positions.tolist())
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as problem:  # a panic inside polars is no Exception
            self._file.check()
            raise _damage_error(self._file, problem) from None
        self._file.check()
        return columns

    # ---- columns of several kinds -----------------------------------------------------------
    def frame(self, low: int, high: int) -> Any:
        """Return columns ``low:high`` as a polars frame."""
        if self.dtype is not None:
            return super().frame(low, high)
        self._check_range(low, high)
        return self._columns(self._positions[low:high], as_numbers=False)

    def take_frame(self, features: npt.ArrayLike) -> Any:
        """Return any columns in any order as a polars frame."""
        if self.dtype is not None:
            return super().take_frame(features)
        positions = self._check_features(features)
        columns, inverse = np.unique(positions, return_inverse=True)
        if len(columns) < len(positions):
            raise ParameterError("a frame cannot have a column twice: name each once")
        return self._columns(self._positions[columns], as_numbers=False)[:, inverse.tolist()]

    def schema_frame(self) -> Any:
        """Return a polars frame without rows that has the dtypes of the columns."""
        if self.dtype is not None:
            return super().schema_frame()
        return self._reader.empty_frame(self._positions.tolist())

    def column(self, name: str) -> np.ndarray | None:
        """Return a column of the file by its name, be it the target."""
        names = self._reader.names
        if name not in names:
            return None
        position = np.array([names.index(name)])
        if self._reader.kinds[position[0]] in FLOATS.keys() | WHOLE:
            return np.array(self._columns(position, as_numbers=True)[0])
        values = self._columns(position, as_numbers=False).to_series(0).to_list()
        objects = np.empty(len(values), object)
        objects[:] = values
        return objects

    # ---- the file ---------------------------------------------------------------------------
    def _fingerprint_parts(self) -> Any:
        return hashlib.sha256(self._positions.tobytes()).hexdigest()

    def _files(self) -> Sequence[DiskFile]:
        return [self._file]

    def close(self) -> None:
        """Close the file."""
        super().close()
        if hasattr(self, "_reader"):
            self._reader.close()


class _ArrowReader:
    """Reader by pyarrow: one reader for each thread, all with the same footer."""

    at_a_time = 256  # columns: with more, a column takes up to twice as long

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        try:
            first = self._open_reader()
            schema = first.schema_arrow
        except Exception as problem:
            raise _damage_error(file, problem) from None
        self._metadata = first.metadata
        self._free = [first]
        self.n_rows = first.metadata.num_rows
        self.names = [str(name) for name in schema.names]
        self._types = schema.types
        self._schema = schema
        known = {dtype: _arrow_kind(dtype) for dtype in set(self._types)}
        self.kinds = [known[dtype] for dtype in self._types]

    def _open_reader(self, metadata: Any = None) -> Any:
        from pyarrow.parquet import ParquetFile

        # there are checksums only if the file was written with them
        return ParquetFile(self._file.place, metadata=metadata, page_checksum_verification=True)

    def may_have_missing(self, positions: np.ndarray) -> bool:
        """Return whether some column has a missing value, or the file does not say."""
        for group in range(self._metadata.num_row_groups):
            chunks = self._metadata.row_group(group)
            for k in self._leaves(positions.tolist()):
                statistics = chunks.column(k).statistics
                if statistics is None or not statistics.has_null_count or statistics.null_count:
                    return True
        return False

    def _leaves(self, positions: Sequence[int]) -> list[int]:
        """Return positions among the stored columns; a nested column has several of these."""
        if self._metadata.num_columns == len(self.names):
            return list(positions)
        starts = [0, *itertools.accumulate(_n_leaves(dtype) for dtype in self._types)]
        return [starts[k] for k in positions]

    def _table(self, positions: Sequence[int]) -> Any:
        try:
            reader = self._free.pop()
        except IndexError:  # all are in use by other threads
            reader = self._open_reader(self._metadata)
        try:
            return reader.reader.read_all(column_indices=self._leaves(positions), use_threads=False)
        finally:
            self._free.append(reader)

    def numbers(self, positions: Sequence[int]) -> list[np.ndarray]:
        """Return one array for each column; if values are missing, floats with NaN."""
        import pyarrow as pa

        return [
            (column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column).to_numpy()
            for column in self._table(positions).columns
        ]

    def frame(self, positions: Sequence[int]) -> Any:
        """Return columns as a polars frame."""
        import polars as pl

        return pl.from_arrow(self._table(positions))

    def empty_frame(self, positions: Sequence[int]) -> Any:
        """Return a polars frame without rows."""
        import polars as pl
        import pyarrow as pa

        return pl.from_arrow(pa.schema([self._schema.field(k) for k in positions]).empty_table())

    def close(self) -> None:
        """Close the file."""
        while self._free:
            self._free.pop().close()


class _PolarsReader:
    """Reader by polars, which parses the footer again for every block."""

    at_a_time = 1 << 30

    def __init__(self, file: DiskFile) -> None:
        import polars as pl

        try:
            self._plan = pl.scan_parquet(file.place, glob=False)
            self._schema = self._plan.collect_schema()
            self.n_rows = self._plan.select(pl.len()).collect().item()
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as problem:  # a panic inside polars is no Exception
            raise _damage_error(file, problem) from None
        self.names = self._schema.names()
        self._dtypes = self._schema.dtypes()
        known = {
            dtype: NESTED if dtype.is_nested() else str(dtype).partition("(")[0]
            for dtype in set(self._dtypes)
        }
        self.kinds = [known[dtype] for dtype in self._dtypes]

    def may_have_missing(self, positions: np.ndarray) -> bool:
        """Return whether some column has a missing value; polars has to read them for this."""
        step = max(1, (1 << 22) // max(1, self.n_rows))
        for low in range(0, len(positions), step):
            frame = self.frame(positions[low : low + step].tolist())
            if any(column.null_count() for column in frame.get_columns()):
                return True
        return False

    def numbers(self, positions: Sequence[int]) -> list[np.ndarray]:
        """Return one array for each column; if values are missing, floats with NaN."""
        import polars as pl

        return [
            (column.cast(pl.Float64) if column.dtype.is_decimal() else column).to_numpy()
            for column in self.frame(positions).get_columns()
        ]

    def frame(self, positions: Sequence[int]) -> Any:
        """Return columns as a polars frame."""
        import polars as pl

        names = [self.names[k] for k in positions]
        # not as patterns: polars takes '*' for all columns
        return self._plan.select(pl.selectors.by_name(*names)).collect()

    def empty_frame(self, positions: Sequence[int]) -> Any:
        """Return a polars frame without rows."""
        import polars as pl

        return pl.DataFrame(schema={self.names[k]: self._dtypes[k] for k in positions})

    def close(self) -> None:
        """Do nothing: no file is open."""


def _arrow_kind(dtype: Any) -> str:
    """Return the name in polars of a numeric type of arrow; others keep their own."""
    from pyarrow import types

    if types.is_nested(dtype) and not types.is_dictionary(dtype):
        return NESTED
    if types.is_decimal(dtype):
        return "Decimal"
    if types.is_integer(dtype):
        return str(dtype).replace("uint", "UInt").replace("int", "Int")
    if types.is_floating(dtype):
        return {"halffloat": "Float16", "float": "Float32", "double": "Float64"}[str(dtype)]
    return str(dtype)


def _n_leaves(dtype: Any) -> int:
    """Return the number of stored columns for a column of this type."""
    from pyarrow import types

    if types.is_dictionary(dtype) or not types.is_nested(dtype):
        return 1
    return sum(_n_leaves(dtype.field(k).type) for k in range(dtype.num_fields))


def _footer_bytes(file: DiskFile) -> int:
    start = file.head(64)
    if not start.startswith(MAGIC):
        if start.startswith(b"PARE"):
            raise DataError(f"{file.name} is an encrypted parquet file: write it in clear")
        content = describe_beginning(start)
        remedy = f"it begins like {content}" if content else "write it with polars or pyarrow"
        raise DataError(f"{file.name} is no parquet file: {remedy}")
    if file.size < 12 or file.read(file.size - 4, 4) != MAGIC:
        raise DataError(f"{file.name} is cut: its end is missing. Copy or write it again")
    return int.from_bytes(file.read(file.size - 8, 4), "little")


def _damage_error(file: DiskFile, problem: BaseException) -> DataError:
    return DataError(
        f"{file.name} cannot be read as a parquet file ({shorten_message(problem)}): it is cut or "
        "damaged. Copy or write it again"
    )
