"""Arrow files, which is what Feather is since its version 2, read by some columns at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from featly.io.arrow import ARROW, has_pyarrow, open_arrow, refuse_other_arrow
from featly.io.stores.columns import ColumnTable, PolarsReader, arrow_kind, damage_error
from featly.io.stores.files import DiskFile

__all__ = ["ArrowTable"]

READ_BYTES = 1 << 26  # that are read at a time
COLUMN_MEMORY = 600  # measured: bytes of memory for the name and the type of a column


class ArrowTable(ColumnTable):
    """An Arrow file, compressed or not; pyarrow reads it where it is installed, polars otherwise.

    The file is read, not mapped: a program that reads a map of a file that is being cut is ended by
    the system.
    """

    kind = "arrow"
    words: str = ARROW.words

    def _make_reader(self) -> Any:
        refuse_other_arrow(self._file.head(8), self.name)
        if not has_pyarrow():
            return PolarsReader(self._file, ARROW.scan, self.words)
        reader = _ArrowReader(self._file)
        self.held_bytes: int = COLUMN_MEMORY * len(reader.names)
        return reader


class _ArrowReader:
    """Reader by pyarrow, which reads only the bytes of the columns that are asked for."""

    def __init__(self, file: DiskFile) -> None:
        self._file = file
        try:
            with self._source() as source:
                self._schema = open_arrow(source, []).schema
            self.n_rows = self._count_rows() if self._schema.names else 0
        except Exception as problem:
            raise damage_error(file, problem, ArrowTable.words) from None
        self.names = [str(name) for name in self._schema.names]
        known = {dtype: arrow_kind(dtype) for dtype in set(self._schema.types)}
        self.kinds = [known[dtype] for dtype in self._schema.types]
        # columns; to parse the schema again for each read is what takes time
        self.at_a_time = max(1, READ_BYTES // (8 * max(1, self.n_rows)))

    def _source(self) -> Any:
        import pyarrow as pa

        return pa.OSFile(str(self._file.place))

    def _count_rows(self) -> int:
        with self._source() as source:
            reader = open_arrow(source, [0])  # all columns have as many
            return sum(reader.get_batch(k).num_rows for k in range(reader.num_record_batches))

    def _table(self, positions: Sequence[int]) -> Any:
        if not positions:
            return self._schema.empty_table().select([])
        with self._source() as source:
            return open_arrow(source, positions).read_all()

    def may_have_missing(self, positions: np.ndarray) -> bool:
        """Return whether some column has a missing value."""
        return any(
            column.null_count
            for low in range(0, len(positions), self.at_a_time)
            for column in self._table(positions[low : low + self.at_a_time].tolist()).columns
        )

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

        return pl.from_arrow(self._table(positions).unify_dictionaries())

    def empty_frame(self, positions: Sequence[int]) -> Any:
        """Return a polars frame without rows."""
        import polars as pl
        import pyarrow as pa

        return pl.from_arrow(pa.schema([self._schema.field(k) for k in positions]).empty_table())

    def close(self) -> None:
        """Do nothing: no file is open."""
