"""Parquet files, read block by block into one matrix of numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from featly.basics.errors import DataError
from featly.io.byte_source import ByteSource
from featly.io.concat import column_views

__all__ = ["read_columns", "read_parquet"]

BLOCK_BYTES = 1 << 26


def _call_polars(opened: ByteSource, read: Callable[[Any], Any]) -> Any:
    """Call polars, and turn every error into a DataError of one line that names the file."""
    if opened.compression:
        raise DataError(f"{opened.name} is a compressed parquet file: decompress it first")
    stream = opened.stream()  # raises if the file changed
    try:
        return read(opened.reopenable_path or stream)
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException as problem:  # a panic inside polars is no Exception
        reason = str(problem).strip().split("\n")[0][:120]
        raise DataError(
            f"{opened.name} cannot be read as a parquet file ({reason}): it is cut or damaged. "
            "Copy or download it again"
        ) from None


def parquet_names(opened: ByteSource) -> list[str]:
    """Return the names of the columns."""
    return list(_schema(opened))


def _schema(opened: ByteSource) -> Any:
    import polars as pl

    return _call_polars(opened, lambda file: pl.scan_parquet(file, glob=False).collect_schema())


def read_columns(opened: ByteSource, names: Sequence[str]) -> Any:
    """Read some columns with the dtypes of the file."""
    import polars as pl

    wanted = pl.selectors.by_name(*names)  # not as patterns: polars takes '*' for all columns
    return _call_polars(
        opened, lambda file: pl.scan_parquet(file, glob=False).select(wanted).collect()
    )


def read_parquet(
    opened: ByteSource,
    *,
    apart: Sequence[str] = (),
    progress: Callable[[int, int], Any] | None = None,
) -> Any:
    """Read all columns as a polars frame: float32 where nothing is lost, else float64.

    Columns in `apart` come last in the matrix of numbers, so that the others are together.
    """
    import polars as pl

    schema = _schema(opened)
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
        other_columns = read_columns(opened, non_numeric)
        columns = dict(zip(non_numeric, other_columns.get_columns(), strict=True))
    if numeric:
        n_rows = read_columns(opened, numeric[:1]).height
        values = np.empty((len(numeric), n_rows), dtype)
        step = max(1, BLOCK_BYTES // max(1, 8 * n_rows))
        for low in range(0, len(numeric), step):
            block = read_columns(opened, numeric[low : low + step])
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
