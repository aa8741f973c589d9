"""Tables of typed columns on disk, such as parquet: numbers as one array, others as frames."""

import hashlib
import os
from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from featly.basics.errors import DataError, ParameterError, Setting
from featly.io.column_lookup import ColumnFinder
from featly.io.stores.base import StoredTable, shorten_message
from featly.io.stores.files import DiskFile

__all__ = ["ColumnTable", "PolarsReader", "arrow_kind", "damage_error"]

# float32, and whole numbers that it represents exactly
SMALL = ("Float32", "Int8", "Int16", "UInt8", "UInt16")
FLOATS = {"Float16": "float32", "Float32": "float32", "Float64": "float64", "Decimal": "float64"}
NESTED = "nested"
WHOLE = {f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)}


class ColumnTable(StoredTable):
    """A file of typed columns, which a reader of its format reads.

    Columns of numbers are read as one array: of their common dtype, float32 if that holds them
    all, else float64. Whole numbers with missing values become floats, and those are NaN. If there
    is any other column, `dtype` is None and blocks are polars frames.

    Attributes
    ----------
    words : str
        Such a file, in messages.
    """

    words: str

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
        """Open the reader, and count the rows."""
        self._reader: Any = self._make_reader()
        self.n_rows: int = self._reader.n_rows
        if not self.n_rows:
            raise DataError(f"{self.name} has no rows: there is nothing to rank")

    @abstractmethod
    def _make_reader(self) -> Any:
        """Return what reads the file: names, kinds, numbers and frames of its columns."""

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
            raise damage_error(self._file, problem, self.words) from None
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


class PolarsReader:
    """Reader by polars, which parses the footer again for every block.

    Parameters
    ----------
    file : DiskFile
    scan : callable
        From a path to a polars LazyFrame.
    words : str
        Such a file, in messages.
    """

    at_a_time = 1 << 30

    def __init__(self, file: DiskFile, scan: Callable[[Any], Any], words: str) -> None:
        import polars as pl

        try:
            self._plan = scan(file.place)
            self._schema = self._plan.collect_schema()
            self.n_rows: int = self._plan.select(pl.len()).collect().item()
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as problem:  # a panic inside polars is no Exception
            raise damage_error(file, problem, words) from None
        self.names: list[str] = self._schema.names()
        self._dtypes = self._schema.dtypes()
        known = {
            dtype: NESTED if dtype.is_nested() else str(dtype).partition("(")[0]
            for dtype in set(self._dtypes)
        }
        self.kinds: list[str] = [known[dtype] for dtype in self._dtypes]

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


def arrow_kind(dtype: Any) -> str:
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


def damage_error(file: DiskFile, problem: BaseException, words: str) -> DataError:
    """Return the error about a file that a library cannot read."""
    return DataError(
        f"{file.name} cannot be read as {words} ({shorten_message(problem)}): it is cut or "
        "damaged. Copy or write it again"
    )
