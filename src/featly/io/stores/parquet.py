"""Parquet files by column chunks, their footer read once."""

import hashlib
import os
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError, SlowWarning
from featly.basics.resources import in_words
from featly.io.column_lookup import ColumnFinder
from featly.io.stores.base import StoredTable, one_line
from featly.io.stores.files import DiskFile, what_begins_with

__all__ = ["ParquetTable"]

MAGIC = b"PAR1"
LARGE_FOOTER = 1 << 26  # bytes, some 350,000 column chunks
# measured: a footer takes so many times its size in memory, and a second a so many bytes
FOOTER_MEMORY, FOOTER_RATE = 17, 45e6
# whole numbers that every float32 holds, and with them the columns that stay single precision
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
            self.dtype = self._common_dtype()
        except BaseException:
            self.close()
            raise
        self.nbytes = self._file.size

    def _open(self) -> None:
        footer = _footer_bytes(self._file)
        if footer > LARGE_FOOTER:
            warnings.warn(
                f"the footer of {self.name} alone has {in_words(footer)}: it takes about "
                f"{in_words(FOOTER_MEMORY * footer)} of memory and {footer / FOOTER_RATE:.0f} s to "
                "read. So many columns are better in a .npy or .zarr file",
                SlowWarning,
                stacklevel=5,  # who called scan
            )
        self.held_bytes = FOOTER_MEMORY * footer
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            self._reader: Any = _ByPolars(self._file)
        else:
            self._reader = _ByArrow(self._file)
        self.n_rows = self._reader.n_rows
        if not self.n_rows:
            raise DataError(f"{self.name} has no rows: there is nothing to rank")

    def _choose(self, target: str | int | None, without: Sequence[str | int]) -> None:
        """Which columns of the file are columns of the table."""
        every = self._reader.names
        if isinstance(without, str):
            without = [without]
        find = ColumnFinder(every, self.name)
        left_out = {find(name, "column") for name in without}
        if target is not None:
            position = find(target, "target")
            left_out.add(position)
            self.target = every[position]
        self._places = np.array([k for k in range(len(every)) if k not in left_out], np.int64)
        self.n_features = len(self._places)
        if not self.n_features:
            raise DataError(f"{self.name} has no columns left: there is nothing to rank")
        self._refuse_namesakes(every)
        self._kinds = [self._reader.kinds[k] for k in self._places.tolist()]
        if NESTED in self._kinds:
            name = every[self._places[self._kinds.index(NESTED)]]
            raise DataError(
                f"column {name!r} of {self.name} has a table in every cell: make it columns of "
                "numbers or text, or leave it out with without=[...]"
            )

    def _refuse_namesakes(self, every: Sequence[str]) -> None:
        """As in a frame, a name must tell which column is meant."""
        seen: dict[str, int] = {}
        if self.target is not None:
            seen[self.target] = every.index(self.target)
        for k in self._places.tolist():
            if every[k] in seen:
                raise DataError(
                    f"two columns of {self.name} are called {every[k]!r} (positions "
                    f"{seen[every[k]]} and {k}): rename one, or leave one out with without=[{k}]"
                )
            seen[every[k]] = k

    @cached_property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        every = self._reader.names
        return [every[k] for k in self._places.tolist()]

    # ---- numbers ----------------------------------------------------------------------------
    def _common_dtype(self) -> np.dtype[Any] | None:
        """What holds the numbers of all columns; None if some are no numbers."""
        kinds = set(self._kinds)
        if not kinds <= FLOATS.keys() | WHOLE:
            return None
        if len(kinds) == 1:
            kind = self._kinds[0]
            if kind in FLOATS:
                return np.dtype(FLOATS[kind])
            if not self._reader.may_lack(self._places):
                return np.dtype(kind.lower())
        small = all(kind in SMALL or kind == "Float16" for kind in kinds)
        return np.dtype(np.float32 if small else np.float64)

    def _read(self, low: int, high: int) -> np.ndarray:
        return self._numbers(self._places[low:high])

    def _take(self, columns: np.ndarray) -> np.ndarray:
        return self._numbers(self._places[columns])

    def _numbers(self, places: np.ndarray) -> np.ndarray:
        out = self.empty(len(places))
        step = self._reader.at_a_time
        for low in range(0, len(places), step):
            found = self._columns(places[low : low + step], as_numbers=True)
            for k, values in enumerate(found, low):
                out[:, k] = values
        return out

    def _columns(self, places: np.ndarray, as_numbers: bool) -> Any:
        """Columns of the file; whatever goes wrong inside a library is one line about the file."""
        if self._file.closed:
            raise DataError(f"{self.name} is closed: scan it again")
        self._file.check()
        try:
            read = self._reader.numbers if as_numbers else self._reader.frame
            found = read(places.tolist())
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as problem:  # a panic inside polars is no Exception
            self._file.check()
            raise _damaged(self._file, problem) from None
        self._file.check()
        return found

    # ---- columns of several kinds -----------------------------------------------------------
    def frame(self, low: int, high: int) -> Any:
        """Columns ``low:high`` as a polars frame."""
        if self.dtype is not None:
            return super().frame(low, high)
        self._check_range(low, high)
        return self._columns(self._places[low:high], as_numbers=False)

    def take_frame(self, features: npt.ArrayLike) -> Any:
        """Any columns in any order as a polars frame."""
        if self.dtype is not None:
            return super().take_frame(features)
        wanted = self._checked(features)
        columns, inverse = np.unique(wanted, return_inverse=True)
        if len(columns) < len(wanted):
            raise ParameterError("a frame cannot have a column twice: name each once")
        return self._columns(self._places[columns], as_numbers=False)[:, inverse.tolist()]

    def schema_frame(self) -> Any:
        """A polars frame without rows, whose dtypes tell the kinds of the columns."""
        if self.dtype is not None:
            return super().schema_frame()
        return self._reader.empty_frame(self._places.tolist())

    def column(self, name: str) -> np.ndarray | None:
        """A column of the file by its name, of the target too."""
        every = self._reader.names
        if name not in every:
            return None
        place = np.array([every.index(name)])
        if self._reader.kinds[place[0]] in FLOATS.keys() | WHOLE:
            return np.array(self._columns(place, as_numbers=True)[0])
        values = self._columns(place, as_numbers=False).to_series(0).to_list()
        found = np.empty(len(values), object)
        found[:] = values
        return found

    # ---- the file ---------------------------------------------------------------------------
    def _what(self) -> Any:
        return hashlib.sha256(self._places.tobytes()).hexdigest()

    def _files(self) -> Sequence[DiskFile]:
        return [self._file]

    def close(self) -> None:
        """Let go of the file."""
        super().close()
        if hasattr(self, "_reader"):
            self._reader.close()


class _ByArrow:
    """Reads by pyarrow: one reader a thread, all with the same footer."""

    at_a_time = 256  # columns: of more, one takes up to twice as long

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        try:
            first = self._opened()
            schema = first.schema_arrow
        except Exception as problem:
            raise _damaged(file, problem) from None
        self._metadata = first.metadata
        self._free = [first]
        self.n_rows = first.metadata.num_rows
        self.names = [str(name) for name in schema.names]
        self._types = schema.types
        self._schema = schema
        known = {dtype: _arrow_kind(dtype) for dtype in set(self._types)}
        self.kinds = [known[dtype] for dtype in self._types]

    def _opened(self, metadata: Any = None) -> Any:
        from pyarrow.parquet import ParquetFile

        # checksums are there only if who wrote the file asked for them
        return ParquetFile(self._file.place, metadata=metadata, page_checksum_verification=True)

    def may_lack(self, places: np.ndarray) -> bool:
        """Whether there is a missing value in some column, or the file does not tell."""
        for group in range(self._metadata.num_row_groups):
            chunks = self._metadata.row_group(group)
            for k in self._leaves(places.tolist()):
                found = chunks.column(k).statistics
                if found is None or not found.has_null_count or found.null_count:
                    return True
        return False

    def _leaves(self, places: Sequence[int]) -> list[int]:
        """Positions among the stored columns, of which a nested one has several."""
        if self._metadata.num_columns == len(self.names):
            return list(places)
        starts = np.cumsum([0, *(_n_leaves(dtype) for dtype in self._types)])
        return starts[list(places)].tolist()

    def _table(self, places: Sequence[int]) -> Any:
        try:
            reader = self._free.pop()
        except IndexError:  # all are in use by other threads
            reader = self._opened(self._metadata)
        try:
            return reader.reader.read_all(column_indices=self._leaves(places), use_threads=False)
        finally:
            self._free.append(reader)

    def numbers(self, places: Sequence[int]) -> list[np.ndarray]:
        """One array a column; where a value is missing, floats with NaN."""
        import pyarrow as pa

        return [
            (column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column).to_numpy()
            for column in self._table(places).columns
        ]

    def frame(self, places: Sequence[int]) -> Any:
        """Columns as a polars frame."""
        import polars as pl

        return pl.from_arrow(self._table(places))

    def empty_frame(self, places: Sequence[int]) -> Any:
        """A polars frame without rows."""
        import polars as pl
        import pyarrow as pa

        return pl.from_arrow(pa.schema([self._schema.field(k) for k in places]).empty_table())

    def close(self) -> None:
        """Let go of the file."""
        while self._free:
            self._free.pop().close()


class _ByPolars:
    """Reads by polars, which parses the footer again for every block."""

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
            raise _damaged(file, problem) from None
        self.names = self._schema.names()
        self._dtypes = self._schema.dtypes()
        known = {
            dtype: NESTED if dtype.is_nested() else str(dtype).partition("(")[0]
            for dtype in set(self._dtypes)
        }
        self.kinds = [known[dtype] for dtype in self._dtypes]

    def may_lack(self, places: np.ndarray) -> bool:
        """Whether there is a missing value in some column: polars has to read them to tell."""
        step = max(1, (1 << 22) // max(1, self.n_rows))
        for low in range(0, len(places), step):
            found = self.frame(places[low : low + step].tolist())
            if any(column.null_count() for column in found.get_columns()):
                return True
        return False

    def numbers(self, places: Sequence[int]) -> list[np.ndarray]:
        """One array a column; where a value is missing, floats with NaN."""
        import polars as pl

        return [
            (column.cast(pl.Float64) if column.dtype.is_decimal() else column).to_numpy()
            for column in self.frame(places).get_columns()
        ]

    def frame(self, places: Sequence[int]) -> Any:
        """Columns as a polars frame."""
        import polars as pl

        names = [self.names[k] for k in places]
        # as they are: polars takes '*' for all columns
        return self._plan.select(pl.selectors.by_name(*names)).collect()

    def empty_frame(self, places: Sequence[int]) -> Any:
        """A polars frame without rows."""
        import polars as pl

        return pl.DataFrame(schema={self.names[k]: self._dtypes[k] for k in places})

    def close(self) -> None:
        """Nothing is held open."""


def _arrow_kind(dtype: Any) -> str:
    """A type of arrow as polars calls it, as far as it is one of numbers."""
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
    """How many columns a file stores for one of such a type."""
    from pyarrow import types

    if types.is_dictionary(dtype) or not types.is_nested(dtype):
        return 1
    return sum(_n_leaves(dtype.field(k).type) for k in range(dtype.num_fields))


def _footer_bytes(file: DiskFile) -> int:
    start = file.head(64)
    if not start.startswith(MAGIC):
        if start.startswith(b"PARE"):
            raise DataError(f"{file.name} is an encrypted parquet file: write it in clear")
        what = what_begins_with(start)
        remedy = f"it begins like {what}" if what else "write it with polars or pyarrow"
        raise DataError(f"{file.name} is no parquet file: {remedy}")
    if file.size < 12 or file.read(file.size - 4, 4) != MAGIC:
        raise DataError(f"{file.name} is cut: its end is missing. Copy or write it again")
    return int.from_bytes(file.read(file.size - 8, 4), "little")


def _damaged(file: DiskFile, problem: BaseException) -> DataError:
    return DataError(
        f"{file.name} cannot be read as a parquet file ({one_line(problem)}): it is cut or "
        "damaged. Copy or write it again"
    )
