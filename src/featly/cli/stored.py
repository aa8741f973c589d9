"""Large files for the commands that read them by blocks of columns."""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from featly.basics.errors import DataError, ParameterError
from featly.basics.resources import bytes_of, free_memory
from featly.cli.wording import in_words_of_options
from featly.io.stores import StoredTable

__all__ = ["StoredFile", "is_stored", "limit_of", "read_target_file", "scan_file"]

SUFFIXES = (".npy", ".bed", ".zarr", ".zarr.zip", ".h5", ".hdf5", ".h5ad")
SHOWN = 8
WRITTEN_BYTES = 40  # of a cell on its way into a file


@dataclass
class StoredFile:
    """A table on disk in the place of a :class:`featly.io.read.TableFile`."""

    X: StoredTable
    y: np.ndarray | None
    target: str | None
    names: Sequence[str]
    source: str
    format: str
    memory: int | None = None  # bytes that may be used
    notes: list[str] = field(default_factory=list)

    def close(self) -> None:
        """Let go of the file."""
        self.X.close()

    def check_room(self, count: int) -> None:
        """DataError where so many columns, all at once, are more than may be in memory."""
        room = self.memory if self.memory is not None else free_memory() // 2
        most = max(1, room // (WRITTEN_BYTES * self.X.n_rows))
        if count > most:
            raise DataError(
                f"{count:,} columns of {self.source} are too many to be written at once: choose up "
                f"to {most:,} with --count, or give a larger --memory-limit"
            )

    def save_places(self, places: Sequence[int], path: str | os.PathLike[str]) -> None:
        """Write some columns, and the target as the last one, to a CSV, TSV or parquet file."""
        import polars as pl
        from polars import selectors as cs

        from featly.io.write import write_frame

        names = _unlike([str(self.names[place]) for place in places], str(self.target))
        if self.X.dtype is None:
            frame = self.X.take_frame(places)
            frame.columns = names
        else:
            values = self.X.take(places)
            frame = pl.DataFrame({name: values[:, k] for k, name in enumerate(names)})
            if self.X.missing is not None:
                frame = frame.select(pl.all().replace(self.X.missing, None))
        if self.y is not None:
            labels = pl.Series(str(self.target), self.y.tolist())
            if labels.dtype.is_float():
                labels = labels.fill_nan(None)
                labels = labels.cast(pl.Int64) if (labels == labels.floor()).all() else labels
            frame = frame.with_columns(labels)
        write_frame(frame.with_columns(cs.float().fill_nan(None)), path)


def _unlike(names: list[str], target: str) -> list[str]:
    """Names of which none is there twice; variants without a name are all called '.'."""
    taken, found = {target}, []
    for name in names:
        other, number = name, 2
        while other in taken:
            other, number = f"{name}_{number}", number + 1
        taken.add(other)
        found.append(other)
    return found


def is_stored(file: str) -> bool:
    """Whether a file is one of those that are read by blocks of columns in any case.

    Examples
    --------
    >>> is_stored("X.npy"), is_stored("X.zarr.zip"), is_stored("X.csv"), is_stored("X.parquet")
    (True, True, False, False)
    """
    if file.lower().rstrip("/").endswith(SUFFIXES):
        return True
    if Path(file).is_dir():
        from featly.io.stores.zarr import is_zarr_folder

        return is_zarr_folder(Path(file))
    return False


def limit_of(text: str | None) -> int | None:
    """The bytes that ``--memory-limit`` allows."""
    if text is None:
        return None
    try:
        return bytes_of(text)
    except ParameterError as problem:
        raise ParameterError(in_words_of_options(str(problem))) from None


def scan_file(
    file: str,
    target: str | None,
    target_file: str | None,
    *,
    dataset: str | None = None,
    layer: str | None = None,
    without: Sequence[str] = (),
    memory_limit: str | None = None,
    reading: Mapping[str, Any] | None = None,
) -> StoredFile:
    """A large file and its target: a column that it has, or a file of its own.

    `reading` says how a text file with the target is written.
    """
    options = {"dataset": dataset, "layer": layer, "without": without}
    if target is not None and target_file is None:
        if file.lower().endswith(".npy"):
            raise DataError(
                f"{file!r} is a matrix without names, so it has no column {target!r}: name a file "
                "with the class of every row by --target-file"
            )
        options["target"] = target
    limit = limit_of(memory_limit)
    table = _scanned(file, limit, options)
    try:
        name, y = table.target, table.y
        if target_file is not None:
            name, y = read_target_file(target_file, target, table.name, table.n_rows, reading or {})
        found = StoredFile(table, _labels(y), name, table.names, table.name, table.kind, limit)
        return found
    except BaseException:
        table.close()
        raise


def _scanned(file: str, limit: int | None, options: dict[str, Any]) -> StoredTable:
    from featly.problem.scan import scan

    given = {name: value for name, value in options.items() if value}
    try:
        if limit is not None and file.lower().endswith((".h5", ".hdf5", ".h5ad")):
            try:
                return scan(file, memory_limit=limit, **given)
            except DataError as problem:
                # only a matrix that is sparse by rows has to be turned, which takes memory
                if not str(problem).startswith("memory_limit is for"):
                    raise
        return scan(file, **given)
    except DataError as problem:
        told = in_words_of_options(str(problem))
        if " cannot be read by columns: " in told:  # --memory-limit has asked for it
            told += ", or leave --memory-limit out"
        raise type(problem)(told) from None


def no_target(table: StoredFile) -> DataError:
    """What is said where nothing tells the classes."""
    beside = list(getattr(table.X, "_beside", list)())
    if table.format == "bed":
        beside = ["phenotype", "sex"]
    remedy = "name a file with the class of every row by --target-file"
    if table.format == "parquet":
        remedy = "say --target with the name of a column"
    elif beside:
        more = ", ..." if len(beside) > SHOWN else ""
        shown = ", ".join(beside[:SHOWN])
        which = shown if len(beside) == 1 else f"with one of {shown}{more}"
        remedy = f"say --target {which}, or {remedy}"
    remedy = remedy[0].upper() + remedy[1:]
    return DataError(f"which classes do the rows of {table.source} have? {remedy}")


# ---- the target ----------------------------------------------------------------------------------
def read_target_file(
    file: str, target: str | None, source: str, n_rows: int, reading: Mapping[str, Any]
) -> tuple[str, np.ndarray]:
    """The class of every row from a file: a vector of NumPy, or a column of a table."""
    if Path(file).suffix.lower() == ".npy":
        if any(value for value in reading.values()):
            raise ParameterError(
                f"how text is written (--header, --separator, ...) is of no use for {file!r}: "
                "leave it out"
            )
        name, y = target or Path(file).stem, _vector(file)
    else:
        name, y = _column(file, target, reading)
    if len(y) != n_rows:
        remedy = "they must go together, row by row"
        if abs(len(y) - n_rows) == 1 and Path(file).suffix.lower() != ".npy":
            remedy += "; --header or --no-header says whether its first line is a name"
        raise DataError(
            f"{file!r} has the classes of {len(y):,} rows, {source} has {n_rows:,}: {remedy}"
        )
    return name, np.asarray(y)


def _vector(file: str) -> np.ndarray:
    from featly.io.stores.files import DiskFile

    DiskFile(file).close()  # whatever is wrong with the file is told in its words
    try:
        found = np.load(file, mmap_mode="r", allow_pickle=False)  # it may be the wrong file
        if not isinstance(found, np.ndarray) or found.dtype.kind not in "biufUS":
            raise ValueError
    except (ValueError, EOFError):
        raise DataError(
            f"{file!r} holds no labels that can be read: save whole numbers or text, with "
            f"numpy.save({file!r}, y.astype(str))"
        ) from None
    if found.ndim > 2 or (found.ndim == 2 and 1 not in found.shape) or found.ndim == 0:
        raise DataError(f"{file!r} holds an array of shape {found.shape}: give one class a row")
    return np.array(found).reshape(-1)


def _column(file: str, target: str | None, reading: Mapping[str, Any]) -> tuple[str, np.ndarray]:
    from featly.io import read_table

    try:
        return _table_column(read_table(file, target=target, **reading), target)
    except DataError as problem:
        # a file of one column has nothing left without it: then it is the column
        if target is None or "no column but the target" not in str(problem):
            raise
        return _table_column(read_table(file, **reading), None)


def _table_column(table: Any, target: str | None) -> tuple[str, np.ndarray]:
    with table:
        if table.y is not None:
            return str(table.target), table.y
        if len(table.names) != 1:
            shown = ", ".join(str(name) for name in list(table.names)[:SHOWN])
            more = ", ..." if len(table.names) > SHOWN else ""
            raise DataError(
                f"{table.source} has {len(table.names)} columns: which is the target? Say --target "
                f"with one of {shown}{more}"
            )
        values = table.X[:, 0]
        found = np.array(values.to_list() if hasattr(values, "to_list") else values)
        return str(table.names[0]), found


def _labels(y: np.ndarray | None) -> np.ndarray | None:
    """Labels as people write them: text, and whole numbers without decimals."""
    if y is None:
        return None
    if y.dtype.kind == "S":
        return y.astype(str).astype(object)
    if y.dtype.kind == "f" and np.isfinite(y).all() and (y == np.floor(y)).all():
        return y.astype(np.int64)
    return y


# ---- progress ------------------------------------------------------------------------------------
class Reading:
    """Counts the columns that are read from a table, for a bar beside methods that have none.

    Parameters
    ----------
    table : StoredTable
    progress : callable
        Called with (columns read, columns in all); what is read again is counted again.
    """

    def __init__(self, table: StoredTable, progress: Callable[[int, int], Any]) -> None:
        self.table, self.progress = table, progress
        self._done, self._lock = 0, threading.Lock()
        self._own = {name: getattr(table, name) for name in ("read", "frame")}

    def __enter__(self) -> "Reading":
        for name, function in self._own.items():
            setattr(self.table, name, self._counting(function))
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._own:
            delattr(self.table, name)

    def _counting(self, function: Callable[[int, int], Any]) -> Callable[[int, int], Any]:
        def read(low: int, high: int) -> Any:
            found = function(low, high)
            with self._lock:
                self._done += high - low
                passes = max(1, -(-self._done // self.table.n_features))
                self.progress(self._done, passes * self.table.n_features)
            return found

        return read
