"""From a user's table and schema to a source of columns."""

import dataclasses
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse

from featly.basics.errors import Column, DataError, Row, SchemaError
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.basics.typing import AnyArray
from featly.core.sources import CSCSource, DenseSource, Source, StreamedSource
from featly.table.frames import ArrayTable, DefaultNames, Table, as_floats, open_table
from featly.table.schema import Columns, Schema

if TYPE_CHECKING:
    from featly.io.stores import StoredTable

LEAST_SHARE = 4  # blocks get at least a quarter of the memory, whatever the table itself takes
COLUMN_BYTES = 96  # results of a method for one column, a dozen numbers

__all__ = [
    "IngestedTable",
    "as_stored_table",
    "ingest_stored",
    "level_texts",
    "load_columns",
    "read",
    "read_numbers",
]


@dataclass(frozen=True)
class IngestedTable:
    """A table as a source, with what the schema says about its columns.

    `stored` is the table on disk that was read, if it was one, in memory or not.
    """

    source: Source
    columns: Columns
    stored: "StoredTable | None" = None


def read(
    X: Any,
    schema: Schema,
    n_jobs: int | None = None,
    *,
    integers: bool = False,
    texts: bool = False,
) -> IngestedTable:
    """Read an opened table, a numeric array or a SciPy sparse matrix.

    Float32 and float64 arrays are not copied; with `integers`, neither are whole numbers, which
    would take four times their memory as floats. With `texts`, the levels of categorical columns
    are kept in ``columns.texts``.
    """
    if scipy.sparse.issparse(X):
        return _read_sparse(X, schema, n_jobs)
    if isinstance(X, Table):
        return _read_table(X, schema, n_jobs, texts=texts)
    names = DefaultNames(X.shape[1])
    columns = schema.resolve(names, np.full(len(names), CONTINUOUS))
    if (columns.kinds == CONTINUOUS).all():
        if integers and X.dtype.kind in "biu":
            values = X.view(np.uint8) if X.dtype.kind == "b" else X
        else:
            values = as_floats(X)
        return IngestedTable(DenseSource(values, n_jobs=n_jobs), columns)
    return _read_table(ArrayTable(X), schema, n_jobs, texts=texts)


def as_stored_table(X: Any, *, mapped: bool) -> "StoredTable | None":
    """Return X as a table on disk, or None; with `mapped`, an array that maps a file is one."""
    stores = sys.modules.get("featly.io.stores")  # imported already if X is such a table
    if stores is not None and isinstance(X, stores.StoredTable):
        return X  # type: ignore[no-any-return]
    if mapped and isinstance(X, np.memmap):
        from featly.io.stores import table_behind_map

        return table_behind_map(X)
    return None


def ingest_stored(
    table: "StoredTable",
    schema: Schema,
    memory: int,
    n_jobs: int | None = None,
    *,
    integers: bool = False,
) -> IngestedTable:
    """Read a table on disk: into memory if half of `memory` holds it, else by blocks.

    The memory of the table object, such as the footer of a parquet file, is subtracted first, and
    so are the results of a method for every column, such as score and rank.
    """
    reserved = table.held_bytes + COLUMN_BYTES * table.n_features
    memory = max(memory - reserved, memory // LEAST_SHARE)
    if table.dtype is None:
        empty_table = open_table(table.schema_frame())
        columns = schema.resolve(empty_table.names, empty_table.kinds())
    else:
        columns = schema.resolve(table.names, np.full(table.n_features, CONTINUOUS))
    source = StreamedSource(_Store(table, columns, integers=integers), memory, n_jobs)
    return IngestedTable(source.in_memory(), columns, table)


def load_columns(table: "StoredTable", features: np.ndarray) -> Any:
    """Load some columns of a table on disk: an array, or a polars frame if kinds differ."""
    if table.dtype is None:
        return table.take_frame(features)
    values = table.take(features)
    return values if table.missing is None else _mark_missing(values, table.missing)


class _Store:
    """A stored table as :class:`featly.core.sources.ColumnStore`."""

    def __init__(self, table: "StoredTable", columns: Columns, *, integers: bool) -> None:
        self.table, self.columns = table, columns
        self.n_rows, self.kinds = table.n_rows, columns.kinds
        self.plain = table.dtype is not None and bool((columns.kinds == CONTINUOUS).all())
        self.feature_major = table.feature_major if self.plain else True
        self.dtype = np.dtype(self._dtype(integers))

    def _dtype(self, integers: bool) -> Any:
        """Return the dtype that the numbers have when the whole table is read into memory."""
        table_dtype = self.table.dtype
        if self.plain and table_dtype is not None:
            if self.table.missing is not None:
                return np.float32
            if integers and table_dtype.kind in "biu":
                return np.uint8 if table_dtype.kind == "b" else table_dtype
            return as_floats(np.empty(0, table_dtype)).dtype
        empty_array_table = ArrayTable(
            np.empty((0, len(self.kinds)), np.float32 if table_dtype is None else table_dtype)
        )
        empty_table = (
            open_table(self.table.schema_frame()) if table_dtype is None else empty_array_table
        )
        numbers = read_numbers(empty_table, self.columns)
        return np.float64 if numbers is None else numbers.dtype

    def read(self, low: int, high: int) -> DenseSource:
        """Read columns ``low:high``."""
        if self.table.dtype is None:
            return self._source_from_table(
                open_table(self.table.frame(low, high)), np.arange(low, high)
            )
        return self._source_from_numbers(self.table.read(low, high), np.arange(low, high))

    def take(self, features: np.ndarray) -> DenseSource:
        """Read some columns, by position."""
        if self.table.dtype is None:
            order = np.sort(features)
            low, high = int(order[0]), int(order[-1]) + 1
            return self.read(low, high).view(features - low)
        return self._source_from_numbers(self.table.take(features), features)

    def check(self) -> None:
        """Raise DataError if the file was cut, replaced or changed since it was scanned."""
        self.table.check()

    def levels(self, low: int, high: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return genotypes as codes, not by way of floats, or None for other tables."""
        missing = self.table.missing
        if missing is None or not self.plain or self.table.dtype != np.uint8:
            return None
        raw = self.table.read(low, high).T
        # the value that stands for missing is the largest: one more than the levels
        codes = np.where(raw == missing, 0, raw + np.uint8(1)).astype(np.uint8, copy=False)
        return np.ascontiguousarray(codes), np.full(high - low, missing, np.int64)

    def _source_from_numbers(self, values: np.ndarray, features: np.ndarray) -> DenseSource:
        if not self.plain:
            if self.table.missing is not None:
                values = _mark_missing(values, self.table.missing)
            return self._source_from_table(ArrayTable(values), features)
        if self.table.missing is not None:
            return DenseSource(_mark_missing(values, self.table.missing))
        if values.dtype == bool:
            values = values.view(np.uint8)
        return DenseSource(values.astype(self.dtype, copy=False))

    def _source_from_table(self, table: Table, features: np.ndarray) -> DenseSource:
        # groups of columns are not needed to read a block, and may be long
        columns = dataclasses.replace(self.columns, groups={}).take(features)
        nominal = np.flatnonzero(columns.kinds == CATEGORICAL).tolist()
        codes, n_levels = table.codes(nominal) if nominal else (None, None)
        values = read_numbers(table, columns)
        if values is not None:
            values = np.asfortranarray(values, self.dtype)
        return DenseSource(values, codes, columns.kinds, n_levels)


def _mark_missing(values: np.ndarray, missing: int) -> np.ndarray:
    floats = values.astype(np.float32)
    floats[values == missing] = np.nan
    return floats


def _read_table(
    table: Table, schema: Schema, n_jobs: int | None, *, texts: bool = False
) -> IngestedTable:
    columns = schema.resolve(table.names, table.kinds())
    categorical = np.flatnonzero(columns.kinds == CATEGORICAL).tolist()
    codes, n_levels = None, None
    if texts and categorical:
        codes, n_levels, levels = _codes_and_texts(table, columns, categorical)
        columns = dataclasses.replace(columns, texts=levels)
    elif categorical:
        codes, n_levels = table.codes(categorical)
    source = DenseSource(
        read_numbers(table, columns), codes, columns.kinds, n_levels, n_jobs=n_jobs
    )
    return IngestedTable(source, columns)


def _codes_and_texts(
    table: Table, columns: Columns, categorical: list[int]
) -> tuple[np.ndarray, np.ndarray, dict[int, list[str]]]:
    """Return categorical columns as codes, their numbers of levels, and the levels as text."""
    codes, sizes = np.zeros((len(categorical), table.n_rows), np.uint16), []
    texts = {}
    for k, column in enumerate(categorical):
        column_codes, texts[column] = level_texts(table, columns, column)
        table.check_levels(column, len(texts[column]))
        codes[k] = column_codes
        sizes.append(len(texts[column]))
    small = codes.astype(np.uint8) if max(sizes) < 255 else codes
    return small, np.array(sizes), texts


def level_texts(table: Table, columns: Columns, column: int) -> tuple[np.ndarray, list[str]]:
    """Return a column as codes from 1, 0 where missing, and its levels as text.

    The number 1 is the level "1" in columns of integers and of floats: a missing value turns the
    one into the other.
    """
    if columns.inferred[column] != CONTINUOUS:
        codes, levels = table.texts(column)
        return codes, [str(level) for level in levels]
    codes, levels = ArrayTable(table.numbers([column])).texts(0)
    return codes, [str(int(level) if level.is_integer() else level) for level in levels]


def read_numbers(table: Table, columns: Columns) -> np.ndarray | None:
    """Return the continuous and ordinal columns of a table, rows x columns, or None."""
    numeric = np.flatnonzero(columns.kinds != CATEGORICAL).tolist()
    plain = [j for j in numeric if columns.inferred[j] == CONTINUOUS and j not in columns.levels]
    values = None
    if plain:
        values = table.numbers(plain)
    if len(plain) < len(numeric):
        ranks = all(columns.kinds[j] == ORDINAL for j in set(numeric) - set(plain))
        small = values is not None and values.dtype == np.float32 and ranks
        merged = np.empty((len(numeric), table.n_rows), np.float32 if small else np.float64)
        position = {column: k for k, column in enumerate(numeric)}
        if values is not None:
            merged[[position[j] for j in plain]] = values.T
        for j in sorted(set(numeric) - set(plain)):
            merged[position[j]] = _ranks(table, j, columns)
        values = merged.T
    return values


def _ranks(table: Table, column: int, columns: Columns) -> np.ndarray:
    """Return a column of levels as numbers: ranks of ordinal ones, text read as numbers."""
    name = columns.names[column]
    if columns.inferred[column] == CONTINUOUS:
        return _ranks_of_numbers(table, column, columns)
    codes, levels = table.texts(column)
    if column in columns.levels:
        order = columns.levels[column]
        rank_of = {level: float(k) for k, level in enumerate(order)}
        rank_of.update({str(level): float(k) for k, level in enumerate(order)})
        unknown = [level for level in levels if level not in rank_of and str(level) not in rank_of]
        if unknown:
            raise SchemaError(
                f"column {name!r} holds {unknown[0]!r}, which is not among its ordinal levels "
                f"{order!r}"
            )
        numbers = [rank_of[level] if level in rank_of else rank_of[str(level)] for level in levels]
    elif columns.kinds[column] == ORDINAL:
        if not table.is_ordered(column):
            raise SchemaError(
                f"column {name!r} is text without an order: give its levels, lowest first, as "
                f"ordinal={{{name!r}: [...]}}"
            )
        numbers = [float(k) for k in range(len(levels))]
    else:
        numbers = []
        for code, level in enumerate(levels, 1):
            try:
                numbers.append(float(level))
            except ValueError:
                row = int(np.flatnonzero(codes == code)[0])
                raise DataError(
                    f"column {name!r} is declared continuous, but ",
                    Row(row),
                    f" holds {level!r}: correct that value, make it missing, or declare the column "
                    "categorical",
                ) from None
    values: AnyArray = np.array([np.nan, *numbers])[codes]
    return values


def _ranks_of_numbers(table: Table, column: int, columns: Columns) -> np.ndarray:
    """Return the position of each number in the order that the schema gives."""
    values = table.numbers([column])[:, 0].astype(np.float64)
    order = columns.levels[column]
    ranks = np.full(len(values), np.nan)
    for rank, level in enumerate(order):
        try:
            ranks[values == float(level)] = rank
        except (TypeError, ValueError):
            continue
    unknown = np.flatnonzero(np.isnan(ranks) & ~np.isnan(values))
    if len(unknown):
        raise SchemaError(
            f"column {columns.names[column]!r} holds {values[unknown[0]]:g}, which is not among "
            f"its ordinal levels {order!r}"
        )
    return ranks


def _read_sparse(X: Any, schema: Schema, n_jobs: int | None) -> IngestedTable:
    names = DefaultNames(X.shape[1])
    columns = schema.resolve(names, np.full(len(names), CONTINUOUS))
    categorical = np.flatnonzero(columns.kinds == CATEGORICAL)
    if len(categorical):
        raise SchemaError(
            "column ",
            Column(names[categorical[0]]),
            " of a sparse table cannot be categorical: pass the table dense, or leave the column "
            "continuous",
        )
    matrix = scipy.sparse.csc_array(X)
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return IngestedTable(CSCSource(matrix, n_jobs=n_jobs), columns)
