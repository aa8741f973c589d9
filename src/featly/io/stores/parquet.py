"""Parquet files, read by column chunks; the footer is read once."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.basics.caller import warn_user
from featly.basics.errors import DataError, SlowWarning
from featly.basics.resources import format_bytes
from featly.io.parquet import PARQUET
from featly.io.stores.columns import ColumnTable, PolarsReader, arrow_kind, damage_error
from featly.io.stores.files import DiskFile, describe_beginning

__all__ = ["ParquetTable"]

MAGIC = b"PAR1"
LARGE_FOOTER = 1 << 26  # bytes, some 350,000 column chunks
# measured: memory over the size of a footer, and bytes of a footer that are read in a second
FOOTER_MEMORY, FOOTER_RATE = 17, 45e6


class ParquetTable(ColumnTable):
    """A parquet file; pyarrow reads it where it is installed, polars otherwise."""

    kind = "parquet"
    words: str = PARQUET.words

    def _make_reader(self) -> Any:
        footer = _footer_bytes(self._file)
        if footer > LARGE_FOOTER:
            warn_user(
                f"the footer of {self.name} alone has {format_bytes(footer)}: it takes about "
                f"{format_bytes(FOOTER_MEMORY * footer)} of memory and {footer / FOOTER_RATE:.0f} "
                "s to read. So many columns are better in a .npy or .zarr file",
                SlowWarning,
            )
        self.held_bytes: int = FOOTER_MEMORY * footer
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError:
            return PolarsReader(self._file, PARQUET.scan, self.words)
        return _ArrowReader(self._file)


class _ArrowReader:
    """Reader by pyarrow: one reader for each thread, all with the same footer."""

    at_a_time = 256  # columns: with more, a column takes up to twice as long

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        try:
            first = self._open_reader()
            schema = first.schema_arrow
        except Exception as problem:
            raise damage_error(file, problem, ParquetTable.words) from None
        self._metadata = first.metadata
        self._free = [first]
        self.n_rows = first.metadata.num_rows
        self.names = [str(name) for name in schema.names]
        self._types = schema.types
        self._schema = schema
        known = {dtype: arrow_kind(dtype) for dtype in set(self._types)}
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
