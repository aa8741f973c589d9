"""Frames of pandas, polars and pyarrow behind one interface, and arrays of objects or text.

No other file depends on the library of a frame. Wide tables are read in bulk by dtype: one call
for all numeric columns, and with polars one for all coded ones. Frames of any other library that
narwhals supports are read through pyarrow.
"""

import importlib.util
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, overload

import numpy as np

from featly.basics.errors import DataError, Row, Text
from featly.basics.kinds import CATEGORICAL, CONTINUOUS, ORDINAL
from featly.basics.typing import AnyArray, IntArray

__all__ = [
    "ArrayTable",
    "DefaultNames",
    "Table",
    "as_floats",
    "frame_of",
    "is_frame",
    "is_missing",
    "library_of",
    "open_table",
    "refuse_shapes",
    "take_columns",
    "take_rows",
    "values_of",
]

MOST_LEVELS = 65_535


def library_of(X: Any) -> str | None:
    """Return 'pandas', 'polars', 'pyarrow' or 'other' for a frame, None for anything else."""
    # X is no frame of a library that was never imported
    for library, kind in (("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")):
        module = sys.modules.get(library)
        if module is not None and isinstance(X, getattr(module, kind)):
            return library
    if hasattr(X, "__dataframe__") or hasattr(X, "__arrow_c_stream__"):
        return "other"
    return None


def is_frame(X: Any) -> bool:
    """Return whether X is a data frame of some library."""
    return library_of(X) is not None


def refuse_shapes(X: Any) -> None:
    """Raise DataError for a lazy frame, or for a single column."""
    kind, library = type(X).__name__, type(X).__module__.split(".")[0]
    if kind == "LazyFrame":
        raise DataError("X is a LazyFrame, a plan without rows: call .collect() on it first")
    one_column = kind in ("Series", "ChunkedArray", "Index") and hasattr(X, "to_numpy")
    if one_column and library in ("pandas", "polars", "narwhals", "pyarrow"):
        raise DataError(
            f"X is one column ({kind}), where a table is expected: put it into a frame. "
            "Reshape your data"
        )


def values_of(y: Any) -> Any:
    """Return a column of any library as something that NumPy reads; anything else unchanged."""
    if isinstance(y, np.ndarray) or not hasattr(y, "to_numpy"):
        return y
    return y.to_pylist() if type(y).__module__.startswith("pyarrow") else y.to_numpy()


def is_category(y: Any) -> bool:
    """Return whether the dtype of a column of pandas says that its values are categories."""
    return getattr(getattr(y, "dtype", None), "name", None) == "category"


class DefaultNames(Sequence[str]):
    """``x0, x1, ...``: the names of the columns of an array, made on demand.

    A million strings would take longer to make than the columns to rank.

    Examples
    --------
    >>> names = DefaultNames(3)
    >>> names[1], names[:2], list(names), names.position("x2"), names.position("x7")
    ('x1', ['x0', 'x1'], ['x0', 'x1', 'x2'], 2, None)
    """

    def __init__(self, size: int) -> None:
        self._size = size

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> list[str]: ...
    def __getitem__(self, position: int | slice) -> str | list[str]:
        if isinstance(position, slice):
            return [f"x{k}" for k in range(self._size)[position]]
        return f"x{range(self._size)[position]}"

    def __repr__(self) -> str:
        return f"DefaultNames({self._size})"

    def position(self, name: str) -> int | None:
        """Return the position of `name`, or None."""
        digits = name[1:]
        if name[:1] == "x" and digits.isdecimal() and str(int(digits)) == digits:
            return int(digits) if int(digits) < self._size else None
        return None


class Table(ABC):
    """Columns of a frame, an array of objects or of text, to be read by kind.

    Attributes
    ----------
    names : list of str
    n_rows : int
    """

    names: list[str]
    n_rows: int

    @abstractmethod
    def kinds(self) -> list[np.uint8]:
        """Return the kind of every column by its dtype; DataError for a dtype that has none."""

    @abstractmethod
    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """Return some columns as float32 or float64, rows x columns, missing as NaN."""

    @abstractmethod
    def texts(self, column: int) -> tuple[np.ndarray, list[Any]]:
        """Return one column as codes from 1, 0 where missing, and its levels in order.

        The order is that of the dtype where it has one, else sorted.
        """

    def codes(self, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return some columns as a feature-major matrix of codes, and their numbers of levels."""
        codes = np.zeros((len(columns), self.n_rows), np.uint16)
        sizes = np.zeros(len(columns), np.int64)
        for k, column in enumerate(columns):
            column_codes, size = self._code(column)
            self.check_levels(column, size)
            codes[k], sizes[k] = column_codes, size
        return (codes.astype(np.uint8) if sizes.max(initial=0) < 255 else codes), sizes

    def _code(self, column: int) -> tuple[np.ndarray, int]:
        """Return one column as codes, and its number of levels."""
        codes, levels = self.texts(column)
        return codes, len(levels)

    def levels(self, column: int) -> tuple[list[Any], int]:
        """Return the levels that occur in one column, in order, and how many cells are missing."""
        codes, levels = self.texts(column)
        occurs = np.bincount(codes, minlength=len(levels) + 1)
        return [level for level, n in zip(levels, occurs[1:], strict=True) if n], int(occurs[0])

    def is_ordered(self, column: int) -> bool:
        """Return whether the dtype of a column gives its levels an order."""
        return False

    def is_declared(self, column: int) -> bool:
        """Return whether the dtype of a column says that it is categorical, beyond being text."""
        return False

    def check_levels(self, column: int, n_levels: int) -> None:
        """Raise DataError for a column with more levels than a code can hold."""
        if n_levels >= MOST_LEVELS:
            raise DataError(
                f"column {self.names[column]!r} has {n_levels} different texts, more than a "
                "categorical column can hold: is it an identifier? Leave it out"
            )

    def _dtype_error(self, column: int, problem: str | Text, remedy: str) -> DataError:
        return DataError(f"column {self.names[column]!r} ", problem, f": {remedy}")

    def _date_error(self, column: int) -> DataError:
        return self._dtype_error(
            column, "holds dates or times", "turn it into a number, such as days since an event"
        )

    def _mixture_error(self, column: int, values: Any) -> DataError:
        """Return an error that names the first value of the type that is rarest."""
        by_word: dict[str, list[tuple[int, Any]]] = {}
        for row, value in enumerate(values):
            if not is_missing(value):
                by_word.setdefault(_word_for_type(value), []).append((row, value))
        row, value = min(by_word.values(), key=len)[0]
        words = " and ".join(sorted(by_word, reverse=True))
        verb = "holds" if len(by_word) == 1 else "mixes"
        return self._dtype_error(
            column,
            Text(f"{verb} {words} (", Row(row), f": {value!r})"),
            "correct that value, or make the whole column text",
        )


def is_missing(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, or pandas's NA, which cannot be compared."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _word_for_type(value: Any) -> str:
    """Return "text", "truth values" or "numbers", or the name of another type."""
    for word, types in (
        ("text", str),
        ("truth values", bool | np.bool_),
        ("numbers", int | float | np.number | Decimal),
    ):
        if isinstance(value, types):
            return word
    return f"values of the type {type(value).__name__}"


def open_table(X: Any) -> Table:
    """Open a frame, or a two-dimensional array of objects or text, for reading."""
    library = library_of(X)
    if library == "pandas":
        table: Table = _Pandas(X)
    elif library == "polars":
        table = _Polars(X)
    elif library == "pyarrow":
        table = _Arrow(X)
    elif library == "other":
        import narwhals as nw

        table = _Arrow(nw.from_native(X, eager_only=True).to_arrow())
    else:
        table = _Objects(X)
    seen: dict[str, int] = {}
    for position, name in enumerate(table.names):
        if name in seen:
            raise DataError(
                f"two columns are called {name!r} (positions {seen[name]} and {position}): "
                "rename one"
            )
        seen[name] = position
    return table


class _Pandas(Table):
    def __init__(self, X: Any) -> None:
        self.frame = X
        self._labels = list(X.columns)
        self.names = [str(name) for name in self._labels]
        self.n_rows = len(X)
        self._dtypes = list(X.dtypes)

    def kinds(self) -> list[np.uint8]:
        categories = sys.modules["pandas"].CategoricalDtype
        known: dict[Any, np.uint8 | None] = {}
        kinds = []
        for column, dtype in enumerate(self._dtypes):
            if isinstance(dtype, categories):  # first: hashing one hashes all its categories
                kinds.append(ORDINAL if dtype.ordered else CATEGORICAL)
                continue
            if dtype not in known:
                known[dtype] = self._kind(dtype, column)
            kind = known[dtype]
            kinds.append(self._infer_kind(column) if kind is None else kind)
        return kinds

    def _kind(self, dtype: Any, column: int) -> np.uint8 | None:
        """Return the kind of a dtype; None for objects, which must be looked at."""
        from pandas.api import types

        if types.is_bool_dtype(dtype):
            return CATEGORICAL
        if types.is_complex_dtype(dtype):
            raise self._dtype_error(column, "is complex", "Complex data not supported")
        if types.is_numeric_dtype(dtype):
            return CONTINUOUS
        if types.is_datetime64_any_dtype(dtype) or types.is_timedelta64_dtype(dtype):
            raise self._date_error(column)
        if types.is_object_dtype(dtype):
            return None
        if types.is_string_dtype(dtype):
            return CATEGORICAL
        raise self._dtype_error(column, f"has dtype {dtype}", "make it numbers or text")

    def _infer_kind(self, column: int) -> np.uint8:
        values = self.frame.iloc[:, column]
        inferred = sys.modules["pandas"].api.types.infer_dtype(values, skipna=True)
        if inferred in ("string", "boolean", "categorical"):
            return CATEGORICAL
        if inferred in ("floating", "integer", "mixed-integer-float", "decimal", "empty"):
            return CONTINUOUS
        if inferred in (
            "datetime",
            "datetime64",
            "date",
            "timedelta",
            "timedelta64",
            "time",
            "period",
        ):
            raise self._date_error(column)
        raise self._mixture_error(column, list(values))

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        frame = self.frame
        if len(columns) != len(self.names):
            frame = frame.iloc[:, list(columns)]
        dtypes = {self._dtypes[column] for column in columns}
        target = np.float32 if all(_fits_float32(dtype) for dtype in dtypes) else np.float64
        numbers: AnyArray
        if dtypes == {np.dtype(target)}:
            numbers = frame.to_numpy()
        else:
            numbers = frame.to_numpy(dtype=target, na_value=np.nan)
        return numbers

    def _column(self, column: int) -> Any:
        return self.frame[self._labels[column]]  # by position it would take five times as long

    def texts(self, column: int) -> tuple[np.ndarray, list[Any]]:
        values = self._column(column)
        dtype = self._dtypes[column]
        if isinstance(dtype, sys.modules["pandas"].CategoricalDtype):
            if dtype.ordered:  # a level that no row has still separates its neighbours
                return values.array.codes + np.int64(1), list(dtype.categories)
            return _drop_unused_levels(values.array.codes, list(dtype.categories))
        codes, levels = sys.modules["pandas"].factorize(values)
        return _sort_levels(codes, list(levels))

    def _code(self, column: int) -> tuple[np.ndarray, int]:
        dtype = self._dtypes[column]
        if not isinstance(dtype, sys.modules["pandas"].CategoricalDtype):
            return super()._code(column)
        codes, levels = _drop_unused_levels(
            self._column(column).array.codes, list(dtype.categories)
        )
        codes, levels = _sort_levels(codes - 1, levels)  # their declared order says nothing here
        return codes, len(levels)

    def is_ordered(self, column: int) -> bool:
        return bool(getattr(self._dtypes[column], "ordered", False))

    def is_declared(self, column: int) -> bool:
        return isinstance(self._dtypes[column], sys.modules["pandas"].CategoricalDtype)


class _Polars(Table):
    def __init__(self, X: Any) -> None:
        self.frame = X
        self.names = list(X.columns)
        self.n_rows = X.height
        self._dtypes = list(X.dtypes)
        if any(name == "*" or name.startswith("^") for name in self.names):
            # polars would take such names for patterns
            self.frame = X.clone()
            self.frame.columns = [f"x{column}" for column in range(X.width)]

    def kinds(self) -> list[np.uint8]:
        import polars as pl

        kinds = []
        for column, dtype in enumerate(self._dtypes):
            if dtype.is_numeric() or dtype == pl.Null:
                kinds.append(CONTINUOUS)
            elif dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
                kinds.append(CATEGORICAL)
            elif dtype.is_temporal():
                raise self._date_error(column)
            else:
                raise self._dtype_error(column, f"has dtype {dtype}", "make it numbers or text")
        return kinds

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        import polars as pl

        takes_all = len(columns) == len(self.names)
        frame = self.frame if takes_all else self.frame[:, list(columns)]
        small = all(
            dtype in (pl.Float32, pl.Int8, pl.Int16, pl.UInt8, pl.UInt16)
            for dtype in set(frame.dtypes)
        )
        target = pl.Float32 if small else pl.Float64
        if set(frame.dtypes) != {target}:
            frame = frame.with_columns(pl.all().cast(target))
        numbers: AnyArray = frame.to_numpy()
        return numbers

    def codes(self, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        import polars as pl

        kinds = {self._dtypes[column] for column in columns}
        if len(kinds) == 1 and isinstance(next(iter(kinds)), pl.Categorical):
            return self._shared_codes(columns)
        # ranks of the texts, all columns at once: unlike physical codes, they do not depend on
        # the order of the rows
        ranks = self.frame[:, list(columns)].select(
            pl.all().cast(pl.String).rank("dense").fill_null(0).cast(pl.UInt32)
        )
        sizes = np.array(ranks.max().row(0) if self.n_rows else [0] * len(columns), np.int64)
        for column, size in zip(columns, sizes, strict=True):
            self.check_levels(column, int(size))
        dtype = pl.UInt8 if sizes.max(initial=0) < 255 else pl.UInt16
        return np.ascontiguousarray(ranks.cast(dtype).to_numpy().T), sizes

    def _tiles(self, n_columns: int) -> list[tuple[int, int]]:
        step = max(1, (1 << 20) // max(self.n_rows, 1))
        return [(low, min(low + step, n_columns)) for low in range(0, n_columns, step)]

    def _shared_codes(self, columns: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Code columns of one categorical dtype, in which equal physical codes are equal texts.

        Every text is ranked once, not once for each cell.
        """
        import polars as pl

        missing = np.iinfo(np.uint32).max
        frame = self.frame[:, list(columns)]
        cells = frame.select(pl.all().to_physical().cast(pl.UInt32).fill_null(missing))
        physical = cells.to_numpy().T  # feature-major, as in polars
        largest = int(np.max(physical, where=physical != missing, initial=0))
        physical = np.where(physical == missing, np.uint32(largest + 1), physical)
        column_of = np.full(largest + 2, -1, np.int64)
        for column in range(len(physical)):
            column_of[physical[column]] = column
        column_of[largest + 1] = -1
        used = np.flatnonzero(column_of >= 0)
        texts = [
            frame.to_series(column)[int(np.flatnonzero(physical[column] == code)[0])]
            for code, column in zip(used.tolist(), column_of[used].tolist(), strict=True)
        ]
        rank = np.zeros(largest + 2, np.uint8 if len(used) < 255 else np.uint32)
        rank[used[sorted(range(len(used)), key=texts.__getitem__)]] = np.arange(1, len(used) + 1)
        sizes = np.zeros(len(columns), np.int64)
        codes = np.zeros(physical.shape, np.uint8)
        for low, high in self._tiles(len(columns)):
            tile = rank[physical[low:high]]  # ranks among all texts, which become ranks in a column
            if len(used) <= 16:
                size = np.zeros((high - low, 1), np.uint8)
                for text in range(1, len(used) + 1):
                    is_text = tile == text
                    size += is_text.any(axis=1, keepdims=True)
                    codes[low:high] += is_text * size
                sizes[low:high] = size[:, 0]
                continue
            for k in range(low, high):
                occurring, dense = np.unique(tile[k - low], return_inverse=True)
                has_missing = int(occurring[0] == 0)
                sizes[k] = len(occurring) - has_missing
                self.check_levels(columns[k], int(sizes[k]))
                if codes.dtype == np.uint8 and sizes[k] >= 255:
                    codes = codes.astype(np.uint16)
                codes[k] = dense + 1 - has_missing
        return codes, sizes

    def texts(self, column: int) -> tuple[np.ndarray, list[Any]]:
        import polars as pl

        values = self.frame.to_series(column)
        if values.dtype == pl.Enum:
            codes = values.to_physical().cast(pl.Int64) + 1
            return codes.fill_null(0).to_numpy(), values.dtype.categories.to_list()
        if values.dtype != pl.Boolean:
            values = values.cast(pl.String)
        levels = values.drop_nulls().unique().sort()
        codes = values.rank("dense").fill_null(0).cast(pl.Int64)
        return codes.to_numpy(), levels.to_list()

    def levels(self, column: int) -> tuple[list[Any], int]:
        import polars as pl

        values = self.frame.to_series(column)
        levels = values.unique().drop_nulls()
        if values.dtype != pl.Enum:
            levels = (levels if values.dtype == pl.Boolean else levels.cast(pl.String)).sort()
        return levels.to_list(), values.null_count()

    def is_ordered(self, column: int) -> bool:
        import polars as pl

        return bool(self._dtypes[column] == pl.Enum)

    def is_declared(self, column: int) -> bool:
        import polars as pl

        return self._dtypes[column] in (pl.Categorical, pl.Enum)


class _Arrow(Table):
    def __init__(self, X: Any) -> None:
        self.frame = X
        self.names = [str(name) for name in X.column_names]
        self.n_rows = X.num_rows

    def kinds(self) -> list[np.uint8]:
        from pyarrow import types

        kinds = []
        for column, dtype in enumerate(self.frame.schema.types):
            if types.is_dictionary(dtype):
                kinds.append(ORDINAL if dtype.ordered else CATEGORICAL)
            elif (
                types.is_boolean(dtype)
                or types.is_string(dtype)
                or types.is_large_string(dtype)
                or (hasattr(types, "is_string_view") and types.is_string_view(dtype))
            ):
                kinds.append(CATEGORICAL)
            elif (
                types.is_integer(dtype)
                or types.is_floating(dtype)
                or types.is_decimal(dtype)
                or types.is_null(dtype)
            ):
                kinds.append(CONTINUOUS)
            elif types.is_temporal(dtype):
                raise self._date_error(column)
            else:
                raise self._dtype_error(column, f"has type {dtype}", "make it numbers or text")
        return kinds

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        import pyarrow as pa

        schema = self.frame.schema.types
        small = {pa.float32(), pa.int8(), pa.int16(), pa.uint8(), pa.uint16()}
        target = np.float32 if all(schema[c] in small for c in columns) else np.float64
        numbers = np.empty((len(columns), self.n_rows), target)
        for k, column in enumerate(columns):
            values = self.frame.column(column)
            if not pa.types.is_floating(schema[column]):
                values = values.cast(pa.float64())
            numbers[k] = values.to_numpy()
        return numbers.T

    def texts(self, column: int) -> tuple[np.ndarray, list[Any]]:
        import pyarrow as pa

        values = self.frame.column(column)
        ordered = pa.types.is_dictionary(values.type) and values.type.ordered
        if not pa.types.is_dictionary(values.type):
            values = values.dictionary_encode()
        values = values.combine_chunks()
        if isinstance(values, pa.ChunkedArray):  # no rows, or several dictionaries
            values = values.unify_dictionaries().combine_chunks()
        levels = values.dictionary.to_pylist()
        codes = values.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
        if ordered:
            return codes + 1, levels
        codes, levels = _sort_levels(codes, levels)
        return _drop_unused_levels(codes - 1, levels)

    def is_ordered(self, column: int) -> bool:
        return bool(getattr(self.frame.schema.types[column], "ordered", False))

    def is_declared(self, column: int) -> bool:
        return hasattr(self.frame.schema.types[column], "ordered")


class ArrayTable(Table):
    """A numeric array or sparse matrix, column by column."""

    def __init__(self, X: Any) -> None:
        self.array = X
        self.names: list[str] = [f"x{column}" for column in range(X.shape[1])]
        self.n_rows: int = X.shape[0]

    def kinds(self) -> list[np.uint8]:
        """Return the kinds: all continuous."""
        return [CONTINUOUS] * len(self.names)

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        """Return some columns, dense."""
        block = self.array[:, list(columns)]
        return as_floats(block.toarray() if hasattr(block, "toarray") else block)

    def texts(self, column: int) -> tuple[np.ndarray, list[Any]]:
        """Return the values of a column as levels."""
        values = self.numbers([column])[:, 0]
        present = ~np.isnan(values)
        levels, codes = np.unique(values[present], return_inverse=True)
        all_codes = np.zeros(len(values), np.int64)
        all_codes[present] = codes + 1
        return all_codes, levels.tolist()


def as_floats(X: np.ndarray) -> np.ndarray:
    """Return numbers as float32 or float64, without a copy where they are so already."""
    if X.dtype in (np.float32, np.float64):
        return X
    return X.astype(np.float32 if X.dtype.itemsize <= 2 else np.float64)


class _Objects(Table):
    """A two-dimensional array of Python objects or of text."""

    def __init__(self, X: np.ndarray) -> None:
        self.array = X
        self.names = [f"x{column}" for column in range(X.shape[1])]
        self.n_rows = len(X)

    def kinds(self) -> list[np.uint8]:
        return [self._kind(column) for column in range(len(self.names))]

    def _kind(self, column: int) -> np.uint8:
        if self.array.dtype.kind in "UST":
            return CATEGORICAL
        values = [v for v in self.array[:, column] if not is_missing(v)]
        n_texts = sum(isinstance(v, str) for v in values)
        if n_texts and n_texts == len(values):
            return CATEGORICAL
        if n_texts:
            raise self._mixture_error(column, self.array[:, column])
        return CATEGORICAL if values and all(isinstance(v, bool) for v in values) else CONTINUOUS

    def numbers(self, columns: Sequence[int]) -> np.ndarray:
        block = self.array[:, list(columns)]
        is_none = np.array([[v is None for v in row] for row in block], dtype=bool)
        return np.where(is_none, np.nan, block).astype(np.float64)

    def texts(self, column: int) -> tuple[np.ndarray, list[Any]]:
        values = self.array[:, column]
        levels = sorted({v for v in values if not is_missing(v)}, key=str)
        code_of = {level: code for code, level in enumerate(levels, 1)}
        codes = [0 if is_missing(v) else code_of[v] for v in values]
        return np.array(codes, dtype=np.int64), levels


def _sort_levels(codes: np.ndarray, levels: list[Any]) -> tuple[np.ndarray, list[Any]]:
    """Turn codes from -1 into codes from 0, in an order independent of that of the rows."""
    order = sorted(range(len(levels)), key=lambda k: str(levels[k]))
    new_code = np.zeros(len(levels) + 1, np.int64)  # the last is that of code -1
    new_code[order] = np.arange(1, len(levels) + 1)
    return new_code[codes], [levels[k] for k in order]


def _drop_unused_levels(codes: np.ndarray, levels: Sequence[Any]) -> tuple[np.ndarray, list[Any]]:
    """Turn codes from -1 into codes from 0, without the levels that no row has."""
    occurs = np.bincount(codes + 1, minlength=len(levels) + 1)[1:] > 0
    if occurs.all():
        return codes + np.int64(1), list(levels)
    new_code = np.concatenate([[0], np.cumsum(occurs)])
    return new_code[codes + 1], [level for level, used in zip(levels, occurs, strict=True) if used]


def _fits_float32(dtype: Any) -> bool:
    return str(dtype).lower() in ("float16", "float32", "int8", "int16", "uint8", "uint16")


def take_columns(X: Any, columns: Sequence[int] | IntArray) -> Any:
    """Return some columns of a frame, of the same library; dtypes and index are kept."""
    library = library_of(X)
    positions = [int(column) for column in columns]
    if library == "pandas":
        return X.iloc[:, positions]
    if library == "polars":
        return X[:, positions]
    if library == "pyarrow":
        return X.select(positions)
    import narwhals as nw

    frame = nw.from_native(X, eager_only=True)
    return frame.select([frame.columns[position] for position in positions]).to_native()


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of a frame, array, sparse matrix or list, in the given order."""
    library = library_of(X)
    if library is None:
        return X[rows] if hasattr(X, "shape") else [X[row] for row in rows.tolist()]
    if library == "pandas":
        return X.iloc[rows]
    if library == "polars":
        return X[rows]
    if library == "pyarrow":
        return X.take(rows)
    import narwhals as nw

    return nw.from_native(X, eager_only=True)[rows.tolist()].to_native()


def frame_of(columns: dict[str, Any], library: str | None) -> Any:
    """Make a frame of pandas or pyarrow if `library` is one of them, else of polars if present."""
    if library is None and importlib.util.find_spec("polars") is None:
        library = "pandas"
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(columns)
    if library == "pyarrow":
        import pyarrow as pa

        return pa.table(columns)
    import polars as pl

    return pl.DataFrame(columns)
