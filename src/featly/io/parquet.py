"""Files of typed columns, such as parquet, read block by block into one matrix of numbers.

Parquet is one; the others give their own function of polars, as :mod:`featly.io.arrow` does.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource
from featly.io.concat import column_views
from featly.io.table_file import Reading, TableFile, split_target

__all__ = [
    "PARQUET",
    "ColumnFormat",
    "write_parquet",
]

BLOCK_BYTES = 1 << 26


@dataclass(frozen=True)
class ColumnFormat:
    """A format that polars reads column by column.

    Attributes
    ----------
    name : str
        The format in :data:`featly.table.formats.FORMATS`.
    words : str
        Such a file, in messages.
    scan : callable
        From a path or stream to a polars LazyFrame.
    check : callable
        Raises DataError for an open file that is none, whatever its name says.
    """

    name: str
    words: str
    scan: Callable[[Any], Any]
    check: Callable[[ByteSource], None]

    def _call(self, opened: ByteSource, read: Callable[[Any], Any]) -> Any:
        """Read a file, and turn every error into a DataError of one line that names the file."""
        if opened.compression:
            raise DataError(f"{opened.name} is {self.words}, compressed: decompress it first")
        self.check(opened)
        stream = opened.stream()  # raises if the file changed
        try:
            return read(opened.reopenable_path or stream)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as problem:  # a panic inside polars is no Exception
            reason = str(problem).strip().split("\n")[0][:120]
            raise DataError(
                f"{opened.name} cannot be read as {self.words} ({reason}): "
                f"{self._describe_damage()}. Copy or download it again"
            ) from None

    def _describe_damage(self) -> str:
        """Return why a file may be impossible to read."""
        return "it is cut or damaged"

    def _read_schema(self, file: Any) -> Any:
        return self.scan(file).collect_schema()

    def _read_columns(self, file: Any, names: Sequence[str]) -> Any:
        import polars as pl

        wanted = pl.selectors.by_name(*names)  # not as patterns: polars takes '*' for all columns
        return self.scan(file).select(wanted).collect()

    def schema(self, opened: ByteSource) -> Any:
        """Return the names and polars dtypes of the columns."""
        return self._call(opened, self._read_schema)

    def names(self, opened: ByteSource) -> list[str]:
        """Return the names of the columns."""
        return list(self.schema(opened))

    def columns(self, opened: ByteSource, names: Sequence[str]) -> Any:
        """Read some columns with the dtypes of the file."""
        return self._call(opened, lambda file: self._read_columns(file, names))

    def read(
        self,
        opened: ByteSource,
        *,
        apart: Sequence[str] = (),
        progress: Callable[[int, int], Any] | None = None,
    ) -> Any:
        """Read all columns as a polars frame: float32 where nothing is lost, else float64.

        Columns in `apart` come last in the matrix of numbers, so that the others are together.
        """
        import polars as pl

        schema = self.schema(opened)
        if not schema:
            raise DataError(f"{opened.name} has no columns: there is nothing to rank")
        numeric = [name for name, dtype in schema.items() if dtype.is_numeric()]
        last = set(apart)
        numeric.sort(key=lambda name: name in last)
        non_numeric = [name for name, dtype in schema.items() if not dtype.is_numeric()]
        small = (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)
        dtype = np.float32 if all(schema[name] in small for name in numeric) else np.float64
        columns = {}
        if non_numeric:
            other_columns = self.columns(opened, non_numeric)
            columns = dict(zip(non_numeric, other_columns.get_columns(), strict=True))
        if numeric:
            n_rows = self.columns(opened, numeric[:1]).height
            values = np.empty((len(numeric), n_rows), dtype)
            step = max(1, BLOCK_BYTES // max(1, 8 * n_rows))
            for low in range(0, len(numeric), step):
                block = self.columns(opened, numeric[low : low + step])
                block = block[numeric[low : low + step]].cast(
                    pl.Float32 if dtype == np.float32 else pl.Float64
                )
                values[low : low + step] = block.to_numpy().T
                if progress is not None:
                    progress(min(low + step, len(numeric)), len(numeric))
            columns |= zip(numeric, column_views(values, numeric), strict=True)
        frame = pl.DataFrame([columns[name] for name in schema])
        if frame.height == 0:
            raise DataError(f"{opened.name} has no rows: there is nothing to rank")
        return frame

    def read_file(self, reading: Reading) -> TableFile:
        """Read a file whole, with its target apart."""
        names = self.names(reading.opened)
        chosen, aside = reading.columns(names)
        apart = [names[j] for j in aside]
        frame = self.read(reading.opened, apart=apart, progress=reading.progress)
        return split_target(reading.opened, frame, chosen, self.name, [])


def _scan_parquet(file: Any) -> Any:
    import polars as pl

    return pl.scan_parquet(file, glob=False)


def _check_parquet(opened: ByteSource) -> None:
    if opened.head(4) != b"PAR1":
        raise DataError(f"{opened.name} is no parquet file, whatever its name says: it is damaged")


PARQUET = ColumnFormat("parquet", "a parquet file", _scan_parquet, _check_parquet)


def write_parquet(frame: Any, stream: BinaryIO) -> None:
    """Write a polars frame."""
    frame.write_parquet(stream)
